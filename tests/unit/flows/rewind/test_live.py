"""A rewind of a group that has members, against stand-ins for its guard and for the admin client."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from kcli.core import Admin
from kcli.core.admin.group_description import GroupDescription, MemberDescription
from kcli.core.cluster.offsets import OffsetInfo
from kcli.core.errors import BrokerError, ConnectError, KcliError, MembershipError, NotFoundError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.rewind.execute import Doors, GroupReport, execute
from kcli.flows.rewind.journal import Journals
from kcli.flows.rewind.live import (
    HELD,
    OPEN,
    OVERWRITTEN,
    UNCLEAR,
    LiveResult,
    read_topics,
    seize,
    set_offsets,
    trail,
    verdict,
    watch,
)
from kcli.flows.rewind.plan import GroupPlan, NotPossibleError, RewindItem, RewindPlan, not_possible

A, B = TopicPartition("a", 0), TopicPartition("a", 1)
HERE, THERE = "/10.0.0.1", "/10.0.0.2"


def at(offset: int | None) -> OffsetAndMetadata | None:
    return None if offset is None else OffsetAndMetadata(offset)


def item(old: int | None, new: int, where: TopicPartition = A) -> RewindItem:
    return RewindItem(where, at(old), at(new))


def member(name: str, host: str = HERE, *places: TopicPartition, **more: Any) -> MemberDescription:
    return MemberDescription(f"{name}-id", None, name, host, assignment=places, **more)


def plan(*items: RewindItem, group_type: str = "classic", assignor: str = "range") -> GroupPlan:
    members = (member("one"), member("two", THERE))
    kind = {"type": group_type, "assignor": assignor}
    return GroupPlan("g", "id", "there", "Stable", items, members=members, live=True, **kind)


# --- what a trail of commits says ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "seen", "said"),
    [
        (100, 40, [], OPEN),
        (100, 40, [40], OPEN),
        (100, 40, [40, 41], HELD),
        (100, 40, [99], HELD),
        (100, 40, [40, 41, 300], HELD),
        (100, 40, [100], UNCLEAR),
        (100, 40, [40, 120], UNCLEAR),
        (100, 40, [200], UNCLEAR),
        (100, 40, [201], HELD),
        (100, 40, [39], OVERWRITTEN),
        (100, 40, [41, 39], OVERWRITTEN),
        (100, 40, [None], OVERWRITTEN),
        (100, 140, [140], OPEN),
        (100, 140, [150], UNCLEAR),
        (100, 140, [201], HELD),
        (100, 140, [105], OVERWRITTEN),
        (100, 140, [100], OVERWRITTEN),
        (100, 100, [101], UNCLEAR),
        (None, 40, [40], OPEN),
        (None, 40, [150], UNCLEAR),
        (None, 40, [1000], HELD),
        (None, 40, [3], OVERWRITTEN),
    ],
)
def test_o11_what_commits_say_of_a_partition(
    old: int | None, new: int, seen: list[int | None], said: str
) -> None:
    """When the members were let in its log ended at 200."""
    assert trail(item(old, new), [at(one) for one in seen], 200) == said


def test_o12_beyond_the_end_is_only_who_has_not_kept_a_position() -> None:
    assert trail(item(100, 40), [at(201)], None) == UNCLEAR


def test_what_may_be_either_is_held_only_if_nobody_could_go_on_from_an_old_position() -> None:
    for seen in ([], [40], [100]):
        commits = [at(one) for one in seen]
        assert verdict(item(100, 40), commits, 200, proven=True) == HELD
        assert verdict(item(100, 40), commits, 200, proven=False) == UNCLEAR
    assert verdict(item(100, 40), [at(50)], 200, proven=False) == HELD
    assert verdict(item(100, 40), [at(30)], 200, proven=True) == OVERWRITTEN


def test_where_nothing_is_left_to_be_read_nothing_has_to_be_seen() -> None:
    assert verdict(item(100, 200), [at(200)], 200, proven=False) == HELD
    assert verdict(item(100, 200), [at(200)], 201, proven=False) == UNCLEAR


# --- which groups can be held ----------------------------------------------------------------------------


def described(state: str = "Stable", **more: Any) -> GroupDescription:
    told: dict[str, Any] = {"type": "classic", "protocol_type": "consumer", "assignor": "range", **more}
    return GroupDescription("g", state=state, coordinator=1, members=(member("one"),), **told)


@pytest.mark.parametrize(
    ("group", "why"),
    [
        (described("PreparingRebalance"), "members are just coming or going"),
        (described(assignor="stream"), "Kafka Streams"),
        (described(protocol_type="connect"), "no group of consumers"),
    ],
)
def test_o12_o14_groups_that_cannot_be_held_are_refused_with_the_reason(
    group: GroupDescription, why: str
) -> None:
    error = not_possible(group, live=True)
    assert error is not None
    assert why in (error.why or "")
    assert error.exit_code == 7


def test_o13_a_group_with_members_of_both_protocols_is_refused() -> None:
    members = (member("one", protocol="classic"), member("two", protocol="consumer"))
    group = GroupDescription("g", "consumer", "Stable", "consumer", "uniform", 1, members)
    error = not_possible(group, live=True)
    assert error is not None
    assert "members of both" in (error.why or "")


def test_only_with_live_a_group_with_members_can_be_set() -> None:
    assert not_possible(described(), live=True) is None
    error = not_possible(described())
    assert error is not None
    assert "--live" in (error.do or "")


def test_what_a_group_reads_is_what_it_subscribes_to_and_what_it_was_given() -> None:
    members = (
        member("one", HERE, TopicPartition("matched", 0), subscription=("asked",)),
        member("two", HERE, target=(TopicPartition("coming", 3),)),
    )
    group = GroupDescription("g", "consumer", "Stable", "consumer", "uniform", 1, members)
    assert read_topics(group) == {"asked", "matched", "coming"}


# --- setting them ----------------------------------------------------------------------------------------


def ends_at_200(places: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
    return dict.fromkeys(places, 200)


class Guard:
    """``answers``: what the first commit is answered with; ``fails``: the call that raises; ``late`` comes in between."""

    def __init__(
        self,
        committed: dict[TopicPartition, int | None],
        *,
        answers: dict[TopicPartition, KcliError] | None = None,
        fails: tuple[str, KcliError] | None = None,
        back: int = 2,
        overwrites: dict[TopicPartition, int] | None = None,
    ) -> None:
        self.evicted, self.may_have_committed = 2, False
        self.calls: list[str] = []
        self._committed = dict(committed)
        self._answers, self._fails, self._back = answers or {}, fails, back
        self._overwrites = overwrites or {}

    def _called(self, name: str) -> None:
        self.calls.append(name)
        if self._fails is not None and self._fails[0] == name:
            raise self._fails[1]

    def seize(self, timeout: float) -> None:
        self._called("seize")

    def committed(
        self, places: Collection[TopicPartition], timeout: float
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        self._called("committed")
        return {where: at(self._committed.get(where)) for where in places}

    def commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], timeout: float
    ) -> Mapping[TopicPartition, KcliError | None]:
        self.may_have_committed = True
        self._called("commit")
        for where, place in offsets.items():
            if where not in self._answers:
                self._committed[where] = self._overwrites.get(where, place.offset)
        return {where: self._answers.get(where) for where in offsets}

    def wait_for_members(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], timeout: float) -> int:
        self._called("wait")
        return self._back

    def release(self) -> None:
        self.calls.append("release")


def test_what_was_committed_when_the_door_was_shut_is_what_an_undo_puts_back() -> None:
    guard, journalled = Guard({A: 120}), list[GroupPlan]()

    def journal(shown: GroupPlan) -> None:
        assert not guard.may_have_committed
        journalled.append(shown)

    result = set_offsets(guard, plan(item(100, 40)), journal, ends_at_200)
    assert guard.calls == ["committed", "commit", "wait", "commit", "committed", "release"]
    assert [one.items[0].committed for one in journalled] == [at(120)]
    assert result.plan == journalled[0]
    assert (result.found, result.unseen, result.failure) == ({A: at(40)}, 0, None)


def test_a_partition_that_is_refused_leaves_the_others() -> None:
    refused = BrokerError(12, "commit of a-0")
    result = set_offsets(
        Guard({A: 100, B: 100}, answers={A: refused}),
        plan(item(100, 40), item(100, 40, B)),
        lambda _: None,
        ends_at_200,
    )
    assert result.stored == {A: refused, B: None}
    assert set(result.watched) == {B}


def test_o15_the_door_is_opened_whatever_happens() -> None:
    lost = ConnectError("the connection broke")
    for call in ("committed", "commit", "wait"):
        guard = Guard({A: 100}, fails=(call, lost))
        if call == "committed":
            with pytest.raises(ConnectError):
                set_offsets(guard, plan(item(100, 40)), lambda _: None, ends_at_200)
        else:
            result = set_offsets(guard, plan(item(100, 40)), lambda _: None, ends_at_200)
            assert result.failure is lost
            assert result.watched == {}
        assert guard.calls[-1] == "release"


def test_a_guard_that_was_sent_out_is_a_refusal() -> None:
    gone = MembershipError("another rewind is going on", why="sent out")
    guard = Guard({A: 100}, fails=("seize", gone))
    with pytest.raises(NotPossibleError, match="another rewind"):
        seize(guard)
    assert guard.calls == ["seize", "release"]


# --- watching --------------------------------------------------------------------------------------------


class Watching:
    """An admin client whose group goes on from look to look; time passes only in ``sleep``."""

    def __init__(self, looks: list[Any], group: GroupDescription | KcliError) -> None:
        self.looks, self.group, self.time = looks, group, 0.0

    def fetch_offsets(self, wanted: dict[str, list[TopicPartition]]) -> dict[str, Any]:
        look = self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
        if isinstance(look, KcliError):
            return dict.fromkeys(wanted, look)
        return {group: {where: at(look[where]) for where in places} for group, places in wanted.items()}

    def describe_groups(self, names: list[str]) -> dict[str, Any]:
        return dict.fromkeys(names, self.group)

    def list_offsets(self, wanted: dict[TopicPartition, int]) -> dict[TopicPartition, Any]:
        return {where: OffsetInfo(200, -1, -1) for where in wanted}

    def sleep(self, seconds: float) -> None:
        self.time += seconds

    def watch(self, *results: LiveResult) -> Any:
        return watch(cast("Admin", self), results, now=lambda: self.time, sleep=self.sleep)


def result(*items: RewindItem, unseen: int = 0, **kind: str) -> LiveResult:
    found = {one.where: one.new for one in items}
    ends = dict.fromkeys(found, 200)
    return LiveResult(plan(*items, **kind), dict.fromkeys(found), found, ends, 2, unseen)


BACK = GroupDescription(
    "g", "classic", "Stable", "consumer", "range", 1, (member("one", HERE, A), member("two", THERE, B))
)


def test_it_looks_until_every_partition_has_gone_on() -> None:
    admin = Watching([{A: 40, B: 40}, {A: 41, B: 40}, {A: 42, B: 200}, {A: 1, B: 1}], BACK)
    seen = admin.watch(result(item(100, 40), item(100, 40, B)))["g"]
    assert admin.time == pytest.approx(0.2)
    assert {where: one.verdict for where, one in seen.partitions.items()} == {A: HELD, B: HELD}
    assert seen.partitions[B].member == BACK.members[1]
    assert seen.missing == ()


def test_o11_who_overwrites_is_named() -> None:
    admin = Watching([{A: 140}, {A: 105}], BACK)
    seen = admin.watch(result(item(100, 140)))["g"].partitions[A]
    assert (seen.verdict, seen.found) == (OVERWRITTEN, at(105))
    assert seen.member is not None
    assert seen.member.client_id == "one"


def test_a_partition_that_nobody_commits_is_looked_at_to_the_end() -> None:
    admin = Watching([ConnectError("away"), {A: 40}], BACK)
    assert admin.watch(result(item(100, 40)))["g"].partitions[A].verdict == HELD
    assert admin.time == pytest.approx(10)


def test_o13_members_of_the_new_protocol_may_commit_what_they_were_at_work_on() -> None:
    modern = replace(BACK, type="consumer")
    for commit, said in ((120, UNCLEAR), (40, UNCLEAR), (41, HELD), (201, HELD)):
        seen = Watching([{A: commit}], modern).watch(result(item(100, 40), group_type="consumer"))["g"]
        assert seen.partitions[A].verdict == said


def test_o12_a_cooperative_member_that_has_kept_what_it_had_proves_nothing() -> None:
    """It says so when it joins."""
    coop = {"assignor": "cooperative-sticky"}
    kept = replace(BACK, members=(replace(BACK.members[0], owned=(A,)), BACK.members[1]))
    for group, commit, said in (
        (BACK, 120, HELD),
        (kept, 120, UNCLEAR),
        (kept, 201, UNCLEAR),
        (kept, 41, HELD),
    ):
        seen = Watching([{A: commit}], group).watch(result(item(100, 40), **coop))["g"]
        assert seen.partitions[A].verdict == said


def test_o11_who_was_not_back_in_time_may_have_found_the_group_empty() -> None:
    """aiokafka's members commit as nobody in particular then."""
    for commit in (40, 120):
        seen = Watching([{A: commit}], BACK).watch(result(item(100, 40), unseen=1))["g"]
        assert seen.partitions[A].verdict == UNCLEAR


