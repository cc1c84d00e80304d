"""Whether a stream shows colour: ``--color``, then NO_COLOR, FORCE_COLOR, TERM=dumb, then whether it is a terminal."""

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
