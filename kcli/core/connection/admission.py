"""Whether a peer admits a client, as its connections know it: shared, so that refused credentials are not sent again and
again.

An account may be locked after a few failures: after a refusal, no connection sends the credentials until one of them is
permitted to try (``cluster/authentication.py``). Used by the loop's thread only.
"""

from kcli.core.errors import KcliError


class Admission:
    """``refusal`` is why the last attempt failed, None after a success."""

    def __init__(self) -> None:
        self.refusal: KcliError | None = None
        self._permitted = False

    def permit(self) -> None:
        """Lets the next attempt send the credentials despite the refusal."""
        self._permitted = True

    def begin(self) -> None:
        """Called before anything is sent; raises the refusal if there is one."""
        permitted, self._permitted = self._permitted, False
        if self.refusal is not None and not permitted:
            raise self.refusal

    def accepted(self) -> None:
        """The credentials were accepted."""
        self.refusal = None

    def refused(self, error: KcliError) -> KcliError:
        """Records why the attempt failed: until ``permit``, no other connection tries. Returns ``error``."""
        self.refusal = error
        return error
