"""The metrics that are exported: names, types, labels and what they mean. Pure; docs/exporter.md has the same table."""

from typing import NamedTuple

GAUGE, COUNTER, SUMMARY, STATESET, INFO = "gauge", "counter", "summary", "stateset", "info"

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


class Metric(NamedTuple):
    """``name`` without the suffixes that a type adds (``_total``, ``_info``); ``labels`` in the order of the page."""

    name: str
    kind: str
    labels: tuple[str, ...]
    text: str

    @property
    def unit(self) -> str:
        """The unit that OpenMetrics is given; empty where the name does not end with a base unit."""
        last = self.name.rpartition("_")[2]
        return last if last in ("seconds", "bytes") else ""


_PARTITION = ("group", "topic", "partition")
_GROUP = ("group",)

LAG_RECORDS = Metric(
    "kcli_group_lag_records",
    GAUGE,
    _PARTITION,
    "Records between the committed offset and the end of the log.",
)
LAG_SECONDS = Metric("kcli_group_lag_seconds", GAUGE, _PARTITION, "Age of the first unread record.")
MARGIN = Metric(
    "kcli_group_retention_margin_seconds",
    GAUGE,
    _PARTITION,
    "How long the first unread record is kept at least.",
)
LOST = Metric(
    "kcli_group_lost_records", GAUGE, _PARTITION, "Offsets between the commit and the start of the log."
)
COMMITTED = Metric("kcli_group_committed_offset", GAUGE, _PARTITION, "The committed offset.")
END = Metric("kcli_group_log_end_offset", GAUGE, _PARTITION, "The end of the log.")
OF_PARTITIONS = (LAG_RECORDS, LAG_SECONDS, MARGIN, LOST, COMMITTED, END)

SUM_LAG = Metric(
    "kcli_group_sum_lag_records", GAUGE, _GROUP, "Lag in records of all partitions where it is known."
)
MAX_SECONDS = Metric("kcli_group_max_lag_seconds", GAUGE, _GROUP, "The longest lag in time of a partition.")
MIN_MARGIN = Metric(
    "kcli_group_min_retention_margin_seconds", GAUGE, _GROUP, "The shortest retention margin of a partition."
)
SUM_LOST = Metric("kcli_group_sum_lost_records", GAUGE, _GROUP, "Lost records of all partitions.")
PARTITIONS = Metric(
    "kcli_group_partitions", GAUGE, _GROUP, "Partitions with a commit, or read by a member without one."
)
MEMBERS = Metric("kcli_group_members", GAUGE, _GROUP, "Members of the group.")
OF_GROUPS = (SUM_LAG, MAX_SECONDS, MIN_MARGIN, SUM_LOST, PARTITIONS, MEMBERS)
STATE = Metric(
    "kcli_group_state", STATESET, ("group", "kcli_group_state"), "State of the group, as Kafka calls it."
)
VERDICT = Metric(
    "kcli_group_verdict",
    STATESET,
    ("group", "kcli_group_verdict"),
    "The verdict of kcli groups lag; absent while it is not known.",
)

TOPIC_PARTITIONS = Metric("kcli_topic_partitions", GAUGE, ("topic",), "Partitions of the topic.")
UNDER_REPLICATED = Metric(
    "kcli_topic_under_replicated_partitions",
    GAUGE,
    ("topic",),
    "Partitions with replicas that are not in sync.",
)
OFFLINE = Metric("kcli_topic_offline_partitions", GAUGE, ("topic",), "Partitions without a leader.")
SIZE = Metric("kcli_topic_size_bytes", GAUGE, ("topic",), "Bytes of the logs of the leaders.")
OF_TOPICS = (TOPIC_PARTITIONS, UNDER_REPLICATED, OFFLINE, SIZE)
TOPIC_START = Metric(
    "kcli_topic_log_start_offset", GAUGE, ("topic", "partition"), "The first offset of the log."
)
TOPIC_END = Metric("kcli_topic_log_end_offset", GAUGE, ("topic", "partition"), "The end of the log.")

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
LAST_SUCCESS = Metric(
    "kcli_exporter_last_success_timestamp_seconds", GAUGE, (), "When the last sample succeeded."
)
AGE = Metric("kcli_exporter_age_seconds", GAUGE, (), "How long ago the last sample succeeded.")
SAMPLE_SECONDS = Metric("kcli_exporter_sample_seconds", GAUGE, (), "How long the last sample took.")
SERIES = Metric("kcli_exporter_series", GAUGE, (), "Series of the cluster on this page.")
DROPPED = Metric("kcli_exporter_dropped_series", GAUGE, (), "Series left out because of --max-series.")
PROBLEMS = Metric("kcli_exporter_problems", GAUGE, (), "What the last sample could not read.")
SAMPLES = Metric("kcli_exporter_samples", COUNTER, (), "Samples that were begun and have ended.")
FAILURES = Metric("kcli_exporter_failed_samples", COUNTER, (), "Samples that failed.")
SENT = Metric("kcli_exporter_requests", COUNTER, (), "Requests to brokers that were answered.")
SCRAPES = Metric("kcli_exporter_scrapes", COUNTER, (), "Pages of metrics that were sent.")
VERSION = Metric("kcli_exporter", INFO, ("version",), "The version of kcli.")
OF_HEALTH = (
    UP,
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
    *OF_GROUPS,
    STATE,
    VERDICT,
    *OF_TOPICS,
    TOPIC_START,
    TOPIC_END,
    CLUSTER,
    BROKERS,
    REQUESTS,
    SLOWEST,
    *OF_HEALTH,
)
