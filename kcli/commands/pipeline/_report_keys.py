"""The keys of the documents of jobs, for their schemas: which of them an item has depends on the job, whose columns they
are. Not beside the jobs, some of which import pyspark or pyarrow, which are extras.
"""

from kcli.flows.perf.result import PERCENTILES
from kcli.output.tables import Column

_RATES = (
    Column("records_per_second", sometimes=True),
    Column("mb_per_second", sometimes=True),
    *(
        Column(
            f"latency_{name}{ending}_us",
            values="number?" if name == "mean" else "count?",
            meaning=f"Latency {since} in microseconds: {name}; null where it was not measured.",
            sometimes=True,
        )
        for ending, since in (("", "of requests"), ("_corrected", "from the intended time"))
        for name in ("mean", *PERCENTILES, "max")
    ),
    Column("errors", values="count", meaning="perf: records that failed.", sometimes=True),
    Column("unconfirmed", values="count?", meaning="perf: records of unknown outcome.", sometimes=True),
)
_OUTCOME = (
    Column(
        "status",
        values=("done", "unchanged", "refused", "missing", "failed", "unknown"),
        meaning="import: what became of it; missing: the export does not have what it needs.",
        sometimes=True,
    ),
    Column("why", values="string?", meaning="import: why; null where nothing is to be said.", sometimes=True),
)
_DIFFERENCE = (
    Column("offset", values="integer?", meaning="Offset in the source; null where it has no record."),
    Column("why", values="string", meaning="What differs."),
    Column(
        "target_offset",
        values="integer?",
        meaning="Offset in the target, where the source has no record.",
        sometimes=True,
    ),
    Column("key", values="string?", meaning="The record's key; null where it has none.", sometimes=True),
    Column("key_encoding", values=("base64",), meaning="The key is no UTF-8.", sometimes=True),
)
KEYS = (
    Column("item", values=("partition", "task"), meaning="What the item is about.", sometimes=True),
    Column("topic", meaning="Name of the topic.", sometimes=True),
    Column("partition", values="count", meaning="Number of the partition.", sometimes=True),
    Column("target_topic", meaning="Name of the topic on the target.", sometimes=True),
    Column(
        "target_partition", values="count?", meaning="Number of the partition on the target.", sometimes=True
    ),
    Column("task", values="count", meaning="Number of the task.", sometimes=True),
    Column("start", values="count?", meaning="The first offset.", sometimes=True),
    Column("end", values="count?", meaning="The offset after the last one.", sometimes=True),
    Column("records", values="count", meaning="Records.", sometimes=True),
    Column(
        "skipped_records", values="count", meaning="Offsets without a record that was wanted.", sometimes=True
    ),
    Column(
        "missing_records",
        values="count",
        meaning="export: offsets that were removed before they were read.",
        sometimes=True,
    ),
    Column("bytes", values="count", meaning="Bytes.", sometimes=True),
    Column("files", values="strings", meaning="Files, by path.", sometimes=True),
    Column(
        "equal",
        values="boolean?",
        meaning="verify: whether both are equal; null where it could not be found out.",
        sometimes=True,
    ),
    Column("compared_records", values="count", meaning="verify: records that were compared.", sometimes=True),
    Column("repaired_records", values="count", meaning="verify: records that were repaired.", sometimes=True),
    Column(
        "first_difference",
        values="object?",
        inner=_DIFFERENCE,
        meaning="verify: the first difference; null where there is none.",
        sometimes=True,
    ),
    Column(
        "differences",
        values="objects",
        inner=_DIFFERENCE,
        meaning="verify --level records: the first ten differences.",
        sometimes=True,
    ),
    Column(
        "different_records",
        values="count",
        meaning="verify --level records: how many records differ, of the first 65,536 from the first that does on.",
        sometimes=True,
    ),
    Column("null_keys", values="count", meaning="profile: records without a key.", sometimes=True),
    Column("null_values", values="count", meaning="profile: records without a value.", sometimes=True),
    Column(
        "distinct_keys",
        values="count",
        meaning="profile: keys; an estimate where there are many.",
        sometimes=True,
    ),
    Column("min_timestamp", values="time?", meaning="profile: the earliest timestamp.", sometimes=True),
    Column("max_timestamp", values="time?", meaning="profile: the latest timestamp.", sometimes=True),
    Column("seconds", values="amount", meaning="perf: how long it took.", sometimes=True),
    *_RATES,
    Column("error", sometimes=True),
)
HEAD = (
    Column("command", values="string", meaning="Which job."),
    Column("runner", values="string", meaning="spark, processes or inline."),
    Column(
        "totals",
        values="object",
        inner=(
            Column("records", values="count", meaning="Records."),
            Column("bytes", values="count", meaning="Bytes."),
            Column("seconds", values="amount", meaning="How long it took."),
            Column("tasks", values="count", meaning="Tasks."),
            Column("task_retries", values="count", meaning="Attempts that were repeated."),
            *_RATES,
        ),
        meaning="Sums of the job; rates and latencies of perf.",
    ),
    Column(
        "tables",
        values="objects",
        inner=(
            Column("topic", values="string", meaning="Name of the topic."),
            Column("table", values="string", meaning="Name of the table."),
            Column("format", values="string", meaning="delta or iceberg."),
            Column("location", values="string", meaning="Where its files are."),
            Column("version", values="string", meaning="Delta's version, or the id of Iceberg's snapshot."),
        ),
        sometimes=True,
        meaning="export: the tables, where they are now.",
    ),
    Column("topics", values="objects", sometimes=True, meaning="profile: what was found, by topic."),
    Column(
        "groups",
        values="objects",
        inner=(
            Column("group", values="string", meaning="Name of the group."),
            Column("topic", values="string", meaning="Name of the topic in the export."),
            Column("partition", values="count", meaning="Number of the partition."),
            Column("target_topic", values="string?", meaning="Its name on the target.", sometimes=True),
            Column("source_offset", values="count", meaning="The position in the export."),
            Column(
                "target_offset",
                values="count?",
                meaning="That of the same record on the target; null where there is none.",
                sometimes=True,
            ),
            *_OUTCOME,
        ),
        sometimes=True,
        meaning="export and import --with-groups: the positions of groups.",
    ),
    Column(
        "settings",
        values="objects",
        inner=(
            Column("topic", values="string", meaning="Name of the topic in the export."),
            Column("target_topic", values="string", meaning="Its name on the target.", sometimes=True),
            Column(
                "setting",
                values="string",
                meaning="A key of the configuration, partitions or replication.factor.",
            ),
            Column("value", values="string", meaning="Its value in the export."),
            Column(
                "target_value",
                values="string?",
                meaning="What is in force on the target now; null where that is not known.",
                sometimes=True,
            ),
            *_OUTCOME,
        ),
        sometimes=True,
        meaning="export and import --with-config: what topics are configured with.",
    ),
)
QUERY = (
    Column("columns", values="strings", meaning="The columns of the query."),
    Column(
        "partitions",
        values="objects",
        meaning="With --follow: what was read.",
        inner=(
            Column("topic", meaning="Name of the topic."),
            Column("partition", values="count", meaning="Number of the partition."),
            Column("start", values="count", meaning="The first offset."),
            Column("end", values="count", meaning="The offset after the last one."),
            Column("records", values="count", meaning="Records that were read."),
            Column(
                "late_records",
                values="count",
                meaning="Those that came after their windows had closed, and are in no result.",
            ),
        ),
        sometimes=True,
    ),
    Column(
        "closed_windows", values="count", meaning="With --follow: windows that were printed.", sometimes=True
    ),
    Column(
        "open_windows",
        values="objects",
        meaning="With --follow: windows that were not printed, or not wholly.",
        inner=(
            Column("window_start", values="time", meaning="Where it begins."),
            Column("window_end", values="time", meaning="Where the next one begins."),
            Column("records", values="count", meaning="Records in it."),
        ),
        sometimes=True,
    ),
)
QUERY_ROW: tuple[Column, ...] = ()  # those of the query
