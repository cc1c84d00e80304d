"""What another client reads of a mirror's source and target, and how they compare."""

import time
from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, NamedTuple, Self

from confluent_kafka import Consumer, KafkaError
from confluent_kafka import TopicPartition as JudgePartition

from tests.chaos.checker import Read, check
from tests.chaos.defects import prove_the_judge
from tests.chaos.mirror_steps import INTERVAL, SLACK, Mirror, Run
from tests.chaos.transactional_source import TransactionalSource

_WHILE_BROKERS_DIE = (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._TIMED_OUT)


class StoredRecord(NamedTuple):
    """Everything of a record that a mirror has to keep."""

    key: bytes | None
    value: bytes
    timestamp: tuple[int, int]
    headers: tuple[tuple[str, bytes | None], ...]


class CommittedReader:
    """Reads a topic with ``read_committed``; each ``read`` continues where the last one ended."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self.records: list[list[StoredRecord]] = [[] for _ in range(partitions)]
        self._topic = topic
        self._next = [0] * partitions
        self._offsets: list[list[int]] = [[] for _ in range(partitions)]
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": f"audit-{topic}",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "fetch.wait.max.ms": 10,
                "log_level": 0,  # brokers die on purpose
            }
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self._consumer.close()

    def read(self) -> int:
        """Reads up to the last stable offset of every partition; how many records there are by now."""
        self._consumer.assign([JudgePartition(self._topic, at, then) for at, then in enumerate(self._next)])
        unread = set(range(len(self._next)))
        while unread:
            for message in self._consumer.consume(5_000, 0.2):
                self._keep(message, unread)
        return sum(map(len, self.records))

    def reads(self, topic: str) -> list[Read]:
        """What was read, for the judge of the chaos tests; ``topic`` is the name that the records know."""
        return [
            Read(topic, partition, offset, record.value)
            for partition, records in enumerate(self.records)
            for offset, record in zip(self._offsets[partition], records, strict=True)
        ]

    def _keep(self, message: Any, unread: set[int]) -> None:
        error, partition = message.error(), message.partition()
        if error is None:
            self._next[partition] = message.offset() + 1
            self._offsets[partition].append(message.offset())
            self.records[partition].append(
                StoredRecord(
                    message.key(), message.value(), message.timestamp(), tuple(message.headers() or ())
                )
            )
        elif error.code() == KafkaError._PARTITION_EOF:
            unread.discard(partition)
        else:
            assert error.retriable() or error.code() in _WHILE_BROKERS_DIE, error


class KillLedger:
    """A line for each run: what killed it, the records on the target, the duplicates, and how many could be there."""

    def __init__(self, mirror: Mirror, target: CommittedReader) -> None:
        self._mirror, self._target = mirror, target
        self._killed: list[Run] = []
        self._began = time.monotonic()
        print(
            f"{'run':>4} {'at':>6}  {'ended':36} {'on target':>9} {'duplicates':>10} {'allowed':>8} {'age':>5}"
        )

    def note(self, run: Run, end: str) -> None:
        """Reads the target, prints the line, and asserts that there are not more duplicates than earlier runs explain."""
        mirror = self._mirror
        records, found = self._target.read(), duplicates(self._target)
        allowed = 0 if mirror.exactly_once else sum(map(mirror.unsaved, self._killed))
        age = mirror.age(run) if run.killed else 0.0
        print(
            f"{run.number:4} {time.monotonic() - self._began:5.1f}s  {end:36} {records:9} {found:10} "
            f"{allowed:8} {age:5.1f}"
        )
        assert found <= allowed
        if run.killed:
            assert mirror.exactly_once or age <= INTERVAL + SLACK, f"the last position is {age:.1f} s old"
            self._killed.append(run)


def duplicates(reader: CommittedReader) -> int:
    """Copies of records that are there more than once, without the first ones."""
    values = Counter(record.value for records in reader.records for record in records)
    return values.total() - len(values)


def assert_equal(source: CommittedReader, target: CommittedReader) -> None:
    """The target has the records of the source, in their order."""
    _compare(source.records, target.records)


def assert_nothing_lost(source: CommittedReader, target: CommittedReader) -> None:
    """Without the copies of records that came before, the target has the records of the source, in their order."""
    _compare(source.records, [_first_copies(records) for records in target.records])


def assert_judged(source: TransactionalSource, topic: str, target: CommittedReader, seed: int) -> None:
    """By what the writer of the source knows: nothing lost, doubled, reordered, altered, and nothing that was aborted.

    The judge is first seen to find each of these.
    """
    reads = target.reads(topic)
    prove_the_judge(source.ledger, source.run, reads, seed)
    found = check(source.ledger, source.run, reads)
    assert found == {}, f"seed {seed}: {dict(found)}"


def _compare(here: Sequence[Sequence[StoredRecord]], there: Sequence[Sequence[StoredRecord]]) -> None:
    for partition, (left, right) in enumerate(zip(here, there, strict=True)):
        for number, (one, other) in enumerate(zip_longest(left, right)):
            assert one == other, (
                f"partition {partition}: record {number} of {len(left)} and {len(right)} differs"
            )


def _first_copies(records: Sequence[StoredRecord]) -> list[StoredRecord]:
    return list({record.value: record for record in reversed(records)}.values())[::-1]
