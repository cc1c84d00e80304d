"""Who leads without some brokers, and what then takes records: Kafka's rules as tables."""

import pytest

from kcli.core.admin.topics import TopicInfo
from kcli.core.cluster.metadata import PartitionView
from kcli.core.types import TopicPartition
from kcli.flows.health.outlook import (
    Outlook,
    Situation,
    TopicRules,
    coordinated_by,
    outlook,
    remaining,
)
from kcli.flows.quorum.majority import Majority

ALL = (1, 2, 3)


def part(
    leader: int,
    isr: tuple[int, ...],
    *,
    replicas: tuple[int, ...] = ALL,
    elr: tuple[int, ...] | None = None,
    number: int = 0,
) -> PartitionView:
    return PartitionView(number, leader, 5, replicas, isr, elr=elr)


# leader, ISR, ELR, live, unclean → leader, ISR, whether records may be lost
ELECTIONS = [
    # a follower, or none of them, stops
    (1, (1, 2, 3), None, (1, 2), False, 1, (1, 2), False),
    (1, (1, 2), None, (1, 2), False, 1, (1, 2), False),
    # the leader stops: the first replica that is in sync and alive, in the order of the replicas
    (1, (3, 2, 1), None, (2, 3), False, 2, (3, 2), False),
    (3, (1, 3), None, (1, 2), False, 1, (1,), False),
    # it was the last in sync
    (1, (1,), None, (2, 3), False, -1, (1,), False),
    (1, (1,), (), (2, 3), False, -1, (1,), False),
    (1, (1,), None, (2, 3), True, 2, (2,), True),
    # an eligible leader replica is as good as one in sync, if nothing of the ISR is left
    (1, (1,), (3,), (2, 3), False, 3, (3,), False),
    (1, (1,), (3,), (2, 3), True, 3, (3,), False),
    (1, (1, 2), (3,), (2, 3), False, 2, (2,), False),
    (1, (1,), (3,), (2,), False, -1, (1,), False),
    (1, (1,), (9,), (2, 9), False, -1, (1,), False),  # 9 was a replica, before a reassignment
    # in sync, but not alive: fenced a moment later
    (1, (1, 2), None, (3,), False, -1, (1, 2), False),
    # without a leader before
    (-1, (1,), None, (2, 3), False, -1, (1,), False),
    (-1, (), (2,), (3,), False, -1, (), False),
    # nobody is left, even for an unclean election
    (1, (1, 2, 3), None, (), True, -1, (1, 2, 3), False),
]


@pytest.mark.parametrize(("leader", "isr", "elr", "live", "unclean", "then", "in_sync", "loses"), ELECTIONS)
def test_who_leads_without_some_brokers(
    leader: int,
    isr: tuple[int, ...],
    elr: tuple[int, ...] | None,
    live: tuple[int, ...],
    unclean: bool,
    then: int,
    in_sync: tuple[int, ...],
    loses: bool,
) -> None:
    found = remaining(part(leader, isr, elr=elr), live, TopicRules(unclean=unclean))
    assert (found.part.leader, found.part.isr, found.loses) == (then, in_sync, loses)
    assert found.is_offline == (then < 0)
    assert not found.stuck


def test_without_a_controller_nobody_is_elected_and_the_isr_keeps_what_is_gone() -> None:
    led = remaining(part(1, ALL), (2, 3), TopicRules(unclean=True), elects=False)
    assert led.is_offline
    followed = remaining(part(1, ALL), (1, 3), TopicRules(), elects=False)
    assert not followed.is_offline
    assert followed.part.isr == ALL
    assert followed.refuses(TopicRules()), "acks=all waits for the replica that is gone"
    assert not remaining(part(1, (1, 3)), (1, 3), TopicRules(), elects=False).refuses(TopicRules())


