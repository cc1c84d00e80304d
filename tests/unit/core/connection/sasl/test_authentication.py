"""The requests around an exchange, what their errors become, and what the connections of a client share."""

import sys
from types import ModuleType
from typing import Any

import pytest

from kcli.core.connection.sasl.authentication import authenticate
from kcli.core.connection.sasl.login import Login
from kcli.core.connection.sasl.registry import MECHANISMS, login_of
from kcli.core.connection.sasl.token import Token
from kcli.core.connection.steps import Compute, Send
from kcli.core.errors import AuthError, ConfigError, ConnectError, KcliError, UnsupportedError
from kcli.core.options import ClientOptions, field_of
from kcli.core.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kcli.core.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kcli.core.secret import Secret
from kcli.core.types import Node

NODE = Node(1, "b", 9093)
APIS = {17: (0, 1), 36: (0, 2)}
PASSWORD = "hunter2"


def options(mechanism: str = "PLAIN", protocol: str = "SASL_SSL", **more: Any) -> ClientOptions:
    with_password = mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
    given = {"sasl_username": "me", "sasl_password": Secret(PASSWORD)} if with_password else {}
    return ClientOptions(security_protocol=protocol, sasl_mechanism=mechanism, **(given | more))


def login() -> Login:
    return login_of(options())


def accepted(lifetime_ms: int = 0) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(auth_bytes=b"", error_message=None, session_lifetime_ms=lifetime_ms)


def refused(code: int, message: str | None = None) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(error_code=code, error_message=message, auth_bytes=b"")


def outcome(who: Login, handshake: SaslHandshakeResponse, *answers: Any, again: bool = False) -> float:
    """What a conversation with these answers of the broker comes to."""
    steps = authenticate(NODE, who, APIS, again=again)
    next(steps)
    try:
        steps.send(handshake)
        for answer in answers:
            steps.send(answer)
    except StopIteration as end:
        lifetime: float = end.value
        return lifetime
    raise AssertionError("it wants more")


OFFERED = SaslHandshakeResponse(mechanisms=["PLAIN"])


@pytest.mark.parametrize(("newest", "version"), [(0, 0), (1, 1), (2, 2), (9, 2)])
def test_the_newest_version_of_both_is_used(newest: int, version: int) -> None:
    steps = authenticate(NODE, login(), {17: (0, 1), 36: (0, newest)})
    handshake = next(steps)
    assert isinstance(handshake, Send)
    assert (type(handshake.request), handshake.version) == (SaslHandshakeRequest, 1)
    message = steps.send(OFFERED)
    assert isinstance(message, Send)
    assert (type(message.request), message.version) == (SaslAuthenticateRequest, version)


@pytest.mark.parametrize("apis", [{}, {17: (0, 0), 36: (0, 2)}, {17: (0, 1)}])
def test_brokers_without_wrapped_messages_are_refused(apis: dict[int, tuple[int, int]]) -> None:
    with pytest.raises(UnsupportedError):
        next(authenticate(NODE, login(), apis))


@pytest.mark.parametrize(
    ("lifetime_ms", "seconds"),
    [(5_000, 5.0), (0, float("inf")), (-1, float("inf")), (2**63 - 1, (2**63 - 1) / 1000)],
)
def test_the_lifetime_of_the_session_is_returned(lifetime_ms: int, seconds: float) -> None:
    assert outcome(login(), OFFERED, accepted(lifetime_ms)) == seconds


@pytest.mark.case("S2", "X13")
def test_a_refusal_is_shared_until_a_connection_is_permitted_to_try() -> None:
    who = login()
    with pytest.raises(AuthError, match="authentication as me with PLAIN failed"):
        outcome(who, OFFERED, refused(58, "no"))
    for _ in range(3):
        with pytest.raises(AuthError):
            next(authenticate(NODE, who, APIS))  # nothing is sent
    who.permit()
    assert outcome(who, OFFERED, accepted()) == float("inf")
    assert who.refusal is None
    assert outcome(who, OFFERED, accepted()) == float("inf")


@pytest.mark.parametrize("code", [15, 7, 14])
def test_a_passing_error_is_no_refusal(code: int) -> None:
    who = login()
    with pytest.raises(ConnectError, match="cannot authenticate anybody at the moment"):
        outcome(who, OFFERED, refused(code))
    assert who.refusal is None


@pytest.mark.parametrize("code", [-1, 34, 58, 999])
def test_every_other_error_is_one(code: int) -> None:
    who = login()
    with pytest.raises(AuthError) as caught:
        outcome(who, OFFERED, refused(code, "because"))
    assert "because" in caught.value.why
    assert who.refusal is caught.value


@pytest.mark.case("S12")
def test_the_broker_s_text_is_one_line_of_limited_length_without_the_secret() -> None:
    with pytest.raises(AuthError) as caught:
        outcome(login(), OFFERED, refused(58, f"a\r\n\tb {PASSWORD}\u2028 c" + "x" * 10_000))
    assert caught.value.why.startswith("a b (hidden) c")
    assert len(caught.value.why) <= 502


