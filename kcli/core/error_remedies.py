"""What to do about a broker's error code, where the code alone says it; callers that know more give a better remedy."""

from kcli.core.error_codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    INVALID_RECORD,
    INVALID_TIMESTAMP,
    LEADER_NOT_AVAILABLE,
    NOT_COORDINATOR,
    NOT_ENOUGH_REPLICAS,
    NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    REBALANCE_IN_PROGRESS,
    REQUEST_TIMED_OUT,
    TOPIC_AUTHORIZATION_FAILED,
    UNSTABLE_OFFSET_COMMIT,
    UNSUPPORTED_VERSION,
)

RAISE_FILE_LIMIT = "raise the limit of open files: `ulimit -n` shows it, `ulimit -n 1024` sets it"
_COORDINATOR = (
    "try again in a moment; if it lasts, check that the brokers that host __consumer_offsets are running"
)
_REPLICAS = (
    "bring brokers back, or lower min.insync.replicas, with which acknowledged records can be lost; "
    "`kcli topics describe TOPIC` shows which replicas are in sync"
)
# Without an operation: which one is missing is known where the request is made (``BrokerError.needs``), not here.
_GRANT_TOPIC = (
    "have the operation granted: `kcli acls create --principal User:NAME --operation OPERATION --topic TOPIC`: read to "
    "consume, write to produce, describe to see it, create, delete (also its records), alter to add partitions, "
    "describe_configs and alter_configs for its configuration"
)
_GRANT_GROUP = (
    "have the operation granted: `kcli acls create --principal User:NAME --operation OPERATION --group GROUP`: read to "
    "consume and to commit, describe to see it, delete"
)
_GRANT_CLUSTER = (
    "have the operation granted: `kcli acls create --principal User:NAME --operation OPERATION --cluster`: describe to "
    "see the cluster, create for topics, describe_configs and alter_configs for brokers and quotas, alter for ACLs, "
    "users, leaders and replicas; a producer needs no permission for the cluster if it has write for a topic"
)

REMEDIES = {
    LEADER_NOT_AVAILABLE: "try again in a moment; `kcli topics describe TOPIC` shows leaders and replicas",
    REQUEST_TIMED_OUT: "try again, check whether the brokers are overloaded, or wait longer with --timeout",
    COORDINATOR_LOAD_IN_PROGRESS: _COORDINATOR,
    COORDINATOR_NOT_AVAILABLE: _COORDINATOR,
    NOT_COORDINATOR: _COORDINATOR,
    NOT_ENOUGH_REPLICAS: _REPLICAS,
    NOT_ENOUGH_REPLICAS_AFTER_APPEND: _REPLICAS,
    REBALANCE_IN_PROGRESS: "try again when the rebalance is over",
    TOPIC_AUTHORIZATION_FAILED: _GRANT_TOPIC,
    30: _GRANT_GROUP,
    31: _GRANT_CLUSTER,
    INVALID_RECORD: "a record of a compacted topic (cleanup.policy=compact) needs a key; the log of the broker names any "
    "other reason",
    INVALID_TIMESTAMP: "correct the timestamp, or widen message.timestamp.before.max.ms and "
    "message.timestamp.after.max.ms of the topic (before Kafka 3.6: message.timestamp.difference.max.ms)",
    UNSUPPORTED_VERSION: "the broker is too old, or too new, for this: do without it, or use another broker",
    -1: "the log of the broker has the cause; try again, or ask those who run the cluster",
    89: "wait and try again: the quota controller_mutation_rate limits how many partitions are created and deleted in a "
    "second; `kcli quotas list` shows it",
    38: "use a replication factor of at most the number of brokers",
    40: "correct the value: Kafka's documentation lists the keys of topics, brokers and groups, and their values",
    43: "set message.format.version of the topic to 0.11.0 or later",
    53: "have it granted: `kcli acls create --principal User:NAME --operation write --transactional-id ID`",
    56: "check the disks and the log of that broker",
    76: "choose another codec with -z, or check compression.type of the topic",
    UNSTABLE_OFFSET_COMMIT: "wait for the end of the transaction, or abort it",
}
"""By Kafka's number. Codes without a constant in kcli are given as numbers: -1 unknown, 89 throttled,
30 and 31 no permission for group and
cluster, 38 replication factor, 40 configuration, 43 message format, 53 no permission for a transactional id, 56 disk,
76 compression.
"""
