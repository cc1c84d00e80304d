"""OAUTHBEARER (RFC 7628, KIP-255, KIP-342): a bearer token, and extensions beside it.

The token comes from a provider, which may use the network: it is called in the worker thread. A token is used for new
connections until four fifths of its life are over, as Java's client does.
"""

import contextlib
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from kcli.core import clock
from kcli.core.connection.sasl.exchange import LARGEST_MESSAGE, Credentials, Exchange, ExchangeError
from kcli.core.connection.sasl.token import Token
from kcli.core.connection.steps import Compute
from kcli.core.errors import ConfigError, ConnectError
from kcli.core.options import ClientOptions
from kcli.core.secret import Secret

_TOKEN = re.compile(r"[-._~+/A-Za-z0-9]+=*")
_EXTENSION_NAME = re.compile("[A-Za-z]+")
_EXTENSION_VALUE = re.compile("[\x20-\x7e\t\r\n]+")
_RESERVED = "auth"
_USED_FOR = 0.8  # of a token's life, for new connections
_REMEDY = "check that the token is meant for this cluster, and what the brokers expect of it"

Provider = Callable[[], Token]


def prepare(options: ClientOptions) -> Credentials:
    """The credentials that ``options`` name; ConfigError without a provider of tokens."""
    provider = options.sasl_oauthbearer_token_provider
    if provider is None:
        raise ConfigError(
            "sasl.mechanism=OAUTHBEARER has no source of tokens",
            why="no provider of tokens is configured",
            do="set sasl_oauthbearer_token_provider, a function that returns a Token",
        )
    tokens = Tokens(provider)
    return Credentials(tokens.principal, lambda _host: oauthbearer(tokens), tokens.secrets, _REMEDY)


class Tokens:
    """``fetch`` runs in the worker thread, the rest in the loop's; each only replaces fields."""

    def __init__(self, provider: Provider, *, now: Callable[[], float] = clock.wall) -> None:
        self._provider = provider
        self._now = now
        self._last: Token | None = None
        self._fresh_until = self._valid_until = 0.0

    def fetch(self) -> Token:
        """A token that has not expired; ExchangeError if the provider returns none.

        Where the provider cannot be reached, the last token is used until it expires.
        """
        if self._last is not None and self._now() < self._fresh_until:
            return self._last
        try:
            token: Any = self._provider()
        except ConnectError:
            if self._last is not None and self._now() < self._valid_until:
                return self._last  # an identity provider that restarts ends no session
            raise
        if not isinstance(token, Token) or not token.value:
            kind = type(token).__name__
            raise ExchangeError(f"the provider of tokens returned no token but {kind}", "mend the provider")
        now = self._now()
        self._fresh_until = self._valid_until = 0.0
        if token.expires_at is not None:
            if token.expires_at <= now:
                raise ExchangeError(
                    f"the token expired {now - token.expires_at:.0f} s ago",
                    "get a new token; check the clock of this machine",
                )
            self._fresh_until = now + _USED_FOR * (token.expires_at - now)
            self._valid_until = token.expires_at
        self._last = token
        return token

    def forget(self) -> None:
        """A broker refused the token: the next connection uses another one."""
        self._fresh_until = self._valid_until = 0.0

    def principal(self) -> str:
        """The principal of the last token, for messages."""
        return self._last.principal if self._last is not None else ""

    def secrets(self) -> tuple[Secret, ...]:
        """What no message may contain."""
        return () if self._last is None else (self._last.value,)


def oauthbearer(tokens: Tokens) -> Exchange:
    """One message with the token. A broker that refuses it says why in JSON, and fails after a message of ``\\x01``."""
    token: Token = yield Compute(tokens.fetch)
    try:
        challenge = yield first_message(token)
    except ExchangeError:
        tokens.forget()
        raise
    if not challenge:
        return
    tokens.forget()
    refusal = _refusal(bytes(challenge))
    with contextlib.suppress(ExchangeError):  # Kafka's error only repeats the status
        yield b"\x01"  # as RFC 7628 requires
    raise ExchangeError(refusal, _REMEDY)


def first_message(token: Token) -> bytes:
    """``n,,`` and the pairs, each ended by ``\\x01``; ExchangeError for a token or an extension that would not fit."""
    value = token.value.reveal()
    if not _TOKEN.fullmatch(value):
        raise ExchangeError(
            "the token has a character that no bearer token has (RFC 6750)", "check where it is read from"
        )
    _check_extensions(token.extensions)
    pairs = [f"{_RESERVED}=Bearer {value}", *(f"{name}={text}" for name, text in token.extensions.items())]
    return ("n,,\x01" + "".join(f"{pair}\x01" for pair in pairs) + "\x01").encode()


def _check_extensions(extensions: Mapping[str, str]) -> None:
    for name, text in extensions.items():
        legal = _EXTENSION_NAME.fullmatch(name) and _EXTENSION_VALUE.fullmatch(text)
        if name == _RESERVED or not legal:
            raise ExchangeError(
                f"the extension {name!r} of the token is not valid",
                "its name must have letters only and not be auth, its value printable ASCII characters (RFC 7628)",
            )


def _refusal(challenge: bytes) -> str:
    """The broker's reason: the status of its JSON with what it expects."""
    if len(challenge) > LARGEST_MESSAGE:
        return f"the broker refuses the token with a message of {len(challenge):,} bytes"
    try:
        found = json.loads(challenge)
        status = found["status"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return f"the broker refuses the token: {challenge[:200]!r}"
    wanted = [
        f"{name} {found[name]!r}"
        for name in ("scope", "openid-configuration")
        if isinstance(found.get(name), str)
    ]
    return f"the broker refuses the token: {status!r}" + (f", it wants {', '.join(wanted)}" if wanted else "")
