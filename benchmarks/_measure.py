"""Runs commands in turn and compares them: client CPU and wall time, medians, ratios to a reference. Whole processes."""

from __future__ import annotations

import os
import platform
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks._table import Table


@dataclass(frozen=True, slots=True)
class Run:
    """One process as a user starts it. ``records`` it moves; ``stdin`` is a file, stdout goes nowhere or to a file."""

    argv: Sequence[str]
    records: int
    stdin: Path | None = None
    environ: dict[str, str] = field(default_factory=dict)
    stdout: Path | None = None
    codes: tuple[int, ...] = (0,)


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of user and system time of the process and its children, and of the clock on the wall; the largest resident
    size of the process in MB.
    """

    cpu: float
    wall: float
    resident_mb: float = 0.0


class FailedRunError(Exception):
    """A contender ended with an error: its figure would mean nothing."""


def measure(run: Run) -> Cost:
    """Runs it to its end. Raises FailedRunError with the end of its stderr."""
    with open(run.stdin or os.devnull, "rb") as stdin, open(run.stdout or os.devnull, "wb") as stdout:
        started = time.monotonic()
        process = subprocess.Popen(
            run.argv,
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
            env={**environment(), **run.environ},
        )
        assert process.stderr is not None
        said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stderr.close()
    if process.returncode not in run.codes:
        raise FailedRunError(f"{run.argv[0]} ended with {process.returncode}: {said.decode()[-500:]}")
    return Cost(usage.ru_utime + usage.ru_stime, time.monotonic() - started, usage.ru_maxrss / 1_000)


@dataclass(slots=True)
class Contest:
    """Contenders for one job. ``make`` gives the run of a contender, None when it is not here to be measured.

    ``target`` is the wanted ratio of kcli's records per CPU-second to those of ``against``; ``first`` is the number of
    the contender that begins the next round.
    """

    name: str
    contenders: dict[str, Callable[[], Run | None]]
    against: str
    target: float | None = None
    kcli: str = "kcli"
    costs: dict[str, list[Cost]] = field(default_factory=dict)
    records: dict[str, int] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)
    first: int = 0

    def round(self) -> None:
        """Every contender once, in turn; each round begins with the next one, as the first finds an idle disk."""
        turns = list(self.contenders.items())
        first = self.first % len(turns)
        self.first += 1
        for name, make in turns[first:] + turns[:first]:
            run = make()
            if run is None:
                if name not in self.absent:
                    self.absent.append(name)
                continue
            self.records[name] = run.records
            self.costs.setdefault(name, []).append(measure(run))

    def rate(self, name: str) -> float:
        """Records per CPU-second, the median of the rounds."""
        return self.records[name] / max(1e-9, statistics.median(cost.cpu for cost in self.costs[name]))

    def wall_rate(self, name: str) -> float:
        """Records per second on the wall, the median of the rounds."""
        return self.records[name] / max(1e-9, statistics.median(cost.wall for cost in self.costs[name]))

    @property
    def ratio(self) -> float | None:
        """kcli's records per CPU-second, as a multiple of those of ``against``; None where either is missing."""
        if self.kcli not in self.costs or self.against not in self.costs:
            return None
        return self.rate(self.kcli) / self.rate(self.against)

    def table(self) -> Table:
        """Records per CPU-second and per second, and both as multiples of ``against``; what is missing, by name."""
        reference = self.against if self.against in self.costs else next(iter(self.costs))
        rows = []
        for name in self.costs:
            rate, wall = self.rate(name), self.wall_rate(name)
            ratios = rate / self.rate(reference), wall / self.wall_rate(reference)
            rows.append(
                [
                    name,
                    f"{rate / 1e6:.3f} M",
                    f"{ratios[0]:.2f} ×",
                    f"{wall / 1e6:.3f} M",
                    f"{ratios[1]:.2f} ×",
                ]
            )
        notes = [f"{name}: not measured, it is not installed" for name in self.absent]
        if self.target is not None:
            ratio = self.ratio
            said = "not measured" if ratio is None else "met" if ratio >= self.target else "MISSED"
            shown = "" if ratio is None else f", is {ratio:.2f} ×"
            notes.append(f"target: {self.target:g} × {self.against}{shown}: {said}")
        heads = ["", "records/CPU-s", f"× {reference}", "records/s", f"× {reference}"]
        return Table(self.name, heads, rows, notes)

    def report(self) -> str:
        """The table, for the terminal."""
        return self.table().plain()


def environment() -> dict[str, str]:
    """That of this process, without the settings of the benchmark itself: kcli would say that it knows none of them.

    Bytecode is kept and output is buffered, as in any installation: without it every start of a Python program compiles
    its sources anew, and every print of a script is a system call.
    """
    left_out = ("KCLI_BENCH_", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED")
    return {name: value for name, value in os.environ.items() if not name.startswith(left_out)}


def create_topic(bootstrap: str, topic: str, partitions: int) -> None:
    """Makes a topic with kcli itself. Raises CalledProcessError."""
    argv = [sys.executable, "-m", "kcli", "-b", bootstrap, "topics", "create", topic]
    subprocess.run([*argv, "--partitions", str(partitions), "-q"], check=True, env=environment())


def machine() -> str:
    """What the figures were measured on."""
    model = "unknown processor"
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [
            line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line
        ]
        model = names[0] if names else model
    load, kernel = os.getloadavg()[0], platform.release().partition("-")[0]
    return (
        f"{os.cpu_count()} × {model}, {platform.system()} {kernel}, "
        f"Python {platform.python_version()}, load {load:.1f} at the start"
    )


def version_of(argv: Sequence[str], line: int = 0) -> str:
    """The line of its own version that a tool prints."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    except OSError:
        return "not installed"
    said = [text for text in (done.stdout + done.stderr).splitlines() if text.strip()]
    return said[min(line, len(said) - 1)].strip() if said else "says nothing"


def version_of_kcat() -> str:
    """With that of librdkafka, without what either was built with."""
    said = version_of(["kcat", "-V"], 3)
    found = re.search(r"Version (\S+) .*librdkafka (\S+)", said)
    return f"{found[1]} (librdkafka {found[2]})" if found else said
