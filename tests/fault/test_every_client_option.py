"""Each option that every client has changes something that a broker, a socket or a clock sees.

``PROOFS`` has an entry for each of them; one that is declared without a proof fails. That commands hand their options on
to their clients is tested in ``tests/cli/test_every_option.py``.
"""

import base64
import contextlib
import dataclasses
import json
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from kcli.core import Admin
from kcli.core.clock import wall_ms
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.offsets import OffsetInfo
from kcli.core.connection.sasl.token import Token
from kcli.core.errors import AuthError, ConfigError, KcliError, WrongClusterError
from kcli.core.net.tls.context import ClientContext, tls_context
from kcli.core.options import ClientOptions
from kcli.core.protocol.messages.list_groups import ListGroupsRequest
from kcli.core.protocol.messages.metadata import MetadataRequest
from kcli.core.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kcli.core.secret import Secret
from kcli.core.types import TopicPartition
from tests.certificates import Authority
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.kerberos import installed
from tests.fake.peers import PEERS, Peer
from tests.fake.proxies import Proxy
from tests.fake.sasl import Sasl
from tests.fake.script import FOREVER
from tests.fault.watching import Heard
from tests.identity_provider import Granted, IdentityProvider
from tests.lasting import Moment, lasted
from tests.segments import batch, write

NAMES = [field.name for field in dataclasses.fields(ClientOptions)]


@pytest.fixture(scope="module")
def shared() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": 1}) as cluster:
        yield cluster


@pytest.fixture
def cluster(shared: FakeCluster) -> Iterator[FakeCluster]:
    yield shared
    shared.heal()


def options(cluster: FakeCluster, **values: Any) -> ClientOptions:
    return ClientOptions(**{"bootstrap_servers": cluster.bootstrap, **values})


def connected(cluster: FakeCluster, seconds: float = 0.0, **values: Any) -> Cluster:
    """A client that was turned for so long; the caller closes it."""
    client = Cluster(options(cluster, **values))
    client.connect(10)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        client.sleep(0.01)
    return client


def since(cluster: FakeCluster, api: Any, act: Callable[[], object]) -> list[Any]:
    """The requests of an API that came while ``act`` ran."""
    before = len(cluster.seen(api))
    act()
    return cluster.seen(api)[before:]


def listing(cluster: FakeCluster, seconds: float, **values: Any) -> int:
    """How often groups were asked for until an admin client gave up."""

    def ask() -> None:
        with Admin(options(cluster, **values), timeout=seconds) as admin, pytest.raises(KcliError):
            raise next(iter(admin.list_groups().errors.values()))

    return len(since(cluster, ListGroupsRequest, ask))


def bootstrap_servers(cluster: FakeCluster) -> None:
    connected(cluster).close()
    with pytest.raises(KcliError):
        Cluster(ClientOptions(bootstrap_servers="127.0.0.1:1")).connect(1)


def client_id(cluster: FakeCluster) -> None:
    seen = since(cluster, MetadataRequest, lambda: connected(cluster, client_id="somebody").close())
    assert {one.client_id for one in seen} == {"somebody"}


def security_protocol(cluster: FakeCluster) -> None:
    """The first byte is that of a TLS record."""
    for protocol, first in (("SSL", 0x16), ("PLAINTEXT", 0)):
        with Peer(PEERS["silence"]) as peer:
            client = Cluster(ClientOptions(bootstrap_servers=peer.address, security_protocol=protocol))
            with pytest.raises(KcliError):
                client.connect(0.3)
            client.close()
            assert peer.received[:1] == bytes([first])


def _tls(**values: Any) -> ClientContext:
    found = tls_context(ClientOptions(security_protocol="SSL", **values))
    assert isinstance(found, ClientContext)
    return found


def _trusting(**values: Any) -> int:
    return len(_tls(**values).get_ca_certs())


def ssl_ca_location(_cluster: FakeCluster) -> None:
    with pytest.raises(KcliError, match="CA certificates in /no/ca"):
        _tls(ssl_ca_location="/no/ca")


