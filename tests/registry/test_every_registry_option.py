"""Each option of the registry changes what the registry, a proxy, an issuer of tokens or a clock sees.

``PROOFS`` has an entry for each of them; one that is declared without a proof fails.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kcli.core.errors import AuthError, ConfigError
from kcli.core.options import key_of, written_fields
from kcli.serde.errors import RegistryAuthError, RegistryUnreachableError
from kcli.serde.registry.client import Registry
from kcli.serde.registry.options import RegistryOptions, parse_registry_pairs
from tests.certificates import Authority, ClientFiles
from tests.http.server import Server, says
from tests.identity_provider import IdentityProvider
from tests.registry.fake import FakeRegistry
from tests.registry.proxy import Proxy
from tests.registry.server import RunningRegistry
from tests.unit.serde.test_transport import OK, Wire, error


@dataclass
class World:
    """What the proofs share. ``ca`` has signed the server's certificate and trusts ``client``."""

    folder: Path
    ca: Authority
    client: ClientFiles

    @contextmanager
    def registry(self, context: Any = None, **content: Any) -> Iterator[RunningRegistry]:
        with RunningRegistry(FakeRegistry(**content), context) as running:
            running.content.register("s", {"schema": '"int"'})
            yield running


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("registry")
    ca = Authority(folder)
    return World(folder, ca, ca.client("me"))


def ask(url: str, **options: Any) -> None:
    """One request that succeeds."""
    pairs = [(key_of(name), str(value), "") for name, value in options.items()]
    registry = Registry(RegistryOptions.build({"schema_registry_url": url, **parse_registry_pairs(pairs)}))
    try:
        assert registry.by_id(1).text == '"int"'
    finally:
        registry.close()


def url(world: World) -> None:
    with world.registry() as one, world.registry() as other:
        one.content.fail(503)
        ask(f"{one.url},{other.url}")
        assert (len(one.content.asked), len(other.content.asked)) == (1, 1)


def basic(world: World) -> None:
    with world.registry(credentials=("me", "geheim")) as running:
        with pytest.raises(RegistryAuthError, match=r"Unauthorized \(401\)") as caught:
            ask(running.url, basic_auth_user_info="me:falsch")
        assert (caught.value.exit_code, "falsch" in str(caught.value)) == (4, False)
        ask(running.url, basic_auth_user_info="me:geheim")
        named = running.url.replace("//", "//me:geheim@")
        ask(named)
        ask(named, basic_auth_credentials_source="URL", basic_auth_user_info="me:falsch")
        with pytest.raises(RegistryAuthError):
            ask(named, basic_auth_credentials_source="USER_INFO", basic_auth_user_info="me:falsch")


def static_token(world: World) -> None:
    with world.registry(tokens={"t0ken"}) as running:
        ask(running.url, bearer_auth_token="t0ken", bearer_auth_credentials_source="STATIC_TOKEN")
        with pytest.raises(RegistryAuthError) as caught:
            ask(running.url, bearer_auth_token="falsch")
        assert "falsch" not in str(caught.value)


def granted(world: World) -> None:
    """A token of the issuer; one that the registry refuses is replaced."""
    given = iter(["alt", "neu"])
    grant = lambda: {"access_token": next(given), "expires_in": 3600}  # noqa: E731
    with (
        IdentityProvider(world.ca.broker("localhost"), grant) as issuer,
        world.registry(tokens={"neu"}) as running,
    ):
        options = {
            "bearer_auth_credentials_source": "OAUTHBEARER",
            "bearer_auth_issuer_endpoint_url": issuer.url,
            "bearer_auth_client_id": "kcli",
            "bearer_auth_client_secret": "geheim",
            "bearer_auth_scope": "read",
        }
        with pytest.raises(AuthError, match="certificate") as caught:
            ask(running.url, **options)
        assert "bearer.auth.issuer.ca.location" in caught.value.do
        ask(running.url, **options, bearer_auth_issuer_ca_location=world.ca.ca)
        sent = {(one.user, one.password, one.form["scope"][0]) for one in issuer.requests}
        assert (sent, len(issuer.requests)) == ({("kcli", "geheim", "read")}, 2)
        issuer.status, issuer.grant = 401, lambda: {"error": "invalid_client"}
        with pytest.raises(AuthError, match="refused the client kcli") as refused:
            ask(running.url, **options, bearer_auth_issuer_ca_location=world.ca.ca)
        assert "bearer.auth.client.secret" in refused.value.do


