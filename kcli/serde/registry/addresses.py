"""Registry addresses from ``schema.registry.url``, and credentials. Pure; ``str`` never shows secrets."""

from urllib.parse import unquote, urlsplit

from kcli.core.classes import dataclass, field
from kcli.core.errors import ConfigError
from kcli.core.net.http import basic
from kcli.serde.registry.bearer import sends_token
from kcli.serde.registry.options import SASL_INHERIT, RegistryOptions

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Address:
    """One registry. ``path`` has no trailing slash; ``authorization`` is the header's value, empty also where a bearer
    token is sent, which changes (``bearer.py``).
    """

    secure: bool
    host: str
    port: int
    path: str = ""
    authorization: str = field(default="", repr=False)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.secure else 'http'}://{host}:{self.port}{self.path}"


def addresses(options: RegistryOptions, *, allow_plaintext_secrets: bool = False) -> tuple[Address, ...]:
    """The registries to use, in order; ConfigError for an invalid address, and for secrets over plain HTTP."""
    common, token = _user_info(options), sends_token(options)
    found = []
    for text in options.schema_registry_url.split(","):
        if text.strip():
            address = _parse(text.strip(), common, options.basic_auth_credentials_source, token=token)
            if (token or address.authorization) and not allow_plaintext_secrets:
                _refuse_plaintext(address)
            found.append(address)
    if not found:
        raise ConfigError(
            "no schema registry is named",
            why="this serde reads its schemas from a registry",
            do="-X schema.registry.url=http://HOST:8081, or a schema in a file: file=FILE",
        )
    return tuple(found)


def _parse(text: str, common: str, source: str, *, token: bool) -> Address:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ConfigError(
            f"schema.registry.url={without_secrets(text)!r} is no address",
            why="it is http or https, a host, and perhaps a port and a path",
            do="http://HOST:8081, for example",
        )
    authorization = common
    if parts.username is not None and token:
        raise ConfigError(
            f"a name in schema.registry.url={without_secrets(text)!r} and a token (bearer.auth.*) together",
            why="a registry accepts only one of them",
            do="leave one out",
        )
    if parts.username is not None and source in ("", "URL"):
        authorization = basic(unquote(parts.username), unquote(parts.password or ""))
    secure = parts.scheme == "https"
    return Address(
        secure, parts.hostname, port or (443 if secure else 80), parts.path.rstrip("/"), authorization
    )


def _user_info(options: RegistryOptions) -> str:
    """The Authorization header for every registry, by basic.auth.user.info."""
    source = options.basic_auth_credentials_source
    if options.basic_auth_user_info and source != "URL":
        name, colon, password = options.basic_auth_user_info.reveal().partition(":")
        if not colon:
            raise ConfigError(
                "basic.auth.user.info is not NAME:PASSWORD", why="there is no colon in it", do="add it"
            )
        return basic(name, password)
    if source in ("USER_INFO", SASL_INHERIT):
        raise ConfigError(
            f"basic.auth.credentials.source={source} without "
            + ("basic.auth.user.info" if source == "USER_INFO" else "sasl.username and sasl.password"),
            why="there is nothing to send",
            do="set basic.auth.user.info",
        )
    return ""


def _refuse_plaintext(address: Address) -> None:
    if not address.secure and address.host not in _LOOPBACK:
        raise ConfigError(
            f"credentials for {address} would travel unencrypted",
            why="the address begins with http",
            do="use https, or say --allow-plaintext-secrets",
        )


def without_secrets(text: str) -> str:
    """``schema.registry.url`` without names and passwords. Several such addresses become one, so that no part
    may leak.
    """
    scheme, mark, rest = text.partition("://")
    return f"{scheme}{mark}(hidden)@{rest.rpartition('@')[2]}" if "@" in rest else text
