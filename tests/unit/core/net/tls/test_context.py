"""TLS contexts from options: what cannot be used is named, what is weak is not offered."""

import os
import ssl
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kcli.core.errors import ConfigError
from kcli.core.net.tls.context import ClientContext, tls_context, unverified
from kcli.core.options import ClientOptions
from kcli.core.secret import Secret
from tests.certificates import Authority, ClientFiles

pytestmark = pytest.mark.case("S3")


def context_of(**values: Any) -> ClientContext:
    context = tls_context(ClientOptions(security_protocol="SSL", **values))
    assert isinstance(context, ClientContext)
    return context


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def client(authority: Authority) -> ClientFiles:
    return authority.client()


def refusal(**values: Any) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        context_of(**values)
    assert caught.value.exit_code == 2
    assert caught.value.why
    assert caught.value.do
    return caught.value


def test_plaintext_has_no_context() -> None:
    assert tls_context(ClientOptions()) is None


@pytest.mark.case("X9")
def test_certificates_and_names_are_checked_by_default() -> None:
    context = context_of()
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2
    assert context.get_ca_certs() or context.cert_store_stats()["x509"] >= 0
    assert context.keylog_filename is None
    assert context.options & ssl.OP_NO_RENEGOTIATION
    assert context.options & ssl.OP_NO_COMPRESSION


@pytest.mark.case("X9")
def test_session_keys_are_never_written_to_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSLKEYLOGFILE", str(tmp_path / "keys"))
    assert context_of().keylog_filename is None


@pytest.mark.parametrize("word", ["none", ""])
def test_the_name_check_can_be_switched_off_and_the_certificate_check_stays(word: str) -> None:
    context = context_of(ssl_endpoint_identification_algorithm=word)
    assert not context.check_hostname
    assert context.verify_mode is ssl.CERT_REQUIRED


def test_verification_can_be_switched_off() -> None:
    context = context_of(enable_ssl_certificate_verification=False)
    assert (context.check_hostname, context.verify_mode) == (False, ssl.CERT_NONE)


@pytest.mark.case("X9")
@pytest.mark.parametrize(
    ("values", "part"),
    [
        ({}, ""),
        ({"ssl_endpoint_identification_algorithm": "none"}, "host names"),
        ({"ssl_endpoint_identification_algorithm": ""}, "host names"),
        ({"enable_ssl_certificate_verification": False}, "not verified"),
        ({"security_protocol": "PLAINTEXT", "enable_ssl_certificate_verification": False}, ""),
    ],
)
def test_a_check_that_is_off_is_warned_of(values: dict[str, Any], part: str) -> None:
    found = unverified(ClientOptions(**{"security_protocol": "SSL", **values}))
    assert part in found
    assert bool(found) == bool(part)


# --- what works ---------------------------------------------------------------------------------------


def one_line(text: str) -> str:
    """As a file of properties has it after its lines were joined."""
    return text.replace("\n", "")


def literal(text: str) -> str:
    return text.replace("\n", "\\n")


@pytest.mark.parametrize("shape", [str, one_line, literal])
def test_authorities_as_text(authority: Authority, shape: Callable[[str], str]) -> None:
    assert len(context_of(ssl_ca_pem=shape(authority.pem)).get_ca_certs()) == 1


