"""Queues of batches: order, lingering, memory, the parked queue, expiry."""

import threading
from typing import Any

import pytest

from kcli.core.errors import BufferFullError, ClosedError, KcliError
from kcli.core.producer.accumulator import NEVER
from kcli.core.producer.batch import BatchEvent, BatchState
from kcli.core.producer.buffer_memory import BufferMemory
from tests.unit.core.net.fakes import Clock
from tests.unit.core.producer.batches import (
    P0,
    P1,
    accumulator,
    lines,
    open_batch,
    parked,
    put,
    record,
    retried,
    sent,
    take_batch,
    values_of,
)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def take(where: Any, partition: Any, clock: Clock) -> list[bytes] | None:
    batch = take_batch(where, partition, clock())
    return None if batch is None else values_of(batch)


# --- order and lingering ------------------------------------------------------------------------------------


@pytest.mark.case("S0-19")
def test_records_keep_their_order_over_batches(clock: Clock) -> None:
    acc = accumulator(clock, batch_size=200)
    values = [b"%03d" % n + b"x" * 30 for n in range(20)]
    put(acc, P0, *values)
    found: list[bytes] = []
    while (batch := take_batch(acc, P0, clock())) is not None:
        found += values_of(batch)
    assert found == values


@pytest.mark.case("S0-14")
def test_a_chunk_of_lines_fills_batch_after_batch(clock: Clock) -> None:
    acc = accumulator(clock, batch_size=300)
    rest = [b"%03d" % n + b"x" * 30 for n in range(20)]
    while rest:
        taken = acc.append(P0, lines(*rest))
        assert taken >= 1
        rest = rest[taken:]
    assert len(list(acc.queued())) >= 3


@pytest.mark.case("S0-14", "S4-11")
def test_an_open_batch_waits_for_more_and_a_full_one_does_not(clock: Clock) -> None:
    acc = accumulator(clock, batch_size=100)
    put(acc, P0, b"a")
    assert acc.ready(clock()) == ([], clock() + 0.5)
    assert acc.ready(clock() + 0.5)[0] == [P0]
    put(acc, P0, b"x" * 90)
    assert acc.ready(clock())[0] == [P0]


@pytest.mark.case("S4-11")
def test_the_next_wake_is_the_earliest(clock: Clock) -> None:
    acc = accumulator(clock)
    put(acc, P0, b"a")
    clock.time += 0.2
    put(acc, P1, b"b")
    ready, wake = acc.ready(clock())
    assert ready == []
    assert wake - clock() == pytest.approx(0.3)


def test_a_flush_ends_the_lingering_of_existing_batches_only(clock: Clock) -> None:
    acc = accumulator(clock)
    put(acc, P0, b"a")
    acc.flush()
    assert acc.ready(clock())[0] == [P0]
    take_batch(acc, P0, clock())
    clock.time += 0.1
    put(acc, P0, b"b")
    assert acc.ready(clock())[0] == []


def test_when_the_next_batch_of_a_partition_is_due(clock: Clock) -> None:
    acc = accumulator(clock, linger=0.5, batch_size=80)

    def next_due() -> tuple[list[Any], float]:
        put(acc, P0, b"a" * 30)
        _, more, wake = acc.take_batches([P0], clock(), lambda _: True, 1)
        return more, wake

    put(acc, P0, b"a" * 30)
    assert next_due() == ([], clock() + 0.5)
    acc.flush()
    assert next_due() == ([P0], NEVER)
    assert acc.take_batches([P0], clock(), lambda _: True, 1)[1:] == ([], NEVER)


def test_a_request_takes_no_more_partitions_than_it_has_room_for(clock: Clock) -> None:
    acc = accumulator(clock)
    put(acc, P0, b"a")
    put(acc, P1, b"b")
    batches, more, _ = acc.take_batches([P0, P1], clock(), lambda _: True, 1)
    assert ([batch.tp for batch in batches], more) == ([P0], [P1])


