"""Records that are lines: the frame that line formats share, and ``-i lines`` record by record.

Plain lines are normally sent without an object per record (``source.py``); they are parsed record by record in
transactions, with a rate limit, and when failed lines are retried.
"""

from collections.abc import Callable

from kcli.core.classes import NamedTuple
from kcli.core.kernels.shapes import NO_HEADERS
from kcli.flows.inputs.item import BadInput, BadLine, InputRow, Item


class LineFormat(NamedTuple):
    """How a line becomes a record. ``key`` is for all records; ``key_delimiter`` splits at its first occurrence."""

    delimiter: bytes = b"\n"
    key: bytes | None = None
    key_delimiter: bytes | None = None
    headers: bytes = NO_HEADERS
    empty_is_null: bool = False
    null_marker: bytes | None = None


ParseLine = Callable[[bytes, int], InputRow | None]
"""The record in a line with its number; None for a line that is skipped. Raises BadLine."""


class LineParser:
    """Splits the input into lines and parses each with ``parse``; a line above ``longest`` bytes is bad input."""

    def __init__(self, parse: ParseLine, *, delimiter: bytes = b"\n", longest: int = 1 << 30) -> None:
        self._parse = parse
        self._longest = longest
        self._splitter = Splitter(delimiter, longest)
        self._line = 0

    def feed(self, data: bytes) -> list[Item]:
        """The records of the lines that ``data`` completes."""
        return self._items(self._splitter.feed(data))

    def finish(self) -> list[Item]:
        """The record of a last line that has no delimiter."""
        return self._items(self._splitter.finish())

    def _items(self, lines: list[bytes | None]) -> list[Item]:
        items: list[Item] = []
        for line in lines:
            self._line += 1
            if line is None or len(line) > self._longest:
                reason = f"it has more than {self._longest:,} bytes"
                items.append(BadInput(self._line, 0, reason, None))
                continue
            try:
                row = self._parse(line, self._line)
            except BadLine as bad:
                items.append(BadInput(self._line, bad.column, bad.reason, line))
            else:
                if row is not None:
                    items.append(row)
        return items


def line_reader(how: LineFormat) -> ParseLine:
    """``-i lines``."""

    def parse(line: bytes, number: int) -> InputRow:
        key, value = _split(line, how)
        return InputRow(number, key, value, how.headers, None, None, line)

    return parse


def _split(line: bytes, how: LineFormat) -> tuple[bytes | None, bytes | None]:
    if how.key_delimiter is None:
        return how.key, null_of(line, how)
    before, found, after = line.partition(how.key_delimiter)
    return (null_of(before, how), null_of(after, how)) if found else (None, null_of(before, how))


def null_of(data: bytes, how: LineFormat) -> bytes | None:
    """None where ``data`` represents null."""
    return None if (how.empty_is_null and not data) or data == how.null_marker else data


class Splitter:
    """Searches old bytes again only as far back as a delimiter could reach, so a long line costs no more than its
    length; of a line that is too long only the end is kept, and None is returned for it.
    """

    def __init__(self, delimiter: bytes, longest: int) -> None:
        self._delimiter = delimiter
        self._reach = len(delimiter) - 1
        self._longest = longest
        self._rest: list[bytes] = []
        self._size = 0
        self._too_long = False

    def feed(self, data: bytes) -> list[bytes | None]:
        """The lines that ``data`` completes."""
        if self._rest:
            if len(self._rest[-1]) < self._reach:
                self._rest = [b"".join(self._rest)]
            seam = self._rest[-1][-self._reach :] + data if self._reach else data
            if self._delimiter not in seam:
                self._keep(data)
                return []
            data = b"".join([*self._rest, data])
        lines: list[bytes | None] = list(data.split(self._delimiter))
        last = lines.pop()
        if self._too_long and lines:
            lines[0] = None
        self._too_long = False
        self._rest, self._size = ([last] if last else []), len(last or b"")
        return lines

    def _keep(self, data: bytes) -> None:
        self._rest.append(data)
        self._size += len(data)
        if self._size > self._longest + self._reach:  # the end may be a part of the delimiter
            self._too_long = True
            # what a delimiter could begin with, and at least a byte, so that there is a line
            self._rest = [b"".join(self._rest)[-max(1, self._reach) :]]

    def finish(self) -> list[bytes | None]:
        """What follows the last delimiter, if anything does."""
        if not self._rest:
            return []
        return [None if self._too_long else b"".join(self._rest)]
