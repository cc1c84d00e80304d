"""When a client may authenticate again after its credentials were refused. Pure: given ``now``, reads no clock.

All connections of a client share it, to whichever broker, and another one for their proxy: a wrong password must not be
sent by each of them, which may lock the account. After a refusal every request fails with it at once, until a pause is
over; then one connection tries again while the others wait for its outcome. The pauses grow.
"""

from kcli.core.cluster.retry import Backoff
from kcli.core.connection.admission import Admission
from kcli.core.errors import KcliError

_FIRST_PAUSE, _LONGEST_PAUSE = 2.0, 60.0  # seconds


class Authentication:
    """``refusal`` before a connection is made, ``began`` when it is."""

    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        self._seen: KcliError | None = None
        self._try_at = 0.0
        self._pauses = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)

    def refusal(self, now: float) -> KcliError | None:
        """Why no connection may be made now; None if one may be."""
        found = self._admission.refusal
        if found is not self._seen:
            self._seen = found
            if found is None:
                self._pauses.reset()
            else:
                self._try_at = now + self._pauses.next()
        return found if now < self._try_at else None

    def began(self, now: float, patience: float) -> None:
        """A connection is being made, and has its outcome after ``patience`` seconds at most."""
        if self._admission.refusal is not None:
            self._admission.permit()
            # Not the growing pause: this attempt decides. If it is refused, `refusal` sees a new error and
            # takes the next pause.
            self._try_at = now + patience
