"""Two rewinds of one group from two machines, interleaved at every step: never are both of them sure.

Each has its own journals, so no lock keeps them apart. The steps are the calls of the admin client and the pause before
the later look; time is the test's.
"""

import random
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, cast

import pytest

from kcli.core import Admin, clock
from kcli.core.admin.group_description import GroupDescription, MemberDescription
from kcli.core.admin.preceding import Preceding
from kcli.core.errors import KcliError, TimedOutError
from kcli.core.types import GroupPartition, OffsetAndMetadata, TopicPartition
from kcli.flows.rewind.execute import execute
from kcli.flows.rewind.journal import Journals
from kcli.flows.rewind.mark import marked, marked_by, own_metadata
from kcli.flows.rewind.outcomes import GroupReport, UnprovenError
from kcli.flows.rewind.plan import GroupPlan, RewindItem, RewindPlan

A, B, C = (TopicPartition("t", partition) for partition in range(3))
OLD = OffsetAndMetadata(50)
MEMBER = MemberDescription("m-1", None, "app", "/127.0.0.1")


class Coordinator:
    """The commits of group g. ``turn`` is entered around each call, with the machine that makes it."""

    def __init__(self, old: OffsetAndMetadata | None = OLD) -> None:
        self.commits: dict[TopicPartition, OffsetAndMetadata | None] = dict.fromkeys((A, B, C), old)
        self.members: tuple[MemberDescription, ...] = ()
        self.now = 0.0

    def machine(self, turn: Callable[[], AbstractContextManager[object]] = nullcontext) -> "Machine":
        return Machine(self, turn)


class Machine:
    """What one machine has of the admin client."""

    def __init__(self, coordinator: Coordinator, turn: Callable[[], AbstractContextManager[object]]) -> None:
        self._at, self._turn = coordinator, turn
        self.looks = 0
        self.fails_at_look = 0

    def describe_groups(self, names: list[str], *, all_types: bool = False) -> dict[str, Any]:
        with self._turn():
            state = "Stable" if self._at.members else "Empty"
            group = GroupDescription("g", "classic", state, "consumer", "range", 1, self._at.members)
            return dict.fromkeys(names, group)

    def fetch_offsets(
        self, wanted: dict[str, list[TopicPartition]], *, require_stable: bool = False, **_options: Any
    ) -> dict[str, Any]:
        with self._turn():
            self.looks += not require_stable
            if self.looks == self.fails_at_look and not require_stable:
                return dict.fromkeys(wanted, TimedOutError("gave up after 4 s"))
            return {
                group: {tp: self._at.commits[tp] for tp in partitions} for group, partitions in wanted.items()
            }

    def commit_offsets(
        self,
        wanted: dict[str, dict[TopicPartition, OffsetAndMetadata]],
        *,
        preceding: Preceding | None = None,
    ) -> dict[str, Any]:
        self._read_ahead(wanted, preceding)
        with self._turn():
            for offsets in wanted.values():
                self._at.commits.update(offsets)
            return self._stored(wanted, preceding)

    def delete_offsets(
        self, wanted: dict[str, list[TopicPartition]], *, preceding: Preceding | None = None
    ) -> dict[str, Any]:
        self._read_ahead(wanted, preceding)
        with self._turn():
            for partitions in wanted.values():
                self._at.commits.update(dict.fromkeys(partitions))
            return self._stored(wanted, preceding)

    def _read_ahead(self, wanted: Any, preceding: Preceding | None) -> None:
        with self._turn():
            for group, partitions in wanted.items():
                for tp in partitions:
                    if preceding is not None:
                        preceding.found[GroupPartition(group, tp)] = [self._at.commits[tp]]
                        preceding.begun[GroupPartition(group, tp)] = [self._at.now]

    def _stored(self, wanted: Any, preceding: Preceding | None) -> dict[str, Any]:
        if preceding is not None:
            preceding.answered |= dict.fromkeys(preceding.found, self._at.now)
        return {group: dict.fromkeys(partitions) for group, partitions in wanted.items()}


