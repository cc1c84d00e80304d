"""Reads the end of a node's log, and finds in it the line that says why the node ended."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from kcli.sandbox.errors import StartError

_CAUSE = re.compile(r'^(Caused by: |Exception in thread "\S+" )?[\w.$]+(Exception|Error)\b|\bFATAL\b')
_FRAME = re.compile(r"^\s+(at |\.\.\. \d+ more)")
_BLOCK = 1 << 16

SHOWN = 15
"""The number of lines that an error shows."""


def tail(path: Path, lines: int) -> list[str]:
    """The last ``lines`` lines of the file; fewer if it is shorter, none if it is not there."""
    try:
        with path.open("rb") as file:
            return [line.decode("utf-8", "replace") for line in _tail(file.fileno(), lines)]
    except OSError:
        return []


def cause(log_lines: list[str]) -> str:
    """The likeliest reason in the last lines of a log: the innermost exception, else the last line."""
    log_lines = without_frames(log_lines)
    for line in reversed(log_lines):
        if _CAUSE.search(line.strip()):
            return line.strip()
    return next((line.strip() for line in reversed(log_lines) if line.strip()), "")


def start_error(node_id: int, how: str, path: Path, *, late: float | None = None) -> StartError:
    """``broker 1 HOW``, with the cause and the end of the log at ``path``. ``late``: the seconds after which it was given
    up.
    """
    lines = without_frames(tail(path, 200))
    what, do = f"broker {node_id} {how}", f"its log is {path}"
    if late is not None:
        what, do = (
            f"{what} after {late:.0f} s",
            f"{do}; a slow machine may need more than --timeout {late:.0f}s",
        )
    return StartError(what, why=cause(lines), do=do, log_lines=lines[-SHOWN:])


def without_frames(log_lines: list[str]) -> list[str]:
    """The lines a person reads: stack frames say where in Kafka, not what was wrong."""
    return [line for line in log_lines if not _FRAME.match(line)]


def rotate(path: Path) -> None:
    """Keep the log of the run before as ``….1``, so that a new run's starts empty."""
    if path.exists():
        path.replace(path.with_name(path.name + ".1"))


def follow(path: Path, position: int) -> Iterator[bytes]:
    """What was written behind ``position``; an iterator that ends when there is no more for now."""
    with path.open("rb") as file:
        file.seek(position)
        while block := file.read(_BLOCK):
            yield block


def _tail(descriptor: int, lines: int) -> list[bytes]:
    position = os.lseek(descriptor, 0, os.SEEK_END)
    data = b""
    while position > 0 and data.count(b"\n") <= lines:
        step = min(_BLOCK, position)
        position -= step
        data = os.pread(descriptor, step, position) + data
    return data.splitlines()[-lines:] if lines > 0 else []
