"""``kcli brokers describe``: describe brokers."""

import click

from kcli.commands.brokers._types import BROKER
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation


@command(
    "describe",
    exits={1: "there is no such broker", 6: "something of a broker could not be described"},
    examples=(
        ("kcli brokers describe", "all: listeners, roles, features, log directories"),
        ("kcli brokers describe 2", "one of them"),
        ("kcli brokers describe 2 -o json", "for scripts"),
    ),
)
@click.argument("numbers", nargs=-1, type=BROKER, metavar="[ID…]")
@pass_invocation
def describe_brokers(inv: Invocation, numbers: tuple[int, ...]) -> int:
    """Describe brokers: state, roles, listeners, rack, version, features, log directories.

    Listeners and roles are those of the broker's configuration (DESCRIBE_CONFIGS on the cluster), and are unknown of a
    broker that does not respond. With -o tsv, csv or name, and plain without headers, there is the table of the brokers
    only.
    """
    from kcli.commands.brokers._describing import describe  # clients are loaded when the command runs

    return describe(inv, numbers)
