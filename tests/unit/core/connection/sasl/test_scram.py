"""SCRAM against the examples of the RFCs, and against brokers that do not keep to them."""

import base64
import hashlib
import hmac
import time
from collections.abc import Callable

import pytest
from kafka.net.sasl.scram import ScramClient

from kcli.core.connection.sasl import scram as module
from kcli.core.connection.sasl.exchange import Exchange
from kcli.core.connection.sasl.scram import escaped, scram
from kcli.core.connection.steps import Compute
from kcli.core.secret import Secret
from tests.unit.core.connection.sasl.conversing import accepted, computed, refused

NONCE = "rOprNGfwEbeRWgbNEkqO"
SALT = "W22ZaJ0SNY7soEsUEjb6gQ=="
SHA_256 = (
    "sha256",
    f"r={NONCE}%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s={SALT},i=4096",
    f"c=biws,r={NONCE}%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
    "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
)
"""RFC 7677, section 3."""


def begun(digest: str = "sha256", nonce: str = NONCE) -> Exchange:
    exchange = scram("user", Secret("pencil"), digest, nonce=nonce)
    assert next(exchange) == f"n,,n=user,r={nonce}".encode()
    return exchange


def test_the_example_of_rfc_7677() -> None:
    digest, first, final, last = SHA_256
    exchange = begun(digest)
    salted = computed(exchange.send(first.encode()))
    assert exchange.send(salted) == final.encode()
    accepted(exchange, last.encode())


@pytest.mark.parametrize(("mechanism", "digest"), [("SCRAM-SHA-256", "sha256"), ("SCRAM-SHA-512", "sha512")])
def test_the_proof_and_the_signature_are_those_of_kafka_python(mechanism: str, digest: str) -> None:
    judge = ScramClient("user", "pencil", mechanism)
    judge.first_message()  # it keeps its nonce in auth_message
    exchange = begun(digest, judge.nonce.decode())
    first = f"r={judge.nonce.decode()}server,s={SALT},i=8192".encode()
    judge.process_server_first_message(first)
    assert exchange.send(computed(exchange.send(first))) == judge.final_message()
    accepted(exchange, b"v=" + base64.b64encode(judge.server_signature))


@pytest.mark.case("X11")
@pytest.mark.parametrize(
    ("user", "sent"),
    [("user", "user"), ("a,b", "a=2Cb"), ("a=b", "a=3Db"), ("=2C", "=3D2C"), ("jürgen ☺", "jürgen ☺")],
)
def test_user_names_are_escaped(user: str, sent: str) -> None:
    assert escaped(user) == sent
    assert next(scram(user, Secret("x"), "sha256", nonce="n")) == f"n,,n={sent},r=n".encode()


@pytest.mark.case("X11")
def test_nonces_are_random_and_long() -> None:
    messages = [bytes(next(scram("u", Secret("x"), "sha256"))).decode() for _ in range(100)]  # type: ignore[arg-type]
    nonces = {message.rpartition("r=")[2] for message in messages}
    assert len(nonces) == 100
    assert all(len(base64.urlsafe_b64decode(nonce)) >= 18 and "," not in nonce for nonce in nonces)


HOSTILE: dict[str, tuple[str, str]] = {
    "iterations 0": (f"r={NONCE}x,s={SALT},i=0", "iterations"),
    "iterations 1": (f"r={NONCE}x,s={SALT},i=1", "iterations"),
    "iterations 4095": (f"r={NONCE}x,s={SALT},i=4095", "iterations"),
    "iterations 1000001": (f"r={NONCE}x,s={SALT},i=1000001", "iterations"),
    "iterations 2^31-1": (f"r={NONCE}x,s={SALT},i=2147483647", "iterations"),
    "iterations of a thousand digits": (f"r={NONCE}x,s={SALT},i={'9' * 1000}", "iterations"),
    "iterations negative": (f"r={NONCE}x,s={SALT},i=-4096", "iterations"),
    "iterations in Arabic digits": (f"r={NONCE}x,s={SALT},i=٤٠٩٦", "iterations"),
    "iterations missing": (f"r={NONCE}x,s={SALT}", "does not consist of"),
    "nonce equal": (f"r={NONCE},s={SALT},i=4096", "nonce"),
    "nonce of another": (f"r=x{NONCE},s={SALT},i=4096", "nonce"),
    "nonce shorter": (f"r={NONCE[:-1]},s={SALT},i=4096", "nonce"),
    "nonce empty": (f"r=,s={SALT},i=4096", "nonce"),
    "salt empty": (f"r={NONCE}x,s=,i=4096", "salt"),
    "salt not base64": (f"r={NONCE}x,s=!!!!,i=4096", "salt"),
    "salt not ASCII": (f"r={NONCE}x,s=ä,i=4096", "salt"),
    "mandatory extension": (f"m=x,r={NONCE}x,s={SALT},i=4096", "extension"),
    "mandatory extension at the end": (f"r={NONCE}x,s={SALT},i=4096,m=x", "extension"),
    "other order": (f"s={SALT},r={NONCE}x,i=4096", "does not consist of"),
    "error": ("e=unknown-user", "'unknown-user'"),
    "empty": ("", "does not consist of"),
}


