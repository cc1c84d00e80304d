"""Groups of every kind of member are rewound as they run; a ledger of what was read decides whether each report is true
(goal R10, cases O11 to O14).

A partition that is reported as held has been read again from exactly the offset that was asked for; what could not be
seen is reported as unknown, which is only allowed where nothing proves it. All members work afterwards, and an undo,
which is a live rewind too, puts the old offsets back.
"""

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kcli.core import Admin, Producer
from kcli.core.errors import KcliError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from tests.integration.members import CLIENTS, Manner, Member, Place, wait_until
from tests.kafka import Kafka
from tests.run import KCLI, run

pytestmark = [pytest.mark.integration, pytest.mark.long]

PARTITIONS = 2
RATE = 200  # records a second and partition
BACK = 700
PATIENCE = 40.0


@dataclass(frozen=True)
class Cell:
    """Two members of one kind, or of two."""

    clients: tuple[str, str]
    assignor: str
    protocol: str = "classic"
    static: bool = False
    by_hand: bool = False
    busy_ms: int = 0

    @property
    def certain(self) -> bool:
        """Whether the protocol leaves no doubt."""
        return self.protocol == "classic" and self.assignor != "cooperative-sticky"

    def __str__(self) -> str:
        kinds = "+".join(dict.fromkeys(self.clients))
        busy = f"-busy-{self.busy_ms}" if self.busy_ms else ""
        manner = ("-static" if self.static else "") + ("-by-hand" if self.by_hand else "") + busy
        return f"{kinds}-{self.assignor or self.protocol}{manner}"


def _cells() -> Iterator[Cell]:
    for name in ("java", "confluent", "kafka-python", "aiokafka", "kcli"):
        for by_hand in (False, True):
            yield Cell((name, name), "range", by_hand=by_hand)
    for name in ("java", "confluent", "kcli"):
        yield Cell((name, name), "cooperative-sticky")
        yield Cell((name, name), "cooperative-sticky", by_hand=True)
        yield Cell((name, name), "range", static=True)
    yield Cell(("kafka-python", "kafka-python"), "cooperative-sticky")
    yield Cell(("java", "confluent"), "cooperative-sticky", by_hand=True)
    yield Cell(("kcli", "aiokafka"), "range")
    for name in ("java", "confluent", "kcli"):
        for by_hand in (False, True):
            yield Cell((name, name), "", "consumer", by_hand=by_hand)
    yield Cell(("java", "java"), "", "consumer", static=True)
    for busy_ms in (100, 500, 2_000):
        yield Cell(("java", "java"), "", "consumer", by_hand=True, busy_ms=busy_ms)
        yield Cell(("java", "java"), "range", by_hand=True, busy_ms=busy_ms)
    yield Cell(("java", "confluent"), "", "consumer", by_hand=True)


CELLS = list(_cells())
QUICK = Cell(("java", "java"), "", "consumer", by_hand=True)
"""The smoke of the ledger (``test_rewind_ledger.py``) has two classic ones."""
RUNS = [pytest.param(cell, id=str(cell), marks=[] if cell == QUICK else [pytest.mark.soak]) for cell in CELLS]


