"""``produce --processes``: input is parsed and encoded by other processes, and comes back as records in its order.

The input is cut where a record ends, which for lines is cheap to find; all else stays where it is without processes:
which partition a record goes to, its batches, sequence numbers, confirmations and the position of a checkpoint. What a
process cannot do is parsed here: a record that does not end where it seems to, as a quote that is never closed.
"""

import marshal
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from struct import Struct
from typing import Any

from kcli.core.classes import NamedTuple, replace
from kcli.core.kernels.varint import Buffer
from kcli.flows.inputs.input_format import InputFormat
from kcli.flows.inputs.item import BadInput, InputRow, Item, Mark, Parser
from kcli.flows.inputs.parsers import parser_of
from kcli.flows.inputs.pattern import Pattern
from kcli.flows.processes import SLOT_BYTES, Processes

_HEAD = Struct("=qI")  # how many lines there are before, and the size of the header line
_TABLES = ("csv", "csv-objects")
_LINES = ("lines", "ndjson", "kcat", "failed")
_ROW: Callable[[tuple[Any, ...]], InputRow] = partial(tuple.__new__, InputRow)
_LONGEST = SLOT_BYTES // 4  # of what has no end yet


def terminator_of(form: InputFormat) -> bytes | None:
    """What ends a record of the format; None where that takes parsing."""
    if form.kind == "pattern":
        return Pattern(form.pattern, form.how.delimiter).terminator
    if form.kind == "lines":
        return form.how.delimiter
    return b"\n" if form.kind in (*_LINES, *_TABLES) else None


class ParseWork:
    """What a process does with input: see ``Work``. ``raws``: the records as they were read are needed."""

    def __init__(self, form: InputFormat, *, raws: bool) -> None:
        self._form, self._raws = replace(form, headed=len), raws

    def __call__(self, data: memoryview) -> Buffer:
        """The records and the bad input of whole records, behind the header line of a csv."""
        before, size = _HEAD.unpack_from(data)
        at = _HEAD.size + size
        parser = _begun(self._form, bytes(data[_HEAD.size : at]))
        items = parser.feed(bytes(data[at:]))
        if parser.finish():
            raise ValueError("the last record does not end here")
        raws = self._raws
        rows = [
            (line + before, key, value, headers, timestamp, partition, raw if raws else None)
            for line, key, value, headers, timestamp, partition, raw in (
                item for item in items if type(item) is InputRow
            )
        ]
        bad = [
            (at, *item._replace(line=item.line + before))
            for at, item in enumerate(items)
            if type(item) is BadInput
        ]
        return marshal.dumps((rows, bad))


class _Given(NamedTuple):
    """Input behind ``lines`` lines. ``shared``: whole records that a process parses."""

    data: bytes
    lines: int
    mark: Mark
    shared: bool


Parsed = tuple[list[Item], Mark]


class SharedParser:
    """``feed`` what was read, then take what is ``ready``; ``finish`` at the end. ``header``: the header line of csv."""

    def __init__(self, processes: Processes, form: InputFormat, terminator: bytes) -> None:
        self.header: bytes | None = None
        self._processes, self._form, self._terminator = processes, form, terminator
        self._rest, self._lines = b"", 0  # lines: without those of the header
        self._given: deque[_Given] = deque()
        self._alone = False
        self._own: Parser | None = None
        """What parses all that follows a record that did not end where it seemed to, and its first line."""
        self._own_line = 0

    def feed(self, data: bytes, mark: Mark) -> None:
        """Input that was read. InputError for an invalid header line."""
        if not self._alone:
            data = self._begin(self._rest + data if self._rest else data)
            end = 0 if self._alone else self._last_end(data)
            self._rest, data = data[end:], data[:end]
            if data:
                self._submit(data, mark)
            if len(self._rest) <= _LONGEST and not self._alone:
                return
            self._alone = True
            data, self._rest = self._rest, b""
        self._given.append(_Given(data, self._lines, mark, shared=False))

    def ready(self, *, everything: bool) -> Iterator[Parsed]:
        """What is parsed, in order: ``everything`` that was fed, or as much as makes room for more."""
        while self._given and (everything or self._alone or not self._processes.room):
            yield self._next()

    def finish(self, mark: Mark) -> Iterator[Parsed]:
        """The rest, and the records that the end of the input completes."""
        yield from self.ready(everything=True)
        parser, line = (self._own, self._own_line) if self._own else (self._parser(), self._lines)
        yield _moved([*parser.feed(self._rest), *parser.finish()], line), mark

    def _begin(self, data: bytes) -> bytes:
        """The input behind the header line of a csv, which is read here."""
        if self.header is not None or self._form.kind not in _TABLES:
            return data
        end = _first_end(data)
        if end:
            parser = parser_of(self._form)
            items = parser.feed(data[:end])
            self.header = getattr(parser, "header", None)
            self._alone = bool(items) or self.header is None  # then it is no header line, but a bad one
            return data if self._alone else data[end:]
        self._alone = len(data) > _LONGEST
        return data

    def _last_end(self, data: bytes) -> int:
        if self._form.kind in _TABLES:
            return 0 if self.header is None else _last_end(data)
        return data.rfind(self._terminator) + len(self._terminator) if self._terminator in data else 0

    def _submit(self, data: bytes, mark: Mark) -> None:
        header = b"" if self.header is None else self.header + b"\n"
        self._processes.submit([_HEAD.pack(self._lines, len(header)), header, data])
        self._given.append(_Given(data, self._lines, mark, shared=True))
        self._lines += data.count(self._terminator)

    def _next(self) -> Parsed:
        given = self._given.popleft()
        result = self._processes.take() if given.shared else None
        if result is None or self._own is not None:
            return self._parse(given), given.mark
        rows, bad = marshal.loads(result)  # noqa: S302 - of a fork of this process
        items: list[Item] = list(map(_ROW, rows))
        for place, *rest in bad:
            items.insert(place, BadInput(*rest))
        return items, given.mark

    def _parse(self, given: _Given) -> list[Item]:
        """Parses it here; and from now on everything, if it does not end with a record."""
        if self._own is None:
            if given.shared:
                parser = self._parser()
                items = parser.feed(given.data)
                if not parser.finish():
                    return _moved(items, given.lines)
            self._own, self._own_line = self._parser(), given.lines
        return _moved(self._own.feed(given.data), self._own_line)

    def _parser(self) -> Parser:
        return parser_of(self._form) if self.header is None else _begun(self._form, self.header + b"\n")


def _begun(form: InputFormat, header: bytes) -> Parser:
    """A parser that has read the header line of a csv."""
    parser = parser_of(replace(form, headed=len))
    parser.feed(header)
    return parser


def _moved(items: list[Item], lines: int) -> list[Item]:
    """Items that were read behind so many lines."""
    return [item._replace(line=item.line + lines) for item in items] if lines else items


def _first_end(data: bytes) -> int:
    """Behind the first line end outside quotes; 0 without one."""
    at, quotes, start = data.find(b"\n"), 0, 0
    while at >= 0:
        quotes += data.count(b'"', start, at)
        if not quotes % 2:
            return at + 1
        start, at = at, data.find(b"\n", at + 1)
    return 0


def _last_end(data: bytes) -> int:
    """Behind the last line end outside quotes; 0 without one."""
    at = data.rfind(b"\n")
    quotes = data.count(b'"', 0, at) if at >= 0 else 0
    while at >= 0 and quotes % 2:
        before = data.rfind(b"\n", 0, at)
        quotes -= data.count(b'"', before + 1, at)
        at = before
    return at + 1
