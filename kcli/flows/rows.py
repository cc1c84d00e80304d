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
    """Lines without their delimiter. ``first_line`` counts from 1; ``more`` says that input waits already."""

    lines: list[bytes]
    first_line: int
    size: int
    more: bool


def read_lines(
    fd: int, stop: Stop, *, delimiter: bytes = b"\n", longest: int = 1 << 30, name: str = "stdin"
) -> Iterator[Chunk]:
    """Lines of ``fd`` until its end or a stop. A last line without a delimiter counts; an empty one does not.

    InputError when reading fails, or when a line is longer than ``longest`` bytes; the lines before it come first.
    """
    splitter = _Splitter(delimiter)
    line_number = 1
    while not stop:
        data = _read(fd, stop, name)
        if data is None:
            return
        if not data:
            break
        lines = splitter.feed(data)
        good = _leading_good(lines, longest)
        if good:
            yield Chunk(lines[:good], line_number, len(data), _readable(fd))
            line_number += good
        if good < len(lines) or splitter.rest_size > longest:
            raise InputError(
                f"{name}: line {line_number} has more than {longest:,} bytes",
                why="it does not fit a record (max.request.size)",
                do="check the delimiter (-D), or raise -X max.request.size and the topic's max.message.bytes",
            )
    rest = splitter.finish()
    if rest and not stop:
        yield Chunk([rest], line_number, len(rest), False)


class _Splitter:
    """Splits bytes that come in pieces; a delimiter may be cut between two of them.

    Looks at old bytes again only as far as a delimiter could reach back, so a long line costs no more than its
    length.
    """

    def __init__(self, delimiter: bytes) -> None:
        self._delimiter = delimiter
        self._reach = len(delimiter) - 1
        self._rest: list[bytes] = []
        self.rest_size = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that ``data`` completes."""
        if self._rest:
            seam = self._rest[-1][-self._reach :] + data if self._reach else data
            if self._reach and len(self._rest[-1]) < self._reach:
                self._rest = [b"".join(self._rest)]
                seam = self._rest[-1][-self._reach :] + data
            if self._delimiter not in seam:
                self._rest.append(data)
                self.rest_size += len(data)
                return []
            data = b"".join([*self._rest, data])
        lines = data.split(self._delimiter)
        last = lines.pop()
        self._rest, self.rest_size = ([last] if last else []), len(last)
        return lines

    def finish(self) -> bytes:
        """What stands behind the last delimiter."""
        return b"".join(self._rest)


def _leading_good(lines: list[bytes], longest: int) -> int:
    """How many lines at the beginning are short enough."""
    if not lines or max(map(len, lines)) <= longest:
        return len(lines)
    return next(index for index, line in enumerate(lines) if len(line) > longest)


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
