"""Requests in flight: answered in order, or the peer is wrong."""

import pytest

from kcli.core.connection.connection import NEVER, InFlight, Sent
from kcli.core.errors import ProtocolError
from kcli.core.future import Future
from kcli.core.protocol.messages.metadata import MetadataRequest


def sent(correlation_id: int, deadline: float = 30.0) -> Sent:
    return Sent(correlation_id, MetadataRequest(topics=[]), 12, Future(), deadline, 0.0)


def in_flight(*requests: Sent) -> InFlight:
    queue = InFlight()
    for request in requests:
        queue.add(request)
    return queue


def test_answers_are_taken_in_order() -> None:
    queue = in_flight(sent(1), sent(2))
    assert queue.take(1, "b").correlation_id == 1
    assert queue.take(2, "b").correlation_id == 2
    assert len(queue) == 0


@pytest.mark.case("N9")
def test_an_answer_that_is_not_due_names_both_ids() -> None:
    queue = in_flight(sent(1), sent(2))
    with pytest.raises(ProtocolError) as error:
        queue.take(2, "broker:9092")
    assert "correlation id 2, expected 1" in str(error.value)
    assert "broker:9092" in str(error.value)


@pytest.mark.case("N9")
def test_a_repeated_answer_is_refused() -> None:
    queue = in_flight(sent(1), sent(2))
    queue.take(1, "b")
    with pytest.raises(ProtocolError, match="correlation id 1, expected 2"):
        queue.take(1, "b")


def test_an_unrequested_response_is_refused() -> None:
    with pytest.raises(ProtocolError, match="correlation id 9, expected none"):
        InFlight().take(9, "b")


def test_earliest_is_never_later_than_a_deadline() -> None:
    queue = in_flight(sent(1, 10), sent(2, 5), sent(3, 20))
    assert queue.earliest == 5
    queue.take(1, "b")
    assert queue.earliest <= 5
    queue.take(2, "b")
    assert queue.earliest <= 20
    queue.take(3, "b")
    assert queue.earliest == NEVER


def test_the_bound_becomes_exact_when_it_passes() -> None:
    queue = in_flight(sent(1, 5), sent(2, 20))
    queue.take(1, "b")
    assert queue.overdue(6) is None
    assert queue.earliest == 20


@pytest.mark.parametrize(("now", "late"), [(4.9, None), (5.0, 2), (6.0, 2)])
def test_the_request_with_the_earliest_deadline_is_overdue_first(now: float, late: int | None) -> None:
    queue = in_flight(sent(1, 10), sent(2, 5))
    found = queue.overdue(now)
    assert (found.correlation_id if found else None) == late


def test_nothing_in_flight_is_never_overdue() -> None:
    queue = InFlight()
    assert queue.overdue(1e9) is None
    assert queue.earliest == NEVER


def test_clearing_gives_the_oldest_first() -> None:
    queue = in_flight(sent(1, 5), sent(2))
    assert [s.correlation_id for s in queue.clear()] == [1, 2]
    assert (len(queue), queue.earliest) == (0, NEVER)
