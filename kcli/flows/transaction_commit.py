"""Commits a transaction, however long the coordinator takes to say whether it is committed."""

import time

from kcli.core.errors import TimedOutError, TransactionUnknownError
from kcli.core.producer.producer import Producer
from kcli.flows.stop import Stop


def commit_transaction(producer: Producer, stop: Stop, *, patience: float, interval: float) -> None:
    """Asks again while the outcome is unknown, for ``patience`` seconds or until a stop; then raises the error.

    A stop is noticed every ``interval`` seconds.
    """
    deadline = time.monotonic() + patience
    while True:
        try:
            producer.commit_transaction(interval)
            return
        except (TimedOutError, TransactionUnknownError):
            if stop or time.monotonic() >= deadline:
                raise
