"""SASL as a broker does it: SaslHandshake and SaslAuthenticate, users with passwords, tokens, sessions that end.

    FakeCluster(1, sasl=Sasl(users={"alice": "secret"}, session_lifetime_ms=300))

The mechanisms are written anew here, not taken from ``kcli``: they judge its client.
"""

import base64
import hashlib
import hmac
import json
import re
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from kcli.core.protocol.messages.api_versions import ApiVersionsRequest
from kcli.core.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kcli.core.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from tests.fake.codes import Code
from tests.fake.scram_store import DIGESTS, ScramStore
from tests.fake.token_admin import Tokens

if TYPE_CHECKING:
    from tests.fake.state import Context

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
Server = Generator[bytes, bytes, tuple[str, bytes]]
"""Is sent the client's messages, yields the server's, and returns the user and the last message."""


@dataclass(slots=True)
class Sasl:
    """Who may come in. May be changed while the cluster runs (``cluster.settings.sasl``).

    ``users`` have a SCRAM credential of each mechanism, until clients change them (``cluster.scram``).
    """

    users: dict[str, str] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    """Accepted tokens, and whose they are."""
    mechanisms: tuple[str, ...] = MECHANISMS
    session_lifetime_ms: int = 0
    session_grace: float = 0.0
    """Seconds for which an ended session still serves: this cluster shares its processor with its clients."""
    iterations: int = 4_096
    access_keys: dict[str, str] = field(default_factory=dict)
    """Secret access keys of AWS_MSK_IAM by their ids, which are the users."""
    region: str = "eu-central-1"
    """The region in which a request has to be signed."""
    service: str = "kafka@127.0.0.1"
    """This broker for GSSAPI; every principal is accepted."""
    tamper: Callable[[str, bytes], bytes] | None = None
    """Makes another message of a server's: ``first`` or ``final`` of SCRAM, ``challenge`` of OAUTHBEARER."""
    wrong_password: str = "Authentication failed: Invalid username or password"

    def edited(self, stage: str, message: bytes) -> bytes:
        return message if self.tamper is None else self.tamper(stage, message)


class DeniedError(Exception):
    """The broker's error message."""


class Session:
    """What one connection has said about itself."""

    def __init__(self) -> None:
        self.user = ""
        self.by_token = False
        self.expires_at = float("inf")
        self.authentications = 0
        self.failed = False
        self._mechanism = ""
        self._server: Server | None = None

    def may(self, kind: type) -> bool:
        """Whether a broker carries out such a request now; otherwise it closes the connection."""
        if self._mechanism:
            return kind is SaslAuthenticateRequest
        if not self.user:
            return kind in (ApiVersionsRequest, SaslHandshakeRequest)
        return kind is SaslHandshakeRequest or time.monotonic() < self.expires_at

    def handshake(self, sasl: Sasl, mechanism: str) -> int:
        if mechanism not in sasl.mechanisms:
            self.failed = True
            return int(Code.UNSUPPORTED_SASL_MECHANISM)
        self._mechanism = mechanism
        return 0

    def authenticate(
        self, sasl: Sasl, scram: ScramStore, tokens: Tokens, message: bytes
    ) -> SaslAuthenticateResponse:
        try:
            if self._server is None and message.endswith(b",tokenauth=true"):
                self._server = _scram_token(self._mechanism, sasl, tokens)
                self.by_token = True
                next(self._server)
            elif self._server is None:
                self._server = _SERVERS[self._mechanism](sasl, scram)
                next(self._server)
            return SaslAuthenticateResponse(auth_bytes=self._server.send(message), error_message=None)
        except StopIteration as end:
            user, last = end.value
        except DeniedError as refused:
            self.failed = True
            return SaslAuthenticateResponse(error_code=58, error_message=str(refused))
        if self.user and user != self.user:
            self.failed = True
            text = f"Cannot change principals during re-authentication from {self.user} to {user}"
            return SaslAuthenticateResponse(error_code=58, error_message=text)
        self.user, self._server, self._mechanism = user, None, ""
        self.authentications += 1
        lifetime = sasl.session_lifetime_ms
        self.expires_at = (
            time.monotonic() + lifetime / 1000 + sasl.session_grace if lifetime else float("inf")
        )
        return SaslAuthenticateResponse(auth_bytes=last, error_message=None, session_lifetime_ms=lifetime)


async def sasl_handshake(ctx: "Context", request: SaslHandshakeRequest) -> SaslHandshakeResponse:
    sasl = ctx.state.settings.sasl
    if sasl is None:
        return SaslHandshakeResponse(error_code=Code.ILLEGAL_SASL_STATE)
    code = ctx.session.handshake(sasl, request.mechanism)
    return SaslHandshakeResponse(error_code=code, mechanisms=list(sasl.mechanisms))


async def sasl_authenticate(ctx: "Context", request: SaslAuthenticateRequest) -> SaslAuthenticateResponse:
    sasl = ctx.state.settings.sasl
    if sasl is None:
        return SaslAuthenticateResponse(error_code=Code.ILLEGAL_SASL_STATE, error_message=None)
    return ctx.session.authenticate(sasl, ctx.state.scram, ctx.state.tokens, bytes(request.auth_bytes))


# --- mechanisms ----------------------------------------------------------------------------------------


def _plain(sasl: Sasl, _scram: ScramStore) -> Server:
    authorized, user, password = (part.decode() for part in (yield b"").split(b"\0"))
    if sasl.users.get(user) != password or authorized not in ("", user):
        raise DeniedError(sasl.wrong_password)
    return user, b""


