"""What a secure sandbox is made of: certificates, tokens, the broker's properties, the files for clients."""

import base64
import json
import ssl
import stat
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.serialization import pkcs12

from kcli.core.secret import Secret
from kcli.profiles.properties import parse_properties
from kcli.sandbox.config import server_properties
from kcli.sandbox.errors import RefusedError, SandboxError
from kcli.sandbox.jvm import argument_file
from kcli.sandbox.security.broker_properties import scram_arguments, security_properties
from kcli.sandbox.security.certificates import Authority, Issued
from kcli.sandbox.security.client_files import write_client_files
from kcli.sandbox.security.material import Material, prepare
from kcli.sandbox.security.names import CLIENT_FILES, HOSTS, LISTENERS
from kcli.sandbox.security.tokens import TokenSigner
from tests.unit.sandbox.states import make_state


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> Material:
    return prepare(tmp_path_factory.mktemp("made") / "security", [1, 2])


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority.create("test CA")


def options_of(path: Path) -> dict[str, str]:
    return {key: value for key, value, _origin in parse_properties(path.read_text(), "f").pairs}


# Certificates.


def handshake(
    authority: Authority, server: Issued, client: Issued | None, host: str, tmp_path: Path
) -> dict[str, Any] | None:
    """A TLS handshake in memory, with Python's strictest checks; what the server sees of the client."""
    (tmp_path / "ca.pem").write_bytes(authority.certificate_pem())
    (tmp_path / "server.pem").write_bytes(server.chain_pem())
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(tmp_path / "ca.pem"))
    serving.load_cert_chain(tmp_path / "server.pem")
    connecting = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    connecting.verify_flags |= ssl.VERIFY_X509_STRICT
    if client:
        serving.verify_mode = ssl.CERT_REQUIRED
        (tmp_path / "client.pem").write_bytes(client.chain_pem())
        connecting.load_cert_chain(tmp_path / "client.pem")
    inward, outward = ssl.MemoryBIO(), ssl.MemoryBIO()
    one = connecting.wrap_bio(inward, outward, server_hostname=host)
    other = serving.wrap_bio(outward, inward, server_side=True)
    pending = [one, other]
    for _turn in range(10):
        for side in list(pending):
            try:
                side.do_handshake()
                pending.remove(side)
            except ssl.SSLWantReadError:
                pass
    assert not pending
    return other.getpeercert()


@pytest.mark.parametrize("host", HOSTS)
def test_a_node_is_trusted_by_each_of_its_names(authority: Authority, host: str, tmp_path: Path) -> None:
    handshake(authority, authority.issue("broker", hosts=HOSTS), None, host, tmp_path)


def test_another_name_is_not_trusted(authority: Authority, tmp_path: Path) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match=r"127\.0\.0\.2"):
        handshake(authority, authority.issue("broker", hosts=HOSTS), None, "127.0.0.2", tmp_path)


def test_a_client_is_recognised_by_its_common_name(authority: Authority, tmp_path: Path) -> None:
    server, client = authority.issue("broker", hosts=HOSTS), authority.issue("alice")
    seen = handshake(authority, server, client, "localhost", tmp_path)
    assert seen is not None
    assert seen["subject"] == ((("commonName", "alice"),),)


def test_a_user_cannot_pretend_to_be_a_node(authority: Authority, tmp_path: Path) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="purpose"):
        handshake(authority, authority.issue("alice"), None, "localhost", tmp_path)


def test_a_negative_lifetime_makes_an_expired_certificate(authority: Authority, tmp_path: Path) -> None:
    expired = authority.issue("broker", hosts=HOSTS, lifetime=timedelta(days=-1))
    with pytest.raises(ssl.SSLCertVerificationError, match="expired"):
        handshake(authority, expired, None, "localhost", tmp_path)


def test_the_stores_open_with_the_password_in_the_folder(material: Material) -> None:
    password = json.loads(material.names.passwords.read_bytes())["stores"].encode()
    key, certificate, others = pkcs12.load_key_and_certificates(
        material.names.pkcs12("alice").read_bytes(), password
    )
    assert key is not None
    assert certificate is not None
    assert certificate.subject.rfc4514_string() == "CN=alice"
    assert [other.public_bytes(serialization.Encoding.PEM) for other in others] == [
        material.names.authority.read_bytes()
    ]
    trusted = pkcs12.load_pkcs12(material.names.truststore.read_bytes(), password)
    assert len(trusted.additional_certs) == 1


def test_a_key_can_be_encrypted(authority: Authority) -> None:
    pem = authority.issue("alice").key_pem(Secret("pw"))
    assert b"ENCRYPTED" in pem
    serialization.load_pem_private_key(pem, b"pw")


# Tokens.


def claims_of(token: Secret, key_set: bytes) -> dict[str, Any]:
    """The claims, after the signature is verified with the key set alone."""
    (key,) = json.loads(key_set)["keys"]

    def number(name: str) -> int:
        return int.from_bytes(unpadded(key[name]), "big")

    signed, _, signature = token.reveal().rpartition(".")
    public = rsa.RSAPublicNumbers(number("e"), number("n")).public_key()
    public.verify(unpadded(signature), signed.encode(), padding.PKCS1v15(), hashes.SHA256())
    header, claims = (json.loads(unpadded(part)) for part in signed.split("."))
    assert header == {"alg": "RS256", "typ": "JWT", "kid": key["kid"]}
    found: dict[str, Any] = claims
    return found


