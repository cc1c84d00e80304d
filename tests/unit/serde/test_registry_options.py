"""Options of the registry: names of Confluent's clients, addresses, and secrets that nobody sees."""

import dataclasses
from typing import Any

import pytest

from kcli.core.errors import ConfigError
from kcli.core.options import key_of
from kcli.core.secret import Secret
from kcli.profiles.secret_keys import is_registry_key
from kcli.serde.registry.addresses import addresses
from kcli.serde.registry.options import RegistryOptions, parse_registry_pairs, registry_field


def options(**texts: str) -> RegistryOptions:
    return RegistryOptions.build(parse_registry_pairs((key, text, "-X") for key, text in texts.items()))


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("schema.registry.url", "schema_registry_url"),
        ("basic.auth.user.info", "basic_auth_user_info"),
        ("schema.registry.basic.auth.user.info", "basic_auth_user_info"),
        ("schema.registry.ssl.ca.location", "schema_registry_ssl_ca_location"),
        ("bearer.auth.token", "bearer_auth_token"),
    ],
)
def test_keys_are_those_of_confluents_clients(key: str, name: str) -> None:
    assert is_registry_key(key)
    assert parse_registry_pairs([(key, "x", "-X")]) in ({name: "x"}, {name: Secret("x")})


@pytest.mark.parametrize("key", ["bootstrap.servers", "ssl.ca.location", "sasl.mechanism"])
def test_keys_of_kafka_clients_are_not_ours(key: str) -> None:
    assert not is_registry_key(key)


def test_a_misspelt_key_is_reported_with_the_nearest() -> None:
    assert is_registry_key("schema.registry.ulr")
    with pytest.raises(ConfigError, match=r"unknown option 'schema\.registry\.ulr' in -X") as caught:
        parse_registry_pairs([("schema.registry.ulr", "x", "-X")])
    assert "schema.registry.url" in caught.value.do


def test_secrets_are_marked() -> None:
    secret = {key_of(f.name) for f in dataclasses.fields(RegistryOptions) if f.metadata["secret"]}
    assert secret == {
        "basic.auth.user.info",
        "bearer.auth.token",
        "bearer.auth.client.secret",
        "schema.registry.ssl.key.password",
        "schema.registry.ssl.key.pem",
        "schema.registry.ssl.keystore.password",
        "schema.registry.ssl.truststore.password",
    }


def test_values_of_others_are_left_out() -> None:
    values: dict[str, Any] = {"schema_registry_url": "http://h", "bootstrap_servers": "b:9092"}
    assert RegistryOptions.build(values).schema_registry_url == "http://h"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://h:8081", ["http://h:8081"]),
        ("https://h", ["https://h:443"]),
        ("http://h/", ["http://h:80"]),
        ("http://h:1/apis/ccompat/v7/", ["http://h:1/apis/ccompat/v7"]),
        ("http://[::1]:8081", ["http://[::1]:8081"]),
        ("http://a:1, http://b:2,", ["http://a:1", "http://b:2"]),
    ],
)
def test_addresses(url: str, shown: list[str]) -> None:
    assert [str(address) for address in addresses(RegistryOptions(schema_registry_url=url))] == shown


@pytest.mark.parametrize(
    "url", ["h:8081", "ftp://h", "http://", "http://h:port", "http://h?x=1", "http://h:99999"]
)
def test_invalid_addresses(url: str) -> None:
    with pytest.raises(ConfigError, match="is no address"):
        addresses(RegistryOptions(schema_registry_url=url))


def test_without_an_address() -> None:
    with pytest.raises(ConfigError, match="no schema registry is named"):
        addresses(RegistryOptions())


