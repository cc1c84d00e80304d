"""Files for the exporter's TLS that cannot be used: each mistake in kcli's words, and none in OpenSSL's."""

import random
import re
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from kcli.core.errors import ConfigError
from kcli.exporter.certificate import TlsFiles, server_context
from kcli.exporter.tls import ServerTls
from tests.certificates import Authority, ClientFiles

OPENSSL = re.compile(r"\[|_|pem lib|asn1|routines|\bssl\b", re.IGNORECASE)
Change = Callable[[Authority, ClientFiles], tuple[Path, Path | None, Path | None]]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def own(authority: Authority) -> ClientFiles:
    """Of a server."""
    return authority.client("server", authority.issue("127.0.0.1"))


def damaged(pem: str) -> str:
    """Still base64, and no longer DER."""
    lines = pem.splitlines()
    return "\n".join([lines[0], *["AAAA"] * 9, lines[-1], ""])


def folder(path: Path) -> Path:
    path.mkdir(exist_ok=True)
    return path


CASES: dict[str, tuple[Change, str, str, str]] = {
    "no certificate file": (
        lambda a, o: (a.folder / "none", None, None),
        "cannot read the certificate", "no such file or directory", "--tls-certificate must name a PEM file",
    ),
    "a folder": (
        lambda a, o: (folder(a.folder / "folder"), None, None),
        "cannot read the certificate", "it is a folder", "--tls-certificate must name a PEM file",
    ),
    "an empty certificate": (
        lambda a, o: (o.file("empty", ""), o.key, None),
        "cannot use the certificate", "the file is empty", "--tls-certificate must name a PEM file",
    ),
    "an empty key": (
        lambda a, o: (o.certificate, o.file("empty", ""), None),
        "cannot use the key", "the file is empty", "--tls-key must name a PEM file",
    ),
    "text": (
        lambda a, o: (o.file("text", "hello\n"), o.key, None),
        "cannot use the certificate", "it is not a PEM file", "-----BEGIN CERTIFICATE-----",
    ),
    "a certificate that is cut off": (
        lambda a, o: (o.file("cut", o.certificate_pem[:300]), o.key, None),
        "cannot use the certificate", "no line -----END CERTIFICATE-----", "copy the file again",
    ),
    "a chain that is cut off": (
        lambda a, o: (o.file("cut", o.certificate_pem + a.pem[:300]), o.key, None),
        "cannot use the certificate", "no line -----END CERTIFICATE-----", "copy the file again",
    ),
    "a key that is cut off": (
        lambda a, o: (o.certificate, o.file("cut", o.key_pem[:100]), None),
        "cannot use the key", "no line -----END EC PRIVATE KEY-----", "copy the file again",
    ),
    "a damaged certificate": (
        lambda a, o: (o.file("odd", damaged(o.certificate_pem)), o.key, None),
        "cannot use the certificate", "certificate 1 of 1 is damaged", "copy the file again",
    ),
    "a certificate that is not base64": (
        lambda a, o: (o.file("odd", o.certificate_pem.replace("M", "%")), o.key, None),
        "cannot use the certificate", "certificate 1 of 1 is not base64", "copy the file again",
    ),
    "a damaged certificate in the chain": (
        lambda a, o: (o.file("odd", o.certificate_pem + damaged(a.pem)), o.key, None),
        "cannot use the certificate", "certificate 2 of 2 is damaged", "copy the file again",
    ),
    "a damaged key": (
        lambda a, o: (o.certificate, o.file("odd", damaged(o.key_pem)), None),
        "cannot use the key", "the key is damaged, or of a kind that OpenSSL does not know", "copy the file again",
    ),
    "the key as the certificate": (
        lambda a, o: (o.key, o.certificate, None),
        "cannot use the certificate", "no certificate, but EC PRIVATE KEY", "-----BEGIN CERTIFICATE-----",
    ),
    "the certificate as the key": (
        lambda a, o: (o.certificate, o.certificate, None),
        "cannot use the key", "no private key, but CERTIFICATE", "--tls-key must have a PEM block",
    ),
    "a certificate without a key": (
        lambda a, o: (o.certificate, None, None),
        "cannot use the certificate and key", "no private key, but CERTIFICATE", "name the key with --tls-key",
    ),
    "DER": (
        lambda a, o: (der(o), o.key, None),
        "cannot use the certificate", "it is DER, not PEM", "openssl x509 -inform der",
    ),
    "PKCS12": (
        lambda a, o: (o.pkcs12("secret"), None, None),
        "cannot use the certificate", "it is a PKCS12 store, not a PEM file", "openssl pkcs12",
    ),
    "a key of another certificate": (
        lambda a, o: (o.certificate, a.client("another").key, None),
        "the certificate and its key do not belong together", "is not that of the first certificate in",
        "name the key that the certificate was made for",
    ),
    "a key of another kind": (
        lambda a, o: (o.certificate, o.key_of_another_kind(), None),
        "the certificate and its key do not belong together", "is not that of the first certificate in",
        "name the key that the certificate was made for",
    ),
    "an encrypted key": (
        lambda a, o: (o.certificate, o.encrypted_key("secret"), None),
        "cannot use the key", "the key is encrypted", "openssl pkey -in KEY",
    ),
    "an expired certificate": (
        lambda a, o: ((c := a.client("old", a.expired("127.0.0.1"))).certificate, c.key, None),
        "is not valid now", "it expired at 20", "renew the certificate",
    ),
    "a certificate of tomorrow": (
        lambda a, o: ((c := a.client("new", a.not_yet_valid("127.0.0.1"))).certificate, c.key, None),
        "is not valid now", "it is valid only from", "correct the clock",
    ),
    "no authorities": (
        lambda a, o: (o.both, None, o.file("empty", "")),
        "cannot use the authorities", "the file is empty", "--tls-client-ca must name a PEM file",
    ),
    "a key for authorities": (
        lambda a, o: (o.both, None, o.key),
        "cannot use the authorities", "no certificate, but EC PRIVATE KEY", "--tls-client-ca must have PEM blocks",
    ),
    "a damaged authority": (
        lambda a, o: (o.both, None, o.file("odd", a.pem + damaged(a.pem))),
        "cannot use the authorities", "certificate 2 of 2 is damaged", "copy the file again",
    ),
}  # fmt: skip


