"""``--merge``: one order of time, as far as it can be known, and bounded memory."""

from types import SimpleNamespace
from typing import Any

from kcli.core.types import Record, TopicPartition
from kcli.flows.consume import time_order as merge
from kcli.flows.consume.time_order import Merger
from tests.batches import fetched_of

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)


class Consumer:
    """Partitions and how far each was read."""

    def __init__(self, *partitions: TopicPartition) -> None:
        self.options = SimpleNamespace(isolation_level="read_committed")
        self.states = {
            tp: SimpleNamespace(position=0, last_stable=100, high_watermark=100, reached_stop=False)
            for tp in partitions
        }
        self.paused: set[TopicPartition] = set()

    @property
    def assignment(self) -> Any:
        return self.states.keys()

    def state(self, tp: TopicPartition) -> Any:
        return self.states[tp]

    def pause(self, tp: TopicPartition) -> None:
        self.paused.add(tp)

    def resume(self, tp: TopicPartition) -> None:
        self.paused.discard(tp)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def made(*partitions: TopicPartition) -> tuple[Merger, Consumer, Clock]:
    consumer, clock = Consumer(*partitions), Clock()
    return Merger(consumer, clock), consumer, clock  # type: ignore[arg-type]


def add(merger: Merger, tp: TopicPartition, stamps: list[int], first: int = 0, selected: bytes = b"") -> None:
    rows = [Record(*tp, first + n, stamp, 0, None, b"v") for n, stamp in enumerate(stamps)]
    merger.add_batch(fetched_of(rows), selected)


def taken(records: Any) -> list[tuple[int, int, int]]:
    """Timestamp, partition, offset."""
    return [
        (f.batch.base_timestamp + f.batch.columns().timestamp_deltas[0], f.tp.partition, f.first)
        for f in records
    ]


def test_the_earliest_goes_first() -> None:
    merger, _, _ = made(P0, P1)
    add(merger, P0, [10, 30, 50])
    add(merger, P1, [20, 40])
    assert taken(merger.take_ready()) == [
        (10, 0, 0),
        (20, 1, 0),
        (30, 0, 1),
        (40, 1, 1),
    ]  # 50 waits for the next of P1
    add(merger, P1, [60], first=2)
    assert taken(merger.take_ready()) == [(50, 0, 2)]


def test_equal_times_go_by_partition_and_offset() -> None:
    merger, consumer, _ = made(P0, P1)
    add(merger, P1, [5, 5])
    add(merger, P0, [5, 5])
    consumer.states[P0].reached_stop = consumer.states[P1].reached_stop = True
    assert taken(merger.take_ready()) == [(5, 0, 0), (5, 0, 1), (5, 1, 0), (5, 1, 1)]


def test_a_partition_keeps_its_own_order() -> None:
    merger, _, _ = made(P0)
    add(merger, P0, [50, 10, 20])
    assert [offset for _, _, offset in taken(merger.drain())] == [0, 1, 2]


def test_nothing_goes_before_every_partition_has_shown_something() -> None:
    merger, consumer, _ = made(P0, P1)
    add(merger, P0, [10])
    assert taken(merger.take_ready()) == []
    consumer.states[P1].position = -1
    assert taken(merger.take_ready()) == []
    consumer.states[P1].reached_stop = True
    assert taken(merger.take_ready()) == [(10, 0, 0)]


def test_where_a_partition_has_nothing_more_at_present_a_record_waits_for_a_second() -> None:
    merger, consumer, clock = made(P0, P1)
    consumer.states[P1].position = 100
    add(merger, P0, [10])
    assert taken(merger.take_ready()) == []
    assert merger.wait == 1.0
    clock.now = 0.6
    add(merger, P1, [5], first=100)
    assert taken(merger.take_ready()) == [(5, 1, 100)]  # it came in time
    assert 0.39 < merger.wait < 0.41
    clock.now = 1.0
    assert taken(merger.take_ready()) == [(10, 0, 0)]
    assert merger.wait == 1.0


def test_waiting_for_a_lagging_partition_is_no_hot_loop() -> None:
    merger, _, clock = made(P0, P1)
    add(merger, P0, [10])
    clock.now = 60.0
    assert taken(merger.take_ready()) == []
    assert merger.wait == 1.0


def test_only_what_is_selected_and_requested_is_kept() -> None:
    merger, _, _ = made(P0)
    add(merger, P0, [10, 20, 30], selected=b"\0\1\0")
    assert taken(merger.drain()) == [(20, 0, 1)]


def test_a_partition_that_is_far_ahead_is_paused(monkeypatch: Any) -> None:
    monkeypatch.setattr(merge, "MEMORY", 10_000)
    merger, consumer, _ = made(P0, P1)
    add(merger, P0, list(range(10)))
    assert consumer.paused == {P0}
    add(merger, P1, [100])
    list(merger.take_ready())
    assert consumer.paused == set()


def test_the_rest_goes_in_order() -> None:
    merger, _, _ = made(P0, P1)
    add(merger, P0, [10, 30])
    add(merger, P1, [20])
    assert [stamp for stamp, _, _ in taken(merger.drain())] == [10, 20, 30]
