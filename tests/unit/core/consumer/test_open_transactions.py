"""Who waits for an open transaction, and when it is time to ask and to tell; on a clock of its own."""

import pytest

from kcli.core.consumer.open_transactions import (
    REPORT_AFTER,
    REPORT_AGAIN,
    UNKNOWN_WRITER,
    Wait,
    Waiting,
    Writer,
    _time,
)
from kcli.core.types import TopicPartition

P0, P1, P2 = (TopicPartition("t", number) for number in range(3))
OTHER = TopicPartition("other", 0)
X, Y = Writer(7, 0, -1), Writer(8, 0, -1)


def standing(*partitions: TopicPartition, now: float = 0.0) -> Waiting:
    found = Waiting()
    for tp in partitions:
        found.start(tp, 5, 5, now, 0)
    return found


def due(waiting: Waiting, now: float) -> list[TopicPartition]:
    return [wait.tp for wait in waiting.take_due(now)]


def wait_of(waiting: Waiting, tp: TopicPartition) -> Wait:
    found = waiting.get(tp)
    assert found is not None
    return found


def test_initially_nothing_waits_and_nothing_is_due() -> None:
    waiting = Waiting()
    assert not waiting
    assert waiting.wake_at == float("inf")
    assert due(waiting, 1e9) == []


def test_a_leader_is_asked_after_a_while_and_once() -> None:
    waiting = standing(P0)
    assert waiting.wake_at == REPORT_AFTER
    assert due(waiting, REPORT_AFTER - 0.1) == []
    assert due(waiting, REPORT_AFTER) == [P0]
    assert due(waiting, REPORT_AFTER + 100) == []
    assert waiting.wake_at == float("inf")


def test_a_reader_that_moves_on_first_causes_no_request() -> None:
    waiting = standing(P0, P1)
    assert not waiting.end(P0), "nobody was told"
    assert due(waiting, REPORT_AFTER) == [P1]


def test_each_partition_has_its_own_time() -> None:
    waiting = standing(P0)
    waiting.start(P1, 5, 5, 3.0, 0)
    assert due(waiting, REPORT_AFTER) == [P0]
    assert waiting.wake_at == 3.0 + REPORT_AFTER
    assert due(waiting, 3.0 + REPORT_AFTER) == [P1]


def test_many_items_are_requested_a_few_at_a_time() -> None:
    waiting = standing(*(TopicPartition("t", number) for number in range(40)))
    first = due(waiting, REPORT_AFTER)
    assert due(waiting, REPORT_AFTER) == []
    assert waiting.wake_at == REPORT_AFTER + 1
    second = due(waiting, waiting.wake_at)
    third = due(waiting, waiting.wake_at)
    assert [len(first), len(second), len(third)] == [16, 16, 8]
    assert len({*first, *second, *third}) == 40


def test_postponed_keys_are_requested_later() -> None:
    waiting = standing(P0)
    (wait,) = waiting.take_due(REPORT_AFTER)
    waiting.postpone(wait, REPORT_AFTER)
    assert due(waiting, 2 * REPORT_AFTER - 0.1) == []
    assert due(waiting, 2 * REPORT_AFTER) == [P0]


def test_one_word_for_each_topic_and_producer_and_another_one_after_five_minutes() -> None:
    waiting = standing(P0, P1, P2, OTHER)
    for wait in waiting.take_due(REPORT_AFTER):
        assert waiting.set_writer(wait, Y if wait.tp == P2 else X, 11.0) == (wait.tp != P1)
    assert waiting.wake_at == 11.0 + REPORT_AGAIN
    assert due(waiting, 11.0 + REPORT_AGAIN - 0.1) == []
    again = waiting.take_due(11.0 + REPORT_AGAIN)
    assert [wait.tp for wait in again] == [P0, P1, P2, OTHER]
    told = [waiting.set_writer(wait, X, 11.0 + REPORT_AGAIN) for wait in again]
    assert told == [True, False, False, True]


def test_the_next_transaction_of_the_same_producer_is_not_reported_at_once() -> None:
    """A job that commits every minute is no news every minute."""
    waiting = standing(P0)
    (wait,) = waiting.take_due(REPORT_AFTER)
    assert waiting.set_writer(wait, X, 10.0)
    assert waiting.end(P0)
    waiting.start(P0, 9, 9, 60.0, 0)
    (wait,) = waiting.take_due(60.0 + REPORT_AFTER)
    assert not waiting.set_writer(wait, X, 71.0)
    assert wait.due == 10.0 + REPORT_AGAIN, "if it stands until then, it is"
    assert not waiting.end(P0), "nobody was told of this one"


def test_it_is_taken_back_when_the_last_partition_moves_on() -> None:
    waiting = standing(P0, P1, P2, OTHER)
    for wait in waiting.take_due(REPORT_AFTER):
        waiting.set_writer(wait, Y if wait.tp == P2 else X, 11.0)
    assert not waiting.end(P0), "P1 stands behind the same producer"
    assert waiting.end(P2)
    assert waiting.end(P1)
    assert waiting.end(OTHER)
    assert not waiting.end(OTHER)
    assert not waiting


def test_a_broker_that_cannot_name_the_producer_counts_as_one_producer() -> None:
    waiting = standing(P0, P1)
    assert [waiting.set_writer(wait, UNKNOWN_WRITER, 10.0) for wait in waiting.take_due(REPORT_AFTER)] == [
        True,
        False,
    ]
    assert wait_of(waiting, P0).reported


def test_a_wait_is_for_one_partition() -> None:
    wait = wait_of(standing(P0), P0)
    assert wait.is_for(5, 5)
    assert not wait.is_for(6, 5)
    assert not wait.is_for(5, 4)


@pytest.mark.case("F17")
def test_times_that_no_calendar_has_are_numbers() -> None:
    """Brokers hand on what a producer made up."""
    assert _time(0) == "1970-01-01T00:00:00Z"
    assert _time(1_700_000_000_999) == "2023-11-14T22:13:20Z"
    assert _time((1 << 63) - 1) == f"{(1 << 63) - 1} ms"
