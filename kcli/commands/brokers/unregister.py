"""``kcli brokers unregister``: forget brokers that are gone for good."""

import click

from kcli.commands.brokers._types import BROKER
from kcli.commands.shared.changing import run_change
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation


@command(
    "unregister",
    exits={
        1: "there is no such broker",
        7: "the broker is online, or has replicas",
    },
    examples=(
        ("kcli brokers unregister 4", "after it was drained and stopped for good"),
        ("kcli brokers unregister 4 --dry-run", "may it be unregistered?"),
        ("kcli brokers unregister 4 5 --yes", "in a script"),
    ),
)
@click.argument("numbers", nargs=-1, required=True, type=BROKER, metavar="ID…")
@pass_invocation
def unregister_brokers(inv: Invocation, numbers: tuple[int, ...]) -> int:
    """Unregister brokers that are gone for good: the controllers forget them, and upgrades wait for them no more.

    Refused for a broker that is online, which would register again, and for one that has replicas: `kcli brokers drain`
    moves them first. Read back; a broker that is started again registers by itself. Brokers before Kafka 4.0 do not
    list those that are fenced, so there the answer of the controller is all that confirms it. KRaft only.
    """
    from kcli.flows.brokers.unregister import BrokerUnregistration  # clients are loaded when the command runs

    return run_change(inv, BrokerUnregistration(numbers))