class Ledger:
    """What all members have read, in the order in which it was heard of."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.reads: list[Place] = []

    def took(self, place: Place) -> None:
        """One member has read it."""
        with self._lock:
            self.reads.append(place)

    def mark(self) -> int:
        """For ``jump``: what comes from now on."""
        with self._lock:
            return len(self.reads)

    def jumps(self, partition: int, mark: int) -> list[int]:
        """The offsets since the mark that do not follow the one before them."""
        found, last = [], None
        for number, (where, offset) in enumerate(self.reads[:]):
            if where != partition:
                continue
            if number >= mark and last is not None and offset != last + 1:
                found.append(offset)
            last = offset
        return found

    def last(self, partition: int) -> int:
        """The highest offset read; −1: none."""
        return max((offset for where, offset in self.reads[:] if where == partition), default=-1)


@contextmanager
def flowing(kafka: Kafka, topic: str) -> Iterator[None]:
    """Records come into every partition all the time."""
    over = threading.Event()
    failures: list[BaseException] = []

    def load() -> None:
        try:
            with Producer(bootstrap_servers=kafka.bootstrap, linger_ms=5) as producer:
                while not over.wait(10 / RATE):
                    for partition in range(PARTITIONS):
                        producer.send_text(topic, (b"x" * 50 + b"\n") * 10, partition=partition)
        except BaseException as error:  # noqa: BLE001 - raised below
            failures.append(error)

    thread = threading.Thread(target=load)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(PATIENCE)
    assert failures == []


def kcli(kafka: Kafka, state: Path, *arguments: str) -> Any:
    """The items of what `kcli groups rewind` reports."""
    done = run(
        [*KCLI, "-b", kafka.bootstrap, "groups", "rewind", *arguments, "-o", "json"],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "XDG_STATE_HOME": str(state)},
    )
    items = json.loads(done.stdout)["items"]
    print(
        [(item["partition"], item["committed"], item["new"], item["found"], item["status"]) for item in items]
    )
    unknown = any(item["status"] == "unknown" for item in items)
    overwritten = any(item["reason"] == "overwritten" for item in items)
    assert done.returncode == (7 if overwritten else 6 if unknown else 0), done.stderr
    return items


@contextmanager
def members(kafka: Kafka, cell: Cell, topic: str, group: str, ledger: Ledger) -> Iterator[list[Member]]:
    """Both, with their partitions."""
    made: list[Member] = []
    try:
        for number, client in enumerate(cell.clients):
            manner = Manner(f"{group}-{number}" if cell.static else "", cell.by_hand, cell.busy_ms)
            made.append(
                CLIENTS[client](kafka, group, topic, cell.protocol, cell.assignor, manner, ledger.took)
            )
            wait_until(lambda: bool(made[-1].owned), made, "the first partitions")
        wait_until(lambda: all(len(one.owned) == 1 for one in made), made, "a partition each")
        yield made
    finally:
        for one in made:
            one.leave()


class Watch:
    """What is read from now on."""

    def __init__(self, cell: Cell, ledger: Ledger, before: dict[int, int]) -> None:
        self._cell, self._ledger, self._before = cell, ledger, before
        self._mark = ledger.mark()

    def again(self, item: Any) -> list[int]:
        """Where reading began again. In groups of the new protocol a member may be back, and read on from what is
        committed by then, before the guard has everything.
        """
        found = self._ledger.jumps(item["partition"], self._mark)
        own = self._before[item["partition"]]
        while found and self._cell.protocol == "consumer" and found[0] >= own and found[0] != item["new"]:
            found.pop(0)
        return found

    def judge(self, items: Any) -> None:
        """Held only if the first record that was read again is the one that was asked for; then nothing but held, or,
        where the protocol leaves room for a doubt, unknown.
        """
        assert len(items) == PARTITIONS
        for item in items:
            end = time.monotonic() + PATIENCE
            while not (found := self.again(item)) and item["reason"] == "held" and time.monotonic() < end:
                time.sleep(0.05)
            right = found[:1] == [item["new"]]
            allowed = {"held"} if self._cell.certain else {"held", "not_proven"}
            word = item["reason"] or item["status"]
            assert word in (allowed if right else {"not_proven", "unknown", "overwritten"}), (item, found)
            assert right or self._cell.busy_ms, (item, found)

    def judge_at_the_end(self, items: Any) -> None:
        """And from there on one after the other."""
        for item in items:
            assert self.again(item) == [item["new"]] or item["reason"] != "held"


@pytest.mark.case("O11", "O12", "O13", "O14", "R10", "S0-55")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("cell", RUNS)
def test_every_report_of_a_live_rewind_is_true(kafka: Kafka, tmp_path: Path, cell: Cell) -> None:
    """There, and back again with an undo."""
    if cell.protocol == "consumer" and kafka.version != "unknown" and int(kafka.version.split(".")[0]) < 4:
        pytest.skip(f"Kafka {kafka.version} has no KIP-848 groups")
    topic = kafka.topic("live", partitions=PARTITIONS)
    group, ledger = f"{topic}-group", Ledger()
    with flowing(kafka, topic), members(kafka, cell, topic, group, ledger) as both:

        def far_enough() -> bool:
            return all(ledger.last(partition) > 2 * BACK for partition in range(PARTITIONS))

        def watching() -> Watch:
            with Admin(bootstrap_servers=kafka.bootstrap) as admin:
                told = admin.fetch_offsets({group: None})[group]
            assert not isinstance(told, KcliError)
            before = {w.partition: c.offset for w, c in told.items() if isinstance(c, OffsetAndMetadata)}
            return Watch(cell, ledger, before)

        def reading_on() -> None:
            """As if nothing had happened: what the members tell comes a little later than they read it.

            Busy members read whole batches, of 500 records in Java. Where less than one is undone, their first commit is
            beyond the old offset, and may be of an old batch.
            """
            behind = [ledger.last(partition) for partition in range(PARTITIONS)]
            more = 2 * BACK if cell.busy_ms else RATE
            wait_until(
                lambda: all(ledger.last(p) > behind[p] + more for p in range(PARTITIONS)), both, "reading on"
            )

        wait_until(far_enough, both, "enough records")
        reading_on()
        watch = watching()
        there = kcli(kafka, tmp_path, group, "--to", str(BACK), "--all-topics", "--live", "--yes")
        watch.judge(there)
        old = {TopicPartition(topic, item["partition"]): item["committed"] for item in there}
        assert all(offset > BACK for offset in old.values())

        wait_until(lambda: all(one.owned for one in both), both, "a partition each, again")
        reading_on()
        watch.judge_at_the_end(there)
        watch = watching()
        back = kcli(kafka, tmp_path, group, "--undo", "--live", "--yes")
        watch.judge(back)
        assert {TopicPartition(topic, item["partition"]): item["new"] for item in back} == old
        wait_until(lambda: all(one.owned for one in both), both, "a partition each, in the end")