def ssl_ca_pem(_cluster: FakeCluster) -> None:
    with TemporaryDirectory() as folder:
        assert _trusting(ssl_ca_pem=Authority(Path(folder)).pem) == 1


def _truststore(**values: Any) -> None:
    with TemporaryDirectory() as folder:
        store = Authority(Path(folder)).truststore("secret")
        assert _trusting(ssl_ca_location=str(store), ssl_truststore_password=Secret("secret")) == 1
        with pytest.raises(KcliError, match="ca-trust"):
            _tls(**{"ssl_ca_location": str(store), **values})


def ssl_truststore_type(_cluster: FakeCluster) -> None:
    _truststore(ssl_truststore_type="PEM")


def ssl_truststore_password(_cluster: FakeCluster) -> None:
    _truststore(ssl_truststore_password=Secret("wrong"))


def _own_certificate(**values: Any) -> None:
    """Without ``values`` the client has none."""
    with TemporaryDirectory() as folder:
        client = Authority(Path(folder)).client()
        encrypted = client.encrypted_key_pem("secret")
        words = {
            "crt": client.certificate, "key": client.key, "p12": client.pkcs12("secret"),
            "certificate": client.certificate_pem, "private": Secret(client.key_pem), "encrypted": Secret(encrypted),
        }  # fmt: skip
        given = {name: words.get(value, value) for name, value in values.items()}
        assert _tls(**{n: str(v) if isinstance(v, Path) else v for n, v in given.items()}).has_certificate
    assert not _tls().has_certificate


def ssl_certificate_location(_cluster: FakeCluster) -> None:
    _own_certificate(ssl_certificate_location="crt", ssl_key_location="key")


def ssl_key_location(_cluster: FakeCluster) -> None:
    _own_certificate(ssl_certificate_pem="certificate", ssl_key_location="key")


def ssl_certificate_pem(_cluster: FakeCluster) -> None:
    _own_certificate(ssl_certificate_pem="certificate", ssl_key_pem="private")


def ssl_key_pem(_cluster: FakeCluster) -> None:
    _own_certificate(ssl_certificate_location="crt", ssl_key_pem="private")


def ssl_key_password(_cluster: FakeCluster) -> None:
    password = Secret("secret")
    _own_certificate(ssl_certificate_location="crt", ssl_key_pem="encrypted", ssl_key_password=password)
    with pytest.raises(KcliError, match="no password is given"):
        _own_certificate(ssl_certificate_location="crt", ssl_key_pem="encrypted")


def ssl_keystore_location(_cluster: FakeCluster) -> None:
    _own_certificate(ssl_keystore_location="p12", ssl_keystore_password=Secret("secret"))


def ssl_keystore_type(_cluster: FakeCluster) -> None:
    with pytest.raises(KcliError, match="is not a PEM store"):
        _own_certificate(ssl_keystore_location="p12", ssl_keystore_type="PEM")


def ssl_keystore_password(_cluster: FakeCluster) -> None:
    with pytest.raises(KcliError, match="its password is wrong"):
        _own_certificate(ssl_keystore_location="p12", ssl_keystore_password=Secret("wrong"))


def ssl_endpoint_identification_algorithm(_cluster: FakeCluster) -> None:
    assert _tls().check_hostname
    assert not _tls(ssl_endpoint_identification_algorithm="none").check_hostname


def enable_ssl_certificate_verification(_cluster: FakeCluster) -> None:
    assert _tls(enable_ssl_certificate_verification=False).verify_mode is ssl.CERT_NONE


def log_dirs(_cluster: FakeCluster) -> None:
    with TemporaryDirectory() as path:
        write(Path(path, "orders-0"), [batch(0)])
        with Cluster(ClientOptions(log_dirs=path)) as client:
            client.connect(10)
            assert client.directories is not None
            assert client.all_topics(client.deadline(10)).topics.keys() == {"orders"}


