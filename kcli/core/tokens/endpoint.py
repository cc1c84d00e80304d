"""A token from an OAuth token endpoint by the client credentials grant (RFC 6749, section 4.4; KIP-768).

Only https, with the certificate and the host name verified. A redirect is an error: it would send the client's secret
to another address (CVE-2025-27817 is of this class). The body is limited. Runs in the worker thread of a loop, never in
the loop's; connections, clock and sleep are injected, so that tests need neither.
"""

import http.client
import json
import ssl
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from kcli.core.classes import NamedTuple, dataclass
from kcli.core.clock import monotonic, wall
from kcli.core.connection.sasl.token import Token
from kcli.core.errors import AuthError, ConfigError, ConnectError
from kcli.core.net.http import HttpConnection, basic, failure, https_connection, read_body
from kcli.core.net.tls.context import make_context
from kcli.core.net.tls.stores import Stores
from kcli.core.secret import Secret
from kcli.core.tokens.bearer import expiry_of, token_of


class Keys(NamedTuple):
    """The options by which a client names its endpoint, for errors. ``token_file``: instead of a URL of a file."""

    url: str
    client_id: str
    client_secret: str
    scope: str
    ca_location: str
    token_file: str


KAFKA = Keys(
    "sasl.oauthbearer.token.endpoint.url",
    "sasl.oauthbearer.client.id",
    "sasl.oauthbearer.client.secret",
    "sasl.oauthbearer.scope",
    "sasl.oauthbearer.ca.location",
    "sasl.oauthbearer.token.file",
)
MAX_BODY = 1 << 20
_TRIES = 3
_FIRST_PAUSE = 0.2
_TEMPORARY = (408, 429)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of a token endpoint; ``target`` is the path with the query."""

    host: str
    port: int
    target: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"https://{host}:{self.port}{self.target.partition('?')[0]}"


Connect = Callable[[Endpoint, float], HttpConnection]
"""A connection to the endpoint, with the timeout of each of its steps in seconds."""


@dataclass(frozen=True, slots=True)
class Grant:
    """What the client presents, and what it asks for."""

    client_id: str
    client_secret: Secret
    scope: str
    extensions: Mapping[str, str]
    url_encoded: bool = False


class _TemporaryError(Exception):
    """This try failed, another may succeed."""


def parse_endpoint(url: str, keys: Keys = KAFKA) -> Endpoint:
    """ConfigError for anything but an https address without a user name and without a fragment."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    why = do = ""
    if parts.scheme == "file":
        why, do = "it names a file", f"name the file with {keys.token_file}=PATH"
    elif parts.scheme == "http":
        why = "the client's secret would travel unencrypted"
        do = "use the https address of the token endpoint"
    elif parts.username is not None:
        why, do = "it has credentials in it", f"give them as {keys.client_id} and {keys.client_secret}"
    elif (
        parts.scheme != "https" or not parts.hostname or parts.fragment or not url.isprintable() or " " in url
    ):
        why, do = "it is no https address", "write https://HOST[:PORT]/PATH"
    if why:
        raise ConfigError(f"{keys.url} cannot be used", why=why, do=do)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Endpoint(str(parts.hostname), port or 443, target)


