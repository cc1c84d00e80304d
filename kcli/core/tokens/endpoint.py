"""A token from an OAuth token endpoint by the client credentials grant (RFC 6749, section 4.4; KIP-768).

Only https, with the certificate and the host name verified. A redirect is an error: it would send the client's secret
to another address (CVE-2025-27817 is of this class). A grant may be asked for twice. Runs in the worker thread of a loop,
never in the loop's.
"""

import json
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from kcli.core.classes import NamedTuple, dataclass
from kcli.core.clock import monotonic, wall
from kcli.core.connection.sasl.token import Token
from kcli.core.errors import AuthError, ConfigError, ConnectError
from kcli.core.net.http import HttpClient, Policy, UnansweredError
from kcli.core.net.http_address import HttpAddress, basic, parse_http
from kcli.core.net.http_messages import Answer, NoAnswerError, ProxyRefusalError, Request, UntrustedError
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
_POLICY = Policy(tries=3, first_pause=0.2, longest_pause=0.4, limit=MAX_BODY)


@dataclass(frozen=True, slots=True)
class Grant:
    """What the client presents, and what it asks for."""

    client_id: str
    client_secret: Secret
    scope: str
    extensions: Mapping[str, str]
    url_encoded: bool = False


def parse_endpoint(url: str, keys: Keys = KAFKA) -> HttpAddress:
    """ConfigError for anything but an https address without a user name and without a fragment."""
    found = parse_http(url)
    why = do = ""
    if url.startswith("file:"):
        why, do = "it names a file", f"name the file with {keys.token_file}=PATH"
    elif found is None:
        why, do = "it is no https address", "write https://HOST[:PORT]/PATH"
    elif not found.secure:
        why = "the client's secret would travel unencrypted"
        do = "use the https address of the token endpoint"
    elif found.authorization:
        why, do = "it has credentials in it", f"give them as {keys.client_id} and {keys.client_secret}"
    if found is None or why:
        raise ConfigError(f"{keys.url} cannot be used", why=why, do=do)
    return found


class TokenEndpoint:
    """``fetch`` requests a token, within ``timeout`` seconds. ``authorities``: PEM file of the CAs to trust for https, ""
    for the system's; ConfigError if it cannot be used.
    """

    def __init__(
        self,
        endpoint: HttpAddress,
        grant: Grant,
        *,
        timeout: float,
        authorities: str = "",
        keys: Keys = KAFKA,
        send: Callable[[Request], Answer] | None = None,
        monotonic: Callable[[], float] = monotonic,
        now: Callable[[], float] = wall,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._endpoint, self._grant, self._timeout, self._keys, self._now = (
            endpoint,
            grant,
            timeout,
            keys,
            now,
        )
        context = make_context(
            Stores(prefix=keys.ca_location.removesuffix(".ca.location"), ca_location=authorities)
        )
        self._client = HttpClient([endpoint], _POLICY, lambda: context, send=send, now=monotonic, sleep=sleep)

    def fetch(self) -> Token:
        """A new token. AuthError if it is refused, ConnectError if the endpoint does not respond after three tries."""
        try:
            answer = self._client.ask("POST", "", self._body(), self._headers(), seconds=self._timeout)
        except UntrustedError as error:
            raise AuthError(
                f"{self._endpoint}: the certificate of the token endpoint was not accepted",
                why=str(error),
                do=f"name its authority with {self._keys.ca_location}, and check that it names this host",
            ) from None
        except ProxyRefusalError as error:
            raise AuthError(f"no token from {self._endpoint}", why=str(error), do=error.do) from None
        except (UnansweredError, NoAnswerError) as error:
            raise ConnectError(
                f"no token from {self._endpoint}",
                why=str(error),
                do=f"check {self._keys.url}, and that the identity provider is running",
            ) from None
        finally:
            self._client.close()  # until the next renewal
        return self._token(answer)

    def _token(self, answered: Answer) -> Token:
        status, origin = answered.status, f"the token endpoint {self._endpoint}"
        if 300 <= status < 400:
            raise AuthError(
                f"{origin} redirects to another address",
                why=f"HTTP {status}; redirects are not followed, as they would carry the client's secret along",
                do=f"put the final address into {self._keys.url}",
            )
        answer = _json(answered.body) if answered.whole else None
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
        }


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
