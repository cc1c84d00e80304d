"""Looks up the log's start and end for a position out of range, for the error that the application receives.

Asynchronous, so that no poll exceeds its timeout. Runs in the consumer's thread.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.offsets import EARLIEST, LATEST, offsets_request
from kcli.core.cluster.retry import classify_error
from kcli.core.consumer.fetcher import OutOfRangeError
from kcli.core.consumer.subscription import Subscription
from kcli.core.error_codes import NONE
from kcli.core.errors import BrokerError, ConnectError, KcliError
from kcli.core.future import Future
from kcli.core.options import ConsumerOptions
from kcli.core.types import TopicPartition

_NEVER = float("inf")


@dataclass(slots=True, eq=False, repr=False)
class _Question:
    """``version`` is that of the partition's state: a seek makes the lookup obsolete. ``answers``: start and end."""

    error: OutOfRangeError
    version: int
    since: float
    not_before: float
    answers: list[Future[Any]] = field(default_factory=list)


class Bounds:
    """``ask`` for each error; ``take`` in every loop iteration returns it with the bounds. ``wake_at``: next due time."""

    def __init__(self, cluster: Cluster, options: ConsumerOptions, subscription: Subscription) -> None:
        self._cluster = cluster
        self._options = options
        self._subscription = subscription
        self._questions: list[_Question] = []
        self.wake_at = _NEVER

    def ask(self, error: OutOfRangeError, now: float) -> None:
        """Starts a lookup at the partition's leader."""
        state = self._subscription.get(error.tp)
        if state is not None:
            self._questions.append(_Question(error, state.version, now, now))
            self.wake_at = now

    def take(self, now: float) -> OutOfRangeError | None:
        """The first completed error: with the bounds, or without them if they could not be obtained in time."""
        self.wake_at = _NEVER
        for question in list(self._questions):
            state = self._subscription.get(question.error.tp)
            wanted = state is not None and state.version == question.version
            told = self._told(question, now) if wanted else None
            if not wanted or told is not None:
                self._questions.remove(question)
            if told is not None:
                return told
        return None

    # --- internal ----------------------------------------------------------------------------------

    def _told(self, question: _Question, now: float) -> OutOfRangeError | None:
        tp = question.error.tp
        if not question.answers and now >= question.not_before:
            question.answers = [self._ask(tp, place) for place in (EARLIEST, LATEST)]
        if not question.answers:
            self.wake_at = min(self.wake_at, question.not_before)
            return None
        if not all(answer.done for answer in question.answers):
            return None
        start, end = (_offset(tp, answer) for answer in question.answers)
        if isinstance(start, int) and isinstance(end, int):
            return _explained(question.error, start, end)
        failure = start if isinstance(start, KcliError) else end
        assert isinstance(failure, KcliError)
        if (
            not classify_error(failure).retriable
            or now - question.since >= self._options.request_timeout_ms / 1000
        ):
            return question.error
        self._cluster.request_refresh()
        question.answers, question.not_before = [], now + self._options.retry_backoff_ms / 1000
        self.wake_at = min(self.wake_at, question.not_before)
        return None

    def _ask(self, tp: TopicPartition, place: int) -> Future[Any]:
        leader = self._cluster.view.leader(tp)
        if leader is None:
            answer: Future[Any] = Future()
            answer.set_error(ConnectError(f"{tp} has no leader"))
            return answer
        request = offsets_request(
            [(tp, place)],
            committed_only=self._options.isolation_level == "read_committed",
            timeout_ms=self._options.request_timeout_ms,
        )
        return self._cluster.send(request, leader.id)


def _offset(tp: TopicPartition, answer: Future[Any]) -> int | KcliError:
    if answer.error is not None:
        if not isinstance(answer.error, KcliError):
            raise answer.error
        return answer.error
    for topic in answer.value.topics:
        for row in topic.partitions:
            if TopicPartition(topic.name, row.partition_index) == tp:
                if row.error_code != NONE:
                    return BrokerError(row.error_code, f"asking for offsets of {tp}")
                return int(row.offset)
    return ConnectError(f"the answer left {tp} out")


def _explained(error: OutOfRangeError, start: int, end: int) -> OutOfRangeError:
    gap = f"; {start - error.offset} offsets are gone" if error.offset < start else ""
    error.why = f"the log goes from {start} to {end}{gap}"
    error.do = (
        "choose an offset in that range, or set --on-out-of-range (on.out.of.range) to earliest or latest"
    )
    return error
