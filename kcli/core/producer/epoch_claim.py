"""Which producer id and epoch an InitProducerId claims; and whether an error shows that it fenced itself. Pure.

An InitProducerId of our own may fence us. With (id, epoch) on an open transaction it is answered with
CONCURRENT_TRANSACTIONS and aborts that transaction; up to transaction version 1 this bumps the epoch, and the
repeated request is answered with PRODUCER_FENCED. Then (id, epoch + 1) belongs to this producer only; (-1, -1) would
fence a successor. Seen on 2.8.2 and 3.9.2. Tested in ``tests/fault/test_transactions.py`` (P11 to P14).
"""

from enum import Enum

from kcli.core.error_codes import CONCURRENT_TRANSACTIONS, INVALID_PRODUCER_EPOCH, PRODUCER_FENCED
from kcli.core.producer.idempotence import Idempotence

FENCING = frozenset({INVALID_PRODUCER_EPOCH, PRODUCER_FENCED})


class _Fencing(Enum):
    """What happened to our own epoch while a new one was requested."""

    SUSPECTED = "suspected"
    CONFIRMED = "confirmed"


class EpochClaim:
    """``take_over``: the application initializes the transactional id, which another producer may have used before."""

    def __init__(self, *, take_over: bool = False) -> None:
        self._take_over = take_over
        self._fencing: _Fencing | None = None

    def ids(self, numbers: Idempotence) -> tuple[int, int]:
        """Producer id and epoch for the request."""
        if self._take_over:
            return -1, -1
        return numbers.producer_id, numbers.epoch + (self._fencing is _Fencing.CONFIRMED)

    def fenced_itself(self, code: int) -> bool:
        """Whether the coordinator's own abort of our transaction caused the error: then the next epoch is ours."""
        if code == CONCURRENT_TRANSACTIONS and not self._take_over and self._fencing is None:
            self._fencing = _Fencing.SUSPECTED
        elif code in FENCING and self._fencing is _Fencing.SUSPECTED:
            self._fencing = _Fencing.CONFIRMED
            return True
        return False
