"""Columns of utf8 or binary as Python's bytes, and the other way: for what is decoded value by value."""

from array import array
from collections.abc import Sequence

from kcli.core.kernels.arrow_ops import Array


def column_bytes(column: Array) -> list[bytes | None]:
    """The bytes of each row; None: null."""
    length, nulls, (valid, ends, data), _ = column
    assert ends is not None
    assert data is not None
    places = memoryview(ends).cast("B").cast("i")
    view = memoryview(data)
    found: list[bytes | None] = [bytes(view[places[row] : places[row + 1]]) for row in range(length)]
    if nulls and valid is not None:
        bits = int.from_bytes(valid, "little")
        for row in range(length):
            if not bits >> row & 1:
                found[row] = None
    return found


def text_column(texts: Sequence[str | None]) -> Array:
    """A column of utf8."""
    ends, valid, parts = array("i", [0]), bytearray((len(texts) + 7) // 8), []
    for row, text in enumerate(texts):
        if text is not None:
            parts.append(text.encode())
            valid[row // 8] |= 1 << row % 8
        ends.append(ends[-1] + (len(parts[-1]) if text is not None else 0))
    nulls = texts.count(None)
    return len(texts), nulls, (bytes(valid) if nulls else None, ends.tobytes(), b"".join(parts)), ()