def test_a_batch_that_may_not_be_sent_stays_queued(clock: Clock) -> None:
    acc = accumulator(clock)
    put(acc, P0, b"a")
    put(acc, P1, b"b")
    batches, more, _ = acc.take_batches([P0, P1], clock(), lambda batch: batch.tp == P1, 1_000)
    assert ([batch.tp for batch in batches], more) == ([P1], [])
    assert acc.first_batch(P0) is not None


def test_a_drained_batch_accepts_no_more_records(clock: Clock) -> None:
    acc = accumulator(clock)
    put(acc, P0, b"a")
    batch = take_batch(acc, P0, clock())
    put(acc, P0, b"b")
    assert batch is not None
    assert (batch.state, values_of(batch)) == (BatchState.QUEUED, [b"a"])
    assert take(acc, P0, clock) == [b"b"]


def test_peek_leaves_the_batch_open(clock: Clock) -> None:
    acc = accumulator(clock)
    put(acc, P0, b"a")
    first = acc.first_batch(P0)
    put(acc, P0, b"b")
    assert first is take_batch(acc, P0, clock())
    assert acc.first_batch(P0) is None
    assert acc.first_batch(P1) is None


@pytest.mark.case("S0-20", "S0-22")
def test_partitions_do_not_wait_for_each_other(clock: Clock) -> None:
    acc = accumulator(clock)
    put(acc, P0, b"a")
    batch = sent(take_batch(acc, P0, clock()))
    batch.not_before = clock() + 100
    acc.put_back(retried(batch))
    put(acc, P1, b"b")
    assert acc.ready(clock() + 1)[0] == [P1]


# --- again ------------------------------------------------------------------------------------------------------


def test_a_batch_in_its_pause_holds_back_those_behind_it(clock: Clock) -> None:
    acc = accumulator(clock, batch_size=100)
    put(acc, P0, b"1" * 50)
    batch = sent(take_batch(acc, P0, clock()))
    put(acc, P0, b"2" * 50, b"3" * 50)
    batch.not_before = clock() + 2
    acc.put_back(retried(batch))
    assert acc.ready(clock() + 1) == ([], clock() + 2)
    assert take(acc, P0, clock) is None
    clock.time += 2
    assert acc.ready(clock())[0] == [P0]
    assert [take(acc, P0, clock) for _ in range(3)] == [[b"1" * 50], [b"2" * 50], [b"3" * 50]]


@pytest.mark.case("S0-19")
@pytest.mark.parametrize("base", [0, 2**31 - 3])
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1), (1, 3, 0, 2)])
def test_batches_come_back_in_the_order_of_their_numbers(
    clock: Clock, base: int, order: tuple[int, ...]
) -> None:
    acc = accumulator(clock, batch_size=80)
    put(acc, P0, *(b"%d" % n * 30 for n in range(6)))
    flying = [sent(take_batch(acc, P0, clock()), (base + n) % 2**31) for n in range(4)]
    for n in order:
        acc.put_back(retried(flying[n]))
    found = [take(acc, P0, clock) for _ in range(6)]
    assert found == [[b"%d" % n * 30] for n in range(6)]


def test_without_numbers_a_batch_comes_back_in_front(clock: Clock) -> None:
    acc = accumulator(clock, batch_size=80)
    put(acc, P0, b"1" * 30, b"2" * 30)
    acc.put_back(retried(sent(take_batch(acc, P0, clock()))))
    assert [take(acc, P0, clock) for _ in range(2)] == [[b"1" * 30], [b"2" * 30]]


def test_parts_take_the_position_and_the_memory_of_their_batch(clock: Clock) -> None:
    acc = accumulator(clock, memory=10_000)
    put(acc, P0, b"1", b"2")
    batch = sent(take_batch(acc, P0, clock()))
    put(acc, P0, b"3")
    parts = [open_batch(clock, P0, b"1"), open_batch(clock, P0, b"2")]
    for part in parts:
        part.cell.apply(BatchEvent.CLOSE)
    batch.split_into(parts)
    acc.replace(batch, parts)
    assert [take(acc, P0, clock) for _ in range(3)] == [[b"1"], [b"2"], [b"3"]]
    assert acc.memory.used == sum(p.builder.size for p in parts) + open_batch(clock, P0, b"3").builder.size