def margin(world: World) -> None:
    """Of a token that lives 1,000 s: it is fetched again for the second request, 600 s later."""
    with IdentityProvider(world.ca.broker("localhost")) as issuer, world.registry(tokens={"abc"}) as running:
        issuer.grant = lambda: {"access_token": "abc", "expires_in": 1_000}
        asked = []
        for seconds in (300, 450):
            registry = Registry(
                RegistryOptions.build(
                    {"schema_registry_url": running.url}
                    | parse_registry_pairs(
                        [
                            ("bearer.auth.issuer.endpoint.url", issuer.url, ""),
                            ("bearer.auth.client.id", "kcli", ""),
                            ("bearer.auth.client.secret", "x", ""),
                            ("bearer.auth.issuer.ca.location", str(world.ca.ca), ""),
                            ("bearer.auth.cache.expiry.buffer.seconds", str(seconds), ""),
                        ]
                    )
                )
            )
            tokens = registry._transport.client.tokens
            assert tokens is not None
            before, clock = len(issuer.requests), tokens._now
            registry.subjects()
            tokens._now = lambda clock=clock: clock() + 600  # type: ignore[misc]
            registry.subjects()
            registry.close()
            asked.append(len(issuer.requests) - before)
        assert asked == [1, 2]


def confluent_cloud(world: World) -> None:
    with world.registry() as running:
        ask(running.url, bearer_auth_logical_cluster="lsrc-1", bearer_auth_identity_pool_id="pool-1")
        sent = running.content.headers[-1]
        assert (sent["target-sr-cluster"], sent["Confluent-Identity-Pool-Id"]) == ("lsrc-1", "pool-1")


def proxy(world: World) -> None:
    tls = world.ca.broker("127.0.0.1")
    with Proxy() as through, world.registry() as plain, world.registry(tls) as secure:
        by = {"proxy_host": "127.0.0.1", "proxy_port": through.port}
        ask(plain.url, **by)
        ask(secure.url, **by, schema_registry_ssl_ca_location=world.ca.ca)
        here = secure.url.removeprefix("https://")
        assert [line for line, _ in through.asked] == [f"GET {plain.url}/schemas/ids/1", f"CONNECT {here}"]
        with pytest.raises(ConfigError, match=r"proxy\.host without proxy\.port"):
            ask(plain.url, proxy_host="127.0.0.1")
    with Server(says(407)) as refusing, world.registry() as plain:
        with pytest.raises(AuthError) as raised:
            ask(plain.url, proxy_host="127.0.0.1", proxy_port=int(refusing.url.rpartition(":")[2]))
        assert raised.value.do.startswith("proxy.host has no login")


def trusted(world: World) -> None:
    with world.registry(world.ca.broker("127.0.0.1")) as running:
        with pytest.raises(AuthError, match="certificate was not accepted"):
            ask(running.url)
        ask(running.url, schema_registry_ssl_ca_location=world.ca.ca)
        ask(running.url, schema_registry_ssl_ca_pem=world.ca.pem)
        store = {"schema_registry_ssl_ca_location": world.ca.truststore("geheim")}
        ask(
            running.url,
            **store,
            schema_registry_ssl_truststore_type="PKCS12",
            schema_registry_ssl_truststore_password="geheim",
        )
        with pytest.raises(
            ConfigError, match=r"schema\.registry\.ssl\.truststore\.password|password is wrong"
        ):
            ask(running.url, **store, schema_registry_ssl_truststore_password="falsch")
        with pytest.raises(ConfigError, match="is not a PEM store"):
            ask(running.url, **store, schema_registry_ssl_truststore_type="PEM")


def own_certificate(world: World) -> None:
    """Each form of a client's certificate is accepted; none, and a file that is not there, is an error."""
    me = world.client
    prefix = "schema_registry_ssl_"
    forms: list[dict[str, Any]] = [
        {"certificate_location": me.certificate, "key_location": me.key},
        {
            "certificate_location": me.certificate,
            "key_location": me.encrypted_key("geheim"),
            "key_password": "geheim",
        },
        {"certificate_pem": me.certificate_pem, "key_pem": me.key_pem},
        {"keystore_location": me.both, "keystore_type": "PEM"},
        {"keystore_location": me.pkcs12("geheim"), "keystore_type": "PKCS12", "keystore_password": "geheim"},
    ]
    with world.registry(world.ca.demanding("127.0.0.1")) as running:
        trust = {"schema_registry_ssl_ca_location": world.ca.ca}
        for form in forms:
            ask(running.url, **trust, **{prefix + name: value for name, value in form.items()})
        # The alert may be lost, as the registry closes the connection behind it.
        with pytest.raises((AuthError, RegistryUnreachableError)) as caught:
            ask(running.url, **trust)
        assert "schema.registry.ssl.keystore.location" in f"{caught.value.why} {caught.value.do}"
        for name in ("certificate_location", "keystore_location"):
            with pytest.raises(ConfigError, match=r"no-such\.pem"):
                ask(running.url, **trust, **{prefix + name: "no-such.pem"})
        with pytest.raises(ConfigError, match="is not a PKCS12 store"):
            ask(
                running.url,
                **trust,
                **{f"{prefix}keystore_location": me.both, f"{prefix}keystore_type": "PKCS12"},
            )


