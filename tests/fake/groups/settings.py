"""What a broker's configuration decides about groups. Durations are seconds. A test may change one while it runs."""

from dataclasses import dataclass


@dataclass(slots=True, kw_only=True)
class Settings:
    """Defaults are quick where Kafka's are patient; Kafka's own stand in the comments."""

    initial_rebalance_delay: float = 0.0  # group.initial.rebalance.delay.ms, 3 s
    min_session_timeout: float = 0.01  # group.min.session.timeout.ms, 6 s
    max_session_timeout: float = 1800.0  # group.max.session.timeout.ms
    new_member_timeout: float = 300.0  # how long a first JoinGroup may be parked
    max_size: int = 0x7FFFFFFF  # group.max.size and group.consumer.max.size
    consumer_heartbeat_interval: float = 0.2  # group.consumer.heartbeat.interval.ms, 5 s
    consumer_session_timeout: float = 45.0  # group.consumer.session.timeout.ms
    assignment_interval: float = 0.0  # 4.3 computes targets of KIP-848 groups at most once a second
    max_metadata: int = 4096  # offset.metadata.max.bytes, counted in characters
    operations: int = 3400  # what clients may do with groups, as bits: everything
    drops_groups_without_offsets: bool = False  # before 4.0 OffsetDelete of the last offset dropped the group
