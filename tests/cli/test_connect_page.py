"""The profiles of ``docs/tasks/connect.md``, each used as it stands: all are in one ``config.toml``, and a simulated
cluster stands in for the platform, under its name, with a certificate for it. Names lead to it by ``map.address`` or by a
proxy, those of token endpoints and registries by ``HTTPS_PROXY``; the authorities of the system are the test's own.
"""

import json
import os
import shlex
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from kcli.core.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from tests.certificates import Authority
from tests.command_lines import FENCE
from tests.fake.cluster import FakeCluster
from tests.fake.proxies import Proxy
from tests.fake.sasl import MECHANISMS, Sasl
from tests.identity_provider import IdentityProvider
from tests.registry.server import RunningRegistry
from tests.run import ROOT, Done, kcli

PAGE = "docs/tasks/connect.md"
PASSWORD, TOKEN = "hunter2", "a.b.c"
USERS = (
    "ABCDEFGHIJKLMNOP",
    "$ConnectionString",
    "ops",
    "avnadmin",
    "ACCOUNT@PROJECT.iam.gserviceaccount.com",
)
GOOGLE = json.dumps({"access_token": TOKEN, "token_type": "bearer", "expires_in": 3_600})
"""What Google's local authentication server answers."""
SECRETS = ("confluent-oauth", "eventhubs", "entra", "aiven", "aiven-stores", "redpanda")
PROGRAMS = dict.fromkeys(("pass", "kubectl", "gcloud", "jq"), PASSWORD) | {
    "az": TOKEN,
    "aws": "{}",
    "curl": GOOGLE,
}


def profiles() -> dict[str, dict[str, Any]]:
    text = "\n".join(_blocks())
    found: dict[str, dict[str, Any]] = tomllib.loads(text)["profiles"]
    return found


def _blocks() -> Iterator[str]:
    for _, info, block in FENCE.findall((ROOT / PAGE).read_text(encoding="utf-8")):
        if info == "toml":
            yield block


