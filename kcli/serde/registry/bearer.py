"""The bearer token of requests: one of the options, of a file or a command, or of an issuer that grants tokens to client
credentials. Renewed before it expires, and once where the registry refuses it.
"""

from collections.abc import Callable

from kcli.core.clock import wall
from kcli.core.connection.sasl.token import Token
from kcli.core.errors import ConfigError
from kcli.core.secret import Secret
from kcli.serde.registry.options import RegistryOptions

_URL, _ID, _SECRET = "bearer.auth.issuer.endpoint.url", "bearer.auth.client.id", "bearer.auth.client.secret"
_OF_ISSUER = (_URL, _ID, _SECRET, "bearer.auth.scope", "bearer.auth.issuer.ca.location")
_SOURCE = "bearer.auth.credentials.source"
_LEAST = 10.0
"""Seconds between two renewals: a source may give a token that has expired."""


class BearerTokens:
    """The token that is sent. ``fetch`` gives another one; ``margin``: seconds before the end of its life. Not
    thread-safe.
    """

    def __init__(
        self,
        fetch: Callable[[], Token],
        margin: float,
        first: Token | None = None,
        now: Callable[[], float] = wall,
    ) -> None:
        self._fetch, self._margin, self._now = fetch, margin, now
        self._token: Token | None = None
        self._renew_at: float | None = None
        if first is not None:
            self._keep(first)

    def text(self) -> str:
        """The token; AuthError or ConnectError if none can be had."""
        if self._token is None or (self._renew_at is not None and self._now() >= self._renew_at):
            self._keep(self._fetch())
        assert self._token is not None
        return self._token.value.reveal()

    def renew(self) -> bool:
        """Fetches a token in place of one that was refused; whether it is another."""
        before = self._token
        self._keep(self._fetch())
        return before is None or self._token is None or before.value != self._token.value

    def _keep(self, token: Token) -> None:
        now, self._token, self._renew_at = self._now(), token, None
        if token.expires_at is not None:
            left = max(0.0, token.expires_at - now)
            self._renew_at = now + max(_LEAST, left - min(self._margin, left / 2))


def sends_token(options: RegistryOptions) -> bool:
    """Whether requests carry a bearer token; ConfigError for half of what its source needs, or two sources."""
    of_issuer = [key for key in _OF_ISSUER if _value(options, key)]
    source, token = options.bearer_auth_credentials_source, options.bearer_auth_token
    if options.basic_auth_user_info and (token or of_issuer):
        raise ConfigError(
            f"basic.auth.user.info and {'bearer.auth.token' if token else of_issuer[0]} together",
            why="a registry accepts only one of them",
            do="leave one out",
        )
    if of_issuer and (token or source == "STATIC_TOKEN"):
        raise ConfigError(
            f"{of_issuer[0]} has no effect",
            why="the token is bearer.auth.token",
            do=f"leave it out, or give {_SOURCE}=OAUTHBEARER and no token",
        )
    if source == "OAUTHBEARER" and token:
        raise ConfigError(
            "bearer.auth.token has no effect",
            why=f"{_SOURCE} is OAUTHBEARER: the token is granted by {_URL}",
            do="leave one of them out",
        )
    needed: tuple[str, ...] = (_URL, _ID, _SECRET) if of_issuer or source == "OAUTHBEARER" else ()
    if source == "STATIC_TOKEN":
        needed = ("bearer.auth.token",)
    for key in needed:
        if not _value(options, key):
            given = f"{_SOURCE}={source}" if source else of_issuer[0]
            raise ConfigError(f"{given} without {key}", why="there is nothing to send", do=f"set {key}")
    if token and not (token.reveal().isprintable() and token.reveal().isascii()):
        raise ConfigError(
            "bearer.auth.token is no token",
            why="it has characters that no HTTP header may have",
            do="check it",
        )
    return bool(token or of_issuer)


def bearer_tokens(options: RegistryOptions) -> BearerTokens | None:
    """The tokens of requests, None where none is sent; ConfigError as ``sends_token``. Nothing is fetched yet."""
    if not sends_token(options):
        return None
    margin = float(options.bearer_auth_cache_expiry_buffer_seconds)
    if not options.bearer_auth_token:
        return BearerTokens(_issuer(options), margin)
    from kcli.core.tokens.bearer import token_of  # only with tokens

    reader, origin = options.bearer_auth_token_reader, "bearer.auth.token"
    first = Token(value=options.bearer_auth_token)
    if reader is None:
        return BearerTokens(lambda: first, margin, first)
    return BearerTokens(
        lambda: token_of(reader().reveal(), origin, {}),
        margin,
        token_of(options.bearer_auth_token.reveal(), origin, {}),
    )


def _issuer(options: RegistryOptions) -> Callable[[], Token]:
    from kcli.core.tokens.endpoint import Grant, Keys, TokenEndpoint, parse_endpoint  # HTTP and TLS

    keys = Keys(*_OF_ISSUER, "bearer.auth.token_file")
    return TokenEndpoint(
        parse_endpoint(options.bearer_auth_issuer_endpoint_url, keys),
        Grant(
            options.bearer_auth_client_id, options.bearer_auth_client_secret, options.bearer_auth_scope, {}
        ),
        timeout=min(options.schema_registry_request_timeout_ms, options.schema_registry_api_timeout_ms)
        / 1000,
        authorities=options.bearer_auth_issuer_ca_location,
        keys=keys,
    ).fetch


def _value(options: RegistryOptions, key: str) -> str | Secret:
    found: str | Secret = getattr(options, key.replace(".", "_"))
    return found
