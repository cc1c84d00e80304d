"""SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677): both sides prove that they know the password, without sending it.

The broker's messages are not trusted: their size, their nonce, the number of iterations and their signature are
checked before anything is computed from them, and a broker without a valid signature is refused.

As in Kafka's Java client and its brokers, the password is encoded in UTF-8 without SASLprep (RFC 4013). No channel
binding: Kafka has none.
"""

import base64
import binascii
import hashlib
import hmac
import secrets

from kcli.core.classes import NamedTuple
from kcli.core.connection.sasl.exchange import (
    CHECK_PASSWORD,
    LARGEST_MESSAGE,
    Credentials,
    Exchange,
    ExchangeError,
    First,
    Last,
    user_and_password,
)
from kcli.core.connection.steps import Compute
from kcli.core.options import ClientOptions
from kcli.core.secret import Secret

FEWEST_ITERATIONS, MOST_ITERATIONS = 4_096, 1_000_000
"""RFC 5802 requires at least the former; more than the latter would keep this process busy for seconds."""
_NONCE_BYTES = 24
_GS2_HEADER = "n,,"  # no channel binding, no authorization id
DIGESTS = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
"""hashlib's name of the hash function, by mechanism."""
_CHECK_TOKEN = "check that sasl.username is the id of a delegation token that has not expired, and sasl.password its HMAC"  # noqa: S105 - no password
_NOT_THIS_BROKER = "check that this is the broker you mean: it does not behave as SCRAM requires"


class Challenge(NamedTuple):
    """The server's first message."""

    nonce: str
    salt: bytes
    iterations: int


def prepare(options: ClientOptions) -> Credentials:
    """The credentials that ``options`` name; ConfigError without them."""
    user, password = user_and_password(options)
    digest, token = DIGESTS[options.sasl_mechanism], options.sasl_tokenauth
    return Credentials(
        lambda: user,
        lambda _host: scram(user, password, digest, token=token),
        lambda: (password,),
        _CHECK_TOKEN if token else CHECK_PASSWORD,
    )


def scram(user: str, password: Secret, digest: str, *, nonce: str = "", token: bool = False) -> Exchange:
    """``digest`` is hashlib's name of the hash function; ``nonce`` is random unless a test gives it. ``token``: user and
    password are id and HMAC of a delegation token, which an extension of the first message says (KIP-48).
    """
    nonce = nonce or secrets.token_urlsafe(_NONCE_BYTES)
    first = f"n={escaped(user)},r={nonce}{',tokenauth=true' if token else ''}"
    server_first = _text((yield First((_GS2_HEADER + first).encode())))
    challenge = parse_challenge(server_first, nonce)
    salted = yield Compute(lambda: salted_password(password, challenge.salt, challenge.iterations, digest))
    without_proof = f"c={base64.b64encode(_GS2_HEADER.encode()).decode()},r={challenge.nonce}"
    signed = f"{first},{server_first},{without_proof}".encode()
    client_key = hmac.digest(salted, b"Client Key", digest)
    signature = hmac.digest(hashlib.new(digest, client_key).digest(), signed, digest)
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    final = _text((yield Last(f"{without_proof},p={base64.b64encode(proof).decode()}".encode())))
    expected = hmac.digest(hmac.digest(salted, b"Server Key", digest), signed, digest)
    if not hmac.compare_digest(parse_signature(final), expected):
        raise ExchangeError(
            "the broker's signature is wrong: it does not know the password", _NOT_THIS_BROKER
        )


def salted_password(password: Secret, salt: bytes, iterations: int, digest: str) -> bytes:
    """What both sides derive their keys from; it is sufficient to authenticate as the user.

    Also for a new credential, so that what is stored and what a client proves agree.
    """
    return hashlib.pbkdf2_hmac(digest, password.reveal().encode(), salt, iterations)


def escaped(user: str) -> str:
    """The user name as ``saslname``: a comma or an equals sign would end it."""
    return user.replace("=", "=3D").replace(",", "=2C")


def parse_challenge(message: str, client_nonce: str) -> Challenge:
    """The server's first message; ExchangeError unless the nonce extends ours and the iterations are within bounds."""
    nonce, salt, iterations = _attributes(message, "r", "s", "i")
    if not nonce.startswith(client_nonce) or len(nonce) == len(client_nonce):
        raise ExchangeError("the broker's nonce does not extend the client's", _NOT_THIS_BROKER)
    count = (
        int(iterations) if iterations.isascii() and iterations.isdecimal() and len(iterations) <= 10 else -1
    )
    if not FEWEST_ITERATIONS <= count <= MOST_ITERATIONS:
        raise ExchangeError(
            f"the broker asks for {iterations[:20]!r} iterations, accepted are {FEWEST_ITERATIONS:,} to "
            f"{MOST_ITERATIONS:,}",
            "store the user's credentials again with a number of iterations within these limits",
        )
    return Challenge(nonce, _decoded(salt, "salt"), count)


def parse_signature(message: str) -> bytes:
    """The signature in the server's final message."""
    (signature,) = _attributes(message, "v")
    return _decoded(signature, "signature")


def _text(message: bytes) -> str:
    if len(message) > LARGEST_MESSAGE:
        raise ExchangeError(
            f"the broker's message has {len(message):,} bytes, accepted are {LARGEST_MESSAGE:,}",
            _NOT_THIS_BROKER,
        )
    try:
        return bytes(message).decode()
    except UnicodeDecodeError:
        raise ExchangeError("the broker's message is not UTF-8", _NOT_THIS_BROKER) from None


def _attributes(message: str, *names: str) -> list[str]:
    """The values of the leading attributes, which must have these names in this order; extensions may follow."""
    parts = message.split(",")
    if parts[0].startswith("e="):
        raise ExchangeError(f"the broker reports {parts[0][2:]!r}", CHECK_PASSWORD)
    if any(part.startswith("m=") for part in parts):
        raise ExchangeError(
            "the broker requires an extension of SCRAM (m=), and kcli has none", _NOT_THIS_BROKER
        )
    if len(parts) < len(names) or any(
        not part.startswith(f"{name}=") for part, name in zip(parts, names, strict=False)
    ):
        wanted = ", ".join(f"{name}=" for name in names)
        raise ExchangeError(f"the broker's message does not consist of {wanted}", _NOT_THIS_BROKER)
    return [part[2:] for part in parts[: len(names)]]


def _decoded(value: str, what: str) -> bytes:
    try:
        found = base64.b64decode(value.encode(), validate=True)
    except (binascii.Error, ValueError):
        found = b""
    if not found:
        raise ExchangeError(f"the broker's {what} is empty or not base64", _NOT_THIS_BROKER)
    return found
