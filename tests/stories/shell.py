"""A bash on a terminal of its own, that runs one step after the other, and what the terminal shows of each.

Variables, folders and background processes stay from step to step. Programs see a terminal of ``COLUMNS`` columns; what
they write is kept on a screen that is wider, so that a long line is not broken where a window would break it.
"""

import os
import re
import signal
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.terminal import Terminal

COLUMNS, ROWS = 100, 60
PATIENCE = 120.0
"""Seconds for one step, which may start three brokers on a busy machine."""
_WIDE, _HIGH = 400, 300
_SERVE = r"""
trap : INT
set -o pipefail
while read -r KCLI_STEP <"$0"; do
  (exit "${KCLI_CODE:-0}")
  . "$KCLI_STEP"
  KCLI_CODE=$?
  printf '\e]9;%d\a' "$KCLI_CODE" >/dev/tty
done
"""
_END = re.compile(rb"\x1b\]9;(\d+)\x07")
_QUESTION = re.compile(r"(?:\[y/N\]|to confirm:) $")


class StepError(Exception):
    """A step that did not end, asked what the page does not answer, or ended the shell."""


class Shell:
    """A context manager: its end ends all processes of the steps that still run."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="kcli-story-"))
        self._steps = self._folder / "steps"
        os.mkfifo(self._steps)
        self._pipe = os.open(self._steps, os.O_RDWR)
        command = ["bash", "--noprofile", "--norc", "-c", f'cd "$1"; {_SERVE}', str(self._steps), str(folder)]
        self._terminal = Terminal(command, columns=_WIDE, rows=_HIGH, environ=environ)
        self._terminal.resize(COLUMNS, ROWS, tell=False)
        self._lost = False  # in a step that does not end

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if kind is None and not self._lost:  # members leave their groups in order
            self.run("kill $(jobs -p) 2>/dev/null; wait\n")
        with suppress(ProcessLookupError):
            os.killpg(self._terminal.process.pid, signal.SIGKILL)
        self._terminal.__exit__()
        os.close(self._pipe)
        for file in self._folder.iterdir():
            file.unlink()
        self._folder.rmdir()

    def run(self, text: str, answers: Sequence[str] = ()) -> tuple[int, list[str]]:
        """One step: its exit status, and the lines on the terminal afterwards, without blank ones at the end."""
        step = self._folder / "step"
        step.write_text(text, encoding="utf-8")
        self._terminal.screen.reset()
        begin = len(self._terminal.written)
        os.write(self._pipe, f"{step}\n".encode())
        left = list(answers)
        until = time.monotonic() + PATIENCE
        while not (end := _END.search(self._terminal.written, begin)):
            self._terminal.read(0.05)
            if time.monotonic() > until or self._terminal.process.poll() is not None:
                raise self._error(text, "did not end")
            if _QUESTION.search(self._line()):
                self._answer(text, left)
        return int(end[1]), self._lines()

    def _lines(self) -> list[str]:
        """The whole screen."""
        return [line.rstrip() for line in self._terminal.text.rstrip().splitlines()]

    def _line(self) -> str:
        """The line with the cursor, up to it."""
        screen = self._terminal.screen
        row = screen.buffer[screen.cursor.y]
        return "".join(row[x].data for x in range(screen.cursor.x))

    def _answer(self, text: str, left: list[str]) -> None:
        if not left:
            raise self._error(text, "asks what the page does not answer")
        question = self._line()
        self._terminal.press(left.pop(0) + "\r")
        while self._line() == question:
            self._terminal.read(0.05)

    def _error(self, text: str, what: str) -> StepError:
        self._lost = True
        return StepError("\n".join([f"{text}{what}:", *self._lines()]))
