"""The metrics that are exported: names, types, labels, what they mean, and where their values are. Pure.

``make docs`` writes the table in docs/exporter.md.
"""

from functools import partial
from operator import attrgetter
from typing import Any

from kcli.exporter.collectors import brokers, commits, configs, log_dirs, quorum, quotas, topics, transactions
from kcli.exporter.metric import COUNTER, GAUGE, INFO, STATESET, SUMMARY, Metric
from kcli.flows.lag.lag_columns import by_partition
from kcli.flows.lag.partition_lag import COMMITTED, LAG_SECONDS, MARGIN, MEASURED, START
from kcli.output.tables import Field

STATES = (
    "Stable",
    "Empty",
    "PreparingRebalance",
    "CompletingRebalance",
    "Assigning",
    "Reconciling",
    "NotReady",
    "Dead",
    "Unknown",
)
"""Of a group, as brokers report them. A state that is not among them is added to its group's."""


def _of_partition(field: Field[Any]) -> Metric:
    labels = "group", "topic", "partition"
    return Metric(field.metric, GAUGE, labels, field.sentence, partial(by_partition, field))


SHARE_START = _of_partition(START)
OF_PARTITIONS = tuple(map(_of_partition, MEASURED))
OF_SHARES = tuple(
    SHARE_START if field is COMMITTED else metric
    for field, metric in zip(MEASURED, OF_PARTITIONS, strict=True)
)
"""Those of share groups."""

_SUMMARY = attrgetter("summary")
OF_GROUPS = tuple(
    Metric(f"kcli_group_{name}", GAUGE, ("group",), text, of)
    for name, text, of in (
        ("sum_lag_records", "Lag in records of all partitions where it is known.", attrgetter("summary.lag")),
        (
            "max_lag_seconds",
            "The longest lag in time of a partition.",
            LAG_SECONDS.within(_SUMMARY).value,
        ),
        (
            "min_retention_margin_seconds",
            "The shortest retention margin of a partition.",
            MARGIN.within(_SUMMARY).value,
        ),
        ("sum_lost_records", "Lost records of all partitions.", attrgetter("summary.lost")),
        (
            "partitions",
            "Partitions with a commit, or read by a member without one.",
            attrgetter("summary.partitions"),
        ),
        ("members", "Members of the group.", attrgetter("members")),
        ("idle_members", "Members without a partition.", attrgetter("idle")),
    )
)
STATE = Metric(
    "kcli_group_state", STATESET, ("group", "kcli_group_state"), "State of the group, as Kafka calls it."
)
VERDICT = Metric(
    "kcli_group_verdict",
    STATESET,
    ("group", "kcli_group_verdict"),
    "The verdict of kcli groups lag; absent while it is not known.",
)

PARTITION_VERDICT = Metric(
    "kcli_group_partition_verdict",
    GAUGE,
    ("group", "topic", "partition", "verdict"),
    "1 for the verdict that the partition has; absent while it is not known.",
)
OWNER = Metric(
    "kcli_group_partition_owner",
    INFO,
    ("group", "topic", "partition", "client_id", "host"),
    "The member that reads the partition.",
)
TOPOLOGY_EPOCH = Metric(
    "kcli_streams_group_topology_epoch", GAUGE, ("group",), "The epoch of a streams group's topology."
)
TASKS = Metric(
    "kcli_streams_group_tasks",
    GAUGE,
    ("group", "kind"),
    "Tasks that the members of a streams group have: active, standby, warmup.",
)
GROUP = Metric(
    "kcli_group",
    INFO,
    ("group", "type", "protocol", "coordinator"),
    "Type and protocol of a group with members, and the node id of its coordinator.",
)

OF_TOPICS = tuple(
    Metric(f"kcli_topic_{name}", GAUGE, ("topic",), text, of)
    for name, text, of in (
        ("partitions", "Partitions of the topic.", attrgetter("partitions")),
        (
            "under_replicated_partitions",
            "Partitions with replicas that are not in sync.",
            attrgetter("under_replicated"),
        ),
        ("offline_partitions", "Partitions without a leader.", attrgetter("offline")),
        ("size_bytes", "Bytes of the logs of the leaders.", attrgetter("size")),
    )
)
TOPIC_START = Metric(
    "kcli_topic_log_start_offset", GAUGE, ("topic", "partition"), "The first offset of the log."
)
TOPIC_END = Metric("kcli_topic_log_end_offset", GAUGE, ("topic", "partition"), "The end of the log.")

