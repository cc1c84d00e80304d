"""What README and help tell people to type about ``consume`` works: every line is run."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcli.commands.consume import consume
from kcli.core.types import Record
from tests.batches import batch_of
from tests.command import ROOT, environment
from tests.fake.cluster import FakeCluster

README = (ROOT / "README.md").read_text()
LINES = [
    *re.findall(r"^kcli consume .*?(?= {2,}#|$)", README, re.MULTILINE),
    *[line for line, _ in consume.examples if line not in README],  # type: ignore[attr-defined]
]
FOLLOWS = 3.0
"""Seconds after which a line that has no end is ended, as people do, by Ctrl-C."""


def value(n: int) -> bytes:
    return json.dumps({"status": 500 if n % 10 == 0 else 200, "text": "error" if n % 7 == 0 else ""}).encode()


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeCluster]:
    """``orders`` has 900 records of the last two hours: JSON values, some errors, one key asked for."""
    now = int(time.time() * 1000)
    with FakeCluster(1, topics={"orders": 3, "orders-eu": 1}) as found:
        for topic, partition in (("orders", 0), ("orders", 1), ("orders", 2), ("orders-eu", 0)):
            rows = [
                Record(
                    topic,
                    partition,
                    n,
                    now - 7_200_000 + n * 24_000 - partition,
                    0,
                    b"4711" if n % 100 == 0 else b"%d" % n,
                    value(n),
                    (("source", b"test"),),
                )
                for n in range(300)
            ]
            found.append(topic, partition, bytes(batch_of(rows).raw))
        yield found


def test_there_are_examples() -> None:
    assert len(LINES) > 15


@pytest.mark.parametrize("line", LINES)
def test_line(line: str, cluster: FakeCluster, tmp_path: Path) -> None:
    define = f'kcli() {{ "{sys.executable}" -m kcli "$@"; }}; set -o pipefail; '
    process = subprocess.Popen(
        ["bash", "-c", define + line],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(cluster.bootstrap),
        cwd=tmp_path,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=FOLLOWS if _follows(line) else 60)
        ended = (0,) if "| head" not in line else (0, 141)
    except subprocess.TimeoutExpired:
        assert _follows(line), line
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
        ended = (130, -signal.SIGINT)
    assert process.returncode in ended, err
    assert b"Traceback" not in err
    written = out or b"".join(path.read_bytes() for path in tmp_path.iterdir())
    nothing = "latest" in line or "/dev/null" in line
    assert nothing or written, (line, err)


def _follows(line: str) -> bool:
    ends = ("-e", "--exit", "--tail", "-n", "--idle-timeout", "--dry-run", "100:200")
    return not any(word in line.split() for word in ends)
