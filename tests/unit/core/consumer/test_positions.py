"""Where partitions begin: how often, and together with whom, a question is asked again. No socket, no sleep."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from kcli.core.cluster.metadata import ClusterView, apply_metadata
from kcli.core.cluster.offsets import EARLIEST
from kcli.core.consumer.positions import Positions
from kcli.core.consumer.subscription import Phase, Span, Subscription
from kcli.core.errors import BrokerError, NotFoundError, TimedOutError
from kcli.core.future import Future
from kcli.core.options import ConsumerOptions
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kcli.core.types import OffsetAndMetadata, TopicPartition
from tests.fake.codes import Code
from tests.unit.core.cluster.scripted import answer, cluster_on, partition, topic

PLACES = [TopicPartition("t", number) for number in range(4)]
DOUBLING = [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]


class Committed:
    """Answers questions for committed offsets with an error while there are ``failures`` left."""

    coordinator_known_at = float("inf")

    def __init__(self, world: "World") -> None:
        self.world = world

    def coordinator(self, _now: float) -> int:
        return 1

    def fetch(self, partitions: frozenset[TopicPartition], _node_id: int) -> Future[Any]:
        loop = self.world.cluster.loop
        self.world.asked.append((loop.now(), len(partitions)))
        future: Future[Any] = Future()
        loop.at(loop.now() + 0.01, lambda: future.set_result(None))
        return future

    def read(
        self, partitions: frozenset[TopicPartition], _future: Future[Any], _now: float
    ) -> dict[TopicPartition, Any]:
        return {tp: self.world.outcome(OffsetAndMetadata(5)) for tp in partitions}


class World:
    """Four partitions of one leader; ``asked``: when, and about how many of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, group: bool, failures: float) -> None:
        self.failures = failures
        self.asked: list[tuple[float, int]] = []
        values = {"bootstrap_servers": "boot:9092", "retry_backoff_ms": 100, "retry_backoff_max_ms": 1_000}
        options = ConsumerOptions(**values, auto_offset_reset="earliest", default_api_timeout_ms=30_000)
        self.cluster, _, _ = cluster_on(monkeypatch, self._script, **values)
        self.told = answer(topic("t", *(partition(tp.partition) for tp in PLACES)))
        self.cluster.view = apply_metadata(self.cluster.view, self.told, ["t"])
        self.subscription = Subscription()
        self.positions = Positions(
            self.cluster,
            options,
            self.subscription,
            Committed(self) if group else None,  # type: ignore[arg-type]
        )
        self.subscription.assign(dict.fromkeys(PLACES, Span()))

    def outcome(self, good: Any) -> Any:
        if len(self.asked) <= self.failures:
            return BrokerError(Code.COORDINATOR_LOAD_IN_PROGRESS, "the group")
        return good

    def _script(self, _node: Any, request: Request) -> Any:
        if not isinstance(request, ListOffsetsRequest):
            return self.told
        rows = request.topics[0].partitions
        self.asked.append((self.cluster.loop.now(), len(rows)))
        assert {row.timestamp for row in rows} == {EARLIEST}
        failed = isinstance(self.outcome(0), BrokerError)
        code = Code.LEADER_NOT_AVAILABLE if failed else Code.NONE
        found = [
            ListOffsetsPartitionResponse(partition_index=row.partition_index, error_code=code, offset=5)
            for row in rows
        ]
        return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name="t", partitions=found)])

    def run(self, done: Callable[[], object], limit: float = 100.0) -> None:
        loop = self.cluster.loop
        end = loop.now() + limit
        while not done():
            assert loop.now() < end
            self.positions.pump(loop.now())
            self.cluster.poll(max(0.0, min(self.positions.wake_at, end) - loop.now()))

    def pauses(self) -> list[float]:
        times = [at for at, _ in self.asked]
        return [later - sooner - 0.01 for sooner, later in itertools.pairwise(times)]


def state(world: World, tp: TopicPartition) -> Any:
    return world.subscription.get(tp)


@pytest.mark.parametrize("group", [False, True], ids=["ListOffsets", "OffsetFetch"])
def test_a_request_is_repeated_after_pauses_that_double_and_vary(
    monkeypatch: pytest.MonkeyPatch, group: bool
) -> None:
    """KIP-580: brokers that are in trouble get less to do, and not from all consumers at the same moment."""
    world = World(monkeypatch, group=group, failures=len(DOUBLING))
    world.run(lambda: all(state(world, tp).phase is Phase.READING for tp in PLACES))
    for pause, expected in zip(world.pauses(), DOUBLING, strict=True):
        assert 0.79 * expected <= pause <= 1.21 * expected + 0.02
    assert (
        len({round(pause / expected, 3) for pause, expected in zip(world.pauses(), DOUBLING, strict=True)})
        > 1
    )


@pytest.mark.parametrize("group", [False, True], ids=["ListOffsets", "OffsetFetch"])
def test_keys_that_fail_together_are_requested_again_together(
    monkeypatch: pytest.MonkeyPatch, group: bool
) -> None:
    """A pause for each would make a request for each, of thousands."""
    world = World(monkeypatch, group=group, failures=3)
    world.run(lambda: all(state(world, tp).phase is Phase.READING for tp in PLACES))
    assert [count for _, count in world.asked] == [4, 4, 4, 4]


def test_after_a_success_the_pauses_are_short_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, group=False, failures=4)
    world.run(lambda: all(state(world, tp).phase is Phase.READING for tp in PLACES))
    world.asked.clear()
    world.failures = 1
    world.subscription.reset_position(PLACES[0], EARLIEST)
    world.run(lambda: state(world, PLACES[0]).phase is Phase.READING)
    (pause,) = world.pauses()
    assert pause < 0.15


def test_it_is_given_up_at_the_deadline_of_an_operation(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, group=False, failures=float("inf"))
    world.run(lambda: len(world.positions.errors) == len(PLACES))
    assert all(isinstance(error, TimedOutError) for error in world.positions.errors)
    assert 29.0 <= world.asked[-1][0] - world.asked[0][0] <= 32.0


def test_a_partition_that_was_taken_away_in_trouble_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time for which it was asked in vain is not counted when it comes back."""
    world = World(monkeypatch, group=False, failures=float("inf"))
    world.run(lambda: len(world.asked) == 5)
    world.subscription.assign({})
    later = world.cluster.loop.now() + 100.0
    world.run(lambda: world.cluster.loop.now() >= later, 200.0)
    world.subscription.assign({PLACES[0]: Span()})
    before = len(world.asked)
    world.run(lambda: len(world.asked) == before + 3)
    assert not world.positions.errors


def test_a_topic_that_is_gone_fails_once_not_once_for_each_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each would look at all partitions: seconds for thousands of them, in one poll."""
    world = World(monkeypatch, group=False, failures=0)
    world.cluster.view = ClusterView()
    monkeypatch.setattr(world.cluster, "gone", lambda _topic: NotFoundError("t does not exist"))
    fail, failed = world.subscription.fail_topic, list[str]()
    monkeypatch.setattr(
        world.subscription, "fail_topic", lambda topic, error: failed.append(topic) or fail(topic, error)
    )
    world.positions.pump(world.cluster.loop.now())
    assert failed == ["t"]
    assert len(world.positions.errors) == 1
    assert all(state(world, tp).phase is Phase.FAILED for tp in PLACES)
