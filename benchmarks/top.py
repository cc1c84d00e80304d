"""The live screen with 1,000 groups × 100 partitions on a fake cluster: its start, its keys, its CPU time.

A real process on a pseudo-terminal of 120 × 40, whose screen is kept by pyte. The fake cluster is a process of its own.
``KCLI_BENCH_GROUPS`` (1000), ``KCLI_BENCH_PARTITIONS`` (100) and ``KCLI_BENCH_SECONDS`` (30, of keys) choose.
"""

from __future__ import annotations

import fcntl
import os
import pty
import random
import select
import statistics
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable

import pyte

from benchmarks._measure import environment, machine

GROUPS = int(os.environ.get("KCLI_BENCH_GROUPS", "1000"))
PARTITIONS = int(os.environ.get("KCLI_BENCH_PARTITIONS", "100"))
SECONDS = float(os.environ.get("KCLI_BENCH_SECONDS", "30"))
COLUMNS, ROWS = 120, 40
FIRST_TARGET, KEY_TARGET_MS, CPU_TARGET = 2.0, 100.0, 0.5
_PATIENCE = 60.0


class Terminal:
    """A process on a terminal, and what the terminal shows."""

    def __init__(self, argv: list[str]) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        environ = {**environment(), "TERM": "xterm-256color"}
        self.process = subprocess.Popen(
            argv, stdin=slave, stdout=slave, stderr=slave, env=environ, start_new_session=True
        )
        os.close(slave)
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.ByteStream(self.screen)
        self.written = 0

    def press(self, key: str) -> None:
        """Sends a key."""
        os.write(self._master, key.encode())

    def wait(self, shown: Callable[[], bool]) -> float:
        """Seconds until the terminal shows it."""
        began = time.monotonic()
        while not shown():
            self.read(0.001)
            if time.monotonic() - began > _PATIENCE:
                raise TimeoutError("\n".join(self.screen.display))
        return time.monotonic() - began

    def read(self, seconds: float) -> None:
        """Takes what comes within this time."""
        if select.select([self._master], [], [], seconds)[0]:
            data = os.read(self._master, 65_536)
            self.written += len(data)
            self._stream.feed(data)

    def marked(self) -> int | None:
        """The line of the cursor."""
        return next((y for y, line in enumerate(self.screen.display) if line.startswith("▌")), None)

    def cpu(self) -> float:
        """Seconds of user and system time so far."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Starts the cluster and the screen, presses keys, prints the figures."""
    print(f"machine: {machine()}, load {os.getloadavg()[0]:.1f}", flush=True)
    cluster = subprocess.Popen(
        [sys.executable, "-m", "benchmarks._many_groups", str(GROUPS), str(PARTITIONS)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert cluster.stdout is not None
    assert cluster.stdin is not None
    try:
        _measure(cluster.stdout.readline().strip())
    finally:
        cluster.stdin.close()
        cluster.wait()


def _measure(bootstrap: str) -> None:
    began = time.monotonic()
    terminal = Terminal([sys.executable, "-m", "kcli", "-b", bootstrap, "top"])
    terminal.wait(lambda: any(f"groups {GROUPS:,}" in line for line in terminal.screen.display))
    first = time.monotonic() - began
    terminal.wait(lambda: terminal.marked() is not None)
    times, used, at = [], terminal.cpu(), time.monotonic()
    bytes_before = terminal.written
    while time.monotonic() - at < SECONDS:
        until = time.monotonic() + random.uniform(0.2, 0.6)
        while time.monotonic() < until:
            terminal.read(0.01)
        before = terminal.marked()
        terminal.press("k" if before is not None and before > ROWS - 10 else "j")
        times.append(terminal.wait(lambda before=before: terminal.marked() != before) * 1000)  # type: ignore[misc]
    seconds = time.monotonic() - at
    share = (terminal.cpu() - used) / seconds
    terminal.press("q")
    terminal.process.wait(_PATIENCE)
    times.sort()
    worst = times[-1]
    print(f"{GROUPS:,} groups × {PARTITIONS} partitions, a reading every 2 s")
    _verdict("first screen", f"{first:.2f} s", f"{FIRST_TARGET:g} s", first <= FIRST_TARGET)
    print(f"keys: {len(times)}, median {statistics.median(times):.0f} ms")
    _verdict("slowest key", f"{worst:.0f} ms", f"{KEY_TARGET_MS:g} ms", worst < KEY_TARGET_MS)
    _verdict("CPU time", f"{share:.0%} of a core", f"{CPU_TARGET:.0%}", share < CPU_TARGET)
    print(f"written to the terminal: {(terminal.written - bytes_before) / seconds / 1000:.1f} kB/s")


def _verdict(what: str, found: str, target: str, met: bool) -> None:
    print(f"{what}: {found}, target {target}: {'met' if met else 'MISSED'}", flush=True)
