"""A plan carried out against a stand-in for the admin client: what is reported, and whether a journal is kept."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from kcli.core import Admin
from kcli.core.admin.group_description import GroupDescription
from kcli.core.admin.preceding import Preceding
from kcli.core.errors import BrokerError, KcliError, MembershipError, OutcomeUnknownError, TimedOutError
from kcli.core.group.barrier.arrivals import ArrivalLog
from kcli.core.types import GroupPartition, OffsetAndMetadata, TopicPartition
from kcli.flows.rewind.barriers import Barriers
from kcli.flows.rewind.execute import LiveRewind, execute
from kcli.flows.rewind.journal import Journals
from kcli.flows.rewind.judge import UNKNOWN, PartitionVerdict
from kcli.flows.rewind.live import HeldGroup
from kcli.flows.rewind.outcomes import GroupReport, UnprovenError
from kcli.flows.rewind.plan import GroupPlan, RewindItem, RewindPlan
from kcli.flows.rewind.remarks import overwrote_error
from kcli.flows.rewind.text import not_recorded_text
from kcli.flows.rewind.watching import GroupWatch, WatchedGroup

A = TopicPartition("a", 0)
OLD, NEW, OTHER = OffsetAndMetadata(7), OffsetAndMetadata(1), OffsetAndMetadata(5)
SILENT = TimedOutError("gave up after 4 s", why="no answer in time")
LOST = OutcomeUnknownError("the connection broke")
REFUSED = BrokerError(28, "committing the offset of a-0")


class StandIn:
    """One group. ``stored`` is what a commit is answered with; ``found`` what is read back after it."""

    def __init__(self, stored: KcliError | None, found: OffsetAndMetadata | KcliError | None) -> None:
        self._stored, self._found = stored, found
        self.before: list[OffsetAndMetadata | KcliError | None] = [OLD]
        self.begun = [0.0]
        self._committed = False

    def describe_groups(self, names: list[str], *, all_types: bool = False) -> dict[str, Any]:
        return {name: GroupDescription(name, "classic", "Empty", "consumer", "", 1) for name in names}

    def fetch_offsets(self, wanted: dict[str, list[TopicPartition]], **_options: Any) -> dict[str, Any]:
        found = self._found if self._committed else OLD
        return {group: dict.fromkeys(partitions, found) for group, partitions in wanted.items()}

    def commit_offsets(
        self, wanted: dict[str, dict[TopicPartition, OffsetAndMetadata]], *, preceding: Preceding
    ) -> dict[str, Any]:
        self._committed = True
        for group, places in wanted.items():
            for key in (GroupPartition(group, tp) for tp in places):
                preceding.found[key], preceding.begun[key] = self.before, self.begun
                preceding.answered[key] = self.begun[-1]
        return {group: dict.fromkeys(places, self._stored) for group, places in wanted.items()}


def carried_out(
    root: Path,
    stored: KcliError | None,
    found: OffsetAndMetadata | KcliError | None,
    new: OffsetAndMetadata = NEW,
    before: Sequence[tuple[float, OffsetAndMetadata | KcliError | None]] = ((0.0, OLD),),
) -> tuple[GroupReport, bool]:
    """The report, and whether there is a journal afterwards. ``before``: what each attempt has found, and when."""
    journals = Journals("c", root)
    plan = RewindPlan("c", (GroupPlan("g", "id", "offset 1", "Empty", (RewindItem(A, OLD, new),)),))
    admin = StandIn(stored, found)
    admin.begun, admin.before = [at for at, _ in before], [one for _, one in before]
    (report,) = execute(
        cast("Admin", admin), plan, journals, written=lambda _plan: None, sleep=lambda _seconds: None
    )
    return report, (journals.folder / "id.json").exists()


@pytest.mark.parametrize(
    ("stored", "found", "status", "kept"),
    [
        (None, NEW, "verified", True),
        (None, OffsetAndMetadata(1, "", 9), "verified", True),
        (None, OTHER, "overwritten", True),
        (None, None, "overwritten", True),
        (None, SILENT, "unknown", True),
        (SILENT, NEW, "verified", True),
        (SILENT, OLD, "unknown", True),
        (LOST, OTHER, "unknown", True),
        (SILENT, SILENT, "unknown", True),
        (REFUSED, OLD, "failed", False),
        (REFUSED, OTHER, "failed", True),
        (REFUSED, SILENT, "failed", True),
    ],
)
def test_what_is_reported_was_seen(
    stored: KcliError | None,
    found: OffsetAndMetadata | KcliError | None,
    status: str,
    kept: bool,
    tmp_path: Path,
) -> None:
    report, there = carried_out(tmp_path, stored, found)
    (outcome,) = report.outcomes
    assert outcome.status == status
    assert (report.kept, there) == (kept, kept)
    if status == "unknown":
        assert outcome.error is not None
        assert "--undo takes it back" in outcome.error.do


MARKED = OffsetAndMetadata(1, "kcli-rewind=id")


@pytest.mark.parametrize(
    ("found", "status", "lost"),
    [
        (MARKED, "verified", None),
        (OffsetAndMetadata(1), "verified", MARKED),
        (OffsetAndMetadata(1, "", 9), "verified", MARKED),
        (OffsetAndMetadata(1, "kcli-rewind=another"), "overwritten", None),
        (OffsetAndMetadata(1, "by hand"), "overwritten", None),
        (OffsetAndMetadata(5), "overwritten", None),
        (OLD, "overwritten", None),
    ],
)
def test_an_offset_that_is_there_without_its_metadata_was_not_overwritten(
    found: OffsetAndMetadata, status: str, lost: OffsetAndMetadata | None, tmp_path: Path
) -> None:
    report, _ = carried_out(tmp_path, None, found, new=MARKED)
    (outcome,) = report.outcomes
    assert (outcome.status, outcome.without_metadata) == (status, lost)


@pytest.mark.parametrize(
    ("before", "status"),
    [
        ([(0.0, OLD)], "verified"),
        ([(0.0, MARKED)], "verified"),
        ([(0.0, OLD), (0.5, MARKED)], "verified"),
        ([(0.0, OLD), (3.0, MARKED)], "unknown"),
        ([(0.0, OLD), (3.0, OLD)], "verified"),
        ([(0.0, REFUSED), (3.0, OLD)], "verified"),
        ([(0.0, LOST), (0.5, OLD)], "verified"),
        ([(0.0, LOST), (0.5, MARKED)], "unknown"),
        ([(0.0, OLD), (0.2, LOST), (0.5, MARKED)], "unknown"),
        ([(0.0, OLD), (0.5, LOST)], "unknown"),
        ([(0.0, LOST), (0.2, OLD), (0.5, MARKED)], "verified"),
        ([(0.0, LOST), (0.5, OTHER)], "overwrote"),
    ],
)
def test_what_an_attempt_may_have_replaced_is_what_its_read_has_shown(
    before: Sequence[tuple[float, OffsetAndMetadata | KcliError | None]], status: str, tmp_path: Path
) -> None:
    """An attempt whose responses are lost may be carried out, over a commit that nobody has seen."""
    report, _ = carried_out(tmp_path, None, MARKED, new=MARKED, before=before)
    (outcome,) = report.outcomes
    assert outcome.status == status
    assert (status == "unknown") == isinstance(outcome.error, UnprovenError)


def test_a_rewind_that_changes_nothing_leaves_the_journal_of_the_one_before_the_newest(
    tmp_path: Path,
) -> None:
    report, there = carried_out(tmp_path, None, OLD, new=OLD)
    assert report.outcomes[0].status == "verified"
    assert (report.kept, there) == (False, False)


def test_what_is_replaced_is_named_where_the_journal_cannot_have_it(tmp_path: Path) -> None:
    journals = NoRoom("c", tmp_path)
    admin = StandIn(None, NEW)
    admin.before = [OTHER]
    plan = RewindPlan("c", (GroupPlan("g", "id", "offset 1", "Empty", (RewindItem(A, OLD, NEW),)),))
    (report,) = execute(
        cast("Admin", admin), plan, journals, written=lambda _plan: None, sleep=lambda _seconds: None
    )
    assert [one.status for one in report.outcomes] == ["overwrote"]
    assert journals.of("g").before == {A: OLD}
    assert "not those that were replaced" in not_recorded_text(report)
    error = overwrote_error(report)
    assert error is not None
    assert "but the commit has replaced 5" in error.why
    assert "--undo" not in error.do


class Evicted:
    """Holds a group until its journal is written; then it has another barrier."""

    may_have_committed = False

    def committed(self, partitions: list[TopicPartition], _timeout: float) -> dict[TopicPartition, Any]:
        return dict.fromkeys(partitions, OLD)

    def commit(self, _offsets: object, _timeout: float) -> Any:
        raise MembershipError("the group has another barrier")

    def release(self) -> None: ...


class Held(Evicted):
    """Holds a group while its offsets are set."""

    may_have_committed = False

    def __init__(self) -> None:
        self.arrival_log = ArrivalLog(keeps_id=False)

    def committed(self, partitions: list[TopicPartition], _timeout: float) -> dict[TopicPartition, Any]:
        return dict.fromkeys(partitions, NEW if self.may_have_committed else OLD)

    def commit(self, offsets: dict[TopicPartition, Any], _timeout: float) -> Any:
        self.may_have_committed = True
        return dict.fromkeys(offsets)

    def hold(self, *_args: object, **_options: object) -> int:
        return 0


def holding(barrier: Evicted) -> Barriers:
    """Holds any group with this barrier."""
    held = HeldGroup(cast("Any", barrier))
    return cast("Barriers", SimpleNamespace(descriptions={}, hold_group=lambda _plan: held))


class Unsure:
    """Watches a group, and cannot tell what became of it."""

    bound = 2.0

    def watch(self, _admin: object, groups: list[WatchedGroup]) -> dict[str, GroupWatch]:
        return {one.group: GroupWatch({A: PartitionVerdict(UNKNOWN, ())}, 2.0) for one in groups}


class NoRoom(Journals):
    """Takes the first so many files; then the disk is full."""

    room = 1

    def put(self, journal_id: str, journal: msgspec.Struct) -> Path:
        self.room -= 1
        if self.room < 0:
            raise OSError(28, "No space left on device")
        return super().put(journal_id, journal)


@pytest.mark.parametrize("room", [1, 2, 3])
def test_a_journal_that_cannot_be_updated_after_the_commits_does_not_make_them_undone(
    tmp_path: Path, room: int
) -> None:
    """1: nothing of the members is in it; 2: what --check needs is; 3: everything is."""
    journals = NoRoom("c", tmp_path)
    journals.room = room
    plan = GroupPlan("g", "id", "offset 1", "Stable", (RewindItem(A, OLD, NEW),), live=True)
    admin = StandIn(None, OLD)
    admin.list_offsets = lambda _wanted: {}  # type: ignore[attr-defined]
    (report,) = execute(
        cast("Admin", admin),
        RewindPlan("c", (plan,)),
        journals,
        written=lambda _plan: None,
        live=LiveRewind(holding(Held()), cast("Any", Unsure())),
    )
    (outcome,) = report.outcomes
    assert (report.error, report.kept, outcome.status) == (None, True, "unknown")
    assert outcome.error is not None
    assert ("--check" in outcome.error.do) == (room > 1)
    assert journals.of("g").before == {A: OLD}, "--undo has what it needs"
    assert (journals.of("g").live is not None) == (room > 1)
    if room == 3:
        assert report.journal_error is None
        return
    said = not_recorded_text(report)
    assert "group g: its offsets were set, but the outcome is not in the journal" in said
    assert "no space left" in said
    assert ("--check can still judge" in said) == (room > 1)
    assert "for --undo" in said


class Nobody:
    """Watches no group."""

    def watch(self, _admin: object, groups: list[object]) -> dict[str, Any]:
        assert groups == []
        return {}


def test_a_live_rewind_that_is_refused_after_its_journal_was_written_leaves_none(tmp_path: Path) -> None:
    """Else its --undo would be the newest one, of a rewind that was none."""
    journals, written = Journals("c", tmp_path), list[GroupPlan]()
    plan = GroupPlan("g", "id", "offset 1", "Stable", (RewindItem(A, OLD, NEW),), live=True)
    (report,) = execute(
        cast("Admin", StandIn(None, OLD)),
        RewindPlan("c", (plan,)),
        journals,
        written=written.append,
        live=LiveRewind(holding(Evicted()), cast("Any", Nobody())),
    )
    assert [one.id for one in written] == ["id"]
    assert report.error is not None
    assert not (journals.folder / "id.json").exists()