def log_dirs_transactions(_cluster: FakeCluster) -> None:
    """A transaction that is open at the end of its log hides what follows it, or it is over."""

    def end(**changes: Any) -> int:
        with Admin(ClientOptions(log_dirs=path, **changes)) as admin:
            (one,) = admin.list_offsets({TopicPartition("orders", 0): -1}, committed_only=True).values()
        assert isinstance(one, OffsetInfo)
        return one.offset

    with TemporaryDirectory() as path:
        write(Path(path, "orders-0"), [batch(0), batch(1, producer=1, transactional=True), batch(2)])
        assert (end(), end(log_dirs_transactions="end")) == (1, 3)


def metadata_allowed_hosts(cluster: FakeCluster) -> None:
    cluster.advertise(1, "localhost")
    try:
        assert listing(cluster, 5, metadata_allowed_hosts="*.example.org") == 0
        with Admin(options(cluster, metadata_allowed_hosts="*.example.org,LOCAL*")) as admin:
            assert not admin.list_groups().errors
    finally:
        cluster.advertise(1, "127.0.0.1")


def map_address(cluster: FakeCluster) -> None:
    address = f"b.invalid:{cluster.address(1).rpartition(':')[2]}"
    connected(cluster, bootstrap_servers=address, map_address="*.invalid=127.0.0.1").close()


def proxy_url(cluster: FakeCluster) -> None:
    with Proxy() as proxy:
        connected(cluster, proxy_url=proxy.url("socks5h")).close()
        assert proxy.asked


def _logins(cluster: FakeCluster, **values: Any) -> list[tuple[str, str]]:
    with Proxy(login=("me", "hunter2")) as proxy:
        wanted = {"proxy_url": proxy.url("http"), "proxy_username": "me", "proxy_password": Secret("hunter2")}
        with contextlib.suppress(AuthError):
            connected(cluster, **{**wanted, **values}).close()
        return proxy.logins


def proxy_username(cluster: FakeCluster) -> None:
    assert _logins(cluster, proxy_username="you")[0] == ("you", "hunter2")


def proxy_password(cluster: FakeCluster) -> None:
    assert _logins(cluster) == [("me", "hunter2")]
    assert _logins(cluster, proxy_password=Secret("wrong"))[0] == ("me", "wrong")


def request_timeout_ms(cluster: FakeCluster) -> None:
    cluster.drop(ListGroupsRequest, "silence", times=FOREVER)
    assert listing(cluster, 0.6) == 1
    assert listing(cluster, 0.6, request_timeout_ms=50, retry_backoff_ms=1) > 1


def default_api_timeout_ms(cluster: FakeCluster) -> None:
    client = connected(cluster, default_api_timeout_ms=300)
    cluster.drop(MetadataRequest, "skip", times=FOREVER)
    began = Moment.now()
    with pytest.raises(KcliError):
        client.all_topics(client.deadline())
    assert time.monotonic() - began > 0.2
    assert lasted(began) < 10
    client.close()


def socket_connection_setup_timeout_ms(_cluster: FakeCluster) -> None:
    with Peer(PEERS["silence"]) as peer:
        client = Cluster(ClientOptions(bootstrap_servers=peer.address, socket_connection_setup_timeout_ms=50))
        with pytest.raises(KcliError):
            client.connect(1.0)
        client.close()
        assert len(peer.connects) > 1


def _attempts(seconds: float, **values: Any) -> int:
    """How often an address was tried at which nothing listens."""
    heard = Heard()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
    client = Cluster(
        ClientOptions(bootstrap_servers=address, retry_backoff_ms=1, **values), hooks=heard.hooks
    )
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        client.refresh_now(())
        client.sleep(0.005)
    client.close()
    return len(heard.failed_connects(address))


def reconnect_backoff_ms(_cluster: FakeCluster) -> None:
    assert _attempts(0.5, reconnect_backoff_ms=400) <= 3
    assert _attempts(0.5, reconnect_backoff_ms=10, reconnect_backoff_max_ms=10) > 6


