"""Input as chunks of lines: bytes in, bytes out, nothing decoded, read as they come.

A chunk is what one read gave, so that slow input is passed on at once and fast input by the megabyte. Memory is
bounded by the chunk and the longest line that is accepted.
"""

import os
import select
from collections.abc import Iterator
from dataclasses import dataclass

from kcli.core.errors import KcliError
from kcli.flows.stop import Stop

CHUNK_BYTES = 1 << 20


class InputError(KcliError):
    """The input cannot be read, or holds what cannot be sent."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Lines without their delimiter. ``first_line`` counts from 1; ``more`` says that input waits already.

    ``refused`` lines of it were too long and are not among ``lines``; ``first_refused`` is the first one's number.
    """

    lines: list[bytes]
    first_line: int
    size: int
    more: bool
    refused: int = 0
    first_refused: int = 0


def read_lines(
    fd: int, stop: Stop, *, delimiter: bytes = b"\n", longest: int = 1 << 30, name: str = "stdin"
) -> Iterator[Chunk]:
    """Lines of ``fd`` until its end or a stop. A last line without a delimiter counts; an empty one does not.

    A line longer than ``longest`` bytes is left out and counted; its bytes are not kept. InputError when reading
    fails; the lines before it come first.
    """
    splitter = _Splitter(delimiter, longest)
    line_number = 1
    while not stop:
        data = _read(fd, stop, name)
        if data is None:
            return
        if not data:
            break
        chunk = _chunk(splitter.feed(data), line_number, len(data), longest, more=_readable(fd))
        if chunk is not None:
            yield chunk
            line_number += len(chunk.lines) + chunk.refused
    last = _chunk(splitter.finish(), line_number, 0, longest, more=False)
    if last is not None and not stop:
        yield last


def _chunk(lines: list[bytes | None], first: int, size: int, longest: int, *, more: bool) -> Chunk | None:
    """The lines that are short enough, and how many are not; None stands for one that was not even kept."""
    if not lines:
        return None
    good = [line for line in lines if line is not None and len(line) <= longest]
    refused = len(lines) - len(good)
    if not refused:
        return Chunk(good, first, size, more)
    where = next(i for i, line in enumerate(lines) if line is None or len(line) > longest)
    return Chunk(good, first, size, more, refused, first + where)


class _Splitter:
    """Splits bytes that come in pieces; a delimiter may be cut between two of them.

    Looks at old bytes again only as far as a delimiter could reach back, so a long line costs no more than its
    length; of one that is too long only the end is kept, and it comes out as None.
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
        """What stands behind the last delimiter, if anything does."""
        if not self._rest:
            return []
        return [None if self._too_long else b"".join(self._rest)]


def _read(fd: int, stop: Stop, name: str) -> bytes | None:
    """What is there, at most a chunk; empty at the end, None when a stop came first."""
    poller = select.poll()  # unlike select(), it takes descriptors above 1023
    poller.register(fd, select.POLLIN)
    poller.register(stop.fileno(), select.POLLIN)
    try:
        ready = dict(poller.poll())
        return os.read(fd, CHUNK_BYTES) if fd in ready else None
    except OSError as error:
        raise InputError(f"cannot read {name}", why=error.strerror or str(error)) from None


def _readable(fd: int) -> bool:
    poller = select.poll()
    poller.register(fd, select.POLLIN)
    return bool(poller.poll(0))
