"""What a stream shows: whether it is a terminal and of what size, and whether it has colour: ``--color``, then NO_COLOR,
FORCE_COLOR, TERM=dumb, then whether it is a terminal. Long text goes through a pager there.
"""

import _signal as signal  # type: ignore[import-not-found] # all of `signal` that is used here, without its enumerations
import os
import sys
from collections.abc import Mapping
from typing import IO, Any

from kcli.core.secret import child_environment


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


_NOT_FOUND = 127
"""The exit status of a shell that does not find a program."""


def page(text: str, *, pager: bool = True) -> None:
    """Prints ``text`` and a newline; pages it when stdout is a terminal with fewer lines than the text."""
    if pager and is_terminal(sys.stdout) and paged(f"{text}\n".encode()):
        return
    out = sys.stdout
    if out is not None:
        out.write(text + "\n")
        out.flush()


def paged(data: bytes) -> bool:
    """Pages what is longer than the terminal at stdout. False: it fits, stdin is no terminal, or there is no pager."""
    if os.environ.get("TERM") == "dumb" or not is_terminal(sys.stdin) or not _too_long(data):
        return False
    command = os.environ.get("KCLI_PAGER") or os.environ.get("PAGER") or "less"
    return command != "cat" and _piped(command, data) != _NOT_FOUND


def shown_by(command: str, source: bytes) -> bool:
    """Whether a command line that reads ``source``, and has a pager of its own, ended well."""
    return _piped(command, source) == 0


def _too_long(data: bytes) -> bool:
    return data.count(b"\n") + 1 > terminal_size(1).lines


def _piped(command: str, data: bytes) -> int:
    """Gives the data to the user's command line, which the shell runs as in other tools; returns its exit status.

    While it runs Ctrl-C is for the pager, where it ends a search; it must not end kcli.
    """
    import subprocess  # only where a pager runs

    environ = {"LESS": "FRX", **child_environment(os.environ)}
    before = signal.signal(signal.SIGINT, lambda _signal, _frame: None)
    try:
        done = subprocess.run(command, shell=True, input=data, env=environ, check=False)  # noqa: S602
    except BrokenPipeError:
        return 0
    finally:
        signal.signal(signal.SIGINT, before)
    return done.returncode
