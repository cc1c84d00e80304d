"""The longest time that members of a group take from one commit to the next: a batch in progress at the eviction is
committed within that time. Pure: ``LogTimes`` looks up when records were written.

Time counts from the previous commit, or from the rebalance after which a member began; and not before there were
records to read.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence

from kcli.core.classes import NamedTuple, dataclass
from kcli.core.cluster.offsets import OffsetInfo
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition
from kcli.flows.groups.group_history import GroupHistory

LogTimes = Callable[[Mapping[TopicPartition, int]], Mapping[TopicPartition, OffsetInfo | KcliError]]
"""The first record of each partition that is not older than a time (ms)."""

_LOOKED_AT = 3
"""For this many of a partition's longest gaps it is checked whether there were records to read."""
_ENOUGH = 2
"""Fewer gaps are not conclusive."""
_SHORT_MS = 1_000
"""A gap up to this length needs no check."""


class Gap(NamedTuple):
    """From ``begin`` to the commit at ``end`` (ms); ``offset`` is the previous commit, None if that is not known."""

    begin: int
    end: int
    offset: int | None

    @property
    def length(self) -> int:
        return self.end - self.begin


@dataclass(frozen=True, slots=True)
class Pace:
    """The longest ``seconds`` between two commits; ``gaps``: how many were seen."""

    seconds: float
    gaps: int

    @property
    def known(self) -> bool:
        """Whether enough gaps were seen to rely on."""
        return self.gaps >= _ENOUGH


def paces(
    history: GroupHistory, now_ms: int, log_times: LogTimes, ends: Mapping[TopicPartition, int]
) -> dict[TopicPartition, Pace]:
    """The pace of each partition that the group has committed. The time since the last commit counts, too.

    ``ends``: the log end offsets, where they are known.
    """
    found = {tp: sorted(gaps, key=lambda gap: -gap.length) for tp, gaps in _gaps(history, now_ms).items()}
    lengths = {tp: [gap.length for gap in gaps] for tp, gaps in found.items()}
    for rank in range(_LOOKED_AT):
        long = {
            tp: gaps[rank] for tp, gaps in found.items() if len(gaps) > rank and gaps[rank].length > _SHORT_MS
        }
        if not long:
            break
        found_at = log_times({tp: gap.begin for tp, gap in long.items()})
        for tp, gap in long.items():
            lengths[tp][rank] = _busy(gap, found_at.get(tp), ends.get(tp))
    return {tp: Pace(max(length, default=0) / 1000, len(length) - 1) for tp, length in lengths.items()}


def _gaps(history: GroupHistory, now_ms: int) -> dict[TopicPartition, list[Gap]]:
    found: dict[TopicPartition, list[Gap]] = {}
    last: dict[TopicPartition, tuple[int, int | None]] = {}
    changes = sorted(history.changes)
    for commit in history.commits:
        before = last.get(commit.partition)
        begin = _begin(before, commit.at, changes)
        if begin is not None and (
            before is None or before[1] != commit.offset
        ):  # committing the same offset again ends no batch
            gap = Gap(begin, commit.at, None if before is None else before[1])
            found.setdefault(commit.partition, []).append(gap)
        last[commit.partition] = (commit.at, commit.offset)
    for tp, (at, offset) in last.items():
        begin = _begin((at, offset), now_ms, changes)
        assert begin is not None
        found.setdefault(tp, []).append(Gap(begin, max(begin, now_ms), offset))
    return found


def _begin(before: tuple[int, int | None] | None, end: int, changes: Sequence[int]) -> int | None:
    """The previous commit, or the last membership change since; ``changes`` in order."""
    number = bisect_right(changes, end)
    since = changes[number - 1] if number else None
    if before is None:
        return since
    return min(end, before[0] if since is None else max(before[0], since))


def _busy(gap: Gap, first: OffsetInfo | KcliError | None, log_end: int | None) -> int:
    """For how much of a gap there were records to read, in ms; all of it where that is not known."""
    if not isinstance(first, OffsetInfo) or gap.offset is None:
        return gap.length
    if first.offset < 0:  # nothing was written since
        return 0 if log_end is not None and log_end <= gap.offset else gap.length
    if first.offset != gap.offset or first.timestamp < 0:
        return gap.length
    return max(0, gap.end - first.timestamp)
