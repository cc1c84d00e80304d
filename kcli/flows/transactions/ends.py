"""Ends of transactions: commits one, however long the coordinator takes to say whether it is committed; and the errors
that no record causes, after which it is aborted and written again.
"""

import time
from collections.abc import Callable

from kcli.core.error_codes import (
    INVALID_TXN_STATE,
    OUT_OF_ORDER_SEQUENCE_NUMBER,
    TRANSACTION_ABORTABLE,
    UNKNOWN_PRODUCER_ID,
)
from kcli.core.errors import BrokerError, KcliError, TimedOutError, TransactionUnknownError
from kcli.core.producer.producer import Producer
from kcli.flows.stop import Stop

_AGAIN_AFTER = 4.0  # seconds without a response, the first time
_LONGEST = 128.0  # and at most


def commit_transaction(
    producer: Producer,
    stop: Stop,
    *,
    patience: float,
    grace: float,
    first: float = _AGAIN_AFTER,
    waiting: Callable[[KcliError], bool] = lambda _error: True,
) -> None:
    """Asks again while the outcome is unknown, for ``patience`` seconds, or ``grace`` seconds from a stop on; then raises
    the error.

    Without a response it asks again, after ``first`` seconds and then later each time: for that it connects anew, which
    takes several round trips.
    ``waiting`` is called before it asks again, and may end that.
    """
    deadline, seconds = time.monotonic() + patience, first
    while True:
        try:
            producer.commit_transaction(seconds, stop=lambda: bool(stop), grace=grace)
            return
        except (TimedOutError, TransactionUnknownError) as error:
            if stop or time.monotonic() >= deadline or not waiting(error):
                raise
            seconds = min(2 * seconds, _LONGEST)


_OF_THE_SEQUENCE = frozenset(
    {INVALID_TXN_STATE, OUT_OF_ORDER_SEQUENCE_NUMBER, TRANSACTION_ABORTABLE, UNKNOWN_PRODUCER_ID}
)
"""The broker misses a batch, or disagrees about the transaction (KIP-890). An abort with a new epoch starts the sequence
again, so the same records may succeed.
"""


def is_of_the_sequence(error: BaseException | None) -> bool:
    """Whether brokers and the producer disagree about the sequence or the state of the transaction."""
    return isinstance(error, BrokerError) and error.code in _OF_THE_SEQUENCE
