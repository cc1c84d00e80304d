"""Kafka's error codes as a table: number, name, whether a retry can help and what must be looked up first.

A code is not interpreted before a client decides; only ``retry.py`` reads the last two columns. Names and flags are
those of the Java client's ``Errors`` (compared with it in the tests). At the end, what to do about a code, where the code
alone says it; callers that know more give a better remedy.
"""

from kcli.core.classes import NamedTuple


class ErrorCode(NamedTuple):
    """A row. ``refresh`` is ``"metadata"``, ``"coordinator"`` or ``""``: what is stale when the code appears."""

    number: int
    name: str
    retriable: bool
    refresh: str
    text: str


# number, name, flags (R: a retry can help, M: metadata is stale, C: the coordinator moved), description
_ROWS: tuple[tuple[int, str, str, str], ...] = (
    (-1, "UNKNOWN_SERVER_ERROR", "", ""),
    (0, "NONE", "", ""),
    (1, "OFFSET_OUT_OF_RANGE", "", "the offset is outside the partition's log"),
    (2, "CORRUPT_MESSAGE", "R", "the broker found a bad checksum or a malformed batch"),
    (3, "UNKNOWN_TOPIC_OR_PARTITION", "RM", "the broker does not host this topic or partition"),
    (4, "INVALID_FETCH_SIZE", "", ""),
    (5, "LEADER_NOT_AVAILABLE", "RM", "the partition has no leader at the moment"),
    (6, "NOT_LEADER_OR_FOLLOWER", "RM", "this broker is not the partition's leader"),
    (7, "REQUEST_TIMED_OUT", "R", "the broker could not finish the request in its time"),
    (8, "BROKER_NOT_AVAILABLE", "", ""),
    (9, "REPLICA_NOT_AVAILABLE", "RM", "the replica is not available"),
    (10, "MESSAGE_TOO_LARGE", "", "the batch is larger than the topic's max.message.bytes"),
    (11, "STALE_CONTROLLER_EPOCH", "", ""),
    (
        12,
        "OFFSET_METADATA_TOO_LARGE",
        "",
        "the committed metadata is longer than the broker allows",
    ),
    (13, "NETWORK_EXCEPTION", "RM", "the connection closed before the response"),
    (14, "COORDINATOR_LOAD_IN_PROGRESS", "R", "the coordinator is still loading its state"),
    (15, "COORDINATOR_NOT_AVAILABLE", "RC", "the coordinator is not available"),
    (16, "NOT_COORDINATOR", "RC", "this broker is not the coordinator"),
    (17, "INVALID_TOPIC_EXCEPTION", "", "the topic name is not valid, or the topic is internal"),
    (18, "RECORD_LIST_TOO_LARGE", "", ""),
    (19, "NOT_ENOUGH_REPLICAS", "R", "fewer replicas are in sync than min.insync.replicas requires"),
    (
        20,
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        "R",
        "written, but to fewer replicas than min.insync.replicas requires",
    ),
    (21, "INVALID_REQUIRED_ACKS", "", "acks must be all, 1 or 0"),
    (22, "ILLEGAL_GENERATION", "", "the group is in another generation"),
    (23, "INCONSISTENT_GROUP_PROTOCOL", "", ""),
    (24, "INVALID_GROUP_ID", "", ""),
    (25, "UNKNOWN_MEMBER_ID", "", "the group has no such member"),
    (26, "INVALID_SESSION_TIMEOUT", "", ""),
    (27, "REBALANCE_IN_PROGRESS", "", "the group is rebalancing"),
    (28, "INVALID_COMMIT_OFFSET_SIZE", "", ""),
    (29, "TOPIC_AUTHORIZATION_FAILED", "", "no permission for this topic"),
    (30, "GROUP_AUTHORIZATION_FAILED", "", "no permission for this group"),
    (31, "CLUSTER_AUTHORIZATION_FAILED", "", "no permission for this operation on the cluster"),
    (32, "INVALID_TIMESTAMP", "", "the record's timestamp is outside what the topic accepts"),
    (33, "UNSUPPORTED_SASL_MECHANISM", "", "the broker does not offer this SASL mechanism"),
    (34, "ILLEGAL_SASL_STATE", "", ""),
    (35, "UNSUPPORTED_VERSION", "", "the broker does not support this version of the request"),
    (36, "TOPIC_ALREADY_EXISTS", "", "the topic already exists"),
    (37, "INVALID_PARTITIONS", "", "the number of partitions is not valid"),
    (
        38,
        "INVALID_REPLICATION_FACTOR",
        "",
        "the replication factor is below 1 or above the number of brokers",
    ),
    (39, "INVALID_REPLICA_ASSIGNMENT", "", ""),
    (40, "INVALID_CONFIG", "", "the configuration is not valid"),
    (41, "NOT_CONTROLLER", "R", "this broker is not the controller"),
    (42, "INVALID_REQUEST", "", "the broker could not make sense of the request"),
    (43, "UNSUPPORTED_FOR_MESSAGE_FORMAT", "", ""),
    (44, "POLICY_VIOLATION", "", "a policy of the broker forbids it"),
    (45, "OUT_OF_ORDER_SEQUENCE_NUMBER", "", "a batch before this one is missing at the broker"),
    (46, "DUPLICATE_SEQUENCE_NUMBER", "", ""),
    (
        47,
        "INVALID_PRODUCER_EPOCH",
        "",
        "another producer with the same id has taken over (older epoch)",
    ),
    (48, "INVALID_TXN_STATE", "", "the transaction is not in a state that allows this"),
    (
        49,
        "INVALID_PRODUCER_ID_MAPPING",
        "",
        "the transactional id is not bound to this producer id (any more)",
    ),
    (
        50,
        "INVALID_TRANSACTION_TIMEOUT",
        "",
        "the transaction timeout is larger than the broker allows",
    ),
    (
        51,
        "CONCURRENT_TRANSACTIONS",
        "R",
        "another operation on the same transaction is still running",
    ),
    (52, "TRANSACTION_COORDINATOR_FENCED", "", ""),
    (53, "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "", "no permission for this transactional id"),
    (54, "SECURITY_DISABLED", "", "the brokers have no authorizer"),
    (55, "OPERATION_NOT_ATTEMPTED", "", "left undone because another part of the request failed"),
    (56, "KAFKA_STORAGE_ERROR", "RM", "the broker's disk failed"),
    (57, "LOG_DIR_NOT_FOUND", "", "the broker has no such log directory"),
    (58, "SASL_AUTHENTICATION_FAILED", "", "authentication failed"),
    (59, "UNKNOWN_PRODUCER_ID", "", "the broker has no state of this producer id"),
    (60, "REASSIGNMENT_IN_PROGRESS", "", ""),
    (61, "DELEGATION_TOKEN_AUTH_DISABLED", "", ""),
    (62, "DELEGATION_TOKEN_NOT_FOUND", "", ""),
    (63, "DELEGATION_TOKEN_OWNER_MISMATCH", "", ""),
    (64, "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED", "", ""),
    (65, "DELEGATION_TOKEN_AUTHORIZATION_FAILED", "", ""),
    (66, "DELEGATION_TOKEN_EXPIRED", "", ""),
    (67, "INVALID_PRINCIPAL_TYPE", "", ""),
    (68, "NON_EMPTY_GROUP", "", "the group has members"),
    (69, "GROUP_ID_NOT_FOUND", "", "the group does not exist"),
    (70, "FETCH_SESSION_ID_NOT_FOUND", "R", ""),
    (71, "INVALID_FETCH_SESSION_EPOCH", "R", ""),
    (72, "LISTENER_NOT_FOUND", "RM", ""),
    (73, "TOPIC_DELETION_DISABLED", "", ""),
    (74, "FENCED_LEADER_EPOCH", "RM", "the requested leader epoch is older than the broker's"),
    (75, "UNKNOWN_LEADER_EPOCH", "R", "the requested leader epoch is newer than the broker's"),
    (76, "UNSUPPORTED_COMPRESSION_TYPE", "", "the broker does not accept this compression"),
    (77, "STALE_BROKER_EPOCH", "", ""),
    (78, "OFFSET_NOT_AVAILABLE", "R", ""),
    (
        79,
        "MEMBER_ID_REQUIRED",
        "",
        "the member must join again with the member id that the coordinator assigned",
    ),
    (80, "PREFERRED_LEADER_NOT_AVAILABLE", "RM", ""),
    (81, "GROUP_MAX_SIZE_REACHED", "", "the group has its maximum number of members"),
    (82, "FENCED_INSTANCE_ID", "", "another member with the same group.instance.id has taken over"),
    (83, "ELIGIBLE_LEADERS_NOT_AVAILABLE", "RM", ""),
    (84, "ELECTION_NOT_NEEDED", "RM", ""),
    (85, "NO_REASSIGNMENT_IN_PROGRESS", "", ""),
    (86, "GROUP_SUBSCRIBED_TO_TOPIC", "", "the group is subscribed to this topic"),
    (87, "INVALID_RECORD", "", "the broker refused the record"),
    (88, "UNSTABLE_OFFSET_COMMIT", "R", "a transaction on these offsets is still open"),
    (89, "THROTTLING_QUOTA_EXCEEDED", "R", "a quota is exceeded"),
    (90, "PRODUCER_FENCED", "", "a newer producer with the same transactional id has taken over"),
    (91, "RESOURCE_NOT_FOUND", "", "it does not exist"),
    (92, "DUPLICATE_RESOURCE", "", ""),
    (93, "UNACCEPTABLE_CREDENTIAL", "", "the broker does not accept such a credential"),
    (94, "INCONSISTENT_VOTER_SET", "", ""),
    (95, "INVALID_UPDATE_VERSION", "", ""),
    (96, "FEATURE_UPDATE_FAILED", "", ""),
    (97, "PRINCIPAL_DESERIALIZATION_FAILURE", "", ""),
    (98, "SNAPSHOT_NOT_FOUND", "", ""),
    (99, "POSITION_OUT_OF_RANGE", "", ""),
    (100, "UNKNOWN_TOPIC_ID", "RM", "the broker has no topic with this id"),
    (101, "DUPLICATE_BROKER_REGISTRATION", "", ""),
    (102, "BROKER_ID_NOT_REGISTERED", "", "no broker of this id is registered"),
    (103, "INCONSISTENT_TOPIC_ID", "RM", "the topic was deleted and created again"),
    (104, "INCONSISTENT_CLUSTER_ID", "", ""),
    (105, "TRANSACTIONAL_ID_NOT_FOUND", "", ""),
    (106, "FETCH_SESSION_TOPIC_ID_ERROR", "R", ""),
    (107, "INELIGIBLE_REPLICA", "", ""),
    (108, "NEW_LEADER_ELECTED", "", ""),
    (109, "OFFSET_MOVED_TO_TIERED_STORAGE", "", ""),
    (110, "FENCED_MEMBER_EPOCH", "", ""),
    (111, "UNRELEASED_INSTANCE_ID", "", ""),
    (112, "UNSUPPORTED_ASSIGNOR", "", ""),
    (113, "STALE_MEMBER_EPOCH", "", "the member epoch is stale"),
    (114, "MISMATCHED_ENDPOINT_TYPE", "", ""),
    (115, "UNSUPPORTED_ENDPOINT_TYPE", "", ""),
    (116, "UNKNOWN_CONTROLLER_ID", "", ""),
    (117, "UNKNOWN_SUBSCRIPTION_ID", "", ""),
    (118, "TELEMETRY_TOO_LARGE", "", ""),
    (119, "INVALID_REGISTRATION", "", ""),
    (120, "TRANSACTION_ABORTABLE", "", "the transaction cannot be committed, it must be aborted"),
    (121, "INVALID_RECORD_STATE", "", ""),
    (122, "SHARE_SESSION_NOT_FOUND", "R", ""),
    (123, "INVALID_SHARE_SESSION_EPOCH", "R", ""),
    (124, "FENCED_STATE_EPOCH", "", ""),
    (125, "INVALID_VOTER_KEY", "", ""),
    (126, "DUPLICATE_VOTER", "", "a controller of this id is a voter already"),
    (127, "VOTER_NOT_FOUND", "", "no voter has this id and directory id"),
    (128, "INVALID_REGULAR_EXPRESSION", "", ""),
    (
        129,
        "REBOOTSTRAP_REQUIRED",
        "",
        "the client must look up the cluster again from the bootstrap addresses",
    ),
    (130, "STREAMS_INVALID_TOPOLOGY", "", ""),
    (131, "STREAMS_INVALID_TOPOLOGY_EPOCH", "", ""),
    (132, "STREAMS_TOPOLOGY_FENCED", "", ""),
    (133, "SHARE_SESSION_LIMIT_REACHED", "R", ""),
    (134, "GROUP_DELETION_FAILED", "", "the coordinator could not delete the group"),
    (135, "STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED", "", ""),
    (136, "CONTROLLER_ID_NOT_REGISTERED", "", "no controller with this id is registered"),
)

_REFRESH = {"M": "metadata", "C": "coordinator", "": "", "R": ""}
_BY_NUMBER = {row[0]: row for row in _ROWS}
NUMBERS = _BY_NUMBER.keys()
"""The codes that this version knows."""

NOT_IN_LOG_DIRS = -2
"""No code of Kafka: log directories that are read as a cluster do not have what the answer is made of."""
_OF_LOG_DIRS = (NOT_IN_LOG_DIRS, "NOT_IN_LOG_DIRS", "", "none of the log directories that are read has it")


def error_code(number: int) -> ErrorCode:
    """The row of ``number``; a code that the table lacks is shown by its number and never retried."""
    unknown = (number, f"UNKNOWN_CODE_{number}", "", "a code this version does not know")
    _, name, flags, text = _OF_LOG_DIRS if number == NOT_IN_LOG_DIRS else _BY_NUMBER.get(number, unknown)
    return ErrorCode(number, name, "R" in flags, _REFRESH[flags[-1:]], text)


# The codes that clients and their tests use, as constants.
UNKNOWN_SERVER_ERROR = -1
NONE = 0
OFFSET_OUT_OF_RANGE = 1
CORRUPT_MESSAGE = 2
UNKNOWN_TOPIC_OR_PARTITION = 3
LEADER_NOT_AVAILABLE = 5
NOT_LEADER_OR_FOLLOWER = 6
REQUEST_TIMED_OUT = 7
REPLICA_NOT_AVAILABLE = 9
MESSAGE_TOO_LARGE = 10
COORDINATOR_LOAD_IN_PROGRESS = 14
COORDINATOR_NOT_AVAILABLE = 15
NOT_COORDINATOR = 16
INVALID_TOPIC_EXCEPTION = 17
NOT_ENOUGH_REPLICAS = 19
NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
ILLEGAL_GENERATION = 22
INCONSISTENT_GROUP_PROTOCOL = 23
UNKNOWN_MEMBER_ID = 25
INVALID_SESSION_TIMEOUT = 26
REBALANCE_IN_PROGRESS = 27
TOPIC_AUTHORIZATION_FAILED = 29
GROUP_AUTHORIZATION_FAILED = 30
CLUSTER_AUTHORIZATION_FAILED = 31
INVALID_TIMESTAMP = 32
UNSUPPORTED_SASL_MECHANISM = 33
ILLEGAL_SASL_STATE = 34
UNSUPPORTED_VERSION = 35
TOPIC_ALREADY_EXISTS = 36
INVALID_PARTITIONS = 37
INVALID_REPLICATION_FACTOR = 38
INVALID_CONFIG = 40
NOT_CONTROLLER = 41
INVALID_REQUEST = 42
OUT_OF_ORDER_SEQUENCE_NUMBER = 45
DUPLICATE_SEQUENCE_NUMBER = 46
INVALID_PRODUCER_EPOCH = 47
INVALID_TXN_STATE = 48
INVALID_PRODUCER_ID_MAPPING = 49
CONCURRENT_TRANSACTIONS = 51
TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
SECURITY_DISABLED = 54
OPERATION_NOT_ATTEMPTED = 55
KAFKA_STORAGE_ERROR = 56
LOG_DIR_NOT_FOUND = 57
SASL_AUTHENTICATION_FAILED = 58
UNKNOWN_PRODUCER_ID = 59
NON_EMPTY_GROUP = 68
GROUP_ID_NOT_FOUND = 69
FETCH_SESSION_ID_NOT_FOUND = 70
INVALID_FETCH_SESSION_EPOCH = 71
FENCED_LEADER_EPOCH = 74
UNKNOWN_LEADER_EPOCH = 75
UNSUPPORTED_COMPRESSION_TYPE = 76
OFFSET_NOT_AVAILABLE = 78
MEMBER_ID_REQUIRED = 79
PREFERRED_LEADER_NOT_AVAILABLE = 80
GROUP_MAX_SIZE_REACHED = 81
FENCED_INSTANCE_ID = 82
ELIGIBLE_LEADERS_NOT_AVAILABLE = 83
ELECTION_NOT_NEEDED = 84
NO_REASSIGNMENT_IN_PROGRESS = 85
GROUP_SUBSCRIBED_TO_TOPIC = 86
INVALID_RECORD = 87
UNSTABLE_OFFSET_COMMIT = 88
PRODUCER_FENCED = 90
RESOURCE_NOT_FOUND = 91
UNACCEPTABLE_CREDENTIAL = 93
UNKNOWN_TOPIC_ID = 100
BROKER_ID_NOT_REGISTERED = 102
INCONSISTENT_TOPIC_ID = 103
TRANSACTIONAL_ID_NOT_FOUND = 105
FETCH_SESSION_TOPIC_ID_ERROR = 106
FENCED_MEMBER_EPOCH = 110
UNRELEASED_INSTANCE_ID = 111
UNSUPPORTED_ASSIGNOR = 112
STALE_MEMBER_EPOCH = 113
MISMATCHED_ENDPOINT_TYPE = 114
TRANSACTION_ABORTABLE = 120
INVALID_RECORD_STATE = 121
SHARE_SESSION_NOT_FOUND = 122
INVALID_SHARE_SESSION_EPOCH = 123
FENCED_STATE_EPOCH = 124
DUPLICATE_VOTER = 126
VOTER_NOT_FOUND = 127


RAISE_FILE_LIMIT = "raise the limit of open files: `ulimit -n` shows it, `ulimit -n 1024` sets it"
_COORDINATOR = (
    "try again in a moment; if it lasts, check that the brokers that host __consumer_offsets (of transactions: "
    "__transaction_state) are running"
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
    NOT_IN_LOG_DIRS: "name the log directories that have it, too: those of other brokers, or other disks of this one",
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
    95: "`kcli features list` shows the levels in effect, and those that brokers support",
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
30 and 31 no permission for group and cluster, 38 replication factor, 40 configuration,
43 message format, 53 no permission for a transactional id, 56 disk,
76 compression.
"""
