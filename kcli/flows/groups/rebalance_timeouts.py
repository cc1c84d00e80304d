"""How long the coordinator waits for each member of a classic group in a rebalance, and the member for its answer.

No request tells it: it is in what the coordinator keeps in ``__consumer_offsets``.
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
    """Milliseconds by member id, as of the newest generation that was found; empty where none was.

    ``partitions`` is how many ``__consumer_offsets`` has.
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
    """JoinGroup before its version 1 has none: then it is the session timeout (KIP-62)."""
    told = member["rebalance_timeout"]
    return told if told >= 0 else member["session_timeout"]


def _key(group: str) -> bytes:
    name = group.encode()
    return pack(f">hh{len(name)}s", _GROUP_METADATA, len(name), name)
