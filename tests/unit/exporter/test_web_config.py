"""The web configuration: each key of exporter-toolkit is obeyed or refused by name; users and their passwords."""

import base64
import os
import ssl
from pathlib import Path
from typing import Any

import pytest

from kcli.core.errors import ConfigError
from kcli.exporter.bcrypt_hash import is_hash, matches, of_nobody
from kcli.exporter.certificate import TlsFiles, server_context
from kcli.exporter.users import Users
from kcli.exporter.web_config import WebConfigFile, read_web_config
from tests.certificates import Authority

PASSWORD = "a very much longer text to encrypt."
HASH = "$2b$05$9ClnmWwcANwLQ/zg/PseE.NTZu2FhkHuwZLmqb3h8.F5y3V33uxDy"
OTHER_PASSWORD = "ü" * 20
OTHER = "$2y$05$kiU6UUfI6rR70OGE.bcoHuFaoGom25b91f07K0ixP6oesZql.OyJS"
TLS = "tls_server_config:\n  cert_file: cert.pem\n  key_file: key.pem\n"
HTTP = "http_server_config:\n"


def basic(name: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


def of_users(**hashes: str) -> str:
    return "basic_auth_users:\n" + "".join(f"  {name}: {known}\n" for name, known in hashes.items())


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "web.yml"
    path.write_text(text)
    return str(path)


def users(tmp_path: Path, text: str, said: list[str] | None = None) -> Users:
    file = WebConfigFile(written(tmp_path, text), (said if said is not None else []).append)
    return Users(lambda: file.current().users or {})


def test_passwords_match_hashes_of_bcrypt() -> None:
    assert is_hash(HASH)
    assert is_hash(OTHER)
    assert matches(PASSWORD.encode(), HASH)
    assert matches(OTHER_PASSWORD.encode(), OTHER)
    for wrong in (b"", PASSWORD.encode() + b".", b"x" * 73):
        assert not matches(wrong, HASH)
    assert of_nobody([HASH, "$2b$12$"]).startswith("$2b$12$")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "$6$salt$abc",
        HASH[:-1],
        HASH + "x",
        HASH.replace("$05$", "$31$"),
        HASH.replace("$05$", "$00$"),
        HASH.replace("PseE.", "PseEz"),
    ],
)
def test_what_is_no_hash_or_would_take_minutes_is_none(text: str) -> None:
    assert not is_hash(text)


def test_each_hash_that_is_one_can_be_checked() -> None:
    """Else a request would end without a response."""
    letters = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
    found = [known for one in letters if is_hash(known := HASH.replace("PseE.", f"PseE{one}"))]
    found += [HASH[:-1] + one for one in letters if is_hash(HASH[:-1] + one)]
    assert len(found) == 4 + len(letters)
    assert [known for known in found if matches(PASSWORD.encode(), known)] == [HASH, HASH]


def test_users_are_admitted_by_name_and_password(tmp_path: Path) -> None:
    known = users(tmp_path, of_users(prom=HASH, other=OTHER))
    for _ in range(2):  # the second time without the hash
        assert known.admit(basic("prom", PASSWORD))
        assert known.admit(basic("other", OTHER_PASSWORD))
        assert not known.admit(basic("prom", OTHER_PASSWORD))
        assert not known.admit(basic("nobody", PASSWORD))


@pytest.mark.parametrize(
    "header",
    ["", "Basic", "Basic ", "Basic !!!", "Bearer x", "Basic cHJvbQ==", "Basic /w==", "basic\x00", "Basic ü"],
)
def test_headers_without_a_name_and_a_password_are_refused(tmp_path: Path, header: str) -> None:
    assert not users(tmp_path, of_users(prom=HASH)).admit(header)


def test_a_changed_file_counts_at_once_and_a_broken_one_changes_nothing(tmp_path: Path) -> None:
    said: list[str] = []
    known = users(tmp_path, of_users(prom=HASH), said)
    assert known.admit(basic("prom", PASSWORD))
    written(tmp_path, of_users(other=OTHER))
    assert not known.admit(basic("prom", PASSWORD)), "a password that was right is forgotten too"
    assert known.admit(basic("other", OTHER_PASSWORD))
    assert not said
    for broken in ("nonsense\n", "", of_users(other=OTHER) + TLS):  # nobody is asked; TLS
        written(tmp_path, broken)
        for _ in range(2):
            assert known.admit(basic("other", OTHER_PASSWORD))
    os.unlink(tmp_path / "web.yml")
    for _ in range(2):
        assert known.admit(basic("other", OTHER_PASSWORD))
    assert [one.partition(":")[0] for one in said] == ["the web configuration in use remains"] * 4, (
        "each once"
    )


OBEYED: list[tuple[str, str, Any]] = [
    ("cert_file", TLS, {"certificate": "cert.pem", "key": "key.pem", "client_ca": None}),
    ("key_file", TLS, {"key": "key.pem"}),
    (
        "client_ca_file",
        f"{TLS}  client_ca_file: ca.pem\n  client_auth_type: RequireAndVerifyClientCert\n",
        {"client_ca": "ca.pem", "optional": False},
    ),
    (
        "client_auth_type",
        f"{TLS}  client_ca_file: ca.pem\n  client_auth_type: VerifyClientCertIfGiven\n",
        {"optional": True},
    ),
    ("client_auth_type", f"{TLS}  client_auth_type: NoClientCert\n", {"client_ca": None}),
    ("min_version", f"{TLS}  min_version: TLS13\n", {"min_version": "TLS13"}),
    ("max_version", f"{TLS}  max_version: TLS12\n", {"max_version": "TLS12"}),
]  # fmt: skip


