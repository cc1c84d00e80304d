"""``kcli perf compare``: the options. What it does is in ``_compare_run.py``."""

from typing import Any

import click

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import OUTPUT_KINDS
from kcli.commands.shared.params import Word
from kcli.commands.shared.usage import usage
from kcli.flows.perf.change_limits import parse_change_limit, parse_percent

LIMIT = Word("condition", parse_change_limit)
PERCENT = Word("percentage", parse_percent)


@command(
    "compare",
    exits={8: "a condition of --fail-if is true with certainty"},
    outputs=[kind for kind in OUTPUT_KINDS if kind != "name"],
    examples=(
        ("kcli perf compare before.json after.json", "which figures differ, and by how much"),
        (
            "kcli perf compare before.json after.json --fail-if 'rate<-5%' --fail-if 'p99>10%'",
            "for a pipeline: exit code 8 if it became slower",
        ),
        (
            "for i in 1 2 3; do kcli perf produce -t load --duration 30s -o ndjson >> after.ndjson; done",
            "several runs in a file: the differences between them count, too",
        ),
    ),
)
@click.argument("before", metavar="BEFORE")
@click.argument("after", metavar="AFTER")
@click.option(
    "--threshold",
    type=PERCENT,
    default="5%",
    metavar="PERCENT",
    help="smaller changes are no difference, however certain (default: 5%)",
)
@click.option(
    "--fail-if",
    "fail_if",
    type=LIMIT,
    multiple=True,
    metavar="CONDITION",
    help="exit with 8 if a change is beyond this with certainty, as 'rate<-5%', 'p99>10%' or 'cpu>10%'; repeatable",
)
@pass_invocation
def compare(inv: Invocation, /, before: str, after: str, **flags: Any) -> int:
    """Compare two runs of a test: rate, latency and CPU time.

    BEFORE and AFTER are what `kcli perf … -o json` has written; - is stdin. A file may hold several runs. Latencies
    are those from the intended times.

    A difference is reported if its 95 % confidence interval does not include 0 and it is at least --threshold: a
    machine is never twice the same, and one run on each side does not show by how much. What differs in
    configuration, versions and host is listed.
    """
    if before == after == "-":
        raise usage(
            "perf compare: both runs are to be read from stdin",
            why="stdin can be read once",
            do="name a file for one of them",
        )
    from kcli.commands.perf._compare_run import run  # not for --help

    return run(inv, before, after, flags)
