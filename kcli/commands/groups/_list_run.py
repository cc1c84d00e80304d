"""What ``kcli groups list`` does."""

from collections.abc import Sequence
from typing import Any

from kcli.account.survey import Missing
from kcli.commands.shared.cluster import connect, listed_groups, open_admin
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.row_output import print_rows
from kcli.core.admin.admin import Admin
from kcli.core.admin.groups import ListedGroup
from kcli.core.errors import KcliError, NotFoundError, UnsupportedError
from kcli.flows.groups.nearest import topics_without_groups
from kcli.output.tables import Column

COLUMNS = (
    Column("group"),
    Column(
        "type",
        spare=1,
        meaning="classic, consumer, share or streams; null or empty where the broker does not say.",
    ),
    Column("state", meaning="State of the group, as Kafka names it; null where it is unknown."),
    Column(
        "protocol_type",
        spare=3,
        meaning="What the members are: consumer, connect, …; null where it is unknown.",
    ),
    Column("coordinator", "id", spare=2),
)
LAG = (Column("lag_records", "number", sometimes=True),)


def run(
    inv: Invocation,
    *,
    states: str | None,
    types: str | None,
    match: str | None,
    topic: str | None,
    internal: bool,
    with_lag: bool,
    sort: str,
) -> int:
    """The exit status. ``states`` and ``types`` are separated by commas."""
    inv.page()
    unknown_topic = False
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        found = listed_groups(
            inv, admin, match, states=_words(states), types=_words(types), internal=internal
        )
        if topic is not None:
            found = _reading(inv, admin, found, topic)
            unknown_topic = not found and not _exists(inv, admin, topic)
        lags = _lags(inv, admin, found) if with_lag or sort == "lag" else None
    columns = COLUMNS if lags is None else (*COLUMNS, *LAG)
    rows = [_row(one) | ({} if lags is None else {LAG[0].key: lags.get(one.group_id)}) for one in found]
    rows.sort(key=lambda row: _order(row, sort))
    print_rows(inv, "GroupList", columns, rows, cluster, item="Group")
    return inv.finish(done=not unknown_topic)


def _words(text: str | None) -> list[str]:
    return [word.strip() for word in (text or "").split(",") if word.strip()]


def _reading(inv: Invocation, admin: Admin, found: Sequence[ListedGroup], topic: str) -> list[ListedGroup]:
    """The groups with committed offsets of ``topic``, or with a member that subscribes to it or is assigned to it."""
    names = [row.group_id for row in found]
    committed = admin.fetch_offsets(dict.fromkeys(names)) if names else {}
    with_offsets = {
        name
        for name, offsets in committed.items()
        if not isinstance(offsets, KcliError) and any(tp.topic == topic for tp in offsets)
    }
    others = [row.group_id for row in found if row.group_id not in with_offsets and row.state != "Empty"]
    described = admin.describe_groups(others) if others else {}
    with_members = {
        name
        for name, group in described.items()
        if not isinstance(group, KcliError)
        for member in group.members
        if topic in member.subscription
        or any(tp.topic == topic for tp in (*(member.assignment or ()), *(member.target or ())))
    }
    for name in names:
        error: object = committed.get(name)
        if not isinstance(error, KcliError):
            error = described.get(name)
        if name in with_members or not isinstance(error, KcliError):
            continue
        if not isinstance(error, UnsupportedError | NotFoundError):
            inv.talk.warn(f"whether group {name} reads {topic} is not known: {error}")
            inv.lacks(Missing(f"whether group {name} reads {topic}", "", error), told=True)
    return [row for row in found if row.group_id in with_offsets | with_members]


def _exists(inv: Invocation, admin: Admin, topic: str) -> bool:
    """Whether a topic that none of the groups reads exists; reports that."""
    notes, errors = topics_without_groups(admin, [topic])
    for note in notes:
        inv.talk.note(note)
    for error in errors:
        inv.lacks(Missing.of(error))
    return not errors


def _lags(inv: Invocation, admin: Admin, found: Sequence[ListedGroup]) -> dict[str, int | None]:
    """The sum of the known lags of each group in records, None where none is known; what is not known is missing."""
    from kcli.flows.lag.measure import total_lags  # only with --with-lag or --sort lag

    lags = total_lags(admin, {row.group_id: row.state for row in found if row.type != "share"})
    for part in lags.missing:
        inv.lacks(part)
    return lags.items


def _order(row: dict[str, Any], sort: str) -> tuple[Any, ...]:
    if sort != "lag":
        return (row[sort], row["group"])
    lag = row[LAG[0].key]
    return (lag is None, -(lag or 0), row["group"])


def _row(group: ListedGroup) -> dict[str, Any]:
    """Brokers before 3.8 do not report the type of a group: then it is a classic group."""
    return {
        "group": group.group_id,
        "type": group.type or "classic",
        "state": group.state,
        "protocol_type": group.protocol_type,
        "coordinator": group.coordinator,
    }