def test_authorities_from_files(authority: Authority, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    bundle.write_bytes("# Autorités de confiance\n".encode() + authority.pem.encode() * 2)
    assert len(context_of(ssl_ca_location=str(authority.ca)).get_ca_certs()) == 1
    assert len(context_of(ssl_ca_location=str(bundle)).get_ca_certs()) == 1
    store = {
        "ssl_ca_location": str(authority.truststore("secret")),
        "ssl_truststore_password": Secret("secret"),
    }
    for kind in ("", "PKCS12", "JKS"):  # Java reads PKCS12 files as JKS, too
        assert len(context_of(**store, ssl_truststore_type=kind).get_ca_certs()) == 1


def own_certificates(client: ClientFiles) -> dict[str, dict[str, Any]]:
    encrypted = client.encrypted_key_pem("secret")
    password = Secret("secret")
    return {
        "two files": {"ssl_certificate_location": client.certificate, "ssl_key_location": client.key},
        "one file": {"ssl_certificate_location": client.both},
        "encrypted": {
            "ssl_certificate_location": client.certificate,
            "ssl_key_location": client.encrypted_key("secret"),
            "ssl_key_password": password,
        },
        "text": {"ssl_certificate_pem": client.certificate_pem, "ssl_key_pem": Secret(client.key_pem)},
        "encrypted text": {
            "ssl_certificate_pem": one_line(client.certificate_pem),
            "ssl_key_pem": Secret(one_line(encrypted)),
            "ssl_key_password": password,
        },
        "text and file": {"ssl_certificate_pem": client.certificate_pem, "ssl_key_location": client.key},
        "PEM store": {"ssl_keystore_location": client.both, "ssl_keystore_type": "PEM"},
        "PKCS12": {"ssl_keystore_location": client.pkcs12("secret"), "ssl_keystore_password": password},
        "PKCS12, one password twice": {
            "ssl_keystore_location": client.pkcs12("secret"),
            "ssl_keystore_password": password,
            "ssl_key_password": password,
        },
    }


WAYS = [
    "two files",
    "one file",
    "encrypted",
    "text",
    "encrypted text",
    "text and file",
    "PEM store",
    "PKCS12",
]


def in_text(values: dict[str, Any]) -> dict[str, Any]:
    return {name: str(value) if isinstance(value, Path) else value for name, value in values.items()}


@pytest.mark.parametrize("way", [*WAYS, "PKCS12, one password twice"])
def test_the_clients_certificate_is_used(client: ClientFiles, way: str) -> None:
    """An encrypted key that nobody gave a password for would prompt here."""
    assert context_of(**in_text(own_certificates(client)[way])).has_certificate
    assert not context_of().has_certificate


@pytest.mark.case("R24")
@pytest.mark.parametrize("anonymous", [True, False], ids=["memory", "file"])
def test_a_key_is_in_no_file_that_others_can_read(
    client: ClientFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, anonymous: bool
) -> None:
    """Where there is no anonymous memory, the file has mode 0600 and is gone after the call."""
    seen: list[tuple[str, int]] = []
    load = ssl.SSLContext.load_cert_chain

    def watch(self: ssl.SSLContext, path: str, **more: Any) -> None:
        seen.append((path, os.stat(path).st_mode & 0o77))
        load(self, path, **more)

    values = in_text(own_certificates(client)["text"])
    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", watch)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    if not anonymous:
        monkeypatch.delattr(os, "memfd_create")
    before = len(os.listdir("/proc/self/fd"))
    context_of(**values)
    assert len(os.listdir("/proc/self/fd")) == before
    assert list(tmp_path.iterdir()) == []
    ((path, others),) = seen
    if anonymous:
        assert path.startswith("/proc/self/fd/")
    else:
        assert (Path(path).parent, others, Path(path).exists()) == (tmp_path, 0, False)


# --- what does not ------------------------------------------------------------------------------------

_LOCATIONS = {
    "ssl_ca_location": "the CA certificates in",
    "ssl_certificate_location": "the client's certificate",
    "ssl_keystore_location": "the client's certificate and key in",
}


@pytest.mark.parametrize("option", _LOCATIONS)
@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "No such file"),
        ("directory", "Is a directory"),
        ("", "the file is empty"),
        ("not a certificate", "not a PEM file"),
        ("\x30\x82\x01", "DER, not PEM"),
        ("-----BEGIN RSA PUBLIC KEY-----\nAAAA\n-----END RSA PUBLIC KEY-----", "but RSA PUBLIC KEY"),
        ("-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----", "is not base64"),
        ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----", ""),
    ],
)
def test_a_file_that_cannot_be_used_is_named(
    tmp_path: Path, option: str, content: str | None, why: str
) -> None:
    file = tmp_path / "file.pem"
    if content == "directory":
        file.mkdir()
    elif content is not None:
        file.write_bytes(content.encode("latin-1"))
    error = refusal(**{option: str(file)})
    assert str(file) in error.what
    assert _LOCATIONS[option] in error.what
    assert why in error.why or "no private key" in error.why


