"""``kcli groups list``: the groups of all brokers, narrowed down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kcli.commands.shared.cluster import connect, listed_groups, open_admin
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.types import TOPIC, OfferedType
from kcli.output.listing import list_rows
from kcli.output.tables import Column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcli.core.admin.admin import Admin
    from kcli.core.admin.groups import ListedGroup

COLUMNS = (
    Column("group"),
    Column("type", spare=1),
    Column("state"),
    Column("protocol_type", spare=3),
    Column("coordinator", "id", spare=2),
)
STATES = OfferedType(
    "states",
    (
        "stable", "empty", "dead", "preparingrebalance", "completingrebalance", "assigning", "reconciling", "notready",
    ),
)  # fmt: skip
TYPES = OfferedType("types", ("classic", "consumer", "share", "streams"))
LAG = Column("lag_records", "number")
SORTS = ("group", "type", "state", "coordinator", "lag")


@command(
    "list",
    examples=(
        ("kcli groups list", "all groups"),
        ("kcli groups list --state stable,empty --match 'bill*'", "by state and shell pattern"),
        ("kcli groups list --topic orders -o name", "those that read a topic, one name a line"),
        ("kcli groups list --sort lag", "the one that is furthest behind comes first"),
    ),
)
@click.option(
    "--state", "states", type=STATES, metavar="STATE[,…]", help="only groups in these states, as stable,empty"
)
@click.option(
    "--type", "types", type=TYPES, metavar="TYPE[,…]", help="only classic, consumer, share or streams groups"
)
@click.option("--match", metavar="GLOB", help="only names that match this shell pattern")
@click.option(
    "--topic",
    type=TOPIC,
    metavar="TOPIC",
    help="only groups with offsets of this topic, or members subscribed to it",
)
@click.option("--with-lag", is_flag=True, help="show how many records each group is behind")
@click.option(
    "--sort",
    type=click.Choice(SORTS),
    default="group",
    help="sort order; lag puts the largest first  [default: group]",
)
@pass_invocation
def list_groups(
    inv: Invocation,
    states: str | None,
    types: str | None,
    match: str | None,
    topic: str | None,
    with_lag: bool,
    sort: str,
) -> int:
    """List groups.

    All kinds: classic, consumer (KIP-848), share and streams groups. A group that has only committed offsets has no
    protocol type. LAG-RECORDS is the sum over the partitions of which the group has committed an offset.
    """
    inv.page()
    nowhere = False
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        found = listed_groups(inv, admin, match, states=_words(states), types=_words(types))
        if topic is not None:
            found = _reading(inv, admin, found, topic)
            nowhere = not found and not _exists(inv, admin, topic)
        lags = _lags(inv, admin, found) if with_lag or sort == "lag" else None
    columns = COLUMNS if lags is None else (*COLUMNS, LAG)
    rows = [_row(one) | ({} if lags is None else {LAG.key: lags.get(one.group_id)}) for one in found]
    with list_rows(
        inv.out, "GroupList", "Group", columns, cluster=cluster, warnings=inv.talk.warnings
    ) as printed:
        for row in sorted(rows, key=lambda row: _order(row, sort)):
            printed.add(row)
    if not rows and topic is None:
        chosen = states or types or match
        inv.talk.note("no group is like that" if chosen else "there are no groups")
    return inv.finish(done=not nowhere)


def _words(text: str | None) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()] if text is not None else []


def _reading(inv: Invocation, admin: Admin, found: Sequence[ListedGroup], topic: str) -> list[ListedGroup]:
    """Those that have committed offsets of ``topic``, or of whose members one subscribes to it or is to read it."""
    from kcli.core.errors import KcliError

    names = [row.group_id for row in found]
    committed = admin.fetch_offsets(dict.fromkeys(names)) if names else {}
    with_offsets = {
        name
        for name, offsets in committed.items()
        if not isinstance(offsets, KcliError) and any(tp.topic == topic for tp in offsets)
    }
    asked = [row.group_id for row in found if row.group_id not in with_offsets and row.state != "Empty"]
    described = admin.describe_groups(asked) if asked else {}
    with_members = {
        name
        for name, group in described.items()
        if not isinstance(group, KcliError)
        for member in group.members
        if topic in member.subscription
        or any(tp.topic == topic for tp in (*(member.assignment or ()), *(member.target or ())))
    }
    for name in names:
        error = committed.get(name)
        if isinstance(error, KcliError) and name not in with_members:
            inv.talk.warn(f"whether group {name} reads {topic} is not known: {error}")
    return [row for row in found if row.group_id in with_offsets | with_members]


def _exists(inv: Invocation, admin: Admin, topic: str) -> bool:
    """Whether a topic that none of the groups reads exists; says which it is."""
    from kcli.commands.groups._unread_topics import unread_topics

    notes, errors = unread_topics(admin, [topic])
    for note in notes:
        inv.talk.note(note)
    for error in errors:
        inv.failed(error)
    return not errors


def _lags(inv: Invocation, admin: Admin, found: Sequence[ListedGroup]) -> dict[str, int | None]:
    """Records behind, over all that each group has committed; None where nothing is, or nothing is known."""
    from kcli.flows.lag.look import lags_of
    from kcli.flows.lag.sample import sample_of
    from kcli.flows.lag.summary import summary

    sample = sample_of(admin, {row.group_id: row.state for row in found if row.type != "share"}, {})
    for name, error in sample.failed.items():
        inv.talk.warn(f"the lag of group {name} is not known: {error}")
    return {name: summary(rows).lag for name, rows in lags_of(sample).items()}


def _order(row: dict[str, Any], sort: str) -> tuple[Any, ...]:
    if sort != "lag":
        return (row[sort], row["group"])
    known = row[LAG.key]
    return (known is None, -(known or 0), row["group"])


def _row(group: ListedGroup) -> dict[str, Any]:
    """``classic`` is what brokers before 3.8, which do not tell a group's type, have."""
    return {
        "group": group.group_id,
        "type": group.type or "classic",
        "state": group.state,
        "protocol_type": group.protocol_type,
        "coordinator": group.coordinator,
    }
