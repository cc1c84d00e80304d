"""``kcli groups lag``: show how far groups are behind. Its options; what it shows: ``_measuring.py``."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from kcli.commands.groups._options import empty_group_option, internal_option
from kcli.commands.groups.lag_options import LagOptions
from kcli.commands.shared.cluster import connect, open_admin
from kcli.commands.shared.command import command, options
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import (
    DURATION,
    GROUP,
    LIKE_A_DURATION,
    OUTPUT_KINDS,
    TOPIC,
    AttachedOption,
    CountType,
    option,
)
from kcli.commands.shared.params import RECORDED_TIME


@command(
    "lag",
    exits={
        1: "a named group does not exist, or none matches that a limit is for",
        8: "a limit is exceeded: --max-lag, --max-lag-time",
    },
    outputs=(*OUTPUT_KINDS, "openmetrics"),
    examples=(
        ("kcli groups lag", "all groups, one line each"),
        ("kcli groups lag billing", "by partition, with the age of the first unread record"),
        ("kcli groups lag billing --watch", "repeat every two seconds, with rates and the time to drain"),
        (
            "kcli groups lag billing --max-lag-time 5m -q",
            "for monitoring: exit code 8 when the lag is larger",
        ),
        ("kcli groups lag --match 'bill*' --only-lagging", "the groups of a pattern that are behind"),
        ("kcli groups lag --by partition -o tsv", "everything, for cut and awk"),
        (
            "kcli groups lag --watch=10s --on-verdict 'sh -c \"jq .why | mail ops\"'",
            "report changes of verdicts",
        ),
        ("kcli groups lag --from-record incident.ndjson --at 02:13", "what the lag was then"),
    ),
)
@click.argument("names", nargs=-1, type=GROUP, metavar="[GROUP…]")
@options(
    "What to show",
    option(
        "--topic", "topics", type=TOPIC, multiple=True, metavar="TOPIC", help="only this topic; repeatable"
    ),
    option("--match", metavar="GLOB", help="all groups whose names match this shell pattern"),
    empty_group_option(),
    internal_option(),
    option("--only-lagging", is_flag=True, help="leave out lines without lag"),
    option(
        "--by",
        type=click.Choice(["group", "topic", "partition", "member"]),
        help="one line for each (default: partition when groups are named, else group)",
    ),
    option(
        "--time",
        type=click.Choice(["exact", "estimate", "off"]),
        help="read lag in time from records, estimate it, or leave it out "
        "(default: exact when groups are named, else off)",
    ),
)
@options(
    "More than once",
    option(
        "-w",
        "--watch",
        cls=AttachedOption,
        bare="2s",
        looks=LIKE_A_DURATION,
        type=DURATION,
        metavar="[=DUR]",
        help="repeat every 2 s, or every DUR",
    ),
    option("--record", metavar="FILE", help="append each sample to FILE, as JSON lines"),
    option(
        "--on-verdict",
        metavar="COMMAND",
        help="with --watch: run COMMAND for each change of a verdict, with a VerdictChange on its stdin",
    ),
    option(
        "--webhook",
        metavar="URL",
        help="with --watch: post each change of a verdict, as a VerdictChange, to URL",
    ),
)
@options(
    "Of a recording",
    option(
        "--from-record",
        metavar="FILE",
        help="show a sample of what --record wrote, or kcli top --record, without a cluster",
    ),
    option(
        "--at",
        type=RECORDED_TIME,
        metavar="TIME",
        help="the last sample at or before TIME, as in 02:13 (default: the last of all)",
    ),
)
@options(
    "Checks",
    option(
        "--max-lag",
        type=CountType(0),
        metavar="N",
        help="exit with 8 when a group is more than N records behind",
    ),
    option(
        "--max-lag-time",
        type=DURATION,
        metavar="DUR",
        help="exit with 8 when a partition is more than DUR behind, as in 5m",
    ),
)
@pass_invocation
def lag(inv: Invocation, /, **given: Any) -> int:
    """Show how far groups are behind.

    Lag in records is the log end offset minus the committed offset. Lag in time is the age of the first unread
    record: `read` from that record, or `interpolated` with --time estimate. A partition that cannot be read has a
    line with a note, and so has one without a commit: its lag is unknown, not 0. Of a share group the lag is what its
    coordinator reports, and the start offset is in COMMITTED.

    VERDICT: ok, slow, stalled, stopped, empty, rebalancing, rewound, held, unread or loss risk; of a group the worst of
    its partitions. Verdicts that need several samples appear only with --watch, which runs until it is interrupted or a
    limit is exceeded, and with --from-record, which has the samples before. With -q there is no table where a limit
    was given, none is exceeded, and all lag is known.
    """
    asked = LagOptions(**given)
    asked.check(inv.values)
    acts = {"--record": asked.record, "--on-verdict": asked.on_verdict, "--webhook": asked.webhook}
    if inv.dry_run and (idle := [option for option, value in acts.items() if value is not None]):
        inv.talk.note(f"--dry-run: nothing is done for {', '.join(idle)}")
        if asked.record is not None:
            from kcli.flows.lag.recording import check_appendable  # only with --record

            check_appendable(asked.record, create=False)
    if asked.watch is None:
        inv.page()
    if asked.from_record is not None:
        from kcli.commands.groups._recorded import show_recorded  # only for a recording

        return show_recorded(inv, asked, asked.from_record)
    with (
        _uncollected(wanted=asked.watch is None and asked.method == "off"),
        open_admin(inv) as admin,
    ):
        named = asked.wanted.groups
        admin.foresee(groups=named, listing=not named, permissions=not named, topics=not named)
        cluster = connect(inv, admin)
        # Not needed to report that no broker is reachable.
        from kcli.commands.groups._measuring import Measuring

        measuring = Measuring(inv, admin, cluster, asked)
        return measuring.once() if asked.watch is None else measuring.watch(asked.watch)


@contextmanager
def _uncollected(*, wanted: bool = True) -> Iterator[None]:
    """Suspends the collector of cyclic garbage, which would search the description of a whole cluster over and over.

    Not for large buffers: what is in a cycle when the block ends remains until the process ends.
    """
    was_on = gc.isenabled()
    if wanted:
        gc.disable()
    try:
        yield
    finally:
        if wanted:
            gc.freeze()  # else the first collection after the block would search it all
        if was_on:
            gc.enable()
