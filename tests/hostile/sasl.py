"""Targets: a broker that authenticates a client with each mechanism, and lies. Not a test.

An input is the frames of a conversation in order, each behind its length, after a byte that chooses the versions of the
requests and whether it is a re-authentication. Half of the changes are in what the mechanisms say, the others anywhere
in a frame. Besides its errors, the client is judged by what it believes: a password is never proved to a broker that did
not follow the rules, and a broker without the right signature is never accepted.
"""

import base64
import hashlib
import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from random import Random
from typing import Any

from kcli.core.connection.sasl.authentication import authenticate
from kcli.core.connection.sasl.exchange import LARGEST_MESSAGE, Credentials
from kcli.core.connection.sasl.login import Login
from kcli.core.connection.sasl.oauthbearer import Tokens, oauthbearer
from kcli.core.connection.sasl.plain import plain
from kcli.core.connection.sasl.scram import FEWEST_ITERATIONS, MOST_ITERATIONS, scram
from kcli.core.connection.sasl.token import Token
from kcli.core.connection.steps import Compute
from kcli.core.errors import AuthError, ConnectError, KcliError, ProtocolError
from kcli.core.protocol.api import Request, decode_response
from kcli.core.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kcli.core.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kcli.core.protocol.schema import Struct
from kcli.core.secret import Secret
from kcli.core.types import Node
from tests.hostile.mutator import Mark, Sample, mutate, packed
from tests.hostile.responses import Writer, after
from tests.hostile.target import Family, Target

_NODE = Node(1, "broker", 9092)
_PASSWORD = Secret("canary-of-a-password")
_NONCE = "fyko+d2lbbFgONRv9qkxdawL"
_NAMES = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"]
_DIGESTS = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
_SALT = b"salt of the user"
_CODES = (0, 0, 0, 33, 34, 58, 7, -1, 74, 12345, 29, 31)
_ITERATIONS = (
    "0",
    "1",
    "4095",
    "4097",
    "1000001",
    "2147483647",
    "-4096",
    "9" * 30,
    "4096.0",
    "٤٠٩٦",
    "",
    "0x1000",
)
_LARGE = (LARGEST_MESSAGE + 1, 100_000)


@dataclass(frozen=True)
class _Honest:
    """What a broker says that knows the password."""

    first: bytes
    final: bytes
    salted: bytes


@cache
def _honest(name: str) -> _Honest:
    digest = _DIGESTS[name]
    nonce = f"{_NONCE}server"
    first = f"r={nonce},s={base64.b64encode(_SALT).decode()},i=4096"
    salted = hashlib.pbkdf2_hmac(digest, _PASSWORD.reveal().encode(), _SALT, 4096)
    signed = f"n=alice,r={_NONCE},{first},c=biws,r={nonce}".encode()
    key = hmac.digest(salted, b"Server Key", digest)
    final = b"v=" + base64.b64encode(hmac.digest(key, signed, digest))
    return _Honest(first.encode(), final, salted)


def _credentials(name: str) -> Credentials:
    begin: Callable[[str], Any]
    if name == "PLAIN":
        begin = lambda _host: plain("alice", _PASSWORD)  # noqa: E731
    elif name == "OAUTHBEARER":
        tokens = Tokens(lambda: Token(value=_PASSWORD))
        begin = lambda _host: oauthbearer(tokens)  # noqa: E731
    else:
        begin = lambda _host: scram("alice", _PASSWORD, _DIGESTS[name], nonce=_NONCE)  # noqa: E731
    return Credentials(lambda: "alice", begin, lambda: (_PASSWORD,), "check them")


# --- inputs --------------------------------------------------------------------------------------------------------


def _make(name: str, rng: Random) -> bytes:
    how = rng.randrange(256)
    damaged = rng.randrange(3)
    lies = rng.random() < 0.5
    frames = []
    for at, response in enumerate(_conversation(name, rng, damaged if lies else -1)):
        sample = _frame(response, how)
        frames.append(mutate(sample, rng) if at == damaged and not lies else sample.data)
    return bytes((how,)) + b"".join(packed("I", len(frame)) + frame for frame in frames)


def _conversation(name: str, rng: Random, lie: int) -> list[Struct]:
    """Three responses, of which number ``lie`` is wrong on the level of the mechanism."""
    code = rng.choice(_CODES) if lie == 0 else 0
    names = [*_NAMES, "x" * 300, "a\nb", _PASSWORD.reveal()] if lie == 0 else _NAMES
    handshake = SaslHandshakeResponse(
        error_code=code, mechanisms=rng.sample(names, rng.randrange(len(names)))
    )
    messages = [b"", b""]
    if name in _DIGESTS:
        messages = [_honest(name).first, _honest(name).final]
    elif name == "OAUTHBEARER" and rng.random() < 0.8:
        messages[0] = b'{"status":"invalid_token","scope":"kafka","openid-configuration":"https://x"}'
    said = [SaslAuthenticateResponse(auth_bytes=one, error_message=None) for one in messages]
    if lie > 0:
        _lie(said[lie - 1], rng)
    return [handshake, *said]


