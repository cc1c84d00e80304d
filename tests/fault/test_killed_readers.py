"""Readers that are killed at any moment: what is committed was written before, and everything is written (case O2)."""

import random
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kcli.core.types import TopicPartition
from tests.fake.cluster import FakeCluster
from tests.fault.consuming import PATIENCE, fill, offsets, tp
from tests.run import environment

PARTITIONS, RECORDS = 2, 5_000
SHORT, LONG = 250, 10_000
"""Session timeouts in ms: of a reader that is killed, because the next one has its partitions after that; and of one that
is not to be evicted even on a busy machine.
"""

_READER = """
import os, sys, time
from kcli.core import Consumer
from kcli.core.errors import CommitFailedError
servers, path, how, protocol, session = sys.argv[1:]
out = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
consumer = Consumer(
    bootstrap_servers=servers, group_id="g", group_protocol=protocol, auto_offset_reset="earliest",
    enable_auto_commit=how.startswith("auto"), auto_commit_interval_ms=5, max_poll_records=15,
    session_timeout_ms=int(session), heartbeat_interval_ms=50, fetch_max_wait_ms=50, retry_backoff_ms=20,
    reconnect_backoff_ms=10,
)
consumer.subscribe("t")

def write(partition, offset):
    os.write(out, b"%d %d\\n" % (partition, offset))
    time.sleep(0.0005)

def batches():
    while True:
        for fetched in consumer.poll():
            yield [(r.partition, r.offset) for r in fetched.batch.records(*fetched.tp)
                   if fetched.first <= r.offset < fetched.stop]

if how == "auto, whole polls":
    for records in batches():
        for record in records:
            write(*record)
elif how == "auto, record by record":
    for record in consumer:
        write(record.partition, record.offset)
elif how == "by hand, record by record":
    for count, record in enumerate(consumer):
        write(record.partition, record.offset)
        if count % 7 == 0:
            try:
                consumer.commit()
            except CommitFailedError:  # evicted, on a busy machine: it reads again from the committed offset
                pass
elif how == "by hand, without waiting":
    for record in consumer:
        write(record.partition, record.offset)
        consumer.commit_async()
elif how == "too early":
    for records in batches():
        consumer.commit()
        for record in records:
            write(*record)
            time.sleep(0.02)
"""


@contextmanager
def reader(
    cluster: FakeCluster, path: Path, how: str, protocol: str, session: int = SHORT
) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that reads; killed at the end."""
    cluster.configure_groups(consumer_session_timeout=session / 1000)
    arguments = [cluster.bootstrap, str(path), how, protocol, str(session)]
    child = subprocess.Popen([sys.executable, "-c", _READER, *arguments], env=environment())
    try:
        yield child
    finally:
        child.kill()
        child.wait()


def written(path: Path) -> dict[TopicPartition, set[int]]:
    found: dict[TopicPartition, set[int]] = defaultdict(set)
    for line in path.read_text().splitlines() if path.exists() else ():
        partition, offset = line.split()
        found[tp(int(partition))].add(int(offset))
    return found


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def wait_for_more(path: Path, before: int, child: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + PATIENCE
    while lines(path) <= before:
        assert time.monotonic() < end, "nothing was read"
        assert child.poll() is None, "the reader has ended"
        time.sleep(0.005)


def wait_for_all(path: Path, count: int, child: "subprocess.Popen[bytes]") -> None:
    """Until ``count`` records of each partition are written; some of them all the time."""
    every = {tp(partition): set(range(count)) for partition in range(PARTITIONS)}
    end, read = time.monotonic() + PATIENCE, lines(path)
    while written(path) != every:
        if lines(path) > read:  # slowly, on a busy machine
            end, read = time.monotonic() + PATIENCE, lines(path)
        assert child.poll() is None, "the reader has ended"
        assert time.monotonic() < end, {tp: len(found) for tp, found in written(path).items()}
        time.sleep(0.05)


def too_much(cluster: FakeCluster, path: Path) -> dict[TopicPartition, list[int]]:
    """Offsets that a committed one covers, and that nobody wrote."""
    done = written(path)
    return {
        tp: missing
        for tp, committed in offsets(cluster).items()
        if (missing := sorted(set(range(committed)) - done[tp]))
    }


def kill_once(
    cluster: FakeCluster, path: Path, how: str, protocol: str, wait: float, *, to_commit: bool = False
) -> None:
    """Kills a reader ``wait`` seconds after its first record; ``to_commit``: not before some reader has committed."""
    before = lines(path)
    with reader(cluster, path, how, protocol) as child:
        wait_for_more(path, before, child)
        time.sleep(wait)
        end = time.monotonic() + PATIENCE
        while to_commit and not any(offsets(cluster).values()) and time.monotonic() < end:
            time.sleep(0.005)


@pytest.mark.long
@pytest.mark.case("O2")
@pytest.mark.parametrize(
    ("how", "protocol"),
    [
        pytest.param("auto, whole polls", "classic", marks=pytest.mark.long),
        ("auto, record by record", "consumer"),
        pytest.param("by hand, record by record", "classic", marks=pytest.mark.long),
        ("by hand, without waiting", "consumer"),
    ],
)
@pytest.mark.parametrize("kills", [4, pytest.param(20, marks=pytest.mark.soak)])
def test_what_is_committed_was_written_whenever_the_reader_is_killed(
    tmp_path: Path, how: str, protocol: str, kills: int
) -> None:
    """No commit covers a record that was not written, and in the end all are."""
    path, moments = tmp_path / "written", random.Random(how)
    with FakeCluster(1, topics={"t": PARTITIONS}) as cluster:
        fill(cluster, PARTITIONS, RECORDS // PARTITIONS)
        reached: list[int] = []
        for kill in range(kills):
            kill_once(cluster, path, how, protocol, moments.uniform(0.0, 0.06), to_commit=kill == kills - 1)
            assert too_much(cluster, path) == {}, f"after kill {kill}"
            reached.append(sum(offsets(cluster).values()))
        assert reached == sorted(reached), "a commit went back"
        assert reached[-1] > 0, "nothing was ever committed"
        assert reached[0] < RECORDS, "all was read before the first kill"
        with reader(cluster, path, how, protocol, LONG) as child:
            wait_for_all(path, RECORDS // PARTITIONS, child)
        assert too_much(cluster, path) == {}


@pytest.mark.case("O2")
def test_a_reader_that_was_evicted_between_two_commits_reads_the_rest(tmp_path: Path) -> None:
    path, sent = tmp_path / "written", 1_000
    with FakeCluster(1, topics={"t": PARTITIONS}) as cluster:
        fill(cluster, PARTITIONS, sent)
        with reader(cluster, path, "by hand, record by record", "classic") as child:
            wait_for_more(path, 0, child)
            child.send_signal(signal.SIGSTOP)
            time.sleep(0.5)  # two session timeouts
            child.send_signal(signal.SIGCONT)
            wait_for_all(path, sent, child)
        assert too_much(cluster, path) == {}


@pytest.mark.case("O2")
def test_the_judge_notices_a_commit_that_comes_before_the_record_is_written(tmp_path: Path) -> None:
    path = tmp_path / "written"
    with FakeCluster(1, topics={"t": PARTITIONS}) as cluster:
        fill(cluster, PARTITIONS, 100)
        kill_once(cluster, path, "too early", "classic", 0.0)
        assert too_much(cluster, path)
