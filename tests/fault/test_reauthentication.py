"""Sessions that end (KIP-368) while requests are in flight: nobody notices (case N15)."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kcli.core import Admin, Consumer, Producer
from kcli.core.connection import state
from kcli.core.errors import AuthError
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.protocol.messages.heartbeat import HeartbeatRequest
from kcli.core.protocol.messages.metadata import MetadataRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kcli.core.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kcli.core.types import ProducerRecord
from tests.fake.cluster import FakeCluster
from tests.fault.authenticating import CANARY, MECHANISMS, attempts, login, users
from tests.fault.watching import Heard, soon

SESSION_MS = 300


@contextmanager
def consuming(cluster: FakeCluster, heard: Heard, got: list[bytes], **more: object) -> Iterator[None]:
    """A member of a group that reads in a thread of its own, with long polls and frequent heartbeats."""
    stop = threading.Event()
    failures: list[BaseException] = []

    def run() -> None:
        try:
            with Consumer(
                bootstrap_servers=cluster.bootstrap, group_id="g", auto_offset_reset="earliest",
                heartbeat_interval_ms=50, auto_commit_interval_ms=50, hooks=heard.hooks, **login("SCRAM-SHA-256"), **more,
            ) as consumer:  # fmt: skip
                consumer.subscribe(["t"])
                while not stop.is_set():
                    got.extend(bytes(record.value or b"") for record in consumer.records(0.1))
        except BaseException as error:  # noqa: BLE001 - raised by the test
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(120)
    if failures:
        raise failures[0]


@pytest.mark.case("N15", "X12")
def test_sessions_that_end_under_load_lose_nothing_and_confuse_nothing() -> None:
    heard, got = Heard(), []
    of_busy_machines = users(session_lifetime_ms=SESSION_MS, session_grace=5)
    with FakeCluster(2, topics={"t": 4}, sasl=of_busy_machines) as cluster:
        with (
            consuming(cluster, heard, got),
            Producer(
                bootstrap_servers=cluster.bootstrap,
                linger_ms=0,
                batch_size=200,
                hooks=heard.hooks,
                **login("PLAIN"),
            ) as producer,
        ):
            end, sent = time.monotonic() + 3, []
            while (
                time.monotonic() < end or len(cluster.seen(ProduceRequest)) <= 300 or attempts(cluster) <= 30
            ):
                sent += [
                    producer.send(ProducerRecord("t", b"%d" % (len(sent) + i), partition=i % 4))
                    for i in range(20)
                ]
                time.sleep(0.005)
            for future in sent:
                future.result(120)
            soon(lambda: len(got) >= len(sent), "everything was read")
        stored = [value for number in range(4) for value in cluster.log("t", number).values()]
        assert sorted(stored) == sorted(got) == sorted(b"%d" % i for i in range(len(sent)))
        # No connection was lost, and sessions were renewed where they were: only one that was idle for a whole session,
        # as on a busy machine, is replaced.
        assert {seen.how for seen in cluster.connections} <= {"by the client", ""}
        assert cluster.notes == []
        assert attempts(cluster) > 3 * len(cluster.connections)
        kinds = {seen.kind for seen in cluster.requests}
    assert {FetchRequest, HeartbeatRequest, ProduceRequest} <= kinds
    said = heard.said("warning", "info", "debug")
    assert not [text for text in said if "correlation" in text]
    assert [text for text in said if "re-authenticated as alice with PLAIN, for 0.3 s" in text]
    assert CANARY not in "".join(said)


@pytest.mark.case("N15", "X12")
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_requests_wait_for_those_in_flight_then_for_the_authentication(mechanism: str) -> None:
    """The broker holds a response: nothing may be sent behind it any more once the session is about to end."""
    with (
        FakeCluster(1, topics={"t": 1}, sasl=users(session_lifetime_ms=500)) as cluster,
        Admin(bootstrap_servers=cluster.bootstrap, **login(mechanism)) as admin,
    ):
        admin.list_topics()
        before = len(cluster.seen(MetadataRequest))
        held = cluster.hold(MetadataRequest, at="answer")
        client = admin.cluster
        first = client.send(MetadataRequest(topics=[]))
        client.sleep(0.1)
        held.wait(1)
        client.sleep(0.45)  # the session is over
        rest = [client.send(MetadataRequest(topics=[])) for _ in range(50)]
        client.sleep(0.1)
        assert len(cluster.seen(MetadataRequest)) == before + 1
        assert attempts(cluster) == 1
        held.remove()
        held.release(1)
        client.poll(5, first, *rest)
        assert all(future.done and future.error is None for future in rest)
        order = [seen.kind for seen in cluster.requests][-52:]
        assert order[-50:] == [MetadataRequest] * 50
        assert order[1] is SaslAuthenticateRequest
        assert attempts(cluster) == 2
        assert len(cluster.connections) == 1


def test_a_connection_that_was_idle_for_longer_than_its_session_is_replaced_silently() -> None:
    heard = Heard()
    with (
        FakeCluster(1, topics={"t": 1}, sasl=users(session_lifetime_ms=100)) as cluster,
        Admin(bootstrap_servers=cluster.bootstrap, hooks=heard.hooks, **login()) as admin,
    ):
        admin.list_topics()
        time.sleep(0.2)
        admin.list_topics()
        assert [seen.how for seen in cluster.connections] == ["by the client", ""]
        assert cluster.notes == []
    assert heard.said("info") == []


@pytest.fixture
def renewed_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions are renewed after a tenth: there is much time until they end, even if the machine is busy."""
    monkeypatch.setattr(state, "_EARLIEST", 0.1)
    monkeypatch.setattr(state, "_LATEST", 0.1)


