"""Brokers that were waited for in vain while many reads share a deadline, as those of a sample.

A broker that is stopped accepts requests and answers none. Without this, each read of a sample would wait for it anew,
and the next sample would do so again.
"""

from kcli.core.future import Future

SHORT_PATIENCE = 0.25
"""Seconds for what was waited for in vain before: it may be back."""


class Silence:
    """By broker the last request that was not waited for any longer: until one is answered, the broker is silent.

    It is asked all the same. All requests of a block (``begin``) together wait SHORT_PATIENCE for silent brokers. Pure.
    """

    def __init__(self) -> None:
        self._unanswered: dict[int, Future[object]] = {}
        self._until: float | None = None

    def begin(self) -> None:
        """Of the next block."""
        self._until = None

    def add(self, node_id: int, request: Future[object]) -> None:
        """The request was given up."""
        self._unanswered[node_id] = request

    def patience(self, node_id: int, now: float, deadline: float) -> float:
        """Until when an answer to a request that is sent now is waited for."""
        before = self._unanswered.get(node_id)
        if before is None:
            return deadline
        if before.done and before.error is None:
            del self._unanswered[node_id]
            return deadline
        if self._until is None:
            self._until = now + SHORT_PATIENCE
        return min(self._until, deadline)
