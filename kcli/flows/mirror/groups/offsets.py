"""What becomes of a group's committed offset on the target: the decisions before a commit, and after it. Pure.

A translation is exact or there is none. The mirror moves no offset but those that it made: what anybody else has
committed for the group on the target is left alone, since its consumers have moved over. Which offsets it made is in the
state of the job, as the metadata of a commit belong to the group. While consumers of the group are connected to the
target, its coordinator refuses a commit of somebody else.
"""

from collections.abc import Sequence
from typing import Any

from kcli.account.change import is_lost
from kcli.account.outcomes import Outcome
from kcli.account.survey import Missing
from kcli.core.classes import NamedTuple
from kcli.core.error_codes import (
    ILLEGAL_GENERATION,
    REBALANCE_IN_PROGRESS,
    STALE_MEMBER_EPOCH,
    UNKNOWN_MEMBER_ID,
)
from kcli.core.errors import BrokerError, KcliError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.mirror.copy.offset_map import OffsetMap, Unknown
from kcli.flows.mirror.job.state import GroupCommit

_HAS_MEMBERS = frozenset({UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH, ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS})
_TAKE_BACK = "if the mirror is to set it again, delete the offset of the group on the target"


class Mapped(NamedTuple):
    """The target of a partition and its offset map; None where partitions are chosen by key. ``topic_id``: of the target,
    in Kafka's text form; an offset is committed for no other topic of its name. ``source_end``: the end of the source
    as it was seen last, −1 where it is not known.
    """

    target: TopicPartition
    offsets: OffsetMap | None
    topic_id: str = ""
    source_end: int = -1


class Verdict(NamedTuple):
    """What becomes of an offset, and why; ``do`` is a remedy. ``offset``: of the target, None where it is not known."""

    status: Outcome
    offset: int | None = None
    why: str = ""
    do: str = ""


class SyncedOffset(NamedTuple):
    """An offset that a group has committed, or what was asked for and is not there.

    ``source`` and ``target`` are None for a group of which no offset could be read, and where ``group`` is the pattern
    that selects none. ``source_offset`` is the group's, ``verdict.offset`` the one on the target that corresponds to it.
    ``synced_at``: when it was set or found there, milliseconds since the epoch; None for never.
    """

    group: str
    source: TopicPartition | None
    target: TopicPartition | None
    source_offset: int | None
    verdict: Verdict
    synced_at: int | None = None

    @property
    def status(self) -> Outcome:
        """See ``Verdict``."""
        return self.verdict.status


class GroupsAccount(NamedTuple):
    """What became of all that was asked for. ``missing``: lists of groups that lack parts, so that patterns may have
    selected too few.
    """

    offsets: Sequence[SyncedOffset] = ()
    missing: Sequence[Missing] = ()

    def count(self, status: Outcome) -> int:
        """How many offsets have this status."""
        return sum(one.status is status for one in self.offsets)

    @property
    def text(self) -> str:
        """``12 of 14 committed offsets set, 2 refused``."""
        total = len(self.offsets)
        rest = (Outcome.UNCHANGED, Outcome.REFUSED, Outcome.MISSING, Outcome.FAILED, Outcome.UNKNOWN)
        others = [f"{count:,} {status}" for status in rest if (count := self.count(status))]
        first = f"{self.count(Outcome.DONE):,} of {total:,} committed offset{'' if total == 1 else 's'} set"
        return ", ".join([first, *others])


NOTHING_SYNCED = GroupsAccount()


def group_row(one: SyncedOffset) -> dict[str, Any]:
    """The values of an offset in reports."""
    source, target = one.source, one.target
    return {
        "group": one.group,
        "topic": source.topic if source else None,
        "partition": source.partition if source else None,
        "target": target.topic if target else None,
        "source_offset": one.source_offset,
        "target_offset": one.verdict.offset,
        "status": str(one.status),
        "why": one.verdict.why or None,
        "synced_at": one.synced_at,
    }