def unpadded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def test_a_token_names_its_user_and_is_verified_by_the_key_set(material: Material) -> None:
    token = Secret(material.names.token("alice").read_text())
    claims = claims_of(token, material.names.key_set.read_bytes())
    assert (claims["sub"], claims["aud"], claims["iss"]) == ("alice", "kafka", "kcli-sandbox")
    assert claims["exp"] > time.time() + 86_400


def test_tokens_can_be_expired_or_for_another_audience(material: Material) -> None:
    signer = TokenSigner.load(material.names.token_key.read_bytes())
    claims = claims_of(
        signer.token("alice", lifetime=-60, audience="other"), material.names.key_set.read_bytes()
    )
    assert claims["iat"] <= claims["exp"] < time.time() - 50
    assert claims["aud"] == "other"


# The folder.


def test_everything_in_the_folder_is_for_its_owner_only(material: Material) -> None:
    write_client_files(material, dict.fromkeys(LISTENERS, "h:1"))
    for path in [material.names.folder, *material.names.folder.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_a_second_start_keeps_users_and_certificates(tmp_path: Path) -> None:
    first = prepare(tmp_path / "s", [1])
    before = {path: path.read_bytes() for path in first.names.folder.glob("*") if path.is_file()}
    second = prepare(tmp_path / "s", [1])
    after = {path: path.read_bytes() for path in second.names.folder.glob("*") if path.is_file()}
    changed = {path.suffix for path in after if before.get(path) != after[path]}
    assert first.passwords == second.passwords
    assert changed <= {".token"}


def test_passwords_are_random_and_long(material: Material, tmp_path: Path) -> None:
    other = prepare(tmp_path / "s", [1])
    words = [secret.reveal() for made in (material, other) for secret in made.passwords.values()]
    assert len(set(words)) == len(words) == 6
    assert min(map(len, words)) >= 24


@pytest.mark.parametrize("name", ["ca.pem", "ca.key", "tokens.key", "passwords.json"])
def test_a_damaged_folder_is_refused_with_its_name(name: str, tmp_path: Path) -> None:
    prepare(tmp_path / "s", [1])
    (tmp_path / "s" / name).write_text("{}")
    with pytest.raises(RefusedError, match="is damaged") as caught:
        prepare(tmp_path / "s", [1])
    assert str(tmp_path / "s") in caught.value.what


def test_without_cryptography_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcli.sandbox.security.material.find_spec", lambda _name: None)
    with pytest.raises(SandboxError, match="cryptography") as caught:
        prepare(tmp_path / "s", [1])
    assert "kcli-kafka[sandbox]" in caught.value.do


# What brokers and clients read.


def broker_lines(material: Material) -> dict[str, str]:
    state = make_state(brokers=2, secure=True)
    text = server_properties(state, state.nodes[1], security_properties(material, 2))
    return dict(line.split("=", 1) for line in text.splitlines())


def test_a_broker_has_no_plaintext_listener_without_sasl(material: Material) -> None:
    found = broker_lines(material)
    protocols = dict(pair.split(":") for pair in found["listener.security.protocol.map"].split(","))
    assert set(protocols.values()) == {"SASL_SSL", "SSL", "SASL_PLAINTEXT"}
    assert protocols["CONTROLLER"] == "SSL"
    assert found["inter.broker.listener.name"] == "INTERNAL"
    required = {
        key for key, value in found.items() if key.endswith("ssl.client.auth") and value == "required"
    }
    assert required == {
        f"listener.name.{listener}.ssl.client.auth" for listener in ("mtls", "internal", "controller")
    }


def test_a_broker_authorizes_by_acls_and_nobody_anonymous(material: Material) -> None:
    found = broker_lines(material)
    assert found["allow.everyone.if.no.acl.found"] == "false"
    assert found["super.users"] == "User:admin;User:broker"
    assert found["ssl.keystore.location"].endswith("/node-2.pem")


def test_each_user_has_a_file_for_each_way(material: Material) -> None:
    bootstraps = {name: f"{name}:1" for name in LISTENERS}
    write_client_files(material, bootstraps)
    found = {name: options_of(material.names.client_file(name)) for name in CLIENT_FILES}
    password = material.passwords["alice"].reveal()
    assert found["alice-scram-sha-512"] == {
        "bootstrap.servers": "SASL_SSL:1",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "alice",
        "sasl.password": password,
        "ssl.ca.location": str(material.names.authority),
    }
    assert found["alice-oauthbearer"]["sasl.oauthbearer.token.file"] == str(material.names.token("alice"))
    assert "ssl.ca.location" not in found["admin-sasl-plaintext"]
    assert found["anonymous-tls"].keys() == {"bootstrap.servers", "security.protocol", "ssl.ca.location"}
    for path in (value for options in found.values() for key, value in options.items() if "location" in key):
        assert Path(path).is_file()


def test_credentials_of_scram_are_arguments_in_a_file(material: Material) -> None:
    arguments = scram_arguments(material)
    assert arguments[:2] == [
        "--add-scram",
        f"SCRAM-SHA-256=[name=admin,password={material.passwords['admin'].reveal()}]",
    ]
    assert len(arguments) == 8
    assert argument_file(['a "b"', "c\\d"]) == '"a \\"b\\""\n"c\\\\d"\n'
