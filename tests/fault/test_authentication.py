"""Clients that brokers do not accept: the cause is named, and credentials are not sent again and again (S2, S4, S5)."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kcli.core import Admin, Consumer, Producer
from kcli.core.connection.admission import Admission
from kcli.core.connection.sasl.token import Token
from kcli.core.errors import AuthError, ConfigError, ConnectError, KcliError
from kcli.core.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kcli.core.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kcli.core.secret import Secret
from kcli.core.types import ProducerRecord
from tests.certificates import Authority
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.script import FOREVER
from tests.fault.authenticating import CANARY, MECHANISMS, PASSWORDS, attempts, login, messages, users
from tests.fault.watching import Heard, soon
from tests.lasting import Moment, lasted

WRONG = "wrong-canary"


def failure(cluster: FakeCluster, timeout: float = 5.0, **options: Any) -> tuple[KcliError, float]:
    """The error of the first contact, and after how many seconds."""
    began = Moment.now()
    with (
        pytest.raises(KcliError) as caught,
        Admin(bootstrap_servers=cluster.bootstrap, timeout=timeout, **options) as admin,
    ):
        admin.list_topics()
    return caught.value, lasted(began)


def text(error: KcliError) -> str:
    return f"{error.what}\n{error.why}\n{error.do}"


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_each_mechanism_authenticates(mechanism: str) -> None:
    heard = Heard()
    with (
        FakeCluster(3, topics={"t": 3}, sasl=users()) as cluster,
        Admin(bootstrap_servers=cluster.bootstrap, hooks=heard.hooks, **login(mechanism)) as admin,
    ):
        assert [topic.name for topic in admin.list_topics()] == ["t"]
        assert attempts(cluster) == len(cluster.connections) == 1
    assert [line for line in heard.said("debug") if f"authenticated as alice with {mechanism}" in line]
    assert CANARY not in "".join(heard.said("debug", "info", "warning"))


@pytest.mark.case("S2", "X13")
@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_wrong_secret_is_sent_once_to_one_of_three_brokers(
    mechanism: str, tls: bool, tmp_path: Path
) -> None:
    """Also where the broker has closed the connection before the request behind the secret is written."""
    with FakeCluster(3, topics={"t": 3}, sasl=users()) as cluster:
        options = login(mechanism, secret=WRONG)
        if tls:
            authority = Authority(tmp_path)
            cluster.use_tls(authority.broker("127.0.0.1"))
            options |= {"security_protocol": "SASL_SSL", "ssl_ca_location": str(authority.ca)}
        error, took = failure(cluster, **options)
        assert isinstance(error, AuthError)
        assert error.exit_code == 4
        assert f"authentication as alice with {mechanism} failed" in error.what
        assert took < 2
        assert attempts(cluster) == len(cluster.connections) == 1
        assert WRONG not in text(error)
        assert error.do


@pytest.mark.case("S2")
def test_an_unknown_user_is_named() -> None:
    with FakeCluster(1, topics={"t": 1}, sasl=users()) as cluster:
        error, _ = failure(cluster, **login("SCRAM-SHA-256", user="bob"))
        assert "as bob with SCRAM-SHA-256" in error.what
        assert attempts(cluster) == 1


@pytest.mark.case("S2", "X19")
def test_a_broker_that_repeats_the_secret_in_its_error_is_not_quoted() -> None:
    sasl = users(wrong_password=f"user alice: {WRONG} is\n\x1b[31mwrong")
    with FakeCluster(1, topics={"t": 1}, sasl=sasl) as cluster:
        error, _ = failure(cluster, **login(secret=WRONG))
        assert (
            error.why == "user alice: (hidden) is \x1b[31mwrong"
        )  # one line; escapes are shown where it is printed


@pytest.mark.case("S2")
def test_a_mechanism_that_is_not_offered_names_those_that_are() -> None:
    with FakeCluster(1, topics={"t": 1}, sasl=users(mechanisms=("SCRAM-SHA-512", "GSSAPI"))) as cluster:
        error, took = failure(cluster, **login("PLAIN"))
        assert isinstance(error, AuthError)
        assert "does not offer the SASL mechanism PLAIN" in error.what
        assert error.why == "it offers SCRAM-SHA-512, GSSAPI"
        assert took < 2
        assert len(cluster.connections) == 1
        assert messages(cluster) == []


@pytest.mark.case("S2")
def test_an_expired_token_is_named_and_not_sent() -> None:
    def provider() -> Token:
        return Token(value=Secret(CANARY), expires_at=time.time() - 60)

    with FakeCluster(1, topics={"t": 1}, sasl=users()) as cluster:
        given = {**login("OAUTHBEARER"), "sasl_oauthbearer_token_provider": provider}
        error, _ = failure(cluster, **given)
        assert isinstance(error, AuthError)
        assert "the token expired 60 s ago" in error.why
        assert messages(cluster) == []


def test_a_listener_without_sasl_is_named() -> None:
    with FakeCluster(1, topics={"t": 1}) as cluster:
        error, took = failure(cluster, **login())
        assert isinstance(error, AuthError)
        assert "does not authenticate clients on this port" in error.what
        assert "security.protocol=PLAINTEXT" in error.do
        assert took < 2
        assert len(cluster.connections) == 1


def test_a_listener_with_sasl_is_named_to_a_client_without() -> None:
    with FakeCluster(1, topics={"t": 1}, sasl=users()) as cluster:
        error, took = failure(cluster)
        assert isinstance(error, AuthError)
        assert "closed the connection at Metadata, its first request" in error.what
        assert "security.protocol=SASL_" in error.do
        assert took < 2
        assert len(cluster.connections) == 2


@pytest.mark.case("S5", "X10")
@pytest.mark.parametrize("mechanism", ["PLAIN", "OAUTHBEARER"])
@pytest.mark.parametrize("client", [Admin, Consumer, Producer])
def test_secrets_are_not_sent_without_encryption_unless_allowed(
    mechanism: str, client: Callable[..., Any]
) -> None:
    with FakeCluster(1, topics={"t": 1}, sasl=users()) as cluster:
        with pytest.raises(ConfigError, match="would be sent without encryption") as caught:
            client(
                bootstrap_servers=cluster.bootstrap, **login(mechanism) | {"allow_plaintext_secrets": False}
            )
        assert caught.value.exit_code == 2
        assert "--allow-plaintext-secrets" in caught.value.do
        assert cluster.connections == []


@pytest.mark.case("S5", "X10")
def test_scram_without_encryption_is_allowed_with_a_warning() -> None:
    heard = Heard()
    given = login("SCRAM-SHA-256") | {"allow_plaintext_secrets": False}
    with (
        FakeCluster(1, topics={"t": 1}, sasl=users()) as cluster,
        Admin(bootstrap_servers=cluster.bootstrap, hooks=heard.hooks, **given) as admin,
    ):
        admin.list_topics()
    assert [line for line in heard.said("warning") if "SCRAM-SHA-256 without TLS" in line]


@pytest.mark.parametrize(
    ("missing", "what"),
    [("sasl_mechanism", "sasl.mechanism is not set"), ("sasl_username", "sasl.username is not set")],
)
def test_a_missing_option_is_named_before_any_contact(missing: str, what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        Admin(bootstrap_servers="127.0.0.1:1", **login() | {missing: ""})


# --- clients that were accepted before ------------------------------------------------------------------


def test_credentials_that_were_refused_close_the_next_connection_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where they would go ahead, behind the request for the versions. The loop goes on."""
    refusal = AuthError("the broker has refused them")
    begun: list[Admission] = []

    def begin(admission: Admission) -> None:
        """As where another connection was refused meanwhile."""
        begun.append(admission)
        raise admission.refused(refusal)

    with (
        FakeCluster(1, topics={"t": 1}, sasl=users()) as cluster,
        Producer(bootstrap_servers=cluster.bootstrap, linger_ms=0, **login("PLAIN")) as producer,
    ):
        producer.send(ProducerRecord("t", b"x")).result(120)
        before, connects = attempts(cluster), len(cluster.connections)
        monkeypatch.setattr(Admission, "begin", begin)
        cluster.reset_connections(1)
        with pytest.raises(AuthError, match="refused them"):
            producer.send(ProducerRecord("t", b"y")).result(120)
        soon(lambda: [one.how for one in cluster.connections[connects:]] == ["by the client"], "its end")
        assert attempts(cluster) == before
        monkeypatch.undo()
        begun[0].accepted()

        def goes_on() -> bool:
            try:
                return producer.send(ProducerRecord("t", b"z")).result(120).offset == 1
            except AuthError:  # until the pause after the failure is over
                return False

        soon(goes_on, "a record")


