"""Commands on a cluster of 100,000 partitions, 10,000 groups and 1,000 brokers, and on a tenth and a third of it.

The clusters are simulated (``_large_cluster``), each in a process of its own: what is measured is kcli, whole processes,
one at a time. ``KCLI_BENCH_SHARES`` (0.1,0.33,1) are the sizes; ``KCLI_BENCH_ONLY`` (a part of a command) chooses.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks._large_cluster import MEMBERS, OF_A_TOPIC, Size
from benchmarks._measure import Cost, Run, measure
from benchmarks._table import Table
from benchmarks.top import Terminal

SHARES = [float(share) for share in os.environ.get("KCLI_BENCH_SHARES", "0.1,0.33,1").split(",")]
ONLY = os.environ.get("KCLI_BENCH_ONLY", "")
TOP = "top, until it shows all groups"
BOOT, PAGE = "BOOT", "PAGE"
COMMANDS = (
    "topics list -o tsv",
    "topics describe topic-001",
    "topics describe --match * -o tsv",
    "consume topic-001 -n 1 --offset 0",
    "groups list -o tsv",
    "groups lag -o tsv",
    "groups lag group-00003",
    "groups describe --all -o tsv",
    "cluster describe",
    "doctor",
    f"exporter --interval 10m --textfile {PAGE}",
    rf"mirror --from {BOOT} --to {BOOT} -t * --map-topic ^(.*)$=copy.\1 --dry-run",
)
_PATIENCE = ["--timeout", "600"]
_FLAT = 0.15  # CPU seconds: less is noise, and starts
Counts = dict[str, int]


def words(command: str, bootstrap: str, page: Path) -> list[str]:
    """The command line after ``kcli``."""
    places = {BOOT: bootstrap, PAGE: str(page)}
    found = [places.get(word, word) for word in command.split()]
    return [*([] if found[0] == "mirror" else ["-b", bootstrap]), *found, *_PATIENCE]


class Simulated:
    """A cluster in its own process."""

    def __init__(self, share: float) -> None:
        argv = [sys.executable, "-m", "benchmarks._large_cluster", str(share)]
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.bootstrap = self._line()

    def counts(self) -> Counts:
        """What arrived since the last call."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        found: Counts = json.loads(self._line())
        return found

    def close(self) -> None:
        """Waits for its end."""
        self._process.communicate()

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        if not line:
            raise ChildProcessError("the simulated cluster has ended")
        return line


@contextmanager
def simulated(share: float) -> Iterator[Simulated]:
    """Closed at the end."""
    cluster = Simulated(share)
    try:
        yield cluster
    finally:
        cluster.close()


@dataclass(slots=True)
class Measured:
    """A command at each size, the smallest first."""

    costs: list[Cost] = field(default_factory=list)
    counts: list[Counts] = field(default_factory=list)

    def cells(self) -> list[str]:
        """Of the table."""
        first, last = self.costs[0], self.costs[-1]
        requests = sum(n for name, n in self.counts[-1].items() if name not in ("connections", "open"))
        cpu = [f"{cost.cpu:.2f}" for cost in self.costs]
        sizes = [f"{first.resident_mb:.0f}", f"{last.resident_mb:.0f}"]
        return [
            *cpu,
            growth([cost.cpu for cost in self.costs]),
            *sizes,
            f"{requests:,}",
            f"{self.counts[-1]['open']:,}",
        ]


def growth(cpu: list[float]) -> str:
    """How much more the last step cost than the first, for each thing added: 1.0 is linear, and start-up falls out."""
    if len(cpu) < 3 or cpu[-1] - cpu[0] < _FLAT:
        return "flat" if cpu[-1] - cpu[0] < _FLAT else "-"
    early = (cpu[1] - cpu[0]) / (SHARES[1] - SHARES[0])
    late = (cpu[-1] - cpu[1]) / (SHARES[-1] - SHARES[1])
    return f"{late / early:.2f}" if early > 0 else "-"


def main() -> list[Table]:
    """Measures each size, prints and returns the table."""
    found: dict[str, Measured] = {}
    with tempfile.TemporaryDirectory(prefix="kcli-scale-") as folder:
        for share in SHARES:
            with simulated(share) as cluster:
                for command in (*COMMANDS, TOP):
                    if ONLY not in command:
                        continue
                    cost = _top(cluster, share) if command == TOP else _cost(cluster, command, Path(folder))
                    one = found.setdefault(command, Measured())
                    one.costs.append(cost)
                    one.counts.append(cluster.counts())
                    print(f"{share:g} {command}: {cost}, {one.counts[-1]}", flush=True)
    size = Size.of(SHARES[-1])
    table = Table(
        f"a simulated cluster of {size.partitions:,} partitions, {size.groups:,} groups and {size.brokers:,} brokers, "
        f"and {' and '.join(f'{share:g}' for share in SHARES[:-1])} of it",
        ["kcli", *(f"CPU s, {share:g}" for share in SHARES), "growth", f"MB, {SHARES[0]:g}", f"MB, {SHARES[-1]:g}",
         "requests", "connections"],
        [[_shown(command), *one.cells()] for command, one in found.items()],
        [
            f"Topics have {OF_A_TOPIC} partitions, groups {MEMBERS} members and a commit in {OF_A_TOPIC} partitions. "
            "growth: CPU time for each thing that the second step adds, as a multiple of that of the first: 1 is "
            "linear. requests, and connections open at once: at the largest size."
        ],
    )  # fmt: skip
    print(table.plain())
    return [table]


def _shown(command: str) -> str:
    """Without the names of this run."""
    return f"`{command.replace(BOOT, 'HOST').replace(PAGE, 'FILE')}`" if command != TOP else command


def _cost(cluster: Simulated, command: str, folder: Path) -> Cost:
    line = words(command, cluster.bootstrap, folder / "page.prom")
    codes = (0, 6) if command.startswith("exporter") else (0,)  # its page is full, and says so
    return measure(Run([sys.executable, "-m", "kcli", *line], 0, codes=codes))


def _top(cluster: Simulated, share: float) -> Cost:
    terminal = Terminal(
        [sys.executable, "-m", "kcli", "-b", cluster.bootstrap, "top", *_PATIENCE], patience=600
    )
    terminal.wait(lambda: terminal.has(f"{Size.of(share).groups:,} groups"))
    terminal.wait(lambda: terminal.marked() is not None)
    cost = Cost(terminal.cpu(), 0.0, terminal.memory())
    terminal.quit()
    return cost
