"""Whether and when to try again: the only place that judges errors. Pure: given ``now``, reads no clock.

NOT_ENOUGH_REPLICAS_AFTER_APPEND and REQUEST_TIMED_OUT leave the outcome unknown (``outcome_is_ambiguous``): the
leader has the batch, which would be stored twice if it were numbered anew after an epoch bump
(``tests/fault/test_brokers.py``, B6).
"""

import random

from kcli.core.dataclass import dataclass
from kcli.core.error_codes import (
    NOT_CONTROLLER,
    NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    REQUEST_TIMED_OUT,
    error_code,
)
from kcli.core.errors import BrokerError, ConnectError, KcliError, OutcomeUnknownError, TimedOutError
from kcli.core.options import ClientOptions

JITTER = 0.2
_RANDOM = random.Random()
_ENOUGH = 32  # doublings, after which no wait grows any more


@dataclass(frozen=True, slots=True)
class RetryDecision:
    """``refresh`` is what must be looked up before the next try: metadata, the coordinator, or nothing (``""``)."""

    retriable: bool
    refresh: str = ""


def classify_code(code: int) -> RetryDecision:
    """What a broker's error code asks for."""
    row = error_code(code)
    return RetryDecision(row.retriable, row.refresh)


def classify_error(error: BaseException) -> RetryDecision:
    """What an error of a request asks for. A lost connection may mean that the leader moved."""
    if isinstance(error, BrokerError):
        return classify_code(error.code)
    if isinstance(error, ConnectError):
        return RetryDecision(True, "metadata")
    return RetryDecision(False)


def outcome_is_ambiguous(error: BaseException) -> bool:
    """Whether what was asked may have been done all the same: no answer, or one that says "done in part"."""
    if isinstance(error, BrokerError):
        return error.code in (REQUEST_TIMED_OUT, NOT_ENOUGH_REPLICAS_AFTER_APPEND)
    return isinstance(error, OutcomeUnknownError)


def given_up(what: str, error: KcliError, seconds: float) -> KcliError:
    """What is said at the deadline: the last error, and for how long it was tried to get past it."""
    kind = OutcomeUnknownError if isinstance(error, OutcomeUnknownError) else TimedOutError
    return kind(f"{what}: gave up after {seconds:.1f} s", why=str(error), do=error.do)


def no_answer(where: str) -> TimedOutError:
    """The deadline came before an answer. ``where``: the brokers that were asked."""
    return TimedOutError(
        f"no answer from {where} in time",
        do="check that it is running and not overloaded, or wait longer with --timeout",
    )


def is_controller_error(error: BaseException) -> bool:
    """Whether the broker asked is not the controller (any more): metadata names the new one."""
    return isinstance(error, BrokerError) and error.code == NOT_CONTROLLER


class Backoff:
    """Waits that double with each failure up to ``longest`` seconds, spread by ±20 % (KIP-580)."""

    def __init__(self, first: float, longest: float, rng: random.Random | None = None) -> None:
        self.failures = 0
        self._first = first
        self._longest = max(first, longest)
        self._random = rng or _RANDOM

    def next(self) -> float:
        """Seconds to wait before the next try; counts a failure."""
        wait = self.peek()
        self.failures += 1
        return wait

    def peek(self) -> float:
        """What ``next`` would say, without a failure."""
        wait = min(self._first * 2.0 ** min(self.failures, _ENOUGH), self._longest)
        return wait * self._random.uniform(1 - JITTER, 1 + JITTER)

    @classmethod
    def of_requests(cls, options: ClientOptions, failures: int = 0) -> "Backoff":
        """The waits of ``retry.backoff.ms``, as after so many failures."""
        backoff = cls(options.retry_backoff_ms / 1000, options.retry_backoff_max_ms / 1000)
        backoff.failures = failures
        return backoff

    def reset(self) -> None:
        """A success: the next failure waits the shortest time again."""
        self.failures = 0
