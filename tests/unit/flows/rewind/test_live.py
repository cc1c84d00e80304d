"""A rewind of a group that has members, against stand-ins for its barrier and for the admin client."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kcli.core import Admin
from kcli.core.admin.group_description import GroupDescription, MemberDescription
from kcli.core.cluster.offsets import OffsetInfo
from kcli.core.errors import BrokerError, ConnectError, KcliError, MembershipError
from kcli.core.group.barrier.arrivals import ArrivalLog, ListedMember
from kcli.core.group.barrier.barrier import HoldTimes
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.rewind.barriers import Barriers, read_topics
from kcli.flows.rewind.execute import LiveRewind, execute
from kcli.flows.rewind.journal import Journals
from kcli.flows.rewind.judge import listed
from kcli.flows.rewind.live import (
    BeforeEviction,
    Clocks,
    HeldGroup,
    LiveResult,
    hold_times,
    set_offsets,
)
from kcli.flows.rewind.live_record import entry_of, facts_of
from kcli.flows.rewind.offsets_log import OffsetsLog
from kcli.flows.rewind.outcomes import GroupReport, NotProvenError
from kcli.flows.rewind.pace import Pace
from kcli.flows.rewind.plan import GroupPlan, NotPossibleError, RewindItem, RewindPlan, not_possible
from kcli.flows.rewind.trail import Rewound
from kcli.flows.rewind.watching import WATCH_SECONDS, OpenPartition, Watcher

A, B = TopicPartition("a", 0), TopicPartition("a", 1)
HERE, THERE = "/10.0.0.1", "/10.0.0.2"


def at(offset: int | None) -> OffsetAndMetadata | None:
    return None if offset is None else OffsetAndMetadata(offset)


def item(old: int | None, new: int, tp: TopicPartition = A) -> RewindItem:
    return RewindItem(tp, at(old), at(new))


def member(name: str, host: str = HERE, *partitions: TopicPartition, **more: Any) -> MemberDescription:
    return MemberDescription(f"{name}-id", None, name, host, assignment=partitions, **more)


def plan(*items: RewindItem, group_type: str = "classic", assignor: str = "range") -> GroupPlan:
    members = (member("one"), member("two", THERE))
    kind = {"type": group_type, "assignor": assignor}
    return GroupPlan("g", "id", "there", "Stable", items, members=members, live=True, **kind)


# --- which groups can be held ----------------------------------------------------------------------------


def described(state: str = "Stable", **more: Any) -> GroupDescription:
    told: dict[str, Any] = {"type": "classic", "protocol_type": "consumer", "assignor": "range", **more}
    return GroupDescription("g", state=state, coordinator=1, members=(member("one"),), **told)


@pytest.mark.case("O12", "O14")
@pytest.mark.parametrize(
    ("group", "why"),
    [
        (described("PreparingRebalance"), "members are joining or leaving"),
        (described(assignor="stream"), "Kafka Streams"),
        (described(protocol_type="connect"), "no group of consumers"),
    ],
)
def test_groups_that_cannot_be_held_are_refused_with_the_reason(group: GroupDescription, why: str) -> None:
    error = not_possible(group, live=True)
    assert error is not None
    assert why in (error.why or "")
    assert error.exit_code == 7


@pytest.mark.case("O13")
def test_a_group_with_members_of_both_protocols_is_refused() -> None:
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


def ends_at(end: int) -> Any:
    return lambda partitions: dict.fromkeys(partitions, end)


class Barrier:
    """``answers``: what the first commit is answered with; ``fails``: the call that raises; ``overwrites`` come between.

    Its clock stands still but for what it is told to wait. ``back``: how many of its two members come back.
    """

    def __init__(
        self,
        committed: dict[TopicPartition, int | None],
        *,
        answers: dict[TopicPartition, KcliError] | None = None,
        fails: tuple[str, KcliError] | None = None,
        back: int = 2,
        overwrites: dict[TopicPartition, int] | None = None,
    ) -> None:
        self.may_have_committed = False
        self.calls: list[str] = []
        self.now = 1_000.0
        self.arrival_log = ArrivalLog(keeps_id=False)
        self.arrival_log.record_eviction([listed(one) for one in MEMBERS], self.now)
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
        self, partitions: Collection[TopicPartition], timeout: float
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        self._called("committed")
        return {tp: at(self._committed.get(tp)) for tp in partitions}

    def commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], timeout: float
    ) -> Mapping[TopicPartition, KcliError | None]:
        self.may_have_committed = True
        self._called("commit")
        for tp, place in offsets.items():
            if tp not in self._answers:
                self._committed[tp] = self._overwrites.get(tp, place.offset)
        return {tp: self._answers.get(tp) for tp in offsets}

    def hold(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], timeout: float, times: HoldTimes
    ) -> int:
        self._called("hold")
        came = [ListedMember(f"{one.client_id}-new", None, one.client_id, one.client_host) for one in MEMBERS]
        log = self.arrival_log
        if not log.present:
            self.now += 0.5
            log.record_listing(came[: self._back], self.now)
        if not log.all_back:
            self.now += times.members
        self.now = max(self.now, log.last_arrival + times.quiet, log.evicted_at + times.since_eviction)
        return log.back

    def release(self) -> None:
        self.calls.append("release")

    def __enter__(self) -> "Barrier":
        return self

    def __exit__(self, *_exc: object) -> None:
        self.release()


MEMBERS = (member("one", HERE, A), member("two", THERE, B))
KNOWN = BeforeEviction(MEMBERS, {A: Pace(1.0, 9), B: Pace(30.0, 9)}, {"one-id": 6_000, "two-id": 45_000})


def set_by(
    barrier: Barrier, shown: GroupPlan, before: BeforeEviction = KNOWN, journal: Any = lambda _: None
) -> LiveResult:
    clocks = Clocks(lambda: barrier.now, lambda: 7_000)
    return set_offsets(HeldGroup(cast("Any", barrier), before), shown, journal, ends_at(200), clocks)


def test_an_undo_restores_the_offsets_committed_at_the_barrier() -> None:
    barrier, journalled = Barrier({A: 120}), list[GroupPlan]()

    def journal(shown: GroupPlan) -> None:
        assert not barrier.may_have_committed
        journalled.append(shown)

    result = set_by(barrier, plan(item(100, 40)), journal=journal)
    assert barrier.calls == ["committed", "commit", "hold", "hold", "commit", "committed", "release"]
    assert [one.items[0].committed for one in journalled] == [at(120)]
    assert result.plan == journalled[0]
    assert (result.found, result.failure) == ({A: at(40)}, None)


def test_what_a_judge_needs_is_recorded_when_the_members_are_released() -> None:
    """Who had what, how long they take, when they came; and a journal gives it back."""
    result = set_by(Barrier({A: 100, B: 100}, back=1), plan(item(100, 40), item(100, 40, B)))
    facts = result.facts
    assert facts is not None
    assert facts.partitions == {A: Rewound(40, 100, 200), B: Rewound(40, 100, 200)}
    one, two = facts.evicted
    assert (one.partitions, one.pace, one.session) == (frozenset({A}), 1.0, 6.0)
    assert (two.partitions, two.pace, two.session) == (frozenset({B}), 30.0, 45.0)
    assert facts.evicted_at == pytest.approx(-12.5)
    assert [(one.member.client_id, one.at) for one in facts.arrivals] == [("one", pytest.approx(-12))]
    assert [one.member.client_id for one in facts.attendance.away] == ["two"]
    assert facts_of(entry_of(facts)) == facts
    gone = facts.arrivals[0]._replace(unassigned_since=-11.0, left_at=-2.5)
    told = replace(facts, arrivals=(*facts.arrivals, gone))
    assert facts_of(entry_of(told)) == told


def test_members_with_unknown_partitions_may_have_had_all() -> None:
    """Somebody had joined between the look at the group and the eviction."""
    result = set_by(Barrier({A: 100}), plan(item(100, 40)), BeforeEviction(MEMBERS[:1]))
    assert result.facts is not None
    assert {one.partitions for one in result.facts.evicted} == {frozenset()}
    assert len(result.facts.attendance.of(A)) == 2


def test_a_group_is_held_until_what_its_members_have_in_hand_has_ended() -> None:
    assert hold_times([0.2, 1.5]).quiet == pytest.approx(5)
    assert hold_times([0.2, 60.0]).quiet == 12
    assert hold_times([]).since_eviction == 12
    assert hold_times([5.0], bound=4.0).since_eviction == 4


def test_where_nothing_was_unread_the_members_only_see_that_they_own_nothing() -> None:
    barrier = Barrier({A: 200})
    set_by(barrier, plan(item(200, 40)))
    assert barrier.now - barrier.arrival_log.evicted_at == pytest.approx(1.5)


def test_a_refused_partition_does_not_affect_the_rest() -> None:
    refused = BrokerError(12, "commit of a-0")
    result = set_by(Barrier({A: 100, B: 100}, answers={A: refused}), plan(item(100, 40), item(100, 40, B)))
    assert result.stored == {A: refused, B: None}
    assert result.facts is not None
    assert set(result.facts.partitions) == {B}


def test_no_member_has_read_beyond_the_log_end_at_the_owners_return() -> None:
    """The other one is away: it has noticed that it was sent out by a heartbeat, at the latest after 16 s."""
    barrier = Barrier({A: 100, B: 100}, back=1)
    began = barrier.now
    clocks = Clocks(lambda: barrier.now, lambda: 7_000)

    def grows(partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, 200 + round(100 * (barrier.now - began)))

    shown = plan(item(100, 40), item(100, 40, B))
    result = set_offsets(HeldGroup(cast("Any", barrier), KNOWN), shown, lambda _: None, grows, clocks)
    assert result.facts is not None
    ends = {tp: one.end for tp, one in result.facts.partitions.items()}
    assert ends[A] is not None
    assert ends[A] <= 300
    assert ends[B] is not None
    assert ends[B] >= 1_000


@pytest.mark.case("O15")
def test_the_barrier_is_always_released() -> None:
    lost = ConnectError("the connection broke")
    for call in ("committed", "commit", "hold"):
        barrier = Barrier({A: 100}, fails=(call, lost))
        if call == "committed":
            with pytest.raises(ConnectError):
                set_by(barrier, plan(item(100, 40)))
        else:
            result = set_by(barrier, plan(item(100, 40)))
            assert result.failure is lost
            assert result.facts is None
        assert barrier.calls[-1] == "release"


def test_an_evicted_barrier_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = MembershipError("another rewind is in progress", why="evicted")
    barrier = Barrier({A: 100}, fails=("seize", gone))
    monkeypatch.setattr("kcli.flows.rewind.barriers.ExternalBarrier", lambda *_args, **_options: barrier)
    admin = cast("Admin", Watching([{}], described()))
    log = cast("OffsetsLog", SimpleNamespace(history=lambda _group, _since: None))
    with (
        Barriers(admin, log, lambda **_options: cast("Any", None)) as barriers,
        pytest.raises(NotPossibleError, match="another rewind"),
    ):
        barriers.hold_group(plan(item(100, 40)))
    assert barrier.calls == ["seize", "release", "release"]


# --- a whole run -----------------------------------------------------------------------------------------


class Watching:
    """An admin client whose group continues from look to look; time passes only in ``sleep``.

    ``interrupts``: Ctrl-C in the sleep after so many looks.
    """

    def __init__(
        self, looks: list[Any], group: GroupDescription | KcliError, *, interrupts: int = -1, end: int = 300
    ) -> None:
        self.looks, self.group, self.time, self.end = looks, group, 0.0, end
        self.left: list[Sequence[OpenPartition]] = []
        self._interrupts = interrupts

    def fetch_offsets(self, wanted: dict[str, list[TopicPartition]]) -> dict[str, Any]:
        look = self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
        if isinstance(look, KcliError):
            return dict.fromkeys(wanted, look)
        return {group: {tp: at(look[tp]) for tp in partitions} for group, partitions in wanted.items()}

    def describe_groups(self, names: list[str]) -> dict[str, Any]:
        return dict.fromkeys(names, self.group)

    def list_offsets(self, wanted: dict[TopicPartition, int]) -> dict[TopicPartition, Any]:
        return {tp: OffsetInfo(self.end, -1, -1) for tp in wanted}

    def sleep(self, seconds: float) -> None:
        self._interrupts -= 1
        if self._interrupts == 0:
            raise KeyboardInterrupt
        self.time += seconds


def group_of(*names: str) -> GroupDescription:
    hosts = {"one": (HERE, A), "two": (THERE, B)}
    members = [
        MemberDescription(f"{name}-new", None, name, hosts[name][0], assignment=(hosts[name][1],))
        for name in names
    ]
    return GroupDescription("g", "classic", "Stable", "consumer", "range", 1, tuple(members))


def holding(hold_group: Callable[[GroupPlan], HeldGroup]) -> Barriers:
    return cast("Barriers", SimpleNamespace(descriptions={}, hold_group=hold_group))


def carried_out(
    root: Path,
    barrier: Barrier,
    admin: Watching,
    *items: RewindItem,
    bound: float | None = 90.0,
    session: int = 45_000,
) -> tuple[GroupReport, Journals, Watcher]:
    journals = Journals("c", root)
    watcher = Watcher(
        bound=bound,
        now=lambda: barrier.now + admin.time,
        sleep=admin.sleep,
        on_open=lambda left, _seconds: admin.left.append(left),
    )
    sessions = {**KNOWN.sessions, "two-id": session}
    before = replace(KNOWN, paces={A: Pace(1.0, 9), B: Pace(1.0, 9)}, sessions=sessions)
    held = HeldGroup(cast("Any", barrier), before)
    live = LiveRewind(holding(lambda _plan: held), watcher)
    whole = RewindPlan("c", (plan(*items),))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kcli.core.clock.monotonic", lambda: barrier.now)
        (report,) = execute(cast("Admin", admin), whole, journals, written=lambda _plan: None, live=live)
    return report, journals, watcher


def statuses(report: GroupReport) -> list[str]:
    return [outcome.status for outcome in report.outcomes]


def test_a_run_reports_held_keeps_its_journal_and_notes_it_there(tmp_path: Path) -> None:
    admin = Watching([{A: 60}], group_of("one", "two"))
    report, journals, _ = carried_out(tmp_path, Barrier({A: 110}), admin, item(100, 40))
    assert statuses(report) == ["held"]
    assert report.outcomes[0].item.committed == at(110)
    assert [offset for _, offset in report.outcomes[0].seen] == [60]
    assert report.kept
    (journal,) = journals.listed()[0]
    assert [row.status for row in journal.partitions] == ["held"]
    assert journal.live is not None
    assert [offset for _, offset in journal.live.partitions[0].commits] == [60]


def test_only_the_partitions_of_a_member_that_was_killed_stay_open(tmp_path: Path) -> None:
    """Until its session is over."""
    barrier, items = Barrier({A: 100, B: 100}, back=1), (item(100, 40), item(100, 40, B))
    admin = Watching([{A: 60, B: 40}], group_of("one"))
    report, _, _ = carried_out(tmp_path, barrier, admin, *items, bound=30.0)
    assert statuses(report) == ["held", "unknown"]
    assert [one.client_id for one in report.missing] == ["two"]
    assert {one.partition for left in admin.left[1:] for one in left} == {B}
    barrier = Barrier({A: 100, B: 100}, back=1)
    report, _, _ = carried_out(tmp_path, barrier, Watching([{A: 60, B: 60}], group_of("one")), *items)
    assert statuses(report) == ["held", "held"]


@pytest.mark.parametrize(
    ("session", "bound", "status", "longer"),
    [(120_000, None, "held", True), (120_000, 90.0, "unknown", False), (900_000, None, "unknown", False)],
)
def test_a_session_that_is_known_to_last_longer_is_waited_for_unless_a_limit_was_given(
    tmp_path: Path, session: int, bound: float | None, status: str, *, longer: bool
) -> None:
    admin = Watching([{A: 60, B: 60}], group_of("one"))
    items = (item(100, 40), item(100, 40, B))
    report, _, _ = carried_out(
        tmp_path, Barrier({A: 100, B: 100}, back=1), admin, *items, bound=bound, session=session
    )
    assert statuses(report) == ["held", status]
    assert (90.5 < admin.time < 121) == longer


@pytest.mark.parametrize(("bound", "seconds"), [(20.0, 20), (None, WATCH_SECONDS)])
def test_without_commits_it_watches_to_its_limit_and_exits_with_6(
    tmp_path: Path, bound: float | None, seconds: float
) -> None:
    admin = Watching([ConnectError("away"), {A: 40}], group_of("one", "two"))
    report, journals, _ = carried_out(tmp_path, Barrier({A: 100}), admin, item(100, 40), bound=bound)
    assert statuses(report) == ["unknown"]
    error = report.outcomes[0].error
    assert isinstance(error, NotProvenError)
    assert error.exit_code == 6
    assert f"no member has committed an offset for it in {seconds:.0f} s" in error.why
    assert error.do == "check it again with: kcli groups rewind g --check id"
    assert admin.time == pytest.approx(seconds)
    assert [row.status for row in journals.listed()[0][0].partitions] == ["unknown"]


def test_ctrl_c_ends_the_watch_and_reports_what_is_known(tmp_path: Path) -> None:
    admin = Watching([{A: 60, B: 40}], group_of("one", "two"), interrupts=3)
    items = (item(100, 40), item(100, 40, B))
    report, journals, watcher = carried_out(tmp_path, Barrier({A: 100, B: 100}), admin, *items)
    assert isinstance(watcher.interruption, KeyboardInterrupt)
    assert statuses(report) == ["held", "unknown"]
    assert [row.status for row in journals.listed()[0][0].partitions] == ["held", "unknown"]


def test_late_commits_before_the_release_are_overwritten(tmp_path: Path) -> None:
    barrier = Barrier({A: 110}, overwrites={A: 77})
    admin = Watching([{A: 77}], group_of("one", "two"))
    report, _, _ = carried_out(tmp_path, barrier, admin, item(100, 40))
    assert [(o.status, o.found) for o in report.outcomes] == [("overwritten", at(77))]
    assert report.kept


def test_an_end_in_between_leaves_nothing_known_but_the_journal(tmp_path: Path) -> None:
    barrier = Barrier({A: 110}, fails=("hold", ConnectError("the connection broke")))
    report, _, _ = carried_out(tmp_path, barrier, Watching([{A: 60}], group_of("one")), item(100, 40))
    assert statuses(report) == ["unknown"]
    assert report.outcomes[0].error is not None
    assert report.outcomes[0].error.exit_code == 3
    assert report.kept


def test_a_group_that_could_not_be_held_is_an_error_and_has_no_journal(tmp_path: Path) -> None:
    def refuse(_plan: GroupPlan) -> Any:
        raise NotPossibleError("group g could not be held")

    admin = Watching([{A: 60}], group_of("one"))
    journals = Journals("c", tmp_path)
    whole = RewindPlan("c", (plan(item(100, 40)),))
    watcher = Watcher(now=lambda: admin.time, sleep=admin.sleep)
    (report,) = execute(
        cast("Admin", admin),
        whole,
        journals,
        written=lambda _plan: None,
        live=LiveRewind(holding(refuse), watcher),
    )
    assert report.error is not None
    assert statuses(report) == ["refused"]
    assert not (journals.folder / "id.json").exists()
