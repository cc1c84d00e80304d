"""Brokers that are reached elsewhere than they advertise, and through proxies: by mapped addresses, SOCKS5 and CONNECT,
with TLS and without. The names of the brokers exist nowhere but in the proxy, so that nothing else could reach them.
"""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.core import Admin, Producer
from kcli.core.cluster.brokers import Brokers
from kcli.core.errors import AuthError, ConfigError, ConnectError, KcliError
from kcli.core.net.detours import Detours
from kcli.core.net.resolve import Address
from kcli.core.options import ClientOptions
from kcli.core.types import Node
from tests.certificates import Authority
from tests.committing import put
from tests.fake.cluster import FakeCluster
from tests.fake.proxies import Proxy
from tests.fault.producing import PATIENCE, send, values
from tests.fault.watching import read
from tests.run import kcli, kcli_process

NAMES = {"b-1.internal": "127.0.0.1", "b-2.internal": "127.0.0.1"}
LOGIN = ("me", "hunter2")
QUICK = {"default_api_timeout_ms": 2_000, "socket_connection_setup_timeout_ms": 500}
"""What is refused ends by then."""


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcli.core.cluster.cluster._REFUSED_PATIENCE", 0.1)


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    """Two brokers under names that this machine does not know; each leads one partition."""
    with FakeCluster(2, topics={"t": 2}) as found:
        for node in (1, 2):
            found.advertise(node, f"b-{node}.internal")
        yield found


def ports(cluster: FakeCluster) -> list[str]:
    return [cluster.address(node).rpartition(":")[2] for node in (1, 2)]


def bootstrap(cluster: FakeCluster) -> str:
    return f"b-1.internal:{ports(cluster)[0]}"


def round_trip(cluster: FakeCluster, **options: Any) -> None:
    """A record to each of the brokers, and both read again."""
    with Producer(bootstrap_servers=bootstrap(cluster), **options) as producer:
        sent = [send(producer, "t", partition, f"v{partition}".encode())[0] for partition in (0, 1)]
        producer.flush(PATIENCE)
    assert [future.error for future in sent] == [None, None]
    assert sorted(values(cluster, "t", 0) + values(cluster, "t", 1)) == [b"v0", b"v1"]
    assert sorted(filter(None, read(cluster, "t", 2, bootstrap_servers=bootstrap(cluster), **options))) == [
        b"v0",
        b"v1",
    ]


def refusal(cluster: FakeCluster, servers: str = "", **options: Any) -> KcliError:
    with (
        pytest.raises(KcliError) as raised,
        Admin(bootstrap_servers=servers or bootstrap(cluster), **QUICK, **options) as admin,
    ):
        admin.describe_cluster()
    return raised.value


@pytest.mark.parametrize("login", [None, LOGIN])
@pytest.mark.parametrize("scheme", ["socks5h", "http"])
@pytest.mark.parametrize("tls", [False, True])
def test_records_pass_through_a_proxy_that_alone_knows_the_brokers(
    cluster: FakeCluster, authority: Authority, scheme: str, login: tuple[str, str] | None, tls: bool
) -> None:
    """With TLS each broker is checked by its own name: the certificate of another would not do."""
    options: dict[str, Any] = {}
    if tls:
        for node in (1, 2):
            cluster.use_tls(authority.broker(f"b-{node}.internal"), node)
        options = {"security_protocol": "SSL", "ssl_ca_location": str(authority.ca)}
    if login is not None:
        options |= {"proxy_username": login[0], "proxy_password": login[1]}
    with Proxy(NAMES, login) as proxy:
        round_trip(cluster, proxy_url=proxy.url(scheme), **options)
    expected = {(f"b-{node}.internal", int(port)) for node, port in zip((1, 2), ports(cluster), strict=True)}
    assert set(proxy.asked) == expected
    assert set(proxy.logins) == ({login} if login else set())


