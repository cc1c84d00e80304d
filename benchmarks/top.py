"""The live screen with 1,000 groups × 20 partitions on a fake cluster: its start, its keys, its CPU time.

A real process on a pseudo-terminal of 120 × 40, whose screen is kept by pyte. The fake cluster is a process of its own.
``KCLI_BENCH_GROUPS`` (1000), ``KCLI_BENCH_PARTITIONS`` (20) and ``KCLI_BENCH_SECONDS`` (60: of keys while the cluster
answers, of keys while it is stopped, and without keys for the CPU time) choose.
"""

from __future__ import annotations

import fcntl
import os
import pty
import random
import select
import signal
import statistics
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from contextlib import suppress

import pyte

from benchmarks._measure import environment, machine

GROUPS = int(os.environ.get("KCLI_BENCH_GROUPS", "1000"))
PARTITIONS = int(os.environ.get("KCLI_BENCH_PARTITIONS", "20"))
SECONDS = float(os.environ.get("KCLI_BENCH_SECONDS", "60"))
COLUMNS, ROWS = 120, 40
FIRST_TARGET, KEY_TARGET_MS, CPU_TARGET, MEMORY_TARGET = 2.0, 100.0, 0.08, 70
_PATIENCE = 60.0


class Terminal:
    """A process on a terminal, and what the terminal shows."""

    def __init__(self, argv: list[str], patience: float = _PATIENCE) -> None:
        self._patience = patience
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
            if time.monotonic() - began > self._patience:
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

    def memory(self) -> float:
        """MB that are resident."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:")) / 1000

    def rest(self, seconds: float) -> None:
        """Takes what comes, for so long."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.read(0.01)

    def quit(self) -> float:
        """Seconds from the key to the end of the process. What it still writes is taken, or it would wait."""
        at = time.monotonic()
        self.press("q")
        with suppress(OSError):  # the other end is closed
            while self.process.poll() is None:
                self.read(0.05)
        self.process.wait(self._patience)
        return time.monotonic() - at

    def has(self, text: str) -> bool:
        """Whether the screen has it."""
        return any(text in line for line in self.screen.display)


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
        _measure(cluster.stdout.readline().strip(), cluster.pid)
    finally:
        cluster.stdin.close()
        cluster.wait()


def _measure(bootstrap: str, cluster: int) -> None:
    began = time.monotonic()
    terminal = Terminal([sys.executable, "-m", "kcli", "-b", bootstrap, "top"])
    terminal.wait(lambda: terminal.has(f"{GROUPS:,} groups"))
    first = time.monotonic() - began
    terminal.wait(lambda: terminal.marked() is not None)
    print(f"{GROUPS:,} groups × {PARTITIONS} partitions, a reading every 2 s")
    _verdict("first screen", f"{first:.2f} s", f"{FIRST_TARGET:g} s", first <= FIRST_TARGET)
    terminal.rest(10)
    used, at, written = terminal.cpu(), time.monotonic(), terminal.written
    terminal.rest(SECONDS)
    seconds = time.monotonic() - at
    share = (terminal.cpu() - used) / seconds
    _verdict("CPU time", f"{share:.1%} of a core", f"{CPU_TARGET:.0%}", share <= CPU_TARGET)
    print(f"written to the terminal: {(terminal.written - written) / seconds / 1000:.1f} kB/s")
    _keys(terminal, "keys while the cluster answers")
    os.kill(cluster, signal.SIGSTOP)
    try:
        _keys(terminal, "keys while it is stopped")
    finally:
        os.kill(cluster, signal.SIGCONT)
    terminal.rest(10)
    memory = terminal.memory()
    _verdict("memory", f"{memory:.1f} MB", f"{MEMORY_TARGET} MB", memory <= MEMORY_TARGET)
    print(f"q: the process has ended after {terminal.quit() * 1000:.0f} ms")


def _keys(terminal: Terminal, what: str) -> None:
    """Cursor keys, and the help every other time: from the key to the screen that shows it."""
    times: list[float] = []
    at = time.monotonic()
    while time.monotonic() - at < SECONDS:
        terminal.rest(random.uniform(0.05, 0.25))
        before = terminal.marked()
        terminal.press("k" if before is not None and before > ROWS - 25 else "j")
        times.append(terminal.wait(lambda before=before: terminal.marked() != before) * 1000)  # type: ignore[misc]
        terminal.rest(random.uniform(0.05, 0.25))
        terminal.press("?")
        times.append(terminal.wait(lambda: terminal.marked() is None) * 1000)
        terminal.rest(0.05)
        terminal.press("?")
        terminal.wait(lambda: terminal.marked() is not None)
    times.sort()
    late = times[int(len(times) * 0.99)]
    print(f"{what}: {len(times)}, median {statistics.median(times):.0f} ms, slowest {times[-1]:.0f} ms")
    _verdict("  99 of 100 within", f"{late:.0f} ms", f"{KEY_TARGET_MS:g} ms", late <= KEY_TARGET_MS)


def _verdict(what: str, found: str, target: str, met: bool) -> None:
    print(f"{what}: {found}, target {target}: {'met' if met else 'MISSED'}", flush=True)