def test_a_file_that_cannot_be_read() -> None:
    assert refusal(ssl_key_location="/proc/self/mem", ssl_certificate_pem="x").why == "Input/output error"


def test_no_file_is_read_without_limit() -> None:
    assert "16 MiB" in refusal(ssl_ca_location="/dev/zero").why


def test_a_jks_store_is_refused_with_the_command_that_converts_it(tmp_path: Path) -> None:
    store = tmp_path / "client.jks"
    store.write_bytes(b"\xfe\xed\xfe\xed\0\0\0\2")
    command = (
        f"keytool -importkeystore -srckeystore {store} -destkeystore {tmp_path}/client.p12 "
        "-deststoretype PKCS12"
    )
    for values in ({"ssl_keystore_location": str(store)}, {"ssl_ca_location": str(store)}):
        error = refusal(**values)
        assert "JKS" in error.what
        assert command in error.do


def test_a_store_of_another_type_than_said(client: ClientFiles) -> None:
    error = refusal(ssl_keystore_location=str(client.pkcs12("x")), ssl_keystore_type="PEM")
    assert (error.what.endswith("is not a PEM store"), "the file is PKCS12" in error.why) == (True, True)
    error = refusal(ssl_certificate_location=str(client.pkcs12("x")))
    assert "PKCS12 store, not a PEM file" in error.why
    assert "ssl.keystore.location" in error.do


