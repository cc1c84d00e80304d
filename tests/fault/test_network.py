"""Faults of networks, from names that do not resolve to lines that are slow (cases N1 to N11, N13, N14, N16)."""

import _socket
import itertools
import os
import random
import re
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable

import pytest

from kcli.core import Admin, Cluster, Consumer, Producer
from kcli.core.consumer.subscription import Span
from kcli.core.errors import (
    ConnectError,
    KcliError,
    NotKafkaError,
    ProtocolError,
    RequestTimeoutError,
)
from kcli.core.net.channel import Channel
from kcli.core.options import ClientOptions
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kcli.core.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.types import TopicPartition
from tests.fake import wire
from tests.fake.cluster import FakeCluster
from tests.fake.peers import PEERS, Conversation, Peer, drip
from tests.fault.producing import (
    DEADLINE,
    PATIENCE,
    ids_asked_for,
    numbers,
    quick,
    send,
    sent_batches,
    values,
)
from tests.fault.watching import Calls, Heard, closed_port, kcli_after, peak_memory, read, soon
from tests.lasting import Moment, lasted
from tests.proxy.exchange import Fate
from tests.proxy.proxy import Proxy
from tests.run import kcli_process, start

MIB = 1 << 20
STARTUP = 30.0
"""Seconds that kcli may take to start and end on a busy machine, on top of what it was told to wait."""


def admin_error(bootstrap: str, timeout: float, **options: object) -> tuple[KcliError, float]:
    """What the first contact comes to, and after how many seconds."""
    began = Moment.now()
    with (
        Admin(bootstrap_servers=bootstrap, timeout=timeout, **options) as admin,
        pytest.raises(KcliError) as caught,
    ):
        admin.connect()
    return caught.value, lasted(began)


# --- names --------------------------------------------------------------------------------------------------------


