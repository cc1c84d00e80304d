"""``kcli topics``: its verbs and their options. What they do is in ``_topics_run.py``."""

from typing import Any

import click

from kcli.commands.shared.command import group
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.params import OFFSET, PARTITIONS
from kcli.commands.shared.types import TOPIC, CountType, OfferedType

_MOST_PARTITIONS = (1 << 31) - 1


@group("topics", examples=(("kcli topics list", "all topics"), ("kcli topics describe orders", "one topic")))
def topics() -> None:
    """List, describe, create, change, trim and delete topics."""


@topics.command(
    "list",
    changes=False,
    examples=(
        ("kcli topics list --match 'orders*'", "by a shell pattern"),
        ("kcli topics list -o name", "one name a line, for scripts"),
        ("kcli topics list --internal -o wide", "the cluster's own topics too, with their ids"),
        ("kcli topics list --with-size", "how much of the brokers' disks each uses"),
    ),
)
@click.option("--match", metavar="GLOB", help="only names that match this shell pattern")
@click.option(
    "--internal", is_flag=True, help="show the cluster's own topics too, such as __consumer_offsets"
)
@click.option("--with-size", is_flag=True, help="show the size on the brokers' disks, in bytes")
@pass_invocation
def list_topics(inv: Invocation, /, **flags: Any) -> int:
    """List topics.

    UNDER-REPLICATED counts partitions with fewer replicas in sync than they should have. SIZE-BYTES is the sum of the
    leaders' logs, DISK-BYTES (-o wide) that of all replicas.
    """
    from kcli.commands import _topics_run as run  # not for --help

    return run.list_topics(inv, **flags)