def reconnect_backoff_max_ms(_cluster: FakeCluster) -> None:
    assert _attempts(0.5, reconnect_backoff_ms=10, reconnect_backoff_max_ms=100_000) <= 7
    assert _attempts(0.5, reconnect_backoff_ms=10, reconnect_backoff_max_ms=10) > 7


def retry_backoff_ms(cluster: FakeCluster) -> None:
    cluster.fail(ListGroupsRequest, Code.COORDINATOR_LOAD_IN_PROGRESS, times=FOREVER)
    assert listing(cluster, 0.5, retry_backoff_ms=400) <= 3
    assert listing(cluster, 0.5, retry_backoff_ms=5, retry_backoff_max_ms=5) > 6


def retry_backoff_max_ms(cluster: FakeCluster) -> None:
    cluster.fail(ListGroupsRequest, Code.COORDINATOR_LOAD_IN_PROGRESS, times=FOREVER)
    assert listing(cluster, 0.5, retry_backoff_ms=10, retry_backoff_max_ms=100_000) <= 7
    assert listing(cluster, 0.5, retry_backoff_ms=10, retry_backoff_max_ms=10) > 7


def metadata_max_age_ms(cluster: FakeCluster) -> None:
    assert len(since(cluster, MetadataRequest, lambda: connected(cluster, 0.5).close())) <= 2
    quick = {"metadata_max_age_ms": 20, "retry_backoff_ms": 10}
    assert len(since(cluster, MetadataRequest, lambda: connected(cluster, 0.5, **quick).close())) > 3


def connections_max_idle_ms(cluster: FakeCluster) -> None:
    """Connections are checked whenever the cluster's layout was asked for: by the one that is kept for that."""

    def opened(**values: Any) -> int:
        before = len(cluster.connections)
        client = connected(cluster, 0.0, metadata_max_age_ms=300_000, **values)
        for _ in range(3):
            client.sleep(0.15)
            client.wait_refreshed(client.deadline(5))
            client.brokers.close_idle(client.loop.now() + 0.1)
        client.close()
        return len(cluster.connections) - before

    assert opened() == 1
    assert opened(connections_max_idle_ms=50) > 1


def _socket_option(cluster: FakeCluster, option: int, **values: Any) -> int:
    client = connected(cluster, **values)
    sizes = [
        channel._socket.getsockopt(socket.SOL_SOCKET, option)
        for channel in client.loop._channels
        if channel._socket is not None
    ]
    client.close()
    assert len(sizes) == 1
    return sizes[0]


def send_buffer_bytes(cluster: FakeCluster) -> None:
    """Linux doubles what it is asked for."""
    assert _socket_option(cluster, socket.SO_SNDBUF, send_buffer_bytes=30_000) == 60_000


def receive_buffer_bytes(cluster: FakeCluster) -> None:
    assert _socket_option(cluster, socket.SO_RCVBUF, receive_buffer_bytes=30_000) == 60_000


def receive_message_max_bytes(cluster: FakeCluster) -> None:
    def long(answer: Any) -> None:
        answer.cluster_id = "c" * 2_000

    cluster.lie(long)
    connected(cluster).close()
    client = Cluster(options(cluster, receive_message_max_bytes=1_000))
    with pytest.raises(KcliError):
        client.connect(1)
    client.close()


def cluster_id(cluster: FakeCluster) -> None:
    with Admin(options(cluster)) as admin:
        own = admin.cluster_id()
    connected(cluster, cluster_id=own).close()
    asked = since(cluster, ListGroupsRequest, lambda: _refused_cluster(cluster))
    assert not asked


