"""Our client over HTTP: connections that are kept, failover, basic auth, TLS, and what a dead registry looks like."""

import ssl
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kcli.core.errors import AuthError, ConfigError
from kcli.core.options import key_of
from kcli.serde.errors import RegistryAuthError, RegistryError, RegistryUnreachableError, SchemaNotFoundError
from kcli.serde.registry.client import Registry
from kcli.serde.registry.options import RegistryOptions, parse_registry_pairs
from tests.registry.server import FakeRegistry, RunningRegistry


def registry(url: str, **options: Any) -> Registry:
    pairs = [(key_of(name), str(value), "") for name, value in options.items()]
    return Registry(RegistryOptions.build({"schema_registry_url": url, **parse_registry_pairs(pairs)}))


def dead_url() -> str:
    """An address where nobody listens any more."""
    with RunningRegistry() as gone:
        return gone.url


def test_one_connection_for_many_requests(running: RunningRegistry) -> None:
    for number in range(5):
        running.content.register("s", {"schema": f'{{"type":"fixed","name":"F","size":{number + 1}}}'})
    one = registry(running.url)
    connected = []
    plain = one._transport._connect
    one._transport._connect = lambda address: connected.append(address) or plain(address)  # type: ignore[func-returns-value]
    texts = {one.by_id(number).text for number in range(1, 6)}
    with pytest.raises(SchemaNotFoundError):
        one.by_id(99)
    assert one.subject_of(1) == "s version 1"
    assert one.latest("s").version == 5
    assert len(texts) == 5
    assert len(connected) == 1
    assert len(running.content.asked) == 8
    one.close()


def test_the_next_address_is_tried_when_one_is_dead(running: RunningRegistry) -> None:
    running.content.register("s", {"schema": '"int"'})
    one = registry(f"{dead_url()},{running.url}")
    assert one.by_id(1).text == '"int"'


def test_errors_that_pass_are_not_seen(running: RunningRegistry) -> None:
    running.content.register("s", {"schema": '"int"'})
    running.content.fail(500, 50001, times=2)
    assert registry(running.url).by_id(1).text == '"int"'
    assert len(running.content.asked) == 3


def test_a_dead_registry_is_reported_with_its_address() -> None:
    url = dead_url()
    with pytest.raises(RegistryUnreachableError) as caught:
        registry(url, schema_registry_max_retries=1).by_id(1)
    assert url in caught.value.why
    assert caught.value.exit_code == 3


def test_another_server_is_reported(running: RunningRegistry) -> None:
    running.content.lie(b"<html>hello</html>")
    with pytest.raises(RegistryError, match="is not JSON"):
        registry(running.url).by_id(1)


def test_basic_auth() -> None:
    content = FakeRegistry(credentials=("me", "geheim"))
    content.register("s", {"schema": '"int"'})
    with RunningRegistry(content) as running:
        assert registry(running.url, basic_auth_user_info="me:geheim").by_id(1).id == 1
        assert registry(running.url.replace("//", "//me:geheim@")).by_id(1).id == 1
        with pytest.raises(RegistryAuthError, match=r"Unauthorized \(401\)") as caught:
            registry(running.url, basic_auth_user_info="me:falsch").by_id(1)
    assert caught.value.exit_code == 4
    assert "falsch" not in str(caught.value)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that signs itself, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    command += ["-keyout", str(key), "-out", str(cert), "-days", "2", "-subj", "/CN=registry"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(command, check=True, capture_output=True)
    return cert, key


def test_tls_with_an_authority_of_our_own(certificate: tuple[Path, Path]) -> None:
    cert, key = certificate
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(cert))
    context.load_cert_chain(cert, key)
    context.verify_mode = ssl.CERT_REQUIRED
    content = FakeRegistry()
    content.register("s", {"schema": '"int"'})
    with RunningRegistry(content, context) as running:
        trusting = {"schema_registry_ssl_ca_location": str(cert)}
        ours = {
            "schema_registry_ssl_certificate_location": str(cert),
            "schema_registry_ssl_key_location": str(key),
        }
        assert registry(running.url, **trusting, **ours).by_id(1).id == 1
        with pytest.raises(AuthError, match="certificate was not accepted"):
            registry(running.url).by_id(1)
        with pytest.raises(RegistryUnreachableError):
            registry(running.url, **trusting, schema_registry_max_retries=0).by_id(1)


@pytest.mark.parametrize(
    "options",
    [
        {"schema_registry_ssl_ca_location": "no-such.pem"},
        {"schema_registry_ssl_certificate_location": "no-such.pem"},
    ],
)
def test_a_file_that_is_not_there_is_a_config_error(
    running: RunningRegistry, options: dict[str, str]
) -> None:
    with pytest.raises(ConfigError, match=r"no-such\.pem"):
        registry(running.url.replace("http:", "https:"), **options).by_id(1)
