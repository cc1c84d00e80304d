"""When commits were made: read from what the coordinators wrote to ``__consumer_offsets``, from its end backwards.

OffsetFetch does not return commit times. The topic is compacted, so the newest record of a commit is always there; how
far back it is cannot be known, hence the budget.
"""

from collections.abc import Callable, Mapping
from struct import pack
from typing import Any

from kcli.core.admin.admin import Admin
from kcli.core.consumer.consumer import Consumer
from kcli.core.errors import KcliError
from kcli.core.names import coordinator_partition
from kcli.core.types import GroupPartition, Record, TopicPartition
from kcli.flows.groups.bounded_reads import Budget, known_bounds, read_backwards
from kcli.serde.errors import DecodeError
from kcli.serde.internal.serde import InternalTopicSerde
from kcli.serde.serde import SerdeContext

TOPIC = "__consumer_offsets"
_OFFSET_COMMIT = 1
FIRST_STEP = 1_000  # offsets
MOST_BYTES, MOST_SECONDS = 16 << 20, 5.0


def read_commit_times(
    admin: Admin,
    open_consumer: Callable[[], Consumer],
    commits: Mapping[GroupPartition, int],
    *,
    timeout: float,
) -> dict[GroupPartition, int]:
    """``commit_times`` of as many as can be found within a fixed budget; KcliError if the topic cannot be read."""
    topic = admin.describe_topics([TOPIC])[TOPIC]
    if isinstance(topic, KcliError):
        raise topic
    budget = Budget(MOST_BYTES, MOST_SECONDS)
    with open_consumer() as consumer:
        return commit_times(consumer, len(topic.partitions), commits, budget, timeout)


def commit_times(
    consumer: Consumer, partitions: int, commits: Mapping[GroupPartition, int], budget: Budget, timeout: float
) -> dict[GroupPartition, int]:
    """Ms since the epoch of the newest commit of each of these offsets; commits that were not found are omitted.

    ``partitions`` is the partition count of ``__consumer_offsets``. The consumer must read ``read_committed``: an
    aborted transaction has committed nothing.
    """
    searched: dict[TopicPartition, dict[bytes, GroupPartition]] = {}
    for commit in commits:
        searched.setdefault(offsets_partition(commit.group, partitions), {})[commit_key(commit)] = commit
    logs = known_bounds(consumer, searched, timeout)
    serde = InternalTopicSerde("consumer_offsets")
    found: dict[GroupPartition, int] = {}

    def match_commit(record: Record) -> None:
        commit = searched[TopicPartition(record.topic, record.partition)].get(record.key or b"")
        data = decoded(serde, record) if commit is not None else None
        if commit is not None and data is not None and data.get("offset") == commits[commit]:
            found[commit] = data["commit_timestamp"]

    def wanted(tp: TopicPartition) -> bool:
        keys = searched[tp]
        for key in [key for key, commit in keys.items() if commit in found]:
            del keys[key]  # anything further back is older
        return bool(keys)

    read_backwards(consumer, logs.ends, logs.starts, FIRST_STEP, match_commit, wanted, budget)
    return found


def offsets_partition(group: str, partitions: int) -> TopicPartition:
    """The partition in which a group's coordinator stores its commits."""
    return TopicPartition(TOPIC, coordinator_partition(group, partitions))


def commit_key(commit: GroupPartition) -> bytes:
    """The key under which a coordinator writes a commit."""
    group, topic = commit.group.encode(), commit.tp.topic.encode()
    sizes = f">hh{len(group)}sh{len(topic)}si"
    return pack(sizes, _OFFSET_COMMIT, len(group), group, len(topic), topic, commit.tp.partition)


def decoded(serde: InternalTopicSerde, record: Record) -> dict[str, Any] | None:
    """A record that a coordinator wrote; None for a tombstone or an unknown record format."""
    if record.value is None:
        return None
    try:
        value = serde.decode(record.value, SerdeContext(record.topic, key=record.key))
    except DecodeError:
        return None
    data = value.get("data") if isinstance(value, dict) else None
    return data if isinstance(data, dict) else None
