"""What the connections of a client share to authenticate, so that refused credentials are not sent again and again.

An account may be locked after a few failures: after a refusal, no connection sends the credentials until one of them is
permitted to try. Used by the loop's thread only.
"""

from kcli.core.connection.sasl.exchange import Credentials
from kcli.core.errors import AuthError, KcliError


class Login:
    """``refusal`` is why the last authentication failed, None after a success. ``encrypted``: the connections are."""

    def __init__(self, mechanism: str, credentials: Credentials, *, encrypted: bool) -> None:
        self.mechanism = mechanism
        self.credentials = credentials
        self.encrypted = encrypted
        self.refusal: KcliError | None = None
        self._permitted = False

    @property
    def who(self) -> str:
        """For messages: ``as USER with MECHANISM``."""
        user = self.credentials.user()
        return f"as {user} with {self.mechanism}" if user else f"with {self.mechanism}"

    def permit(self) -> None:
        """Lets the next authentication send the credentials despite the refusal."""
        self._permitted = True

    def begin(self) -> None:
        """Called before anything is sent; raises the refusal if there is one."""
        permitted, self._permitted = self._permitted, False
        if self.refusal is not None and not permitted:
            raise self.refusal

    def accepted(self) -> None:
        """A broker accepted the credentials."""
        self.refusal = None

    def refused(self, error: KcliError) -> KcliError:
        """Records why authentication failed: until ``permit``, no other connection tries. Returns ``error``."""
        self.refusal = error
        return error

    def failure(self, peer: str, why: str, do: str = "") -> AuthError:
        """The error for ``why``, without the secrets."""
        return AuthError(
            f"{peer}: authentication {self.who} failed",
            why=self.hidden(why),
            do=do or self.credentials.remedy,
        )

    def hidden(self, text: str) -> str:
        """``text`` of a broker without the secrets: one that knows a secret might repeat it."""
        for secret in self.credentials.secrets():
            text = text.replace(secret.reveal(), "(hidden)")
        return text