def test_socks5_is_given_addresses_and_socks5h_names(cluster: FakeCluster) -> None:
    for node in (1, 2):
        cluster.advertise(node, "localhost")
    address = f"localhost:{ports(cluster)[0]}"
    for scheme, host in (("socks5", "127.0.0.1"), ("socks5h", "localhost")):
        with Proxy({"localhost": "127.0.0.1", "::1": "127.0.0.1"}) as proxy:
            with Admin(bootstrap_servers=address, proxy_url=proxy.url(scheme)) as admin:
                assert len(admin.describe_cluster().brokers) == 2
            assert {"127.0.0.1" if asked == "::1" else asked for asked, _port in proxy.asked} == {host}


@pytest.mark.skipif(not socket.has_ipv6, reason="this system has no IPv6")
def test_a_proxy_and_brokers_may_have_literals_of_ipv6(cluster: FakeCluster) -> None:
    for node in (1, 2):
        cluster.advertise(node, "2001:db8::7")
    for scheme in ("socks5", "http"):
        with Proxy({"2001:db8::7": "127.0.0.1"}, host="::1") as proxy:
            with Admin(
                bootstrap_servers=f"[2001:db8::7]:{ports(cluster)[0]}", proxy_url=proxy.url(scheme)
            ) as admin:
                assert len(admin.describe_cluster().brokers) == 2
            assert {host for host, _port in proxy.asked} == {"2001:db8::7"}


@pytest.mark.parametrize("tls", [False, True])
def test_mapped_addresses_are_connected_to_under_the_brokers_own_names(
    cluster: FakeCluster, authority: Authority, tls: bool
) -> None:
    options: dict[str, Any] = {}
    if tls:
        for node in (1, 2):
            cluster.use_tls(authority.broker(f"b-{node}.internal"), node)
        options = {"security_protocol": "SSL", "ssl_ca_location": str(authority.ca)}
    round_trip(cluster, map_address="*.internal=127.0.0.1", **options)


@pytest.mark.case("X9")
def test_the_certificate_of_the_tunnel_is_not_enough(cluster: FakeCluster, authority: Authority) -> None:
    cluster.use_tls(authority.broker("127.0.0.1", "localhost"))
    error = refusal(
        cluster,
        map_address="*.internal=127.0.0.1",
        security_protocol="SSL",
        ssl_ca_location=str(authority.ca),
    )
    assert isinstance(error, AuthError)
    assert "is not for b-1.internal" in error.what


def test_a_proxy_connects_to_the_mapped_address(cluster: FakeCluster) -> None:
    with Proxy({"inside": "127.0.0.1"}) as proxy:
        round_trip(cluster, proxy_url=proxy.url("http"), map_address="*.internal=inside")
    assert {host for host, _port in proxy.asked} == {"inside"}


def test_a_broker_that_is_not_mapped_is_named_with_what_to_add(cluster: FakeCluster) -> None:
    first, second = ports(cluster)
    with Admin(
        bootstrap_servers=bootstrap(cluster),
        timeout=1.5,
        map_address=f"b-1.internal:{first}=127.0.0.1",
        **QUICK,
    ) as admin:
        (error,) = admin.list_groups().errors.values()
    assert f"broker 2 advertises b-2.internal:{second}, unreachable from here" in str(error)
    assert f"map.address=b-2.internal:{second}=HOST:PORT" in error.do


@pytest.mark.parametrize("tls", [False, True])
def test_two_brokers_are_not_one_unless_tls_says_which(
    cluster: FakeCluster, authority: Authority, tls: bool
) -> None:
    """Else the log directories of one would count as those of both. With TLS it may be a router that reads SNI."""
    options: dict[str, Any] = {}
    if tls:
        cluster.use_tls(authority.broker("b-1.internal", "b-2.internal"))
        options = {"security_protocol": "SSL", "ssl_ca_location": str(authority.ca)}
    first, second = ports(cluster)
    with Admin(
        bootstrap_servers=bootstrap(cluster), map_address=f"*=127.0.0.1:{first}", timeout=10, **options
    ) as admin:
        assert len(admin.describe_cluster().brokers) == 2
        found = admin.list_groups().errors
    if tls:
        assert not found
        return
    (error,) = found.values()
    assert isinstance(error, ConfigError)
    assert f"leads to 127.0.0.1:{first} both for broker 1 and for broker 2" in str(error)
    assert f"map.address=b-2.internal:{second}=HOST:PORT" in error.do