@pytest.fixture
def resolver(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names that end in .invalid do not resolve, those in .slow not for a minute; the list tells which were asked for."""
    asked: list[str] = []
    plain = _socket.getaddrinfo

    def getaddrinfo(name: bytes, *arguments: object, **named: object) -> object:
        host = name.decode()
        asked.append(host)
        if host.endswith(".invalid"):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        if host.endswith(".slow"):
            threading.Event().wait(60)
        return plain(name, *arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(_socket, "getaddrinfo", getaddrinfo)
    return asked


@pytest.mark.case("N1")
def test_one_name_of_three_that_resolves_is_enough(resolver: list[str]) -> None:
    """Also when another one keeps the resolver busy."""
    with FakeCluster(1) as cluster:
        servers = f"a.invalid:9092,{cluster.bootstrap},b.slow:9092"
        patience = {"socket_connection_setup_timeout_ms": 900}
        for turned in range(3):
            turn = servers.split(",")[turned:] + servers.split(",")[:turned]
            with Admin(bootstrap_servers=",".join(turn), timeout=30, **patience) as admin:
                assert admin.cluster_id() == cluster.settings.cluster_id
    assert resolver


@pytest.mark.case("N1")
def test_all_names_that_do_not_resolve_are_reported_with_the_resolvers_message() -> None:
    """By the command line, exit 3."""
    code = (
        "import _socket\n"
        "def no(*_, **__): raise _socket.gaierror(_socket.EAI_NONAME, 'Name or service not known')\n"
        "_socket.getaddrinfo = no"
    )
    done = kcli_after(code, "topics", "list", "-b", "one.invalid:9092,two.invalid:9093", "--timeout", "2s")
    said = done.stderr.decode()
    assert done.returncode == 3
    assert "one.invalid:9092, two.invalid:9093" in said
    assert "cannot resolve one.invalid: Name or service not known" in said
    assert "cannot resolve two.invalid: Name or service not known" in said
    assert "  do: " in said


@pytest.mark.case("N1")
def test_a_resolver_that_hangs_ends_at_the_timeout() -> None:
    """Nobody waits for the lookup's thread."""
    code = "import _socket, time\n_socket.getaddrinfo = lambda *_, **__: time.sleep(100)"
    began = Moment.now()
    done = kcli_after(code, "topics", "list", "-b", "broker.slow:9092", "--timeout", "1s")
    assert lasted(began) < 1 + STARTUP
    assert done.returncode == 3
    assert "broker.slow:9092" in done.stderr.decode()


# --- nobody there -------------------------------------------------------------------------------------------------


@pytest.mark.case("N2")
def test_a_closed_port_is_reported_as_host_and_port_refused() -> None:
    """Exit 3."""
    with closed_port() as port:
        done = kcli_process("topics", "list", "-b", f"127.0.0.1:{port}", "--timeout", "1s")
    said = done.stderr.decode()
    assert done.returncode == 3
    assert f"cannot connect to 127.0.0.1:{port}\n  why: Connection refused" in said
    assert "  do: check the host and port" in said


@pytest.mark.case("N2")
def test_a_reset_at_connect_names_the_address_and_the_remedy() -> None:
    """As a load balancer without a backend does it."""
    with Peer(PEERS["reset at once"]) as peer:
        error, _ = admin_error(peer.address, 1)
    assert error.exit_code == 3
    assert peer.address in error.what
    assert "reset" in f"{error.what} {error.why}"  # seen while connecting, or right behind it
    assert error.do


@pytest.mark.case("N2")
def test_tries_come_after_growing_waits_that_are_never_the_same() -> None:
    """Exponential, with jitter: 50, 100, 200, … ms, each ± 20 %."""
    with Peer(PEERS["reset at once"]) as peer, Producer(bootstrap_servers=peer.address) as producer:
        future = send(producer, "t", 0, b"x")[0]
        tries = wait_for_connects(peer, 6)
        producer.close(0)
    assert future.error is not None
    gaps = [later - earlier for earlier, later in itertools.pairwise(tries)]
    for gap, wait in zip(gaps, (0.05, 0.1, 0.2, 0.4, 0.8), strict=True):
        assert gap >= wait * 0.8 - 0.005
    with Peer(PEERS["reset at once"]) as peer:
        even = {"reconnect_backoff_ms": 60, "reconnect_backoff_max_ms": 60, "retry_backoff_ms": 1}
        with Producer(bootstrap_servers=peer.address, retry_backoff_max_ms=1, **even) as producer:
            send(producer, "t", 0, b"x")
            tries = wait_for_connects(peer, 10)
            producer.close(0)
    gaps = [later - earlier for earlier, later in itertools.pairwise(tries)]
    assert max(gaps) - min(gaps) > 0.004


def wait_for_connects(peer: Peer, count: int) -> list[float]:
    """When the first ``count`` connections came."""
    soon(lambda: len(peer.connects) >= count, f"{count} connects", PATIENCE)
    return peer.connects[:count]


# --- silence ------------------------------------------------------------------------------------------------------


@pytest.mark.case("N3")
def test_a_peer_that_accepts_and_never_answers_is_reported_as_such() -> None:
    """Exit 3 at the timeout."""
    with Peer(PEERS["silence"]) as peer:
        began = Moment.now()
        done = kcli_process("topics", "list", "-b", peer.address, "--timeout", "1s")
    assert time.monotonic() - began >= 1
    assert lasted(began) < 1 + STARTUP
    assert done.returncode == 3
    said = done.stderr.decode()
    assert f"no reply to ApiVersions from {peer.address} in 1 s" in said
    assert "  do: check that this is a Kafka broker" in said
    assert len(peer.connects) <= 2


@pytest.mark.case("N3")
@pytest.mark.parametrize("stopped", [False, True])
def test_connection_setup_has_a_timeout_of_its_own(stopped: bool) -> None:
    """0.3 s to be reached, while a request may take a minute."""
    with FakeCluster(1) as cluster, Peer(PEERS["silence"]) as silent:
        if stopped:
            cluster.pause(1)  # as by SIGSTOP: the kernel accepts for it
        address = cluster.bootstrap if stopped else silent.address
        options = ClientOptions(
            bootstrap_servers=address, socket_connection_setup_timeout_ms=300, request_timeout_ms=60_000
        )
        with Cluster(options) as client:
            began = Moment.now()
            future = client.send(MetadataRequest(topics=[]))
            client.poll(PATIENCE, future)
            assert time.monotonic() - began >= 0.3
            assert lasted(began) < 5
    assert isinstance(future.error, ConnectError)
    assert future.error.what == f"no reply to ApiVersions from {address} in 0.3 s"


@pytest.mark.case("N3")
def test_a_request_has_a_timeout_of_its_own() -> None:
    """The connection stands, the answer does not come: 0.3 s, while a connection may take a minute."""
    with FakeCluster(1) as cluster:
        cluster.drop(MetadataRequest)
        options = ClientOptions(
            bootstrap_servers=cluster.bootstrap,
            socket_connection_setup_timeout_ms=60_000,
            request_timeout_ms=300,
        )
        with Cluster(options) as client:
            future = client.send(MetadataRequest(topics=[]))
            client.poll(PATIENCE, future)
    assert isinstance(future.error, RequestTimeoutError)
    said = re.search(rf"no reply to Metadata from {cluster.bootstrap} in ([\d.]+) s", str(future.error))
    assert said
    assert 0.3 <= float(said[1]) < 30, "how long it was, on a busy machine more than asked for"


@pytest.mark.case("N3")
def test_a_silent_address_leaves_time_for_the_rest() -> None:
    """Among the addresses to start from."""
    with FakeCluster(1) as cluster, Peer(PEERS["silence"]) as silent:
        for servers in (f"{silent.address},{cluster.bootstrap}", f"{cluster.bootstrap},{silent.address}"):
            options = {"socket_connection_setup_timeout_ms": 1_000}
            with Admin(bootstrap_servers=servers, timeout=PATIENCE, **options) as admin:
                assert admin.cluster_id()


@pytest.mark.case("N3")
def test_a_peer_that_says_nothing_to_tls_is_reported_as_such() -> None:
    """Before ApiVersions comes the TLS handshake."""
    with Peer(PEERS["silence"]) as peer:
        error, took = admin_error(
            peer.address, 1, security_protocol="SSL", socket_connection_setup_timeout_ms=600
        )
    assert took < 5
    assert error.exit_code == 3
    assert error.what == f"no TLS handshake with {peer.address} in 0.6 s"


# --- not Kafka ----------------------------------------------------------------------------------------------------


@pytest.mark.case("N4", "R14")
@pytest.mark.parametrize(
    ("peer", "said"),
    [
        ("http", "looks like HTTP: this is a web server's port"),
        ("tls", "looks like TLS: this port needs security.protocol=SSL or SASL_SSL"),
        ("ssh", "looks like SSH"),
        ("smtp", "looks like SMTP"),
        ("redis", "looks like Redis"),
        ("garbage", "its response to ApiVersions is malformed"),
        ("null array", "its response to ApiVersions is malformed"),
        ("bytes behind the answer", "8 extra bytes after ApiVersions"),
    ],
)
def test_a_peer_that_is_not_kafka_is_recognised_by_its_first_bytes(peer: str, said: str) -> None:
    """No wait for the timeout, and no second try."""
    with Peer(PEERS[peer]) as stranger:
        error, took = admin_error(stranger.address, 30)
        assert len(stranger.connects) == 1
    assert isinstance(error, NotKafkaError)
    assert took < 2
    assert error.exit_code == 3
    assert error.what == f"{stranger.address} does not speak Kafka on this port"
    assert said in error.why
    assert "check the port and security.protocol" in error.do


@pytest.mark.case("N4")
@pytest.mark.parametrize("peer", ["http", "tls"])
def test_commands_recognise_a_peer_that_is_not_kafka(peer: str) -> None:
    """Three lines, exit 3."""
    with Peer(PEERS[peer]) as stranger:
        done = kcli_process("produce", "t", "-b", stranger.address, stdin=b"x\n")
    lines = done.stderr.decode().splitlines()
    assert done.returncode == 3
    assert lines[-3].endswith(f"{stranger.address} does not speak Kafka on this port")
    assert f"looks like {peer.upper()}" in lines[-2]
    assert lines[-1] == "  do: check the port and security.protocol"


@pytest.mark.case("N4")
def test_a_tls_port_that_hangs_up_on_plaintext_is_reported() -> None:
    """OpenSSL resets silently: exit 3 long before the timeout, and the option to look at."""

    def serve(peer: Conversation) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.wrap_socket(peer._sock, server_side=True)

    with Peer(serve) as server:
        error, took = admin_error(server.address, 60)
    assert took < 8
    assert error.exit_code == 3
    assert "closed the connection before it responded" in error.what
    assert "security.protocol" in error.do


@pytest.mark.case("N4")
@pytest.mark.parametrize("peer", ["http", "ssh", "garbage", "kafka"])
def test_tls_on_a_plaintext_port_is_recognised_at_once(peer: str) -> None:
    """A plaintext Kafka hangs up, others answer in clear."""
    with FakeCluster(1) as cluster, Peer(PEERS.get(peer, PEERS["silence"])) as stranger:
        address = cluster.bootstrap if peer == "kafka" else stranger.address
        error, took = admin_error(address, 30, security_protocol="SSL")
        assert len(stranger.connects) + len(cluster.connections) == 1
    assert took < 2
    assert error.exit_code == 3
    assert error.what == f"{address} does not speak TLS on this port"
    assert "security.protocol" in error.do


# --- the link dies, the outcome is unknown ------------------------------------------------------------------------


@pytest.mark.case("N5")
@pytest.mark.parametrize("nth", [1, 3])
@pytest.mark.parametrize("then", ["reset", "close", "silence"])
def test_a_batch_whose_response_is_lost_is_sent_again_under_the_same_numbers(then: str, nth: int) -> None:
    """Five in flight to each of two brokers; same id, epoch, sequence and bytes; nothing lost, nothing twice."""
    with FakeCluster(2, topics={"t": 4}) as cluster, quick(cluster) as producer:
        for partition in range(4):
            send(producer, "t", partition, b"first")
        assert producer.flush(PATIENCE)
        lost = [cluster.swallow(ProduceRequest, then, nth=nth, node=node) for node in (1, 2)]
        for value in numbers(8):
            for partition in range(4):
                send(producer, "t", partition, value)
        assert producer.flush(PATIENCE)
        assert producer.totals.failed == 0
        assert [values(cluster, "t", p) for p in range(4)] == [[b"first", *numbers(8)]] * 4
        assert ids_asked_for(cluster) == 1
        for rule in lost:
            for batch in rule.requests[0].batches():
                tries = [b for b in sent_batches(cluster, batch.tp) if b.base_sequence == batch.base_sequence]
                assert len(tries) >= 2
                assert {(b.producer_id, b.producer_epoch, b.raw) for b in tries} == {
                    (batch.producer_id, batch.producer_epoch, batch.raw)
                }


@pytest.mark.case("N5")
def test_through_a_proxy_that_swallows_answers_and_resets() -> None:
    """Seen from between, half of the answers to Produce."""
    with (
        FakeCluster(2, topics={"t": 2}) as cluster,
        Proxy(cluster.bootstrap) as proxy,
        Producer(
            bootstrap_servers=proxy.bootstrap,
            batch_size=1,
            linger_ms=0,
            retry_backoff_ms=5,
            retry_backoff_max_ms=20,
            reconnect_backoff_ms=5,
            reconnect_backoff_max_ms=20,
        ) as producer,
    ):
        rule = proxy.swallow_schedule(random.Random(5), 0.5, kinds=["reset"], times=20)
        for value in numbers(40):
            for partition in range(2):
                send(producer, "t", partition, value)
        assert producer.flush(PATIENCE)
        assert rule.hits >= 15
        assert [values(cluster, "t", p) for p in range(2)] == [numbers(40)] * 2
        assert proxy.epoch_bumps == 0
        assert proxy.epochs_bumped_with_in_flight() == []


# --- half open ----------------------------------------------------------------------------------------------------


@pytest.mark.case("N6")
def test_a_connection_whose_peer_is_gone_is_given_up_at_the_request_timeout_and_never_used_again() -> None:
    """No FIN ever comes; what was in flight fails by its timeout, and goes another way."""
    with (
        FakeCluster(1, topics={"t": 1}) as cluster,
        Proxy(cluster.bootstrap) as proxy,
        Producer(
            bootstrap_servers=proxy.bootstrap, linger_ms=0, request_timeout_ms=500, retry_backoff_ms=20
        ) as producer,
    ):
        for value in (b"first", b"before"):  # the second one goes through a connection of its own
            send(producer, "t", 0, value)
            assert producer.flush(PATIENCE)
        proxy.black_hole(1)
        began = Moment.now()
        future = send(producer, "t", 0, b"during")[0]
        proxy.wait_for(lambda: len(proxy.produces) == 3, PATIENCE)
        swallowed = proxy.produces[2]
        proxy.wait_for(lambda: swallowed.over_at is not None, PATIENCE)
        assert swallowed.over_at is not None
        assert 0.45 <= swallowed.over_at - began < 5
        dead = proxy.connections[swallowed.connection - 1]
        assert dead.how == "closed by the client"
        proxy.heal(1)
        assert future.result(PATIENCE).offset == 2
        send(producer, "t", 0, b"after")
        assert producer.flush(PATIENCE)
        assert values(cluster, "t") == [b"first", b"before", b"during", b"after"]
        later = [one for one in proxy.produces if one.fate is Fate.ANSWERED][2:]
        assert later
        assert dead.number not in {one.connection for one in later}


@pytest.mark.case("N6")
def test_keepalive_is_on_for_every_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the kernel finds out where nobody asks anything."""
    sockets: list[socket.socket] = []
    tune = Channel._tune

    def noted(channel: Channel, sock: socket.socket) -> None:
        tune(channel, sock)
        sockets.append(sock)

    monkeypatch.setattr(Channel, "_tune", noted)
    with FakeCluster(2, topics={"t": 2}) as cluster, quick(cluster) as producer:
        for partition in range(2):
            send(producer, "t", partition, b"x")
        assert producer.flush(PATIENCE)
        assert len(sockets) == len(cluster.connections) >= 2
        assert all(one.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) for one in sockets)


# --- half a request -----------------------------------------------------------------------------------------------


@pytest.mark.case("N7")
def test_after_half_a_request_the_connection_is_closed_and_never_used_again() -> None:
    """5 MB into a window of a few kB, then the timeout; what comes next must not land inside the old frame."""
    large, heard = os.urandom(5 * MIB), Heard()
    with (
        FakeCluster(1, topics={"t": 1}, max_message_bytes=8 * MIB) as cluster,
        Proxy(cluster.bootstrap) as proxy,
        Producer(
            bootstrap_servers=proxy.bootstrap,
            linger_ms=0,
            batch_size=6 * MIB,
            max_request_size=6 * MIB,
            request_timeout_ms=700,
            retry_backoff_ms=20,
            hooks=heard.hooks,
        ) as producer,
    ):
        for value in (b"first", b"before"):  # the second one goes through a connection of its own
            send(producer, "t", 0, value)
            assert producer.flush(PATIENCE)
        proxy.stop_reading(1)
        futures = [*send(producer, "t", 0, large), *send(producer, "t", 0, b"after")]
        soon(lambda: producer.metrics().batches_retried, "the timeout")
        assert any("took no bytes" in text or "no reply to Produce" in text for text in heard.said("debug"))
        proxy.heal(1)
        assert [future.result(PATIENCE).offset for future in futures] == [2, 3]
        assert values(cluster, "t") == [b"first", b"before", large, b"after"]
        half = [one for one in proxy.connections if one.truncated is not None]
        assert half, "no frame was cut off"
        assert all(there < size for there, size in (one.truncated or (0, 0) for one in half))
        assert cluster.notes == []  # nothing that could not be read ever came to the broker


# --- drip ---------------------------------------------------------------------------------------------------------


@pytest.mark.case("N8")
def test_everything_comes_byte_by_byte() -> None:
    """Handshake, metadata, confirmations and records, put together again; and not at any price."""
    with FakeCluster(1, topics={"t": 1}) as cluster:
        rule = cluster.drip(None)
        with quick(cluster, request_timeout_ms=20_000) as producer:
            send(producer, "t", 0, b"first")
            assert producer.flush(PATIENCE)
            calls = Calls(producer._cluster.loop)
            futures = send(producer, "t", 0, *numbers(20))
            assert producer.flush(PATIENCE)
            assert calls.end() < 40_000
        assert [future.result().offset for future in futures] == list(range(1, 21))
        assert read(cluster, "t") == [b"first", *numbers(20)]
        assert rule.count == len(cluster.requests)


@pytest.mark.case("N8")
def test_a_drip_without_end_does_not_put_off_the_deadline() -> None:
    """A byte every 0.1 s is progress of a kind, and yet no response in time."""
    began = time.monotonic()
    with Peer(drip(0.1)) as peer:
        error, took = admin_error(peer.address, 1, socket_connection_setup_timeout_ms=800)
    assert time.monotonic() - began >= 0.8
    assert took < 5
    assert error.exit_code == 3
    assert error.what == f"no reply to ApiVersions from {peer.address} in 0.8 s"


@pytest.mark.case("N8")
def test_a_drip_costs_next_to_nothing() -> None:
    """Who waits for the next byte sleeps."""
    with Peer(drip(0.02)) as peer, Cluster(ClientOptions(bootstrap_servers=peer.address)) as client:
        calls = Calls(client.loop)
        future = client.send(MetadataRequest(topics=[]), timeout=0.6)
        client.poll(0.6, future)
        assert calls.end() < 3_000


@pytest.mark.case("N8")
@pytest.mark.parametrize("step", [1, 3, 7, 50, 100_000])
def test_answers_that_come_split_and_merged_are_taken_apart(step: int) -> None:
    """Five answers in one stream, cut at places that no frame knows of."""

    def serve(peer: Conversation) -> None:
        asked = peer.request()
        offer = ApiVersionsResponse(
            error_code=0, api_keys=[ApiVersion(api_key=3, min_version=0, max_version=12)]
        )
        peer.send(answer_to(asked, ApiVersionsRequest, offer))
        frames = b""
        for number in range(5):
            told = MetadataResponse(brokers=[], topics=[], cluster_id=f"cluster {number}")
            frames += answer_to(peer.request(), MetadataRequest, told)
        for at in range(0, len(frames), step):
            peer.send(frames[at : at + step])
        peer.linger()

    with Peer(serve) as peer, Cluster(ClientOptions(bootstrap_servers=peer.address)) as client:
        futures = [client.send(MetadataRequest(topics=[])) for _ in range(5)]
        assert len(client.poll(PATIENCE, *futures)) == 5
        assert [future.value.cluster_id for future in futures] == [f"cluster {n}" for n in range(5)]


def answer_to(frame: bytes, kind: type[Request], answer: object) -> bytes:
    header = wire.read_header(memoryview(frame)[4:])
    return wire.encode_answer(kind, answer, header.version, header.correlation_id)  # type: ignore[arg-type]


# --- answers that are not due -------------------------------------------------------------------------------------


def repeated(frame: bytes) -> bytes:
    return frame + frame


def too_long(frame: bytes) -> bytes:
    return struct.pack(">i", len(frame) - 4 + 3) + frame[4:] + b"abc"


def of_another(frame: bytes) -> bytes:
    (number,) = struct.unpack_from(">i", frame, 4)
    return frame[:4] + struct.pack(">i", number + 7) + frame[8:]


@pytest.mark.case("N9")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (of_another, r"sent a response with correlation id 9, expected 2"),
        (repeated, r"sent a response with correlation id 2, expected (none|3)"),
        (too_long, r"3 extra bytes after Metadata"),
    ],
)
def test_an_answer_that_makes_no_sense_names_the_numbers_and_ends_its_connection(
    change: Callable[[bytes], bytes], said: str
) -> None:
    """The other broker is not affected, nor is the next connection."""
    with FakeCluster(2) as cluster, Cluster(ClientOptions(bootstrap_servers=cluster.address(1))) as client:
        client.connect(PATIENCE)  # ApiVersions is #0, Metadata #1
        well = client.send(MetadataRequest(topics=[]), 2)
        client.poll(PATIENCE, well)
        assert well.error is None
        other = cluster.seen(MetadataRequest, node=2)[0].connection
        broken = cluster.seen(MetadataRequest, node=1)[0].connection
        cluster.garble(MetadataRequest, change, node=1)
        futures = [client.send(MetadataRequest(topics=[]), 1) for _ in range(2)]
        client.poll(PATIENCE, *futures)
        errors = [future.error for future in futures if future.error is not None]
        assert isinstance(errors[0], ProtocolError)
        assert errors[0].exit_code == 5
        assert f"{cluster.address(1)} (node 1)" in str(errors[0])
        assert re.search(said, str(errors[0]))
        cluster.wait_until(lambda: cluster.connections[broken - 1].closed)
        assert cluster.connections[broken - 1].how == "by the client"
        later = client.send(MetadataRequest(topics=[]), 2)
        client.poll(PATIENCE, later)
        assert later.error is None
        assert cluster.seen(MetadataRequest, node=2)[-1].connection == other
        client.sleep(0.1)
        again = client.send(MetadataRequest(topics=[]), 1)
        client.poll(PATIENCE, again)
        assert again.error is None


@pytest.mark.case("N9")
@pytest.mark.parametrize("change", [of_another, repeated, too_long])
def test_records_for_the_other_brokers_are_confirmed(change: Callable[[bytes], bytes]) -> None:
    """In a producer; the broken connection is made again and continues."""
    with FakeCluster(2, topics={"t": 2}) as cluster, quick(cluster) as producer:
        for partition in range(2):
            send(producer, "t", partition, b"first")
        assert producer.flush(PATIENCE)
        node = cluster.leader("t", 0)
        cluster.garble(ProduceRequest, change, node=node)
        send(producer, "t", 0, b"broken")
        whole = send(producer, "t", 1, *numbers(20))
        assert producer.flush(PATIENCE)
        assert [future.error for future in whole] == [None] * 20
        assert values(cluster, "t", 1) == [b"first", *numbers(20)]
        later = send(producer, "t", 0, b"later")[0]
        assert producer.flush(PATIENCE)
        assert later.error is None
        stored = values(cluster, "t", 0)
        assert (stored[0], stored[-1]) == (b"first", b"later")
        assert stored.count(b"broken") == 1


# --- sizes that cannot be -----------------------------------------------------------------------------------------

LIMIT = 104_857_600


def sized(size: int) -> Callable[[bytes], bytes]:
    """The frame of an answer that claims to be so long."""
    return lambda frame: struct.pack(">i", size) + frame[4:]


@pytest.mark.case("N10")
@pytest.mark.parametrize("size", [2**31 - 1, LIMIT + 1, 0, 3, -1, -(2**31)])
def test_a_frame_of_an_impossible_size_is_refused_before_memory_is_taken(size: int) -> None:
    """On a connection that had been fine; says the limit and its option."""
    with FakeCluster(1) as cluster, Cluster(ClientOptions(bootstrap_servers=cluster.bootstrap)) as client:
        client.connect(PATIENCE)
        before = peak_memory()
        cluster.garble(MetadataRequest, sized(size))
        future = client.send(MetadataRequest(topics=[]))
        client.poll(PATIENCE, future)
        assert peak_memory() - before < 8 * MIB
        error = future.error
        assert isinstance(error, ProtocolError)
        assert error.what == f"{cluster.bootstrap} sent a frame of {size} bytes"
        assert error.why == f"a response has 4 to {LIMIT} bytes (receive.message.max.bytes)"
        assert "raise receive.message.max.bytes" in error.do
        cluster.wait_until(lambda: cluster.connections[0].how == "by the client")


@pytest.mark.case("N10")
@pytest.mark.parametrize("peer", ["frame of 2^31-1", "negative frame", "empty frame", "endless frame"])
def test_in_the_handshake_such_a_peer_is_not_kafka(peer: str) -> None:
    """Told at once, with the limit; 100 MiB that never end are not waited for either."""
    before = peak_memory()
    with Peer(PEERS[peer]) as stranger:
        error, took = admin_error(stranger.address, 30)
    assert took < 2
    assert error.exit_code == 3
    assert re.search(r"sent a frame of -?\d+ bytes: a first response has 4 to 16777216 bytes", error.why)
    assert peak_memory() - before < 16 * MIB


@pytest.mark.case("N10")
def test_an_answer_above_the_users_own_limit_names_it() -> None:
    """Records that do not fit into receive.message.max.bytes; exit 5."""
    with FakeCluster(1, topics={"t": 1}) as cluster:
        with quick(cluster) as producer:
            send(producer, "t", 0, b"x" * 5_000)
        done = kcli_process(
            "consume", "t", "-e", "-b", cluster.bootstrap, "-X", "receive.message.max.bytes=2000"
        )
    said = done.stderr.decode()
    assert done.returncode == 5
    assert re.search(r"sent a frame of 5\d\d\d bytes\n  why: a response has 4 to 2000 bytes", said)
    assert (
        "  do: check that this is a Kafka broker; for larger responses raise receive.message.max.bytes"
        in said
    )


# --- reconnect storms ---------------------------------------------------------------------------------------------

PARTITIONS = 200
WINDOW = 5.0


@pytest.mark.case("N2", "N11", "R14")
def test_a_dead_broker_with_200_partitions_is_tried_at_most_nine_times_in_five_seconds() -> None:
    """Twelve in ten, one at a time, for whatever purpose; then all continues, nothing lost, nothing twice."""
    heard = Heard()
    with FakeCluster(2) as cluster:
        cluster.create_topic("t", PARTITIONS, replicas={p: [2, 1] for p in range(PARTITIONS)})
        with quick(cluster, reconnect_backoff_ms=50, retry_backoff_ms=100, hooks=heard.hooks) as producer:
            for partition in range(PARTITIONS):
                send(producer, "t", partition, b"before")
            assert producer.flush(PATIENCE)
            asked = len(cluster.requests)
            cluster.stop(2)
            for partition in range(PARTITIONS):
                send(producer, "t", partition, b"during")
            calls = Calls(producer._cluster.loop)
            assert not producer.flush(WINDOW)
            tries = heard.failed_connects(cluster.address(2))
            assert 4 <= len(tries) <= 9, [round(at - tries[0], 2) for at in tries]
            assert all(later > earlier for earlier, later in itertools.pairwise(tries))
            assert len(cluster.requests) - asked < 12 * WINDOW
            assert calls.end() < 500_000, "busy"
            cluster.start(2)
            assert producer.flush(PATIENCE)
            assert producer.totals.failed == 0
        for partition in range(PARTITIONS):
            assert values(cluster, "t", partition) == [b"before", b"during"]


@pytest.mark.case("N11")
def test_a_sender_that_waits_for_a_dead_broker_sleeps() -> None:
    """No turn of 200 partitions without a reason."""
    with FakeCluster(2) as cluster:
        cluster.create_topic("t", PARTITIONS, replicas={p: [2, 1] for p in range(PARTITIONS)})
        with quick(cluster, reconnect_backoff_ms=50, retry_backoff_ms=100) as producer:
            for partition in range(PARTITIONS):
                send(producer, "t", partition, b"x")
            assert producer.flush(PATIENCE)
            cluster.stop(2)
            for partition in range(PARTITIONS):
                send(producer, "t", partition, b"y")
            calls = Calls(producer._cluster.loop)
            producer.flush(2)
            assert calls.end() < 300_000, "a core that is busy makes a million in a second"
            producer.close(0)


@pytest.mark.case("N11")
def test_a_reader_that_waits_for_a_dead_broker_sleeps() -> None:
    """200 partitions."""
    with FakeCluster(2) as cluster:
        cluster.create_topic("t", PARTITIONS, replicas={p: [2, 1] for p in range(PARTITIONS)})
        heard = Heard()
        with Consumer(bootstrap_servers=cluster.bootstrap, hooks=heard.hooks) as consumer:
            consumer.assign({TopicPartition("t", p): Span(0) for p in range(PARTITIONS)})
            consumer.poll(0.5)
            cluster.stop(2)
            asked = len(cluster.requests)
            calls = Calls(consumer.cluster.loop)
            consumer.poll(2)
            assert calls.end() < 200_000
            assert len(cluster.requests) - asked < 2 * 12
            assert len(heard.failed_connects(cluster.address(2))) <= 9


@pytest.mark.case("N11")
def test_when_all_brokers_restart_each_is_tried_with_pauses() -> None:
    """What is asked of them comes from several connections, which share their patience."""
    heard = Heard()
    with (
        FakeCluster(3, topics={"t": 30}) as cluster,
        quick(cluster, reconnect_backoff_ms=50, hooks=heard.hooks) as producer,
    ):
        for partition in range(30):
            send(producer, "t", partition, b"before")
        assert producer.flush(PATIENCE)
        for node in cluster.node_ids:
            cluster.stop(node)
        for partition in range(30):
            send(producer, "t", partition, b"during")
        assert not producer.flush(3)
        for node in cluster.node_ids:
            assert 3 <= len(heard.failed_connects(cluster.address(node))) <= 9
        standing = len(cluster.connections)
        for node in cluster.node_ids:
            cluster.start(node)
        assert producer.flush(PATIENCE)
        assert len(cluster.connections) - standing <= 2 * 3
        for partition in range(30):
            assert values(cluster, "t", partition) == [b"before", b"during"]


# --- addresses that metadata names --------------------------------------------------------------------------------


def advertise(cluster: FakeCluster, node: int, host: str, port: int) -> None:
    """Metadata gives out this address for a broker that runs all the same."""

    def edit(answer: MetadataResponse) -> None:
        for broker in answer.brokers:
            if broker.node_id == node:
                broker.host, broker.port = host, port

    cluster.lie(edit)


@pytest.mark.case("N13")
def test_an_advertised_address_that_cannot_be_reached_is_reported_with_the_setting_to_check() -> None:
    """Loopback, by the command line; the partitions of the other broker are read, and the exit code is 6."""
    with FakeCluster(2, topics={"t": 2}) as cluster, closed_port() as port:
        advertise(cluster, 2, "127.0.0.1", port)
        done = kcli_process("consume", "t", "-e", "-b", cluster.bootstrap, "--timeout", "1s")
    said = done.stderr.decode()
    assert done.returncode == 6
    assert f"broker 2 advertises 127.0.0.1:{port}, unreachable from here" in said
    assert "Connection refused" in said
    assert "  do: check advertised.listeners" in said


@pytest.mark.case("N13")
@pytest.mark.parametrize(
    ("host", "why"),
    [
        ("127.0.0.1", "Connection refused"),
        ("::1", r"Connection refused|Cannot assign|not supported|unreachable"),
        ("kafka-2.invalid", "cannot resolve kafka-2.invalid: Name or service not known"),
    ],
)
def test_the_reason_for_being_unreachable_is_reported(resolver: list[str], host: str, why: str) -> None:
    """And the partitions of the other brokers are answered."""
    with FakeCluster(2, topics={"t": 2}) as cluster, closed_port() as port:
        advertise(cluster, 2, host, port)
        wanted = {TopicPartition("t", p): -1 for p in range(2)}
        with Admin(bootstrap_servers=cluster.address(1), timeout=DEADLINE) as admin:
            found = {cluster.leader(*tp): told for tp, told in admin.list_offsets(wanted).items()}
    assert not isinstance(found[1], KcliError)
    error = found[2]
    assert isinstance(error, KcliError)
    shown = f"[{host}]" if ":" in host else host
    assert error.exit_code == 3
    assert f"broker 2 advertises {shown}:{port}, unreachable from here" in error.why
    assert re.search(why, error.why)
    assert "advertised.listeners" in error.do


@pytest.mark.case("N13")
def test_a_network_that_swallows_everything_is_reported_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """No refusal comes, only the timeout. The connect is made to hang: no test can count on a real black hole."""
    with FakeCluster(2, topics={"t": 2}) as cluster, closed_port() as port:
        advertise(cluster, 2, "127.0.0.1", port)
        connect = Channel._connect_next
        hanging: list[socket.socket] = []

        def hang(channel: Channel) -> None:
            if channel.node.port != port:
                connect(channel)
                return
            channel._addresses = []
            channel._socket = socket.socket()
            hanging.append(channel._socket)
            channel.forget = lambda _channel: None
            monkeypatch.setattr(channel, "fileno", lambda: -1)

        monkeypatch.setattr(Channel, "_connect_next", hang)
        options = {"socket_connection_setup_timeout_ms": 400}
        with Admin(bootstrap_servers=cluster.address(1), timeout=1.5, **options) as admin:
            tp = TopicPartition("t", 1 if cluster.leader("t", 1) == 2 else 0)
            error = admin.list_offsets({tp: -1})[tp]
    assert hanging
    assert isinstance(error, KcliError)
    assert f"broker 2 advertises 127.0.0.1:{port}, unreachable from here" in str(error)
    assert "in 0.4 s: no response from the network" in str(error)


@pytest.mark.case("N13")
def test_a_producers_error_names_the_address() -> None:
    """Exit 3, when the records could not be delivered in time; those of the other broker are stored."""
    with FakeCluster(2, topics={"t": 2}) as cluster, closed_port() as port:
        advertise(cluster, 2, "127.0.0.1", port)
        with quick(cluster, delivery_timeout_ms=2_000, bootstrap_servers=cluster.address(1)) as producer:
            futures = {cluster.leader("t", p): send(producer, "t", p, b"x")[0] for p in range(2)}
            assert producer.flush(PATIENCE)
    assert futures[1].error is None
    error = futures[2].error
    assert error is not None
    assert error.exit_code == 3
    assert f"broker 2 advertises 127.0.0.1:{port}, unreachable from here" in str(error)


@pytest.mark.case("N13")
def test_a_producers_error_says_what_to_check() -> None:
    """ "check advertised.listeners"."""
    with FakeCluster(1, topics={"t": 1}) as cluster, closed_port() as port:
        advertise(cluster, 1, "127.0.0.1", port)
        with quick(cluster, delivery_timeout_ms=800) as producer:
            future = send(producer, "t", 0, b"x")[0]
            assert producer.flush(PATIENCE)
    assert future.error is not None
    assert "advertised.listeners" in future.error.do


@pytest.mark.case("N13")
def test_a_broker_that_was_reached_before_is_simply_down() -> None:
    """Then its address is right, and nobody is sent to look at listeners."""
    with FakeCluster(2, topics={"t": 2}) as cluster:
        wanted = {TopicPartition("t", p): -1 for p in range(2)}
        with Admin(bootstrap_servers=cluster.bootstrap, timeout=DEADLINE) as admin:
            assert not any(isinstance(told, KcliError) for told in admin.list_offsets(wanted).values())
            cluster.stop(2)
            errors = [told for told in admin.list_offsets(wanted).values() if isinstance(told, KcliError)]
            address = cluster.address(2)
    assert len(errors) == 1
    assert "advertises" not in str(errors[0])
    assert f"cannot connect to {address} (node 2): Connection refused" in str(errors[0])


# --- connections closed while idle --------------------------------------------------------------------------------


def all_closed(cluster: FakeCluster) -> bool:
    return all(one.closed for one in cluster.connections)


@pytest.mark.case("N14")
def test_connections_that_the_broker_closes_while_idle_are_made_again_silently() -> None:
    """Nothing of it reaches the user of a producer, not even with -v; an admin that did not look is not warned."""
    heard, other = Heard(), Heard()
    with FakeCluster(2, topics={"t": 2}, idle_timeout=0.15) as cluster:
        with (
            quick(cluster, hooks=heard.hooks) as producer,
            Admin(bootstrap_servers=cluster.bootstrap, hooks=other.hooks, timeout=PATIENCE) as admin,
        ):
            for value in numbers(4):
                for partition in range(2):
                    send(producer, "t", partition, value)
                assert producer.flush(PATIENCE)
                assert len(admin.list_topics()) == 1
                cluster.wait_until(lambda: all_closed(cluster), PATIENCE)
            assert producer.totals.failed == 0
            assert producer.metrics().batches_retried == 0
        assert [values(cluster, "t", p) for p in range(2)] == [numbers(4)] * 2
    assert heard.said("warning", "info") == other.said("warning") == []
    assert {one.how for one in cluster.connections} <= {"close", "closed", "by the client"}


@pytest.mark.case("N14")
def test_a_reader_continues_after_a_pause() -> None:
    """Who does not poll does not see the end of the connection either, until it asks again."""
    heard = Heard()
    with FakeCluster(1, topics={"t": 1}, idle_timeout=0.15) as cluster, quick(cluster) as producer:
        with Consumer(bootstrap_servers=cluster.bootstrap, hooks=heard.hooks) as consumer:
            consumer.assign({TopicPartition("t", 0): Span(0)})
            found: list[bytes | None] = []
            for value in numbers(3):
                send(producer, "t", 0, value)
                assert producer.flush(PATIENCE)
                wanted = len(found) + 1
                while len(found) < wanted:
                    found += [record.value for record in consumer.records(PATIENCE)]
                cluster.wait_until(lambda: all_closed(cluster), PATIENCE)
        assert found == numbers(3)
    assert heard.said("warning") == []


@pytest.mark.case("N14")
def test_produce_survives_connections_closed_while_idle() -> None:
    """Lines come with long pauses; all are stored, stderr has the summary and nothing else."""
    with FakeCluster(1, topics={"t": 1}, idle_timeout=0.15) as cluster:
        with start("produce", "t", bootstrap=cluster.bootstrap) as process:
            assert process.stdin is not None
            assert process.stderr is not None
            for value in numbers(3):
                process.stdin.write(value + b"\n")
                process.stdin.flush()
                cluster.wait_until(lambda n=int(value) + 1: len(values(cluster, "t")) == n, PATIENCE)
                cluster.wait_until(lambda: all_closed(cluster), PATIENCE)
            process.stdin.close()
            said = process.stderr.read().decode()
            assert process.wait(PATIENCE) == 0
        assert values(cluster, "t") == numbers(3)
    assert len(said.splitlines()) == 1
    assert said.startswith("3 records confirmed")


# --- slow ways ----------------------------------------------------------------------------------------------------


@pytest.mark.case("N16")
def test_slow_narrow_and_short_lived_ways_lose_nothing() -> None:
    """300 ± 200 ms to an answer, 256 kbit/s, connections that live for 0.5 to 1.5 s."""
    rng = random.Random(16)
    with FakeCluster(2, topics={"t": 2}) as cluster, Proxy(cluster.bootstrap) as proxy:
        with Producer(
            bootstrap_servers=proxy.bootstrap, batch_size=2_000, linger_ms=10, reconnect_backoff_ms=20
        ) as producer:
            producer.connect(["t"], PATIENCE)
            proxy.delay(None, 0.3, 0.2, rng=rng)
            proxy.bandwidth(256_000 / 8)
            lives = proxy.lifetime(0.5, 1.5, rng=rng)
            for value in numbers(150, "x" * 80):
                for partition in range(2):
                    send(producer, "t", partition, value)
            assert producer.flush(60), proxy.tell(40)
        assert producer.totals.failed == 0
        assert min(lives.ended["reset"], lives.ended["fin"]) >= 1, lives.ended
        assert proxy.epochs_bumped_with_in_flight() == []
        assert [values(cluster, "t", p) for p in range(2)] == [numbers(150, "x" * 80)] * 2
