"""``kcli topics who``: who writes to topics, who reads them, and who may."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import TOPIC
from kcli.core.errors import KcliError

if TYPE_CHECKING:
    from kcli.core.admin.admin import Admin
    from kcli.core.admin.groups import ListedGroup
    from kcli.flows.topics.who import Who

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
@click.option("--internal", is_flag=True, help="groups of kcli's own, too")
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
    # Clients are loaded when the command runs.
    from kcli.account.survey import Missing
    from kcli.commands.shared.cluster import connect, open_admin, readable, unique
    from kcli.commands.shared.row_output import print_rows
    from kcli.commands.shared.transaction_log import log_reader
    from kcli.core.clock import wall_ms
    from kcli.core.types import TopicPartition
    from kcli.flows.topics.who import WHO, who

    inv.page()
    found: list[Who] = []
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        topics = readable(inv, admin.describe_topics(unique(names)), "topic")
        listed = _groups(inv, admin, internal=internal) if topics else []
        read_log = log_reader(inv)
        for name, topic in topics.items():
            if topic.error is not None:
                inv.lacks(Missing.of(topic.error, f"a part of the partitions of topic {name}"))
            partitions = [TopicPartition(name, part.partition) for part in topic.partitions]
            one = who(admin, name, partitions, listed, read_log, wall_ms())
            for part in one.missing:
                inv.lacks(part)
            found.append(one.items)
    if any(one.authorizer for one in found):
        inv.talk.note("superusers may do everything; brokers do not tell who they are")
    if inv.out.list_kind() in ("json", "ndjson", "yaml"):
        print_rows(inv, "TopicWhoList", WHO, [one.row for one in found], cluster, item="TopicWho")
    else:
        _print_parts(inv, found)
    return inv.finish(done=bool(found))


def _groups(inv: Invocation, admin: Admin, *, internal: bool) -> list[ListedGroup] | KcliError:
    """All groups, or why they cannot be listed."""
    from kcli.commands.shared.cluster import listed_groups

    try:
        return listed_groups(inv, admin, None, internal=internal)
    except KcliError as error:
        return error


def _print_parts(inv: Invocation, found: Sequence[Who]) -> None:
    """A table for each part, below what it is."""
    from kcli.commands.shared.row_output import print_rows
    from kcli.flows.topics.who import HOLDERS, PRODUCERS, READERS
    from kcli.output.sanitise import visible_line

    for number, one in enumerate(found):
        nobody = "the cluster has no authorizer: everybody may do everything"
        parts = (
            ("producers", PRODUCERS, one.producers, "none that leaders remember"),
            ("readers", READERS, one.readers, "no group"),
            ("ACLs", HOLDERS, one.acls, nobody if one.authorizer is False else "nobody, by ACLs"),
        )
        for place, (what, columns, rows, none) in enumerate(parts):
            inv.out.text("\n" * bool(number or place))
            title = f"{one.topic}: {what}"
            if rows:
                inv.out.text(visible_line(title) + "\n")
                print_rows(inv, "TopicWhoList", columns, rows, item="TopicWho")
            else:
                unread = rows is None and not (what == "ACLs" and one.authorizer is False)
                inv.out.text(visible_line(f"{title}: {'not read' if unread else none}") + "\n")
