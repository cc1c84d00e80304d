"""Partition rows added up: by group, by topic of a group, by member. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable
from typing import TypeVar

from kcli.core.classes import NamedTuple
from kcli.flows.groups.description import SHARE
from kcli.flows.groups.offsets import NO_LAG
from kcli.flows.lag.lag_columns import LagColumns
from kcli.flows.lag.partition_lag import READ, UNKNOWN, PartitionLag

K = TypeVar("K", bound=Hashable)


class Summary(NamedTuple):
    """``lag`` is the sum of the known lags, None if none is known; ``seconds`` and ``margin`` the worst known ones."""

    partitions: int
    lag: int | None
    seconds: float | None
    method: str
    margin: float | None
    lost: int
    note: str


def summaries_by(rows: Iterable[PartitionLag], key: Callable[[PartitionLag], K]) -> dict[K, Summary]:
    """One summary for each key, in order of first occurrence."""
    parts: dict[K, list[PartitionLag]] = {}
    for row in rows:
        parts.setdefault(key(row), []).append(row)
    return {one: summary(some) for one, some in parts.items()}


def summary(rows: Collection[PartitionLag]) -> Summary:
    """The summary of any number of rows, including none."""
    if isinstance(rows, LagColumns):
        lag = sum(rows.lag)
        seconds, method = (None, UNKNOWN) if lag else (0.0, READ)
        return Summary(len(rows), lag, seconds, method, margin=None, lost=0, note="")
    lags = [row.lag for row in rows if row.lag is not None]
    unread = [row for row in rows if row.lag]
    worst = max((row for row in unread if row.seconds is not None), key=_seconds, default=None)
    drained = bool(lags) and not unread
    margins = [row.margin for row in rows if row.margin is not None]
    return Summary(
        partitions=len(rows),
        lag=sum(lags) if lags else None,
        seconds=worst.seconds if worst is not None else 0.0 if drained else None,
        method=worst.method if worst is not None else READ if drained else UNKNOWN,
        margin=min(margins, default=None),
        lost=sum(row.lost or 0 for row in rows),
        note=_note(
            rows, sum(1 for row in rows if row.lag is None and (row.judged or row.committed is not None))
        ),
    )


def _seconds(row: PartitionLag) -> float:
    return row.seconds or 0.0


def _note(rows: Collection[PartitionLag], unknown: int) -> str:
    notes = list(dict.fromkeys(row.note for row in rows if row.note and row.lag is not None and row.judged))
    if not rows:
        return "no committed offsets"
    if unknown:
        unreported = any(row.lag is None and not row.judged and row.committed is not None for row in rows)
        why = f": {NO_LAG}" if unreported else ""
        notes.append(f"{unknown:,} of {len(rows):,} partitions unknown{why}")
    if unset := sum(
        row.lag is None and row.committed is None and row.type == SHARE and not row.judged for row in rows
    ):
        notes.insert(0, f"{unset:,} of {len(rows):,} partitions without a start offset")
    if without := sum(row.without_commit for row in rows):
        notes.insert(0, f"{without:,} of {len(rows):,} partitions without a commit")
    return "; ".join(notes[:3]) + (f"; and {len(notes) - 3} more" if len(notes) > 3 else "")