def flat(values: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """TOML takes the dots of keys apart."""
    for key, value in values.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


PROFILES = {name: dict(flat(values)) for name, values in profiles().items()}


@dataclass
class Home:
    """A home with the configuration of the page, and the files and programs that it names."""

    folder: Path
    authority: Authority
    variables: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        (self.folder / "config/kcli").mkdir(parents=True)
        config = self.folder / "config/kcli/config.toml"
        config.write_text("\n".join(_blocks()))
        config.chmod(0o600)
        client = self.authority.client("ops")
        stores = Path(client.pkcs12(PASSWORD)).read_bytes()
        for path, content in {
            "aiven/ca.pem": self.authority.pem,
            "aiven/service.cert": client.certificate_pem,
            "aiven/service.key": client.key_pem,
            "aiven/client.truststore.p12": self.authority.truststore(PASSWORD).read_bytes(),
            "aiven/client.keystore.p12": stores,
            "strimzi/ca.crt": self.authority.pem,
            "strimzi/user.crt": client.certificate_pem,
            "strimzi/user.key": client.key_pem,
            ".secrets/confluent-registry": f"me:{PASSWORD}",
            **{f".secrets/{name}": PASSWORD for name in SECRETS},
        }.items():
            file = self.folder / path
            file.parent.mkdir(mode=0o700, exist_ok=True)
            file.write_bytes(content if isinstance(content, bytes) else content.encode())
            file.chmod(0o600)
        (self.folder / "bin").mkdir()
        for name, said in PROGRAMS.items():
            program = self.folder / "bin" / name
            program.write_text(f"#!/bin/sh\necho {shlex.quote(said)}\n")
            program.chmod(0o755)
        self.variables = {
            "HOME": str(self.folder),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "XDG_STATE_HOME": str(self.folder / "state"),
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "SSL_CERT_FILE": str(self.authority.ca),
            "SSL_CERT_DIR": str(self.folder / "none"),
            "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
            "AWS_SECRET_ACCESS_KEY": PASSWORD,
            "AWS_CONFIG_FILE": str(self.folder / "aws"),
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        (self.folder / "aws").write_text(
            f"[profile prod]\naws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = {PASSWORD}\n"
        )

    def kcli(self, *words: str, **variables: str) -> Done:
        return kcli(*words, **{**self.variables, **variables})


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return Home(tmp_path_factory.mktemp("home"), Authority(tmp_path_factory.mktemp("certificates")))


@contextmanager
def stand_in(values: dict[str, Any], authority: Authority) -> Iterator[tuple[FakeCluster, str]]:
    """A cluster for a profile, and the host that it is advertised under."""
    host, _, port = values["bootstrap.servers"].split(",")[0].rpartition(":")
    protocol = values.get("security.protocol", "PLAINTEXT")
    names = (host, "b-2.internal")
    context = authority.demanding(*names) if protocol == "SSL" else authority.broker(*names)
    sasl = Sasl(
        users=dict.fromkeys(USERS, PASSWORD),
        tokens={TOKEN: "somebody"},
        access_keys={"AKIDEXAMPLE": PASSWORD},
        mechanisms=(*MECHANISMS, "AWS_MSK_IAM"),
    )
    with FakeCluster(
        1,
        topics={"orders": 1},
        tls=context if protocol.endswith("SSL") else None,
        sasl=sasl if protocol.startswith("SASL") else None,
    ) as cluster:
        cluster.advertise(1, host)
        assert port.isdecimal()
        yield cluster, host


@contextmanager
def token_endpoint(values: dict[str, Any], authority: Authority) -> Iterator[dict[str, str]]:
    """The variables by which a profile's token endpoint is reached, if it has one."""
    url = urlsplit(values.get("sasl.oauthbearer.token.endpoint.url", ""))
    if url.scheme != "https":
        yield {}
        return
    provider = IdentityProvider(
        authority.broker(str(url.hostname)), lambda: {"access_token": TOKEN, "expires_in": 600}
    )
    with provider, Proxy({str(url.hostname): f"127.0.0.1:{provider.port}"}) as proxy:
        yield {"HTTPS_PROXY": proxy.url("http"), "NO_PROXY": "localhost"}
        (asked,) = provider.requests
        assert asked.path == url.path
        assert (asked.user, asked.password) == (values["sasl.oauthbearer.client.id"], PASSWORD)
        assert asked.form["scope"] == [values["sasl.oauthbearer.scope"]]


DETOURS = ("tunnel", "proxied", "proxied-http")
"""Profiles with tests of their own."""


@pytest.mark.parametrize("name", [name for name in PROFILES if name not in DETOURS])
def test_each_profile_of_the_page_connects_as_it_stands(home: Home, name: str) -> None:
    values = PROFILES[name]
    with (
        stand_in(values, home.authority) as (cluster, _host),
        token_endpoint(values, home.authority) as variables,
    ):
        mapped = f"*={cluster.address(1)}"
        done = home.kcli(
            "topics", "list", "-o", "name", "--profile", name, "--map-address", mapped, **variables
        )
        assert (done.code, done.out, done.err) == (0, "orders\n", "")
        sent = b"".join(one.request.auth_bytes for one in cluster.seen(SaslAuthenticateRequest))
    for extension in filter(None, values.get("sasl.oauthbearer.extensions", "").split(",")):
        assert extension.encode() in sent


def test_the_page_is_without_problems(home: Home) -> None:
    done = home.kcli("config", "check", "-b", "h:1")
    assert (done.code, done.out.strip()) == (0, "SEVERITY  WHAT  WHY  DO")


def test_a_session_that_ends_is_renewed_on_the_same_connection(home: Home) -> None:
    """As the tokens of Confluent Cloud; the reader stops at a record that is written after several sessions."""
    values = PROFILES["confluent-oauth"]
    with (
        stand_in(values, home.authority) as (cluster, _host),
        token_endpoint(values, home.authority) as variables,
    ):
        cluster.settings.sasl.session_lifetime_ms = 300
        cluster.settings.sasl.session_grace = 30.0
        done = home.kcli(
            *("consume", "orders", "--idle-timeout", "2s", "--profile", "confluent-oauth"),
            *("--map-address", f"*={cluster.address(1)}"),
            **variables,
        )
        assert (done.code, done.err) == (0, "")
        assert len(cluster.seen(SaslAuthenticateRequest)) > len(cluster.connections)


def test_the_registry_has_a_login_of_its_own(home: Home) -> None:
    values = PROFILES["confluent"]
    host = str(urlsplit(values["schema.registry.url"]).hostname)
    with RunningRegistry(context=home.authority.broker(host)) as registry:
        registry.content.credentials = ("me", PASSWORD)
        registry.content.register("s", {"schema": '"int"'})
        with Proxy({host: registry.url.removeprefix("https://")}) as proxy:
            proxied = {"HTTPS_PROXY": proxy.url("http")}
            done = home.kcli("registry", "list", "-o", "name", "--profile", "confluent", **proxied)
    assert (done.code, done.out) == (0, "s\n"), done.err


def test_addresses_of_a_tunnel_are_mapped_one_by_one(home: Home) -> None:
    values = PROFILES["tunnel"]
    with stand_in(values, home.authority) as (cluster, host):
        port = cluster.address(1).rpartition(":")[2]
        mapped = f"{values['map.address']},{host}:{port}=localhost:{port}".replace("19092", port)
        variables = {"KCLI_X_MAP_ADDRESS": mapped}
        done = home.kcli("topics", "list", "-o", "name", "--profile", "tunnel", **variables)
    assert (done.code, done.out, done.err) == (0, "orders\n", "")


@pytest.mark.parametrize("name", ["proxied", "proxied-http"])
def test_proxies_of_the_page(home: Home, name: str) -> None:
    values = PROFILES[name]
    login = (values["proxy.username"], PASSWORD) if "proxy.username" in values else None
    with (
        stand_in(values, home.authority) as (cluster, host),
        Proxy({host: cluster.address(1)}, login) as proxy,
    ):
        scheme = urlsplit(values["proxy.url"]).scheme
        place = f"{proxy.host}:{proxy.port}"
        mapped = home.folder / name / "kcli/config.toml"
        mapped.parent.mkdir(parents=True)
        text = (home.folder / "config/kcli/config.toml").read_text()
        mapped.write_text(text.replace(values["proxy.url"], f"{scheme}://{place}"))
        mapped.chmod(0o600)
        variables = {"XDG_CONFIG_HOME": str(mapped.parents[1])}
        done = home.kcli("topics", "list", "-o", "name", "--profile", name, **variables)
        assert (done.code, done.out, done.err) == (0, "orders\n", "")
        shown = home.kcli("profile", "show", name, **variables)
        assert place in shown.out
        assert PASSWORD not in shown.out
    assert host in {asked for asked, _port in proxy.asked}