def test_a_broker_at_the_same_address_with_another_id_is_none_beside_it() -> None:
    detours = Detours(ClientOptions(bootstrap_servers="boot:9092", map_address="*=127.0.0.1:9092"))
    for number in (1, 2):
        assert detours.clash(Node(number, "b.internal", 9092)) is None
    assert detours.clash(Node(3, "b-3.internal", 9092)) is not None


@pytest.mark.parametrize("scheme", ["socks5h", "http"])
def test_refusals_of_a_proxy_are_said(cluster: FakeCluster, scheme: str) -> None:
    with Proxy({}) as proxy:
        error = refusal(cluster, proxy_url=proxy.url(scheme))
        assert isinstance(error, ConnectError)
        assert f"the proxy {proxy.url(scheme)} did not connect to {bootstrap(cluster)}" in str(error)
    with Proxy(NAMES, LOGIN) as proxy:
        wrong = {"proxy_username": "me", "proxy_password": "wrong"}
        error = refusal(cluster, proxy_url=proxy.url(scheme), **wrong)
        assert isinstance(error, AuthError)
        assert len(proxy.logins) == 1  # wrong credentials are sent once
        error = refusal(cluster, proxy_url=proxy.url(scheme))
        assert isinstance(error, AuthError)
        assert "give proxy.username" in error.do
    with Proxy(silent=True) as proxy:
        error = refusal(cluster, proxy_url=proxy.url(scheme))
        assert "has not connected to" in str(error)
    error = refusal(cluster, proxy_url=f"{scheme}://proxy.invalid:1080")
    assert "cannot resolve proxy.invalid, which proxy.url names" in str(error)
    both = ",".join(f"b-{node}.internal:{port}" for node, port in zip((1, 2), ports(cluster), strict=True))
    for servers in (bootstrap(cluster), both):
        error = refusal(cluster, servers, proxy_url=proxy.url(scheme))  # it is closed by now
        assert f"through the proxy {proxy.url(scheme)}" in f"{error} {error.why}"
        assert "that the proxy is running" in error.do


def test_a_mapped_name_that_does_not_exist_is_named_with_its_option(cluster: FakeCluster) -> None:
    error = refusal(cluster, map_address="*.internal=nowhere.invalid")
    assert "cannot resolve nowhere.invalid, which map.address names" in str(error)


