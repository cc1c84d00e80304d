"""Rebalance timeouts in classic groups: how long the coordinator waits for a member, and the member for the response.

No request returns them: they are read from the coordinator's records in ``__consumer_offsets``.
"""

from struct import pack

from kcli.core.consumer.consumer import Consumer
from kcli.core.types import Record
from kcli.flows.groups.budget import Budget
from kcli.flows.groups.commit_times import FIRST_STEP, decoded, offsets_partition
from kcli.flows.groups.reading_back import backwards, known_bounds
from kcli.serde.internal.serde import InternalTopicSerde

_GROUP_METADATA = 2


def rebalance_timeouts(
    consumer: Consumer, partitions: int, group: str, budget: Budget, timeout: float
) -> dict[str, int]:
    """Milliseconds by member id, from the newest generation that was found; empty if none was.

    ``partitions`` is the partition count of ``__consumer_offsets``.
    """
    tp = offsets_partition(group, partitions)
    logs = known_bounds(consumer, [tp], timeout)
    serde = InternalTopicSerde("consumer_offsets")
    key, newest = _key(group), list[dict[str, int]]()

    def take(record: Record) -> None:
        if record.key == key and (data := decoded(serde, record)) is not None and "members" in data:
            newest[:] = [{one["member_id"]: rebalance_timeout(one) for one in data["members"]}]

    backwards(consumer, logs.ends, logs.starts, FIRST_STEP, take, lambda _: not newest, budget)
    return newest[0] if newest else {}


def rebalance_timeout(member: dict[str, int]) -> int:
    """The member's rebalance timeout; JoinGroup version 0 has none, then it is the session timeout (KIP-62)."""
    told = member["rebalance_timeout"]
    return told if told >= 0 else member["session_timeout"]


def _key(group: str) -> bytes:
    name = group.encode()
    return pack(f">hh{len(name)}s", _GROUP_METADATA, len(name), name)
