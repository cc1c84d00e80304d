"""SaslHandshake and SaslAuthenticate around the exchange of a mechanism (KIP-43, KIP-152), as a generator of steps.

The same on a new connection and on an established one whose session is about to expire (KIP-368).
"""

from collections.abc import Generator, Mapping
from typing import Any

from kcli.core.classes import NamedTuple
from kcli.core.connection.sasl.exchange import Exchange, ExchangeError, First, Last
from kcli.core.connection.sasl.login import Login
from kcli.core.connection.steps import Ahead, Await, Compute, Send
from kcli.core.error_codes import (
    ILLEGAL_SASL_STATE,
    NONE,
    SASL_AUTHENTICATION_FAILED,
    UNSUPPORTED_SASL_MECHANISM,
    error_code,
)
from kcli.core.errors import AuthError, ConnectError, KcliError
from kcli.core.protocol.api import choose_version
from kcli.core.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kcli.core.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kcli.core.types import Node

_WRAPPED = 1
"""From this version of SaslHandshake on, messages travel in SaslAuthenticate; every broker since 1.0 has it."""
_OLDEST = 0
"""The version of SaslAuthenticate that goes ahead; only the last response of an exchange has more in newer ones."""
_LONGEST_TEXT = 500
_MOST_NAMES = 20

Steps = Generator[Send | Await | Compute, Any, float]


class Opening(NamedTuple):
    """What went to the broker before it had reported its versions: SaslHandshake and, where ``sent``, the first message,
    which is ``step``.
    """

    exchange: Exchange
    step: bytes | Compute
    sent: bool


def open_ahead(node: Node, login: Login) -> Generator[Ahead, Any, Opening]:
    """The beginning of ``authenticate``, behind a request for the versions.

    Brokers read the next request once they have answered the one before, also while they authenticate. The versions are
    those that every broker has since 1.0.
    """
    login.begin()
    exchange = login.credentials.begin(node.host)
    step = next(exchange)
    yield Ahead(SaslHandshakeRequest(mechanism=login.mechanism), _WRAPPED)
    if isinstance(step, First):
        yield Ahead(SaslAuthenticateRequest(auth_bytes=step), _OLDEST)
    return Opening(exchange, step, isinstance(step, First))


def authenticate(
    node: Node,
    login: Login,
    apis: Mapping[int, tuple[int, int]],
    *,
    again: bool = False,
    opening: Opening | None = None,
) -> Steps:
    """Returns for how many seconds the session is valid (infinite without a limit).

    AuthError if the broker refuses the client, or is not to be trusted; ConnectError for what may pass by itself.
    ``again``: the connection was authenticated before. ``opening``: what was sent already.
    """
    if opening is None:
        login.begin()
    peer = str(node)
    handshake_version = choose_version(SaslHandshakeRequest, apis, peer, lowest=_WRAPPED)
    version = choose_version(SaslAuthenticateRequest, apis, peer)
    if opening is None:
        response = yield Send(SaslHandshakeRequest(mechanism=login.mechanism), handshake_version)
    else:
        response = yield Await()
    if response.error_code != NONE:
        error = _refused_handshake(peer, login, response, again=again)
        raise error if isinstance(error, ConnectError) else login.refused(error)
    try:
        if opening is None:
            exchange = login.credentials.begin(node.host)
            opening = Opening(exchange, next(exchange), sent=False)
        lifetime_ms = yield from _converse(peer, login, opening, version)
    except ExchangeError as failed:
        raise login.refused(login.failure(peer, failed.why, failed.do)) from failed.__cause__
    except ConnectError:
        raise
    except KcliError as error:  # of the provider of tokens
        login.refused(error)
        raise
    login.accepted()
    return lifetime_ms / 1000 if lifetime_ms > 0 else float("inf")


def _converse(
    peer: str, login: Login, opening: Opening, version: int
) -> Generator[Send | Await | Compute, Any, int]:
    """Carries the messages of an exchange; returns the session's lifetime in milliseconds."""
    lifetime_ms = 0
    exchange, step, sent = opening
    while True:
        if isinstance(step, Compute):
            received = yield from _computed(step)
        else:
            if sent:
                response = yield Await()
            else:
                response = yield Send(
                    SaslAuthenticateRequest(auth_bytes=step), version, isinstance(step, Last)
                )
            sent = False
            lifetime_ms = response.session_lifetime_ms
            received = response.auth_bytes
            if response.error_code != NONE:
                text = _one_line(login, response.error_message or "")
                refusal = _refusal(peer, response.error_code, text)
                step = exchange.throw(refusal)
                continue
        try:
            step = exchange.send(received)
        except StopIteration:
            return lifetime_ms


def _computed(step: Compute) -> Generator[Compute, Any, Any]:
    try:
        return (yield step)
    except (KcliError, ExchangeError):
        raise
    except Exception as error:
        # Its text is not shown: it was made where the secret is known.
        why = f"the provider of tokens failed with {type(error).__name__}"
        raise ExchangeError(why, "mend the provider") from error


def _refusal(peer: str, code: int, message: str) -> ExchangeError:
    """The error for a SaslAuthenticate with an error code; ConnectError if the code is one that passes."""
    row = error_code(code)
    text = message or row.text
    if row.retriable:
        raise ConnectError(f"{peer} cannot authenticate anybody at the moment", why=f"{row.name}: {text}")
    return ExchangeError(text if code == SASL_AUTHENTICATION_FAILED else f"{row.name} ({code}): {text}")


def _refused_handshake(
    peer: str, login: Login, response: SaslHandshakeResponse, *, again: bool
) -> AuthError | ConnectError:
    code = response.error_code
    if code == UNSUPPORTED_SASL_MECHANISM:
        offered = ", ".join(_one_line(login, name) for name in response.mechanisms[:_MOST_NAMES])
        return AuthError(
            f"{peer} does not offer the SASL mechanism {login.mechanism}",
            why=f"it offers {offered}" if offered else "it offers none",
            do="set sasl.mechanism to one of these, or use another listener"
            if offered
            else "use another listener",
        )
    if code == ILLEGAL_SASL_STATE and not again:
        return AuthError(
            f"{peer} does not authenticate clients on this port",
            why="its listener there is one without SASL (ILLEGAL_SASL_STATE)",
            do="use the port of a listener with SASL, or security.protocol=PLAINTEXT or SSL if that is meant",
        )
    row = error_code(code)
    what = f"{peer} refused to begin authentication"
    if row.retriable or again:
        return ConnectError(what, why=f"{row.name} ({code})")
    return AuthError(what, why=f"{row.name} ({code})", do="check the listener of the brokers")


def _one_line(login: Login, text: str) -> str:
    """``text`` of a broker; hidden on both sides of the change, which may make a secret or hide one."""
    return login.hidden(" ".join(login.hidden(text).split()))[:_LONGEST_TEXT]
