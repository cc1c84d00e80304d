"""TLS to several brokers: each one's own name is checked before anything is sent to it, not only at first (S6)."""

import ssl
from collections.abc import Iterator
from typing import Any

import pytest

from kcli.core import Admin, Consumer, Producer
from kcli.core.errors import AuthError, ProtocolError
from tests.certificates import Authority
from tests.committing import put
from tests.fake.cluster import FakeCluster
from tests.fault.producing import PATIENCE, send, values
from tests.fault.watching import read


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def cluster(authority: Authority) -> Iterator[FakeCluster]:
    """Two brokers; each leads one partition."""
    with FakeCluster(2, topics={"t": 2}, tls=authority.broker("127.0.0.1", "localhost")) as found:
        yield found


def options(cluster: FakeCluster, authority: Authority, **more: Any) -> dict[str, Any]:
    first = {"bootstrap_servers": cluster.address(1), "security_protocol": "SSL"}
    return {**first, "ssl_ca_location": str(authority.ca), **more}


def led_by(cluster: FakeCluster, node: int) -> int:
    return next(p for p in (0, 1) if cluster.leader("t", p) == node)


def requests_to(cluster: FakeCluster, node: int) -> int:
    return len(cluster.seen(node=node))


def read_until_it_fails(consumer: Consumer) -> None:
    while True:
        consumer.poll(1)


@pytest.mark.case("S6", "X9")
def test_the_name_of_each_broker_is_that_of_its_own_metadata(
    cluster: FakeCluster, authority: Authority
) -> None:
    """Node 2 is advertised by name, node 1 by address: a certificate for both is right, each of them alone is not."""
    cluster.advertise(2, "localhost")
    cluster.use_tls(authority.broker("localhost"), 2)
    with Admin(**options(cluster, authority)) as admin:
        assert not admin.list_groups().errors
    cluster.use_tls(authority.broker("127.0.0.1"), 2)
    with Admin(**options(cluster, authority)) as admin:
        (error,) = admin.list_groups().errors.values()
    assert isinstance(error, AuthError)
    assert "is not for localhost" in error.what
    assert "names 127.0.0.1" in error.why


@pytest.mark.case("S6", "X9")
def test_no_byte_of_a_record_reaches_a_broker_with_another_name(
    cluster: FakeCluster, authority: Authority
) -> None:
    """The producer's record fails at once; the broker has seen no request, not even ApiVersions."""
    cluster.use_tls(authority.broker("broker2.example.org"), 2)
    before = len(cluster.connections)
    with Producer(**options(cluster, authority)) as producer:
        lost = send(producer, "t", led_by(cluster, 2), b"secret")[0]
        kept = send(producer, "t", led_by(cluster, 1), b"kept")[0]
        producer.flush(PATIENCE)
    assert isinstance(lost.error, AuthError)
    assert "broker2.example.org" in lost.error.why
    assert kept.error is None
    assert requests_to(cluster, 2) == 0
    assert sum(one.node == 2 for one in cluster.connections[before:]) <= 2


@pytest.mark.case("S6")
def test_a_certificate_that_changes_while_records_are_read_ends_the_reading(
    cluster: FakeCluster, authority: Authority
) -> None:
    """At most one further attempt; a certificate is not tried again and again."""
    for partition in (0, 1):
        put(cluster, "t", partition)
    with Consumer(
        **options(
            cluster,
            authority,
            reconnect_backoff_ms=5,
            reconnect_backoff_max_ms=5,
            auto_offset_reset="earliest",
        )
    ) as consumer:
        consumer.assign([("t", 0), ("t", 1)])
        assert consumer.poll(PATIENCE)
        cluster.use_tls(authority.broker("elsewhere.example.org"), 2)
        before, seen = len(cluster.connections), requests_to(cluster, 2)
        cluster.reset_connections(2)
        with pytest.raises(AuthError, match=r"elsewhere\.example\.org"):
            read_until_it_fails(consumer)
        assert requests_to(cluster, 2) == seen
        assert sum(one.node == 2 for one in cluster.connections[before:]) <= 2


@pytest.mark.case("S6", "X15")
@pytest.mark.parametrize("host", ["a b", "-x", "\x1b[31mred", "x" * 300, "h:1"])
def test_a_host_that_is_no_host_is_not_even_looked_up(
    cluster: FakeCluster, authority: Authority, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the broker; the others go on."""
    cluster.advertise(2, host)
    with Admin(**options(cluster, authority)) as admin:
        admin.cluster_id()
        looked_up: list[str] = []
        monkeypatch.setattr(
            admin.cluster.brokers, "_resolve", lambda name, port: looked_up.append(name) or []
        )
        listing = admin.list_groups()
    assert not looked_up
    (error,) = listing.errors.values()
    assert isinstance(error, ProtocolError)
    assert "broker 2 advertises" in error.what
    assert requests_to(cluster, 1) > 0


@pytest.mark.case("S6", "X15")
def test_hosts_that_are_not_allowed_are_not_connected_to(cluster: FakeCluster, authority: Authority) -> None:
    cluster.advertise(2, "localhost")
    with Admin(**options(cluster, authority, metadata_allowed_hosts="*.example.org")) as admin:
        (error,) = admin.list_groups().errors.values()
    assert isinstance(error, AuthError)
    assert "broker 2 advertises localhost, which is not allowed" in error.what
    assert [one.node for one in cluster.connections] == [1]


@pytest.mark.case("S6", "X9")
def test_the_name_is_sent_for_names_and_not_for_addresses(cluster: FakeCluster, authority: Authority) -> None:
    """SNI (RFC 6066 knows no addresses)."""
    asked: list[str | None] = []
    context = authority.broker("127.0.0.1", "localhost")
    context.sni_callback = lambda _tls, name, _context: asked.append(name)
    cluster.use_tls(context)
    cluster.advertise(2, "localhost")
    with Admin(**options(cluster, authority)) as admin:
        assert not admin.list_groups().errors
    assert asked == [None, "localhost"]


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_megabytes_go_through_tls_both_ways(
    cluster: FakeCluster, authority: Authority, version: ssl.TLSVersion
) -> None:
    """Records of TLS are 16 KiB: large requests are written in parts, large responses read from what is decrypted."""
    context = authority.broker("127.0.0.1")
    context.maximum_version = version
    cluster.use_tls(context)
    bodies = [bytes([n]) * 900_000 for n in range(20)]
    with Producer(**options(cluster, authority, batch_size=2_000_000)) as producer:
        for body in bodies:
            send(producer, "t", 0, body)
        assert producer.flush(PATIENCE)
        assert producer.totals.failed == 0
    assert values(cluster, "t") == bodies
    bootstrap = options(cluster, authority)
    del bootstrap["bootstrap_servers"]
    assert read(cluster, "t", 1, **bootstrap) == bodies


def test_a_broker_that_ends_tls_in_order_is_connected_to_again(
    cluster: FakeCluster, authority: Authority
) -> None:
    """close_notify, as at the end of connections.max.idle.ms: no error."""
    with Admin(**options(cluster, authority)) as admin:
        assert not admin.list_groups().errors
        cluster.reset_connections(how="close")
        assert not admin.list_groups().errors
