"""What README, docs/reading.md and help tell people to type about ``consume`` and ``produce``: every line is run."""

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
from kcli.commands.produce import produce
from kcli.core.types import Record
from tests.batches import batch_of
from tests.fake.cluster import FakeCluster
from tests.run import ROOT, environment
from tests.segments import batch, write

PAGES = "\n".join((ROOT / page).read_text() for page in ("README.md", "docs/reading.md"))
LINES = [
    *re.findall(r"^(?:seq 1000 \| )?kcli (?:consume|produce) .*?(?= {2,}#|$)", PAGES, re.MULTILINE),
    *[line for line, _ in consume.examples if line not in PAGES],  # type: ignore[attr-defined]
    *[line for line, _ in produce.examples if line not in PAGES],  # type: ignore[attr-defined]
]
FAILED_BEFORE = {"line": 7, "reason": "too large", "code": "MESSAGE_TOO_LARGE", "input": "k:v"}
INPUTS = {
    "lines.txt": b"one\ntwo\n",
    "orders.txt": b"k1:one\nk2:two\n",
    "big.txt": b"a line of many\n" * 1000,
    "a.txt": b"one\n",
    "b.txt": b"two\n",
    "a.tsv": b"k1\tone\nk2\ttwo\n",
    "orders.json": b'{"customer":{"id":1}}\n',
    "headers.txt": b"source=import\n",
    "users.csv": b'id,name\nu71,"Hopper, Grace"\n',
    "a.json": b'{"id":1}\n{"id":2}\n',
    "big.ndjson": b'{"value":"one"}\n' * 1000,
    "work": b"#!/bin/sh\nexit 0\n",
    "order.avsc": b'{"type":"record","name":"Order","fields":[{"name":"id","type":"long"}]}',
}
FOLLOWS = 3.0
"""Seconds after which a line that has no end is ended, as people do, by Ctrl-C; later while it has printed nothing."""


def value(n: int) -> bytes:
    return json.dumps(
        {"status": 500 if n % 10 == 0 else 200, "total": n, "text": "error" if n % 7 == 0 else ""}
    ).encode()


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    """For each line, as groups commit what they have read.

    ``orders`` has 900 records of the last two hours: JSON values, some errors, one key asked for.
    """
    now = int(time.time() * 1000)
    topics = {
        "orders": 3,
        "orders-eu": 1,
        "copy": 3,
        "users": 1,
        "a": 1,
        "b": 1,
        "jobs": 1,
        "__consumer_offsets": 1,
    }
    with FakeCluster(1, topics=topics) as found:
        row = Record("__consumer_offsets", 0, 0, now, 0, b"\0\1\0\1g\0\1t\0\0\0\3", None, ())
        found.append("__consumer_offsets", 0, bytes(batch_of([row]).raw))
        for topic, partition in (
            ("orders", 0),
            ("orders", 1),
            ("orders", 2),
            ("orders-eu", 0),
            ("a", 0),
            ("jobs", 0),
        ):
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
    assert len([line for line in LINES if "kcli consume" in line]) > 15
    assert len([line for line in LINES if "kcli produce" in line]) > 8


@pytest.mark.parametrize("line", LINES)
def test_line(line: str, cluster: FakeCluster, tmp_path: Path) -> None:
    for name, content in INPUTS.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "work").chmod(0o755)
    if "--from-dir" in line:
        now = int(time.time() * 1000)
        write(tmp_path / "kafka-data" / "orders-0", [batch(0, [value(0)], times=[now])])
    if "-i failed" in line:
        (tmp_path / "bad.ndjson").write_text(json.dumps(FAILED_BEFORE) + "\n")
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
    nothing = "latest" in line or "/dev/null" in line
    try:
        out, err = process.communicate(timeout=FOLLOWS if _follows(line) else 60)
        ended = (0,) if "| head" not in line else (0, 141)
    except subprocess.TimeoutExpired as waited:
        assert _follows(line), line
        if not nothing:
            _wait_for_output(process, waited.stdout)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
        ended = (130, -signal.SIGINT)
    assert process.returncode in ended, err
    assert b"Traceback" not in err
    if "kcli produce" in line:
        assert re.search(rb"\b[1-9][\d,]* records? confirmed", err), err
        return
    written = out or b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.name not in INPUTS)
    assert nothing or written, (line, err)


def _wait_for_output(process: "subprocess.Popen[bytes]", printed: bytes | None) -> None:
    for _ in range(30):
        if printed:
            return
        try:
            process.communicate(timeout=1)
        except subprocess.TimeoutExpired as waited:
            printed = waited.stdout


def _follows(line: str) -> bool:
    if "kcli consume" not in line:
        return False
    ends = ("-e", "--exit", "--tail", "-n", "--idle-timeout", "--dry-run", "100:200")
    return not any(word in line.split() for word in ends)