def test_a_mechanism_that_is_not_offered_names_at_most_twenty_that_are() -> None:
    names = ["A\nB", *(f"M{number}" for number in range(1_000))]
    with pytest.raises(AuthError, match="does not offer the SASL mechanism PLAIN") as caught:
        outcome(login(), SaslHandshakeResponse(error_code=33, mechanisms=names))
    assert caught.value.why.startswith("it offers A B, M0, M1, ")
    assert len(caught.value.why) < 200


@pytest.mark.parametrize(
    ("code", "again", "kind"),
    [
        (34, False, AuthError),
        (34, True, ConnectError),
        (-1, False, AuthError),
        (-1, True, ConnectError),
        (7, False, ConnectError),
    ],
)
def test_a_refused_handshake(code: int, again: bool, kind: type[KcliError]) -> None:
    """Where a session should be renewed, a new connection may help; Kafka renews at most once a second."""
    with pytest.raises(kind):
        outcome(login(), SaslHandshakeResponse(error_code=code, mechanisms=[]), again=again)


def provided(provider: Any) -> Login:
    return login_of(options("OAUTHBEARER", sasl_oauthbearer_token_provider=provider))


@pytest.mark.case("X11")
def test_work_is_handed_out_and_its_result_taken() -> None:
    who = provided(lambda: Token(value=Secret("abc"), principal="you"))
    steps = authenticate(NODE, who, APIS)
    next(steps)
    work = steps.send(SaslHandshakeResponse(mechanisms=["OAUTHBEARER"]))
    assert isinstance(work, Compute)
    message = steps.send(work.fn())
    assert isinstance(message, Send)
    assert message.request.auth_bytes == b"n,,\x01auth=Bearer abc\x01\x01"  # type: ignore[attr-defined]
    assert who.who == "as you with OAUTHBEARER"


@pytest.mark.parametrize(
    ("raised", "kind", "kept"),
    [
        (ConnectError("no way to the endpoint"), ConnectError, False),
        (ConfigError("no file"), ConfigError, True),
        (AuthError("refused"), AuthError, True),
        (ZeroDivisionError(PASSWORD), AuthError, True),
    ],
    ids=["ConnectError", "ConfigError", "AuthError", "defect"],
)
def test_errors_of_a_provider(raised: Exception, kind: type[KcliError], kept: bool) -> None:
    who = provided(lambda: Token(value=Secret("abc")))
    steps = authenticate(NODE, who, APIS)
    next(steps)
    steps.send(SaslHandshakeResponse(mechanisms=["OAUTHBEARER"]))
    with pytest.raises(kind) as caught:
        steps.throw(raised)
    assert (who.refusal is caught.value) is kept
    assert PASSWORD not in f"{caught.value.what}{caught.value.why}{caught.value.do}"


# --- options -------------------------------------------------------------------------------------------


def test_every_mechanism_of_the_options_is_known() -> None:
    named = {name for name in field_of("sasl.mechanism").metadata["choices"] if name}
    assert named == MECHANISMS.keys()


@pytest.mark.parametrize(
    ("mechanism", "option"),
    [
        ("OAUTHBEARER", {"sasl_username": "me"}),
        ("PLAIN", {"sasl_oauthbearer_token_provider": lambda: Token(value=Secret("x"))}),
        ("SCRAM-SHA-256", {"sasl_kerberos_service_name": "k"}),
        ("GSSAPI", {"sasl_aws_region": "r"}),
        ("AWS_MSK_IAM", {"sasl_oauthbearer_client_secret": Secret(PASSWORD)}),
    ],
)
def test_an_option_of_another_mechanism_is_refused(mechanism: str, option: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="has no effect") as caught:
        login_of(options(mechanism, **option))
    assert f"sasl.mechanism is {mechanism}" in caught.value.why


@pytest.mark.case("S5", "X10")
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_what_reveals_a_secret_needs_tls_or_permission(
    mechanism: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "gssapi", ModuleType("gssapi"))
    more = {}
    if mechanism == "OAUTHBEARER":
        more = {"sasl_oauthbearer_token_provider": lambda: Token(value=Secret("x"))}
    assert login_of(options(mechanism, **more)).encrypted
    allowed = options(mechanism, "SASL_PLAINTEXT", allow_plaintext_secrets=True, **more)
    assert not login_of(allowed).encrypted
    refused = options(mechanism, "SASL_PLAINTEXT", **more)
    if mechanism.startswith("SCRAM") or mechanism == "GSSAPI":
        login_of(refused)
    else:
        with pytest.raises(ConfigError, match="would be sent without encryption"):
            login_of(refused)


def test_a_missing_mechanism_and_a_missing_provider_are_named() -> None:
    with pytest.raises(ConfigError, match="PLAIN, SCRAM-SHA-256"):
        login_of(options(""))
    with pytest.raises(ConfigError, match="no provider of tokens"):
        login_of(options("OAUTHBEARER"))


def test_the_request_shows_itself_without_its_bytes() -> None:
    assert PASSWORD not in repr(SaslAuthenticateRequest(auth_bytes=PASSWORD.encode()))
