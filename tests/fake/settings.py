"""How a fake cluster behaves where brokers differ: what a broker's configuration says, and a few habits."""

import ssl
from dataclasses import dataclass, field
from typing import Any

from tests.fake.sasl import Sasl


@dataclass(slots=True)
class Settings:
    """Given to ``FakeCluster(...)`` by name; most may be changed while it runs (``cluster.settings``)."""

    cluster_id: str = "fake-kafka-cluster-id0"
    transaction_version: int = 2
    """The finalized feature transaction.version: 2 is KIP-890 (epoch bump at each EndTxn), 0 the old protocol."""
    metadata_version: int = 30
    """The finalized feature metadata.version; 0: none, as with ZooKeeper, and with KRaft before 3.3."""
    newest_metadata_version: int = 30
    """The highest one that brokers support."""
    further_features: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Other features that brokers support: lowest and highest level."""
    honours_validate_only: bool = True
    """Off, CreateTopics and CreatePartitions make what they should only check, as KRaft controllers of 3.0 and 3.1 do."""
    verify_transactions: bool = True
    """Records of a transaction are refused unless its coordinator has the partition (3.6); off, they hang."""
    topic_operations: int = 3576
    """What clients may do with topics (KIP-430), told to those who ask; the default is everything."""
    cluster_operations: int = 8096
    """What clients may do with the cluster, likewise."""
    hidden_topics: frozenset[str] = frozenset()
    """Names of topics that clients may not describe, whether they exist or not: metadata does not list them."""
    partitions_of_a_page: int = 2_000
    """Of a response to DescribeTopicPartitions (``max.request.partition.size.limit``)."""
    fetch_sessions: bool = False
    """Incremental fetches (KIP-227); off, every answer says session 0."""
    partial_batches: bool = True
    """A fetched partition may end in a batch that is cut off, as real brokers do."""
    auto_create_topics: bool = False
    authorizer: bool = True
    """ACLs can be listed and changed; they are kept, but not obeyed."""
    deep_check: bool = True
    """Produced records are looked at one by one: dense offsets, keys, timestamps."""
    broker_configs: dict[str, str] = field(default_factory=dict)
    """What the files of all brokers set (``log.retention.ms``): in force for topics that do not set it."""
    unknown_configs: frozenset[str] = frozenset()
    """Keys of topics that brokers refuse, as older ones do; and what a policy does not want."""
    max_message_bytes: int = 1_048_588
    min_insync_replicas: int = 1
    completion_delay: float = 0.0
    """Seconds from EndTxn's answer to the markers; 0 writes them before the answer."""
    transaction_max_timeout_ms: int = 900_000
    hold_reassignments: bool = False
    """Moves of replicas last until ``finish_reassignment``; off, they are over at once."""
    log_dirs: int = 1
    """How many log directories each node has."""
    usable_bytes: int = 1 << 29
    """Bytes that are left on the volume of each directory."""
    hold_log_dir_moves: bool = False
    """Moves between log directories last until ``finish_log_dir_move``."""
    groups: dict[str, Any] = field(default_factory=dict)
    """Fields of ``groups.settings.Settings``: session limits, rebalance delay, …"""
    max_connection_age: float | None = None
    """Seconds after which the broker closes any connection."""
    receive_buffer: int | None = None
    """SO_RCVBUF of connections: small, so that a paused node soon stops its clients in the middle of a request."""
    tls: ssl.SSLContext | None = None
    """The server's side of TLS on all listeners; ``cluster.use_tls`` changes one node."""
    sasl: Sasl | None = None
    """All listeners authenticate; None: none does."""
    idle_timeout: float | None = None
    """Seconds without a request after which the broker closes a connection (connections.max.idle.ms)."""