def test_parts_of_several_split_batches_stay_in_the_order_of_their_sequence(clock: Clock) -> None:
    """Both were in flight when they were rejected as too large."""
    acc = accumulator(clock, memory=10_000)
    split = []
    for first in (0, 2):
        put(acc, P0, b"%d" % first, b"%d" % (first + 1))
        batch = sent(take_batch(acc, P0, clock()))
        batch.number(1, 0, first)
        parts = [open_batch(clock, P0, b"%d" % number) for number in (first, first + 1)]
        for part in parts:
            part.cell.apply(BatchEvent.CLOSE)
            part.number(1, 0, int(bytes(part.builder._chunks[0])[-2:-1]))
        batch.split_into(parts)
        split.append((batch, parts))
    for batch, parts in split:
        acc.replace(batch, parts)
    assert [take(acc, P0, clock) for _ in range(4)] == [[b"0"], [b"1"], [b"2"], [b"3"]]


# --- memory -----------------------------------------------------------------------------------------------------


@pytest.mark.case("S0-28")
def test_memory_is_counted_until_a_batch_is_completed(clock: Clock) -> None:
    acc = accumulator(clock, memory=500, batch_size=10_000)
    acc.memory.wait_for_room()
    put(acc, P0, b"x" * 600)
    batch = sent(take_batch(acc, P0, clock()))
    with pytest.raises(BufferFullError, match=r"buffer\.memory"):
        acc.memory.wait_for_room()
    batch.confirm(0, -1)
    acc.release(batch)
    acc.memory.wait_for_room()
    assert acc.memory.used == 0


def test_a_full_memory_ends_the_lingering(clock: Clock) -> None:
    acc = accumulator(clock, memory=500, batch_size=10_000)
    put(acc, P0, b"x" * 600)
    assert acc.ready(clock())[0] == [P0]


def waiting(acc: Any) -> tuple[threading.Thread, list[object]]:
    """A caller that waits for memory; returns when it does."""
    outcome: list[object] = []

    def wait() -> None:
        try:
            acc.memory.wait_for_room()
            outcome.append("room")
        except KcliError as error:
            outcome.append(type(error))

    thread = threading.Thread(target=wait)
    thread.start()
    while acc.memory.waiters == 0 and thread.is_alive():
        thread.join(0.001)
    return thread, outcome


@pytest.mark.case("S0-28")
@pytest.mark.parametrize("event", ["settled", "closed", "taken", "expired", "interrupted"])
def test_a_waiting_caller_is_let_go(clock: Clock, event: str) -> None:
    acc = accumulator(clock, memory=500, batch_size=10_000, max_block=60.0)
    log: list[str] = []
    if event in ("taken", "expired"):
        acc.park("u", parked(log, "p", size=600, deadline=clock() + 1))
        batch = None
    else:
        put(acc, P0, b"x" * 600)
        batch = sent(take_batch(acc, P0, clock()))
    thread, outcome = waiting(acc)
    if event == "settled":
        assert batch is not None
        batch.confirm(0, -1)
        acc.release(batch)
    elif event == "closed":
        acc.close(KcliError("the sender has died"))
    elif event == "taken":
        acc.remove_all()
    elif event == "expired":
        acc.remove_past_delivery_timeout(clock() + 2)
    else:
        acc.memory.interrupt()
    thread.join(120)
    assert outcome == [ClosedError if event in ("closed", "interrupted") else "room"]


def test_an_interrupt_before_the_wait_for_memory_leaves_no_waiter(clock: Clock) -> None:
    """Batches do not linger while somebody waits."""

    def interrupted() -> float:
        raise KeyboardInterrupt

    memory = BufferMemory(threading.Lock(), 500, 60.0, interrupted)
    memory.used = 500
    with pytest.raises(KeyboardInterrupt):
        memory.wait_for_room()
    assert memory.waiters == 0


def test_a_sender_waiting_for_memory_continues_when_a_quarter_is_free(clock: Clock) -> None:
    """Woken for each batch, it would wait again after the next one."""
    acc = accumulator(clock, memory=1000, batch_size=100, max_block=60.0)
    put(acc, P0, *[b"x" * 90] * 10)
    batches = [sent(take_batch(acc, P0, clock())) for _ in range(10)]
    thread, outcome = waiting(acc)
    for batch in batches:
        assert (acc.memory.used < 750) == (outcome == ["room"])
        if outcome:
            return
        batch.confirm(0, -1)
        acc.release(batch)
        thread.join(10 if acc.memory.used < 750 else 0.02)
    raise AssertionError("it waits although all is free")


