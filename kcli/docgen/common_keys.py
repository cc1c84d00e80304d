"""The keys that have the same name and the same meaning in several kinds: columns without a meaning have theirs."""

from kcli.output.tables import Column

_MISSING = (
    Column("what", values="string", meaning="The part: its name, or as much as is known of it."),
    Column(
        "where",
        values="string?",
        meaning="The broker or the partitions that it is at; null where that is not known.",
    ),
    Column("why", values="string", meaning="Why it could not be read."),
    Column("code", values="integer", meaning="The exit code where nothing else was read."),
)
COMMON_KEYS = (
    Column(
        "api",
        values=("kcli/v1",),
        meaning="The version of the format. Within kcli/v1 properties are only added: readers have to ignore those that "
        "they do not know.",
    ),
    Column(
        "cluster",
        values="string?",
        meaning="Id of the cluster, or address of the schema registry; null where the command needs none, or where it is "
        "unknown.",
    ),
    Column("at", values="time", meaning="When the document was begun, in UTC."),
    Column("warnings", values="strings", meaning="Warnings of the command, as on stderr."),
    Column(
        "complete",
        values="boolean",
        meaning="Whether nothing is missing; without it the exit code is 6, or that of the reason where nothing could be "
        "read.",
    ),
    Column(
        "missing",
        values="objects",
        inner=_MISSING,
        meaning="The parts of what was asked for that could not be read.",
    ),
    Column("topic", values="string", meaning="Name of the topic."),
    Column("partition", values="count", meaning="Number of the partition."),
    Column("group", values="string", meaning="Name of the group."),
    Column(
        "lag_records",
        values="count?",
        meaning="Records between the committed offset and the end; null where it is unknown.",
    ),
    Column("note", values="string?", meaning="A remark; null where there is none."),
    Column(
        "member_id",
        values="string?",
        meaning="Id of the member to which the partition is assigned; null where there is none.",
    ),
    Column("client_id", values="string?", meaning="Client id of the member; null where there is none."),
    Column("host", values="string?", meaning="Host of the member; null where there is none."),
    Column("committed", values="count?", meaning="The committed offset; null without a commit."),
    Column("end", values="count?", meaning="Offset after the last record; null where it is unknown."),
    Column(
        "log_start",
        values="count?",
        meaning="Offset of the first record that is still there; null where it is unknown.",
    ),
    Column(
        "leader_epoch",
        values="count?",
        meaning="Epoch of the leader that wrote it; null where it is unknown.",
    ),
    Column("transactional_id", values="string?", meaning="The transactional id; null where it is unknown."),
    Column("producer_id", values="integer?", meaning="Id of the producer; null where there is none."),
    Column("producer_epoch", values="integer?", meaning="Epoch of the producer; null where there is none."),
    Column(
        "coordinator",
        values="integer?",
        meaning="Number of the broker that coordinates; null where it is unknown.",
    ),
    Column(
        "replicas",
        values="integers",
        meaning="Numbers of the brokers with a replica, the preferred one first.",
    ),
    Column("isr", values="integers", meaning="Numbers of the brokers whose replicas are in sync."),
    Column("sensitive", values="boolean", meaning="Whether the value is a secret, which is not shown: null."),
    Column("error", values="string?", meaning="Why it failed; null or absent where it did not."),
    Column("since", values="time?", meaning="When the transaction began; null where it is unknown."),
    Column("age_seconds", values="amount?", meaning="Seconds since it began; null where it is unknown."),
    Column(
        "timeout_seconds",
        values="amount?",
        meaning="Seconds after which the coordinator aborts it; null where it is unknown.",
    ),
    Column(
        "last_stable",
        values="count?",
        meaning="Last stable offset: readers of committed records get no further; null where it is unknown.",
    ),
    Column(
        "start_offset",
        values="count?",
        meaning="Offset of its first record in the partition; null where it is unknown.",
    ),
    Column(
        "waiting",
        values="count?",
        meaning="Offsets between the last stable one and the end; null where it is unknown.",
    ),
    Column(
        "ends_at", values="time?", meaning="When its timeout ends it; null where it is unknown or not due."
    ),
    Column(
        "records_per_second", values="number?", meaning="Records a second; null where no time has passed."
    ),
    Column(
        "mb_per_second",
        values="number?",
        meaning="Megabytes (1,000,000 bytes) a second; null where no time has passed.",
    ),
)
