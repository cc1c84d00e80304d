"""Whether and when to retry: the only module that classifies errors. Pure: given ``now``, reads no clock.

NOT_ENOUGH_REPLICAS_AFTER_APPEND and REQUEST_TIMED_OUT leave the outcome unknown (``outcome_is_ambiguous``): the
leader has the batch, which would be stored twice if it were numbered anew after an epoch bump
(``tests/fault/test_brokers.py``, B6). ``StallReporter`` reports failures that last.
"""

from _random import Random  # what `random` is made of; that computes tables when it is imported

from kcli.core.classes import NamedTuple
from kcli.core.error_codes import (
    NOT_CONTROLLER,
    NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    REQUEST_TIMED_OUT,
    error_code,
)
from kcli.core.errors import (
    AuthError,
    BrokerError,
    ConnectError,
    KcliError,
    NotConnectedError,
    OutcomeUnknownError,
    ProtocolError,
    TimedOutError,
)
from kcli.core.hooks import Hooks
from kcli.core.options import ClientOptions
from kcli.core.types import TopicPartition

JITTER = 0.2
_RANDOM = Random()
_ENOUGH = 32  # doublings, after which the delay does not grow any more


class RetryDecision(NamedTuple):
    """``refresh`` is what must be looked up before the next attempt: metadata, the coordinator, or nothing (``""``)."""

    retriable: bool
    refresh: str = ""


def classify_code(code: int) -> RetryDecision:
    """The decision for a broker's error code."""
    row = error_code(code)
    return RetryDecision(row.retriable, row.refresh)


def classify_error(error: BaseException) -> RetryDecision:
    """The decision for an error of a request. A lost connection may mean that the leader moved."""
    if isinstance(error, BrokerError):
        return classify_code(error.code)
    if isinstance(error, ConnectError):
        return RetryDecision(True, "metadata")
    return RetryDecision(False)


def outcome_is_ambiguous(error: BaseException) -> bool:
    """Whether the request may have taken effect all the same: no response, or one that means "partly done"."""
    if isinstance(error, BrokerError):
        return error.code in (REQUEST_TIMED_OUT, NOT_ENOUGH_REPLICAS_AFTER_APPEND)
    return isinstance(error, OutcomeUnknownError)


def given_up(what: str, error: KcliError, seconds: float) -> KcliError:
    """The error at the deadline: the last error, and for how long it was retried."""
    return late_error(f"{what}: gave up after {seconds:.1f} s", error)


def late_error(what: str, cause: KcliError) -> KcliError:
    """The error when a deadline passed because of ``cause``; wrong data and refused credentials remain what they are."""
    # Also for subclasses of ProtocolError: what a response left out may come with the next one.
    kind: type[KcliError] = TimedOutError
    if isinstance(cause, OutcomeUnknownError):
        kind = OutcomeUnknownError
    elif isinstance(cause, ConnectError):
        kind = NotConnectedError
    elif type(cause) in (ProtocolError, AuthError):
        kind = type(cause)
    return kind(what, why=str(cause), do=cause.do)


def no_response(where: str) -> TimedOutError:
    """The error when the deadline passed without a response. ``where``: the brokers that were asked."""
    return TimedOutError(
        f"no response from {where} in time",
        do="check that it is running and not overloaded, or wait longer with --timeout",
    )


def is_controller_error(error: BaseException) -> bool:
    """Whether the broker is not the controller (any more): metadata names the new one."""
    return isinstance(error, BrokerError) and error.code == NOT_CONTROLLER


class Backoff:
    """Delays that double with each failure up to ``longest`` seconds, with ±20 % of jitter (KIP-580)."""

    def __init__(self, first: float, longest: float, rng: Random | None = None) -> None:
        self.failures = 0
        self._first = first
        self._longest = max(first, longest)
        self._random = rng or _RANDOM

    def next(self) -> float:
        """Seconds to wait before the next attempt; counts a failure."""
        wait = self.peek()
        self.failures += 1
        return wait

    def peek(self) -> float:
        """What ``next`` would return, without counting a failure."""
        wait = min(self._first * 2.0 ** min(self.failures, _ENOUGH), self._longest)
        return wait * (1 - JITTER + 2 * JITTER * self._random.random())

    @classmethod
    def of_requests(cls, options: ClientOptions, failures: int = 0) -> "Backoff":
        """The delays of ``retry.backoff.ms``, as after ``failures`` failures."""
        backoff = cls(options.retry_backoff_ms / 1000, options.retry_backoff_max_ms / 1000)
        backoff.failures = failures
        return backoff

    def reset(self) -> None:
        """Records a success: the next failure waits the shortest time again."""
        self.failures = 0


REPORT_AFTER = 10.0
"""Seconds; a leader that died has been replaced by then."""


class StallReporter:
    """Partitions whose attempts keep failing: a single retry is not worth a message, ten seconds of retries are.

    Reports one partition of each topic, and when the whole topic has recovered. Used by the thread that owns the loop.

    ``since``: those that fail at present, ``errors``: the last error of each. ``over`` may be left out while there are
    none. Other threads may copy ``errors``.
    """

    def __init__(self, hooks: Hooks, area: str) -> None:
        self._hooks, self._area = hooks, area
        self.since: dict[TopicPartition, float] = {}
        self.errors: dict[TopicPartition, KcliError] = {}
        self._told: set[str] = set()

    def met(self, tp: TopicPartition, error: KcliError, now: float) -> None:
        """Another attempt has failed, and there will be more."""
        lasts = now - self.since.setdefault(tp, now)
        self.errors[tp] = error
        if lasts >= REPORT_AFTER and tp.topic not in self._told:
            self._told.add(tp.topic)
            self._hooks.log("warning", self._area, f"{error}; tried for {lasts:.0f} s, and trying on")

    def over(self, tp: TopicPartition) -> None:
        """An attempt has succeeded, or there will be no more."""
        if not self.since or self.since.pop(tp, None) is None:
            return
        del self.errors[tp]
        if tp.topic not in self._told:
            return
        if not any(other.topic == tp.topic for other in self.since):
            self._told.remove(tp.topic)
            self._hooks.log("info", self._area, f"topic {tp.topic}: no retries any more")
