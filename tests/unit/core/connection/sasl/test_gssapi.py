"""GSSAPI's exchange with a scripted security context; the real one is tried by `make test-kerberos`."""

from types import SimpleNamespace
from typing import Any

import pytest

from kcli.core.connection.sasl import gssapi as module
from kcli.core.connection.sasl.exchange import ExchangeError
from kcli.core.connection.sasl.gssapi import gssapi, prepare
from kcli.core.connection.steps import Compute
from kcli.core.errors import ConfigError
from kcli.core.options import ClientOptions


class Scripted:
    """A context that is established after ``tokens`` were made; wrapping adds an envelope."""

    def __init__(self, *tokens: bytes | None) -> None:
        self.tokens = list(tokens)
        self.heard: list[bytes | None] = []

    @property
    def complete(self) -> bool:
        return not self.tokens

    def step(self, token: bytes | None) -> bytes | None:
        self.heard.append(token)
        return self.tokens.pop(0)

    def unwrap(self, message: bytes) -> bytes:
        if not message.startswith(b"<"):
            raise ExchangeError("Kerberos refuses: bad signature")
        return message[1:-1]

    def wrap(self, message: bytes) -> bytes:
        return b"<" + message + b">"


def talk(context: Scripted, *answers: bytes) -> list[bytes]:
    """The client's messages, given the broker's answers."""
    exchange = gssapi(lambda: context)
    sent: list[bytes] = []
    step: Any = next(exchange)
    waiting = list(answers)
    while True:
        if isinstance(step, Compute):
            step = exchange.send(step.fn())
            continue
        sent.append(step)
        try:
            step = exchange.send(waiting.pop(0))
        except StopIteration:
            return sent


def test_tokens_then_no_security_layer() -> None:
    context = Scripted(b"AP-REQ", None)
    assert talk(context, b"AP-REP", b"<\x07\x00\xff\xff>", b"") == [b"AP-REQ", b"", b"<\x01\x00\x00\x00>"]
    assert context.heard == [None, b"AP-REP"]


def test_a_last_token_is_sent_with_the_request_for_the_offer() -> None:
    assert talk(Scripted(b"1", b"2"), b"x", b"<\x01\x00\x00\x00>", b"") == [b"1", b"2", b"<\x01\x00\x00\x00>"]


@pytest.mark.parametrize("offer", [b"<\x06\x00\xff\xff>", b"<>", b"<\x01>", b"<\x01\x00\x00\x00\x00>"])
def test_a_broker_that_demands_a_layer_is_refused(offer: bytes) -> None:
    with pytest.raises(ExchangeError, match="security layer"):
        talk(Scripted(b"1"), offer)


def test_a_message_that_does_not_verify_is_refused() -> None:
    with pytest.raises(ExchangeError, match="bad signature"):
        talk(Scripted(b"1"), b"forged")


class GSSError(Exception):
    """As in the library."""


@pytest.mark.parametrize(
    ("words", "do"),
    [
        ("Minor (1): No Kerberos credentials available", "kinit"),
        ("Minor (1): Ticket expired", "new ticket"),
        ("Minor (1): Server kafka/h not found in Kerberos database", "service.name"),
        ("Minor (1): Clock skew too great", "clock"),
        ("Minor (1): Cannot contact any KDC for realm", "krb5.conf"),
        ("Minor (1): something else", ""),
    ],
)
def test_errors_of_the_library_name_their_remedy(
    words: str, do: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: Any) -> None:
        raise GSSError(f"Major: Unspecified GSS failure.\n{words}")

    library = SimpleNamespace(
        RequirementFlag=SimpleNamespace(mutual_authentication=2, integrity=32),
        NameType=SimpleNamespace(hostbased_service="service", kerberos_principal="principal"),
        MechType=SimpleNamespace(kerberos="krb5"),
        Name=lambda *parts: parts,
        SecurityContext=fail,
        exceptions=SimpleNamespace(GSSError=GSSError),
    )
    monkeypatch.setattr(module, "_library", lambda: library)
    step: Any = next(prepare(ClientOptions()).begin("broker.example"))
    with pytest.raises(ExchangeError) as caught:
        step.fn()
    assert caught.value.why == f"Kerberos refuses: {words.partition(': ')[2]}"
    assert do in caught.value.do


def test_a_keytab_needs_a_principal() -> None:
    with pytest.raises(ConfigError, match=r"without sasl\.kerberos\.principal"):
        prepare(ClientOptions(sasl_kerberos_keytab="/k"))

    with pytest.raises(ConfigError, match="/k, which cannot be read"):
        prepare(ClientOptions(sasl_kerberos_keytab="/k", sasl_kerberos_principal="p"))


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "gssapi", None)
    with pytest.raises(ConfigError) as caught:
        prepare(ClientOptions())
    assert "kcli-kafka[kerberos]" in caught.value.do