def test_pkcs12_without_the_library_names_the_extra(
    client: ClientFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = client.pkcs12("secret")
    monkeypatch.setitem(
        __import__("sys").modules, "cryptography.hazmat.primitives.serialization.pkcs12", None
    )
    monkeypatch.setitem(__import__("sys").modules, "cryptography.hazmat.primitives.serialization", None)
    error = refusal(ssl_keystore_location=str(store), ssl_keystore_password=Secret("secret"))
    assert "pip install 'kcli-kafka[pkcs12]'" in error.do


def test_passwords(client: ClientFiles, authority: Authority) -> None:
    """None given, a wrong one, one where none belongs; never a prompt, and never the password in an error."""
    canary = Secret("canary-password")
    key = {"ssl_certificate_location": client.certificate, "ssl_key_location": client.encrypted_key("right")}
    store = {"ssl_keystore_location": client.pkcs12("right")}
    trust = {"ssl_ca_location": authority.truststore("right")}
    rows: list[tuple[dict[str, Any], str, str]] = [
        (key, "no password is given", "ssl.key.password"),
        ({**key, "ssl_key_password": canary}, "ssl.key.password is not its password", "ssl.key.password"),
        (store, "it has a password, and none is given", "ssl.keystore.password"),
        ({**store, "ssl_keystore_password": canary}, "its password is wrong", "ssl.keystore.password"),
        (trust, "it has a password, and none is given", "ssl.truststore.password"),
        ({**trust, "ssl_truststore_password": canary}, "its password is wrong", "ssl.truststore.password"),
        (
            {**store, "ssl_keystore_password": Secret("right"), "ssl_key_password": canary},
            "one password",
            "give ssl.keystore.password alone",
        ),
        (
            {"ssl_keystore_location": client.both, "ssl_keystore_password": canary},
            "a PEM file as a whole has no password",
            "use ssl.key.password",
        ),
        (
            {"ssl_ca_location": authority.ca, "ssl_truststore_password": canary},
            "a PEM file as a whole has no password",
            "leave it out",
        ),
    ]
    for values, why, do in rows:
        error = refusal(**in_text(values))
        assert why in error.why
        assert do in error.do
        assert "canary" not in f"{error.what}{error.why}{error.do}{error!r}"
        assert error.__cause__ is None


def test_a_key_of_another_certificate(authority: Authority, client: ClientFiles) -> None:
    for key in (authority.client("other").key, client.key_of_another_kind()):
        error = refusal(ssl_certificate_location=str(client.certificate), ssl_key_location=str(key))
        assert "do not belong together" in error.what
        assert str(key) in error.why


def test_files_that_are_cut_off(authority: Authority, client: ClientFiles) -> None:
    for text, key in (
        (client.certificate_pem[:300], client.key),
        (client.certificate_pem + authority.pem[:300], client.key),
        (client.certificate_pem, client.file("cut.pem", client.key_pem[:100])),
    ):
        path = client.file("maybe-cut.pem", text)
        error = refusal(ssl_certificate_location=str(path), ssl_key_location=str(key))
        assert "it is cut off" in error.why
        assert "copy the file again" in error.do


def test_a_certificate_without_a_key_and_a_key_without_a_certificate(client: ClientFiles) -> None:
    error = refusal(ssl_certificate_location=str(client.certificate))
    assert "no private key, but CERTIFICATE" in error.why
    assert "ssl.key.location" in error.do
    assert "without a certificate" in refusal(ssl_key_location=str(client.key)).what
    assert "without a certificate" in refusal(ssl_key_pem=Secret(client.key_pem)).what


def test_a_store_without_a_key(authority: Authority) -> None:
    error = refusal(
        ssl_keystore_location=str(authority.truststore("secret")), ssl_keystore_password=Secret("secret")
    )
    assert "holds no private key" in error.why


@pytest.mark.parametrize(("make", "why"), [("expired", "expired at"), ("not_yet_valid", "valid only from")])
def test_a_client_certificate_out_of_its_time(authority: Authority, make: str, why: str) -> None:
    """Two ways to read it: the validity is checked for both."""
    late = authority.client(make, getattr(authority, make)("me@example.org"))
    store = {"ssl_keystore_location": str(late.pkcs12("x")), "ssl_keystore_password": Secret("x")}
    for values in ({"ssl_certificate_location": str(late.both)}, store):
        error = refusal(**values)
        assert "not valid now" in error.what
        assert why in error.why
        assert "clock shows" in error.why


@pytest.mark.parametrize(
    "pair",
    [
        {"ssl_ca_location": "/a", "ssl_ca_pem": "b"},
        {"ssl_certificate_location": "/a", "ssl_certificate_pem": "b"},
        {"ssl_key_location": "/a", "ssl_key_pem": Secret("b")},
        {"ssl_keystore_location": "/a", "ssl_certificate_location": "/b"},
        {"ssl_keystore_location": "/a", "ssl_key_pem": Secret("b")},
    ],
)
def test_two_options_for_one_thing_are_refused(pair: dict[str, Any]) -> None:
    assert "are both given" in refusal(**pair).what


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ({"ssl_truststore_password": Secret("x")}, "ssl.truststore.password"),
        ({"ssl_keystore_password": Secret("x")}, "ssl.keystore.password"),
        ({"ssl_truststore_type": "PKCS12"}, "ssl.truststore.type"),
        ({"ssl_keystore_type": "JKS", "ssl_certificate_pem": "x"}, "ssl.keystore.type"),
    ],
)
def test_what_describes_a_store_needs_one(values: dict[str, Any], names: str) -> None:
    assert f"{names} is given without" in refusal(**values).what


def test_java_says_pem_of_text(authority: Authority, client: ClientFiles) -> None:
    """``ssl.truststore.certificates`` and ``ssl.keystore.key`` come with a type in Java."""
    assert context_of(
        ssl_truststore_type="PEM",
        ssl_ca_pem=authority.pem,
        ssl_keystore_type="PEM",
        ssl_certificate_pem=client.certificate_pem,
        ssl_key_pem=Secret(client.key_pem),
    ).has_certificate
