"""Rows of compact arrays of Kafka's protocol (KIP-482), read by their shape; the usual rows only.

A shape has a letter for each field: ``h``, ``i``, ``q`` are integers of 2, 4 and 8 bytes, ``s`` a string, ``e`` a string
that must be empty, ``_`` the place of tagged fields, of which there must be none. ``[…]`` is an array of rows of that
shape, ``{…}`` the same by column, without arrays inside. All others are rare: the decoder of the field table reads them,
and it knows what is wrong with damaged ones.
"""

from typing import Any

_SIZES = {"h": 2, "i": 4, "q": 8}


class _StrangeError(Exception):
    """The rows are unusual: the shape does not fit, or bytes are missing."""


def read_rows(
    data: memoryview, start: int, count: int, shape: str
) -> tuple[list[tuple[Any, ...]], int] | None:
    """The rows as tuples, without the values of ``e`` and ``_``, and the position behind them; None if one is unusual."""
    rows = _Rows(bytes(data), start)
    try:
        return [tuple(rows.row(shape)) for _ in range(rows.checked(count, shape))], rows.at
    except (_StrangeError, UnicodeDecodeError):
        return None


class _Rows:
    def __init__(self, data: bytes, at: int) -> None:
        self._data = data
        self.at = min(at, len(data))

    def row(self, shape: str) -> list[Any]:
        values: list[Any] = []
        place = 0
        while place < len(shape):
            letter = shape[place]
            place += 1
            if letter in _SIZES:
                values.append(int.from_bytes(self._bytes(_SIZES[letter]), signed=True))
            elif letter == "s":
                values.append(str(self._bytes(self._count()), "utf-8"))
            elif letter in "e_":
                if self._bytes(1) != (b"\x01" if letter == "e" else b"\x00"):
                    raise _StrangeError
            else:
                end = _end(shape, place)
                values.append(self._array(shape[place:end], by_column=letter == "{"))
                place = end + 1
        return values

    def checked(self, count: int, shape: str) -> int:
        """An array's length, if so many elements can follow."""
        if not 0 <= count * _smallest(shape) <= len(self._data) - self.at:
            raise _StrangeError
        return count

    def _array(self, shape: str, *, by_column: bool) -> Any:
        rows = [tuple(self.row(shape)) for _ in range(self.checked(self._count(), shape))]
        if not by_column:
            return rows
        width = sum(letter not in "e_" for letter in shape)
        return tuple(tuple(row[column] for row in rows) for column in range(width))

    def _count(self) -> int:
        """A length, stored as its successor; a null has none."""
        value = shift = 0
        while True:
            byte = self._bytes(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift > 21:
                raise _StrangeError
        if not value:
            raise _StrangeError
        return value - 1

    def _bytes(self, size: int) -> bytes:
        found = self._data[self.at : self.at + size]
        if len(found) < size:
            raise _StrangeError
        self.at += size
        return found


def _end(shape: str, place: int) -> int:
    """Where the bracket closes that was opened before ``place``."""
    depth = 1
    while True:
        depth += (shape[place] in "[{") - (shape[place] in "]}")
        if not depth:
            return place
        place += 1


def _smallest(shape: str) -> int:
    """Bytes of the smallest row; an array inside has one, its length."""
    size, depth = 0, 0
    for letter in shape:
        depth -= letter in "]}"
        if not depth and letter not in "]}":
            size += _SIZES.get(letter, 1)
        depth += letter in "[{"
    return max(1, size)
