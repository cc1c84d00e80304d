"""How fast groups read, and others write: rates over a minute, and the time to drain. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import repeat
from operator import sub
from types import MappingProxyType
from typing import Any

from kcli.core.classes import NamedTuple
from kcli.core.types import TopicPartition
from kcli.flows.groups.description import SHARE, WITHOUT_MEMBERS
from kcli.flows.lag.lag_columns import LagColumns
from kcli.flows.lag.partition_lag import PartitionLag

WINDOW_MS = 60_000
_NOTHING: tuple[tuple[Any, ...], ...] = ((), (), (), (), ())
_NO_STARTS: Mapping[TopicPartition, tuple[int, int]] = MappingProxyType({})
_PAUSE_MS = 8_000  # unread for longer: what comes is not compared with what was
_HABIT = 3
"""Steps ahead without members, within the window, that are reading: nobody moves offsets by hand that often."""


class Trend(NamedTuple):
    """Records per second over the window, and seconds to drain at that rate; None is unknown, or never."""

    consumed: float | None = None
    produced: float | None = None
    eta: float | None = None

    @property
    def net(self) -> float | None:
        """How fast the lag grows; negative while it shrinks."""
        return None if self.consumed is None or self.produced is None else self.produced - self.consumed


class Offsets:
    """What a sample has of a group, in columns: committed offsets, last stable offsets and log ends, where commits and
    ends are known.

    ``lag`` excludes partitions in which only markers and aborted records are left; ``complete``: the lag is known for
    every partition with a commit. ``deserted``: it has no members. ``drained``: the partitions with nothing but such
    markers. Of a share group ``committed`` is the end less the lag, and ``starts`` has the start offset and the lag
    of each partition: two samples may differ by what was written between reading the lag and the end.
    """

    def __init__(self, rows: Collection[PartitionLag], state: str) -> None:
        self.deserted = state in WITHOUT_MEMBERS
        self.partitions: Sequence[TopicPartition]
        self.committed: Sequence[int]
        self.stable: Sequence[int]
        self.ends: Sequence[int]
        self.drained: Collection[TopicPartition] = ()
        self.starts: Mapping[TopicPartition, tuple[int, int]] = _NO_STARTS
        if isinstance(rows, LagColumns):
            logs = rows.logs
            self.partitions, self.committed, self.stable, self.ends = (
                logs.partitions,
                rows.committed,
                logs.stable,
                logs.ends,
            )
            self.lag, self.complete = sum(rows.lag), True
        else:
            known = [
                (row.tp, at, row.end if row.stable is None else row.stable, row.end, row.lag or 0)
                for row in rows
                if (at := row.read) is not None and row.end is not None
            ]
            self.starts = {
                row.tp: (row.committed, row.lag)
                for row in rows
                if row.type == SHARE and row.committed is not None and row.lag is not None
            }
            self.partitions, self.committed, self.stable, self.ends, lags = (
                zip(*known, strict=True) if known else _NOTHING
            )
            self.drained = {row.tp for row in rows if row.drained}
            self.lag = sum(
                lag for tp, lag in zip(self.partitions, lags, strict=True) if tp not in self.drained
            )
            self.complete = all(row.lag is not None or unstarted(row) for row in rows)

    def steps_from(self, before: Offsets) -> tuple[list[int | None], list[int | None]]:
        """How far commits and log ends have moved, by partition; None for a partition that is new."""
        commits, ends = self._differences(before)
        if self.starts:
            commits = list(map(self._acknowledged, repeat(before), self.partitions, commits))
        return commits, ends

    def _acknowledged(self, before: Offsets, tp: TopicPartition, step: int | None) -> int | None:
        """A step of a share group: only where its start offset has moved, or its lag has become smaller."""
        if step is None or tp not in before.starts or tp not in self.starts:
            return step
        (start, lag), (start_before, lag_before) = self.starts[tp], before.starts[tp]
        if start < start_before:
            return start - start_before
        return max(1, step) if start > start_before or lag < lag_before else 0

    def _differences(self, before: Offsets) -> tuple[list[int | None], list[int | None]]:
        if self.partitions == before.partitions:
            return (
                list(map(sub, self.committed, before.committed)),
                list(map(sub, self.ends, before.ends)),
            )
        known = zip(before.partitions, before.committed, before.ends, strict=True)
        places = {tp: (offset, end) for tp, offset, end in known}
        commits: list[int | None] = []
        ends: list[int | None] = []
        for tp, offset, end in zip(self.partitions, self.committed, self.ends, strict=True):
            place = places.get(tp)
            commits.append(None if place is None else offset - place[0])
            ends.append(None if place is None else end - place[1])
        return commits, ends


class _Point(NamedTuple):
    """A sample of a group, and what has happened since the one before: records consumed and produced.

    ``moved``: by how much commits went ahead while the group had no members. Who resets offsets does that, but so does
    a consumer that assigns its partitions itself.
    """

    at_ms: int
    lag: int
    complete: bool
    consumed: int = 0
    produced: int = 0
    moved: int = 0


class _Window:
    """The points of a group in the last minute, and the sums of all but the first: what happened since that."""

    __slots__ = ("consumed", "moved", "moves", "points", "produced")

    def __init__(self) -> None:
        self.points: list[_Point] = []  # few enough for pop(0); a deque takes 600 bytes for one
        self._reset()

    def add(self, point: _Point, since_ms: int) -> None:
        """Points before ``since_ms`` are dropped."""
        points = self.points
        if points:
            self._count(point, 1)
        points.append(point)
        while points[0].at_ms < since_ms:
            points.pop(0)
            self._count(points[0], -1)

    def clear(self) -> None:
        """The next point is the first."""
        self.points.clear()
        self._reset()

    def exclude(self, since_ms: int, until_ms: int) -> int:
        """No step between these times counts as reading; returns when the last step ended."""
        points, before = self.points, since_ms
        for place, point in enumerate(points):
            if point.at_ms >= since_ms and before <= until_ms:
                points[place] = point._replace(consumed=0, moved=0)
            before = point.at_ms
        self._reset()
        for place, point in enumerate(points):
            if place:
                self._count(point, 1)
        return before

    def _reset(self) -> None:
        self.consumed = self.moved = self.moves = self.produced = 0

    def _count(self, point: _Point, times: int) -> None:
        self.consumed += times * point.consumed
        self.produced += times * point.produced
        self.moved += times * point.moved
        self.moves += times * bool(point.moved)


class Pace:
    """The pace of a group over the last minute: fed with the steps between its samples."""

    __slots__ = ("_window", "_window_ms", "excluded")

    def __init__(self, at_ms: int, first: Offsets, window_ms: int) -> None:
        self._window_ms = window_ms
        self._window = _Window()
        self._window.add(_Point(at_ms, first.lag, first.complete), at_ms)
        self.excluded = False
        """Whether the next step is none of its own."""

    def add(
        self,
        at_ms: int,
        now: Offsets,
        commits: Collection[int | None],
        ends: Collection[int | None],
        *,
        alone: bool,
    ) -> None:
        """A later sample; ``alone``: without members before and now."""
        ahead = 0 if self.excluded else _advance(commits)
        self._window.add(
            _Point(
                at_ms,
                now.lag,
                now.complete,
                consumed=0 if alone else ahead,
                produced=_advance(ends),
                moved=ahead if alone else 0,
            ),
            at_ms - self._window_ms,
        )
        self.excluded = False

    def exclude(self, since_ms: int, until_ms: int) -> None:
        """See ``History``."""
        if self._window.points and self._window.exclude(since_ms, until_ms) <= until_ms:
            self.excluded = True

    def resume(self, at_ms: int) -> bool:
        """See ``History``: whether it was long."""
        points = self._window.points
        if not points or at_ms - points[-1].at_ms <= _PAUSE_MS:
            return False
        self._window.clear()
        return True

    @property
    def trend(self) -> Trend:
        """The trend over all samples of the window; unknown after the first.

        What it consumed is not known either where commits went ahead without members, too seldom to be reading.
        """
        window = self._window
        if not window.points or window.points[-1].at_ms <= window.points[0].at_ms:
            return Trend()
        first, last = window.points[0], window.points[-1]
        seconds = (last.at_ms - first.at_ms) / 1000
        produced = window.produced / seconds
        drained = 0.0 if last.complete and not last.lag else None
        if 0 < window.moves < _HABIT:
            return Trend(None, produced, drained)
        consumed = (window.consumed + window.moved) / seconds
        gain = consumed - produced
        eta = last.lag / gain if gain > 0 else drained
        return Trend(consumed, produced, eta)


def unstarted(row: PartitionLag) -> bool:
    """Whether the group has committed nothing there, or it is a share group's that has no start offset yet. Where a
    member reads it, this is known even where other commits could not be read.
    """
    return row.committed is None and (not row.judged or (row.member is not None and row.type != SHARE))


def _advance(steps: Collection[int | None]) -> int:
    return sum(step for step in steps if step is not None and step > 0)