def host_name(world: World) -> None:
    with world.registry(world.ca.broker("elsewhere.example")) as running:
        trust = {"schema_registry_ssl_ca_location": world.ca.ca}
        with pytest.raises(AuthError):
            ask(running.url, **trust)
        ask(running.url, **trust, schema_registry_ssl_endpoint_identification_algorithm="none")


def request_timeout(_world: World) -> None:
    wire = Wire(OK)
    wire.transport(schema_registry_request_timeout_ms=1_500).ask("GET", "/x")
    assert [request.seconds for request in wire.asked] == [1.5]


def api_timeout(_world: World) -> None:
    wire = Wire(*[(503, b"", {"Retry-After": "4"})] * 9)
    with pytest.raises(RegistryUnreachableError):
        wire.transport(schema_registry_api_timeout_ms=9_000, schema_registry_max_retries=8).ask("GET", "/x")
    assert wire.slept == [4, 4]
    assert [request.seconds for request in wire.asked] == [9.0, 5.0, 1.0]


def retries(_world: World) -> None:
    wire = Wire(*[(500, error(50001))] * 4, OK)
    with pytest.raises(RegistryUnreachableError):
        wire.transport(schema_registry_max_retries=1).ask("GET", "/x")
    assert len(wire.asked) == 2
    wire = Wire(*[(500, error(50001))] * 4, OK)
    wire.transport(
        schema_registry_max_retries=4,
        schema_registry_retries_wait_ms=1_000,
        schema_registry_retries_max_wait_ms=3_000,
    ).ask("GET", "/x")
    assert 0.8 <= wire.slept[0] <= 1.2
    assert 2.4 <= wire.slept[2] <= 3.6
    assert wire.slept[3] <= 3.6


def cache(world: World) -> None:
    with world.registry() as running:
        running.content.register("s", {"schema": '"long"'})
        registry = Registry(
            RegistryOptions(schema_registry_url=running.url, schema_registry_cache_capacity=1)
        )
        for number in (1, 1, 2, 1):
            registry.by_id(number)
        registry.close()
        assert len(running.content.asked) == 3


_TLS = "schema_registry_ssl_"
PROOFS: dict[str, Callable[[World], None]] = {
    "schema_registry_url": url,
    **dict.fromkeys(["basic_auth_credentials_source", "basic_auth_user_info"], basic),
    "bearer_auth_token": static_token,
    **dict.fromkeys(
        [
            "bearer_auth_credentials_source",
            "bearer_auth_issuer_endpoint_url",
            "bearer_auth_issuer_ca_location",
            "bearer_auth_client_id",
            "bearer_auth_client_secret",
            "bearer_auth_scope",
        ],
        granted,
    ),
    "bearer_auth_cache_expiry_buffer_seconds": margin,
    **dict.fromkeys(["bearer_auth_logical_cluster", "bearer_auth_identity_pool_id"], confluent_cloud),
    **dict.fromkeys(["proxy_host", "proxy_port"], proxy),
    **dict.fromkeys(
        [f"{_TLS}{name}" for name in ("ca_location", "ca_pem", "truststore_type", "truststore_password")],
        trusted,
    ),
    **dict.fromkeys(
        [
            f"{_TLS}{name}"
            for name in (
                "keystore_location",
                "keystore_type",
                "keystore_password",
                "certificate_location",
                "certificate_pem",
                "key_location",
                "key_pem",
                "key_password",
            )
        ],
        own_certificate,
    ),
    f"{_TLS}endpoint_identification_algorithm": host_name,
    "schema_registry_request_timeout_ms": request_timeout,
    "schema_registry_api_timeout_ms": api_timeout,
    **dict.fromkeys(
        [
            "schema_registry_max_retries",
            "schema_registry_retries_wait_ms",
            "schema_registry_retries_max_wait_ms",
        ],
        retries,
    ),
    "schema_registry_cache_capacity": cache,
}


def test_each_option_has_a_proof() -> None:
    assert PROOFS.keys() == {field.name for field in written_fields(RegistryOptions)}


@pytest.mark.parametrize("proof", list(dict.fromkeys(PROOFS.values())), ids=lambda proof: proof.__name__)
def test_each_option_is_obeyed(world: World, proof: Callable[[World], None]) -> None:
    proof(world)
