"""What a run of a mirror did, and what of it failed. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kcli.account.outcomes import GOOD, Outcome
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.names import group_shown
from kcli.core.types import TopicPartition
from kcli.flows.mirror.acl_plan import AclAccount
from kcli.flows.mirror.group_offsets import GroupsAccount, SyncedOffset
from kcli.flows.mirror.partition_copy import Gap, PartitionCopy
from kcli.flows.mirror.routes import is_pattern
from kcli.flows.mirror.survey import Survey
from kcli.flows.mirror.verify import Comparison

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
    """What a run did. ``seconds``: of the copy. ``ends``: of the source's partitions, where they are known. ``acls``:
    None where they are not synced.
    """

    job: str
    survey: Survey
    copies: Sequence[PartitionCopy]
    comparisons: Sequence[Comparison]
    synced: GroupsAccount
    seconds: float
    ends: Mapping[TopicPartition, int]
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
            if not one.equal:
                yield _mismatch(one)


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


def _mismatch(one: Comparison) -> KcliError:
    """Of a comparison that is not equal."""
    if one.error is not None:
        return one.error
    source, target = one.pair.source.tp, one.pair.target.tp
    if one.difference is None:
        return MismatchError(
            f"{source} of the source and {target} of the target were not compared to their end",
            why="the comparison was stopped, or one side could not be read",
            do="run it again with --verify-only",
        )
    here, there = one.difference.source_offset, one.difference.target_offset
    at = f"source offset {here}" if here is not None else f"target offset {there}"
    both = f", target offset {there}" if here is not None and there is not None else ""
    return MismatchError(
        f"{source} of the source and {target} of the target differ from {at}{both} on",
        why=one.difference.what,
        do="find out what else writes to the target; `kcli consume TOPIC -p N --offset SPEC` shows both records",
    )
