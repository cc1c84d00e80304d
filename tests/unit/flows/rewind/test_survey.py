"""What is read for a plan, in which order, and what becomes of what cannot be read."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

import pytest

from kcli.core.admin.admin import Admin
from kcli.core.admin.group_description import GroupDescription, OtherGroupError
from kcli.core.admin.groups import GroupListing, ListedGroup
from kcli.core.admin.share_offsets import ShareOffset
from kcli.core.admin.topics import TopicInfo
from kcli.core.cluster.metadata import PartitionView
from kcli.core.cluster.offsets import EARLIEST, LATEST, OffsetInfo
from kcli.core.errors import BrokerError, KcliError, NotFoundError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.rewind.plan import RewindPlan
from kcli.flows.rewind.scope import Scope
from kcli.flows.rewind.survey import RewindRequest, survey
from kcli.flows.rewind.targets import Target
from tests.unit.at_once import AtOnce

T0, T1, GONE = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("gone", 0)
COMMIT = OffsetAndMetadata(15, "m", 3)


class StandIn(AtOnce):
    """Topic ``t`` of two partitions, a group ``g`` with a commit in one of them; remembers what was listed."""

    def __init__(self) -> None:
        self.committed: dict[TopicPartition, Any] = {T0: COMMIT}
        self.listed: list[set[int]] = []
        self.broken: TopicPartition | None = None
        self.starts: dict[TopicPartition, ShareOffset | KcliError] = {T0: ShareOffset(12, 0, 3)}

    def share_offsets(self, names: Collection[str]) -> dict[str, Any]:
        """In the log up to 20: 5 of the 8 records from 12 on are acknowledged."""
        return {name: dict(self.starts) if name == "queue" else {} for name in names}

    def lacks(self, _act: object) -> None:
        """Every broker can do everything."""

    def topic_operations(self, names: Sequence[str]) -> dict[str, int | KcliError | None]:
        return dict.fromkeys(names)

    def describe_groups(
        self, names: Sequence[str], *, include_operations: bool, all_types: bool
    ) -> dict[str, GroupDescription | KcliError]:
        kinds: dict[str, GroupDescription | KcliError] = {
            "g": GroupDescription("g", "classic", "Empty", "consumer", "", 1),
            "shared": OtherGroupError("group shared cannot be described", why="the broker is too old"),
            "queue": GroupDescription("queue", "share", "Empty", "share", "simple", 1),
            "app": GroupDescription("app", "streams", "Empty", "streams", "", 1),
        }
        return {name: kinds.get(name, NotFoundError(f"group {name} does not exist")) for name in names}

    def list_groups(self) -> GroupListing:
        return GroupListing((ListedGroup("nobodies", "consumer", "Empty", "classic", 1),), {})

    def fetch_offsets(self, wanted: Mapping[str, Collection[TopicPartition] | None]) -> dict[str, Any]:
        return {name: dict(self.committed) if name == "g" else {} for name in wanted}

    def describe_topics(
        self, names: Sequence[str], _partitions: object = (), **_how: object
    ) -> dict[str, TopicInfo | KcliError]:
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
    return survey(
        cast(Admin, admin), "Qx3", asked, 0, lambda groups: [dict.fromkeys(one, 5) for one in groups]
    )


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


def test_groups_that_cannot_be_described_or_are_not_there_are_failures_beside_the_plan() -> None:
    whole = plan(StandIn(), Target("earliest"), "shared", "nobody", "g")
    assert [group.group for group in whole.groups] == ["g"]
    assert [(error.what, error.exit_code) for error in whole.unplanned.values()] == [
        ("the offsets of group shared cannot be set", 7),
        ("group nobody does not exist", 1),
    ]
    assert whole.unplanned["nobody", None].do == "did you mean nobodies?"


FORGOTTEN = "5 acknowledged after it, delivered again"


@pytest.mark.parametrize(
    ("target", "new", "note", "forgotten", "changes"),
    [
        (Target("earliest"), 10, FORGOTTEN, 5, True),
        (Target("latest"), 20, "", 0, True),
        (Target("current"), 12, "", 0, False),
        (Target("offset", 12), 12, FORGOTTEN, 5, True),
        (Target("shift", -1), 11, FORGOTTEN, 5, True),
        (Target("offset", 17), 17, "up to 3 acknowledged after it, delivered again", 3, True),
        (Target("given", offsets={T0: OffsetAndMetadata(11, "mine")}), 11, FORGOTTEN, 5, True),
        (Target("given", offsets={T0: OffsetAndMetadata(12)}, exact=True), 12, "", 0, False),
        (Target("given", offsets={T0: OffsetAndMetadata(9)}, exact=True), 9, f"before log start; {FORGOTTEN}", 5, True),
    ],
)  # fmt: skip
def test_a_start_offset_that_is_set_forgets_what_is_acknowledged_after_it(
    target: Target, new: int, note: str, forgotten: int, changes: bool
) -> None:
    (group,) = plan(StandIn(), target, "queue", scope=Scope({"t": frozenset({0})})).groups
    (item,) = group.items
    assert item.committed == OffsetAndMetadata(12, "", 0)
    assert item.new is not None
    assert (item.new.offset, item.new.metadata) == (new, "")
    assert (item.note, item.forgotten, item.changes) == (note, forgotten, changes)


def test_without_a_reported_lag_nothing_is_known_to_be_acknowledged() -> None:
    admin = StandIn()
    admin.starts[T0] = ShareOffset(12, 0, None)
    (group,) = plan(admin, Target("offset", 12), "queue", scope=Scope({"t": frozenset({0})})).groups
    assert (group.items[0].forgotten, group.items[0].changes) == (0, False)


def test_the_topics_of_a_share_group_are_known_before_it_has_a_start_offset() -> None:
    admin = StandIn()
    admin.starts = {T0: ShareOffset(None), T1: ShareOffset(None)}
    (group,) = plan(admin, Target("latest"), "queue").groups
    assert [(item.tp, item.note) for item in group.items] == [
        (T0, "no start offset before"), (T1, "no start offset before"),
    ]  # fmt: skip


def test_start_offsets_are_deleted_with_all_of_their_topic_or_not_at_all() -> None:
    admin = StandIn()
    admin.starts = {T0: ShareOffset(12, 0, 8), T1: ShareOffset(12, 0, 8)}
    both = Target("given", offsets={T0: None, T1: None}, exact=True)
    (group,) = plan(admin, both, "queue", undoes=True).groups
    assert [item.action for item in group.items] == ["delete", "delete"]
    for offsets in ({T0: None}, {T0: None, T1: OffsetAndMetadata(3)}):
        (group,) = plan(admin, Target("given", offsets=offsets, exact=True), "queue", undoes=True).groups
        (refusal,) = [item.refusal for item in group.items if item.refusal is not None]
        assert (refusal.exit_code, "whole topic" in refusal.do) == (7, True)


def test_an_undo_of_a_share_group_is_not_made_in_a_group_of_another_type() -> None:
    asked = RewindRequest(
        {"g": Target("given", offsets={T0: COMMIT}, exact=True)}, "x", undoes={"g": "before"}, types={"g": "share"}
    )  # fmt: skip
    whole = survey(cast(Admin, StandIn()), "Qx3", asked, 0, lambda groups: [{} for _ in groups])
    assert whole.groups[0].refusal is not None
    assert whole.groups[0].refusal.what == "group g is a classic group"


def test_an_undo_finds_its_group_gone() -> None:
    target = Target("given", offsets={T0: COMMIT}, exact=True)
    whole = plan(StandIn(), target, "dropped", undoes=True)
    assert not whole.unplanned
    (group,) = whole.groups
    assert (group.state, group.undoes, [item.new for item in group.items]) == ("Dead", "before", [COMMIT])
