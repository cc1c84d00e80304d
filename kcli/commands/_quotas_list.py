"""What ``kcli quotas list`` does."""

from __future__ import annotations

from kcli.commands._quota_entity import ENTITY, entity_parts, entity_row, number, unit
from kcli.commands.shared.cluster import connect, open_admin
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.row_output import print_rows
from kcli.core.admin.quotas import QuotaEntity
from kcli.flows.quotas import DEFAULT
from kcli.output.tables import Column

_COLUMNS = (*ENTITY, Column("key"), Column("value", "number"), Column("unit", spare=1))


def list_selected(inv: Invocation, user: str | None, of_client_id: str | None, ip: str | None) -> int:
    """Lists the selected quotas. Returns the exit status."""
    wanted = entity_parts("list", user, of_client_id, ip)
    inv.page()
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        found = admin.describe_quotas(wanted)
    if not found:
        inv.talk.note("no quota matches" if wanted else "the cluster has no quotas")
    rows = (
        entity_row(entity) | {"key": key, "value": number(value), "unit": unit(key)}
        for entity in sorted(found, key=_order)
        for key, value in sorted(found[entity].items())
    )
    print_rows(inv, "QuotaList", _COLUMNS, rows, cluster, item="Quota")
    return inv.finish(done=True)


def _order(entity: QuotaEntity) -> list[tuple[bool, bool, str]]:
    """By user, client id and address; defaults follow names, and what an entity lacks precedes them."""
    row = entity_row(entity)
    return [(name is not None, name == DEFAULT, name or "") for name in row.values()]
