"""Transactions while their coordinator is killed again and again: seen whole or not at all (goal R11, in small)."""

import random
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from confluent_kafka import Consumer as Judge
from confluent_kafka import TopicPartition as JudgePartition

from kcli.core import Cluster, Producer
from kcli.core.cluster.coordinators import Coordinators, KeyType
from kcli.core.errors import TransactionAbortableError, TransactionUnknownError
from kcli.core.options import ClientOptions
from kcli.core.producer.batch import RecordFuture
from kcli.core.types import ProducerRecord, TopicPartition
from tests.chaos.checker import check
from tests.chaos.defects import prove_the_judge
from tests.chaos.ledger import Ledger
from tests.chaos.payload import WILL_ABORT, WILL_COMMIT, Payload, RecordId, decode
from tests.chaos.workload import SEED, read_by_the_judge
from tests.kafka import Kafka

pytestmark = [pytest.mark.integration, pytest.mark.long]

PARTITIONS = 3
FAILOVER = 60.0
"""Seconds within which another broker must have taken over."""


@dataclass
class Killer:
    """Kills the coordinator of a transactional id, starts it again when another one has taken over, and so on."""

    kafka: Kafka
    transactional_id: str
    kills: int
    rng: random.Random
    done: int = 0
    failure: BaseException | None = None
    stop: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        try:
            while self.done < self.kills and not self.stop.wait(self.rng.uniform(0.5, 2)):
                victim = self.coordinator()
                node = next(node for node in self.kafka.nodes if node.node_id == victim)
                node.kill()
                try:
                    deadline = time.monotonic() + FAILOVER
                    while self.coordinator() == victim:
                        assert time.monotonic() < deadline, "the coordinator did not move"
                finally:
                    node.start()
                self.done += 1
        except BaseException as error:  # noqa: BLE001 - told by the test
            self.failure = error

    def coordinator(self) -> int:
        """Its node id; asked until there is one."""
        with Cluster(ClientOptions(bootstrap_servers=self.kafka.bootstrap)) as cluster:
            cluster.connect(30)
            return cluster.call(
                lambda: Coordinators(cluster).find(KeyType.TRANSACTION, self.transactional_id),
                int,
                cluster.deadline(FAILOVER),
                "looking for the coordinator",
            )


@contextmanager
def killing(killer: Killer) -> Iterator[None]:
    thread = threading.Thread(target=killer.run)
    thread.start()
    try:
        yield
    finally:
        killer.stop.set()
        thread.join()


@dataclass
class Transactions:
    """What was sent in each transaction, and which were said to be committed."""

    topic: str
    group: str
    rng: random.Random
    run: bytes = field(default_factory=lambda: uuid.uuid4().bytes[:8])
    ledger: Ledger = field(default_factory=Ledger)
    members: list[list[RecordId]] = field(default_factory=list)
    committed: list[int] = field(default_factory=list)
    outcomes: dict[str, int] = field(default_factory=lambda: {"unknown": 0, "failed": 0})

    def one(self, producer: Producer) -> None:
        """The next transaction: every third is to be aborted."""
        number = len(self.members)
        abort = number % 3 == 2
        producer.begin_transaction()
        futures = []
        try:
            futures = self._send(producer, WILL_ABORT if abort else WILL_COMMIT)
            producer.send_offsets_to_transaction({TopicPartition(self.topic, 0): number + 1}, self.group)
            if abort:
                producer.abort_transaction()
            else:
                self._commit(producer)
        except TransactionAbortableError:
            self.outcomes["failed"] += 1
            producer.abort_transaction()
            abort = True
        self._note(number, futures, committed=not abort)

    def _send(self, producer: Producer, intent: int) -> list[tuple[RecordId, RecordFuture]]:
        ids: list[RecordId] = []
        self.members.append(ids)
        futures = []
        for _ in range(self.rng.randrange(1, 20)):
            one = RecordId(0, self.topic, self.rng.randrange(PARTITIONS), len(self.ledger.sent))
            self.ledger.sent[one] = None
            ids.append(one)
            value = Payload(self.run, one, int(time.time() * 1000), intent).encode(
                self.rng.randrange(500), self.rng
            )
            futures.append((one, producer.send(ProducerRecord(self.topic, value, partition=one.partition))))
        return futures

    def _commit(self, producer: Producer) -> None:
        try:
            producer.commit_transaction()
        except TransactionUnknownError:
            self.outcomes["unknown"] += 1
            producer.commit_transaction()  # asks again

    def _note(self, number: int, futures: list[tuple[RecordId, RecordFuture]], *, committed: bool) -> None:
        if committed:
            self.committed.append(number)
        offsets = {one: future.result(0).offset for one, future in futures} if committed else {}
        for one in self.members[number]:
            if committed:
                self.ledger.acked[one] = offsets[one]
            else:
                self.ledger.failed[one] = "aborted"

    def audit(self, kafka: Kafka) -> None:
        """By another client, which reads committed records only."""
        reads = read_by_the_judge(kafka, self.topic, PARTITIONS)
        prove_the_judge(self.ledger, self.run, reads, SEED)
        assert check(self.ledger, self.run, reads) == {}, f"seed {SEED}"
        seen = {payload.id for read in reads if (payload := decode(read.value)) is not None}
        torn = [n for n, ids in enumerate(self.members) if seen & set(ids) and not seen >= set(ids)]
        assert torn == [], f"seed {SEED}"
        whole = [n for n, ids in enumerate(self.members) if seen >= set(ids)]
        assert whole == self.committed, f"seed {SEED}"
        judge = Judge({"bootstrap.servers": kafka.bootstrap, "group.id": self.group})
        position = judge.committed([JudgePartition(self.topic, 0)], timeout=30)[0].offset
        judge.close()
        assert position == self.committed[-1] + 1, f"seed {SEED}"


@pytest.mark.case("P11", "R11")
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("count", "kills"), [(50, 1), pytest.param(1_000, 4, marks=pytest.mark.soak)])
def test_the_coordinator_is_killed_under_transactions(kafka3: Kafka, count: int, kills: int) -> None:
    """P11: no aborted record is read, no transaction is torn, no commit is lost, positions belong to them."""
    topic = kafka3.topic("txn", partitions=PARTITIONS, replicas=3)
    rng = random.Random(SEED)
    transactions = Transactions(topic, f"{topic}-positions", rng)
    killer = Killer(kafka3, topic, kills, random.Random(SEED))
    with Producer(
        bootstrap_servers=kafka3.bootstrap, transactional_id=topic, compression_type="lz4", linger_ms=2
    ) as producer:
        producer.init_transactions()
        with killing(killer):
            while len(transactions.members) < count or (killer.done < kills and killer.failure is None):
                transactions.one(producer)
    assert killer.failure is None, repr(killer.failure)
    assert killer.done == kills
    transactions.audit(kafka3)
