"""``kcli topics who``: who writes to topics, who reads them, and who may."""

from __future__ import annotations

import click

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import TOPIC, option

FORMATS = ("table", "wide", "plain", "json", "ndjson", "yaml")


@command(
    "who",
    exits={
        1: "none of the topics exists",
        6: "something could not be read, or some of the topics do not exist",
    },
    outputs=FORMATS,
    examples=(
        ("kcli topics who orders", "producers, readers with their lag, and ACLs"),
        ("kcli topics who orders -o wide", "also ids of members and first offsets of transactions"),
        (
            "kcli topics who orders -o json | jq -r '.items[0].readers[].group' | sort -u",
            "the groups that read it",
        ),
    ),
)
@click.argument("names", nargs=-1, required=True, type=TOPIC, metavar="TOPIC…")
@option("--internal", is_flag=True, help="groups of kcli's own, too")
@pass_invocation
def who_topics(inv: Invocation, names: tuple[str, ...], internal: bool) -> int:
    """Show who writes to topics, who reads them, and who may.

    Producers are those that number their records (idempotent and transactional ones), as long as the leader of a
    partition remembers them: a day after their last record by default. Of others, and of the hosts of all, brokers
    keep nothing. TRANSACTION is open, ending, hanging or unknown, as in `kcli txn describe`.

    Readers are groups of all types with a committed offset or a member; who reads without a group is not seen. In a
    share group members have partitions together, and each line has their whole lag.

    ACLs are those that decide on reading and writing. Superusers may do everything; brokers do not tell who they are.
    """
    from kcli.commands.topics._who_page import show_who  # clients are loaded when the command runs

    return show_who(inv, names, internal=internal)
