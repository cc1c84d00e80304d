"""One input of a run: a descriptor that is read as bytes arrive, until its end or a stop.

Bytes are passed to the taps first, in order: a copy to stdout, a checksum. ``TextReader`` gives regions of whole lines in
one reused buffer: no object is created per line. Fast input is returned by the megabyte, slow input as it arrives. Memory
is limited by the buffer, or by the longest accepted line if that is more.
"""

import contextlib
import fcntl
import os
import select
import stat
from collections.abc import Callable, Iterator, Sequence

from kcli.core.classes import NamedTuple, dataclass
from kcli.core.records.text_cut import last_line_end
from kcli.flows.inputs.item import InputError
from kcli.flows.stop import Stop

BLOCK_BYTES = 1 << 18
_PIPE_BYTES = 1 << 20

END, IDLE, STOPPED = 0, -1, -2
"""What ``read_into`` returns besides a number of bytes: the input ended, nothing arrived for a while, a stop."""

Tap = Callable[[memoryview], object]


class Block(NamedTuple):
    """Bytes of the input; none when nothing arrived for a while. ``more``: more input is ready."""

    data: bytes
    more: bool


class Source:
    """``name`` is for errors; ``patience`` (seconds) limits the wait for bytes, None does not."""

    def __init__(
        self, fd: int, name: str, stop: Stop, *, taps: Sequence[Tap] = (), patience: float | None = None
    ) -> None:
        self.fd = fd
        self.name = name
        self._stop = stop
        self._taps = tuple(taps)
        self._patience = None if patience is None else round(patience * 1000)
        # Reading a file never blocks. Unlike select(), poll() accepts descriptors above 1023.
        self._always = _is_file(fd)
        self._here, self._anything = select.poll(), select.poll()
        if not self._always:
            self._here.register(fd, select.POLLIN)
            self._anything.register(fd, select.POLLIN)
            self._anything.register(stop.fileno(), select.POLLIN)
        with contextlib.suppress(OSError, AttributeError):  # a larger pipe: fewer system calls
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    def read_into(self, view: memoryview) -> int:
        """Reads what is available, waiting until something is: returns a number of bytes, END, IDLE or STOPPED."""
        try:
            ready = self._always or any(fd == self.fd for fd, _ in self._anything.poll(self._patience))
            if self._stop:
                return STOPPED
            if not ready:
                return IDLE
            count = os.readv(self.fd, [view])
        except OSError as error:
            raise InputError(
                f"cannot read {self.name}",
                why=error.strerror or str(error),
                do="check the file and its device, then send the rest",
            ) from None
        for tap in self._taps:
            tap(view[:count])
        return count

    def readable(self) -> bool:
        """Whether a read would not block."""
        return self._always or bool(self._here.poll(0))


def _is_file(fd: int) -> bool:
    try:
        return stat.S_ISREG(os.fstat(fd).st_mode)
    except OSError:  # the first read reports why
        return False


def read_blocks(source: Source, size: int = BLOCK_BYTES) -> Iterator[Block]:
    """The input in pieces, as it arrives, until its end. After a stop the last piece may be incomplete."""
    view = memoryview(bytearray(size))
    while (count := source.read_into(view)) not in (END, STOPPED):
        yield Block(b"", False) if count == IDLE else Block(bytes(view[:count]), source.readable())


BUFFER_BYTES = 1 << 22  # at least this much of a line is kept
_FIRST_BYTES = 1 << 18
_USUAL_BYTES = 1 << 20
"""Enough for lines that fit: less means more reads, more has left the processor's cache when it is encoded."""
_ENOUGH = 1 << 18  # bytes after which a region is returned although more input is ready


@dataclass(slots=True, eq=False, repr=False)
class TextRegion:
    """``text[start:end]``, whole lines; valid until the next region is requested. Empty: nothing arrived for a while.

    ``dropped`` is set instead of lines: a line of more than that many bytes, of which nothing was kept. ``more``: more
    input is ready.
    """

    text: bytearray
    start: int
    end: int
    more: bool
    dropped: int = 0


class TextReader:
    """``regions`` returns the lines of one input. Only lines of more than ``longest`` bytes may be dropped."""

    def __init__(self, source: Source, delimiter: bytes, longest: int) -> None:
        self._source = source
        self._delimiter = delimiter
        self._overlap = len(delimiter) - 1
        self._capacity = max(BUFFER_BYTES, longest + len(delimiter) + 1)
        self._buffer = bytearray(min(_FIRST_BYTES, self._capacity))
        self._begin = self._filled = 0
        self._dropped = 0
        self._more = False  # whether more input was ready when the last read ended

    def regions(self) -> Iterator[TextRegion]:
        """The regions until the end of the input, whose last line needs no delimiter, or a stop, which omits a partial
        line.
        """
        while True:
            if self._filled == len(self._buffer):
                self._make_room()
            known = self._filled - self._begin
            state = self._fill()
            buffer, filled = self._buffer, self._filled
            # The rest of the last round contains no delimiter: only one that ends after it can be new.
            scan = self._begin if known < self._overlap else self._begin + known - self._overlap
            end = last_line_end(buffer, scan, filled, self._delimiter)
            if end > scan:
                if self._dropped:
                    yield self._end_of_dropped()
                if end > self._begin:
                    yield TextRegion(buffer, self._begin, end, state > 0 and self._more)
                    self._begin = end
            elif state == IDLE:
                yield TextRegion(buffer, self._begin, self._begin, False)
            if state == STOPPED:
                return
            if state == END:
                if self._dropped:
                    yield TextRegion(buffer, 0, 0, False, self._dropped + filled - self._begin)
                elif self._begin < filled:
                    yield TextRegion(buffer, self._begin, filled, False)
                return

    def _fill(self) -> int:
        """Reads until a megabyte is there or no more input is ready; returns the result of the last read."""
        got = 0
        while True:
            if self._filled == len(self._buffer):
                if got and self._filled >= _USUAL_BYTES:
                    return got
                self._make_room()
            with memoryview(self._buffer) as view:
                count = self._source.read_into(view[self._filled :])
            if count <= 0:
                return count
            self._filled += count
            got += count
            self._more = self._source.readable()
            if got >= _ENOUGH or not self._more or self._filled == self._capacity:
                return count

    def _make_room(self) -> None:
        rest = self._filled - self._begin
        if not self._begin and len(self._buffer) == self._capacity:
            self._drop()
            return
        size = len(self._buffer)
        if rest > size // 2 or not self._begin:
            size = min(self._capacity, max(4 * size, _FIRST_BYTES))
        larger = self._buffer if size == len(self._buffer) else bytearray(size)
        larger[:rest] = self._buffer[self._begin : self._filled]
        self._buffer, self._begin, self._filled = larger, 0, rest

    def _drop(self) -> None:
        """The line is too long: keeps only what a delimiter could begin with."""
        keep = self._overlap
        self._dropped += self._filled - keep
        self._buffer[:keep] = self._buffer[self._filled - keep : self._filled]
        self._filled = keep

    def _end_of_dropped(self) -> TextRegion:
        at = self._buffer.find(self._delimiter, self._begin)
        dropped, self._dropped = self._dropped + at - self._begin, 0
        self._begin = at + len(self._delimiter)
        return TextRegion(self._buffer, 0, 0, True, dropped)
