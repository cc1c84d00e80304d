"""What a stream shows: whether it is a terminal and of what size, and whether it has colour: ``--color``, then NO_COLOR,
FORCE_COLOR, TERM=dumb, then whether it is a terminal.
"""

import os
from collections.abc import Mapping
from typing import IO, Any


def wants_colour(stream: IO[Any] | None, environ: Mapping[str, str], choice: str | None) -> bool:
    """Whether to write colour to the stream."""
    if choice in ("always", "never"):
        return choice == "always"
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return is_terminal(stream) and environ.get("TERM") != "dumb"


def is_terminal(stream: IO[Any] | None) -> bool:
    """Whether a person reads (or types at) the stream; False for a closed stream."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


_COLOURS = {"red": 31, "green": 32, "yellow": 33, "blue": 34, "magenta": 35, "cyan": 36}


def heading_start(color: str) -> str:
    """What begins bold text in this colour; empty for no colour."""
    return f"\x1b[1;{_COLOURS[color]}m" if color in _COLOURS else ""


def heading(text: str, color: str) -> str:
    """The text with its first line in bold and in this colour; unchanged without one."""
    start = heading_start(color)
    first, sign, rest = text.partition("\n")
    end = first.rstrip()  # not the blank after a prompt
    return f"{start}{end}\x1b[0m{first[len(end) :]}{sign}{rest}" if start else text


_UNKNOWN = os.terminal_size((80, 24))


def terminal_size(stream: IO[Any] | int) -> os.terminal_size:
    """Columns and lines of the terminal at the stream or descriptor; 80 and 24 where they are not known.

    A terminal that was given no size, as by ``docker exec -t`` or ``script`` without a terminal, reports 0.
    """
    try:
        size = os.get_terminal_size(stream if isinstance(stream, int) else stream.fileno())
    except (OSError, ValueError, AttributeError):
        return _UNKNOWN
    return os.terminal_size((size.columns or _UNKNOWN.columns, size.lines or _UNKNOWN.lines))
