"""``consume --count``: how many records there are, in all or by fields. It takes the place of the output of records.

Without fields nothing of a batch is decoded but its header. The groups of ``--by`` that memory does not hold are kept
on disk (``buckets``).
"""

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from kcli.core.consumer.fetched import FetchedBatch
from kcli.flows.consume.buckets import IN_MEMORY, Buckets, Key, add_counts
from kcli.flows.filters.field_paths import FieldReader
from kcli.flows.filters.selection import BatchFields, wanted_mask
from kcli.serde.json_text import dump_json, parse_json

_PLAIN = frozenset((bytes, str, int, type(None)))


class Counting:
    """A Sink of ``flows.consume.run`` that counts; ``total`` are all records. To be closed."""

    def __init__(self, by: FieldReader | None) -> None:
        self.total = 0
        self._by, self._buckets = by, Buckets()
        self._groups: Counter[Key] = Counter()
        self._parsed: list[int] = []
        if by is not None:
            self._parsed = [
                n for n, field in enumerate(by.fields) if field.root in ("key", "value", "headers")
            ]

    def batch(
        self, fetched: FetchedBatch, limit: int | None = None, selected: bytes | bytearray = b""
    ) -> tuple[int, int]:
        """See Sink: counts at most ``limit`` of the selected records. The end of a transaction is none."""
        batch = fetched.batch
        if batch.is_control:
            return 0, -1
        is_whole = fetched.first <= batch.base_offset and fetched.stop > batch.last_offset
        if self._by is None and not selected and is_whole and (limit is None or batch.count <= limit):
            self.total += batch.count
            return batch.count, -1
        mask, last = wanted_mask(fetched, limit, selected)
        count = mask.count(1)
        self.total += count
        if self._by is not None and count:
            self._add(self._by.rows(BatchFields(fetched), mask))
        return count, last

    def flush(self) -> None:
        """See Sink: nothing is printed before the end."""

    def check(self) -> None:
        """See Sink."""

    def close(self) -> None:
        """Removes what is on disk."""
        self._buckets.close()

    def _add(self, rows: Iterator[tuple[Any, ...]]) -> None:
        parsed = self._parsed
        if parsed:
            self._groups.update([_hashable(row, parsed) for row in rows])
        else:
            self._groups.update(rows)
        if len(self._groups) > IN_MEMORY:
            self._buckets.add(self._groups)
            self._groups.clear()

    def groups(self, top: int | None) -> Iterator[tuple[Sequence[Any], int]]:
        """The groups and their counts, the largest first; at most ``top``."""
        if not self._buckets:
            items = self._groups.items()
            found = sorted(items, key=_order) if top is None else heapq.nsmallest(top, items, key=_order)
            return ((_cells(key), count) for key, count in found)
        self._buckets.add(self._groups)
        self._groups.clear()
        if top is None:
            every = self._buckets.ordered(add_counts, _order)
        else:
            best: list[tuple[Key, Any]] = []
            for part in self._buckets.merged(add_counts):
                best = heapq.nsmallest(top, [*best, *part.items()], key=_order)
            every = iter(best)
        return ((_cells(key), count) for key, count in every)


def _hashable(row: tuple[Any, ...], parsed: Sequence[int]) -> tuple[Any, ...]:
    """The row as a key of a dict: of 1, 1.0 and true, and of lists and objects, the JSON."""
    cells = list(row)
    for n in parsed:
        if type(cells[n]) not in _PLAIN:
            cells[n] = (dump_json(cells[n]),)
    return tuple(cells)


def _cells(key: tuple[Any, ...]) -> list[Any]:
    """The cells of a key; those that were JSON as values of JSON."""
    return [parse_json(cell[0]) if isinstance(cell, tuple) else cell for cell in key]


def _order(entry: tuple[Key, int]) -> tuple[int, list[tuple[bool, str]]]:
    """The largest count first, then by the cells, null last."""
    key, count = entry
    return -count, [(cell is None, _name(cell)) for cell in key]


def _name(cell: Any) -> str:
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "surrogateescape")
    return f"{cell:020}" if type(cell) is int and cell >= 0 else str(cell)
