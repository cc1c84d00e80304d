"""``kcli configs list``: list what has a configuration of its own."""

from typing import Any

import click

from kcli.commands.configs._names import KIND
from kcli.commands.shared.cluster import connect, open_admin
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.row_output import print_rows
from kcli.commands.shared.usage import usage
from kcli.flows.configs.resources import KINDS
from kcli.output.tables import Column

COLUMNS = (
    Column(
        "resource_type",
        values=("groups", "client-metrics"),
        meaning="The kind, as configs describe takes it.",
    ),
    Column("name", values="string", meaning="Name of the resource."),
)
_OTHERS = {
    "topics": "`kcli topics list` lists the topics",
    **dict.fromkeys(("brokers", "broker-loggers"), "`kcli cluster describe` lists the brokers"),
}


@command(
    "list",
    examples=(
        ("kcli configs list client-metrics", "all subscriptions"),
        ("kcli configs list groups -o name", "groups with a configuration of their own"),
    ),
)
@click.argument("kind", type=KIND, metavar="groups|client-metrics")
@pass_invocation
def list_configs(inv: Invocation, kind: str) -> int:
    """List the groups, or the subscriptions of client metrics, that have a configuration of their own.

    A group can have one before it exists, and a subscription of client metrics is nothing else. This needs
    DESCRIBE_CONFIGS on the cluster; groups are listed since Kafka 4.1, client metrics since 3.7.
    """
    if kind in _OTHERS:
        raise usage(
            f"configs list: {kind} are not listed here",
            why="each of them has a configuration",
            do=_OTHERS[kind],
        )
    inv.page()
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        names = admin.list_config_resources(KINDS[kind])
    rows: list[dict[str, Any]] = [{"resource_type": kind, "name": name} for name in names]
    if not rows:
        inv.talk.note(f"no {kind} have a configuration of their own")
    print_rows(inv, "ConfigResourceList", COLUMNS, rows, cluster, item="ConfigResource")
    return inv.finish(done=True)
