"""From the start of a process to its first record as the only member of a new group: kcli beside the other tools.

One real broker whose ``group.initial.rebalance.delay.ms`` is 0, one topic with a record in each of three partitions;
the tools take turns. ``KCLI_BENCH_ROUNDS`` (5) chooses.
"""

from __future__ import annotations

import os
import select
import statistics
import subprocess
import time

from benchmarks._measure import FailedRunError, create_topic, environment, machine
from benchmarks._pipes import TOOLS, Command
from benchmarks._table import Table
from kcli.core import Producer
from kcli.core.types import ProducerRecord
from kcli.sandbox.sandbox import Sandbox
from kcli.sandbox.settings import Settings

ROUNDS = int(os.environ.get("KCLI_BENCH_ROUNDS", "5"))
TOPIC, PARTITIONS = "group-start", 3
_PATIENCE = 60.0  # seconds for the first record


def main() -> list[Table]:
    """Starts a broker, runs the rounds, prints and returns the table."""
    print(f"machine: {machine()}", flush=True)
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in TOOLS}
    sandbox = Sandbox(f"group-start-{os.getpid()}")
    status = sandbox.up(Settings(port=0, ephemeral=True, die_with_parent=True))
    try:
        create_topic(status.bootstrap, TOPIC, PARTITIONS)
        with Producer(bootstrap_servers=status.bootstrap) as producer:
            for partition in range(PARTITIONS):
                producer.send(ProducerRecord(TOPIC, b"first", partition=partition)).result(_PATIENCE)
        for number in range(ROUNDS):
            for name, tool in TOOLS.items():
                argv = tool.member(status.bootstrap, TOPIC, f"{name}-{number}".replace(" ", "-"))
                if argv is not None:
                    found[name].append(first_record(argv))
    finally:
        sandbox.down(delete=True)
    rows = [
        [name, *(f"{1000 * statistics.median(column):.0f}" for column in zip(*rounds, strict=True))]
        for name, rounds in found.items()
        if rounds
    ]
    notes = [f"{name}: not measured, it is not installed" for name, rounds in found.items() if not rounds]
    title = f"first record as a member of a new group, medians of {ROUNDS} rounds"
    table = Table(title, ["", "ms", "CPU ms"], rows, notes)
    print(table.plain())
    return [table]


def first_record(argv: Command) -> tuple[float, float]:
    """Seconds until the first byte on stdout, and of CPU until the process has been killed then."""
    assert argv is not None
    began = time.monotonic()
    with subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, bufsize=0, env=environment()
    ) as process:
        assert process.stdout is not None
        there = select.select([process.stdout], [], [], _PATIENCE)[0] and process.stdout.read(1)
        took = time.monotonic() - began
        process.kill()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if not there:
        raise FailedRunError(f"{argv[0]}: no record within {_PATIENCE:g} s")
    return took, usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