def _lie(response: SaslAuthenticateResponse, rng: Random) -> None:
    honest = bytes(response.auth_bytes)
    match rng.randrange(9):
        case 0:
            response.error_code = rng.choice(_CODES)
            response.error_message = rng.choice(
                (None, "", "no", f"{_PASSWORD.reveal()} is wrong", "a\r\nb" * 300)
            )
        case 1:
            response.auth_bytes = honest + b"x" * rng.choice(_LARGE)
        case 2:
            response.auth_bytes = honest.replace(b"4096", rng.choice(_ITERATIONS).encode())
        case 3:
            response.auth_bytes = honest.replace(
                _NONCE.encode(), _NONCE[: rng.randrange(len(_NONCE))].encode()
            )
        case 4:
            response.auth_bytes = honest + rng.choice((b",m=x", b",x=y", b",", b"\0", b"=", b",i=1"))
        case 5:
            response.auth_bytes = b"e=" + rng.randbytes(rng.randrange(9))
        case 6:
            response.auth_bytes = b"[" * 3000
        case 7:
            response.session_lifetime_ms = rng.choice((-1, 1, 1 << 62, -(1 << 63)))
        case _:
            response.auth_bytes = mutate(Sample(honest), rng)


def _versions(how: int) -> tuple[int, int]:
    return 1, how % 3


def _frame(response: Struct, how: int) -> Sample:
    handshake, authenticates = _versions(how)
    is_handshake = isinstance(response, SaslHandshakeResponse)
    version = handshake if is_handshake else authenticates
    flexible = not is_handshake and version >= SaslAuthenticateRequest.flexible
    head = Sample(packed("i", 7) + (b"\0" if flexible else b""), (Mark(4, "u"),) if flexible else ())
    writer = Writer(version, flexible)
    writer.struct(response)
    return after(head, writer.sample())


# --- the client ----------------------------------------------------------------------------------------------------


def _run(name: str, data: bytes) -> None:
    """A conversation until the frames end; a refusal is remembered, and contains no secret."""
    if not data:
        return
    handshake, authenticates = _versions(data[0])
    apis = {
        SaslHandshakeRequest.api_key: (0, handshake),
        SaslAuthenticateRequest.api_key: (authenticates, authenticates),
    }
    login = Login(name, _credentials(name), encrypted=True)
    steps = authenticate(_NODE, login, apis, again=bool(data[0] & 128))
    said: list[bytes] = []
    try:
        lifetime = _converse(name, steps, data, said)
    except KcliError as error:
        _check_error(error, login)
        raise
    if lifetime is not None:
        assert lifetime > 0
        assert login.refusal is None
        assert name not in _DIGESTS or said[0] == _honest(name).first, "a stranger was accepted"


def _converse(name: str, steps: Any, data: bytes, said: list[bytes]) -> float | None:
    """How long the session lasts; None if the frames ended first. ``said`` are the messages of the broker."""
    at = 1
    try:
        step = next(steps)
        while True:
            if isinstance(step, Compute):
                step = steps.send(_computed(name, step, said))
                continue
            if name in _DIGESTS and b",p=" in getattr(step.request, "auth_bytes", b""):
                _check_challenge(said[-1])
            size = int.from_bytes(data[at : at + 4], "big")
            frame = data[at + 4 : at + 4 + size]
            at += 4 + size
            if len(frame) < 4:
                steps.close()
                return None
            request: type[Request] = type(step.request)
            response = decode_response(request, step.version, memoryview(frame))
            if isinstance(response, SaslAuthenticateResponse):
                said.append(bytes(response.auth_bytes))
            step = steps.send(response)
    except StopIteration as end:
        return float(end.value)


def _computed(name: str, step: Compute, said: list[bytes]) -> Any:
    """What takes long is computed once: for the honest broker. From others it needs only what they may ask for."""
    if name == "OAUTHBEARER":
        return step.fn()
    honest = _honest(name)
    _check_challenge(said[-1])
    return honest.salted if said[-1] == honest.first else bytes(32)


def _check_challenge(message: bytes) -> None:
    assert len(message) <= LARGEST_MESSAGE
    found = re.match(rb"r=([^,]+),s=[^,]+,i=(\d+)(,|$)", message)
    assert found is not None
    assert found[1].startswith(_NONCE.encode())
    assert len(found[1]) > len(_NONCE)
    assert FEWEST_ITERATIONS <= int(found[2]) <= MOST_ITERATIONS


def _check_error(error: KcliError, login: Login) -> None:
    assert login.refusal is (error if isinstance(error, AuthError) else None)
    text = f"{error} {error.do}"
    assert _PASSWORD.reveal() not in text
    assert len(text) < 20_000


def family() -> Family:
    """Each mechanism."""
    allowed = (ProtocolError, AuthError, ConnectError)
    return Family(
        "sasl",
        0.04,
        tuple(
            Target(f"sasl-{name}", "sasl", partial(_make, name), partial(_run, name), allowed)
            for name in _NAMES
        ),
    )
