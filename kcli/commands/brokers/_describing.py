"""What ``kcli brokers describe`` does."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from kcli.account.survey import Missing
from kcli.commands.shared.cluster import connect, open_admin, readable
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.log_dirs import read_log_dirs
from kcli.commands.shared.row_output import print_rows
from kcli.core.errors import NotFoundError
from kcli.flows.brokers.listeners import listener_configs
from kcli.flows.brokers.log_dirs import LOG_DIRS, log_dir_rows
from kcli.flows.brokers.rows import DESCRIBED, FURTHER, described_row
from kcli.flows.cluster_state import ASKED, BrokerState, broker_states, observe
from kcli.flows.features.rows import COLUMNS as FEATURES
from kcli.flows.features.rows import feature_rows
from kcli.output.tables import Column

_KIND, _ITEM = "BrokerDescriptionList", "BrokerDescription"


def describe(inv: Invocation, numbers: Collection[int]) -> int:
    """Describes these brokers, or all. Returns the exit status."""
    inv.page()
    with open_admin(inv) as admin:
        admin.foresee(topics=True, fenced=True, brokers=True)
        cluster = connect(inv, admin)
        state = observe(admin)
        every = broker_states(state.description, state.topics)
        brokers = _chosen(inv, every, numbers)
        online = [broker.number for broker in brokers if broker.state in ASKED]
        listeners, log_dirs = admin.together(
            lambda: listener_configs(admin, online), lambda: read_log_dirs(inv, admin, brokers, online)
        )
        configs = readable(inv, listeners, "the listeners of broker")
    for error in state.errors:
        inv.lacks(Missing.of(error))
    rows = [
        described_row(
            state,
            broker,
            configs.get(broker.number),
            log_dir_rows({broker.number: log_dirs[broker.number]}) if broker.number in log_dirs else None,
        )
        for broker in brokers
    ]
    if inv.out.list_kind() in ("json", "ndjson", "yaml"):
        print_rows(inv, _KIND, (*DESCRIBED, *FURTHER), rows, cluster, item=_ITEM)
        return inv.finish(done=bool(brokers))
    print_rows(inv, _KIND, DESCRIBED, rows, cluster, item=_ITEM)
    if inv.out.list_kind() in ("table", "wide", "plain") and inv.out.headers:
        chosen = {number: one for number, one in state.features.items() if number in online}
        _further(inv, FEATURES, feature_rows(chosen), cluster)
        _further(inv, LOG_DIRS, log_dir_rows(log_dirs), cluster)
    return inv.finish(done=bool(brokers))


def _further(inv: Invocation, columns: Sequence[Column], rows: list[dict[str, Any]], cluster: str) -> None:
    if rows:
        inv.out.text("\n")
        print_rows(inv, _KIND, columns, rows, cluster, item=_ITEM)


def _chosen(inv: Invocation, brokers: Sequence[BrokerState], numbers: Collection[int]) -> list[BrokerState]:
    """Those that are named, in this order; one that nobody knows is missing."""
    known = {broker.number: broker for broker in brokers}
    for number in dict.fromkeys(numbers):
        if number not in known:
            error = NotFoundError(
                f"there is no broker {number}",
                why="it is not registered, and no partition has a replica on it",
                do="`kcli brokers list` shows the brokers",
            )
            inv.lacks(Missing(f"broker {number}", "", error))
    return (
        [known[number] for number in dict.fromkeys(numbers) if number in known] if numbers else list(brokers)
    )
