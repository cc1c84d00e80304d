"""All inputs of a run in order, as chunks that are ready to be sent; a resumed run skips the first units.

One input is open at a time. Plain lines are normally not parsed.
"""

import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from kcli.core.classes import dataclass, replace
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.flows.inputs.input_format import InputFormat
from kcli.flows.inputs.item import BadInput, Chunk, InputPosition, InputRow, Item, Mark, RowChunk, TextChunk
from kcli.flows.inputs.source import Source, Tap, TextReader, TextRegion, read_blocks
from kcli.flows.stop import Stop

if TYPE_CHECKING:
    from kcli.flows.processes import Processes


class OtherInputError(KcliError):
    """The input is not that of the checkpoint."""

    exit_code = ExitCode.REFUSED


class Fingerprint:
    """A running checksum of one input, by which a resumed run verifies that it reads the same input: a tap that receives
    all bytes in order. ``expected`` bytes with checksum ``crc`` must come first, if any are known.

    A checkpoint's checksum covers the bytes that end no unit from its line on: those before the chunk, or everything
    that was read when the chunk is complete. The input may be a pipe: it is read again from its start and compared as
    it arrives.
    """

    def __init__(self, name: str, expected: int = 0, crc: int = 0) -> None:
        self.size = 0
        self.crc = 0
        self._name = name
        self._expected = expected
        self._wanted = crc

    def __call__(self, view: memoryview) -> None:
        """Counts bytes. Raises OtherInputError as soon as the expected bytes differ."""
        left = self._expected - self.size
        if 0 < left <= len(view):
            if zlib.crc32(view[:left], self.crc) != self._wanted:
                raise self._other(
                    f"its first {self._expected:,} bytes are not those that the earlier run read"
                )
        elif not len(view) and left > 0:  # the end of the input
            raise self._other(f"it has {self.size:,} bytes, and the earlier run read {self._expected:,}")
        self.crc = zlib.crc32(view, self.crc)
        self.size += len(view)

    def _other(self, why: str) -> OtherInputError:
        return OtherInputError(
            f"{self._name} is not the input of the checkpoint",
            why=why,
            do="give the same input again, or delete the checkpoint to start again",
        )


@dataclass(slots=True, eq=False, repr=False)
class Portion:
    """The next chunk, with the region of its lines or with its rows; no chunk when nothing arrived for a while.

    ``bad`` are its units that are not valid records. ``more``: more input is ready.
    """

    chunk: Chunk | None = None
    region: TextRegion | None = None
    bad: Sequence[tuple[int, BadInput]] = ()
    size: int = 0
    more: bool = False


