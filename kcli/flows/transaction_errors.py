"""Errors of a transaction that no record causes: it is aborted and written again."""

from kcli.core.error_codes import (
    INVALID_TXN_STATE,
    OUT_OF_ORDER_SEQUENCE_NUMBER,
    TRANSACTION_ABORTABLE,
    UNKNOWN_PRODUCER_ID,
)
from kcli.core.errors import BrokerError

_OF_THE_SEQUENCE = frozenset(
    {INVALID_TXN_STATE, OUT_OF_ORDER_SEQUENCE_NUMBER, TRANSACTION_ABORTABLE, UNKNOWN_PRODUCER_ID}
)
"""The broker misses a batch, or disagrees about the transaction (KIP-890). An abort with a new epoch starts the sequence
again, so the same records may succeed.
"""


def is_of_the_sequence(error: BaseException | None) -> bool:
    """Whether brokers and the producer disagree about the sequence or the state of the transaction."""
    return isinstance(error, BrokerError) and error.code in _OF_THE_SEQUENCE