def plan_of(
    name: str, offset: int | None, *partitions: TopicPartition, old: OffsetAndMetadata | None = OLD
) -> GroupPlan:
    """As a survey makes it: what changes has the mark, unless there is metadata."""
    metadata = "" if old is None else old.metadata
    new = None if offset is None else marked(OffsetAndMetadata(offset, metadata), name)
    items = tuple(RewindItem(tp, old, new) for tp in partitions or (A, B))
    return GroupPlan("g", name, "an offset", "Empty", items)


def carry_out(
    machine: Machine, plan: GroupPlan, root: Path, sleep: Callable[[float], None] = lambda _seconds: None
) -> GroupReport:
    (report,) = execute(
        cast("Admin", machine),
        RewindPlan("c", (plan,)),
        Journals("c", root),
        written=lambda _plan: None,
        sleep=sleep,
    )
    return report


def sure(report: GroupReport) -> bool:
    """Whether the exit status would be 0."""
    return report.error is None and all(outcome.status == "verified" for outcome in report.outcomes)


class Turns:
    """Lets two threads take steps in an order that is drawn; a pause ends when its time has come."""

    def __init__(self, coordinator: Coordinator, rng: random.Random, longest: float) -> None:
        self._at, self._rng, self._longest = coordinator, rng, longest
        self._changed = threading.Condition()
        self._waiting: dict[str, float] = {}  # machine → not before
        self._running: str | None = None
        self._left = {"one", "two"}

    def step(self, name: str, not_before: float = 0.0) -> None:
        """Ends the step before; returns when it is this machine's turn."""
        with self._changed:
            self._waiting[name] = not_before
            self._running = None if self._running == name else self._running
            self._choose()
            self._changed.wait_for(lambda: self._running == name, 10)
            assert self._running == name

    def leave(self, name: str) -> None:
        with self._changed:
            self._left.discard(name)
            self._waiting.pop(name, None)
            self._running = None
            self._choose()

    def _choose(self) -> None:
        if self._running is None and self._left and set(self._waiting) >= self._left:
            name = self._rng.choice(sorted(self._left))
            self._at.now = max(self._at.now, self._waiting.pop(name)) + self._rng.uniform(0, self._longest)
            self._running = name
            self._changed.notify_all()


def both(
    coordinator: Coordinator, rng: random.Random, longest: float, plans: dict[str, GroupPlan], root: Path
) -> dict[str, GroupReport]:
    turns = Turns(coordinator, rng, longest)
    reports: dict[str, GroupReport] = {}
    errors: list[BaseException] = []

    def run(name: str) -> None:
        def turn() -> AbstractContextManager[object]:
            turns.step(name)
            return nullcontext()

        def sleep(seconds: float) -> None:
            turns.step(name, coordinator.now + seconds)

        try:
            turns.step(name)
            report = carry_out(coordinator.machine(turn), plans[name], root / name, sleep)
            reports[name] = report
            if sure(report):  # nobody else takes a step until this one has left
                assert all(coordinator.commits[item.tp] == item.new for item in plans[name].items)
        except BaseException as error:  # noqa: BLE001 - raised below
            errors.append(error)
        finally:
            turns.leave(name)

    threads = [threading.Thread(target=run, args=(name,)) for name in plans]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert errors == []
    return reports


@pytest.fixture
def coordinator(monkeypatch: pytest.MonkeyPatch) -> Coordinator:
    made = Coordinator()
    monkeypatch.setattr(clock, "monotonic", lambda: made.now)
    return made


