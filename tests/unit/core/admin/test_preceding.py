"""What was committed just before offsets are set, over brokers that answer by script on a clock of their own."""

from typing import Any

import pytest

from kcli.core.admin.commits import commit_offsets, delete_offsets
from kcli.core.admin.preceding import Preceding
from kcli.core.cluster.coordinators import Coordinators, KeyType
from kcli.core.cluster.metadata import apply_metadata
from kcli.core.errors import KcliError, OutcomeUnknownError
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages import find_coordinator, offset_commit, offset_delete, offset_fetch
from kcli.core.protocol.messages.metadata import MetadataRequest
from kcli.core.types import GroupMetadata, GroupPartition, Node, OffsetAndMetadata, TopicPartition
from tests.unit.core.cluster.scripted import answer, cluster_on

TP = TopicPartition("t", 0)
KEY = GroupPartition("g", TP)
OK, LOADING, UNSTABLE = 0, 14, 88


class World:
    """``codes`` are those of the next commits, or deletions; ``committed`` is what reads show, one after the other.

    ``lost``: of so many attempts the connection breaks before any response.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.codes: list[int] = []
        self.lost = 0
        self.committed = [10]
        self.code_of_read = OK
        self.cluster, self.brokers, self.clock = cluster_on(
            monkeypatch, self._script, retry_backoff_ms=100, retry_backoff_max_ms=100
        )
        self.cluster.view = apply_metadata(self.cluster.view, answer(), [])
        self.coordinators = Coordinators(self.cluster)
        self.coordinators.learn(KeyType.GROUP, {"g": 1})

    def _script(self, _node: Node, request: Request) -> Any:
        if isinstance(request, MetadataRequest):
            return answer()
        if isinstance(request, find_coordinator.FindCoordinatorRequest):
            found = find_coordinator.Coordinator(key="g", node_id=1, host="b1", port=9092, error_code=OK)
            return find_coordinator.FindCoordinatorResponse(coordinators=[found])
        is_read = isinstance(request, offset_fetch.OffsetFetchRequest)
        if self.lost:
            self.lost -= not is_read
            return OutcomeUnknownError("the connection broke")
        if is_read:
            offset = self.committed[0] if len(self.committed) == 1 else self.committed.pop(0)
            row = offset_fetch.OffsetFetchResponsePartitions(
                partition_index=0, committed_offset=offset, metadata="", error_code=self.code_of_read
            )
            topics = [offset_fetch.OffsetFetchResponseTopics(name="t", partitions=[row])]
            return offset_fetch.OffsetFetchResponse(
                groups=[offset_fetch.OffsetFetchResponseGroup(group_id="g", topics=topics)]
            )
        code = self.codes.pop(0) if self.codes else OK
        if isinstance(request, offset_commit.OffsetCommitRequest):
            done = offset_commit.OffsetCommitResponsePartition(partition_index=0, error_code=code)
            return offset_commit.OffsetCommitResponse(
                topics=[offset_commit.OffsetCommitResponseTopic(name="t", partitions=[done])]
            )
        gone = offset_delete.OffsetDeleteResponsePartition(partition_index=0, error_code=code)
        return offset_delete.OffsetDeleteResponse(
            topics=[offset_delete.OffsetDeleteResponseTopic(name="t", partitions=[gone])]
        )

    def set(self, preceding: Preceding) -> Any:
        wanted = {GroupMetadata("g"): {TP: OffsetAndMetadata(5)}}
        deadline = self.cluster.loop.now() + 10.0
        return commit_offsets(self.cluster, self.coordinators, wanted, deadline, preceding)["g"][TP]

    def delete(self, preceding: Preceding) -> Any:
        deadline = self.cluster.loop.now() + 10.0
        return delete_offsets(self.cluster, self.coordinators, {"g": [TP]}, deadline, preceding)["g"][TP]

    @property
    def sent(self) -> list[str]:
        return [
            request.api_name
            for _, _, _, request in self.brokers.sent
            if request.api_name.startswith("Offset")
        ]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)


@pytest.mark.parametrize(("act", "api"), [("set", "OffsetCommit"), ("delete", "OffsetDelete")])
def test_the_read_is_sent_with_what_sets_the_offset_ahead_of_it(world: World, act: str, api: str) -> None:
    preceding = Preceding()
    assert getattr(world, act)(preceding) is None
    assert world.sent == ["OffsetFetch", api]
    moments = {at for at, _, _, request in world.brokers.sent if request.api_name.startswith("Offset")}
    assert len(moments) == 1, "the commit does not wait for the response to the read"
    assert preceding.found == {KEY: [OffsetAndMetadata(10)]}


def test_each_attempt_has_its_read_and_the_window_spans_them(world: World) -> None:
    world.codes, world.committed = [LOADING, OK], [10, 7]
    preceding = Preceding()
    assert world.set(preceding) is None
    assert world.sent == ["OffsetFetch", "OffsetCommit"] * 2
    assert preceding.found == {KEY: [OffsetAndMetadata(10), OffsetAndMetadata(7)]}
    first, last = preceding.window(KEY, 0), preceding.window(KEY, 1)
    assert first is not None
    assert last is not None
    assert first > 0.05 > last


@pytest.mark.parametrize("seconds", [0.0, 0.05, 0.3, 1.0, 4.0])
def test_the_way_there_and_back_is_no_part_of_the_window(world: World, seconds: float) -> None:
    world.brokers.delay = world.brokers.shortest = seconds
    preceding = Preceding()
    assert world.set(preceding) is None
    window = preceding.window(KEY, 0)
    assert window is not None
    assert window < 0.05


def test_a_response_that_was_later_than_others_is_part_of_the_window(world: World) -> None:
    world.brokers.delay, world.brokers.shortest = 2.0, 0.3
    preceding = Preceding()
    assert world.set(preceding) is None
    assert preceding.window(KEY, 0) == pytest.approx(1.7, abs=0.05)


def test_a_read_that_is_refused_shows_nothing(world: World) -> None:
    world.code_of_read = UNSTABLE
    preceding = Preceding()
    assert world.set(preceding) is None
    (found,) = preceding.found[KEY]
    assert isinstance(found, KcliError)


def test_an_attempt_whose_responses_are_lost_has_found_what_nobody_knows(world: World) -> None:
    world.lost = 1
    preceding = Preceding()
    assert world.set(preceding) is None
    unseen, found = preceding.found[KEY]
    assert isinstance(unseen, KcliError)
    assert found == OffsetAndMetadata(10)


@pytest.mark.parametrize("act", ["set", "delete"])
def test_the_window_ends_with_the_response_to_the_last_attempt_only(world: World, act: str) -> None:
    """The first one is refused in no time; the second may be carried out whenever it arrives."""
    world.codes = [LOADING]
    preceding = Preceding()
    script = world.brokers.script

    def refused_once(node: Node, request: Request) -> Any:
        world.lost = 0 if world.codes else 1_000
        return script(node, request)

    world.brokers.script = refused_once
    assert isinstance(getattr(world, act)(preceding), KcliError)
    assert preceding.found[KEY][0] == OffsetAndMetadata(10)
    assert preceding.window(KEY, 0) is None
