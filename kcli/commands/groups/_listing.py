"""What ``kcli groups list`` shows."""

from collections.abc import Sequence
from typing import Any

from kcli.account.survey import Missing
from kcli.commands.shared.cluster import connect, listed_groups, open_admin
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.row_output import print_rows
from kcli.core.admin.admin import Admin
from kcli.core.admin.groups import ListedGroup
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


def list_groups(
    inv: Invocation,
    states: str | None,
    types: str | None,
    match: str | None,
    topic: str | None,
    internal: bool,
    with_lag: bool,
    sort: str,
) -> int:
    """Lists groups; ``states`` and ``types`` are separated by commas. Returns the exit status."""
    inv.page()
    unknown_topic = False
    with open_admin(inv) as admin:
        admin.foresee(listing=True, permissions=True, topics=topic is not None or with_lag)
        cluster = connect(inv, admin)
        found = listed_groups(
            inv, admin, match, states=_words(states), types=_words(types), internal=internal
        )
        if topic is not None:
            found = _reading(inv, admin, found, topic)
            unknown_topic = not found and not _exists(inv, admin, topic)
        lags = _lags(inv, admin, found) if with_lag else None
    columns = COLUMNS if lags is None else (*COLUMNS, *LAG)
    rows = [_row(one) | ({} if lags is None else {LAG[0].key: lags.get(one.group_id)}) for one in found]
    rows.sort(key=lambda row: _order(row, sort))
    print_rows(inv, "GroupList", columns, rows, cluster, item="Group")
    return inv.finish(done=not unknown_topic)


def _words(text: str | None) -> list[str]:
    return [word.strip() for word in (text or "").split(",") if word.strip()]


def _reading(inv: Invocation, admin: Admin, found: Sequence[ListedGroup], topic: str) -> list[ListedGroup]:
    """The groups that read ``topic``; those of which that is not known are missing."""
    from kcli.flows.groups.readers import readers_of  # only with --topic

    readers = readers_of(admin, found, [topic])
    for part in readers.missing:
        inv.talk.warn(f"{part.what} is not known: {part.error}")
        inv.lacks(part, told=True)
    return readers.items[topic]


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

    types = {row.group_id: row.type for row in found}
    lags = total_lags(admin, {row.group_id: row.state for row in found}, types)
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
