"""The lag of a group by column, for the common case: every commit lies within its log, no lag in time requested. Pure.

Most groups of a cluster are like that. Rows are created only on iteration.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from operator import sub
from typing import TYPE_CHECKING, Any, TypeVar

from kcli.core.admin.commit_columns import CommitColumns, TopicPartitions
from kcli.core.classes import NamedTuple, dataclass
from kcli.core.types import TopicPartition
from kcli.flows.groups.description import SHARE, assigned
from kcli.flows.groups.offsets import LogEnds
from kcli.flows.lag.partition_lag import READ, UNKNOWN, PartitionLag
from kcli.flows.lag.sample import GroupSample
from kcli.output.tables import Field

if TYPE_CHECKING:  # loaded where groups are described
    from kcli.core.admin.group_description import GroupDescription, MemberDescription

T = TypeVar("T")


class Logs(NamedTuple):
    """Partitions that several groups share, with the names and the bounds of their logs, by column."""

    partitions: TopicPartitions
    topics: list[str]
    numbers: list[int]
    starts: list[int]
    ends: list[int]
    stable: list[int]
    highest_start: int


@dataclass(slots=True, eq=False, repr=False)
class LagColumns(Collection[PartitionLag]):
    """A group's rows. Each attribute of a ``PartitionLag`` is a sequence in the order of ``logs`` here, or one value that
    all rows have.
    """

    group: str
    logs: Logs
    committed: Sequence[int]
    lag: list[int]
    description: GroupDescription | None
    type: str = ""
    _members: list[MemberDescription | None] | None = None
    margin = None
    lost = 0
    note = ""
    at_risk = False
    judged = True

    @property
    def tp(self) -> TopicPartitions:
        """The partitions."""
        return self.logs.partitions

    @property
    def topic(self) -> list[str]:
        """Their topics."""
        return self.logs.topics

    @property
    def partition(self) -> list[int]:
        """Their numbers."""
        return self.logs.numbers

    @property
    def end(self) -> list[int]:
        """The ends of the logs."""
        return self.logs.ends

    @property
    def log_start(self) -> list[int]:
        """The starts of the logs."""
        return self.logs.starts

    @property
    def stable(self) -> list[int]:
        """The last stable offsets; the ends where they were not asked for."""
        return self.logs.stable

    @property
    def member(self) -> list[MemberDescription | None] | None:
        """The member of each partition. Most groups of a cluster are never asked for them."""
        if self.description is None:
            return None
        if self._members is None:
            owners = assigned(self.description)
            self._members = [owners.get(tp) for tp in self.logs.partitions] if owners else []
        return self._members or None

    @property
    def seconds(self) -> list[float | None] | float | None:
        """Lag in time: known where nothing is unread."""
        return self._by_drained(0.0, None)

    @property
    def method(self) -> list[str] | str:
        """How the lag in time is known."""
        return self._by_drained(READ, UNKNOWN)

    @property
    def drained(self) -> list[bool] | bool:
        """Whether nothing is unread."""
        return self._by_drained(True, False)

    def _by_drained(self, read: T, unread: T) -> list[T] | T:
        if all(self.lag):
            return unread
        return [unread if lag else read for lag in self.lag] if any(self.lag) else read

    def each(self, value: Any) -> Sequence[Any]:
        """An attribute as a sequence: with one value for each row."""
        return value if isinstance(value, list | tuple) else [value] * len(self.lag)

    def row(self, place: int) -> PartitionLag:
        """One of the rows."""
        values = [getattr(self, name) for name in PartitionLag._fields]
        return PartitionLag(*[one[place] if isinstance(one, list | tuple) else one for one in values])

    def __len__(self) -> int:
        return len(self.lag)

    def __iter__(self) -> Iterator[PartitionLag]:
        return map(PartitionLag, *(self.each(getattr(self, name)) for name in PartitionLag._fields))

    def __contains__(self, row: object) -> bool:
        return any(one == row for one in self)


def by_partition(field: Field[Any], rows: Collection[PartitionLag]) -> Sequence[Any]:
    """The values of a field, by partition."""
    if isinstance(rows, LagColumns):
        return rows.each(field.of(rows))
    if field.digits is None:
        return list(map(field.of, rows))
    return list(map(field.value, rows))


class ColumnsOf:
    """Makes columns of the groups of a sample; caches the logs for groups with the same partitions."""

    def __init__(self, bounds: Mapping[TopicPartition, LogEnds]) -> None:
        self._bounds = bounds
        self._known: dict[int, Logs | None] = {}

    def group(self, one: GroupSample) -> LagColumns | None:
        """The columns of a group; None for a group that is not the common case."""
        commits = one.committed
        if one.type == SHARE or not isinstance(commits, CommitColumns):
            return None
        if (logs := self._logs(commits.partitions)) is None:
            return None
        lags = list(map(sub, logs.ends, commits.offsets))
        if min(lags) < 0:
            return None
        if min(commits.offsets) < logs.highest_start and min(map(sub, commits.offsets, logs.starts)) < 0:
            return None
        return LagColumns(one.group, logs, commits.offsets, lags, one.description, one.type)

    def _logs(self, partitions: TopicPartitions) -> Logs | None:
        """None where the bounds of a log are not known."""
        key = id(partitions)
        if key not in self._known:  # groups with the same partitions share one tuple of them
            bounds = [self._bounds[tp] for tp in partitions]
            starts = [one.start for one in bounds if one.start is not None]
            ends = [one.end for one in bounds if one.end is not None]
            stable = [one.end if one.stable is None else one.stable for one in bounds if one.end is not None]
            known = len(starts) == len(ends) == len(partitions)
            topics, numbers = [tp.topic for tp in partitions], [tp.partition for tp in partitions]
            self._known[key] = (
                Logs(partitions, topics, numbers, starts, ends, stable, max(starts)) if known else None
            )
        return self._known[key]
