"""``kcli topics alter``: change the configuration, and add partitions."""

from typing import Any

import click

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.types import TOPIC, CountType

_MOST_PARTITIONS = (1 << 31) - 1


@command(
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
    from kcli.commands.topics import _altering as run  # clients are loaded when the command runs

    return run.alter_topic(inv, **flags)
