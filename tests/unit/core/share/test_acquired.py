"""Ranges that a member holds: what is decided of them, and the states of a decision."""

import itertools
import random

import pytest

from kcli.core.share.acquired import (
    TABLE,
    Acknowledge,
    Acquired,
    Decision,
    DecisionEvent,
    DecisionState,
    Run,
    joined,
)
from kcli.core.types import TopicPartition
from tests.unit.core.state_tables import check_event

TP = TopicPartition("t", 0)
ACCEPT, RELEASE, REJECT, GAP = (Acknowledge.ACCEPT, Acknowledge.RELEASE, Acknowledge.REJECT, Acknowledge.GAP)


def acquired(first: int, last: int, *spans: tuple[int, int]) -> Acquired:
    """All of it has records, unless ``spans`` say which."""
    one = Acquired(TP, b"i" * 16, 1, first, last, 1, 30.0)
    one.settle(spans or [(first, last)])
    return one


def runs(one: Acquired) -> list[tuple[int, int, int]]:
    return [tuple(run) for run in one.decide().runs]


@pytest.mark.parametrize(("state", "event"), list(itertools.product(DecisionState, DecisionEvent)))
def test_every_event_in_every_state(state: DecisionState, event: DecisionEvent) -> None:
    check_event(TABLE, state, event, TABLE.get((state, event)))


def test_an_answer_that_was_lost_makes_a_later_refusal_doubtful() -> None:
    """It may have been refused because it had been done."""
    decision = Decision(acquired(0, 9), [Run(0, 9, ACCEPT)])
    for event in (DecisionEvent.SEND, DecisionEvent.NO_ANSWER, DecisionEvent.SEND, DecisionEvent.REFUSE):
        decision.cell.apply(event)
    assert decision.state is DecisionState.UNKNOWN


def test_what_is_decided_in_parts_is_one_run() -> None:
    one = acquired(0, 9)
    assert [one.acknowledge(n, n, ACCEPT) for n in (0, 1, 2)] == [1, 1, 1]
    assert one.acknowledge(3, 9, ACCEPT) == 7
    assert runs(one) == [(0, 9, ACCEPT)]
    assert not one.undecided


def test_an_offset_is_decided_once() -> None:
    one = acquired(0, 9)
    assert one.acknowledge(4, 6, REJECT) == 3
    assert one.acknowledge(0, 9, ACCEPT) == 7
    assert runs(one) == [(0, 3, ACCEPT), (4, 6, REJECT), (7, 9, ACCEPT)]


def test_offsets_without_a_record_are_gaps_and_go_with_the_first_decision() -> None:
    one = acquired(0, 9, (2, 3), (5, 8))
    assert not one.has_news  # gaps alone are no reason for a request while records are open
    one.acknowledge(2, 3, ACCEPT)
    assert one.has_news
    assert runs(one) == [(0, 1, GAP), (2, 3, ACCEPT), (4, 4, GAP), (9, 9, GAP)]
    assert one.undecided == [(5, 8)]


def test_a_range_without_records_is_acknowledged_at_once() -> None:
    one = Acquired(TP, b"i" * 16, 1, 5, 6, 1, 30.0)
    one.settle([])
    assert one.has_news
    assert runs(one) == [(5, 6, GAP)]


def test_damaged_batches_are_rejected_and_what_follows_an_unread_one_is_released() -> None:
    one = Acquired(TP, b"i" * 16, 1, 0, 9, 1, 30.0)
    one.settle([(0, 2)], damaged=[(3, 4)], unread=7)
    one.acknowledge(0, 2, ACCEPT)
    assert runs(one) == [(0, 2, ACCEPT), (3, 4, REJECT), (5, 6, GAP), (7, 9, RELEASE)]


def test_a_renewal_names_what_is_open_and_decides_nothing() -> None:
    one = acquired(0, 9)
    one.acknowledge(0, 3, ACCEPT)
    assert [tuple(run) for run in one.renewal().runs] == [(4, 9, Acknowledge.RENEW)]
    assert one.undecided == [(4, 9)]


def test_any_order_of_decisions_leaves_each_offset_with_one() -> None:
    """Against a plain list of offsets."""
    chance = random.Random(7)
    for _ in range(300):
        one, model = acquired(10, 40), dict[int, Acknowledge]()
        for _ in range(12):
            first = chance.randrange(5, 45)
            last = first + chance.randrange(0, 12)
            kind = chance.choice([ACCEPT, RELEASE, REJECT])
            fresh = [
                offset for offset in range(first, last + 1) if 10 <= offset <= 40 and offset not in model
            ]
            assert one.acknowledge(first, last, kind) == len(fresh)
            model |= dict.fromkeys(fresh, kind)
        found = {offset: run.kind for run in one.decide().runs for offset in range(run.first, run.last + 1)}
        assert found == model
        open_ = {offset for first, last in one.undecided for offset in range(first, last + 1)}
        assert open_ == set(range(10, 41)) - model.keys()


def test_a_decision_is_split_where_a_part_is_lost() -> None:
    decision = Decision(acquired(0, 9), [Run(0, 4, ACCEPT), Run(5, 9, REJECT)])
    lost, kept = decision.split(3, 6)
    assert lost is not None
    assert kept is not None
    assert lost.runs == [Run(3, 4, ACCEPT), Run(5, 6, REJECT)]
    assert kept.runs == [Run(0, 2, ACCEPT), Run(7, 9, REJECT)]


def test_adjacent_runs_of_a_kind_are_joined() -> None:
    assert joined([Run(0, 1, ACCEPT), Run(2, 3, ACCEPT), Run(5, 6, ACCEPT), Run(7, 7, REJECT)]) == [
        Run(0, 3, ACCEPT),
        Run(5, 6, ACCEPT),
        Run(7, 7, REJECT),
    ]