@pytest.mark.case("S4", "X11")
@pytest.mark.parametrize("name", HOSTILE)
def test_a_first_message_that_breaks_the_rules_is_refused(name: str) -> None:
    message, why = HOSTILE[name]
    error = refused(begun(), message.encode())
    assert why in error.why
    assert len(error.why) < 300
    assert error.do


@pytest.mark.case("S4", "X11")
@pytest.mark.parametrize(
    ("message", "why"),
    [
        (b"r=" + NONCE.encode() + b"x" * 10_000_000, "10,000,022 bytes"),
        (b"r=" + b"," * 4_095, "4,097 bytes"),
        (b"\xff\xfe", "not UTF-8"),
        (b"\0" * 4_096, "does not consist of"),
    ],
    ids=["10 MB", "4 KiB + 1", "not UTF-8", "zeros"],
)
def test_oversized_and_unreadable_messages_are_refused_at_once(message: bytes, why: str) -> None:
    began = time.process_time()
    assert why in refused(begun(), message).why
    assert time.process_time() - began < 0.05


@pytest.mark.case("S4", "X11")
def test_nothing_is_derived_before_the_message_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Constant work: no step to compute comes from a refused message, and none inside the state machine."""

    def never(*_args: object) -> bytes:
        raise AssertionError("a key was derived")

    monkeypatch.setattr(module.hashlib, "pbkdf2_hmac", never)
    for message, _ in HOSTILE.values():
        refused(begun(), message.encode())
    assert isinstance(begun().send(SHA_256[1].encode()), Compute)  # but not carried out


def test_optional_extensions_are_ignored_and_signed() -> None:
    exchange = begun()
    salted = computed(exchange.send((SHA_256[1] + ",x=y").encode()))
    final = bytes(exchange.send(salted))  # type: ignore[arg-type]
    assert final.startswith(b"c=biws,r=")
    assert final != SHA_256[2].encode()  # the proof covers the whole message


def wrong_signature(right: str) -> str:
    raw = bytearray(base64.b64decode(right[2:]))
    raw[0] ^= 1
    return "v=" + base64.b64encode(raw).decode()


@pytest.mark.case("S4", "X11")
@pytest.mark.parametrize(
    ("last", "why"),
    [
        (wrong_signature, "signature is wrong"),
        (lambda right: "v=" + right[2:10], "signature"),
        (lambda _right: "v=", "signature is empty"),
        (lambda _right: "", "does not consist of v="),
        (lambda right: f"x=1,{right}", "does not consist of v="),
        (lambda _right: "e=other-error", "'other-error'"),
        (lambda right: f"m=x,{right}", "extension"),
        (lambda right: right + "," * 4_096, "bytes"),
    ],
    ids=["wrong", "short", "empty", "missing", "late", "error", "extension", "long"],
)
def test_a_broker_without_the_right_signature_is_refused(last: Callable[[str], str], why: str) -> None:
    exchange = begun()
    exchange.send(computed(exchange.send(SHA_256[1].encode())))
    error = refused(exchange, last(SHA_256[3]).encode())
    assert why in error.why
    assert "pencil" not in error.why + error.do


@pytest.mark.case("X11")
@pytest.mark.parametrize("iterations", [4_096, 1_000_000])
def test_the_limits_themselves_are_accepted(iterations: int) -> None:
    assert isinstance(begun().send(f"r={NONCE}x,s={SALT},i={iterations}".encode()), Compute)


def test_the_password_is_utf_8_without_preparation() -> None:
    """As Java's client does: SASLprep (RFC 4013) would make ``IX`` of ``Ⅸ``, and the broker's key is of ``Ⅸ``."""
    keys = []
    for password in ("Ⅸ", "IX"):
        exchange = scram("user", Secret(password), "sha256", nonce=NONCE)
        next(exchange)
        keys.append(computed(exchange.send(SHA_256[1].encode())))
    assert keys[0] != keys[1]


def test_a_delegation_token_is_named_by_an_extension_that_is_signed() -> None:
    """KIP-48; the extension is a part of the message that both sides sign."""
    exchange = scram("id", Secret("hmac"), "sha256", nonce=NONCE, token=True)
    first = next(exchange)
    assert first == f"n,,n=id,r={NONCE},tokenauth=true".encode()
    challenge = f"r={NONCE}x,s={SALT},i=4096"
    salted = computed(exchange.send(challenge.encode()))
    final = exchange.send(salted)
    assert isinstance(final, bytes)
    without_proof, _, proof = final.decode().rpartition(",p=")
    signed = f"{first.decode()[3:]},{challenge},{without_proof}".encode()
    key = hmac.digest(salted, b"Client Key", "sha256")
    signature = hmac.digest(hashlib.sha256(key).digest(), signed, "sha256")
    assert base64.b64decode(proof) == bytes(a ^ b for a, b in zip(key, signature, strict=True))
