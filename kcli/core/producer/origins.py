"""Maps a batch's records to the rows of the calls they came from, so that failures can be reported by line. Pure.

One entry per append, never one per record. ``origin`` belongs to the caller and is only passed back; ``rows`` counts
within the call from 0, as a range or as packed native int32.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError

Rows = range | memoryview
"""Which rows, in order: a range, or a view of native int32."""


Refuse = Callable[[Rows, int, KcliError], object]
"""Called for rows that are put into no batch, with their size in bytes and the reason."""


class OriginRows(NamedTuple):
    """Records ``first`` to ``first + len(rows) - 1`` of a batch are these rows of ``origin``."""

    first: int
    origin: Any
    rows: Rows


_FIRST = attrgetter("first")


def packed_rows(packed: bytes) -> memoryview:
    """The rows in the packed form returned by the kernels."""
    return memoryview(packed).cast("i")


def listed_rows(rows: Sequence[int]) -> Rows:
    """Rows from any sequence of numbers; consecutive ones become a range."""
    if rows and rows[-1] - rows[0] + 1 == len(rows):
        return range(rows[0], rows[-1] + 1)
    return memoryview(array("i", rows))


def shifted(rows: Rows, by: int) -> Rows:
    """The same rows, shifted by ``by``."""
    if not by:
        return rows
    if isinstance(rows, range):
        return range(rows.start + by, rows.stop + by)
    return memoryview(array("i", [row + by for row in rows]))


def part_of(origins: Sequence[OriginRows], start: int, count: int) -> list[OriginRows]:
    """The origins of ``count`` records from ``start`` on, as those of a separate batch. ``origins`` are in order."""
    found = []
    for index in range(max(0, bisect_right(origins, start, key=_FIRST) - 1), len(origins)):
        first, origin, rows = origins[index]
        if first >= start + count:
            break
        low = max(0, start - first)
        high = min(len(rows), start + count - first)
        if low < high:
            found.append(OriginRows(first + low - start, origin, rows[low:high]))
    return found
