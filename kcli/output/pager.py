"""Long text: in a pager on a terminal, otherwise directly to stdout."""

import os
import signal
import sys

from kcli.core.secret import child_environment
from kcli.output.terminal import is_terminal, terminal_size

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