@topics.command(
    "describe",
    changes=False,
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
    from kcli.commands import _topics_run as run  # not for --help

    return run.describe_topics(inv, **flags)


@topics.command(
    "offsets",
    changes=False,
    examples=(
        ("kcli topics offsets orders", "first offset, end and number of offsets of every partition"),
        ("kcli topics offsets orders --time @-1h", "the first record of the last hour"),
    ),
)
@click.argument("names", nargs=-1, type=TOPIC, metavar="[TOPIC…]")
@click.option(
    "--time",
    "when",
    type=OFFSET,
    metavar="SPEC",
    help="earliest, latest, or a time: the offset of the first record that is not older",
)
@pass_invocation
def topic_offsets(inv: Invocation, names: tuple[str, ...], when: Any) -> int:
    """Show the offsets of topics, by partition.

    Without a TOPIC: of all topics but the cluster's own.
    """
    from kcli.commands import _topics_run as run  # not for --help

    return run.topic_offsets(inv, names, when)


@topics.command(
    "create",
    changes=True,
    exits={7: "the topic exists already"},
    examples=(
        ("kcli topics create orders --partitions 12", "the broker's default replication factor"),
        (
            "kcli topics create orders --config retention.ms=3600000 --if-not-exists",
            "no error when it already exists",
        ),
        ("kcli topics create orders --partitions 12 --dry-run", "only check the request"),
    ),
)
@click.argument("names", nargs=-1, required=True, metavar="TOPIC…")
@click.option(
    "--partitions",
    type=CountType(1, _MOST_PARTITIONS),
    metavar="N",
    help="number of partitions (default: the broker's); more than 10,000 require --confirm NAME",
)
@click.option(
    "--replication-factor",
    type=CountType(1, 32767),
    metavar="N",
    help="replicas of each partition (default: the broker's)",
)
@click.option(
    "--config", "configs", multiple=True, metavar="K=V", help="configuration of the topic; repeatable"
)
@click.option("--if-not-exists", is_flag=True, help="a topic that already exists is not an error")
@pass_invocation
def create_topics(inv: Invocation, /, **flags: Any) -> int:
    """Create topics.

    All TOPICs get the same number of partitions and the same configuration. Exit code 7 where one exists; with
    --if-not-exists only where it differs from what is requested. A topic is created once all brokers show its
    partitions with leaders; exit code 6 where they do not within --timeout. With -o, shows the topics created.
    """
    from kcli.commands import _topics_run as run  # not for --help

    return run.create_topics(inv, **flags)


@topics.command(
    "alter",
    changes=True,
    examples=(
        ("kcli topics alter orders --set retention.ms=3600000", "shows the plan, and asks"),
        ("kcli topics alter orders --unset retention.ms --yes", "back to the default, in a script"),
        ("kcli topics alter orders --append cleanup.policy=compact", "one element of a list"),
        ("kcli topics alter orders --partitions 12 --dry-run", "only let the broker check the request"),
    ),
)
@click.argument("name", type=TOPIC, metavar="TOPIC")
@click.option("--set", "set_", multiple=True, metavar="K=V", help="set a configuration key; repeatable")
@click.option("--unset", multiple=True, metavar="K", help="restore the default of a key; repeatable")
@click.option("--append", multiple=True, metavar="K=V", help="add an element to a list; repeatable")
@click.option("--remove", multiple=True, metavar="K=V", help="remove an element from a list; repeatable")
@click.option(
    "--partitions",
    type=CountType(1, _MOST_PARTITIONS),
    metavar="N",
    help="increase the number of partitions to N; more than 10,000 new ones require --confirm NAME",
)
@pass_invocation
def alter_topic(inv: Invocation, /, **flags: Any) -> int:
    """Change the configuration of a topic, and add partitions.

    The broker checks all changes before the plan is shown; nothing is changed if it rejects one. Afterwards each
    change is read back.

    The changes of the configuration are made together, partitions are added after them. A key that the broker does
    not have: exit code 2. A topic cannot have fewer partitions than it has: exit code 7. An internal topic, such as
    __consumer_offsets, requires --confirm NAME: --yes is not enough.
    """
    from kcli.commands import _topic_alter_run as run  # not for --help

    return run.alter_topic(inv, **flags)


@topics.command(
    "trim",
    changes=True,
    examples=(
        ("kcli topics trim orders --before @-7d", "what is older than a week; asks for the name to be typed"),
        ("kcli topics trim orders --before 1200 -p 0 --yes", "in a script"),
        ("kcli topics trim orders --before -1000 --dry-run", "all but the last 1000 of each partition"),
        ("kcli topics trim orders --before latest", "all records; the topic stays"),
    ),
)
@click.argument("name", type=TOPIC, metavar="TOPIC")
@click.option(
    "--before",
    required=True,
    type=OfferedType("offset", ("latest",)),
    metavar="OFFSET|TIME",
    help="the records before it are deleted: an offset, +N, -N, latest, or a time",
)
@click.option("-p", "--partitions", type=PARTITIONS, metavar="0,2,5-7", help="only these partitions")
@pass_invocation
def trim_topic(inv: Invocation, /, **flags: Any) -> int:
    """Delete the records of a topic before an offset or a time.

    This cannot be undone, so the name of the topic has to be typed, or --yes or --confirm NAME given. With a time,
    the first record that is not older becomes the first of its partition. +N counts from the start of each partition,
    -N from its end. Afterwards the starts of the logs are read back.

    An offset beyond the end of a partition is refused, the other partitions are trimmed: exit code 6, or 5 if all are
    refused. Internal and compacted topics: exit code 7.
    """
    from kcli.commands import _topic_trim_run as run  # not for --help

    return run.trim_topic(inv, **flags)


@topics.command(
    "delete",
    changes=True,
    exits={1: "a named topic does not exist"},
    examples=(
        ("kcli topics delete scratch", "asks for the name to be typed"),
        ("kcli topics delete scratch --yes", "in a script"),
        ("kcli topics delete scratch --dry-run", "only show what would be deleted"),
    ),
)
@click.argument("names", nargs=-1, required=True, type=TOPIC, metavar="TOPIC…")
@pass_invocation
def delete_topics(inv: Invocation, names: tuple[str, ...]) -> int:
    """Delete topics with all their records.

    This cannot be undone, so each name has to be typed, or --yes or --confirm NAME given. An internal topic, such
    as __consumer_offsets, requires --confirm NAME: --yes is not enough. All questions are asked before the
    first topic is deleted.
    """
    from kcli.commands import _topics_run as run  # not for --help

    return run.delete_topics(inv, names)