def test_members_that_have_not_come_back_are_told() -> None:
    gone = GroupDescription("g", "classic", "Stable", "consumer", "range", 1, (member("one", HERE, A, B),))
    seen = Watching([{A: 41}], gone).watch(result(item(100, 40)))["g"]
    assert [one.client_id for one in seen.missing] == ["two"]
    unknown = Watching([{A: 41}], NotFoundError("group g does not exist")).watch(result(item(100, 40)))["g"]
    assert unknown.missing == ()


# --- a whole run -----------------------------------------------------------------------------------------


def carried_out(root: Path, guard: Guard, admin: Watching, *items: RewindItem) -> tuple[GroupReport, bool]:
    journals = Journals("c", root)
    doors = Doors(lambda _plan: guard, sleep=admin.sleep)
    whole = RewindPlan("c", (plan(*items),))
    (report,) = execute(cast("Admin", admin), whole, journals, written=lambda _plan: None, doors=doors)
    return report, (journals.folder / "id.json").exists()


def test_a_run_reports_held_and_keeps_its_journal(tmp_path: Path) -> None:
    report, kept = carried_out(tmp_path, Guard({A: 110}), Watching([{A: 60}], BACK), item(100, 40))
    assert [outcome.status for outcome in report.outcomes] == ["held"]
    assert report.outcomes[0].item.committed == at(110)
    assert report.done == 1
    assert kept
    assert report.kept


