"""Long text for a person: through a pager on a terminal, straight out everywhere else."""

import os
import signal
import sys

from kcli.output.colour import is_terminal


def page(text: str, *, pager: bool = True) -> None:
    """Prints ``text`` and a newline; pages it when stdout is a terminal with fewer lines than the text."""
    if pager and is_terminal(sys.stdout) and paged(f"{text}\n".encode()):
        return
    out = sys.stdout
    if out is not None:
        out.write(text + "\n")
        out.flush()


def paged(data: bytes) -> bool:
    """Shows what the terminal at stdout has too few lines for. False: it fits, nobody could scroll, or no pager runs."""
    if os.environ.get("TERM") == "dumb" or not is_terminal(sys.stdin) or not _too_long(data):
        return False
    command = os.environ.get("KCLI_PAGER") or os.environ.get("PAGER") or "less"
    return command != "cat" and _piped(command, data)


def _too_long(data: bytes) -> bool:
    try:
        return data.count(b"\n") + 1 > os.get_terminal_size(1).lines
    except OSError:
        return False


def _piped(command: str, data: bytes) -> bool:
    """Whether the pager ran; the user's own command line, through the shell as other tools run it.

    Ctrl-C belongs to the pager while it runs: it ends a search there, and must not end kcli below it.
    """
    import subprocess  # only where a pager runs

    environ = {"LESS": "FRX", **os.environ}
    before = signal.signal(signal.SIGINT, lambda _signal, _frame: None)
    try:
        done = subprocess.run(command, shell=True, input=data, env=environ, check=False)  # noqa: S602
    except BrokenPipeError:
        return True
    finally:
        signal.signal(signal.SIGINT, before)
    return done.returncode != 127