MISSING = Metric(
    "kcli_missing",
    GAUGE,
    ("what", "reason"),
    "Parts that the last sample could not read: groups whose names are known, members of groups, partitions of "
    "__consumer_offsets whose groups are not listed, partitions, commits, and the rest.",
)
CLUSTER = Metric("kcli_cluster", INFO, ("cluster_id",), "The cluster that is read.")
BROKERS = Metric("kcli_cluster_brokers", GAUGE, (), "Brokers that are registered and not fenced.")
REQUESTS = Metric(
    "kcli_broker_request_seconds",
    SUMMARY,
    ("broker",),
    "From sending a request to its response, as seen by this exporter.",
)
SLOWEST = Metric(
    "kcli_broker_max_request_seconds", GAUGE, ("broker",), "The slowest request of the last sample, likewise."
)

UP = Metric("kcli_exporter_up", GAUGE, (), "1 if the last sample succeeded and is not too old, else 0.")
COMPLETE = Metric(
    "kcli_sample_complete",
    GAUGE,
    (),
    "1 if the last sample has all that was asked for, 0 if a part is missing.",
)
LAST_SUCCESS = Metric(
    "kcli_exporter_last_success_timestamp_seconds", GAUGE, (), "When the last sample succeeded."
)
AGE = Metric("kcli_exporter_age_seconds", GAUGE, (), "How long ago the last sample succeeded.")
SAMPLE_SECONDS = Metric("kcli_exporter_sample_seconds", GAUGE, (), "How long the last sample took.")
SERIES = Metric("kcli_exporter_series", GAUGE, (), "Series of the cluster on this page.")
DROPPED = Metric("kcli_exporter_dropped_series", GAUGE, (), "Series left out because of --max-series.")
PROBLEMS = Metric("kcli_exporter_problems", GAUGE, (), "What the last sample could not read.")
COLLECTED = Metric(
    "kcli_exporter_collector_complete",
    GAUGE,
    ("collector",),
    "1 if all that the collector shows was read, 0 if something is missing.",
)
SERIES_DROPPED = Metric(
    "kcli_series_dropped", GAUGE, ("collector",), "Series of the collector left out because of --max-series."
)
SAMPLES = Metric("kcli_exporter_samples", COUNTER, (), "Samples that were begun and have ended.")
FAILURES = Metric("kcli_exporter_failed_samples", COUNTER, (), "Samples that failed.")
SENT = Metric("kcli_exporter_requests", COUNTER, (), "Requests to brokers that were answered.")
SCRAPES = Metric("kcli_exporter_scrapes", COUNTER, (), "Pages of metrics that were sent.")
VERSION = Metric("kcli_exporter", INFO, ("version",), "The version of kcli.")
OF_HEALTH = (
    UP,
    COMPLETE,
    LAST_SUCCESS,
    AGE,
    SAMPLE_SECONDS,
    SERIES,
    DROPPED,
    PROBLEMS,
    SAMPLES,
    FAILURES,
    SENT,
    SCRAPES,
    VERSION,
)

METRICS = (
    *OF_PARTITIONS,
    SHARE_START,
    PARTITION_VERDICT,
    OWNER,
    *OF_GROUPS,
    STATE,
    VERDICT,
    GROUP,
    TOPOLOGY_EPOCH,
    TASKS,
    *OF_TOPICS,
    TOPIC_START,
    TOPIC_END,
    MISSING,
    *topics.METRICS,
    *configs.METRICS,
    CLUSTER,
    BROKERS,
    *brokers.METRICS,
    REQUESTS,
    SLOWEST,
    *log_dirs.METRICS,
    *quorum.METRICS,
    *transactions.METRICS,
    *commits.METRICS,
    *quotas.METRICS,
    COLLECTED,
    SERIES_DROPPED,
    *OF_HEALTH,
)


def is_of_one_sample(metric: Metric) -> bool:
    """Whether it means something where one sample is all: a count since the exporter began does not."""
    return metric.kind not in (COUNTER, SUMMARY) and metric != AGE
