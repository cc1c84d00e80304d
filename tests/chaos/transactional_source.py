"""What a mirror copies in the chaos tests: a topic that another client writes in transactions, a tenth of them aborted.

It is written before and while it is mirrored, by a thread of its own. The ledger has every record and the outcome of its
transaction; the records say themselves what they are (``payload.py``). All choices come from the seed.
"""

import itertools
import random
import threading
import time
import uuid
from typing import Any, Self

from confluent_kafka import KafkaException, Producer

from tests.chaos.ledger import Ledger
from tests.chaos.payload import WILL_ABORT, WILL_COMMIT, Payload, RecordId
from tests.kafka import Kafka

ABORTED = 0.1
"""The share of transactions that are aborted."""
_PATIENCE = 90.0  # seconds for one call of a transaction, through the death of its coordinator
_SLICE = 10.0


class TransactionalSource:
    """Writes ``backlog`` committed records when it is entered, more at ``pace`` records a second until ``finish``.

    ``total``: committed records at the end. ``ledger`` may be read after ``finish``.
    """

    def __init__(
        self,
        kafka: Kafka,
        topic: str,
        *,
        partitions: int,
        seed: int,
        total: int,
        backlog: int,
        pace: float,
        transaction_size: int = 200,
    ) -> None:
        self.ledger = Ledger()
        self.run = uuid.uuid4().bytes[:8]
        self.transactions = self.aborted = self.failed = 0
        self._topic, self._partitions = topic, partitions
        self._total, self._backlog, self._pace = total, backlog, pace
        self._size = transaction_size
        self._rng = random.Random(seed)
        self._numbers = [itertools.count() for _ in range(partitions)]
        self._producer = Producer(
            {
                "bootstrap.servers": kafka.bootstrap,
                "transactional.id": topic,
                "transaction.timeout.ms": 30_000,
                "compression.type": "lz4",
                "linger.ms": 2,
                "log_level": 0,  # brokers die on purpose
            }
        )
        self._hurry = threading.Event()
        self._thread = threading.Thread(target=self._write, name="source")
        self._error: BaseException | None = None

    @property
    def committed(self) -> int:
        """Records of committed transactions so far."""
        return len(self.ledger.acked)

    def __enter__(self) -> Self:
        self._producer.init_transactions(_PATIENCE)
        while self.committed < self._backlog:
            self._transaction()
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._total = 0
        self._hurry.set()
        self._thread.join()

    def finish(self) -> None:
        """Writes the rest as fast as it can; raises what the thread failed with."""
        self._hurry.set()
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _write(self) -> None:
        try:
            while not self._hurry.is_set() or self.committed < self._total:
                began = time.monotonic()
                size = self._transaction()
                self._hurry.wait(max(0.0, began + size / self._pace - time.monotonic()))
        except BaseException as error:  # noqa: BLE001 - raised by finish
            self._error = error

    def _transaction(self) -> int:
        """One transaction; returns its number of records."""
        rng = self._rng
        abort = rng.random() < ABORTED
        self.transactions += 1
        self.aborted += abort
        self._producer.begin_transaction()
        ids = [
            self._send(WILL_ABORT if abort else WILL_COMMIT) for _ in range(rng.randrange(1, 2 * self._size))
        ]
        committed = False
        if abort:
            self._producer.flush(_PATIENCE)  # an abort would throw away what is not sent
            self._call(self._producer.abort_transaction)
        else:
            committed = self._commit()
        for one in ids:
            if committed:
                self.ledger.acked[one] = -1  # at an offset that is not known
            else:
                self.ledger.failed[one] = "aborted"
        return len(ids)

    def _send(self, intent: int) -> RecordId:
        rng = self._rng
        partition = rng.randrange(self._partitions)
        one = RecordId(0, self._topic, partition, next(self._numbers[partition]))
        self.ledger.sent[one] = None
        value = Payload(self.run, one, int(time.time() * 1000), intent).encode(
            int(1_000 ** rng.random()), rng
        )
        key = rng.choice([None, b"", b"%d" % rng.randrange(1_000)])
        headers = [("number", b"%d" % one.sequence), ("null", None)] if rng.random() < 0.1 else []
        self._producer.produce(self._topic, value, key, partition=partition, headers=headers)
        return one

    def _commit(self) -> bool:
        """Whether it is committed; a transaction that a dying broker made impossible is aborted."""
        try:
            self._call(self._producer.commit_transaction)
        except KafkaException as error:
            if not error.args[0].txn_requires_abort():
                raise
            self.failed += 1
            self._call(self._producer.abort_transaction)
            return False
        return True

    def _call(self, method: Any) -> None:
        """Calls it again while the error says that this is right."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                method(_SLICE)
                return
            except KafkaException as error:
                if not error.args[0].retriable() or time.monotonic() > deadline:
                    raise
