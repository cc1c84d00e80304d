"""A batch on its way: every event in every state, and what becomes of its records."""

import itertools
from contextlib import nullcontext

import pytest

from kcli.core.errors import KcliError, OutcomeUnknownError
from kcli.core.producer.batch import TABLE, BatchEvent, BatchState, Delivery, ProducerBatch, RecordFuture
from kcli.core.state_cell import IllegalEventError
from kcli.core.types import RecordMetadata
from tests.unit.core.net.fakes import Clock
from tests.unit.core.producer.batches import P0, open_batch, sent
from tests.unit.core.state_tables import check_event

O, Q, F, D, X, R = (  # noqa: E741 - the states, for a table that fits the eye
    BatchState.OPEN,
    BatchState.QUEUED,
    BatchState.IN_FLIGHT,
    BatchState.DONE,
    BatchState.FAILED,
    BatchState.REPLACED,
)
EXPECTED = {
    BatchEvent.CLOSE: {O: Q},
    BatchEvent.SEND: {Q: F},
    BatchEvent.RETRY: {F: Q},
    BatchEvent.CONFIRM: {F: D},
    BatchEvent.FAIL: {O: X, Q: X, F: X},
    BatchEvent.SPLIT: {Q: R, F: R},
}


@pytest.mark.parametrize(("state", "event"), list(itertools.product(BatchState, BatchEvent)))
def test_event_in_state(state: BatchState, event: BatchEvent) -> None:
    check_event(TABLE, state, event, EXPECTED[event].get(state))


def closed(*values: bytes) -> ProducerBatch:
    batch = open_batch(Clock(), P0, *values)
    batch.cell.apply(BatchEvent.CLOSE)
    return batch


def test_a_confirmed_batch_is_done_and_knows_its_offset() -> None:
    batch = sent(closed())
    batch.confirm(42, -1)
    assert batch.state is D
    assert (batch.delivery.done, batch.delivery.error, batch.delivery.base_offset) == (True, None, 42)


def test_a_failed_batch_is_done_and_knows_why() -> None:
    batch = closed()
    batch.fail(KcliError("no"))
    assert (batch.state, batch.delivery.done, str(batch.delivery.error)) == (X, True, "no")


@pytest.mark.parametrize("again", ["confirm", "fail", "split"])
def test_a_completed_future_stays_completed(again: str) -> None:
    batch = sent(closed())
    batch.confirm(1, -1)
    with pytest.raises(IllegalEventError):
        {
            "confirm": lambda: batch.confirm(2, -1),
            "fail": lambda: batch.fail(OutcomeUnknownError("late")),
            "split": lambda: batch.split_into([]),
        }[again]()
    assert batch.delivery.base_offset == 1
    assert batch.delivery.error is None


@pytest.mark.case("P8")
def test_bytes_are_the_same_on_every_try_and_others_under_another_number() -> None:
    batch = closed(b"a", b"b")
    batch.number(7, 1, 5)
    first = b"".join(batch.wire())
    assert b"".join(batch.wire()) == first
    batch.number(7, 2, 0)
    assert b"".join(batch.wire()) != first


@pytest.mark.case("P6")
@pytest.mark.parametrize(
    ("mine", "other", "first"),
    [
        (0, 1, True),
        (1, 0, False),
        (5, 5, False),
        (2**31 - 2, 1, True),
        (1, 2**31 - 2, False),
        (2**31 - 1, 0, True),
        (0, 2**31 - 1, False),
    ],
)
def test_order_in_the_sequence_holds_over_its_wrap(mine: int, other: int, *, first: bool) -> None:
    one, another = closed(), closed()
    one.number(7, 0, mine)
    another.number(7, 0, other)
    assert one.goes_before(another) is first


def future_of(delivery: Delivery, index: int, stamp: int = 123) -> RecordFuture:
    future = RecordFuture(lambda done, _timeout: done(), nullcontext())
    future.bind(P0, delivery, index, stamp)
    return future


@pytest.mark.case("S0-9")
def test_a_record_has_its_own_offset_in_its_batch() -> None:
    batch = sent(closed(b"a", b"b", b"c"))
    futures = [future_of(batch.delivery, n) for n in range(3)]
    assert not any(f.done for f in futures)
    batch.confirm(100, -1)
    assert [f.result() for f in futures] == [RecordMetadata("t", 0, 100 + n, 123) for n in range(3)]


def test_the_brokers_clock_wins_where_it_stamps_the_records() -> None:
    batch = sent(closed())
    batch.confirm(1, 999)
    assert future_of(batch.delivery, 0).result().timestamp == 999


def test_the_largest_timestamp_of_a_batch_that_the_broker_had_already_is_not_that_of_each_record() -> None:
    batch = sent(closed(b"a", b"b"))
    batch.confirm(1, batch.builder.max_timestamp)
    assert future_of(batch.delivery, 0).result().timestamp == 123
    assert batch.delivery.log_append_time == -1


@pytest.mark.case("P3")
def test_an_unknown_offset_is_minus_one() -> None:
    batch = sent(closed(b"a", b"b"))
    batch.confirm(-1, -1)
    assert [future_of(batch.delivery, n).result().offset for n in (0, 1)] == [-1, -1]


def test_a_record_fails_with_its_batch() -> None:
    batch = sent(closed())
    future = future_of(batch.delivery, 0)
    batch.fail(KcliError("too large"))
    with pytest.raises(KcliError, match="too large"):
        future.result()
    assert future.done


def test_records_of_a_batch_that_was_split_follow_their_part_even_twice() -> None:
    batch = sent(closed(b"0", b"1", b"2", b"3", b"4"))
    futures = [future_of(batch.delivery, n) for n in range(5)]
    first, second = closed(b"0", b"1"), sent(closed(b"2", b"3", b"4"))
    batch.split_into([first, second])
    third, fourth = closed(b"2"), closed(b"3", b"4")
    second.split_into([third, fourth])
    for part, offset in ((first, 10), (fourth, 30)):
        sent(part).confirm(offset, -1)
    sent(third).fail(KcliError("too large alone"))
    assert [f.done for f in futures] == [True] * 5
    assert [futures[n].result().offset for n in (0, 1, 3, 4)] == [10, 11, 30, 31]
    with pytest.raises(KcliError, match="alone"):
        futures[2].result()


def test_a_record_that_found_no_batch_fails_alone() -> None:
    future = RecordFuture(lambda done, _timeout: done(), nullcontext())
    assert not future.done
    future.fail(KcliError("no such partition"))
    with pytest.raises(KcliError, match="no such partition"):
        future.result(0)


def test_no_delivery_in_time_is_a_timeout() -> None:
    with pytest.raises(TimeoutError):
        future_of(Delivery(), 0).result(0)
