"""Handles positions outside the partition's log: by ``auto.offset.reset``, by ``on.out.of.range``, or with an error.

The error that the application receives has the log's start and end, which are looked up first: asynchronously, so that
no poll exceeds its timeout. Runs in the consumer's thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kcli.core.classes import dataclass, field
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.offsets import EARLIEST, LATEST, offsets_request
from kcli.core.cluster.retry import classify_error
from kcli.core.consumer.fetcher import OutOfRangeError
from kcli.core.consumer.subscription import Subscription
from kcli.core.error_codes import NONE
from kcli.core.errors import BrokerError, ConnectError, KcliError
from kcli.core.future import Future
from kcli.core.options import ConsumerOptions
from kcli.core.permissions import on_topic
from kcli.core.types import TopicPartition

_NEVER = float("inf")


@dataclass(slots=True, eq=False, repr=False)
class _Lookup:
    """``version`` is that of the partition's state: a seek makes the lookup obsolete. ``answers``: start and end."""

    error: OutOfRangeError
    version: int
    since: float
    not_before: float
    answers: list[Future[Any]] = field(default_factory=list)


class OutOfRange:
    """``wake_at`` is when ``pump`` is due; without ``lookups`` it has nothing to do. ``reset`` applies the reset policy
    to a partition. ``exact``: it is always an error, as where ranges are read.
    """

    def __init__(
        self,
        cluster: Cluster,
        options: ConsumerOptions,
        subscription: Subscription,
        reset: Callable[[TopicPartition], None],
    ) -> None:
        self._cluster = cluster
        self._options = options
        self._subscription = subscription
        self._reset = reset
        self.lookups: list[_Lookup] = []
        self.exact = False
        self.wake_at = _NEVER

    def handle(self, error: OutOfRangeError, now: float) -> None:
        """Applies the reset policy where the consumer chose the start itself; else looks up the bounds."""
        state = self._subscription.get(error.tp)
        if state is None:
            return
        # Where no start was given, as in Java: the offset was committed, or the policy has found it. A start
        # that was given is an error.
        if state.by_policy and not self._options.on_out_of_range:
            policy = f"auto.offset.reset={self._options.auto_offset_reset}"
            self._cluster.hooks.log("warning", "fetch", f"{error}: continuing by {policy}")
            self._reset(error.tp)
            return
        self.lookups.append(_Lookup(error, state.version, now, now))
        self.wake_at = now

    def pump(self, now: float) -> None:
        """Continues the lookups. Raises an error whose bounds are known, or could not be obtained in time, unless
        ``on.out.of.range`` says where to continue.
        """
        self.wake_at = _NEVER
        for lookup in list(self.lookups):
            state = self._subscription.get(lookup.error.tp)
            wanted = state is not None and state.version == lookup.version
            error = self._explained(lookup, now) if wanted else None
            if not wanted or error is not None:
                self.lookups.remove(lookup)
            if error is not None:
                self._continue_or_raise(error)

    def _continue_or_raise(self, error: OutOfRangeError) -> None:
        choice = self._options.on_out_of_range
        if self.exact:
            error.do = "choose a range that is in the log"
            raise error
        if choice not in ("earliest", "latest"):
            raise error
        why = f" ({error.why})" if error.why else ""
        text = f"{error.what}{why}: continuing at the {choice} offset"
        self._cluster.hooks.log("warning", "fetch", text)
        self._subscription.reset_position(error.tp, EARLIEST if choice == "earliest" else LATEST)

    def _explained(self, lookup: _Lookup, now: float) -> OutOfRangeError | None:
        tp = lookup.error.tp
        if not lookup.answers and now >= lookup.not_before:
            lookup.answers = [self._ask(tp, end) for end in (EARLIEST, LATEST)]
        if not lookup.answers:
            self.wake_at = min(self.wake_at, lookup.not_before)
            return None
        if not all(answer.done for answer in lookup.answers):
            return None
        start, end = (_offset(tp, answer) for answer in lookup.answers)
        if isinstance(start, int) and isinstance(end, int):
            return _with_bounds(lookup.error, start, end)
        failure = start if isinstance(start, KcliError) else end
        assert isinstance(failure, KcliError)
        if (
            not classify_error(failure).retriable
            or now - lookup.since >= self._options.request_timeout_ms / 1000
        ):
            return lookup.error
        self._cluster.request_refresh()
        lookup.answers, lookup.not_before = [], now + self._options.retry_backoff_ms / 1000
        self.wake_at = min(self.wake_at, lookup.not_before)
        return None

    def _ask(self, tp: TopicPartition, timestamp: int) -> Future[Any]:
        leader = self._cluster.view.leader(tp)
        if leader is None:
            answer: Future[Any] = Future()
            answer.set_error(ConnectError(f"{tp} has no leader"))
            return answer
        request = offsets_request(
            [(tp, timestamp)],
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
                    return BrokerError(
                        row.error_code, f"offsets of {tp}", needs=[on_topic("DESCRIBE", tp.topic)]
                    )
                return int(row.offset)
    return ConnectError(f"the response lacks {tp}")


def _with_bounds(error: OutOfRangeError, start: int, end: int) -> OutOfRangeError:
    error.start, error.end = start, end
    lost = start - error.offset
    gap = f"; {lost} offsets are gone" if lost > 1 else "; 1 offset is gone" if lost == 1 else ""
    error.why = f"the log goes from {start} to {end}{gap}"
    error.do = (
        "choose an offset in that range, or set --on-out-of-range (on.out.of.range) to earliest or latest"
    )
    return error