@pytest.mark.case("S2", "X13")
def test_a_password_that_changes_under_a_producer_and_a_consumer_causes_no_storm() -> None:
    """Three brokers, several purposes, two loops with heartbeats: each client sends the wrong password a few times."""
    with (
        FakeCluster(3, topics={"t": 6}, sasl=users()) as cluster,
        Producer(bootstrap_servers=cluster.bootstrap, linger_ms=0, **login("SCRAM-SHA-256")) as producer,
        Consumer(
            bootstrap_servers=cluster.bootstrap, group_id="g", heartbeat_interval_ms=100,
            auto_offset_reset="earliest", **login("PLAIN"),
        ) as consumer,
    ):  # fmt: skip
        consumer.subscribe(["t"])
        for number in range(12):
            producer.send(ProducerRecord("t", b"x", partition=number % 6)).result(120)
        got: list[Any] = []
        soon(lambda: got.extend(consumer.records(0.1)) or len(got) >= 12, "the records")
        assert cluster.settings.sasl is not None
        cluster.settings.sasl.users["alice"] = "changed"
        before, connects = attempts(cluster), len(cluster.connections)
        for node in (1, 2, 3):
            cluster.reset_connections(node)
        began, raised, failed = time.monotonic(), 0, 0
        while time.monotonic() < began + 4:
            future = producer.send(ProducerRecord("t", b"y", partition=0))
            with pytest.raises(AuthError):
                future.result(5)
            failed += 1
            try:
                consumer.poll(0.05)
            except AuthError:
                raised += 1
            time.sleep(0.02)
        assert raised >= 1
        assert failed >= 20
        # Connections that were being made when the first refusal came, and one more attempt of each loop.
        assert attempts(cluster) - before <= 15
        assert len(cluster.connections) - connects <= 15
        assert CANARY not in "".join(cluster.notes)


