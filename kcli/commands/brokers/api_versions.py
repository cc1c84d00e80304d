"""``kcli brokers api-versions``: show the versions of APIs that brokers offer."""

import click

from kcli.commands.brokers._types import BROKER
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import OUTPUT_KINDS, option


@command(
    "api-versions",
    exits={1: "there is no such broker", 6: "a broker did not respond"},
    outputs=(*OUTPUT_KINDS, "kafka"),
    examples=(
        ("kcli brokers api-versions", "a line for each API, where all brokers offer the same"),
        ("kcli brokers api-versions --differences", "what not all brokers offer, as during an upgrade"),
        ("kcli brokers api-versions 1 -o kafka", "one broker, as kafka-broker-api-versions.sh prints it"),
    ),
)
@click.argument("numbers", nargs=-1, type=BROKER, metavar="[ID…]")
@option("--differences", is_flag=True, help="only APIs that not all brokers offer in the same versions")
@pass_invocation
def api_versions(inv: Invocation, numbers: tuple[int, ...], differences: bool) -> int:
    """Show the versions of APIs that brokers offer, and the last one that kcli can use.

    Brokers that offer the same share a line. USABLE is the last version that kcli knows as well; it is unknown of APIs
    that only brokers use among themselves.
    """
    from kcli.commands.brokers._api_versions import show  # clients are loaded when the command runs

    return show(inv, numbers, differences=differences)