_INVALID = "Authentication failed during authentication due to invalid credentials"


def _scram_token(mechanism: str, sasl: Sasl, tokens: Tokens) -> Server:
    """The id of a token is the user, and its HMAC in base64 the password: the client becomes the token's owner."""
    number = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}[mechanism]
    token_id, last = yield from _scram(number, sasl, tokens, extension=",tokenauth=true")
    return tokens[token_id].owner, last


def _scram(mechanism: int, sasl: Sasl, store: ScramStore | Tokens, extension: str = "") -> Server:
    digest = DIGESTS[mechanism]
    first = (yield b"").decode()
    if extension:
        first = first.removesuffix(extension)
    # As in Kafka's ScramMessages: names are ASCII.
    found = re.fullmatch(
        r"n,,(n=((?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+),r=([\x21-\x2b\x2d-\x7e]+))", first
    )
    if found is None:
        raise DeniedError(_INVALID)
    bare, name, nonce = found.groups()
    bare += extension
    user = name.replace("=2C", ",").replace("=3D", "=")
    credential = store.find(user, mechanism)
    if credential is None:
        raise DeniedError(_INVALID)
    whole = nonce + "server"
    salt, iterations = base64.b64encode(credential.salt).decode(), credential.iterations
    honest = f"r={whole},s={salt},i={iterations}".encode()
    challenge = sasl.edited("first", honest)
    final = (yield challenge).decode()
    without_proof, _, proof = final.rpartition(",p=")
    message = ",".join((bare, challenge.decode("latin-1"), without_proof)).encode()
    signature = hmac.new(credential.stored_key, message, digest).digest()
    key = bytes(x ^ y for x, y in zip(base64.b64decode(proof), signature, strict=False))
    if without_proof != f"c=biws,r={whole}" or hashlib.new(digest, key).digest() != credential.stored_key:
        raise DeniedError(_INVALID)
    verifier = base64.b64encode(hmac.new(credential.server_key, message, digest).digest())
    return user, sasl.edited("final", b"v=" + verifier)


def _oauthbearer(sasl: Sasl, _scram: ScramStore) -> Server:
    first = (yield b"").decode()
    found = re.fullmatch(
        r"n,(?:a=[^,]*)?,\x01auth=Bearer ([-_.+/=~a-zA-Z0-9]+)((?:\x01[a-zA-Z]+=[^\x01]+)*)\x01\x01", first
    )
    if found is None:
        raise DeniedError("Invalid OAUTHBEARER client first message")
    user = sasl.tokens.get(found[1])
    if user is None:
        error = json.dumps({"status": "invalid_token", "scope": "kafka"}).encode()
        dummy = yield sasl.edited("challenge", error)
        assert dummy == b"\x01", dummy
        raise DeniedError('{"status":"invalid_token"}')
    return user, b""


def _aws_msk_iam(sasl: Sasl, _scram: ScramStore) -> Server:
    sent = json.loads((yield b""))
    if sent.pop("version") != "2020_10_22":
        raise DeniedError("unknown version")
    host, _agent, signature = sent.pop("host"), sent.pop("user-agent"), sent.pop("x-amz-signature")
    user, day, region, service, end = sent["x-amz-credential"].split("/")
    if (region, service, end) != (sasl.region, "kafka-cluster", "aws4_request"):
        raise DeniedError(f"[1]: Access denied: Credential should be scoped to {sasl.region}")
    names = {name: name.title().replace("Signedheaders", "SignedHeaders") for name in sent}
    query = sorted((quote(names[name], safe=""), quote(value, safe="")) for name, value in sent.items())
    parameters = "&".join(f"{name}={value}" for name, value in query)
    request = f"GET\n/\n{parameters}\nhost:{host}\n\nhost\n{hashlib.sha256().hexdigest()}"
    digest = hashlib.sha256(request.encode()).hexdigest()
    text = f"AWS4-HMAC-SHA256\n{sent['x-amz-date']}\n{day}/{region}/{service}/{end}\n{digest}"
    key = b"AWS4" + sasl.access_keys.get(user, "").encode()
    for part in (day, region, service, end):
        key = hmac.digest(key, part.encode(), "sha256")
    if user not in sasl.access_keys or hmac.new(key, text.encode(), "sha256").hexdigest() != signature:
        raise DeniedError("[2]: Access denied")
    return user, json.dumps({"version": "2020_10_22", "request-id": "1-2-3"}).encode()


def _gssapi(sasl: Sasl, _scram: ScramStore) -> Server:
    """With the tokens of ``tests/fake/kerberos.py``."""
    ticket = json.loads((yield b""))
    if ticket["service"] != sasl.service:
        raise DeniedError(
            "Authentication failed during authentication due to invalid credentials with SASL mechanism GSSAPI"
        )
    assert (yield b"AP-REP") == b""
    assert (yield b"<\x01\x00\x00\x00>") == b"<\x01\x00\x00\x00>"
    return ticket["principal"] or "of-the-cache", b""


_SERVERS: dict[str, Any] = {
    "AWS_MSK_IAM": _aws_msk_iam,
    "GSSAPI": _gssapi,
    "PLAIN": _plain,
    "SCRAM-SHA-256": lambda sasl, store: _scram(1, sasl, store),
    "SCRAM-SHA-512": lambda sasl, store: _scram(2, sasl, store),
    "OAUTHBEARER": _oauthbearer,
}