@pytest.mark.case("S2", "X13")
def test_after_a_refusal_the_client_tries_again_only_after_a_pause() -> None:
    with (
        FakeCluster(2, topics={"t": 1}, sasl=users()) as cluster,
        Admin(bootstrap_servers=cluster.bootstrap, timeout=2, **login(secret=WRONG)) as admin,
    ):
        began = Moment.now()
        while time.monotonic() < began + 1.4:
            with pytest.raises(AuthError):
                admin.list_topics()
        assert attempts(cluster) == 1
        assert cluster.settings.sasl is not None
        cluster.settings.sasl.users["alice"] = WRONG  # the password is what the client says, now
        while time.monotonic() < began + 20:
            try:
                assert [topic.name for topic in admin.list_topics()] == ["t"]
                break
            except AuthError:
                time.sleep(0.05)
        else:
            raise AssertionError("it never tried again")
        assert attempts(cluster) == 2


def test_an_error_of_a_broker_that_passes_is_waited_for() -> None:
    with FakeCluster(1, topics={"t": 1}, sasl=users()) as cluster:
        cluster.fail(SaslAuthenticateRequest, Code.COORDINATOR_LOAD_IN_PROGRESS, times=2)
        with Admin(bootstrap_servers=cluster.bootstrap, **login()) as admin:
            assert [topic.name for topic in admin.list_topics()] == ["t"]
        assert attempts(cluster) == 3


# --- hostile brokers ------------------------------------------------------------------------------------


def _iterations(count: int) -> Callable[[str, bytes], bytes]:
    return lambda stage, message: message.replace(b"i=4096", b"i=%d" % count) if stage == "first" else message


TAMPER: dict[str, tuple[Callable[[str, bytes], bytes], str]] = {
    **{f"i={count}": (_iterations(count), "iterations") for count in (0, 1, 4_095, 2**31 - 1)},
    "nonce": (
        lambda stage, m: b"r=" + (b"y" if m[2:3] == b"x" else b"x") + m[3:] if stage == "first" else m,
        "nonce",
    ),
    "own nonce": (lambda stage, m: m.replace(b"server,", b",") if stage == "first" else m, "nonce"),
    "signature": (lambda stage, m: m[:5] + b"AAAA" + m[9:] if stage == "final" else m, "signature is wrong"),
    "no signature": (lambda stage, m: b"" if stage == "final" else m, "v="),
    "10 MB": (lambda stage, m: m + b"," * 10_000_000, "bytes, accepted are 4,096"),
    "error": (lambda _stage, _m: b"e=other-error", "'other-error'"),
    "extension": (lambda stage, m: b"m=x," + m, "extension"),
}


@pytest.mark.case("S4", "X11")
@pytest.mark.parametrize("name", TAMPER)
def test_a_broker_that_breaks_the_rules_of_scram_is_refused_at_once(name: str) -> None:
    tamper, why = TAMPER[name]
    with FakeCluster(1, topics={"t": 1}, sasl=users(tamper=tamper)) as cluster:
        error, took = failure(cluster, **login("SCRAM-SHA-256"))
        assert isinstance(error, AuthError)
        assert why in error.why
        assert took < 3
        assert attempts(cluster) == 1
        assert CANARY not in text(error)


# --- the provider of tokens -----------------------------------------------------------------------------


