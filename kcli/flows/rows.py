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

    InputError when reading fails, or when a line is longer than ``longest`` bytes.
    """
    rest: list[bytes] = []
    rest_size, line_number = 0, 1
    while not stop:
        data = _read(fd, stop, name)
        if data is None:
            return
        if not data:
            break
        if delimiter not in data and (len(delimiter) == 1 or not rest):
            rest.append(data)
            rest_size += len(data)
            _refuse_longer(rest_size, longest, line_number, name)
            continue
        lines = (b"".join(rest) + data if rest else data).split(delimiter)
        last = lines.pop()
        rest, rest_size = ([last] if last else []), len(last)
        if lines:
            yield Chunk(lines, line_number, len(data), _readable(fd))
            line_number += len(lines)
    if rest and not stop:
        yield Chunk([b"".join(rest)], line_number, rest_size, False)


def _read(fd: int, stop: Stop, name: str) -> bytes | None:
    """What is there, at most a chunk; empty at the end, None when a stop came first."""
    try:
        ready, _, _ = select.select([fd, stop.fileno()], [], [])
        return os.read(fd, CHUNK_BYTES) if fd in ready else None
    except OSError as error:
        raise InputError(f"cannot read {name}", why=error.strerror or str(error)) from None


def _readable(fd: int) -> bool:
    return bool(select.select([fd], [], [], 0)[0])


def _refuse_longer(size: int, longest: int, line_number: int, name: str) -> None:
    if size > longest:
        raise InputError(
            f"{name}: line {line_number} has more than {longest:,} bytes",
            why="it does not fit a record (max.request.size)",
            do="check the delimiter (-D), or raise -X max.request.size and the topic's max.message.bytes",
        )
