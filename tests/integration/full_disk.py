"""A broker whose disk is full: records are produced to it and read from it until it ends. Not a test.

``fill`` runs this module in a mount namespace of its own, on a tmpfs that goes with it.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from tests.integration.log_folders import Load
from tests.kafka import QUICK_JVM, TEST_PROPERTIES, sandboxed

SIZE = "24m"
_SMALL = {
    "log.segment.bytes": str(1 << 20),
    "log.index.size.max.bytes": "4096",
    "log.index.interval.bytes": "1024",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}


def fill(version: str, place: Path) -> dict[int, str]:
    """The records of ``load`` that a consumer got; ``place / "kept"`` is the log directory that is left."""
    disk = place / "disk"
    disk.mkdir()
    words = [sys.executable, "-m", "tests.integration.full_disk", version, str(disk), str(place)]
    line = f"mount -t tmpfs -o size={SIZE} none {shlex.quote(str(disk))} || exit 99; {shlex.join(words)}"
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", line], capture_output=True, text=True, timeout=600, check=False
    )
    if done.returncode in (1, 99) and not (place / "begun").exists():
        pytest.skip("no tmpfs may be mounted here")
    assert done.returncode == 0, done.stdout + done.stderr
    return {int(offset): digest for offset, digest in json.loads((place / "load.json").read_text()).items()}


def main() -> None:
    version, disk, place = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    (place / "begun").touch()
    with sandboxed(
        version=version, data=str(disk / "data"), jvm_options=QUICK_JVM, extra=TEST_PROPERTIES | _SMALL
    ) as kafka:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
        admin.create_topics([NewTopic("load", 1, 1)], request_timeout=60)["load"].result(60)
        with Load(kafka.bootstrap, "load") as load:
            deadline = time.monotonic() + 240
            while kafka.nodes[0].pid is not None:
                assert time.monotonic() < deadline, "the broker goes on"
                time.sleep(0.1)
        assert "No space left on device" in kafka.nodes[0].log.read_text()
        shutil.copytree(disk / "data" / "node-1", place / "kept")
    (place / "load.json").write_text(json.dumps(load.read))


if __name__ == "__main__":
    main()