def der(own: ClientFiles) -> Path:
    path = own.certificate.with_suffix(".der")
    path.write_bytes(ssl.PEM_cert_to_DER_cert(own.certificate_pem))
    return path


@pytest.mark.parametrize("case", CASES)
def test_a_file_that_cannot_be_used_is_refused_in_words(
    authority: Authority, own: ClientFiles, case: str
) -> None:
    change, what, why, do = CASES[case]
    files = [None if path is None else str(path) for path in change(authority, own)]
    with pytest.raises(ConfigError) as caught:
        server_context(TlsFiles(files[0] or "", *files[1:]))
    error = caught.value
    assert error.exit_code == 2
    assert what in error.what
    assert why in error.why
    assert do in error.do
    for path in filter(None, files):
        for text in (error.what, error.why, error.do):
            assert not OPENSSL.search(text.replace(path, "")), text
    assert any(path and path in error.what + error.why for path in files)


def test_a_file_that_may_not_be_read_is_named(own: ClientFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    """As root everything can be read, so the system's answer is made."""

    def refused(_path: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("kcli.exporter.certificate.read_bounded", refused)
    with pytest.raises(ConfigError, match="cannot read the certificate") as caught:
        server_context(TlsFiles(str(own.certificate)))
    assert caught.value.why == "permission denied"
    assert "that you may read" in caught.value.do


def test_a_key_that_everyone_may_change_is_refused(own: ClientFiles) -> None:
    own.key.chmod(0o602)
    with pytest.raises(ConfigError, match="every user can change it"):
        server_context(TlsFiles(str(own.certificate), str(own.key)))


def test_any_damage_is_refused_in_words_or_does_no_harm(authority: Authority, own: ClientFiles) -> None:
    """Files that are cut off, and files with changed characters."""
    seeded = random.Random(20)
    whole = own.both.read_text()
    refused = 0
    for trial in range(300):
        at = seeded.randrange(len(whole))
        text = whole[:at] if trial % 3 == 0 else f"{whole[:at]}{seeded.choice('A=-%x')}{whole[at + 1 :]}"
        path = own.file("damaged.pem", text)
        error = refusal_of(str(path))
        if error is not None:
            refused += 1
            assert all((error.what, error.why, error.do))
            assert not OPENSSL.search(str(error).replace(str(path), "")), text
    assert refused > 100


def refusal_of(path: str) -> ConfigError | None:
    try:
        server_context(TlsFiles(path))
    except ConfigError as error:
        return error
    return None


def test_an_expired_certificate_does_not_replace_the_one_in_use(
    authority: Authority, own: ClientFiles
) -> None:
    said: list[str] = []
    path = own.both
    tls = ServerTls(lambda: TlsFiles(str(path)), said.append)
    used = tls.context()
    authority.client("renewed", authority.expired("127.0.0.1")).both.replace(path)
    assert tls.context() is used
    assert tls.context() is used
    assert len(said) == 1
    assert "remains" in said[0]
    assert "is not valid now" in said[0]


def test_a_file_that_becomes_readable_is_read_again(own: ClientFiles) -> None:
    """Its content and its time of change stay the same then."""
    path = own.both
    tls = ServerTls(lambda: TlsFiles(str(path)), print)
    before = tls.context()
    path.chmod(0o600)
    assert tls.context() is not before
