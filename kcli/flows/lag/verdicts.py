"""What several samples show of a group: rates, time to drain, and one word. Pure.

The words: ``ok``; ``slow``: it reads but falls behind; ``stalled``: it has members but makes no progress; ``stopped``:
no members but unread records; ``empty``: no members and nothing to read; ``rebalancing``; ``rewound``: its commits
moved back; ``loss risk``: retention has deleted unread records, or soon will.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from operator import sub
from typing import Any, NamedTuple

from kcli.core.types import TopicPartition
from kcli.flows.lag.lag_columns import LagColumns
from kcli.flows.lag.partition_lag import PartitionLag
from kcli.output.tables import Column

OK, SLOW, STALLED, STOPPED, EMPTY = "ok", "slow", "stalled", "stopped", "empty"
REBALANCING, REWOUND, LOSS_RISK = "rebalancing", "rewound", "loss risk"
WORDS = (OK, SLOW, STALLED, STOPPED, EMPTY, REBALANCING, REWOUND, LOSS_RISK)
VERDICT = Column(
    "verdict", values=(*WORDS, None), meaning="The state of the group in a word; null where it is unknown."
)

_MOVING = frozenset(("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"))
_WITHOUT_MEMBERS = frozenset(("Empty", "Dead"))
WINDOW_MS = 60_000
_NOTHING: tuple[tuple[Any, ...], ...] = ((), (), (), ())
# Of what is produced: a group that keeps up is as far behind when it is read just before a commit.
_JITTER_SECONDS = 1.0
_STALL_MS = 8_000  # members commit every five seconds by default: a shorter time does not show a stall
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


class _Reading:
    """What a sample has of a group, in columns: committed offsets and log ends where both are known.

    ``lag`` excludes partitions in which only markers and aborted records are left; ``complete``: the lag is known for
    every partition with a commit. ``deserted``: it has no members.
    """

    def __init__(self, rows: Collection[PartitionLag], state: str) -> None:
        self.deserted = state in _WITHOUT_MEMBERS
        self.partitions: Sequence[TopicPartition]
        self.offsets: Sequence[int]
        self.log_ends: Sequence[int]
        if isinstance(rows, LagColumns):
            logs = rows.logs
            self.partitions, self.offsets, self.log_ends = logs.partitions, rows.committed, logs.ends
            self.lag, self.complete = sum(rows.lag), True
        else:
            known = [
                (row.tp, row.committed, row.end, 0 if row.drained else row.lag or 0)
                for row in rows
                if row.committed is not None and row.end is not None
            ]
            self.partitions, self.offsets, self.log_ends, lags = (
                zip(*known, strict=True) if known else _NOTHING
            )
            self.lag = sum(lags)
            self.complete = all(row.lag is not None or _unstarted(row) for row in rows)

    def steps_from(self, before: _Reading) -> tuple[list[int], list[int]]:
        """How far commits and log ends have moved, in the partitions of both readings."""
        if self.partitions == before.partitions:
            return (
                list(map(sub, self.offsets, before.offsets)),
                list(map(sub, self.log_ends, before.log_ends)),
            )
        known = zip(before.partitions, before.offsets, before.log_ends, strict=True)
        places = {tp: (offset, end) for tp, offset, end in known}
        both = [
            (offset - places[tp][0], end - places[tp][1])
            for tp, offset, end in zip(self.partitions, self.offsets, self.log_ends, strict=True)
            if tp in places
        ]
        return [commit for commit, _ in both], [end for _, end in both]


class _Point(NamedTuple):
    """A sample of a group, and what has happened since the one before: records consumed and produced, and a rewind.

    ``moved``: by how much commits went ahead while the group had no members. Who resets offsets does that, but so does
    a consumer that assigns its partitions itself.
    """

    at_ms: int
    lag: int
    complete: bool
    consumed: int
    produced: int
    went_back: bool
    moved: int = 0


class _Window:
    """The points of a group in the last minute, and the sums of all but the first: what happened since that."""

    __slots__ = ("consumed", "moved", "moves", "points", "produced", "rewinds")

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
        self.consumed = self.moved = self.moves = self.produced = self.rewinds = 0

    def _count(self, point: _Point, times: int) -> None:
        self.consumed += times * point.consumed
        self.produced += times * point.produced
        self.rewinds += times * point.went_back
        self.moved += times * point.moved
        self.moves += times * bool(point.moved)


class History:
    """The samples of the last minute, by group; evaluated group by group. Offsets are kept of the last sample only."""

    def __init__(self, window_ms: int = WINDOW_MS) -> None:
        self._window_ms = window_ms
        self._windows: dict[str, _Window] = {}
        self._last: dict[str, _Reading] = {}
        self._joined_ms: dict[str, int] = {}
        self._excluded: set[str] = set()  # the next step of these

    def add_rows(self, at_ms: int, group: str, rows: Collection[PartitionLag], state: str) -> None:
        """Adds a group's rows of one sample."""
        reading = _Reading(rows, state)
        before = self._last.get(group)
        if before is None:  # nothing to compare with
            self._windows[group] = _Window()
            self._windows[group].add(_Point(at_ms, reading.lag, reading.complete, 0, 0, False), at_ms)
            self._excluded.discard(group)
            self._last[group] = reading
            return
        commits, ends = reading.steps_from(before)
        ahead = 0 if group in self._excluded else _advance(commits)
        deserted = before.deserted and reading.deserted
        point = _Point(
            at_ms,
            reading.lag,
            reading.complete,
            consumed=0 if deserted else ahead,
            produced=_advance(ends),
            went_back=min(commits, default=0) < 0,
            moved=ahead if deserted else 0,
        )
        self._windows[group].add(point, at_ms - self._window_ms)
        if before.deserted and not reading.deserted:
            self._joined_ms[group] = at_ms
        self._excluded.discard(group)
        self._last[group] = reading

    def keep(self, groups: Collection[str]) -> None:
        """Forgets all other groups: they no longer exist."""
        for group in self._windows.keys() - groups:
            del self._windows[group], self._last[group]
            self._joined_ms.pop(group, None)

    def exclude(self, group: str, since_ms: int, until_ms: int) -> None:
        """Its commits were set by hand between these times: no step of that time shows what it reads."""
        window = self._windows.get(group)
        if window is not None and window.points and window.exclude(since_ms, until_ms) <= until_ms:
            self._excluded.add(group)

    def resume(self, at_ms: int, group: str) -> None:
        """After a time in which it could not be read: if that was long, what comes is not compared with what was."""
        window = self._windows.get(group)
        if window is not None and window.points and at_ms - window.points[-1].at_ms > _STALL_MS:
            window.clear()

    def trend(self, group: str) -> Trend:
        """The trend over all samples of the window; unknown after the first.

        What it consumed is not known either where commits went ahead without members, too seldom to be reading.
        """
        window = self._windows.get(group)
        if window is None or not window.points or window.points[-1].at_ms <= window.points[0].at_ms:
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

    def verdict(self, group: str, state: str, rows: Collection[PartitionLag]) -> str | None:
        """The verdict on a group; None while it is not known: one sample shows no progress."""
        window = self._windows[group]
        first, last = window.points[0], window.points[-1]
        if state in _MOVING:
            return REBALANCING
        if not isinstance(rows, LagColumns) and any(row.at_risk for row in rows):
            return LOSS_RISK
        if window.rewinds:
            return REWOUND
        if state in _WITHOUT_MEMBERS:
            return STOPPED if last.lag else EMPTY if last.complete else None
        if not last.lag:
            return OK if self._last[group].partitions and last.complete else None
        if last.at_ms - max(first.at_ms, self._joined_ms.get(group, 0)) < _STALL_MS or not state:
            return None
        if first.lag and not window.consumed:
            return STALLED
        produced = window.produced * 1_000 / (last.at_ms - first.at_ms)
        growth = _growth([point.lag for point in window.points])
        return SLOW if growth > produced * _JITTER_SECONDS else OK


def _unstarted(row: PartitionLag) -> bool:
    """Whether a member reads it and has committed nothing: this is known even where other commits could not be read."""
    return row.committed is None and row.member is not None


def _growth(lags: list[int]) -> int:
    """By how much the minimum of the later samples exceeds that of the earlier ones: commits come in steps."""
    half = (len(lags) + 1) // 2
    return min(lags[half:]) - min(lags[:half])


def _advance(steps: list[int]) -> int:
    return sum(steps) if min(steps, default=0) >= 0 else sum(step for step in steps if step > 0)
