"""Requests that wait for their response, in the order they were sent: a broker responds in that order.

A pause that a broker demands (KIP-219) moves the deadlines of what waits and of what is in flight
(``tests/fault/test_brokers.py``, B13).
"""

from collections import deque
from dataclasses import dataclass
from typing import Any

from kcli.core.errors import ProtocolError
from kcli.core.future import Future
from kcli.core.protocol.api import Request

NEVER = float("inf")


@dataclass(slots=True, eq=False, repr=False)
class Sent:
    """A request that was sent. ``deadline`` is absolute, on the loop's clock."""

    correlation_id: int
    request: Request
    version: int
    future: Future[Any]
    deadline: float
    sent_at: float


class InFlight:
    """First in, first out. ``earliest`` is a lower bound of the deadlines, recomputed only when it passes."""

    def __init__(self) -> None:
        self._queue: deque[Sent] = deque()
        self.earliest = NEVER

    def __len__(self) -> int:
        return len(self._queue)

    def add(self, sent: Sent) -> None:
        """Appends a request that was just written."""
        self._queue.append(sent)
        if sent.deadline < self.earliest:
            self.earliest = sent.deadline

    def take(self, correlation_id: int, peer: object) -> Sent:
        """The request that this response belongs to; ProtocolError unless it is the oldest one."""
        if not self._queue:
            raise ProtocolError(
                f"{peer} sent a response with correlation id {correlation_id}, expected none",
                why="no request was in flight",
            )
        sent = self._queue[0]
        if sent.correlation_id != correlation_id:
            raise ProtocolError(
                f"{peer} sent a response with correlation id {correlation_id}, expected {sent.correlation_id}",
                why="a broker sends its responses in the order of the requests",
            )
        self._queue.popleft()
        if not self._queue:
            self.earliest = NEVER
        return sent

    def oldest(self) -> Sent | None:
        """The request whose response comes next, or None."""
        return self._queue[0] if self._queue else None

    def overdue(self, now: float) -> Sent | None:
        """A request whose deadline has passed, or None."""
        if now < self.earliest:
            return None
        late = min(self._queue, key=lambda sent: sent.deadline, default=None)
        self.earliest = late.deadline if late else NEVER
        return late if late and late.deadline <= now else None

    def postpone(self, seconds: float) -> None:
        """Extends all deadlines by ``seconds``."""
        for sent in self._queue:
            sent.deadline += seconds
        self.earliest += seconds

    def clear(self) -> list[Sent]:
        """Empties it and returns what was in flight, oldest first."""
        waiting = list(self._queue)
        self._queue.clear()
        self.earliest = NEVER
        return waiting
