"""A process on a terminal of its own (a pseudo-terminal), and what that terminal shows, by pyte."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyte

PATIENCE = 120.0
"""Seconds for anything to be shown."""
_END = b"\0"
"""Written behind the last output of a process: all before it has come once it has."""


class Terminal:
    """``written`` is every byte that the process wrote. A context manager: its end kills what still runs."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        columns: int = 120,
        rows: int = 30,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.master, self.slave = pty.openpty()
        self.resize(columns, rows, tell=False)
        self.before = termios.tcgetattr(self.slave)
        self.process = subprocess.Popen(
            argv,
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            env={"TERM": "xterm-256color", **(os.environ if environ is None else environ)},
            preexec_fn=_own_terminal,  # noqa: PLW1509 - the terminal has to be that of its session
        )
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self.written = bytearray()

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_args: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.hang_up()

    @property
    def text(self) -> str:
        """The lines of the screen. Not by ``display``, which fails where a combining character has no base."""
        screen = self.screen
        return "\n".join(
            "".join(screen.buffer[y][x].data for x in range(screen.columns)) for y in range(screen.lines)
        )

    def resize(self, columns: int, rows: int, *, tell: bool = True) -> None:
        """Another size of the terminal. The process is told by SIGWINCH."""
        if tell:
            self.screen.resize(rows, columns)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys: str | bytes) -> None:
        """Types keys."""
        os.write(self.master, keys if isinstance(keys, bytes) else keys.encode())

    def read(self, seconds: float) -> None:
        """Takes what comes within this time, at most one block of it."""
        if select.select([self.master], [], [], seconds)[0]:
            try:
                data = os.read(self.master, 65_536)
            except OSError:  # the last process has closed it
                time.sleep(min(seconds, 0.01))
                return
            self.written += data
            self._stream.feed(data)

    def watch(self, seconds: float) -> None:
        """Takes all that comes for so long."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.read(left)

    def wait(self, shown: str | Callable[[], Any], seconds: float = PATIENCE) -> float:
        """Seconds until a text is on the screen, or something is true; at most so many."""
        began = time.monotonic()
        while not (shown in self.text if isinstance(shown, str) else shown()):
            self.read(0.02)
            if time.monotonic() - began > seconds:
                raise TimeoutError(f"{shown}\n{self.text}")
        return time.monotonic() - began

    def ended(self, seconds: float = PATIENCE) -> int:
        """The exit status; what it wrote until then is read."""
        until = time.monotonic() + seconds
        while self.process.poll() is None:
            self.read(0.02)
            if time.monotonic() > until:
                raise TimeoutError(f"still running\n{self.text}")
        while not select.select([], [self.slave], [], 0)[1]:
            self.read(0.02)
        os.write(self.slave, _END)
        while not self.written.endswith(_END):
            self.read(PATIENCE)
        del self.written[-len(_END) :]
        return self.process.returncode

    def hang_up(self) -> None:
        """The terminal is closed, as a window is."""
        for descriptor in (self.master, self.slave):
            if descriptor >= 0:
                os.close(descriptor)
        self.master = self.slave = -1

    @property
    def attributes(self) -> list[Any]:
        """Of the line discipline: echo and so on."""
        return termios.tcgetattr(self.slave)

    @property
    def modes(self) -> dict[int, bool]:
        """The private modes (DECSET) that were set, and whether they are still on."""
        found: dict[int, bool] = {}
        for number, end in _modes(bytes(self.written)):
            found[number] = end == b"h"
        return found

    def cpu(self) -> float:
        """Seconds of user and system time so far."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _modes(data: bytes) -> list[tuple[int, bytes]]:
    return [
        (int(number), end)
        for numbers, end in re.findall(rb"\x1b\[\?([0-9;]+)([hl])", data)
        for number in numbers.split(b";")
    ]


def _own_terminal() -> None:
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
