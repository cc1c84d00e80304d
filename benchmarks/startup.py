"""Start-up: CPU time of whole processes, as ratios to an interpreter that only imports click.

Not wall time: CPU time is what repeats on a machine that does other things as well.
"""

import resource
import statistics
import subprocess
import sys

from benchmarks._table import Table

RUNS = 15

YARDSTICK = "import click"
CONTENDERS = {
    "bare Python": ["-I", "-c", "pass"],
    YARDSTICK: ["-c", "import click"],
    "kcli --version": ["-m", "kcli", "--version"],
    "kcli --help": ["-m", "kcli", "--help"],
}


def cpu_ms(arguments: list[str]) -> float:
    """User and system time of one run, in ms. A run that fails raises: it must not look fast."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)


def main() -> list[Table]:
    """Measures in turn, prints and returns the table."""
    for arguments in CONTENDERS.values():  # compiles, and warms the page cache
        cpu_ms(arguments)
    # Round by round, so that a slow moment of the machine meets all of them.
    samples: dict[str, list[float]] = {name: [] for name in CONTENDERS}
    for _ in range(RUNS):
        for name, arguments in CONTENDERS.items():
            samples[name].append(cpu_ms(arguments))
    medians = {name: statistics.median(values) for name, values in samples.items()}
    table = Table(
        f"start-up, median CPU time of {RUNS} runs, Python {sys.version.split()[0]}",
        ["", "CPU ms", f"× {YARDSTICK!r}"],
        [[name, f"{median:.1f}", f"{median / medians[YARDSTICK]:.2f} ×"] for name, median in medians.items()],
    )
    print(table.plain())
    return [table]
