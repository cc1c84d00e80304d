"""Columns in Arrow's layouts from plain lists, with whatever Arrow allows around them: rows before, garbage in nulls."""

import random
import struct
from collections.abc import Sequence

from kcli.core.kernels.shapes import BytesColumn, HeadersColumn, NumberColumn, RecordColumns
from kcli.core.types import Header

Value = bytes | None
Fields = tuple[Value, Value, Sequence[Header] | None, int | None]
"""Key, value, headers and timestamp of a row."""

_CODES = {4: "i", 8: "q"}


class Layout:
    """Chooses among all layouts by a seed; ``before`` rows are in front of each column."""

    def __init__(self, seed: int) -> None:
        self._seeded = random.Random(seed)

    def records(self, rows: Sequence[Fields], packed: bool = False) -> RecordColumns:
        """The rows as columns; a column that is null throughout may be left out."""
        keys, values, headers, times = (
            (list(column) for column in zip(*rows, strict=True)) if rows else ([],) * 4
        )
        return RecordColumns(
            len(rows),
            self._optional(keys),
            self._optional(values),
            None if packed else self.headers(headers),
            self.bytes_column([block_of(one) for one in headers]) if packed else None,
            None if set(times) <= {None} and self._seeded.random() < 0.5 else self.numbers(times),
        )

    def _optional(self, values: Sequence[Value]) -> BytesColumn | None:
        return None if set(values) <= {None} and self._seeded.random() < 0.5 else self.bytes_column(values)

    def bytes_column(self, values: Sequence[Value], width: int = 0) -> BytesColumn:
        """Byte strings with offsets of ``width`` bytes, or 16 for views."""
        width = width or self._seeded.choice((4, 8, 16))
        start = self._seeded.choice((0, 0, 1, 5, 13))
        every = [self._seeded.choice((None, b"before")) for _ in range(start)] + list(values)
        if width == 16:
            positions, data = self._views(every)
        else:
            ends, whole = [0], b""
            for value in every:
                whole += value or b"" if value is not None else self._seeded.choice((b"", b"garbage"))
                ends.append(len(whole))
            positions, data = struct.pack(f"={len(ends)}{_CODES[width]}", *ends), (whole,)
        return BytesColumn(width, start, self._valid([value is not None for value in every]), positions, data)

    def numbers(
        self, values: Sequence[int | None], width: int = 8, times: int = 1, per: int = 1
    ) -> NumberColumn:
        """Integers as they are stored."""
        start = self._seeded.choice((0, 0, 1, 5, 13))
        every = [7] * start + [-9 if value is None else value for value in values]
        valid = self._valid([True] * start + [value is not None for value in values])
        return NumberColumn(
            width, start, valid, struct.pack(f"={len(every)}{_CODES[width]}", *every), times, per
        )

    def headers(self, rows: Sequence[Sequence[Header] | None]) -> HeadersColumn:
        """Lists of structs of names and values."""
        width, start = self._seeded.choice((4, 8)), self._seeded.choice((0, 0, 1, 9))
        entries: list[Header] = [("before", b"")] * self._seeded.choice((0, 2))
        ends = [0] * start + [len(entries)]
        for row in rows:
            entries += row or ()
            ends.append(len(entries))
        valid = self._valid([True] * start + [row is not None for row in rows])
        entries_start = self._seeded.choice((0, 3))
        return HeadersColumn(
            width,
            start,
            valid,
            struct.pack(f"={len(ends)}{_CODES[width]}", *ends),
            len(entries),
            entries_start,
            self._valid([True] * (entries_start + len(entries))),
            self.bytes_column([name.encode() if isinstance(name, str) else name for name, _ in entries]),
            self.bytes_column([value for _, value in entries]),
        )

    def _views(self, values: Sequence[Value]) -> tuple[bytes, tuple[bytes, ...]]:
        buffers = [b"", b"some"]
        views = b""
        for value in values:
            if value is None:
                views += self._seeded.randbytes(16)
            elif len(value) <= 12:
                views += struct.pack("=i12s", len(value), value)
            else:
                buffer = self._seeded.randrange(2)
                views += struct.pack("=i4sii", len(value), value[:4], buffer, len(buffers[buffer]))
                buffers[buffer] += value
        return views, tuple(buffers)

    def _valid(self, flags: Sequence[bool]) -> bytes | None:
        if all(flags) and self._seeded.random() < 0.5:
            return None
        bits = sum(1 << index for index, flag in enumerate(flags) if flag)
        return bits.to_bytes(len(flags) // 8 + 1, "little")


def block_of(headers: Sequence[Header] | None) -> Value:
    """The header block, null for none at all."""
    from tests.parity import plain

    return None if headers is None else plain.header_block(tuple(headers))
