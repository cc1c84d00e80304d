"""Commits and the ends of logs, joined: what is asked in which order, and partitions nobody can tell of."""

from collections.abc import Mapping, Sequence
from typing import Any

from kcli.core.admin.topics import TopicInfo
from kcli.core.cluster.metadata import PartitionView, unknown_topic
from kcli.core.cluster.offsets import OffsetInfo
from kcli.core.errors import BrokerError, KcliError, NoLeaderError, NotFoundError, UnknownPartitionError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.groups.offsets import NO_LEADER, NO_PARTITION, NO_TOPIC, Position, positions
from tests.unit.at_once import AtOnce

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
GONE = TopicPartition("gone", 0)


class StandIn(AtOnce):
    """Topic t with two partitions, of which the second has no leader; remembers what it was asked."""

    def __init__(self, commits: Mapping[str, Any]) -> None:
        self.commits = commits
        self.asked: list[str] = []
        self.answers: dict[int, OffsetInfo | KcliError] = {-2: OffsetInfo(3, -1), -1: OffsetInfo(10, -1)}

    def fetch_offsets(self, wanted: Mapping[str, None]) -> Mapping[str, Any]:
        self.asked.append("commits")
        return {group: self.commits[group] for group in wanted}

    def describe_topics(
        self, names: Sequence[str], _partitions: object = (), **_how: object
    ) -> dict[str, TopicInfo | KcliError]:
        self.asked.append("topics")
        parts = (PartitionView(0, 1), PartitionView(1, -1))
        return {n: TopicInfo(n, "", False, parts) if n == "t" else unknown_topic(n, ["t"]) for n in names}

    def list_offsets(
        self, wanted: Mapping[TopicPartition, int], **_patience: float
    ) -> dict[TopicPartition, OffsetInfo | KcliError]:
        self.asked.append(f"{set(wanted.values())} {sorted(wanted)}")
        return {tp: self.answers[place] for tp, place in wanted.items()}


def of_one(commits: Any, *members_have: TopicPartition, **answers: Any) -> Any:
    admin = StandIn({"g": commits})
    admin.answers |= {{"start": -2, "end": -1}[name]: answer for name, answer in answers.items()}
    return positions(admin, {"g": members_have})["g"]  # type: ignore[arg-type]


def test_commits_are_read_before_starts_and_starts_before_ends() -> None:
    admin = StandIn({"g": {T0: OffsetAndMetadata(4)}, "h": {T0: OffsetAndMetadata(5)}})
    found = positions(admin, {"g": (), "h": ()})  # type: ignore[arg-type]
    assert admin.asked == ["commits", "topics", f"{{-2}} {[T0]}", f"{{-1}} {[T0]}"]
    assert found == {
        "g": {T0: Position(OffsetAndMetadata(4), 3, 10)},
        "h": {T0: Position(OffsetAndMetadata(5), 3, 10)},
    }


def test_no_groups_and_no_commits_ask_for_nothing_more() -> None:
    admin = StandIn({"g": {}})
    assert positions(admin, {}) == {}  # type: ignore[arg-type]
    assert positions(admin, {"g": ()}) == {"g": {}}  # type: ignore[arg-type]
    assert admin.asked == ["commits"]


def test_partitions_without_a_leader_have_a_note_and_the_rest_their_ends() -> None:
    commit = OffsetAndMetadata(4)
    found = of_one({GONE: commit, T2: commit, T1: commit, T0: commit})
    assert [type(found[tp].error) for tp in (GONE, T0, T1, T2)] == [
        NotFoundError, type(None), NoLeaderError, UnknownPartitionError,
    ]  # fmt: skip
    assert {tp: position._replace(error=None) for tp, position in found.items()} == {
        GONE: Position(commit, None, None, NO_TOPIC),
        T0: Position(commit, 3, 10),
        T1: Position(commit, None, None, NO_LEADER),
        T2: Position(commit, None, None, NO_PARTITION),
    }
    assert found[GONE].lag is None


def test_partitions_of_members_are_there_without_a_commit() -> None:
    found = of_one({}, T0)
    assert found == {T0: Position(None, 3, 10)}
    assert found[T0].lag is None


def test_lag_has_no_floor() -> None:
    assert of_one({T0: OffsetAndMetadata(12)})[T0].lag == -2


def test_an_end_that_a_broker_does_not_report_is_a_note() -> None:
    found = of_one({T0: OffsetAndMetadata(4)}, end=BrokerError(29, "asking"))[T0]
    assert (found.log_start, found.end) == (3, None)
    assert "TOPIC_AUTHORIZATION_FAILED" in found.note
    assert (
        "TOPIC_AUTHORIZATION_FAILED"
        in of_one({T0: OffsetAndMetadata(4)}, start=BrokerError(29, "x"))[T0].note
    )


def test_a_commit_that_could_not_be_read_is_unknown_and_not_missing() -> None:
    found = of_one({T0: BrokerError(88, "reading")})[T0]
    assert (found.committed, found.end, found.lag) == (None, 10, None)
    assert found.note.startswith("the commit is unknown: ")


def test_a_group_that_could_not_be_read_has_its_error() -> None:
    error = BrokerError(30, "asking")
    assert of_one(error) is error
