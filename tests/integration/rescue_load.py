"""Load on a cluster that is about to be killed, by another client, with a journal of what the brokers acknowledged. Not a
test: `python -m tests.integration.rescue_load BOOTSTRAP TOPIC PARTITIONS SEED FOLDER`, which is killed as well.

One idempotent producer with acks=all; several that write transactions, a tenth of them aborted; a group that commits what
it has read; and one whose commits are in transactions with the records that it writes to ``TOPIC-copies``. A line of the
journal is written before the act (``sent``) and when the broker has acknowledged it (``acked``).
"""

import itertools
import random
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TextIO

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from tests.chaos.ledger import LedgerWriter
from tests.chaos.payload import NO_TRANSACTION, WILL_ABORT, WILL_COMMIT, Payload, RecordId, decode

RUN = b"rescued!"
WRITERS = 3  # of transactions; several, so that some are open at any moment
PLAIN, IN_TRANSACTIONS = "rescue-plain", "rescue-transactions"
ABORTED = 0.1
_PATIENCE = 60.0


class Journal:
    """The ledger of records, and the commits of groups: group, partition, offset, the last record before it."""

    def __init__(self, folder: Path) -> None:
        self._lock = threading.Lock()
        self._records = LedgerWriter((folder / "records").open("w"))
        self._commits: TextIO = (folder / "commits").open("w")

    def record(self, event: str, one: RecordId) -> None:
        with self._lock:
            if event == "sent":
                self._records.sent(one)
            else:
                self._records.acked(one, -1)

    def commits(self, event: str, group: str, last: dict[int, tuple[int, RecordId]]) -> None:
        with self._lock:
            for partition, (offset, one) in last.items():
                words = (event, group, partition, offset, one.producer, one.partition, one.sequence)
                self._commits.write("\t".join(map(str, words)) + "\n")
            self._commits.flush()


class Commit(NamedTuple):
    """A commit of the journal; ``last``: the record before the offset."""

    event: str
    group: str
    partition: int
    offset: int
    last: RecordId


def read_commits(folder: Path, topic: str) -> list[Commit]:
    """The commits of the journal, if it has begun, without a last line that was cut off."""
    found = []
    path = folder / "commits"
    for line in path.read_text().splitlines(keepends=True) if path.exists() else ():
        if line.endswith("\n"):
            event, group, *numbers = line.rstrip("\n").split("\t")
            partition, offset, producer, of, sequence = map(int, numbers)
            found.append(Commit(event, group, partition, offset, RecordId(producer, topic, of, sequence)))
    return found


class Load:
    def __init__(self, bootstrap: str, topic: str, partitions: int, seed: int, journal: Journal) -> None:
        self._bootstrap, self._topic, self._partitions = bootstrap, topic, partitions
        self._seed, self._journal = seed, journal

    def run(self) -> None:
        """Until it is killed."""
        works: list[Callable[[], None]] = [self._plain, self._read_plain, self._read_in_transactions]
        works += [lambda number=number: self._transactions(number) for number in range(1, WRITERS + 1)]  # type: ignore[misc]
        for work in works:
            threading.Thread(target=work, daemon=True).start()
        threading.Event().wait()

    def _producer(self, name: str, **more: object) -> Producer:
        return Producer(
            {
                "bootstrap.servers": self._bootstrap,
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": 5,
                "compression.type": random.Random(name).choice(["none", "lz4", "zstd", "gzip"]),
                "log_level": 0,
                **more,
            }
        )

    def _consumer(self, group: str) -> Consumer:
        found = Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": group,
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "log_level": 0,
            }
        )
        found.subscribe([self._topic])
        return found

    def _payloads(self, number: int) -> Callable[[int, int], tuple[RecordId, bytes]]:
        rng = random.Random(self._seed * 100 + number)
        counters = [itertools.count() for _ in range(self._partitions)]

        def made(partition: int, intent: int) -> tuple[RecordId, bytes]:
            one = RecordId(number, self._topic, partition, next(counters[partition]))
            return one, Payload(RUN, one, int(time.time() * 1000), intent).encode(rng.randrange(300), rng)

        return made

    def _plain(self) -> None:
        producer, payload = self._producer("plain"), self._payloads(0)
        rng = random.Random(self._seed)
        while True:
            partition = rng.randrange(self._partitions)
            one, value = payload(partition, NO_TRANSACTION)
            self._journal.record("sent", one)

            def delivered(error: KafkaError | None, _message: Message, one: RecordId = one) -> None:
                if error is None:
                    self._journal.record("acked", one)

            producer.produce(self._topic, value, partition=partition, on_delivery=delivered)
            producer.poll(0.002)

    def _transactions(self, number: int) -> None:
        producer = self._producer(f"w{number}", **{"transactional.id": f"{self._topic}-{number}"})
        producer.init_transactions(_PATIENCE)
        payload, rng = self._payloads(number), random.Random(self._seed + number)
        while True:
            abort = rng.random() < ABORTED
            producer.begin_transaction()
            ids = []
            for _ in range(rng.randrange(1, 80)):
                partition = rng.randrange(self._partitions)
                one, value = payload(partition, WILL_ABORT if abort else WILL_COMMIT)
                self._journal.record("sent", one)
                producer.produce(self._topic, value, partition=partition)
                ids.append(one)
                time.sleep(rng.random() * 0.004)
            producer.flush(_PATIENCE)  # an abort would throw away what is not sent
            if abort:
                producer.abort_transaction(_PATIENCE)
                continue
            producer.commit_transaction(_PATIENCE)
            for one in ids:
                self._journal.record("acked", one)

    def _read_plain(self) -> None:
        consumer = self._consumer(PLAIN)
        while True:
            if last := self._last_of(consumer.consume(100, 0.2)):
                offsets = [TopicPartition(self._topic, at, then) for at, (then, _) in last.items()]
                self._journal.commits("sent", PLAIN, last)
                consumer.commit(offsets=offsets, asynchronous=False)
                self._journal.commits("acked", PLAIN, last)

    def _read_in_transactions(self) -> None:
        consumer = self._consumer(IN_TRANSACTIONS)
        producer = self._producer("reader", **{"transactional.id": f"{self._topic}-reader"})
        producer.init_transactions(_PATIENCE)
        rng = random.Random(self._seed - 1)
        while True:
            messages = consumer.consume(50, 0.2)
            last = self._last_of(messages)
            if not last:
                continue
            while True:  # an aborted one is made again
                producer.begin_transaction()
                for message in messages:
                    producer.produce(f"{self._topic}-copies", message.value(), partition=message.partition())
                offsets = [TopicPartition(self._topic, at, then) for at, (then, _) in last.items()]
                producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), _PATIENCE)
                if rng.random() >= ABORTED:
                    break
                producer.flush(_PATIENCE)
                producer.abort_transaction(_PATIENCE)
            self._journal.commits("sent", IN_TRANSACTIONS, last)
            producer.commit_transaction(_PATIENCE)
            self._journal.commits("acked", IN_TRANSACTIONS, last)

    @staticmethod
    def _last_of(messages: list[Message]) -> dict[int, tuple[int, RecordId]]:
        """By partition the offset after the last record, and which it is."""
        last = {}
        for message in messages:
            if message.error() is None:
                payload = decode(message.value() or b"")
                assert payload is not None
                last[message.partition()] = (message.offset() + 1, payload.id)
        return last


if __name__ == "__main__":
    at, topic, partitions, seed, folder = sys.argv[1:]
    Load(at, topic, int(partitions), int(seed), Journal(Path(folder))).run()
