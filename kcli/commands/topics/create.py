"""``kcli topics create``: create topics."""

from typing import Any

import click

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.types import CountType

_MOST_PARTITIONS = (1 << 31) - 1


@command(
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
    from kcli.commands.topics import _reading as run  # clients are loaded when the command runs

    return run.create_topics(inv, **flags)