@pytest.mark.parametrize(
    ("given", "header"),
    [
        ({"basic.auth.user.info": "me:se:cret"}, "Basic bWU6c2U6Y3JldA=="),
        ({"basic.auth.credentials.source": "user_info", "basic.auth.user.info": "me:"}, "Basic bWU6"),
        ({"schema.registry.url": "https://me:s%40@h"}, "Basic bWU6c0A="),
        ({"bearer.auth.token": "t0ken"}, ""),  # which is no part of the address: it may change
        ({"basic.auth.credentials.source": "URL", "basic.auth.user.info": "me:x"}, ""),
        ({}, ""),
    ],
)
def test_client_software_name(given: dict[str, str], header: str) -> None:
    (address,) = addresses(options(**{"schema.registry.url": "https://h"} | given))
    assert address.authorization == header
    assert not header or header not in repr(address) + str(address)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"basic.auth.user.info": "nocolon"}, "not NAME:PASSWORD"),
        ({"basic.auth.user.info": "a:b", "bearer.auth.token": "t"}, "together"),
        ({"basic.auth.credentials.source": "USER_INFO"}, "without basic.auth.user.info"),
        ({"bearer.auth.credentials.source": "STATIC_TOKEN"}, "without bearer.auth.token"),
        ({"bearer.auth.token": "a\r\nX: y"}, "is no token"),
        ({"schema.registry.url": "https://me:geheim@h", "bearer.auth.token": "t"}, "together"),
        ({"basic.auth.user.info": "a:b", "bearer.auth.client.id": "c"}, "together"),
        ({"bearer.auth.credentials.source": "OAUTHBEARER"}, "without bearer.auth.issuer.endpoint.url"),
        ({"bearer.auth.client.id": "c"}, "without bearer.auth.issuer.endpoint.url"),
        (
            {"bearer.auth.issuer.endpoint.url": "https://h", "bearer.auth.client.id": "c"},
            "without bearer.auth.client.secret",
        ),
        ({"bearer.auth.token": "t", "bearer.auth.scope": "s"}, "bearer.auth.scope has no effect"),
        (
            {"bearer.auth.token": "t", "bearer.auth.credentials.source": "OAUTHBEARER"},
            "bearer.auth.token has no effect",
        ),
        ({"basic.auth.credentials.source": "SASL_INHERIT"}, "without sasl.username and sasl.password"),
    ],
)
def test_half_of_a_credential_is_refused(given: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        addresses(options(**{"schema.registry.url": "https://h"} | given))
    assert "nocolon" not in str(caught.value) + caught.value.do
    assert "geheim" not in str(caught.value) + caught.value.do


OF_PYTHON = {
    "url", "ssl.ca.location", "ssl.key.location", "ssl.key.password", "ssl.certificate.location", "timeout.ms",
    "basic.auth.user.info", "basic.auth.credentials.source", "bearer.auth.credentials.source", "bearer.auth.token",
    "bearer.auth.client.id", "bearer.auth.client.secret", "bearer.auth.scope", "bearer.auth.logical.cluster",
    "bearer.auth.issuer.endpoint.url", "bearer.auth.identity.pool.id", "max.retries", "retries.wait.ms",
    "retries.max.wait.ms", "cache.capacity",
}  # fmt: skip
"""Of Confluent's client for Python, behind ``schema.registry.``; its ``timeout`` is in seconds."""
OF_JAVA = {
    "basic.auth.credentials.source", "basic.auth.user.info", "bearer.auth.token", "bearer.auth.credentials.source",
    "bearer.auth.issuer.endpoint.url", "bearer.auth.client.id", "bearer.auth.client.secret", "bearer.auth.scope",
    "bearer.auth.logical.cluster", "bearer.auth.identity.pool.id", "bearer.auth.cache.expiry.buffer.seconds",
    "proxy.host", "proxy.port", "schema.registry.proxy.host", "schema.registry.http.read.timeout.ms",
    *(
        f"schema.registry.ssl.{name}"
        for name in (
            "truststore.location", "truststore.password", "truststore.type", "truststore.certificates",
            "keystore.location", "keystore.password", "keystore.type", "keystore.key", "keystore.certificate.chain",
            "key.password", "endpoint.identification.algorithm",
        )
    ),
}  # fmt: skip
REFUSED = {
    "bearer.auth.custom.provider.class", "bearer.auth.custom.provider.function", "bearer.auth.scope.claim.name",
    "bearer.auth.sub.claim.name", "bearer.auth.issuer.endpoint.query", "schema.registry.proxy",
    "schema.registry.http.connect.timeout.ms", "schema.registry.ssl.protocol", "schema.registry.ssl.provider",
    "schema.registry.ssl.cipher.suites", "schema.registry.ssl.enabled.protocols",
    "schema.registry.bearer.auth.sub.claim.name",
}  # fmt: skip


def test_each_option_of_confluents_clients_is_known_or_refused_by_name() -> None:
    known = {f"schema.registry.{name}" for name in OF_PYTHON} | OF_JAVA
    assert {key for key in known if registry_field(key) is None or not is_registry_key(key)} == set()
    for key in REFUSED:
        assert is_registry_key(key)
        with pytest.raises(ConfigError, match=f"{key} is not supported") as caught:
            parse_registry_pairs([(key, "x", "-X")])
        assert caught.value.why
        assert caught.value.do


OF_ISSUER = {
    "bearer.auth.issuer.endpoint.url": "https://h",
    "bearer.auth.client.id": "c",
    "bearer.auth.client.secret": "s",
}


def test_secrets_are_not_sent_unencrypted_unless_requested() -> None:
    given = options(**{"schema.registry.url": "http://me:geheim@h", "basic.auth.credentials.source": "URL"})
    with pytest.raises(ConfigError, match="unencrypted") as caught:
        addresses(given)
    assert "geheim" not in str(caught.value)
    assert addresses(given, allow_plaintext_secrets=True)[0].authorization
    assert addresses(options(**{"schema.registry.url": "http://me:x@localhost"}))[0].authorization
    for token in ({"bearer.auth.token": "t"}, OF_ISSUER):
        with pytest.raises(ConfigError, match="unencrypted"):
            addresses(options(**{"schema.registry.url": "http://h"} | token))


def test_a_bad_address_does_not_show_its_password() -> None:
    with pytest.raises(ConfigError) as caught:
        addresses(RegistryOptions(schema_registry_url="ftp://me:geheim@h"))
    assert "geheim" not in str(caught.value)
    assert "(hidden)" in str(caught.value)