class TokenEndpoint:
    """``fetch`` requests a token, within ``timeout`` seconds. ``authorities``: PEM file of the CAs to trust for https, ""
    for the system's; ConfigError if it cannot be used.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        grant: Grant,
        *,
        timeout: float,
        authorities: str = "",
        keys: Keys = KAFKA,
        connect: Connect | None = None,
        monotonic: Callable[[], float] = monotonic,
        now: Callable[[], float] = wall,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._endpoint = endpoint
        self._grant = grant
        self._timeout = timeout
        self._keys = keys
        self._connect = connect or _Connector(authorities, keys).connect
        self._monotonic, self._now, self._sleep = monotonic, now, sleep

    def fetch(self) -> Token:
        """A new token. AuthError if it is refused, ConnectError if the endpoint does not respond after three tries."""
        why, deadline = "", self._monotonic() + self._timeout
        for attempt in range(_TRIES):
            pause = _FIRST_PAUSE * 2 ** (attempt - 1) if attempt else 0.0
            if self._monotonic() + pause >= deadline:
                break
            if pause:
                self._sleep(pause)
            try:
                return self._request(deadline)
            except _TemporaryError as error:
                why = str(error)
        raise ConnectError(
            f"no token from {self._endpoint}",
            why=why,
            do=f"check {self._keys.url}, and that the identity provider is running",
        )

    def _request(self, deadline: float) -> Token:
        try:
            connection = self._connect(self._endpoint, deadline - self._monotonic())
            try:
                connection.request("POST", self._endpoint.target, body=self._body(), headers=self._headers())
                response = connection.getresponse()
                body = read_body(response, MAX_BODY, deadline, self._monotonic)
            finally:
                connection.close()
        except ssl.SSLCertVerificationError as error:
            raise AuthError(
                f"{self._endpoint}: the certificate of the token endpoint was not accepted",
                why=error.verify_message or str(error),
                do=f"name its authority with {self._keys.ca_location}, and check that it names this host",
            ) from None
        except (OSError, http.client.HTTPException) as error:
            raise _TemporaryError(failure(error)) from None
        if response.status >= 500 or response.status in _TEMPORARY:
            raise _TemporaryError(f"HTTP {response.status}")
        return self._token(response.status, body)

    def _token(self, status: int, body: bytes) -> Token:
        origin = f"the token endpoint {self._endpoint}"
        if 300 <= status < 400:
            raise AuthError(
                f"{origin} redirects to another address",
                why=f"HTTP {status}; redirects are not followed, as they would carry the client's secret along",
                do=f"put the final address into {self._keys.url}",
            )
        answer = _json(body) if len(body) <= MAX_BODY else None
        if status != 200:
            raise AuthError(
                f"{origin} refused the client {self._grant.client_id}",
                why=_refusal(status, answer or {}),
                do=f"check {self._keys.client_id}, {self._keys.client_secret} and {self._keys.scope}",
            )
        text = answer.get("access_token") if answer is not None else None
        if not isinstance(text, str):
            raise AuthError(
                f"{origin} sent no access token",
                why="its response is not JSON with an access_token (RFC 6749, section 5.1)",
                do=f"check {self._keys.url}",
            )
        assert answer is not None
        return token_of(
            text, origin, self._grant.extensions, expires_at=expiry_of(answer.get("expires_in"), self._now())
        )

    def _body(self) -> bytes:
        fields = {"grant_type": "client_credentials"}
        if self._grant.scope:
            fields["scope"] = self._grant.scope
        return urlencode(fields).encode()

    def _headers(self) -> dict[str, str]:
        name, secret = self._grant.client_id, self._grant.client_secret.reveal()
        if self._grant.url_encoded:
            name, secret = quote(name, safe=""), quote(secret, safe="")
        return {
            "Accept": "application/json",
            "Authorization": basic(name, secret),
            "Content-Type": "application/x-www-form-urlencoded",
            "User-Agent": "kcli",
        }


class _Connector:
    """Opens connections, with one TLS context for all of them."""

    def __init__(self, authorities: str, keys: Keys) -> None:
        prefix = keys.ca_location.removesuffix(".ca.location")
        self._context = make_context(Stores(prefix=prefix, ca_location=authorities))

    def connect(self, endpoint: Endpoint, timeout: float) -> HttpConnection:
        return https_connection(endpoint.host, endpoint.port, timeout, self._context)


def _json(body: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _refusal(status: int, answer: Mapping[str, Any]) -> str:
    """``invalid_client: Bad credentials (HTTP 401)``: one printable line of limited length."""
    said = [str(answer[key]) for key in ("error", "error_description") if isinstance(answer.get(key), str)]
    plain = " ".join("".join(c if c.isprintable() else " " for c in ": ".join(said)).split())[:300]
    return f"{plain} (HTTP {status})" if plain else f"HTTP {status}"
