"""``kcli topics offsets``: show first and end offsets, or the offsets at a time."""

from typing import Any

import click

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import TOPIC
from kcli.commands.shared.params import OFFSET


@command(
    "offsets",
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
    help="earliest, latest, max-timestamp, earliest-local, latest-tiered, earliest-pending-upload, or a time: the "
    "offset of the first record that is not older",
)
@pass_invocation
def topic_offsets(inv: Invocation, names: tuple[str, ...], when: Any) -> int:
    """Show the offsets of topics, by partition.

    Without a TOPIC: of all topics but the cluster's own.
    """
    from kcli.commands.topics import _tables as run  # clients are loaded when the command runs

    return run.topic_offsets(inv, names, when)