# ISR, replicas, min.insync.replicas, capped → refuses, just enough
NEEDS = [
    ((1, 2, 3), ALL, 2, True, False, False),
    ((1, 2), ALL, 2, True, False, True),
    ((1,), ALL, 2, True, True, False),
    ((1, 2, 3), ALL, 3, True, False, False),  # just enough, and as many as there are
    ((1, 2), ALL, 3, True, True, False),
    ((1,), (1,), 1, True, False, False),
    ((1,), (1,), 2, True, False, False),  # Kafka 3.7 and later require no more than there are
    ((1,), (1,), 2, False, True, False),
]


@pytest.mark.parametrize(("isr", "replicas", "min_isr", "capped", "refuses", "tight"), NEEDS)
def test_how_many_replicas_have_to_be_in_sync(
    isr: tuple[int, ...], replicas: tuple[int, ...], min_isr: int, capped: bool, refuses: bool, tight: bool
) -> None:
    rules = TopicRules(min_isr, capped=capped)
    found = part(isr[0], isr, replicas=replicas)
    assert (rules.refuses(found), rules.is_tight(found)) == (refuses, tight)


def made(
    parts: dict[str, list[PartitionView]], rules: dict[str, TopicRules], *, elects: bool = True
) -> Situation:
    topics = {
        name: TopicInfo(name, "", internal=False, partitions=tuple(some)) for name, some in parts.items()
    }
    three = frozenset(ALL)
    return Situation(topics, rules, three, Majority(three, three), elects)


def test_the_outlook_has_what_becomes_worse_and_not_what_is_bad_already() -> None:
    situation = made(
        {
            "single": [part(2, (2,), replicas=(2,)), part(1, (1,), replicas=(1,), number=1)],
            "away": [part(-1, (9,), replicas=(9, 2))],
            "short": [part(1, (1, 2)), part(1, (1,), number=1), part(2, (2, 1), number=2)],
            "unclean": [part(2, (2,))],
        },
        {"short": TopicRules(2), "unclean": TopicRules(unclean=True)},
    )
    found = outlook(situation, [2])
    assert found.offline == [TopicPartition("single", 0)]
    assert found.refusing == [TopicPartition("short", 0), TopicPartition("short", 2)]
    assert found.losing == [TopicPartition("unclean", 0)]
    nothing = outlook(situation, [])
    assert nothing[:3] == ([], [], [])
    assert found.catching_up == {*found.refusing}, "3 is alive, and not in sync"


def test_brokers_that_are_stopped_together_are_all_missing() -> None:
    situation = made({"t": [part(1, ALL)]}, {"t": TopicRules(2)})
    assert not outlook(situation, [2]).refusing
    assert outlook(situation, [2, 3]).refusing == [TopicPartition("t", 0)]
    assert outlook(situation, ALL).offline == [TopicPartition("t", 0)]


@pytest.mark.parametrize(
    ("caught_up", "stopped", "spare"),
    [(ALL, [2], 0), (ALL, [2, 3], -1), ((1, 2), [2], -1), ((1, 2), [3], 0), (ALL, [9], 1)],
)
def test_stopped_voters_remain_voters(caught_up: tuple[int, ...], stopped: list[int], spare: int) -> None:
    majority = Majority(frozenset(ALL), frozenset(caught_up))
    situation = Situation({}, {}, frozenset(ALL), majority, elects=True)
    after = outlook(situation, stopped).majority
    assert after is not None
    assert (after.voters, after.spare) == (frozenset(ALL), spare)


def test_without_a_quorum_there_is_no_majority_to_lose() -> None:
    assert outlook(Situation({}, {}, frozenset(ALL), None, elects=True), [1]) == Outlook(
        [], [], [], frozenset(), None
    )


def test_coordinated_are_those_whose_name_leads_to_the_partition() -> None:
    names = ["billing", "orders", "shipping"]
    # abs("billing".hashCode()) % 50, and so on, by Java
    homes = {"billing": 9, "orders": 31, "shipping": 8}
    for name, number in homes.items():
        assert coordinated_by(names, [TopicPartition("__consumer_offsets", number)], 50) == [name]
    assert coordinated_by(names, [], 50) == []
