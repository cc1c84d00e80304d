"""What ``kcli cluster describe`` prints: columns, rows, the lines above them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kcli.commands.shared.context import Invocation
from kcli.commands.shared.row_output import print_rows
from kcli.core.admin.feature_levels import METADATA_VERSION, release_of
from kcli.core.cluster.metadata import PartitionView
from kcli.flows.brokers.log_dirs import LOG_DIRS, log_dir_rows
from kcli.flows.cluster_state import (
    ONLINE,
    BrokerState,
    ClusterState,
    is_offline,
    is_under_replicated,
)
from kcli.flows.features.rows import feature_rows as rows_of_features
from kcli.output.sanitise import visible_line
from kcli.output.tables import Column

if TYPE_CHECKING:
    from kcli.core.admin.brokers import LogDir

Row = dict[str, Any]
LogDirs = Mapping[int, Sequence["LogDir"]]

BROKERS = (
    Column("broker", "id", values="integer", meaning="Number of the broker."),
    Column("host", meaning="Its host; null where it is unknown."),
    Column("port", "id", meaning="Its port; null where it is unknown."),
    Column("rack", spare=2, meaning="Its rack; null where it has none."),
    Column("version", spare=1, meaning="Version of Kafka, as far as it can be told."),
    Column("state", values="string", meaning="online, fenced or offline, for example."),
    Column("leaders", "number", spare=4, values="count", meaning="Partitions that it leads."),
    Column("replicas", "number", spare=3, values="count", meaning="Replicas that it has."),
    Column("not_in_sync", "number", values="count", meaning="Replicas that are not in sync."),
)
_PARTITION = (
    Column("topic"),
    Column("partition", "id"),
    Column("replicas"),
    Column("isr"),
    Column(
        "offline", spare=1, values="integers", meaning="Numbers of the brokers whose replicas are offline."
    ),
)
PARTITIONS = (*_PARTITION[:2], Column("state"), *_PARTITION[2:])
FEATURES = (
    Column("feature", values="string", meaning="Name of the feature."),
    Column("finalized", "id", values="integer", meaning="Level that is in effect; 0: none."),
    Column(
        "supported_min",
        "id",
        spare=1,
        values="integer",
        meaning="The lowest level that these brokers support.",
    ),
    Column("supported_max", "id", values="integer", meaning="The highest."),
    Column("brokers", values="integers", meaning="Numbers of brokers."),
)
CLUSTER = (
    Column("cluster_id", meaning="Id of the cluster."),
    Column("version", meaning="Version of Kafka, as far as it can be told from metadata.version."),
    Column("metadata_version", values="integer?", meaning="Level of metadata.version; null without KRaft."),
    Column("controller", values="integer?", meaning="Number of the controller; null where it is unknown."),
    Column("controller_epoch", values="integer?", meaning="Its epoch; null where it is unknown."),
    Column(
        "voters",
        values="integers?",
        meaning="Numbers of the controllers that vote; null where they are unknown.",
    ),
    Column("brokers", values="objects", inner=BROKERS, meaning="The brokers."),
    Column("topics", values="count", meaning="How many topics."),
    Column("partitions", values="count", meaning="How many partitions."),
    Column("offline_partitions", values="objects", inner=_PARTITION, meaning="Partitions without a leader."),
    Column(
        "under_replicated_partitions",
        values="objects",
        inner=_PARTITION,
        meaning="Partitions with replicas that are not in sync.",
    ),
)
FURTHER = WITH_FEATURES, WITH_LOG_DIRS = (
    Column(
        "features", values="objects", inner=FEATURES, meaning="With --features: the features.", sometimes=True
    ),
    Column(
        "log_dirs",
        values="objects",
        inner=LOG_DIRS,
        meaning="With --log-dirs: the log directories.",
        sometimes=True,
    ),
)
_MOST = 20
"""Partitions in a table for people; the other commands list them all."""


def one_table(inv: Invocation) -> bool:
    """Whether the output is a single table, without anything above or below it."""
    form = inv.out.list_kind()
    return form in ("tsv", "csv", "name") or (form == "plain" and not inv.out.headers)


def print_state(
    inv: Invocation,
    cluster: str,
    state: ClusterState,
    brokers: Sequence[BrokerState],
    *,
    with_features: bool,
    log_dirs: LogDirs | None,
) -> None:
    """One item in JSON and YAML; otherwise tables."""
    form = inv.out.list_kind()
    if form in ("json", "ndjson", "yaml"):
        item, keys = cluster_item(state, brokers), list(CLUSTER)
        if with_features:
            item["features"] = feature_rows(state)
            keys.append(WITH_FEATURES)
        if log_dirs is not None:
            item["log_dirs"] = log_dir_rows(log_dirs)
            keys.append(WITH_LOG_DIRS)
        _print(inv, keys, [item], cluster)
        return
    tables: list[tuple[Sequence[Column], list[Row]]] = []
    if with_features:
        tables.append((FEATURES, feature_rows(state)))
    if log_dirs is not None:
        tables.append((LOG_DIRS, log_dir_rows(log_dirs)))
    if one_table(inv):
        columns, rows = tables[0] if tables else (BROKERS, broker_rows(state, brokers))
        _print(inv, columns, rows, cluster)
        return
    inv.out.shown(heading(cluster, state, brokers) + "\n", fold=True)
    _print(inv, BROKERS, broker_rows(state, brokers), cluster)
    trouble = list(troubled_rows(state))
    shown = trouble if form != "table" else trouble[:_MOST]
    for columns, rows in ((PARTITIONS, shown), *tables):
        if rows:
            inv.out.text("\n")
            _print(inv, columns, rows, cluster)
        if columns is PARTITIONS and len(trouble) > len(shown):
            inv.out.text(
                f"… and {len(trouble) - len(shown):,} more: kcli topics describe --unavailable --under-replicated\n"
            )
    if with_features and not tables[0][1]:
        inv.talk.note(
            "no broker reports features: there are none before Kafka 2.7, with ZooKeeper, or with KRaft before 3.3"
        )


def heading(cluster: str, state: ClusterState, brokers: Sequence[BrokerState]) -> str:
    """The cluster in three lines."""
    release = release_of(state.finalized.get(METADATA_VERSION, 0))
    controller = state.controller
    away = [str(broker.number) for broker in brokers if broker.state != ONLINE]
    first = [
        f"brokers {len(brokers)}" + (f" ({len(away)} not online: {','.join(away)})" if away else ""),
        f"controller {'unknown' if controller is None else controller}",
    ]
    if state.quorum is not None and state.quorum.voters:
        first.append(f"voters {','.join(map(str, state.quorum.voters))}")
    if release is not None:
        first.append(f"metadata version {release}")
    parts = [part for topic in state.topics for part in topic.partitions]
    second = [
        f"topics {len(state.topics):,}",
        f"partitions {len(parts):,}",
        f"offline {sum(map(is_offline, parts)):,}",
        f"under-replicated {sum(map(is_under_replicated, parts)):,}",
    ]
    return f"cluster {visible_line(cluster) or '-'}\n  {', '.join(first)}\n  {', '.join(second)}\n"


def cluster_item(state: ClusterState, brokers: Sequence[BrokerState]) -> Row:
    """The cluster, for JSON."""
    level = state.finalized.get(METADATA_VERSION)
    parts = [(topic.name, part) for topic in state.topics for part in topic.partitions]
    return {
        "cluster_id": state.description.cluster_id or None,
        "version": release_of(level or 0),
        "metadata_version": level,
        "controller": state.controller,
        "controller_epoch": state.quorum.leader_epoch if state.quorum is not None else None,
        "voters": list(state.quorum.voters) if state.quorum is not None else None,
        "brokers": broker_rows(state, brokers),
        "topics": len(state.topics),
        "partitions": len(parts),
        "offline_partitions": [_partition(name, part) for name, part in parts if is_offline(part)],
        "under_replicated_partitions": [
            _partition(name, part) for name, part in parts if is_under_replicated(part)
        ],
    }


def broker_rows(state: ClusterState, brokers: Sequence[BrokerState]) -> list[Row]:
    """The brokers; where nothing is known of one, null."""
    return [
        {
            "broker": broker.number,
            "host": broker.node.host if broker.node else None,
            "port": broker.node.port if broker.node else None,
            "rack": broker.node.rack if broker.node else None,
            "version": state.features[broker.number].release if broker.number in state.features else None,
            "state": broker.state,
            "leaders": broker.leaders,
            "replicas": broker.replicas,
            "not_in_sync": broker.under_replicated,
        }
        for broker in brokers
    ]


def troubled_rows(state: ClusterState) -> Iterator[Row]:
    """The offline partitions, then those that are only under-replicated."""
    parts = [(topic.name, part) for topic in state.topics for part in topic.partitions]
    for name, part in parts:
        if is_offline(part):
            yield _partition(name, part) | {"state": "offline"}
    for name, part in parts:
        if is_under_replicated(part) and not is_offline(part):
            yield _partition(name, part) | {"state": "under-replicated"}


def feature_rows(state: ClusterState) -> list[Row]:
    """The columns of ``FEATURES`` of what ``kcli features list`` has."""
    keys = [column.key for column in FEATURES]
    return [{key: row[key] for key in keys} for row in rows_of_features(state.features)]


def _partition(topic: str, part: PartitionView) -> Row:
    return {
        "topic": topic,
        "partition": part.partition,
        "replicas": list(part.replicas),
        "isr": list(part.isr),
        "offline": list(part.offline),
    }


def _print(inv: Invocation, columns: Sequence[Column], rows: Sequence[Row], cluster: str) -> None:
    print_rows(inv, "ClusterDescriptionList", columns, rows, cluster, item="ClusterDescription")
