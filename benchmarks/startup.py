"""Start-up: CPU time of whole processes, as ratios to an interpreter that only imports click: what says its version,
and short commands on a fake cluster, which runs in this process and is not counted.

Not wall time: CPU time is what repeats on a machine that does other things as well.
"""

import resource
import statistics
import subprocess
import sys
from importlib.util import find_spec
from shutil import which

from benchmarks import _kafka_tools as kafka
from benchmarks._short_commands import COMMANDS, INPUT, cluster
from benchmarks._table import Table

RUNS = 15

YARDSTICK = "import click"


def contenders(bootstrap: str) -> dict[str, list[str] | None]:
    """The command lines; None where the tool is not installed."""
    kcat, kcl = which("kcat"), which("kcl")
    java = kafka.tool(kafka.CONSUMER_GROUPS)
    found: dict[str, list[str] | None] = {
        "bare Python": [sys.executable, "-I", "-c", "pass"],
        YARDSTICK: [sys.executable, "-c", "import click"],
        **{
            f"kcli {name}": [
                sys.executable,
                "-m",
                "kcli",
                "-b",
                bootstrap,
                *words,
            ]
            for name, words in COMMANDS.items()
        },
        "kcat -V": [kcat, "-V"] if kcat else None,
        "kcl version": [kcl, "version"] if kcl else None,
        "kafka-consumer-groups.sh --version": [*java, "--version"] if java else None,
    }
    for name, module in (
        ("confluent-kafka", "confluent_kafka"),
        ("kafka-python", "kafka"),
        ("aiokafka", "aiokafka"),
    ):
        there = find_spec(module) is not None
        found[f"import of {name}"] = [sys.executable, "-c", f"import {module}"] if there else None
    return found


def cpu_ms(argv: list[str]) -> float:
    """User and system time of one run, in ms. A run that fails raises: it must not look fast."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, check=True, input=INPUT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)


def main() -> list[Table]:
    """Measures in turn, prints and returns the table."""
    with cluster() as bootstrap:
        return _measured(contenders(bootstrap))


def _measured(found: dict[str, list[str] | None]) -> list[Table]:
    there = {name: argv for name, argv in found.items() if argv is not None}
    for argv in there.values():  # compiles, and warms the page cache
        cpu_ms(argv)
    # Round by round, so that a slow moment of the machine meets all of them.
    samples: dict[str, list[float]] = {name: [] for name in there}
    for _ in range(RUNS):
        for name, argv in there.items():
            samples[name].append(cpu_ms(argv))
    medians = {name: statistics.median(values) for name, values in samples.items()}
    table = Table(
        f"start-up, median CPU time of {RUNS} runs, Python {sys.version.split()[0]}",
        ["", "CPU ms", f"× {YARDSTICK!r}"],
        [[name, f"{median:.1f}", f"{median / medians[YARDSTICK]:.2f} ×"] for name, median in medians.items()],
        [f"{name}: not measured, it is not installed" for name in found if name not in there],
    )
    print(table.plain())
    return [table]