class Feed:
    """``opened(name)`` returns a descriptor, ``-`` is stdin. ``short``: plain lines are not made into rows."""

    def __init__(
        self,
        names: Sequence[str],
        opened: Callable[[str], int],
        form: InputFormat,
        stop: Stop,
        *,
        short: bool = False,
        taps: Sequence[Tap] = (),
        patience: float | None = None,
        fingerprints: bool = False,
        begin: InputPosition | None = None,
        processes: "Processes | None" = None,
    ) -> None:
        self.form = form
        self._names = tuple(names) or ("-",)
        self._opened = opened
        self._stop = stop
        self._short = short
        self._taps = tuple(taps)
        self._patience = patience
        self._fingerprints = fingerprints
        self._begin = begin or InputPosition()
        self._processes = processes

    def portions(self) -> Iterator[Portion]:
        """The portions until all inputs have ended, or a stop."""
        for number in range(self._begin.source, len(self._names)):
            if self._stop:
                return
            begin = self._begin if number == self._begin.source else InputPosition(number)
            name = self._names[number]
            descriptor = self._opened(name)
            try:
                print_ = Fingerprint(input_name(name), begin.offset, begin.crc)
                taps: list[Tap] = [print_, *self._taps] if self._fingerprints else [*self._taps]
                source = Source(descriptor, input_name(name), self._stop, taps=taps, patience=self._patience)
                of_one = (
                    self._text if self._short else self._rows if self._processes is None else self._shared
                )
                yield from of_one(source, print_, begin)
            finally:
                os.close(descriptor)

    def _text(self, source: Source, print_: Fingerprint, begin: InputPosition) -> Iterator[Portion]:
        delimiter = self.form.how.delimiter
        number, unit = begin.source, 0
        mark = (0, 0)
        for region in TextReader(source, delimiter, self.form.longest).regions():
            size, read = region.end - region.start, (print_.size, print_.crc)
            if region.dropped:
                lost = RowChunk(InputPosition(number, unit, *mark), 1, source.name, read)
                unit += 1
                if unit > begin.unit:
                    reason = f"it has more than {self.form.longest:,} bytes"
                    bad = [(unit - 1, BadInput(unit, 0, reason, None))]
                    yield Portion(lost, None, bad, region.dropped)
            elif not size:
                yield Portion()
            else:
                rest = region
                if unit < begin.unit:
                    rest, skipped = _without(region, begin.unit - unit, delimiter)
                    unit += skipped
                if rest.start < rest.end:
                    start = InputPosition(number, unit, *mark)
                    chunk = TextChunk(start, 0, source.name, read, delimiter)
                    if self.form.keep:
                        chunk.text = bytes(memoryview(rest.text)[rest.start : rest.end])
                    yield Portion(chunk, rest, (), size, rest.more)
                    unit += chunk.units
            mark = read

    def _rows(self, source: Source, print_: Fingerprint, begin: InputPosition) -> Iterator[Portion]:
        from kcli.flows.inputs.parsers import parser_of  # msgspec, which plain lines do not need

        parser, rows = parser_of(self.form), _Rows(source.name, begin)
        before = (0, 0)
        for block in read_blocks(source):
            after = (print_.size, print_.crc)
            if block.data:
                items, header = parser.feed(block.data), getattr(parser, "header", None)  # only CSV has one
                yield rows.portion(items, Mark(before, after, len(block.data), block.more), header)
            else:
                yield Portion()
            before = after
        if not self._stop:
            last = parser.finish()
            if last:
                yield rows.portion(last, Mark(before, before), getattr(parser, "header", None))

    def _shared(self, source: Source, print_: Fingerprint, begin: InputPosition) -> Iterator[Portion]:
        """Like ``_rows``, by the processes; what they return is of input that was read a while ago."""
        from kcli.flows.inputs.shared import SharedParser, terminator_of  # only with --processes

        terminator = terminator_of(self.form)
        assert self._processes is not None
        assert terminator is not None
        parser, rows = SharedParser(self._processes, self.form, terminator), _Rows(source.name, begin)
        before = (0, 0)
        try:
            for block in read_blocks(source):
                after = (print_.size, print_.crc)
                if block.data:
                    parser.feed(block.data, Mark(before, after, len(block.data), block.more))
                for items, mark in parser.ready(everything=not block.more):
                    yield rows.portion(items, mark, parser.header)
                if not block.data:
                    yield Portion()
                before = after
            if not self._stop:
                for items, mark in parser.finish(Mark(before, before)):
                    if items:
                        yield rows.portion(items, mark, parser.header)
        finally:
            self._processes.drop()


class _Rows:
    """Makes portions of the units of one input, which are counted; those before ``begin`` are left out."""

    def __init__(self, name: str, begin: InputPosition) -> None:
        self._name, self._begin, self._unit = name, begin, 0

    def portion(self, items: list[Item], mark: Mark, header: bytes | None) -> Portion:
        """Units that were completed by the input of ``mark``."""
        first, self._unit = self._unit, self._unit + len(items)
        if first < self._begin.unit:
            items = items[self._begin.unit - first :]
            first = min(self._unit, self._begin.unit)
        if not items:
            return Portion(size=mark.size, more=True)
        rows = [item for item in items if type(item) is InputRow]
        bad = [(first + at, item) for at, item in enumerate(items) if type(item) is BadInput]
        numbers = [first + at for at, item in enumerate(items) if type(item) is InputRow] if bad else None
        start = InputPosition(self._begin.source, first, *mark.before)
        chunk = RowChunk(start, len(items), self._name, mark.after, rows, numbers, header)
        return Portion(chunk, None, bad, mark.size, mark.more)


def single_portion(form: InputFormat, text: bytes, name: str) -> Portion:
    """``text`` as the whole input: one record, or bad input."""
    from kcli.flows.inputs.parsers import parser_of  # msgspec, which plain lines do not need

    parser = parser_of(form)
    (item,) = [*parser.feed(text), *parser.finish()]
    if isinstance(item, BadInput):
        return Portion(RowChunk(InputPosition(), 1, name), bad=[(0, item)], size=len(text))
    return Portion(RowChunk(InputPosition(), 1, name, records=[item]), size=len(text))


def input_name(name: str) -> str:
    """The name of an input in messages."""
    return "stdin" if name == "-" else name


def _without(region: TextRegion, count: int, delimiter: bytes) -> tuple[TextRegion, int]:
    """The region without its first ``count`` lines, and how many of them it had."""
    at, skipped = region.start, 0
    while skipped < count and at < region.end:
        found = region.text.find(delimiter, at, region.end)
        at = region.end if found < 0 else found + len(delimiter)
        skipped += 1
    return replace(region, start=at), skipped
