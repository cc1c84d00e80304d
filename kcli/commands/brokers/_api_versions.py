"""What ``kcli brokers api-versions`` does."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from kcli.commands.shared.cluster import connect, open_admin, readable
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.row_output import print_rows
from kcli.commands.shared.usage import usage
from kcli.core.admin.brokers import ClusterDescription
from kcli.flows.brokers.api_versions import COLUMNS, api_rows, script_lines
from kcli.flows.cluster_state import described

if TYPE_CHECKING:
    from kcli.core.admin.api_versions import ApiRanges


def show(inv: Invocation, numbers: Collection[int], *, differences: bool) -> int:
    """Shows the versions that these brokers offer, or all. Returns the exit status."""
    as_script = inv.out.kind == "kafka"
    if differences and as_script:
        raise usage(
            "brokers api-versions: --differences together with -o kafka",
            why="Kafka's script prints each broker in full",
            do="leave one of them out",
        )
    inv.page()
    with open_admin(inv) as admin:
        admin.foresee(brokers=not numbers)
        cluster = connect(inv, admin)
        found = readable(inv, admin.describe_api_versions(broker_ids=tuple(dict.fromkeys(numbers)) or None))
        known = described(admin) if as_script else None
    if known is not None:
        _print_as_script(inv, known, found)
    else:
        print_rows(
            inv, "ApiVersionList", COLUMNS, api_rows(found, differing=differences), cluster, item="ApiVersion"
        )
        if differences and found and not inv.missing and not api_rows(found, differing=True):
            inv.talk.note("all brokers offer the same")
    return inv.finish(done=bool(found))


def _print_as_script(inv: Invocation, known: ClusterDescription, found: Mapping[int, ApiRanges]) -> None:
    for broker in known.brokers:
        if broker.node.id in found:
            for line in script_lines(broker, found[broker.node.id]):
                inv.out.shown(f"{line}\n")