@pytest.mark.parametrize("orders", [15, pytest.param(80, marks=pytest.mark.long)])
@pytest.mark.parametrize("longest", [0.05, 0.5, 2.5])
@pytest.mark.parametrize("second", [(3, A, B), (1, A, B), (3, B, C), (None, A, B)], ids=str)
def test_two_rewinds_are_never_both_sure_nor_is_a_mixture(
    coordinator: Coordinator, tmp_path: Path, longest: float, second: Any, orders: int
) -> None:
    """The same partitions or some of them, other offsets or none; quick machines, slow ones, some that stand still."""
    seen = set()
    for seed in range(orders):
        coordinator.commits = dict.fromkeys((A, B, C), OLD)
        plans = {"one": plan_of("id-1", 1), "two": plan_of("id-2", second[0], *second[1:])}
        reports = both(coordinator, random.Random(seed), longest, plans, tmp_path / str(seed))
        verdicts = {name: sure(report) for name, report in reports.items()}
        assert not all(verdicts.values()), (seed, coordinator.commits)
        seen.add(tuple(sorted(verdicts.items())))
    assert len(seen) > 1 or longest > 1  # quick ones are sure in some orders


def test_the_first_rewind_reports_the_commit_of_the_second(coordinator: Coordinator, tmp_path: Path) -> None:
    other = coordinator.machine()

    def another_rewind(_seconds: float) -> None:
        other.commit_offsets({"g": {A: marked(OffsetAndMetadata(1), "id-2")}})

    report = carry_out(coordinator.machine(), plan_of("id-1", 1), tmp_path, another_rewind)
    assert [outcome.status for outcome in report.outcomes] == ["overwritten", "verified"]
    assert marked_by(report.outcomes[0].found) == "id-2"
    assert report.kept


def test_metadata_of_an_application_has_no_mark_and_another_offset_is_seen_all_the_same(
    coordinator: Coordinator, tmp_path: Path
) -> None:
    old = OffsetAndMetadata(50, "of the application")
    coordinator.commits = dict.fromkeys((A, B), old)
    plan = plan_of("id-1", 1, old=old)
    assert [item.new for item in plan.items] == [OffsetAndMetadata(1, "of the application")] * 2

    def another_rewind(_seconds: float) -> None:
        coordinator.commits[B] = OffsetAndMetadata(3, "of the application")

    report = carry_out(coordinator.machine(), plan, tmp_path, another_rewind)
    assert [outcome.status for outcome in report.outcomes] == ["verified", "overwritten"]


def test_a_member_that_comes_at_once_and_reads_on_from_the_new_offset_is_no_other_rewind(
    coordinator: Coordinator, tmp_path: Path
) -> None:
    def member_comes(_seconds: float) -> None:
        coordinator.members = (MEMBER,)
        coordinator.commits = {A: OffsetAndMetadata(9), B: OffsetAndMetadata(0)}

    report = carry_out(coordinator.machine(), plan_of("id-1", 1), tmp_path, member_comes)
    assert [outcome.status for outcome in report.outcomes] == ["verified", "overwritten"]


def test_a_commit_without_members_is_another_one(coordinator: Coordinator, tmp_path: Path) -> None:
    def somebody_commits(_seconds: float) -> None:
        coordinator.commits[A] = OffsetAndMetadata(9)

    report = carry_out(coordinator.machine(), plan_of("id-1", 1), tmp_path, somebody_commits)
    assert [outcome.status for outcome in report.outcomes] == ["overwritten", "verified"]


def test_a_rewind_over_another_one_reports_and_journals_what_it_has_replaced(
    coordinator: Coordinator, tmp_path: Path
) -> None:
    theirs = marked(OffsetAndMetadata(7), "id-2")
    machine = coordinator.machine()
    read = machine._read_ahead

    def after_another_rewind(wanted: Any, preceding: Any) -> None:
        coordinator.commits[B] = theirs
        read(wanted, preceding)

    machine._read_ahead = after_another_rewind  # type: ignore[method-assign]
    report = carry_out(machine, plan_of("id-1", 1), tmp_path)
    assert [(one.status, one.replaced) for one in report.outcomes] == [
        ("verified", None),
        ("overwrote", theirs),
    ]
    assert (report.kept, report.done) == (True, 1)
    assert Journals("c", tmp_path).of("g").before == {A: OLD, B: theirs}


