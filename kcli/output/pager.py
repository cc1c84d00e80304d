"""Long text for a person: through a pager on a terminal, straight out everywhere else."""

import os
import sys

from kcli.output.colour import is_terminal


def page(text: str, *, pager: bool = True) -> None:
    """Prints ``text`` and a newline; pages it when stdout is a terminal with fewer lines than the text."""
    if pager and is_terminal(sys.stdout) and is_terminal(sys.stdin) and _too_long(text):
        command = os.environ.get("KCLI_PAGER") or os.environ.get("PAGER") or "less"
        if command != "cat" and _piped(command, text):
            return
    out = sys.stdout
    if out is not None:
        out.write(text + "\n")
        out.flush()


def _too_long(text: str) -> bool:
    try:
        return text.count("\n") + 2 > os.get_terminal_size(1).lines
    except OSError:
        return False


def _piped(command: str, text: str) -> bool:
    """Whether the pager ran; the user's own command line, through the shell as other tools run it."""
    import subprocess

    environ = {"LESS": "FRX", **os.environ}
    try:
        done = subprocess.run(command, shell=True, input=text.encode(), env=environ, check=False)  # noqa: S602
    except BrokenPipeError:
        return True
    return done.returncode != 127
