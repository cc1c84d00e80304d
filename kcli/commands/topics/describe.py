"""``kcli topics describe``: show partitions, offsets and configuration."""

from typing import Any

import click

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import TOPIC


@command(
    "describe",
    exits={6: "some of the named topics do not exist"},
    examples=(
        ("kcli topics describe orders", "partitions, leaders, replicas, offsets"),
        (
            "kcli topics describe orders payments -o json",
            "for scripts: one item a topic, with its configuration",
        ),
        ("kcli topics describe --unavailable", "the partitions of all topics that have no leader"),
        ("kcli topics describe --match 'orders*' --under-replicated", "where replicas are not in sync"),
    ),
)
@click.argument("names", nargs=-1, type=TOPIC, metavar="[TOPIC…]")
@click.option("--match", metavar="GLOB", help="all topics whose names match this shell pattern")
@click.option(
    "--under-replicated",
    is_flag=True,
    help="only partitions with fewer replicas in sync than they should have",
)
@click.option("--unavailable", is_flag=True, help="only partitions without a leader")
@pass_invocation
def describe_topics(inv: Invocation, /, **flags: Any) -> int:
    """Show the partitions, offsets and configuration of topics.

    A line per partition; LOG-START and END are its first offset and the one that the next record gets.

    The configuration is what was set on the topic itself, where it differs from the brokers' defaults.
    --under-replicated and --unavailable apply to all topics, internal ones too, unless some are named; with both, a
    partition that is either is shown. Exit code 6 where offsets cannot be shown, for example because a partition has
    no leader.
    """
    from kcli.commands.topics import _tables as run  # clients are loaded when the command runs

    return run.describe_topics(inv, **flags)
