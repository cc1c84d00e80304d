"""A broker as a row. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from kcli.flows.brokers.listeners import ROLES, listeners_in
from kcli.flows.brokers.log_dirs import LOG_DIRS
from kcli.flows.cluster_state import FENCED, MISSING, ONLINE, UNKNOWN, BrokerState, ClusterState
from kcli.output.tables import Column

BROKER, CONTROLLER = "broker", "controller"

COLUMNS = (
    Column("broker", "id", values="integer", meaning="Number of the broker."),
    Column(
        "state",
        values=(ONLINE, FENCED, MISSING, UNKNOWN),
        meaning="online; fenced: it is registered, but has lost contact with the controller; missing: only replica "
        "lists name it, since it is not registered, or fenced where brokers do not list such (before Kafka 4.0); "
        "unknown: log directories are read, and nobody is asked whether it runs.",
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


LISTENERS = Column(
    "listeners",
    "prose",
    values="strings?",
    meaning="Where it listens, as LISTENER://HOST:PORT: what it advertises, else where it binds; null where that is not "
    "known.",
)
DESCRIBED = (*COLUMNS[:6], LISTENERS, COLUMNS[6], *COLUMNS[7:])
_FEATURE = (
    Column("feature", values="string", meaning="Name of the feature."),
    Column("supported_min", values="integer", meaning="The lowest level that it supports."),
    Column("supported_max", values="integer", meaning="The highest."),
    Column("finalized", values="integer", meaning="Level that it uses; 0: none."),
)
FURTHER = (
    Column(
        "features", values="objects?", inner=_FEATURE, meaning="Its features; null where they are not known."
    ),
    Column(
        "log_dirs",
        values="objects?",
        inner=LOG_DIRS,
        meaning="Its directories; null where they are not known.",
    ),
)


def described_row(
    state: ClusterState,
    broker: BrokerState,
    configs: Mapping[str, str] | None,
    log_dirs: Sequence[Any] | None,
) -> dict[str, Any]:
    """The values of ``DESCRIBED`` and ``FURTHER``. ``configs``: listeners and roles as the broker reports them."""
    row = broker_row(state, broker)
    features = state.features.get(broker.number)
    own = {} if configs is None else configs
    if own.get(ROLES):
        row["roles"] = sorted(own[ROLES].replace(" ", "").split(","))
    return {
        **row,
        "listeners": None if configs is None else [str(one) for one in listeners_in(own)],
        "features": None
        if features is None
        else [
            {
                "feature": name,
                "supported_min": low,
                "supported_max": high,
                "finalized": features.finalized.get(name, 0),
            }
            for name, (low, high) in sorted(features.supported.items())
        ],
        "log_dirs": log_dirs,
    }


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
