"""Records flow into the topics of all cells that run: one thread of this process, one producer."""

import threading
from types import TracebackType

from confluent_kafka import Producer

_TICK = 0.1
_VALUE = b"x" * 60


class Flow:
    """A context manager. Topics come and go; each has a rate of records a second and partition."""

    def __init__(self, bootstrap: str) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "acks": 1, "log_level": 2})
        self._lock = threading.Lock()
        self._rates: dict[str, tuple[int, int]] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Flow":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        self._producer.flush(5)

    def begin(self, topic: str, partitions: int, rate: int, already: int) -> None:
        """``already``: how many records each partition has before the flow begins."""
        with self._lock:
            self._produce(topic, partitions, already)
            self._producer.flush(20)
            self._rates[topic] = (partitions, rate)

    def stop(self, topic: str) -> None:
        with self._lock:
            self._rates.pop(topic, None)

    def _run(self) -> None:
        while not self._over.wait(_TICK):
            with self._lock:
                for topic, (partitions, rate) in self._rates.items():
                    self._produce(topic, partitions, max(1, round(rate * _TICK)))
            self._producer.poll(0)

    def _produce(self, topic: str, partitions: int, count: int) -> None:
        for partition in range(partitions):
            for _ in range(count):
                self._producer.produce(topic, _VALUE, partition=partition)
