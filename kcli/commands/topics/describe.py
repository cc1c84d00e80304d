"""``kcli topics describe``: show partitions, offsets and configuration."""

from typing import Any

import click

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import TOPIC, option


@command(
    "describe",
    exits={6: "some of the named topics do not exist"},
    examples=(
        ("kcli topics describe orders", "partitions, leaders, replicas, offsets"),
        (
            "kcli topics describe orders payments -o json",
            "for scripts: one item a topic, with its configuration",
        ),
        (
            "kcli topics describe --unavailable -o wide",
            "the partitions without a leader, and who could lead them",
        ),
        ("kcli topics describe --match 'orders*' --under-replicated", "where replicas are not in sync"),
    ),
)
@click.argument("names", nargs=-1, type=TOPIC, metavar="[TOPIC…]")
@option("--match", metavar="GLOB", help="all topics whose names match this shell pattern")
@option("--id", "topic_id", metavar="ID", help="the topic with this id")
@option(
    "--under-replicated",
    is_flag=True,
    help="only partitions with fewer replicas in sync than they should have",
)
@option("--unavailable", is_flag=True, help="only partitions without a leader")
@option(
    "--under-min-isr",
    is_flag=True,
    help="only partitions without a leader, or with fewer replicas in sync than acks=all requires",
)
@option(
    "--at-min-isr", is_flag=True, help="only partitions with just as many in sync: one less refuses acks=all"
)
@option("--with-overrides", is_flag=True, help="only topics with a configuration of their own")
@option("--if-exists", is_flag=True, help="a topic that does not exist is not an error")
@pass_invocation
def describe_topics(inv: Invocation, /, **flags: Any) -> int:
    """Show the partitions, offsets and configuration of topics.

    A line per partition; LOG-START and END are its first offset and the one that the next record gets.

    The configuration is what was set on the topic itself, where it differs from the brokers' defaults. The options that
    choose partitions or topics apply to all topics, internal ones too, unless some are named; of several that choose
    partitions, one that fits is enough. Exit code 6 where offsets cannot be shown, for example because a partition has
    no leader.

    With -o wide: ELR are the eligible leader replicas, which have all committed records though they are not in sync, and
    LAST-KNOWN-ELR those of before, where there is none any more (Kafka 4.0). Of tiered topics EARLIEST-LOCAL is the
    first offset on the leader's disk and LATEST-TIERED the last one in remote storage: what is before the first is read
    from there. LOCAL-BYTES is the size on the leader's disk.
    """
    from kcli.commands.topics import _describing as run  # clients are loaded when the command runs

    return run.describe_topics(inv, run.DescribeOptions(**flags))
