"""Records that wait for the partitions of their topic (partition "−1"), so that a send never waits for metadata.

Guarded by the accumulator's lock, which counts their memory.
"""

from collections import deque
from collections.abc import Callable

from kcli.core.classes import dataclass
from kcli.core.errors import KcliError


@dataclass(slots=True, eq=False, repr=False)
class Parked:
    """Records of one call. ``place`` puts them into batches later; ``over``: they have been placed or have failed."""

    count: int
    size: int
    deadline: float
    place: Callable[[], None]
    fail: Callable[[KcliError], None]
    topic: str = ""
    over: bool = False


class ParkedRecords:
    """One queue per topic, oldest first; a topic is in it as long as its last record is not placed yet."""

    def __init__(self) -> None:
        self.queues: dict[str, deque[Parked]] = {}

    def __contains__(self, topic: object) -> bool:
        return topic in self.queues

    def __bool__(self) -> bool:
        return bool(self.queues)

    def snapshot(self) -> list[Parked]:
        """All of them; may be called without the lock, by a signal handler."""
        return [parked for queue in list(self.queues.values()) for parked in list(queue)]

    def append(self, topic: str, parked: Parked) -> None:
        """Adds records after the topic's others."""
        self.queues.setdefault(topic, deque()).append(parked)

    def first(self, topic: str) -> Parked | None:
        """The topic's oldest, which stays in the queue while it is placed; None removes the topic."""
        queue = self.queues.get(topic)
        if not queue:
            self.queues.pop(topic, None)
            return None
        return queue[0]

    def remove_first(self, topic: str) -> None:
        """Removes the topic's oldest: it was placed. The topic remains."""
        self.queues[topic].popleft()

    def remove_topic(self, topic: str) -> list[Parked]:
        """Removes and returns all of a topic."""
        return list(self.queues.pop(topic, ()))

    def remove_all(self) -> list[Parked]:
        """Removes and returns all."""
        found = self.snapshot()
        self.queues.clear()
        return found

    def remove_past_delivery_timeout(self, now: float) -> tuple[list[Parked], float]:
        """Removes and returns those past their deadlines; and the next deadline."""
        expired: list[Parked] = []
        wake = float("inf")
        for topic, queue in list(self.queues.items()):
            while queue and queue[0].deadline <= now:
                expired.append(queue.popleft())
            if queue:
                wake = min(wake, queue[0].deadline)
            else:
                del self.queues[topic]
        return expired, wake
