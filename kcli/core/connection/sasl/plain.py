"""PLAIN (RFC 4616): the user name and the password as they are. Refused without TLS (see ``registry``)."""

from kcli.core.connection.sasl.exchange import CHECK_PASSWORD, Credentials, Exchange, Last, user_and_password
from kcli.core.options import ClientOptions
from kcli.core.secret import Secret


def prepare(options: ClientOptions) -> Credentials:
    """The credentials that ``options`` name; ConfigError without them."""
    user, password = user_and_password(options)
    return Credentials(lambda: user, lambda _host: plain(user, password), lambda: (password,), CHECK_PASSWORD)


def plain(user: str, password: Secret) -> Exchange:
    """One message, without an authorization id: Kafka accepts none but the user name."""
    yield Last(b"\0".join((b"", user.encode(), password.reveal().encode())))
