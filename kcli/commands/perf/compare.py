"""``kcli perf compare``: compares the runs of two files, prints what differs, and judges limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation, stdin_is_terminal
from kcli.commands.shared.options import REPORT_KINDS, option
from kcli.commands.shared.params import Word
from kcli.commands.shared.row_output import print_rows
from kcli.commands.shared.usage import usage
from kcli.core.errors import ConfigError
from kcli.flows.perf.change_limits import exceeded_changes, parse_change_limit, parse_percent
from kcli.flows.perf.circumstances import Unlike, unlike
from kcli.flows.perf.compare import (
    FEWEST_INTERVALS,
    NO_DIFFERENCE,
    NOT_MEASURED,
    Difference,
    differences,
    intervals_missing,
)
from kcli.flows.perf.limits import Limit, LimitError
from kcli.flows.perf.reports import STDIN, read_runs
from kcli.flows.perf.series import Series
from kcli.output.progress import counted
from kcli.output.tables import Column

LIMIT = Word("condition", parse_change_limit)
PERCENT = Word("percentage", parse_percent)
COLUMNS = (
    Column("metric", values="string", meaning="Which figure."),
    Column("unit", values="string", meaning="Its unit."),
    Column("before", "number", values="number?", meaning="The first run's; null where it was not measured."),
    Column("after", "number", values="number?", meaning="The second run's."),
    Column(
        "change_percent",
        "number",
        values="number?",
        meaning="Change from the first to the second, in percent.",
    ),
    Column("low_percent", "number", values="number?", meaning="The lower end of its confidence interval."),
    Column("high_percent", "number", values="number?", meaning="The upper end."),
    Column(
        "verdict",
        values="string",
        meaning="no difference, not measured, or the word for its rise or fall: slower, for example.",
    ),
)
HEAD = (
    Column(
        "test",
        values=("produce", "consume", "e2e"),
        meaning="Which test.",
    ),
    Column("threshold_percent", values="number", meaning="Changes up to this are no difference."),
    Column("runs_before", values="count", meaning="Runs of the first set."),
    Column("runs_after", values="count", meaning="Runs of the second set."),
    Column("unlike", values="objects", meaning="Circumstances in which the runs differ."),
)


@command(
    "compare",
    exits={8: "a condition of --fail-if is true with certainty"},
    outputs=REPORT_KINDS,
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
@option(
    "--threshold",
    type=PERCENT,
    default="5%",
    metavar="PERCENT",
    help="smaller changes are no difference, however certain (default: 5%)",
)
@option(
    "--fail-if",
    "fail_if",
    type=LIMIT,
    multiple=True,
    metavar="CONDITION",
    help="exit with 8 if a change is beyond this with certainty, as 'rate<-5%', 'p99>10%' or 'cpu>10%'; repeatable",
)
@pass_invocation
def compare(inv: Invocation, before: str, after: str, threshold: float, fail_if: tuple[Limit, ...]) -> int:
    """Compare two runs of a test: rate, latency and CPU time.

    BEFORE and AFTER are what `kcli perf … -o json` has written; - is stdin. A file may hold several runs. Latencies
    are those from the intended times.

    A difference is reported if its 95 % confidence interval does not include 0 and it is at least --threshold: a
    machine is never twice the same, and one run on each side does not show by how much. What differs in
    configuration, versions and host is listed.
    """
    if before == after == STDIN:
        raise usage(
            "perf compare: both runs are to be read from stdin",
            why="stdin can be read once",
            do="name a file for one of them",
        )
    if STDIN in (before, after) and stdin_is_terminal():
        inv.talk.note("reading a report from the terminal; end with Ctrl-D …")
    ones, others = _runs(before), _runs(after)
    if ones[0].test != others[0].test:
        raise ConfigError(
            f"{before} is of perf {ones[0].test}, {after} of perf {others[0].test}",
            why="only runs of the same test can be compared",
            do="compare two runs of the same command",
        )
    found = differences(ones, others, threshold)
    others_unlike = unlike(ones[0].item, others[0].item)
    head = {
        "test": ones[0].test,
        "threshold_percent": round(threshold * 100, 3),
        "runs_before": len(ones),
        "runs_after": len(others),
        "unlike": [row._asdict() for row in others_unlike],
    }
    print_rows(inv, "PerfComparison", COLUMNS, map(_row, found), item="PerfDifference", head=head)
    within = (*_unlike_within(before, ones), *_unlike_within(after, others))
    for line in (*within, *_unlike_lines(others_unlike), *map(sentence, found)):
        inv.talk.note(line)
    for text in exceeded_changes(fail_if, found):
        inv.failed(LimitError("compare", text))
    return inv.finish(done=True)


def _runs(path: str) -> Sequence[Series]:
    """Those of a file, all of one test and long enough."""
    found = read_runs(path)
    if len({run.test for run in found}) > 1:
        raise ConfigError(
            f"{path} has runs of different tests",
            why="only runs of the same test can be compared",
            do="keep the runs of produce, consume and e2e in files of their own",
        )
    for run in found:
        if intervals_missing(run):
            seconds = sum(step.seconds for step in run.steps)
            length = max((step.seconds for step in run.steps), default=0.1)
            raise ConfigError(
                f"a run in {path} is too short to be compared: {counted(len(run.steps), 'interval')} in {seconds:.1f} s",
                why=f"a confidence interval needs at least {FEWEST_INTERVALS}",
                do=f"run it for {max(5, FEWEST_INTERVALS * length):.0f} s or more; 30 s find smaller changes",
            )
    return found


def _row(one: Difference) -> dict[str, Any]:
    return {
        "metric": one.metric,
        "unit": one.unit,
        "before": _figure(one.before),
        "after": _figure(one.after),
        "change_percent": _percent(one.change),
        "low_percent": _percent(one.low),
        "high_percent": _percent(one.high),
        "verdict": one.verdict,
    }


def _figure(value: float | None) -> float | None:
    return None if value is None else round(value, 1 if value >= 100 else 3)


def _percent(share: float | None) -> float | None:
    return None if share is None else round(share * 100, 2)


def sentence(one: Difference) -> str:
    """``rate: slower by 10.2 % (8.1 … 12.4)``, or ``rate: no difference (-1.2 … 2.3 %)``."""
    if one.change is None or one.low is None or one.high is None:
        few = "too few records, or none of both" if one.metric.startswith("p") else "not in both runs"
        return f"{one.metric}: {NOT_MEASURED} ({few})"
    if one.verdict == NO_DIFFERENCE:
        return f"{one.metric}: {NO_DIFFERENCE} ({100 * one.low:+.1f} … {100 * one.high:+.1f} %)"
    near, far = sorted((abs(one.low), abs(one.high)))
    return (
        f"{one.metric}: {one.verdict} by {100 * abs(one.change):.1f} % ({100 * near:.1f} … {100 * far:.1f})"
    )


def _unlike_within(path: str, runs: Sequence[Series]) -> list[str]:
    """What the runs of one file do not have in common: then they are no repetitions of one test."""
    rows = {row.what: row for run in reversed(runs[1:]) for row in unlike(runs[0].item, run.item)}
    return [
        f"not the same within {path}: {row.what}: {_text(row.before)} and {_text(row.after)}"
        for row in rows.values()
    ]


def _unlike_lines(found: Sequence[Unlike]) -> list[str]:
    return [f"not the same: {row.what}: {_text(row.before)} and {_text(row.after)}" for row in found]


def _text(value: object) -> str:
    return "-" if value is None else str(value)
