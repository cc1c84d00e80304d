"""OAUTHBEARER: the message with the token, the broker's refusal, and when a token is fetched anew."""

from collections.abc import Callable
from typing import Any

import pytest

from kcli.core.connection.sasl.exchange import ExchangeError
from kcli.core.connection.sasl.oauthbearer import Tokens, first_message, oauthbearer
from kcli.core.connection.sasl.token import Token
from kcli.core.errors import ConnectError
from kcli.core.secret import Secret
from tests.unit.core.connection.sasl.conversing import accepted, computed, refused


def token(value: str = "abc.def-_~+/==", **fields: Any) -> Token:
    return Token(value=Secret(value), **fields)


def test_the_message_is_that_of_rfc_7628() -> None:
    plain = first_message(token())
    assert plain == b"n,,\x01auth=Bearer abc.def-_~+/==\x01\x01"
    extended = first_message(token(extensions={"logicalCluster": "lkc-1", "traceId": "a b"}))
    assert extended == b"n,,\x01auth=Bearer abc.def-_~+/==\x01logicalCluster=lkc-1\x01traceId=a b\x01\x01"


def test_an_empty_answer_is_success() -> None:
    exchange = oauthbearer(Tokens(token))
    assert exchange.send(computed(next(exchange))) == first_message(token())
    accepted(exchange, b"")


@pytest.mark.parametrize(
    "extensions",
    [
        {"auth": "x"},
        {"": "x"},
        {"a b": "x"},
        {"a1": "x"},
        {"a": ""},
        {"a": "x\x01auth=y"},
        {"a": "ä"},
        {"a=": "x"},
    ],
)
def test_extensions_that_would_break_the_message_are_refused(extensions: dict[str, str]) -> None:
    with pytest.raises(ExchangeError, match="extension"):
        first_message(token(extensions=extensions))


@pytest.mark.parametrize("value", ["a\x01auth=Bearer b", "a b", "a\n", "ä", "=", '{"a":1}'])
def test_a_token_with_other_characters_is_refused_and_not_shown(value: str) -> None:
    with pytest.raises(ExchangeError, match="the token has a character") as caught:
        first_message(token(value))
    assert value not in caught.value.why + caught.value.do


@pytest.mark.parametrize(
    ("challenge", "why"),
    [
        (b'{"status":"invalid_token"}', "refuses the token: 'invalid_token'"),
        (
            b'{"status":"insufficient_scope","scope":"kafka","openid-configuration":"https://x"}',
            "'insufficient_scope', it wants scope 'kafka', openid-configuration 'https://x'",
        ),
        (b'{"status":"a\\u001b[31m"}', r"'a\\x1b\[31m'"),
        (b'{"scope":"kafka"}', "refuses the token: b'{"),
        (b"[" * 4_000, "refuses the token: b'"),
        (b"\xff\x00", r"b'\\xff\\x00'"),
        (b"x" * 10_000_000, "a message of 10,000,000 bytes"),
    ],
    ids=["kafka", "scope", "escape", "no status", "deep", "bytes", "10 MB"],
)
def test_the_broker_s_refusal_is_shown_after_the_dummy(challenge: bytes, why: str) -> None:
    exchange = oauthbearer(Tokens(token))
    exchange.send(computed(next(exchange)))
    assert exchange.send(challenge) == b"\x01"
    with pytest.raises(ExchangeError, match=why) as caught:
        exchange.throw(ExchangeError("the broker's error"))
    assert len(caught.value.why) < 1_000
    assert caught.value.do


def test_a_broker_that_accepts_the_dummy_has_not_accepted_the_client() -> None:
    exchange = oauthbearer(Tokens(token))
    exchange.send(computed(next(exchange)))
    exchange.send(b'{"status":"invalid_token"}')
    assert "invalid_token" in refused(exchange, b"").why


class Provider:
    """Counts its tokens, each valid for ``life`` seconds."""

    def __init__(self, life: float | None) -> None:
        self.now = 1_000.0
        self.life = life
        self.count = 0

    def __call__(self) -> Token:
        self.count += 1
        return token(f"t{self.count}", expires_at=None if self.life is None else self.now + self.life)

    def tokens(self) -> Tokens:
        return Tokens(self, now=lambda: self.now)


def test_a_token_is_used_until_four_fifths_of_its_life_are_over() -> None:
    provider = Provider(100)
    tokens = provider.tokens()
    for at, count in ((0, 1), (79, 1), (80, 2), (159, 2), (161, 3)):
        provider.now = 1_000.0 + at
        assert tokens.fetch().value.reveal() == f"t{count}"


def test_the_last_token_is_used_while_the_provider_cannot_be_reached() -> None:
    """As long as it is valid, and no broker has refused it."""
    clock, answers = [1_000.0], [token(expires_at=1_100.0), None, None, token("new"), None]

    def provider() -> Token:
        found = answers.pop(0)
        if found is None:
            raise ConnectError("the identity provider restarts")
        return found

    tokens = Tokens(provider, now=lambda: clock[0])
    first = tokens.fetch()
    clock[0] = 1_099.0
    assert tokens.fetch() is first
    tokens.forget()
    with pytest.raises(ConnectError):
        tokens.fetch()
    assert tokens.fetch().value.reveal() == "new"
    with pytest.raises(ConnectError):
        tokens.fetch()  # its life is not known


def test_a_token_of_unknown_life_is_fetched_for_each_connection() -> None:
    tokens = Provider(None).tokens()
    assert [tokens.fetch().value.reveal() for _ in range(3)] == ["t1", "t2", "t3"]


def test_a_refused_token_is_not_used_again_and_still_kept_out_of_messages() -> None:
    tokens = Provider(100).tokens()
    exchange = oauthbearer(tokens)
    exchange.send(computed(next(exchange)))
    exchange.send(b'{"status":"invalid_token"}')
    assert [secret.reveal() for secret in tokens.secrets()] == ["t1"]
    assert tokens.fetch().value.reveal() == "t2"


def test_an_expired_token_is_named_and_not_sent() -> None:
    tokens = Provider(-30).tokens()
    with pytest.raises(ExchangeError, match="the token expired 30 s ago"):
        tokens.fetch()


@pytest.mark.parametrize(
    "made", [lambda: None, lambda: "abc", lambda: token("")], ids=["None", "str", "empty"]
)
def test_a_provider_that_returns_no_token_is_named(made: Callable[[], Any]) -> None:
    with pytest.raises(ExchangeError, match="returned no token but") as caught:
        Tokens(made).fetch()
    assert "abc" not in caught.value.why
