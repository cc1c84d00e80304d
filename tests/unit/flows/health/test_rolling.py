"""The steps of a rolling restart, by what is seen of the nodes."""

import pytest

from kcli.core.admin.brokers import BrokerDescription, ClusterDescription
from kcli.core.admin.quorum import QuorumDescription, QuorumReplica
from kcli.core.errors import ConnectError
from kcli.core.types import Node
from kcli.flows.health.observed import Observed
from kcli.flows.health.rolling import Presence, Rolling, Seen, Step, presence

UP, DOWN, SILENT = (Seen(one) for one in (Presence.UP, Presence.DOWN, Presence.UNKNOWN))
LAGS = Seen(Presence.UP, ["under-replicated: 3 partitions"])
LAGS_LESS = Seen(Presence.UP, ["under-replicated: 2 partitions"])
TIGHT = Seen(Presence.UP, ["under-replicated: 2 partitions", "brokers: 1 is fenced"])
OTHER_AWAY = Seen(Presence.UP, others_away=[1])


def steps(nodes: list[int], looks: list[Seen]) -> list[tuple[int, str]]:
    rolling = Rolling(nodes)
    return [(step.node, step.state) for seen in looks for step in rolling.look(seen)]


STORIES = [
    # all is well: two nodes, one after the other
    (
        [2, 3],
        [UP, UP, DOWN, DOWN, LAGS, UP, UP, DOWN, UP],
        [
            (2, "safe"),
            (2, "stopped"),
            (2, "waiting"),
            (2, "waiting"),
            (2, "back"),
            (3, "safe"),
            (3, "stopped"),
            (3, "back"),
        ],
    ),
    # it is waited for what is not well; once for each reason
    ([2], [LAGS, LAGS_LESS, TIGHT, UP], [(2, "waiting"), (2, "waiting"), (2, "safe")]),
    # a node that is down before it was offered is waited for
    ([2], [DOWN, DOWN, UP, DOWN, UP], [(2, "waiting"), (2, "safe"), (2, "stopped"), (2, "back")]),
    # one that does not answer is neither stopped nor back
    ([2], [UP, SILENT, DOWN, SILENT, UP], [(2, "safe"), (2, "stopped"), (2, "waiting"), (2, "back")]),
    # another broker fails while it may be stopped
    (
        [2],
        [UP, OTHER_AWAY, LAGS, UP, DOWN, UP],
        [(2, "safe"), (2, "unsafe"), (2, "waiting"), (2, "safe"), (2, "stopped"), (2, "back")],
    ),
    # it was stopped when that was not safe any more
    ([2], [UP, OTHER_AWAY, DOWN, UP], [(2, "safe"), (2, "unsafe"), (2, "stopped"), (2, "back")]),
]


@pytest.mark.parametrize(("nodes", "looks", "expected"), STORIES)
def test_what_is_said_when(nodes: list[int], looks: list[Seen], expected: list[tuple[int, str]]) -> None:
    assert steps(nodes, looks) == expected


def test_it_ends_after_the_last_node() -> None:
    rolling = Rolling([2, 3])
    for seen in (UP, DOWN, UP):
        rolling.look(seen)
    assert rolling.node == 3
    for seen in (UP, DOWN, UP):
        rolling.look(seen)
    assert rolling.node is None


def test_it_demands_the_outlook_only_before_a_node_is_stopped() -> None:
    rolling = Rolling([2])
    assert (rolling.demands_stop, rolling.waits, rolling.is_offered) == (True, True, False)
    rolling.look(UP)
    assert (rolling.demands_stop, rolling.waits, rolling.is_offered) == (False, False, True)
    rolling.look(DOWN)
    assert (rolling.demands_stop, rolling.waits, rolling.is_offered) == (False, True, False)
    assert rolling.look(LAGS) == [Step(2, "waiting", "under-replicated: 3 partitions")]


def seen_of(
    *fenced: int, quorum: QuorumDescription | None = None, silent: frozenset[int] = frozenset()
) -> Observed:
    brokers = tuple(BrokerDescription(Node(number, "h", 9092), number in fenced) for number in (1, 2))
    unreachable = {1: ConnectError("refused")} if 1 not in fenced and fenced else {}
    return Observed(ClusterDescription("c", 1, brokers), quorum, None, unreachable, silent=silent)


def test_a_broker_is_there_while_it_is_registered_connected_and_answers() -> None:
    assert presence(seen_of(), 2) is Presence.UP
    assert presence(seen_of(2), 2) is Presence.DOWN
    assert presence(seen_of(2), 1) is Presence.DOWN  # not fenced yet, and not connected
    assert presence(seen_of(silent=frozenset({2})), 2) is Presence.UNKNOWN
    assert presence(seen_of(), 3) is Presence.DOWN  # brokers before Kafka 4.0 do not list it


@pytest.mark.parametrize(
    ("fetched_ms", "expected"),
    [(100_000, Presence.UP), (98_500, Presence.UP), (97_000, Presence.DOWN), (-1, Presence.UP)],
)
def test_a_controller_is_there_while_it_fetches(fetched_ms: int, expected: Presence) -> None:
    leader = QuorumReplica(8, is_voter=True, log_end=10, caught_up_ms=100_000, fetched_ms=100_000)
    follower = QuorumReplica(9, is_voter=True, log_end=10, caught_up_ms=100_000, fetched_ms=fetched_ms)
    found = seen_of(quorum=QuorumDescription(8, 3, (8, 9), 10, (leader, follower)))
    assert presence(found, 9, is_broker=False) is expected
    assert presence(found, 8, is_broker=False) is Presence.UP
    assert presence(found, 7, is_broker=False) is Presence.DOWN
