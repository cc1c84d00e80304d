"""What a chaos test produces, what it notes about it, and the audit by another client at the end.

Every record says what it is (``payload.py``); the ledger has what kcli's producer said of each. All choices come from
the seed. Used by one thread.
"""

import itertools
import os
import random
import time
import uuid

from confluent_kafka import Consumer as Judge
from confluent_kafka import TopicPartition as JudgePartition

from kcli.core import Producer
from kcli.core.producer.batch import RecordFuture
from kcli.core.types import ProducerRecord
from tests.chaos.checker import Read, check
from tests.chaos.defects import prove_the_judge
from tests.chaos.ledger import Ledger
from tests.chaos.payload import Payload, RecordId
from tests.kafka import Kafka

SEED = int(os.environ.get("KCLI_CHAOS_SEED", "20261121"))
"""All that a chaos test chooses comes from it."""

_LOOK = 0.2  # seconds; the judge's consumer waits that long for more, though the end was told


class Workload:
    """Records for one topic, by one producer: ``send`` some, ``settle`` when all are told of, then ``audit``."""

    def __init__(self, topic: str, *, partitions: int, seed: int, largest: int = 2_000) -> None:
        self.ledger = Ledger()
        self.rng = random.Random(seed)
        self._topic, self._partitions, self._seed, self._largest = topic, partitions, seed, largest
        self._run = uuid.uuid4().bytes[:8]
        self._numbers = [itertools.count() for _ in range(partitions)]
        self._futures: list[tuple[RecordId, RecordFuture]] = []

    def send(self, producer: Producer, count: int) -> None:
        """Hands over records of random sizes for random partitions."""
        for _ in range(count):
            partition = self.rng.randrange(self._partitions)
            one = RecordId(0, self._topic, partition, next(self._numbers[partition]))
            self.ledger.sent[one] = None
            padding = int(self._largest ** self.rng.random())  # as many small ones as large ones
            value = Payload(self._run, one, int(time.time() * 1000)).encode(padding, self.rng)
            future = producer.send(ProducerRecord(self._topic, value, partition=partition))
            self._futures.append((one, future))

    def settle(self) -> None:
        """Notes what became of every record; the producer has flushed or is closed."""
        for one, future in self._futures:
            if not future.done:
                continue  # the judge calls it unknown
            if future.error is None:
                self.ledger.acked[one] = future.result(0).offset
            else:
                self.ledger.failed[one] = str(future.error)
        self._futures.clear()

    def audit(self, kafka: Kafka) -> None:
        """Asserts that another client finds what was said, after the judge was seen to find six defects."""
        reads = read_by_the_judge(kafka, self._topic, self._partitions)
        prove_the_judge(self.ledger, self._run, reads, self._seed)
        found = check(self.ledger, self._run, reads)
        assert found == {}, f"seed {self._seed}: {dict(found)}"
        assert self.ledger.failed == {}, f"seed {self._seed}"


def read_by_the_judge(kafka: Kafka, topic: str, partitions: int) -> list[Read]:
    """All records of the topic, in order of partition and offset."""
    wishes = {"group.id": topic, "enable.partition.eof": True, "fetch.wait.max.ms": 10}
    judge = Judge({"bootstrap.servers": kafka.bootstrap, **wishes})
    reads: list[Read] = []
    for partition in range(partitions):
        judge.assign([JudgePartition(topic, partition, 0)])
        at_end = False
        while not at_end:
            for message in judge.consume(5_000, _LOOK):
                if message.error() is not None:
                    at_end = True
                    break
                reads.append(Read(topic, partition, message.offset() or 0, message.value() or b""))
    judge.close()
    return reads
