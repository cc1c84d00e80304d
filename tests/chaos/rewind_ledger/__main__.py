"""Draws cells, runs some of them at a time on one broker, and prints what came of them.

The exit status is 1 when a partition was falsely reported as held, when a rewind hung, or when too many are unknown.
"""

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from tests.chaos.rewind_ledger import report
from tests.chaos.rewind_ledger.cells import Cell, draw
from tests.chaos.rewind_ledger.flow import Flow
from tests.chaos.rewind_ledger.run import PYTHON_KCLI, Outcome, run_cell
from tests.kafka import QUICK_JVM, Kafka, sandboxed

BROKER = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": "10000",
}
"""The heartbeats of KIP-848 keep the broker's own interval of 5 s."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="rewind_ledger", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cells", type=int, default=200, help="how many (200)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first (0)")
    parser.add_argument("--only", help="numbers of cells of this seed: 3,17")
    parser.add_argument("--jobs", type=int, default=6, help="how many run at a time (6)")
    parser.add_argument("--port", type=int, default=0, help="of the broker (a free one)")
    parser.add_argument("--kcli", help="the kcli to judge (this tree's)")
    parser.add_argument("--keep", type=Path, help="a folder for everything that was heard, a file a cell")
    parser.add_argument("--list", action="store_true", help="print the cells and run none")
    chosen = parser.parse_args(arguments)
    numbers = (
        [int(word) for word in chosen.only.split(",")]
        if chosen.only
        else range(chosen.first, chosen.first + chosen.cells)
    )
    cells = [draw(chosen.seed, number) for number in numbers]
    if chosen.list:
        print(*(f"{chosen.seed}:{cell.number} [{cell}]" for cell in cells), sep="\n")
        return 0
    kcli = (chosen.kcli,) if chosen.kcli else PYTHON_KCLI
    with sandboxed(extra=BROKER, port=chosen.port, jvm_options=QUICK_JVM) as kafka:
        outcomes = run_cells(kafka, chosen.seed, cells, kcli, jobs=chosen.jobs, keep=chosen.keep)
    print(*report.summary(outcomes), sep="\n")
    complaints = report.complaints(outcomes)
    print(*complaints or ["no false claim"], sep="\n")
    return 1 if complaints else 0


def run_cells(
    kafka: Kafka,
    seed: int,
    cells: Sequence[Cell],
    kcli: Sequence[str] = PYTHON_KCLI,
    *,
    jobs: int,
    keep: Path | None = None,
) -> list[Outcome]:
    """In the order in which they end; each is printed."""
    outcomes = []
    with Flow(kafka.bootstrap) as flow, ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(run_cell, kafka, flow, cell, kcli, keep) for cell in cells]
        for future in as_completed(futures):
            outcomes.append(future.result())
            print(report.line(seed, outcomes[-1]), flush=True)
    return outcomes


if __name__ == "__main__":
    sys.exit(main())