# --- who wakes the sender ------------------------------------------------------------------------------------


def test_a_new_batch_wakes_the_sender_and_more_records_for_it_do_not(clock: Clock) -> None:
    acc = accumulator(clock, batch_size=200)
    assert not acc.must_wake_sender()
    put(acc, P0, b"a")
    assert acc.must_wake_sender()
    put(acc, P0, b"b")
    assert not acc.must_wake_sender(), "the sender knows when the batch is due"
    put(acc, P0, b"x" * 190)
    assert acc.must_wake_sender(), "the batch before it need not linger any more"


def test_for_a_held_partition_nothing_changes_until_it_is_read_again(clock: Clock) -> None:
    acc = accumulator(clock, batch_size=50)
    put(acc, P0, b"x" * 40)
    acc.ready(clock() + 1)
    acc.hold_partitions([P0])
    acc.must_wake_sender()
    put(acc, P0, b"y" * 40)
    assert not acc.must_wake_sender()
    put(acc, P1, b"z")
    assert acc.must_wake_sender(), "another leader may take it"
    acc.ready(clock() + 1)
    put(acc, P0, b"w" * 40)
    assert acc.must_wake_sender()


def test_full_memory_wakes_the_sender_while_a_batch_lingers(clock: Clock) -> None:
    acc = accumulator(clock, memory=200, batch_size=10_000)
    put(acc, P0, b"a")
    acc.must_wake_sender()
    put(acc, P0, b"x" * 250)
    assert acc.must_wake_sender(), "its batch is due now"
    acc.hold_partitions([P0])
    put(acc, P0, b"x")
    assert not acc.must_wake_sender()


# --- parked -----------------------------------------------------------------------------------------------------


@pytest.mark.case("S0-21")
def test_parked_records_are_placed_in_order_when_the_partitions_are_known(clock: Clock) -> None:
    acc, log = accumulator(clock), list[str]()
    for name in ("a", "b", "c"):
        acc.park("t", parked(log, name))
    assert acc.parked_topics == ["t"]
    assert "t" in acc.parked_queues
    assert "u" not in acc.parked_queues
    acc.unpark("t")
    assert log == ["place a", "place b", "place c"]
    assert "t" not in acc.parked_queues
    assert acc.memory.used == 0


def test_records_parked_during_placing_are_placed_after_it(clock: Clock) -> None:
    acc, log = accumulator(clock), list[str]()

    def place_and_park() -> None:
        log.append("place a")
        assert "t" in acc.parked_queues
        acc.park("t", parked(log, "late"))

    acc.park("t", parked(log, "a", place=place_and_park))
    acc.park("t", parked(log, "b"))
    acc.unpark("t")
    assert log == ["place a", "place b", "place late"]


def test_a_flush_covers_what_is_parked(clock: Clock) -> None:
    """Its batch is begun after the flush."""
    acc = accumulator(clock, linger=60.0)
    acc.park("t", parked([], "a", place=lambda: put(acc, P0, b"a")))
    acc.flush()
    clock.time += 1
    acc.unpark("t")
    assert acc.ready(clock())[0] == [P0]
    clock.time += 1
    put(acc, P1, b"later")
    assert acc.ready(clock())[0] == [P0]


@pytest.mark.case("S0-28")
def test_parked_records_take_memory(clock: Clock) -> None:
    acc, log = accumulator(clock, memory=500), list[str]()
    acc.park("t", parked(log, "a", size=600))
    with pytest.raises(BufferFullError):
        acc.memory.wait_for_room()
    acc.unpark("t")
    acc.memory.wait_for_room()


def test_parked_records_that_are_placed_after_the_close_still_go(clock: Clock) -> None:
    """close() flushes: what was sent before it must not be refused because the topic was unknown till now."""
    acc = accumulator(clock)
    acc.park("t", parked([], "a", place=lambda: put(acc, P0, b"a")))
    acc.close(ClosedError("the producer is closed"))
    acc.unpark("t")
    assert take(acc, P0, clock) == [b"a"]