def test_socks5_is_given_each_address_of_a_name(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of which the first may lead nowhere, as that of a listener which has no IPv6."""
    addresses = ["2001:db8::7", "127.0.0.1"]
    monkeypatch.setattr(
        "kcli.core.cluster.brokers.Brokers.__init__.__kwdefaults__",
        Brokers.__init__.__kwdefaults__
        | {"resolve": lambda _host, port: [Address(socket.AF_INET, (one, port)) for one in addresses]},
    )
    with (
        Proxy() as proxy,
        Admin(bootstrap_servers=bootstrap(cluster), proxy_url=proxy.url("socks5")) as admin,
    ):
        assert len(admin.describe_cluster().brokers) == 2
    assert [host for host, _port in proxy.asked] == addresses * (len(proxy.asked) // 2)


def test_the_other_kind_of_proxy_is_recognized(cluster: FakeCluster) -> None:
    """A broker's port is no proxy at all: it closes the connection, or says what is none of HTTP."""
    error = refusal(cluster, proxy_url=f"http://{cluster.address(1)}")
    assert isinstance(error, ConnectError)
    assert "the proxy http://" in str(error)


def test_the_command_line_maps_addresses_and_takes_logins_from_a_url(cluster: FakeCluster) -> None:
    first, second = ports(cluster)
    mapped = (
        "--map-address",
        f"b-1.internal:{first}=127.0.0.1",
        "--map-address",
        f"b-2.internal:{second}=127.0.0.1",
    )
    done = kcli("topics", "offsets", "t", *mapped, bootstrap=bootstrap(cluster))
    assert (done.code, done.err) == (0, "")
    with Proxy(NAMES, ("m e", "hunter:2")) as proxy:
        url = proxy.url("socks5h").replace("://", "://m%20e:hunter%3A2@")
        done = kcli("topics", "offsets", "t", bootstrap=bootstrap(cluster), KCLI_X_PROXY_URL=url)
        assert (done.code, done.err) == (0, "")
        assert set(proxy.logins) == {("m e", "hunter:2")}


def test_the_doctor_says_whose_addresses_it_has_looked_up(cluster: FakeCluster) -> None:
    """Nobody here knows the name of the broker."""
    with Proxy(NAMES) as proxy:
        for words, way in (
            (("-X", f"proxy.url={proxy.url('http')}"), f"127.0.0.1, through the proxy {proxy.url('http')}"),
            (
                ("--map-address", "*.internal=127.0.0.1"),
                f"127.0.0.1, at 127.0.0.1:{ports(cluster)[0]} (map.address)",
            ),
        ):
            done = kcli("doctor", "-o", "json", *words, bootstrap=bootstrap(cluster))
            found = [one["detail"] for one in done.items if one["check"] in ("DNS", "TCP")]
            assert found[:2] == [way, way], done


def profile(name: str, cluster: FakeCluster, proxy: Proxy, login: str) -> str:
    url = proxy.url("socks5h").replace("://", f"://{login}@")
    return f'[profiles.{name}]\nbootstrap.servers = "{bootstrap(cluster)}"\nproxy.url = "{url}"\n'


@pytest.fixture
def configured(
    cluster: FakeCluster, tmp_path: Path
) -> Iterator[tuple[FakeCluster, FakeCluster, Proxy, Proxy, Path]]:
    """Two clusters as profiles, each behind a proxy of its own with a login of its own."""
    with (
        FakeCluster(2, cluster_id="target") as target,
        Proxy(NAMES, ("of", "source")) as first,
        Proxy(NAMES, ("of", "target")) as second,
    ):
        for node in (1, 2):
            target.advertise(node, f"b-{node}.internal")
        path = tmp_path / "kcli/config.toml"
        path.parent.mkdir()
        path.write_text(
            profile("source", cluster, first, "of:source") + profile("target", target, second, "of:target")
        )
        path.chmod(0o600)
        yield cluster, target, first, second, tmp_path


def test_each_side_of_a_mirror_has_its_own_proxy(
    configured: tuple[FakeCluster, FakeCluster, Proxy, Proxy, Path],
) -> None:
    source, target, first, second, folder = configured
    put(source, "t", 0, 2)
    line = "mirror --from source --to target -t t --until-caught-up --yes"
    done = kcli_process(*line.split(), XDG_CONFIG_HOME=str(folder), XDG_STATE_HOME=str(folder / "state"))
    assert done.code == 0, done.err
    assert values(target, "t", 0) == [b"v", b"v"]
    for cluster, proxy, login in ((source, first, "source"), (target, second, "target")):
        assert {port for _host, port in proxy.asked} <= {int(port) for port in ports(cluster)}
        assert set(proxy.logins) == {("of", login)}


@pytest.mark.long
def test_each_process_of_a_pipeline_uses_the_proxy(
    configured: tuple[FakeCluster, FakeCluster, Proxy, Proxy, Path],
) -> None:
    source, _target, first, _second, folder = configured
    put(source, "t", 0, 2)
    put(source, "t", 1, 1)
    line = f"pipeline export t {folder}/out --format ndjson --runner processes --profile source"
    done = kcli_process(*line.split(), XDG_CONFIG_HOME=str(folder), XDG_STATE_HOME=str(folder / "state"))
    assert done.code == 0, done.err
    assert "exported 3 records" in done.err
    assert set(first.logins) == {("of", "source")}


def test_a_login_that_the_proxy_refuses_is_held_back(cluster: FakeCluster) -> None:
    """As that of brokers (decision 0071): the second address, and what is asked again at once, do not send it."""
    servers = f"{bootstrap(cluster)},b-2.internal:{ports(cluster)[1]}"
    with Proxy(NAMES, LOGIN) as proxy:
        wrong = {"proxy_url": proxy.url("http"), "proxy_username": "me", "proxy_password": "wrong"}
        with Admin(bootstrap_servers=servers, **QUICK, **wrong) as admin:
            for _ in range(5):
                with pytest.raises(AuthError):
                    admin.describe_cluster()
        assert len(proxy.logins) == 1
