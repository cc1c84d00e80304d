"""What ``__consumer_offsets`` records of a group: its recent history, and the rebalance timeouts of its members.

Reads are limited. A topic that cannot be read is no error: less is known then.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

from kcli.core.admin.admin import Admin
from kcli.core.consumer.consumer import Consumer
from kcli.core.errors import KcliError
from kcli.flows.groups.bounded_reads import Budget
from kcli.flows.groups.commit_times import TOPIC
from kcli.flows.groups.group_history import GroupHistory, group_history, rebalance_timeouts

_HISTORY_BYTES, _HISTORY_SECONDS = 4 << 20, 3.0
_TIMEOUTS_BYTES, _TIMEOUTS_SECONDS = 16 << 20, 5.0

T = TypeVar("T")


class OffsetsLog:
    """``open_consumer`` returns a consumer of no group that reads ``read_committed``; ``timeout`` is in seconds."""

    def __init__(self, admin: Admin, open_consumer: Callable[[], Consumer], timeout: float) -> None:
        self._admin, self._open_consumer, self._timeout = admin, open_consumer, timeout

    def history(self, group: str, since_ms: int) -> GroupHistory | None:
        """What a group has done since then; None if it cannot be read."""

        def read(consumer: Consumer, partitions: int) -> GroupHistory:
            budget = Budget(_HISTORY_BYTES, _HISTORY_SECONDS)
            return group_history(consumer, partitions, group, budget, self._timeout, since_ms=since_ms)

        return self._read(read)

    def rebalance_timeouts(self, group: str) -> Mapping[str, int]:
        """Milliseconds by member id of a classic group; empty if they cannot be read."""

        def read(consumer: Consumer, partitions: int) -> Mapping[str, int]:
            budget = Budget(_TIMEOUTS_BYTES, _TIMEOUTS_SECONDS)
            return rebalance_timeouts(consumer, partitions, group, budget, self._timeout)

        return self._read(read) or {}

    def _read(self, read: Callable[[Consumer, int], T]) -> T | None:
        topic = self._admin.describe_topics([TOPIC])[TOPIC]
        if isinstance(topic, KcliError) or not topic.partitions:
            return None
        try:
            with self._open_consumer() as consumer:
                return read(consumer, len(topic.partitions))
        except KcliError:
            return None
