"""What is read for a plan, in which order, and what becomes of what cannot be read."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

import pytest

from kcli.core.admin.admin import Admin
from kcli.core.admin.group_description import GroupDescription, OtherGroupError
from kcli.core.admin.groups import GroupListing, ListedGroup
from kcli.core.admin.topics import TopicInfo
from kcli.core.cluster.metadata import PartitionView
from kcli.core.cluster.offsets import EARLIEST, LATEST, OffsetInfo
from kcli.core.errors import BrokerError, KcliError, NotFoundError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.rewind.plan import RewindPlan
from kcli.flows.rewind.scope import Scope
from kcli.flows.rewind.survey import RewindRequest, survey
from kcli.flows.rewind.targets import Target

T0, T1, GONE = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("gone", 0)
COMMIT = OffsetAndMetadata(15, "m", 3)


class StandIn:
    """Topic ``t`` of two partitions, a group ``g`` with a commit in one of them; remembers what was listed."""

    def __init__(self) -> None:
        self.committed: dict[TopicPartition, Any] = {T0: COMMIT}
        self.listed: list[set[int]] = []
        self.broken: TopicPartition | None = None

    def lacks(self, _act: object) -> None:
        """Every broker can do everything."""

    def topic_operations(self, names: Sequence[str]) -> dict[str, int | KcliError | None]:
        return dict.fromkeys(names)

    def describe_groups(
        self, names: Sequence[str], *, include_operations: bool
    ) -> dict[str, GroupDescription | KcliError]:
        kinds: dict[str, GroupDescription | KcliError] = {
            "g": GroupDescription("g", "classic", "Empty", "consumer", "", 1),
            "shared": OtherGroupError(
                "group shared cannot be described", why="it is a share or a streams group"
            ),
        }
        return {name: kinds.get(name, NotFoundError(f"group {name} does not exist")) for name in names}

    def list_groups(self) -> GroupListing:
        return GroupListing((ListedGroup("nobodies", "consumer", "Empty", "classic", 1),), {})

    def fetch_offsets(self, wanted: Mapping[str, Collection[TopicPartition] | None]) -> dict[str, Any]:
        return {name: dict(self.committed) if name == "g" else {} for name in wanted}

    def describe_topics(self, names: Sequence[str]) -> dict[str, TopicInfo | KcliError]:
        parts = tuple(PartitionView(n, 1, 4, (1,), (1,)) for n in range(2))
        return {
            name: TopicInfo(name, "id", False, parts)
            if name == "t"
            else NotFoundError(f"topic {name} does not exist")
            for name in names
        }

    def list_offsets(
        self, wanted: Mapping[TopicPartition, int], **_patience: float
    ) -> dict[TopicPartition, OffsetInfo | KcliError]:
        self.listed.append(set(wanted.values()))
        answers = {EARLIEST: OffsetInfo(10, -1, 1), LATEST: OffsetInfo(20, -1, 4)}
        return {
            tp: BrokerError(6, str(tp)) if tp == self.broken else answers.get(place, OffsetInfo(-1, -1))
            for tp, place in wanted.items()
        }


def plan(
    admin: StandIn, target: Target, *groups: str, scope: Scope | None = None, undoes: bool = False
) -> RewindPlan:
    names = groups or ("g",)
    asked = RewindRequest(
        dict.fromkeys(names, target), "x", scope or Scope(), dict.fromkeys(names, "before") if undoes else {}
    )
    return survey(cast(Admin, admin), "Qx3", asked, 0, lambda ranges: dict.fromkeys(ranges, 5))


@pytest.mark.case("O8")
def test_ends_are_read_before_times() -> None:
    """The other way round a record that comes in between would be skipped as older than the time."""
    admin = StandIn()
    (group,) = plan(admin, Target("time", 1_000)).groups
    assert admin.listed == [{EARLIEST}, {LATEST}, {1_000}]
    assert [item.note for item in group.items] == [
        "no record since; goes to end", "no record since; goes to end; no commit before",
    ]  # fmt: skip
    assert [(item.records, item.span_ms) for item in group.items] == [(5, 5), (None, None)]


def test_only_times_are_requested_by_time() -> None:
    admin = StandIn()
    plan(admin, Target("earliest"))
    assert admin.listed == [{EARLIEST}, {LATEST}]


def test_a_partition_that_cannot_be_read_is_refused_alone() -> None:
    admin = StandIn()
    admin.broken = T1
    (group,) = plan(admin, Target("earliest")).groups
    assert [(item.tp, item.action) for item in group.items] == [(T0, "commit"), (T1, "refused")]
    assert "NOT_LEADER_OR_FOLLOWER" in group.items[1].note


def test_a_commit_that_cannot_be_read_is_refused() -> None:
    admin = StandIn()
    admin.committed[T1] = BrokerError(88, "t-1")
    (group,) = plan(admin, Target("earliest")).groups
    assert [item.action for item in group.items] == ["commit", "refused"]


def test_commits_of_a_topic_that_is_gone_are_refused() -> None:
    admin = StandIn()
    admin.committed[GONE] = OffsetAndMetadata(3)
    whole = plan(admin, Target("earliest"), scope=Scope(all_topics=True))
    assert [(item.tp, item.action) for item in whole.groups[0].items] == [
        (GONE, "refused"), (T0, "commit"), (T1, "commit"),
    ]  # fmt: skip
    assert not whole.unplanned


def test_share_groups_and_groups_that_are_not_there_are_failures_beside_the_plan() -> None:
    whole = plan(StandIn(), Target("earliest"), "shared", "nobody", "g")
    assert [group.group for group in whole.groups] == ["g"]
    assert [(error.what, error.exit_code) for error in whole.unplanned.values()] == [
        ("the offsets of group shared cannot be set", 7),
        ("group nobody does not exist", 1),
    ]
    assert whole.unplanned["nobody", None].do == "did you mean nobodies?"


def test_an_undo_finds_its_group_gone() -> None:
    target = Target("given", offsets={T0: COMMIT}, exact=True)
    whole = plan(StandIn(), target, "dropped", undoes=True)
    assert not whole.unplanned
    (group,) = whole.groups
    assert (group.state, group.undoes, [item.new for item in group.items]) == ("Dead", "before", [COMMIT])
