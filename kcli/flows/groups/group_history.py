"""The recent history of a group: its commits, and when its membership changed, from ``__consumer_offsets``.

No request returns it. The coordinator writes both to one partition of that topic, in the order in which they happened.
The topic is compacted, but not its active segment: that usually covers some minutes. Needs Read on the topic.
"""

from collections.abc import Mapping
from struct import pack

from kcli.core.classes import dataclass, field
from kcli.core.consumer.consumer import Consumer
from kcli.core.types import Record, TopicPartition
from kcli.flows.groups.bounded_reads import Budget, known_bounds, read_backwards
from kcli.flows.groups.commit_times import FIRST_STEP, decoded, offsets_partition
from kcli.serde.internal.serde import InternalTopicSerde

_COMMIT, _CLASSIC = (0, 1), 2
_MEMBERS_CHANGE = (_CLASSIC, 3, 8)
"""GroupMetadata of a classic group; epochs and current assignments of a group of the new protocol (KIP-848)."""


@dataclass(frozen=True, slots=True)
class LoggedCommit:
    """``offset`` None: the commit was deleted. ``at`` is in ms since the epoch, by the coordinator's clock."""

    at: int
    partition: TopicPartition
    offset: int | None


@dataclass(frozen=True, slots=True)
class GroupHistory:
    """In log order. ``changes``: when the members of the group or their assignments changed (ms).

    ``sessions``: the session timeout in ms of each member of a classic group, by member id, in the newest generation.
    ``complete``: whether it goes back as far as requested.
    """

    commits: tuple[LoggedCommit, ...] = ()
    changes: tuple[int, ...] = ()
    sessions: Mapping[str, int] = field(default_factory=dict)
    complete: bool = True

    def commits_since(self, since_ms: int) -> dict[TopicPartition, list[int | None]]:
        """The offsets of each partition, in the order in which they were committed."""
        found: dict[TopicPartition, list[int | None]] = {}
        for commit in self.commits:
            if commit.at >= since_ms:
                found.setdefault(commit.partition, []).append(commit.offset)
        return found


def group_history(
    consumer: Consumer, partitions: int, group: str, budget: Budget, timeout: float, *, since_ms: int
) -> GroupHistory:
    """The history since ``since_ms`` or earlier, as far as the budget allows, read by a read_committed consumer.

    ``partitions`` is the partition count of ``__consumer_offsets``.
    """
    tp = offsets_partition(group, partitions)
    logs = known_bounds(consumer, [tp], timeout)
    name = group.encode()
    serde = InternalTopicSerde("consumer_offsets")
    found: list[tuple[int, int, Record]] = []
    oldest = [since_ms + 1]

    def add_record(record: Record) -> None:
        oldest[0] = min(oldest[0], record.timestamp)
        kind = _kind(record.key or b"", name)
        if kind in _COMMIT or kind in _MEMBERS_CHANGE:
            found.append((record.offset, kind, record))

    read_backwards(
        consumer, logs.ends, logs.starts, FIRST_STEP, add_record, lambda _tp: oldest[0] > since_ms, budget
    )
    commits, changes = list[LoggedCommit](), list[int]()
    sessions = dict[str, int]()
    for _offset, kind, record in sorted(found, key=lambda one: one[0]):
        if kind in _COMMIT:
            commits.append(_commit(serde, record, len(name)))
            continue
        changes.append(record.timestamp)
        if kind == _CLASSIC and (data := decoded(serde, record)) is not None:
            sessions = {one["member_id"]: one["session_timeout"] for one in data.get("members", ())}
    complete = oldest[0] <= since_ms or not budget.spent
    return GroupHistory(tuple(commits), tuple(changes), sessions, complete)


def rebalance_timeouts(
    consumer: Consumer, partitions: int, group: str, budget: Budget, timeout: float
) -> dict[str, int]:
    """The rebalance timeouts of a classic group in ms, by member id: how long its coordinator waits for each member.

    From the newest generation that was found; empty if none was. ``partitions``: of ``__consumer_offsets``.
    """
    tp = offsets_partition(group, partitions)
    logs = known_bounds(consumer, [tp], timeout)
    serde = InternalTopicSerde("consumer_offsets")
    name, newest = group.encode(), list[dict[str, int]]()

    def find_members(record: Record) -> None:
        if (
            _kind(record.key or b"", name) == _CLASSIC
            and (data := decoded(serde, record)) is not None
            and "members" in data
        ):
            newest[:] = [{one["member_id"]: rebalance_timeout(one) for one in data["members"]}]

    read_backwards(consumer, logs.ends, logs.starts, FIRST_STEP, find_members, lambda _tp: not newest, budget)
    return newest[0] if newest else {}


def rebalance_timeout(member: dict[str, int]) -> int:
    """The member's rebalance timeout; JoinGroup version 0 has none, then it is the session timeout (KIP-62)."""
    timeout = member["rebalance_timeout"]
    return timeout if timeout >= 0 else member["session_timeout"]


def _kind(key: bytes, name: bytes) -> int:
    """The type of the record key; −1 for a record of another group."""
    if len(key) < 4 or key[2 : 4 + len(name)] != pack(">h", len(name)) + name:
        return -1
    return int.from_bytes(key[:2], "big", signed=True)


def _commit(serde: InternalTopicSerde, record: Record, name_size: int) -> LoggedCommit:
    key = (record.key or b"")[4 + name_size :]
    size = int.from_bytes(key[:2], "big")
    partition = TopicPartition(
        key[2 : 2 + size].decode(errors="replace"), int.from_bytes(key[2 + size : 6 + size], "big")
    )
    data = decoded(serde, record)
    if data is None or "commit_timestamp" not in data:
        return LoggedCommit(record.timestamp, partition, None)
    return LoggedCommit(data["commit_timestamp"], partition, data["offset"])
