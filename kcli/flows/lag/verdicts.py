"""What several samples show of a group: rates, time to drain, and one word. Pure.

The words: ``ok``; ``slow``: it reads but falls behind; ``stalled``: it has members but makes no progress; ``stopped``:
no members but unread records; ``empty``: no members and nothing to read; ``rebalancing``; ``rewound``: its commits
moved back; ``loss risk``: retention has deleted unread records, or soon will.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from kcli.core.types import TopicPartition
from kcli.flows.lag.lag_columns import LagColumns
from kcli.flows.lag.partition_lag import PartitionLag

OK, SLOW, STALLED, STOPPED, EMPTY = "ok", "slow", "stalled", "stopped", "empty"
REBALANCING, REWOUND, LOSS_RISK = "rebalancing", "rewound", "loss risk"

_MOVING = frozenset(("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"))
_WITHOUT_MEMBERS = frozenset(("Empty", "Dead"))
WINDOW_MS = 60_000
_NOTHING: tuple[tuple[Any, ...], ...] = ((), (), (), ())
_STALL_MS = 8_000  # members commit every five seconds by default: a shorter time does not show a stall


class Trend(NamedTuple):
    """Records per second over the window, and seconds to drain at that rate; None is unknown, or never."""

    consumed: float | None = None
    produced: float | None = None
    eta: float | None = None

    @property
    def net(self) -> float | None:
        """How fast the lag grows; negative while it shrinks."""
        return None if self.consumed is None or self.produced is None else self.produced - self.consumed


class _Point:
    """What a sample has of a group, evaluated by partition only where there are several samples.

    ``lag`` excludes partitions in which only markers and aborted records are left; ``complete``: the lag is known for
    every partition with a commit.
    """

    def __init__(self, at_ms: int, rows: Collection[PartitionLag]) -> None:
        self.at_ms = at_ms
        self.partitions: Sequence[TopicPartition]
        self.offsets: Sequence[int]
        self.log_ends: Sequence[int]
        if isinstance(rows, LagColumns):
            self.partitions, self.offsets, self.log_ends = (
                rows.logs.partitions,
                rows.committed,
                rows.logs.ends,
            )
            self.lag, self.complete = sum(rows.lags), True
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

    @cached_property
    def committed(self) -> dict[TopicPartition, int]:
        return dict(zip(self.partitions, self.offsets, strict=True))

    @cached_property
    def ends(self) -> dict[TopicPartition, int]:
        return dict(zip(self.partitions, self.log_ends, strict=True))


class History:
    """The samples of the last minute, by group; evaluated group by group."""

    def __init__(self, window_ms: int = WINDOW_MS) -> None:
        self._window_ms = window_ms
        self._points: dict[str, deque[_Point]] = {}

    def add_rows(self, at_ms: int, group: str, rows: Collection[PartitionLag]) -> None:
        """Adds a group's rows of one sample."""
        points = self._points.setdefault(group, deque())
        points.append(_Point(at_ms, rows))
        while points[0].at_ms < at_ms - self._window_ms:
            points.popleft()

    def trend(self, group: str) -> Trend:
        """The trend over all samples of the window; unknown after the first."""
        points = self._points.get(group)
        if not points or points[-1].at_ms <= points[0].at_ms:
            return Trend()
        first, last = points[0], points[-1]
        seconds = (last.at_ms - first.at_ms) / 1000
        consumed = _advance(first.committed, last.committed) / seconds
        produced = _advance(first.ends, last.ends) / seconds
        gain = consumed - produced
        eta = last.lag / gain if gain > 0 else 0.0 if last.complete and not last.lag else None
        return Trend(consumed, produced, eta)

    def verdict(self, group: str, state: str, rows: Collection[PartitionLag]) -> str | None:
        """The verdict on a group; None while it is not known: one sample shows no progress."""
        points = self._points[group]
        last = points[-1]
        if state in _MOVING:
            return REBALANCING
        if not isinstance(rows, LagColumns) and any(row.at_risk for row in rows):
            return LOSS_RISK
        if any(_went_back(before, after) for before, after in zip(points, list(points)[1:], strict=False)):
            return REWOUND
        if state in _WITHOUT_MEMBERS:
            return STOPPED if last.lag else EMPTY if last.complete else None
        if not last.lag:
            return OK if last.partitions and last.complete else None
        first = points[0]
        if last.at_ms - first.at_ms < _STALL_MS or not state:
            return None
        if first.lag and not _advance(first.committed, last.committed):
            return STALLED
        return SLOW if _has_grown([point.lag for point in points]) else OK


def _unstarted(row: PartitionLag) -> bool:
    """Whether a member reads it and has committed nothing: this is known even where other commits could not be read."""
    return row.committed is None and row.member is not None


def _has_grown(lags: list[int]) -> bool:
    """Whether the minimum of the later samples exceeds that of the earlier ones: commits come in steps."""
    half = (len(lags) + 1) // 2
    return min(lags[half:]) > min(lags[:half])


def _advance(before: dict[TopicPartition, int], after: dict[TopicPartition, int]) -> int:
    return sum(max(0, offset - before[tp]) for tp, offset in after.items() if tp in before)


def _went_back(before: _Point, after: _Point) -> bool:
    return any(offset < before.committed.get(tp, offset) for tp, offset in after.committed.items())
