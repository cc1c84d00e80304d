"""``kcli pipeline verify``: compare topics of two clusters, and repair what differs."""

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import click

from kcli.commands.pipeline.jobs import (
    READS,
    TaskOptions,
    chosen_runner,
    cluster_of,
    job_options,
    print_report,
    runner_of,
    wanted_range,
)
from kcli.commands.shared.command import command, options
from kcli.commands.shared.confirm import confirm
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.from_dir import from_dir_option
from kcli.commands.shared.options import REPORT_KINDS, option
from kcli.commands.shared.params import exact_times_option, since_option, until_option
from kcli.commands.shared.shown import Shown
from kcli.commands.shared.sides import Side, source_side
from kcli.commands.shared.two_clusters import (
    check_excludes,
    exclude_option,
    from_option,
    map_topic_option,
    to_option,
    topics_option,
)
from kcli.commands.shared.usage import usage
from kcli.core.classes import dataclass
from kcli.flows.stop import Stop
from kcli.output.listing import DOCUMENTS
from kcli.output.progress import counted

LEVELS = ("offsets", "digest", "records")


def _changes(params: Mapping[str, Any]) -> bool:
    return bool(params["repair"])


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyOptions:
    """One field an option of the command line; ``source`` and ``target`` are the values of ``--from`` and ``--to``."""

    source: str | None
    target: str
    topics: tuple[str, ...]
    excludes: tuple[str, ...]
    renames: tuple[str, ...]
    since: int | None
    until: int | None
    exact_times: bool
    level: str
    compacted: bool
    repair: bool
    tasks: TaskOptions

    def check(self) -> None:
        """Usage errors for options that contradict each other."""
        check_excludes("pipeline verify", self.topics, self.excludes)
        if self.exact_times and self.repair:
            raise usage(
                "kcli pipeline verify: --exact-times with --repair",
                why="what is repaired is the end of a partition, and not what has certain times",
                do="leave one of them out",
            )
        chosen_ones = {"compacted": self.compacted, "repair": self.repair, "exact-times": self.exact_times}
        for name, chosen in chosen_ones.items():
            if self.level == "offsets" and chosen:
                raise usage(
                    f"kcli pipeline verify: --{name} with --level offsets",
                    why="no record is read at that level",
                    do="leave one of them out",
                )


@command(
    "verify",
    changes=_changes,
    exits={8: "the topics differ"},
    reads=READS,
    outputs=REPORT_KINDS,
    examples=(
        ("kcli pipeline verify --from a:9092 --to b:9092 -t orders", "are all records equal, and in order?"),
        (
            "kcli pipeline verify --from a:9092 --to b:9092 -t '^orders-.*' --level records",
            "which records differ, and in what",
        ),
        (
            "kcli pipeline verify --from a:9092 --to b:9092 -t users --compacted",
            "compare the last record of each key",
        ),
        (
            "kcli pipeline verify --from a:9092 --to b:9092 -t users --compacted --repair",
            "and write those that differ",
        ),
    ),
)
@options(
    "What to compare",
    from_option("right", required=False),
    from_dir_option("compare with"),
    to_option("compared with it", required=True),
    topics_option("compare", required=True),
    exclude_option("compare"),
    map_topic_option("topic A is called B on the target"),
    since_option("only records from TIME on: 3h (ago), an ISO date, an epoch"),
    until_option("only records before TIME"),
    exact_times_option(),
)
@options(
    "How to compare",
    option(
        "--level",
        type=click.Choice(LEVELS),
        default="digest",
        help="offsets: numbers of offsets only, nothing is read; digest: all records, by digests; records: also name the "
        "first ten that differ, are missing or too many, with their keys (default: digest)",
    ),
    option(
        "--compacted",
        is_flag=True,
        help="compare the last record of each key, whatever compaction has removed before it",
    ),
    option(
        "--repair",
        is_flag=True,
        help="write to the target what it lacks: records at the end of a partition; with --compacted last records "
        "of keys",
    ),
)
@job_options
@pass_invocation
def verify(inv: Invocation, /, **given: Any) -> int:
    """Compare topics of two clusters, partition by partition.

    Records are equal if key, value, headers and timestamp are, and if they are in the same order; offsets may differ.
    The ends of the partitions are fixed at the start. A record of the source that the target does not have yet is a
    difference, and so is one too many. Exit code 8 if anything differs.

    A topic that is compacted differs between clusters, since each compacts on its own: --compacted compares the last
    record of each key instead, and a deleted key is the same as none.
    """
    asked = VerifyOptions(**given)
    asked.check()
    # Clients are loaded when the command runs.
    from kcli.pipeline.drivers.verify import COLUMNS, RepairPlan, Verify, with_text_cells

    reads = asked.level != "offsets"  # which reads no record, so it has no tasks
    tasks = chosen_runner(inv, asked.tasks, "verify") if reads else asked.tasks
    here = source_side(inv, asked.source)
    there = Side(inv, "--to", asked.target, changes=asked.repair)
    sides = cluster_of(inv, here), cluster_of(inv, there)
    exact = asked.exact_times
    spec = wanted_range("verify", since=asked.since, until=asked.until, exact_times=exact)
    driver = Verify(
        *sides,
        Shown(inv),
        level=asked.level,
        compacted=asked.compacted,
        times=spec.times if exact else None,
    )
    driver.pin(asked.topics, asked.excludes, asked.renames, spec)

    def may_repair(plan: RepairPlan) -> bool:
        names = plan.topics
        return confirm(inv, plan.text, f"Write to {', '.join(names)}?", name=names[0], among=names)

    with Stop() as stop, ExitStack() as stack:
        if reads:
            runner = stack.enter_context(runner_of(inv, tasks))
            report = driver.compare(runner, stop, may_repair if asked.repair else None)
        else:
            report = driver.compare_offsets()
        equal = sum(item.get("equal") is True for item in report.items)
        if inv.out.list_kind() not in DOCUMENTS:
            report = with_text_cells(report, exact=reads and driver.is_exact)
        return print_report(
            inv,
            report,
            COLUMNS,
            stop,
            command="verify",
            runner=tasks.runner if reads else "inline",
            cluster=driver.cluster,
            title=f"{equal} of {counted(len(report.items), 'partition')} equal; compared",
        )
