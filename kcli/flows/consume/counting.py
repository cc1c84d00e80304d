"""``consume --count``: how many records there are, in all or by fields. It takes the place of the output of records.

Without fields nothing of a batch is decoded but its header. The groups of ``--by`` that memory does not hold are kept
on disk (``buckets``).
"""

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kcli.core.consumer.fetched import FetchedBatch
from kcli.flows.consume.buckets import IN_MEMORY, MOST_BYTES, Buckets, Key, add_counts
from kcli.flows.filters.field_paths import FieldReader
from kcli.flows.filters.selection import BatchFields, Mask, wanted_mask
from kcli.serde.json_text import dump_json, parse_json

_PLAIN = frozenset((bytes, str, int, type(None)))


class Counting:
    """A Sink of ``flows.consume.run`` that counts; ``total`` are all records. To be closed."""

    def __init__(self, by: FieldReader | None) -> None:
        self.total = 0
        self._by, self._buckets = by, Buckets()
        self._groups: Counter[Key] = Counter()
        self._bytes = 0
        self._single = by is not None and len(by.fields) == 1

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
            self._add(self._by, BatchFields(fetched), mask)
        return count, last

    def flush(self) -> None:
        """See Sink: nothing is printed before the end."""

    def check(self) -> None:
        """See Sink."""

    def close(self) -> None:
        """Removes what is on disk."""
        self._buckets.close()

    def _add(self, by: FieldReader, fields: BatchFields, mask: Mask) -> None:
        groups, columns = self._groups, by.columns(fields, mask)
        before = len(groups)
        plain = [
            column if by.is_plain(field) else map(_hashable, column)
            for field, column in zip(by.fields, columns, strict=True)
        ]
        if by.is_constant:
            groups[self._key(next(zip(*plain, strict=True)))] += mask.count(1)
        else:
            groups.update(plain[0] if self._single else zip(*plain, strict=True))
            self._bytes += (len(groups) - before) * fields.average_size
        if len(groups) > IN_MEMORY or self._bytes > MOST_BYTES:
            self._buckets.add(groups)
            groups.clear()
            self._bytes = 0

    def _key(self, cells: tuple[Any, ...]) -> Key:
        return cells[0] if self._single else cells

    def _named(self, entry: tuple[Key, int]) -> tuple[Sequence[Any], int]:
        """The cells of a group, those that were JSON as values of JSON; and its count."""
        key, count = entry
        cells = (key,) if self._single else key
        return [parse_json(cell[0]) if isinstance(cell, tuple) else cell for cell in cells], count

    def groups(self, top: int | None) -> Iterator[tuple[Sequence[Any], int]]:
        """The groups and their counts, the largest first; at most ``top``. Raises FileError."""
        if not self._buckets:
            groups = self._groups
            found = sorted(groups.items(), key=self._order) if top is None else self._largest(groups, top)
            return map(self._named, found)
        self._buckets.add(self._groups)
        self._groups.clear()
        if top is None:
            return map(self._named, self._buckets.ordered(add_counts, self._order))
        best: dict[Key, int] = {}
        for part in self._buckets.merged(add_counts):
            best = dict(self._largest(best | part, top))
        return map(self._named, best.items())

    def _largest(self, groups: Mapping[Key, int], top: int) -> list[tuple[Key, int]]:
        """The first ``top`` by their order, which is asked for only of those that may be among them."""
        least = heapq.nlargest(top, groups.values())[-1:] or [0]
        return heapq.nsmallest(top, [item for item in groups.items() if item[1] >= least[0]], key=self._order)

    def _order(self, entry: tuple[Key, int]) -> tuple[int, list[tuple[bool, bytes]]]:
        """The largest count first, then by the cells, null last."""
        key, count = entry
        cells = (key,) if self._single else key
        return -count, [(cell is None, _name(cell)) for cell in cells]


def _hashable(cell: Any) -> Any:
    """A cell as a key of a dict: of 1, 1.0 and true, and of lists and objects, the JSON."""
    return cell if type(cell) in _PLAIN else (dump_json(cell),)


def _name(cell: Any) -> bytes:
    if isinstance(cell, bytes):
        return cell
    text = f"{cell:020}" if type(cell) is int and cell >= 0 else str(cell)
    return text.encode("utf-8", "surrogateescape")