def _refused_cluster(cluster: FakeCluster) -> None:
    """Nothing is requested of a cluster before its id was compared, even without connecting first."""
    with Admin(options(cluster, cluster_id="another"), timeout=1) as admin:
        with pytest.raises(WrongClusterError, match="not to another") as caught:
            admin.list_groups()
        assert caught.value.exit_code == 7
    client = Cluster(options(cluster, cluster_id="another"))
    sent = client.send(ListGroupsRequest())
    assert sent.done
    assert sent.error is not None
    client.close()


def allow_auto_create_topics(cluster: FakeCluster) -> None:
    for allowed in (True, False):
        seen = since(
            cluster,
            MetadataRequest,
            lambda allowed=allowed: connected(cluster, allow_auto_create_topics=allowed).close(),  # type: ignore[misc]
        )
        assert {one.request.allow_auto_topic_creation for one in seen} == {allowed}


ALICE = Sasl(
    users={"alice": "secret"},
    tokens={"abc": "alice"},
    mechanisms=("PLAIN", "SCRAM-SHA-512", "OAUTHBEARER", "AWS_MSK_IAM", "GSSAPI"),
    access_keys={"AKIDENV": "secret", "AKIDFILE": "another"},
)


def _first_message(cluster: FakeCluster, **values: Any) -> bytes:
    """The first message of a mechanism, from a client with these credentials; by default those of a user."""
    given: dict[str, Any] = {"sasl_mechanism": "PLAIN"} | values
    if given["sasl_mechanism"] in ("PLAIN", "SCRAM-SHA-512"):
        given = {"sasl_username": "alice", "sasl_password": Secret("secret")} | given
    given |= {"security_protocol": "SASL_PLAINTEXT", "allow_plaintext_secrets": True, **values}
    cluster.settings.sasl = ALICE
    try:
        seen = since(cluster, SaslAuthenticateRequest, lambda: connected(cluster, **given).close())
    finally:
        cluster.settings.sasl = None
    return bytes(seen[0].request.auth_bytes)


def sasl_mechanism(cluster: FakeCluster) -> None:
    assert _first_message(cluster, sasl_mechanism="SCRAM-SHA-512").startswith(b"n,,n=alice,r=")
    assert _first_message(cluster) == b"\0alice\0secret"


def sasl_username(cluster: FakeCluster) -> None:
    with pytest.raises(AuthError, match="authentication as bob with PLAIN failed"):
        _first_message(cluster, sasl_username="bob")


def sasl_password(cluster: FakeCluster) -> None:
    with pytest.raises(AuthError, match="authentication as alice with PLAIN failed"):
        _first_message(cluster, sasl_password=Secret("wrong"))


def sasl_tokenauth(cluster: FakeCluster) -> None:
    with pytest.raises(
        AuthError, match="authentication as alice with SCRAM-SHA-512 failed"
    ):  # no token has that id
        _first_message(cluster, sasl_mechanism="SCRAM-SHA-512", sasl_tokenauth=True)
    token = cluster.tokens.add(wall_ms(), "alice")
    password = Secret(base64.b64encode(token.hmac).decode())
    values = {"sasl_username": token.id, "sasl_password": password, "sasl_tokenauth": True}
    assert _first_message(cluster, sasl_mechanism="SCRAM-SHA-512", **values).endswith(b",tokenauth=true")


def sasl_oauthbearer_token_provider(cluster: FakeCluster) -> None:
    def provider() -> Token:
        return Token(value=Secret("abc"))

    message = _first_message(cluster, sasl_mechanism="OAUTHBEARER", sasl_oauthbearer_token_provider=provider)
    assert message == BEARER


BEARER = b"n,,\x01auth=Bearer abc\x01\x01"


def sasl_oauthbearer_token_file(cluster: FakeCluster) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "token")
        path.write_text("abc\n")
        given = {"sasl_mechanism": "OAUTHBEARER", "sasl_oauthbearer_token_file": str(path)}
        assert _first_message(cluster, **given) == BEARER


def sasl_oauthbearer_token_command(cluster: FakeCluster) -> None:
    given = {"sasl_mechanism": "OAUTHBEARER", "sasl_oauthbearer_token_command": "echo abc"}
    assert _first_message(cluster, **given) == BEARER