def provided(provider: Callable[[], Any]) -> dict[str, Any]:
    return login("OAUTHBEARER") | {"sasl_oauthbearer_token_provider": provider}


def test_a_slow_provider_does_not_hold_up_the_loop() -> None:
    threads: set[str] = set()

    def provider() -> Token:
        threads.add(threading.current_thread().name)
        time.sleep(0.4)
        return Token(value=Secret(CANARY))

    with (
        FakeCluster(1, topics={"t": 1}, sasl=users()) as cluster,
        Admin(bootstrap_servers=cluster.bootstrap, **provided(provider)) as admin,
    ):
        loop, ticks = admin.cluster.loop, []

        def tick() -> None:
            ticks.append(loop.now())
            loop.at(loop.now() + 0.02, tick)

        tick()
        admin.list_topics()
        assert len(ticks) >= 10
        assert threads == {"kcli-worker"}


def test_a_provider_that_never_returns_is_named_after_the_setup_timeout() -> None:
    release = threading.Event()
    with FakeCluster(1, topics={"t": 1}, sasl=users()) as cluster:
        error, took = failure(
            cluster, 0.6, socket_connection_setup_timeout_ms=400, **provided(lambda: release.wait(5))
        )
        release.set()
    assert isinstance(error, ConnectError)
    assert "the credentials were not available in time" in str(error)
    assert took < 3


@pytest.mark.parametrize(
    ("raised", "kind", "why"),
    [
        (ValueError(CANARY), AuthError, "the provider of tokens failed with ValueError"),
        (AuthError("the endpoint refuses the client", do="x"), AuthError, ""),
        (ConfigError("no such file", do="x"), ConfigError, ""),
    ],
    ids=["defect", "refused", "configuration"],
)
def test_a_provider_that_fails_is_asked_once(raised: Exception, kind: type[KcliError], why: str) -> None:
    calls: list[int] = []

    def provider() -> Token:
        calls.append(1)
        raise raised

    with FakeCluster(3, topics={"t": 1}, sasl=users()) as cluster:
        error, took = failure(cluster, **provided(provider))
        assert type(error) is kind
        assert why in error.why
        assert CANARY not in text(error)
        assert calls == [1]
        assert took < 2
        assert messages(cluster) == []


def test_a_token_endpoint_that_cannot_be_reached_is_tried_again() -> None:
    calls: list[int] = []

    def provider() -> Token:
        calls.append(1)
        if len(calls) < 3:
            raise ConnectError("cannot reach https://idp")
        return Token(value=Secret(CANARY))

    with (
        FakeCluster(1, topics={"t": 1}, sasl=users()) as cluster,
        Admin(bootstrap_servers=cluster.bootstrap, **provided(provider)) as admin,
    ):
        assert [topic.name for topic in admin.list_topics()] == ["t"]
        assert len(calls) == 3


def test_closing_a_client_does_not_wait_for_its_provider() -> None:
    entered, release = threading.Event(), threading.Event()
    others = set(threading.enumerate())  # as of a test whose resolver hangs

    def provider() -> Token:
        entered.set()
        release.wait(5)
        return Token(value=Secret(CANARY))

    with FakeCluster(1, topics={"t": 1}, sasl=users()) as cluster:
        admin = Admin(bootstrap_servers=cluster.bootstrap, timeout=0.5, **provided(provider))
        with pytest.raises(KcliError):
            admin.list_topics()
        assert entered.is_set()
        began = Moment.now()
        admin.close()
        assert lasted(began) < 3
        release.set()
        soon(
            lambda: not {t for t in threading.enumerate() if t.name == "kcli-worker"} - others,
            "the worker ends",
        )


@pytest.mark.parametrize("api", [SaslHandshakeRequest, SaslAuthenticateRequest])
def test_a_broker_that_stops_in_the_middle_is_named(api: Any) -> None:
    with FakeCluster(1, topics={"t": 1}, sasl=users()) as cluster:
        rule = cluster.swallow(api, times=FOREVER)
        error, _ = failure(cluster, 0.8, socket_connection_setup_timeout_ms=300, **login())
        rule.remove()
        assert f"no reply to {api.__name__.removesuffix('Request')}" in str(error)
        assert error.exit_code == 3


def test_the_passwords_of_all_mechanisms_are_only_where_they_must_be() -> None:
    with FakeCluster(1, topics={"t": 1}, sasl=users()) as cluster:
        for mechanism in PASSWORDS:
            with Admin(bootstrap_servers=cluster.bootstrap, **login(mechanism)) as admin:
                admin.list_topics()
        assert [CANARY.encode() in message for message in messages(cluster)] == [
            True,
            False,
            False,
            False,
            False,
        ]
