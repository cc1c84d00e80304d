"""Acknowledgements on their way: what is refused together is sent again in halves."""

from kcli.core.share.acquired import Acknowledge, Acquired, Decision, DecisionState, Run
from kcli.core.share.pending import Pending
from kcli.core.types import TopicPartition

ACCEPT = Acknowledge.ACCEPT


def decision(first: int, last: int) -> Decision:
    one = Acquired(TopicPartition("t", 0), b"i" * 16, 1, first, last, 1, 30.0)
    one.settle([(first, last)])
    one.acknowledge(first, last, ACCEPT)
    return one.decide()


def pending(*ranges: tuple[int, int]) -> tuple[Pending, list[Decision]]:
    found, decisions = Pending(), [decision(*one) for one in ranges]
    for one in decisions:
        found.add(one)
    return found, decisions


def test_what_waits_is_sent_together_in_the_order_of_offsets() -> None:
    found, decisions = pending((10, 19), (0, 9), (30, 39))
    assert found.send() == [Run(0, 19, ACCEPT), Run(30, 39, ACCEPT)]
    assert found.confirm() == decisions
    assert all(one.state is DecisionState.CONFIRMED for one in decisions)
    assert not found


def test_one_lost_range_among_many_is_found_and_the_others_count() -> None:
    ranges = [(n * 10, n * 10 + 9) for n in range(8)]
    found, decisions = pending(*ranges)
    lost, requests = (50, 59), 0
    ended: list[Decision] = []
    while found.is_waiting:
        sent, requests = found.send(), requests + 1
        held = not any(run.first <= lost[0] <= run.last for run in sent)
        ended += found.confirm() if held else found.refuse()
    assert {one.acquired.first for one in ended if one.state is DecisionState.REFUSED} == {50}
    assert len(ended) == len(decisions)
    assert requests <= 7  # 8 in one, then halves


def test_what_is_decided_meanwhile_is_not_mixed_with_what_is_judged() -> None:
    found, _ = pending((0, 9), (10, 19))
    found.send()
    found.add(decision(20, 29))
    assert found.refuse() == []
    assert found.send() == [Run(0, 9, ACCEPT)]
    found.confirm()
    assert found.send() == [Run(10, 19, ACCEPT)]
    found.confirm()
    assert found.send() == [Run(20, 29, ACCEPT)]


def test_a_request_without_an_answer_is_repeated_and_its_refusal_is_no_certainty() -> None:
    found, (one,) = pending((0, 9))
    found.send()
    found.no_answer()
    assert found.send() == [Run(0, 9, ACCEPT)]
    assert found.refuse() == [one]
    assert one.state is DecisionState.UNKNOWN


def test_an_error_that_changed_nothing_is_tried_again() -> None:
    found, (one,) = pending((0, 9))
    found.send()
    found.retry()
    assert one.state is DecisionState.WAITING
    found.send()
    assert found.confirm() == [one]


def test_renewals_go_first_and_alone() -> None:
    found, _ = pending((0, 9))
    held = Acquired(TopicPartition("t", 0), b"i" * 16, 1, 20, 29, 1, 30.0)
    held.settle([(20, 29)])
    found.add_renewals([held.renewal()])
    assert found.waits_for_renewal
    assert found.send() == [Run(20, 29, Acknowledge.RENEW)]
    found.confirm()
    assert not found.waits_for_renewal
    assert found.send() == [Run(0, 9, ACCEPT)]


def test_giving_up_says_of_each_what_is_known() -> None:
    found, (sent,) = pending((0, 9))
    found.send()
    waiting = decision(10, 19)
    found.add(waiting)
    assert set(map(id, found.give_up())) == {id(sent), id(waiting)}
    assert sent.state is DecisionState.UNKNOWN
    assert waiting.state is DecisionState.REFUSED
    assert not found


def test_offsets_that_were_acquired_again_are_taken_out() -> None:
    found, (one,) = pending((0, 9))
    (lost,) = found.drop(4, 5)
    assert lost.runs == [Run(4, 5, ACCEPT)]
    assert lost.state is DecisionState.REFUSED
    assert found.send() == [Run(0, 3, ACCEPT), Run(6, 9, ACCEPT)]
    assert one.state is DecisionState.WAITING  # its parts are decisions of their own now