def sasl_oauthbearer_extensions(cluster: FakeCluster) -> None:
    given = {"sasl_oauthbearer_token_command": "echo abc", "sasl_oauthbearer_extensions": "a=b, c=d"}
    message = _first_message(cluster, sasl_mechanism="OAUTHBEARER", **given)
    assert message == b"n,,\x01auth=Bearer abc\x01a=b\x01c=d\x01\x01"


def _granted(cluster: FakeCluster, **values: Any) -> Granted:
    """What an identity provider was sent before the client logged in with the token that it got."""
    with TemporaryDirectory() as folder:
        authority = Authority(Path(folder))
        with IdentityProvider(authority.broker("localhost")) as provider:
            given = {
                "sasl_mechanism": "OAUTHBEARER",
                "sasl_oauthbearer_token_endpoint_url": provider.url,
                "sasl_oauthbearer_client_id": "k:li",
                "sasl_oauthbearer_client_secret": Secret("hunter2"),
                "sasl_oauthbearer_ca_location": str(authority.ca),
            }
            assert _first_message(cluster, **{**given, **values}) == BEARER
            (seen,) = provider.requests
            return seen


def sasl_oauthbearer_token_endpoint_url(cluster: FakeCluster) -> None:
    assert _granted(cluster).path == "/oauth2/token"


def sasl_oauthbearer_client_id(cluster: FakeCluster) -> None:
    assert _granted(cluster, sasl_oauthbearer_client_id="another").user == "another"


def sasl_oauthbearer_client_secret(cluster: FakeCluster) -> None:
    sent = _granted(
        cluster, sasl_oauthbearer_client_id="id", sasl_oauthbearer_client_secret=Secret("another")
    )
    assert sent.password == "another"


def sasl_oauthbearer_scope(cluster: FakeCluster) -> None:
    assert _granted(cluster).form == {"grant_type": ["client_credentials"]}
    assert _granted(cluster, sasl_oauthbearer_scope="a b").form["scope"] == ["a b"]


def sasl_oauthbearer_header_urlencode(cluster: FakeCluster) -> None:
    assert _granted(cluster, sasl_oauthbearer_header_urlencode=True).user == "k%3Ali"


def sasl_oauthbearer_ca_location(cluster: FakeCluster) -> None:
    with pytest.raises(AuthError, match="the certificate of the token endpoint was not accepted"):
        _granted(cluster, sasl_oauthbearer_ca_location="")