def test_a_closed_accumulator_accepts_no_records(clock: Clock) -> None:
    acc = accumulator(clock)
    acc.close(ClosedError("the producer is closed"))
    with pytest.raises(ClosedError):
        acc.memory.wait_for_room()
    with pytest.raises(ClosedError):
        acc.park("t", parked([], "a"))


def test_a_close_ends_the_lingering(clock: Clock) -> None:
    acc = accumulator(clock)
    put(acc, P0, b"a")
    acc.close(ClosedError("closed"))
    assert acc.ready(clock())[0] == [P0]


# --- expiry and the end ---------------------------------------------------------------------------------------------


@pytest.mark.case("S0-23")
def test_batches_past_their_delivery_timeout_are_removed(clock: Clock) -> None:
    acc = accumulator(clock, delivery_timeout=10, batch_size=80)
    put(acc, P0, b"1" * 30)
    clock.time += 5
    put(acc, P0, b"2" * 30)
    batches, waiting_ones, wake = acc.remove_past_delivery_timeout(clock())
    assert (batches, waiting_ones, wake) == ([], [], clock() + 5)
    clock.time += 5
    [late], _, wake = acc.remove_past_delivery_timeout(clock())
    assert values_of(late) == [b"1" * 30]
    assert wake == clock() + 5
    assert take(acc, P0, clock) == [b"2" * 30]


def test_an_open_batch_that_expires_accepts_no_more_records(clock: Clock) -> None:
    acc = accumulator(clock, delivery_timeout=10)
    put(acc, P0, b"a")
    clock.time += 10
    [late], _, _ = acc.remove_past_delivery_timeout(clock())
    late.fail(KcliError("late"))
    put(acc, P0, b"b")
    assert take(acc, P0, clock) == [b"b"]


@pytest.mark.case("S0-23")
def test_parked_records_expire_by_their_own_deadline(clock: Clock) -> None:
    acc, log = accumulator(clock), list[str]()
    acc.park("t", parked(log, "a", deadline=clock() + 1))
    acc.park("t", parked(log, "b", deadline=clock() + 3))
    _, late, wake = acc.remove_past_delivery_timeout(clock() + 2)
    assert len(late) == 1
    assert wake == clock() + 3
    _, late, wake = acc.remove_past_delivery_timeout(clock() + 3)
    assert len(late) == 1
    assert wake == float("inf")
    assert acc.parked_topics == []
    assert acc.memory.used == 0


def test_everything_can_be_taken_at_once(clock: Clock) -> None:
    acc = accumulator(clock)
    put(acc, P0, b"a")
    put(acc, P1, b"b")
    acc.park("u", parked([], "p"))
    batches, waiting_ones = acc.remove_all()
    assert sorted(values_of(b)[0] for b in batches) == [b"a", b"b"]
    assert len(waiting_ones) == 1
    assert acc.empty


def test_a_batch_that_comes_back_after_everything_was_taken_is_queued(clock: Clock) -> None:
    acc = accumulator(clock)
    put(acc, P0, b"a")
    flying = sent(take_batch(acc, P0, clock()))
    acc.remove_all()
    acc.put_back(retried(flying))
    assert take_batch(acc, P0, clock()) is flying


def test_empty_means_that_nothing_waits(clock: Clock) -> None:
    acc = accumulator(clock)
    assert acc.empty
    put(acc, P0, b"a")
    assert not acc.empty
    take_batch(acc, P0, clock())
    assert acc.empty
    acc.park("t", parked([], "a"))
    assert not acc.empty


def test_a_record_that_cannot_be_encoded_leaves_no_empty_batch_behind(clock: Clock) -> None:
    acc = accumulator(clock)

    def bad(_batch: Any) -> int:
        raise ValueError("cannot be encoded")

    with pytest.raises(ValueError, match="cannot be encoded"):
        acc.append(P0, bad)
    assert acc.empty
    assert acc.append(P0, record(b"fine")) == 1
