"""What a run of a mirror did, and what of it failed. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from kcli.account.outcomes import GOOD, Outcome
from kcli.account.survey import Missing
from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.names import group_shown
from kcli.flows.mirror.copy.errors import may_pass, moved_back
from kcli.flows.mirror.copy.partition_copy import Gap, PartitionCopy
from kcli.flows.mirror.topics.routes import is_pattern
from kcli.flows.mirror.topics.survey import Survey
from kcli.output.progress import counted

if TYPE_CHECKING:
    from kcli.flows.mirror.acls.plan import AclAccount
    from kcli.flows.mirror.groups.offsets import GroupsAccount, SyncedOffset
    from kcli.flows.mirror.job.state import SavedGap
    from kcli.flows.mirror.proof.compare import Comparison

_MOST_NAMED = 3


class MismatchError(KcliError):
    """Source and target are not equal."""

    exit_code = ExitCode.CHECK


class GapsError(KcliError):
    """Some records of the source could not be copied, which was accepted."""

    exit_code = ExitCode.PARTLY


class NotSyncedError(KcliError):
    """The offset of a group is not on the target."""

    exit_code = ExitCode.PARTLY


class Result(NamedTuple):
    """What a run did. ``seconds``: of the copy. ``acls``: None where they are not synced."""

    job: str
    survey: Survey
    copies: Sequence[PartitionCopy]
    comparisons: Sequence[Comparison]
    synced: GroupsAccount
    seconds: float
    acls: AclAccount | None = None

    @property
    def done(self) -> bool:
        """Whether anything was copied, is proved to be equal, or is an offset that is as it was asked for."""
        return (
            any(copy.records for copy in self.copies)
            or any(one.equal for one in self.comparisons)
            or any(one.status in GOOD for one in self.synced.offsets)
        )

    def failures(self) -> Iterator[KcliError]:
        """What failed of the copy and of the proof, partition by partition."""
        errors: list[KcliError] = []
        for copy in self.copies:
            if copy.error is not None and copy.error not in errors:  # partitions of a topic may share one
                errors.append(copy.error)
                yield copy.error
            yield from map(_gap, copy.gaps)
        for one in self.comparisons:
            yield from mismatches(one)


class NotSynced(NamedTuple):
    """Partitions of a group, or all of it, that have the same status for the same cause."""

    group: str
    status: Outcome
    partitions: str
    error: NotSyncedError


def not_synced(offsets: Iterable[SyncedOffset]) -> list[NotSynced]:
    """What of these is not as it was asked for."""
    causes: dict[tuple[str, Outcome, str], list[SyncedOffset]] = {}
    for one in offsets:
        if one.status not in GOOD:
            causes.setdefault((one.group, one.status, one.verdict.why), []).append(one)
    return [
        NotSynced(group, status, _places(some), _not_synced(group, status, some))
        for (group, status, _), some in causes.items()
    ]


def _places(some: Sequence[SyncedOffset]) -> str:
    named = ", ".join(str(one.source) for one in some[:_MOST_NAMED] if one.source is not None)
    return f"{named} and {len(some) - _MOST_NAMED:,} more" if len(some) > _MOST_NAMED else named


def _not_synced(group: str, status: Outcome, some: Sequence[SyncedOffset]) -> NotSyncedError:
    first = some[0]
    shown = group_shown(group)
    place = f"group {shown}, {_places(some)}"
    if first.source is None:
        what = f"{'groups' if is_pattern(group) else 'group'} {shown}: no offset was set"
    elif status is Outcome.MISSING and first.verdict.offset is not None:  # of an earlier look at the source
        what = f"{place}: no offset was set now"
    else:
        ended = "may have been set or not" if status is Outcome.UNKNOWN else "was not set"
        what = f"{place}: offset {first.source_offset} {ended}"
        if len(some) > 1:
            what = f"{place}: offsets {ended.replace('was', 'were')}"
    return NotSyncedError(what, why=first.verdict.why, do=first.verdict.do)


def _gap(gap: Gap) -> KcliError:
    return GapsError(
        f"{gap.tp}: offsets {gap.first} to {gap.stop - 1} were not copied",
        why=gap.why,
        do="run the mirror more often than the source deletes records, or keep them longer there",
    )


def unread(comparisons: Iterable[Comparison]) -> list[Missing]:
    """The partitions that could not be read now, and may be later: their leader is away, or a transaction is open."""
    return [
        Missing.of(one.error, str(one.pair.source.tp))
        for one in comparisons
        if one.error is not None and may_pass(one.error)
    ]


def mismatches(
    one: Comparison, gaps: Sequence[SavedGap] = (), *, to_end: bool = False
) -> Iterator[KcliError]:
    """Why a comparison is no proof; nothing for what ``unread`` has. ``gaps``: those that the job has recorded.
    ``to_end``: all of the source had to be copied.
    """
    source, target = one.pair.source.tp, one.pair.target.tp
    if one.error is not None:
        if not may_pass(one.error):
            yield one.error
        return
    if one.difference is None and not one.finished:
        yield MismatchError(
            f"{source} of the source and {target} of the target were not compared to their end",
            why="the comparison was stopped, or one side could not be read",
            do="run it again with --verify-only",
        )
        return
    if one.deleted:
        yield MismatchError(
            f"{target} of the target lacks {counted(one.deleted, 'record')} that were copied to it",
            why=f"the target's retention deleted them; the source still has them, before offset {one.pair.source.start}"
            if not one.by_key
            else "the target's retention deleted them; the source still has them",
            do="set retention.ms and retention.bytes of the target as on the source; what was deleted stays a difference",
        )
    if one.difference is not None:
        yield _difference(one, gaps)
    if to_end and one.held_source:
        stable = one.pair.source_end if one.pair.offsets is not None else one.pair.source.stop
        yield MismatchError(
            f"{source} of the source: {counted(one.held_source, 'offset')} from {stable} on were not compared",
            why="an open transaction holds them back: they were not copied either",
            do="`kcli txn list` finds the transaction",
        )


def _difference(one: Comparison, gaps: Sequence[SavedGap]) -> KcliError:
    source, target, first = one.pair.source.tp, one.pair.target.tp, one.difference
    assert first is not None
    here, there = first.source_offset, first.target_offset
    at = f"source offset {here}" if here is not None else f"target offset {there}"
    both = f", target offset {there}" if here is not None and there is not None else ""
    differ = f" differ from {at}{both} on" if here is not None or there is not None else " differ"
    unit = ("key", "keys") if one.by_key else ("record", "records")
    least = "" if one.counted else "at least "
    count = "" if one.different == 1 else f"; {least}{counted(one.different, *unit)} differ"
    do = "find out what else writes to the target; `kcli consume TOPIC -p N --offset SPEC` shows both records"
    gap = next((gap for gap in gaps if here is not None and gap.first <= here <= gap.last), None)
    if one.not_copied == one.different:
        do = "run the mirror: it has not copied what follows its position"
    elif gap is not None and first.lacking == "target":
        count += f"; offsets {gap.first} to {gap.last} are a gap of the job: {gap.why}"
        do = moved_back(source.topic)
    return MismatchError(
        f"{source} of the source and {target} of the target{differ}", why=f"{first.what}{count}", do=do
    )
