"""What ``kcli topics who`` shows: a table for each part of a topic, or the document."""

from __future__ import annotations

from collections.abc import Sequence

from kcli.account.survey import Missing, Survey
from kcli.commands.shared.cluster import connect, listed_groups, open_admin, readable, unique
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.row_output import print_rows
from kcli.commands.shared.transaction_log import log_reader
from kcli.core.admin.admin import Admin
from kcli.core.admin.groups import ListedGroup
from kcli.core.clock import wall_ms
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition
from kcli.flows.topics.who import HOLDERS, PRODUCERS, READERS, WHO, Who, who
from kcli.output.listing import DOCUMENTS
from kcli.output.sanitise import visible_line


def show_who(inv: Invocation, names: Sequence[str], *, internal: bool) -> int:
    """Shows everybody around these topics. Returns the exit status."""
    inv.page()
    with open_admin(inv) as admin:
        admin.foresee(topics=True, listing=True, permissions=True)
        cluster = connect(inv, admin)
        topics = readable(inv, admin.describe_topics(unique(names)), "topic")
        listed = _groups(inv, admin, internal=internal) if topics else []
        for name, topic in topics.items():
            if topic.error is not None:
                inv.lacks(Missing.of(topic.error, f"a part of the partitions of topic {name}"))
        partitions = {
            name: [TopicPartition(name, part.partition) for part in topic.partitions]
            for name, topic in topics.items()
        }
        found, missing = who(admin, partitions, listed, log_reader(inv), wall_ms()) if topics else Survey([])
        for part in missing:
            inv.lacks(part)
    if any(one.authorizer for one in found):
        inv.talk.note("superusers may do everything; brokers do not tell who they are")
    if inv.out.list_kind() in DOCUMENTS:
        print_rows(inv, "TopicWhoList", WHO, [one.row for one in found], cluster, item="TopicWho")
    else:
        _print_parts(inv, found)
    return inv.finish(done=bool(found))


def _groups(inv: Invocation, admin: Admin, *, internal: bool) -> list[ListedGroup] | None:
    """All groups; None where no broker lists them, which is missing then."""
    before = len(inv.missing)
    try:
        found = listed_groups(inv, admin, None, internal=internal)
    except KcliError as error:
        inv.lacks(Missing.of(error, "all groups"))
        return None
    return found if found or len(inv.missing) == before else None


def _print_parts(inv: Invocation, found: Sequence[Who]) -> None:
    """A table for each part, below what it is."""
    for number, one in enumerate(found):
        nobody = "the cluster has no authorizer: everybody may do everything"
        parts = (
            ("producers", PRODUCERS, one.producers, "none that leaders remember"),
            ("readers", READERS, one.readers, "no group"),
            ("ACLs", HOLDERS, one.acls, "nobody, by ACLs"),
        )
        for place, (what, columns, rows, none) in enumerate(parts):
            inv.out.text("\n" * bool(number or place))
            title = f"{one.topic}: {what}"
            if rows:
                inv.out.text(visible_line(title) + "\n")
                print_rows(inv, "TopicWhoList", columns, rows, item="TopicWho")
            elif what == "ACLs" and one.authorizer is False:
                inv.out.text(visible_line(f"{title}: {nobody}") + "\n")
            else:
                inv.out.text(visible_line(f"{title}: {'not read' if rows is None else none}") + "\n")
