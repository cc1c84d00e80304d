"""What the connections of a client share to authenticate. Used by the loop's thread only."""

from kcli.core.connection.admission import Admission
from kcli.core.connection.sasl.exchange import Credentials
from kcli.core.errors import AuthError


class Login(Admission):
    """``encrypted``: the connections are."""

    def __init__(self, mechanism: str, credentials: Credentials, *, encrypted: bool) -> None:
        super().__init__()
        self.mechanism = mechanism
        self.credentials = credentials
        self.encrypted = encrypted

    @property
    def who(self) -> str:
        """For messages: ``as USER with MECHANISM``."""
        user = self.credentials.user()
        return f"as {user} with {self.mechanism}" if user else f"with {self.mechanism}"

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
