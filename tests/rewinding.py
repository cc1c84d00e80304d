"""A group of kcli members in threads, for tests that rewind it. Not a test."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kcli.core import Consumer


class Others:
    """Members that read all the time; ``first`` has the first offset of each partition after ``watch``."""

    def __init__(
        self, bootstrap: str, topic: str, group: str, options: dict[str, Any], pause: float = 0.0
    ) -> None:
        self._made = (bootstrap, topic, group, options)
        self._pause = pause
        self._stop = threading.Event()
        self._watching = threading.Event()
        self.first: dict[int, int] = {}
        self.failures: list[BaseException] = []

    def watch(self) -> None:
        """From now on the first offset of each partition counts."""
        self._watching.set()

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
        except BaseException as error:  # noqa: BLE001 - told by the test
            self.failures.append(error)

    def stop(self) -> None:
        self._stop.set()


@contextmanager
def others(
    bootstrap: str, topic: str, group: str, count: int, *, pause: float = 0.0, **options: Any
) -> Iterator[Others]:
    """So many members besides the test's own. ``pause``: seconds between their polls."""
    members = Others(bootstrap, topic, group, options, pause)
    threads = [threading.Thread(target=members.run) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield members
    finally:
        members.stop()
        for thread in threads:
            thread.join(30)
        assert members.failures == []
