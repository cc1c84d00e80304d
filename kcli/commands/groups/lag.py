"""``kcli groups lag``: the options. What the command does is in ``_lag_run.py``."""

from typing import Any

import click

from kcli.commands.groups._options import empty_group_option, internal_option, with_empty_group
from kcli.commands.shared.cluster import connect, open_admin, unique
from kcli.commands.shared.command import command, options
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.garbage import uncollected
from kcli.commands.shared.options import (
    DURATION,
    GROUP,
    LIKE_A_DURATION,
    OUTPUT_KINDS,
    TOPIC,
    AttachedOption,
    CountType,
)
from kcli.commands.shared.usage import usage

SHORTEST_INTERVAL = 0.1
"""Seconds between two samples, at least."""


@command(
    "lag",
    changes=False,
    exits={8: "a limit is exceeded: --max-lag, --max-lag-time"},
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
    ),
)
@click.argument("names", nargs=-1, type=GROUP, metavar="[GROUP…]")
@options(
    "What to show",
    click.option(
        "--topic", "topics", type=TOPIC, multiple=True, metavar="TOPIC", help="only this topic; repeatable"
    ),
    click.option("--match", metavar="GLOB", help="all groups whose names match this shell pattern"),
    empty_group_option(),
    internal_option(),
    click.option("--only-lagging", is_flag=True, help="leave out lines without lag"),
    click.option(
        "--by",
        type=click.Choice(["group", "topic", "partition", "member"]),
        help="one line for each  [default: partition when groups are named, else group]",
    ),
    click.option(
        "--time",
        type=click.Choice(["exact", "estimate", "off"]),
        help="read lag in time from records, estimate it, or leave it out  "
        "[default: exact when groups are named, else off]",
    ),
)
@options(
    "More than once",
    click.option(
        "-w",
        "--watch",
        cls=AttachedOption,
        bare="2s",
        looks=LIKE_A_DURATION,
        type=DURATION,
        metavar="[=DUR]",
        help="repeat every 2 s, or every DUR",
    ),
    click.option("--record", metavar="FILE", help="append each sample to FILE, as JSON lines"),
)
@options(
    "Checks",
    click.option(
        "--max-lag",
        type=CountType(0),
        metavar="N",
        help="exit with 8 when a group is more than N records behind",
    ),
    click.option(
        "--max-lag-time",
        type=DURATION,
        metavar="DUR",
        help="exit with 8 when a partition is more than DUR behind, as in 5m",
    ),
)
@pass_invocation
def lag(inv: Invocation, /, **flags: Any) -> int:
    """Show how far groups are behind.

    Lag in records is the log end offset minus the committed offset. Lag in time is the age of the first unread
    record: `read` from that record, or `interpolated` with --time estimate. A partition that cannot be read has a
    line with a note.

    VERDICT: ok, slow, stalled, stopped, empty, rebalancing, rewound or loss risk; verdicts that need several samples
    appear only with --watch, which runs until it is interrupted or a limit is exceeded.
    """
    flags["names"] = with_empty_group(flags["names"], flags.pop("empty_group"))
    _check(flags)
    named = bool(flags["names"])
    flags["names"] = unique(flags["names"])
    flags["by"] = flags["by"] or ("partition" if named else "group")
    exact = named or flags["max_lag_time"] is not None
    flags["time"] = flags["time"] or ("exact" if exact else "off")
    once = flags["watch"] is None
    if once:
        inv.page()
    with uncollected(wanted=once and flags["time"] == "off"), open_admin(inv) as admin:
        cluster = connect(inv, admin)
        from kcli.commands.groups._lag_run import LagRun  # not needed to report that no broker is reachable

        run = LagRun(inv, admin, cluster, flags)
        return run.once() if once else run.watch(flags["watch"])


def _check(flags: dict[str, Any]) -> None:
    if flags["names"] and flags["match"] is not None:
        raise usage(
            "groups lag: --match with names of groups",
            why="--match means all groups whose names match",
            do="leave out the names or --match",
        )
    if flags["time"] == "off" and flags["max_lag_time"] is not None:
        raise usage(
            "groups lag: --time off with --max-lag-time",
            why="--time off leaves out the lag in time, which --max-lag-time limits",
            do="leave out --time, or use --max-lag",
        )
    if flags["watch"] is not None and flags["watch"] < SHORTEST_INTERVAL:
        raise usage(
            "groups lag: --watch is too short",
            why=f"each sample sends requests to the brokers; the shortest interval is {SHORTEST_INTERVAL:g} s",
            do="--watch=1s",
        )
