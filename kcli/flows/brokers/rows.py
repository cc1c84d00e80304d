"""A broker as a row. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from kcli.flows.cluster_state import FENCED, MISSING, ONLINE, BrokerState, ClusterState
from kcli.output.tables import Column

BROKER, CONTROLLER = "broker", "controller"

COLUMNS = (
    Column("broker", "id", values="integer", meaning="Number of the broker."),
    Column(
        "state",
        values=(ONLINE, FENCED, MISSING),
        meaning="online; fenced: it is registered, but has lost contact with the controller; missing: only replica "
        "lists name it, since it is not registered, or fenced where brokers do not list such (before Kafka 4.0).",
    ),
    Column(
        "roles",
        values="strings?",
        spare=2,
        meaning="broker, and controller where it is a voter of the quorum, too; null where that is not known.",
    ),
    Column("host", meaning="Its host, of the listener that this client uses; null where it is unknown."),
    Column("port", "id", meaning="Its port; null where it is unknown."),
    Column("rack", spare=3, meaning="Its rack; null where it has none."),
    Column("version", spare=1, meaning="Version of Kafka, as far as it can be told."),
    Column("leaders", "number", spare=5, values="count", meaning="Partitions that it leads."),
    Column("replicas", "number", spare=4, values="count", meaning="Replicas that it has."),
    Column("not_in_sync", "number", values="count", meaning="Replicas that are not in sync."),
)


def broker_row(state: ClusterState, broker: BrokerState) -> dict[str, Any]:
    """The values of ``COLUMNS``."""
    features = state.features.get(broker.number)
    voters = None if state.quorum is None else state.quorum.voters
    return {
        "broker": broker.number,
        "state": broker.state,
        "roles": roles(broker.number, voters),
        "host": broker.node.host if broker.node else None,
        "port": broker.node.port if broker.node else None,
        "rack": broker.node.rack if broker.node else None,
        "version": features.release if features is not None else None,
        "leaders": broker.leaders,
        "replicas": broker.replicas,
        "not_in_sync": broker.under_replicated,
    }


def roles(number: int, voters: Collection[int] | None) -> Sequence[str] | None:
    """Of a broker; None where it is not known who the voters are."""
    if voters is None:
        return None
    return [BROKER, CONTROLLER] if number in voters else [BROKER]