def decide(
    offset: int, mapped: Mapped, log_start: int, there: int | None, known: GroupCommit | None
) -> Verdict:
    """What to do about ``offset``, committed on the source: PLANNED where it is to be committed on the target.

    ``there`` is what the group has committed on the target, ``known`` what the job remembers, ``log_start`` that of the
    target's partition.
    """
    translated = translation(offset, mapped)
    if translated.offset is None:
        return translated
    at = translated.offset
    if at < log_start:
        return Verdict(
            Outcome.REFUSED, at, f"offset {at} was removed on the target: its log begins at {log_start}"
        )
    if there is None:
        return translated
    if there == at:
        return Verdict(Outcome.UNCHANGED, at, "it is committed already")
    if known is None or not known.made:  # of another tool, or of a version that kept no record
        return translated if there < at else _later(at, there)
    if there in known.made:
        return translated
    if there > at >= max(known.made):
        return _later(at, there)
    return Verdict(
        Outcome.REFUSED,
        at,
        f"its consumers have moved over: offset {there} was committed on the target after the mirror's {known.made[-1]}",
        _TAKE_BACK,
    )


def translation(offset: int, mapped: Mapped) -> Verdict:
    """PLANNED with the offset of the target, or why there is none."""
    if mapped.offsets is None:
        return Verdict(Outcome.REFUSED, why="its records went to partitions by key")
    found = mapped.offsets.translate(offset)
    if not isinstance(found, Unknown):
        return Verdict(Outcome.PLANNED, found)
    if offset > mapped.source_end == mapped.offsets.position:
        why = f"all is copied up to offset {mapped.source_end}, the end of the source when it was seen last"
        return Verdict(Outcome.MISSING, why=why)
    if offset > mapped.offsets.position:
        return Verdict(Outcome.MISSING, why=found.why, do="run it again when more is copied")
    return Verdict(Outcome.REFUSED, why=f"{found.why}, and what is before it was not copied")


def _later(at: int, there: int) -> Verdict:
    return Verdict(
        Outcome.UNCHANGED, at, f"the group has committed offset {there} on the target, which is later"
    )


def remembered(
    seen: OffsetAndMetadata, verdict: Verdict, there: int | None, known: GroupCommit | None, now: int
) -> GroupCommit:
    """What the job is to know of an offset before it is committed; ``known`` is what it knew. ``now``: milliseconds.

    An offset that replaces another is kept beside it until it is found on the target: the commit may be refused.
    """
    made, at = (known.made, known.made_ms) if known is not None else ((), -1)
    if verdict.status is Outcome.PLANNED and verdict.offset is not None:
        made, at = (verdict.offset,) if there is None else (there, verdict.offset), now
    elif there is not None and there == verdict.offset and (not made or (there in made and len(made) > 1)):
        made, at = (there,), now
    return GroupCommit(seen.offset, seen.metadata, made, at)


def settle(planned: Verdict, answer: KcliError | None, back: OffsetAndMetadata | KcliError | None) -> Verdict:
    """What became of a commit: ``answer`` is the broker's, ``back`` what was read afterwards, which decides where the
    answer was lost.
    """
    at = planned.offset
    assert at is not None
    if isinstance(answer, BrokerError) and answer.code in _HAS_MEMBERS:
        return Verdict(
            Outcome.REFUSED,
            at,
            "the group has members on the target, which commit themselves",
            "stop them, if they are not to continue there",
        )
    if answer is not None and not is_lost(answer):
        return failed(answer, at)
    if isinstance(back, KcliError):
        return failed(answer or back, at, Outcome.UNKNOWN)
    if back is not None and back.offset == at:
        return Verdict(Outcome.DONE, at)
    read = "no offset" if back is None else f"offset {back.offset}"
    if answer is not None:
        return Verdict(Outcome.UNKNOWN, at, f"{answer}; {read} was read back", answer.do)
    if back is not None and back.offset > at:
        return Verdict(Outcome.DONE, at, f"the group has committed offset {back.offset} since")
    return Verdict(Outcome.FAILED, at, f"{read} was read back")


def failed(error: KcliError, at: int | None = None, status: Outcome = Outcome.FAILED) -> Verdict:
    """The verdict where an error stands against it."""
    return Verdict(status, at, str(error), error.do)
