"""Commits a transaction, however long the coordinator takes to say whether it is committed."""

import time

from kcli.core.errors import TimedOutError, TransactionUnknownError
from kcli.core.producer.producer import Producer
from kcli.flows.stop import Stop

_AGAIN_AFTER = 4.0  # seconds without a response, the first time


def commit_transaction(producer: Producer, stop: Stop, *, patience: float, grace: float) -> None:
    """Asks again while the outcome is unknown, for ``patience`` seconds, or ``grace`` seconds from a stop on; then raises
    the error.

    Without a response it asks again, later each time: for that it connects anew, which takes several round trips.
    """
    deadline, seconds = time.monotonic() + patience, _AGAIN_AFTER
    while True:
        try:
            producer.commit_transaction(seconds, stop=lambda: bool(stop), grace=grace)
            return
        except (TimedOutError, TransactionUnknownError):
            if stop or time.monotonic() >= deadline:
                raise
            seconds *= 2