def _signed(cluster: FakeCluster, **values: Any) -> str:
    """The scope of the signature."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        Path(folder, "credentials").write_text(
            "[other]\naws_access_key_id=AKIDFILE\naws_secret_access_key=another\n"
        )
        for name, text in {
            "AWS_ACCESS_KEY_ID": "AKIDENV",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_SHARED_CREDENTIALS_FILE": f"{folder}/credentials",
            "AWS_CONFIG_FILE": f"{folder}/config",
        }.items():
            patch.setenv(name, text)
        patch.delenv("AWS_PROFILE", raising=False)
        message = _first_message(
            cluster, **{"sasl_mechanism": "AWS_MSK_IAM", "sasl_aws_region": "eu-central-1", **values}
        )
    return str(json.loads(message)["x-amz-credential"])


def sasl_aws_region(cluster: FakeCluster) -> None:
    assert "/eu-central-1/" in _signed(cluster)
    with pytest.raises(AuthError, match="Credential should be scoped to eu-central-1"):
        _signed(cluster, sasl_aws_region="us-west-2")


def sasl_aws_profile(cluster: FakeCluster) -> None:
    assert _signed(cluster).startswith("AKIDENV/")
    assert _signed(cluster, sasl_aws_profile="other").startswith("AKIDFILE/")


def _ticket(cluster: FakeCluster, **values: Any) -> dict[str, str]:
    with pytest.MonkeyPatch.context() as patch:
        installed(patch)
        found: dict[str, str] = json.loads(_first_message(cluster, sasl_mechanism="GSSAPI", **values))
        return found


def sasl_kerberos_service_name(cluster: FakeCluster) -> None:
    assert _ticket(cluster)["service"] == "kafka@127.0.0.1"
    with pytest.raises(AuthError, match="authentication with GSSAPI failed"):
        _ticket(cluster, sasl_kerberos_service_name="another")


def sasl_kerberos_principal(cluster: FakeCluster) -> None:
    assert _ticket(cluster, sasl_kerberos_principal="me@R")["principal"] == "me@R"


def sasl_kerberos_keytab(cluster: FakeCluster) -> None:
    given = {"sasl_kerberos_principal": "me@R", "sasl_kerberos_keytab": __file__}
    assert _ticket(cluster, **given)["keytab"] == __file__


def allow_plaintext_secrets(cluster: FakeCluster) -> None:
    before = len(cluster.connections)
    with pytest.raises(ConfigError, match="would be sent without encryption") as caught:
        _first_message(cluster, allow_plaintext_secrets=False)
    assert "--allow-plaintext-secrets" in caught.value.do
    assert len(cluster.connections) == before


PROOFS: dict[str, Callable[[FakeCluster], None]] = {
    proof.__name__: proof
    for proof in (
        bootstrap_servers, log_dirs, log_dirs_transactions, client_id, security_protocol, ssl_ca_location, ssl_ca_pem,
        ssl_truststore_type, ssl_truststore_password, ssl_certificate_location, ssl_key_location, ssl_certificate_pem,
        ssl_key_pem, ssl_key_password, ssl_keystore_location, ssl_keystore_type, ssl_keystore_password,
        ssl_endpoint_identification_algorithm, enable_ssl_certificate_verification, request_timeout_ms,
        default_api_timeout_ms, socket_connection_setup_timeout_ms, reconnect_backoff_ms, reconnect_backoff_max_ms,
        retry_backoff_ms, retry_backoff_max_ms, metadata_max_age_ms, connections_max_idle_ms, send_buffer_bytes,
        receive_buffer_bytes, receive_message_max_bytes, cluster_id, allow_auto_create_topics, metadata_allowed_hosts,
        sasl_mechanism, sasl_username, sasl_password, sasl_tokenauth, sasl_oauthbearer_token_provider,
        sasl_oauthbearer_token_file, sasl_oauthbearer_token_command, sasl_oauthbearer_extensions,
        sasl_oauthbearer_token_endpoint_url, sasl_oauthbearer_client_id, sasl_oauthbearer_client_secret,
        sasl_oauthbearer_scope, sasl_oauthbearer_header_urlencode, sasl_oauthbearer_ca_location, sasl_aws_region,
        sasl_aws_profile, sasl_kerberos_service_name, sasl_kerberos_principal, sasl_kerberos_keytab,
        allow_plaintext_secrets, map_address, proxy_url, proxy_username, proxy_password,
    )
}  # fmt: skip


@pytest.mark.case("X26")
@pytest.mark.parametrize("name", NAMES)
def test_each_option_of_every_client_changes_something(cluster: FakeCluster, name: str) -> None:
    assert name in PROOFS, f"there is no proof that {name} does anything"
    PROOFS[name](cluster)


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SSL"])
def test_credentials_are_refused_where_the_connections_do_not_authenticate(protocol: str) -> None:
    for name in NAMES:
        if name.startswith("sasl_") and name != "sasl_oauthbearer_header_urlencode":
            value = Secret("x") if name.endswith(("_password", "_secret")) else "PLAIN"
            given: dict[str, Any] = {"security_protocol": protocol, name: value}
            with pytest.raises(ConfigError, match="has no effect") as caught:
                Cluster(ClientOptions(bootstrap_servers="127.0.0.1:1", **given))
            assert f"security.protocol is {protocol}" in caught.value.why