@pytest.mark.parametrize(("key", "text", "files"), OBEYED)
def test_each_key_of_tls_is_obeyed(tmp_path: Path, key: str, text: str, files: Any) -> None:
    assert key in text
    found = read_web_config(written(tmp_path, text)).tls
    assert found is not None
    for name, value in files.items():
        at = str(tmp_path / value) if isinstance(value, str) and value.endswith(".pem") else value
        assert getattr(found, name) == at


@pytest.mark.parametrize("key", ["cert_file", "key_file", "client_ca_file"])
def test_a_file_that_cannot_be_read_is_named_with_its_key(tmp_path: Path, key: str) -> None:
    """Not with the option that is refused beside --web-config."""
    authority = Authority(tmp_path)
    own = authority.client("server", authority.issue("127.0.0.1"))
    own.key.chmod(0o600)
    files = {
        "cert_file": str(own.certificate),
        "key_file": str(own.key),
        "client_ca_file": str(authority.ca),
        key: "none.pem",
    }
    text = "".join(f"  {name}: {path}\n" for name, path in files.items())
    asked = "  client_auth_type: RequireAndVerifyClientCert\n"
    tls = read_web_config(written(tmp_path, f"tls_server_config:\n{text}{asked}")).tls
    assert tls is not None
    with pytest.raises(ConfigError) as raised:
        server_context(tls)
    assert raised.value.do == f"{key} must name a PEM file that you may read"


def test_versions_and_clients_are_those_of_the_context(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    own = authority.client("server", authority.issue("127.0.0.1"))
    own.key.chmod(0o600)
    files = TlsFiles(str(own.certificate), str(own.key), str(authority.ca), True, "TLS12", "TLS12")
    context = server_context(files)
    assert context.verify_mode is ssl.CERT_OPTIONAL
    assert (context.minimum_version, context.maximum_version) == (ssl.TLSVersion.TLSv1_2,) * 2
    strict = server_context(files._replace(optional=False, min_version="TLS13", max_version=""))
    assert strict.verify_mode is ssl.CERT_REQUIRED
    assert strict.minimum_version is ssl.TLSVersion.TLSv1_3


def test_headers_and_users(tmp_path: Path) -> None:
    text = f"{HTTP}  http2: false\n  headers:\n    X-Frame-Options: DENY\n{of_users(prom=HASH)}"
    found = read_web_config(written(tmp_path, text))
    assert (found.headers, found.users, found.tls) == ({"X-Frame-Options": "DENY"}, {"prom": HASH}, None)
    nothing = read_web_config(written(tmp_path, "{}"))
    assert (nothing.headers, nothing.users, nothing.tls) == ({}, None, None)


def test_names_of_users_are_as_they_are_written(tmp_path: Path) -> None:
    """As exporter-toolkit reads them; to YAML these are numbers, truth values and nothing."""
    names = ["1", "007", "1.0", "yes", "on", "null", "~", "2026-01-01", "0x10", "ü"]
    text = "basic_auth_users:\n" + "".join(f"  {name}: {HASH}\n" for name in names)
    assert list(read_web_config(written(tmp_path, text)).users or ()) == names


REFUSED = [
    *((f"{TLS}  {key}: x\n", f"tls_server_config.{key}:") for key in (
        "cert", "key", "client_ca", "client_allowed_sans", "cipher_suites", "curve_preferences",
        "prefer_server_cipher_suites",
    )),
    ("rate_limit:\n  burst: 1\n", "rate_limit"),
    (f"{HTTP}  http2: true\n", "http2"),
    (f"{HTTP}  headers:\n    Server: x\n", "there is no http_server_config.headers.Server"),
    (f"{HTTP}  headers:\n    X-Frame-Options: 1\n", "is no text"),
    (f"{HTTP}  other: 1\n", "there is no http_server_config.other"),
    (f"{TLS}  other: x\n", "there is no tls_server_config.other"),
    ("tls_server_config:\n  cert_file: x\n", "has no key_file"),
    ("tls_server_config:\n  cert_file: [x]\n", "cert_file is no text"),
    *(
        (f"{TLS}  client_auth_type: {kind}\n", "not verified")
        for kind in ("RequestClientCert", "RequireAnyClientCert", "x")
    ),
    (f"{TLS}  client_auth_type: RequireAndVerifyClientCert\n", "given together"),
    (f"{TLS}  client_ca_file: x\n", "given together"),
    (f"{TLS}  min_version: TLS11\n", "min_version is TLS11"),
    (f"{TLS}  min_version: TLS13\n  max_version: TLS12\n", "above"),
    ("other: 1\n", "there is no other"),
    ("basic_auth_users: [prom]\n", "is no mapping"),
    (of_users(prom="secret"), "the hash of user prom is none of bcrypt"),
    (of_users(prom="$6$salt$abcdefgh"), "SHA-crypt"),
    (f"basic_auth_users:\n  'a:b': {HASH}\n", "colon in the user a:b"),
    (f"prom:{HASH}\n", "it is no mapping"),  # as --users was
    ("a: [", "line"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "why"), REFUSED)
def test_what_cannot_be_obeyed_is_refused_by_name(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_web_config(written(tmp_path, text))
    assert why in caught.value.why
    assert "htpasswd" in caught.value.do
    assert "secret" not in str(caught.value)
    assert "abcdefgh" not in str(caught.value)


def test_a_file_that_everyone_may_change_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, of_users(prom=HASH))
    os.chmod(path, 0o646)
    with pytest.raises(ConfigError, match="every user can change it"):
        read_web_config(path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        read_web_config(str(tmp_path / "none"))
