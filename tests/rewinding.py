"""A group of kcli members in threads, what they read, and how long they are waited for. Not a test."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kcli.core import Consumer
from tests.fake.cluster import FakeCluster
from tests.fault.producing import PATIENCE, numbers, quick, send

QUICK: dict[str, Any] = {
    "auto_offset_reset": "earliest",
    "heartbeat_interval_ms": 100,
    "auto_commit_interval_ms": 50,
    "retry_backoff_ms": 20,
}
"""Options of members that tests need not wait for."""
_SETTLED = 5 * QUICK["heartbeat_interval_ms"] / 1000


@contextmanager
def filled_cluster(partitions: int) -> Iterator[FakeCluster]:
    """Three brokers, and a topic ``t`` with 50 records in each partition."""
    with FakeCluster(3, topics={"t": partitions}) as made:
        with quick(made, batch_size=16_384) as producer:
            for partition in range(partitions):
                send(producer, "t", partition, *numbers(50))
        yield made


def wait_for(done: Callable[[], bool]) -> None:
    """Until it is so; AssertionError when it takes too long."""
    give_up = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < give_up
        time.sleep(0.01)


def wait_until_settled(cluster: FakeCluster, group: str, members: int) -> None:
    """Stable with so many members, and still so after several heartbeats: nobody joins again."""
    since = time.monotonic()

    def settled() -> bool:
        nonlocal since
        if len(cluster.group_members(group)) != members or cluster.group_state(group) != "Stable":
            since = time.monotonic()
        return time.monotonic() - since >= _SETTLED

    wait_for(settled)


class Others:
    """Members that read all the time; ``first`` has the first offset of each partition after ``watch``."""

    def __init__(
        self, bootstrap: str, topic: str, group: str, options: dict[str, Any], pause: float = 0.0
    ) -> None:
        self._made = (bootstrap, topic, group, options)
        self._pause = pause
        self._stop = threading.Event()
        self._stalled = threading.Event()
        self._standing = threading.Semaphore(0)
        self._watching = threading.Event()
        self.first: dict[int, int] = {}
        self.failures: list[BaseException] = []

    def watch(self) -> None:
        """From now on the first offset of each partition counts."""
        self._watching.set()

    def stall(self, count: int) -> None:
        """They poll no more until they leave; their heartbeats continue. Returns when all ``count`` stand still."""
        self._stalled.set()
        for _ in range(count):
            assert self._standing.acquire(timeout=PATIENCE)

    def note(self, partition: int, offset: int) -> None:
        """A record has been read."""
        if self._watching.is_set():
            self.first.setdefault(partition, offset)

    def run(self) -> None:
        bootstrap, topic, group, options = self._made
        try:
            with Consumer(bootstrap_servers=bootstrap, group_id=group, **options) as consumer:
                consumer.subscribe(topic)
                while not self._stop.is_set():
                    for record in consumer.records(0.1):
                        self.note(record.partition, record.offset)
                    if self._pause:
                        time.sleep(self._pause)
                    if self._stalled.is_set():
                        self._standing.release()
                        self._stop.wait()
        except BaseException as error:  # noqa: BLE001 - told by the test
            self.failures.append(error)

    def stop(self) -> None:
        self._stop.set()


@contextmanager
def others(
    bootstrap: str,
    topic: str,
    group: str,
    count: int,
    *,
    pause: float = 0.0,
    watched: bool = False,
    **options: Any,
) -> Iterator[Others]:
    """So many members besides the test's own. ``pause``: seconds between their polls. ``watched``: from their start."""
    members = Others(bootstrap, topic, group, options, pause)
    if watched:
        members.watch()
    threads = [threading.Thread(target=members.run) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield members
    finally:
        members.stop()
        for thread in threads:
            thread.join(120)
        assert members.failures == []