@pytest.mark.case("X12")
@pytest.mark.usefixtures("renewed_early")
def test_credentials_that_expired_meanwhile_are_named_and_end_the_waiting_requests() -> None:
    with (
        FakeCluster(1, topics={"t": 1}, sasl=users(session_lifetime_ms=3_000)) as cluster,
        Admin(bootstrap_servers=cluster.bootstrap, **login("SCRAM-SHA-512")) as admin,
    ):
        client = admin.cluster
        admin.list_topics()
        assert cluster.settings.sasl is not None
        cluster.settings.sasl.users["alice"] = "changed"
        client.sleep(0.4)
        rest = [client.send(MetadataRequest(topics=[])) for _ in range(20)]
        client.poll(5, *rest)
        assert {type(future.error) for future in rest} == {AuthError}
        assert "authentication as alice with SCRAM-SHA-512 failed" in str(rest[0].error)
        before = attempts(cluster)
        for _ in range(20):
            with pytest.raises(AuthError):
                admin.list_topics()
        assert attempts(cluster) == before


@pytest.mark.usefixtures("renewed_early")
def test_a_broker_that_does_not_finish_the_authentication_costs_the_connection_only() -> None:
    with (
        FakeCluster(1, topics={"t": 1}, sasl=users(session_lifetime_ms=3_000)) as cluster,
        Admin(
            bootstrap_servers=cluster.bootstrap, socket_connection_setup_timeout_ms=500, **login()
        ) as admin,
    ):
        admin.list_topics()
        rule = cluster.swallow(SaslAuthenticateRequest, times=1)
        admin.cluster.sleep(0.4)
        assert [topic.name for topic in admin.list_topics()] == ["t"]
        assert rule.count == 1
        assert len(cluster.connections) == 2


@pytest.mark.usefixtures("renewed_early")
def test_a_broker_that_refuses_to_begin_again_gets_a_new_connection() -> None:
    """Kafka answers ILLEGAL_SASL_STATE to an authentication that comes within a second of the last one."""
    with (
        FakeCluster(1, topics={"t": 1}, sasl=users(session_lifetime_ms=3_000)) as cluster,
        Admin(bootstrap_servers=cluster.bootstrap, **login()) as admin,
    ):
        admin.list_topics()
        cluster.fail(SaslHandshakeRequest, 34, times=1)
        admin.cluster.sleep(0.4)
        assert [topic.name for topic in admin.list_topics()] == ["t"]
        assert len(cluster.connections) == 2