@pytest.mark.parametrize("later", ["same", "other"])
def test_a_commit_that_is_replaced_by_a_third_one_is_overwritten(
    coordinator: Coordinator, tmp_path: Path, later: str
) -> None:
    """What was replaced counts as long as the own commit stays; then what is there now."""
    machine = coordinator.machine()
    read = machine._read_ahead

    def after_another_rewind(wanted: Any, preceding: Any) -> None:
        coordinator.commits[A] = marked(OffsetAndMetadata(7), "id-2")
        read(wanted, preceding)

    def third(_seconds: float) -> None:
        if later == "other":
            coordinator.commits[A] = marked(OffsetAndMetadata(9), "id-3")

    machine._read_ahead = after_another_rewind  # type: ignore[method-assign]
    report = carry_out(machine, plan_of("id-1", 1), tmp_path, third)
    assert report.outcomes[0].status == ("overwrote" if later == "same" else "overwritten")


def test_a_rewind_paused_between_its_check_and_its_commit_is_uncertain(
    coordinator: Coordinator, tmp_path: Path
) -> None:
    machine = coordinator.machine()
    stored = machine._stored

    def late(wanted: Any, preceding: Any) -> Any:
        coordinator.now += 5.0
        return stored(wanted, preceding)

    machine._stored = late  # type: ignore[method-assign]
    report = carry_out(machine, plan_of("id-1", 1), tmp_path)
    assert [outcome.status for outcome in report.outcomes] == ["unknown"] * 2
    error = report.outcomes[0].error
    assert isinstance(error, UnprovenError)
    assert error.exit_code == 6
    assert "5.0 s passed" in error.why
    assert report.kept


def test_a_later_poll_that_fails_proves_nothing(coordinator: Coordinator, tmp_path: Path) -> None:
    machine = coordinator.machine()
    machine.fails_at_look = 3
    report = carry_out(machine, plan_of("id-1", 1), tmp_path)
    assert [type(outcome.error) for outcome in report.outcomes] == [UnprovenError] * 2


@pytest.mark.parametrize("new", [50, 1])
def test_only_rewinds_that_changed_something_are_checked_later(
    coordinator: Coordinator, tmp_path: Path, new: int
) -> None:
    pauses: list[float] = []
    machine = coordinator.machine()
    items = tuple(RewindItem(tp, OLD, OffsetAndMetadata(new)) for tp in (A, B))
    report = carry_out(machine, GroupPlan("g", "id-1", "an offset", "Empty", items), tmp_path, pauses.append)
    assert sure(report)
    assert (pauses, machine.looks) == (([1.5], 3) if new == 1 else ([], 2))


def test_a_group_that_changed_since_its_plan_has_no_journal(coordinator: Coordinator, tmp_path: Path) -> None:
    coordinator.commits[B] = marked(OffsetAndMetadata(7), "id-2")
    report = carry_out(coordinator.machine(), plan_of("id-1", 1), tmp_path)
    assert isinstance(report.error, KcliError)
    assert "7 (set by rewind id-2)" in report.error.why
    assert not list(tmp_path.glob("**/*.json"))


def test_a_mark_is_put_into_empty_metadata_only_and_read_again() -> None:
    commit = OffsetAndMetadata(5, "", 3)
    assert marked(commit, "id-1") == OffsetAndMetadata(5, "kcli-rewind=id-1", 3)
    assert marked_by(marked(commit, "id-1")) == "id-1"
    assert own_metadata(marked(commit, "id-1")) == ""
    own = OffsetAndMetadata(5, "of the application", 3)
    assert (marked(own, "id-1"), marked_by(own), own_metadata(own)) == (own, None, own.metadata)
    assert marked_by(None) is None