def test_what_was_changed_before_the_door_was_opened_is_overwritten(tmp_path: Path) -> None:
    guard = Guard({A: 110}, overwrites={A: 77})
    report, kept = carried_out(tmp_path, guard, Watching([{A: 77}], BACK), item(100, 40))
    assert [(o.status, o.found) for o in report.outcomes] == [("overwritten", at(77))]
    assert kept


def test_an_end_in_between_leaves_nothing_known_but_the_journal(tmp_path: Path) -> None:
    guard = Guard({A: 110}, fails=("wait", ConnectError("the connection broke")))
    report, kept = carried_out(tmp_path, guard, Watching([{A: 60}], BACK), item(100, 40))
    assert [outcome.status for outcome in report.outcomes] == ["unknown"]
    assert kept


def test_a_group_that_could_not_be_held_is_an_error_and_has_no_journal(tmp_path: Path) -> None:
    def shut(_plan: GroupPlan) -> Any:
        raise NotPossibleError("group g could not be held")

    admin = Watching([{A: 60}], BACK)
    journals = Journals("c", tmp_path)
    whole = RewindPlan("c", (plan(item(100, 40)),))
    (report,) = execute(
        cast("Admin", admin),
        whole,
        journals,
        written=lambda _plan: None,
        doors=Doors(shut, sleep=admin.sleep),
    )
    assert report.error is not None
    assert [outcome.status for outcome in report.outcomes] == ["refused"]
    assert not (journals.folder / "id.json").exists()
