"""``kcli quotas list``: list quotas."""

from kcli.commands.quotas._entity import entity_options, entity_parts
from kcli.commands.shared.cluster import connect, open_admin
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.row_output import print_rows
from kcli.core.admin.quotas import QuotaEntity
from kcli.flows.quotas.values import DEFAULT, ENTITY, UNITS, entity_row, rate_in_units, shown_number
from kcli.output.tables import Column

COLUMNS = (
    *ENTITY,
    Column("key", values="string", meaning="The key, as Kafka names it."),
    Column("value", "number", values="number", meaning="Its value."),
    Column("unit", spare=1, meaning="Unit of the value; null where it is unknown."),
)


@command(
    "list",
    examples=(
        ("kcli quotas list", "all quotas"),
        ("kcli quotas list --user alice", "of a user, also together with client ids"),
        ("kcli quotas list --user '<default>'", "what applies to users without quotas of their own"),
        ("kcli quotas list --ip 192.0.2.7 -o json", "for scripts"),
    ),
)
@entity_options
@pass_invocation
def list_quotas(inv: Invocation, user: str | None, of_client_id: str | None, ip: str | None) -> int:
    """List quotas: a line for each key.

    The options select quotas with that user, client id or IP address. `<default>` is the default of users, client ids
    or IP addresses, which applies to those without quotas of their own; a user who is called so is written
    `\\<default>`.

    Here --client-id selects quotas; the client.id of kcli itself is given before the command: `kcli --client-id ID
    quotas list`.
    """
    wanted = entity_parts("list", user, of_client_id, ip)
    inv.page()
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        found = admin.describe_quotas(wanted)
    if not found:
        inv.talk.note("no quota matches" if wanted else "the cluster has no quotas")
    units = inv.out.list_kind() in ("table", "wide")
    rows = (
        entity_row(entity)
        | {"key": key, "value": shown_number(value), "unit": _unit(key, value, units=units)}
        for entity in sorted(found, key=_order)
        for key, value in sorted(found[entity].items())
    )
    print_rows(inv, "QuotaList", COLUMNS, rows, cluster, item="Quota")
    return inv.finish(done=True)


def _unit(key: str, value: float, *, units: bool) -> str | None:
    """Unit of the value; for people, with ``units``, also what a large number of bytes is."""
    unit = UNITS.get(key)
    text = rate_in_units(key, value) if units else ""
    return f"{unit} ({text})" if text else unit


def _order(entity: QuotaEntity) -> list[tuple[bool, bool, str]]:
    """By user, client id and address; defaults follow names, and what an entity lacks precedes them."""
    row = entity_row(entity)
    return [(name is not None, name == DEFAULT, name or "") for name in row.values()]
