"""The server's side of TLS from PEM files: each thing that can be wrong with one of them gets an error of its own."""

from __future__ import annotations

import os
import ssl

from kcli.core.classes import NamedTuple
from kcli.core.errors import ConfigError
from kcli.core.net.tls.context import is_mismatch, readable
from kcli.core.net.tls.pem_files import (
    CERTIFICATE,
    blocks,
    certificates_in,
    check_no_store,
    check_validity,
    private_key_in,
    text_of,
    unusable,
)
from kcli.core.secret import Secret
from kcli.files.user_file import FileState, read_bounded
from kcli.profiles.file_safety import refusal

_OPTIONS = ("--tls-certificate", "--tls-key", "--tls-client-ca")
_VERSIONS = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}
_CONVERT = "convert it: openssl pkcs12 -in STORE -nodes -out FILE.pem"


class TlsFiles(NamedTuple):
    """``key`` None: it is in the file of the certificate. ``client_ca``: clients need a certificate of that authority,
    or may have none if it is ``optional``. Versions as in ``TLS12``, or empty.
    """

    certificate: str
    key: str | None = None
    client_ca: str | None = None
    optional: bool = False
    min_version: str = ""
    max_version: str = ""
    options: tuple[str, str, str] = _OPTIONS

    @property
    def paths(self) -> list[str]:
        """Those that are read."""
        return [path for path in (self.certificate, self.key, self.client_ca) if path is not None]


def server_context(files: TlsFiles) -> ssl.SSLContext:
    """Raises ConfigError for files that cannot be used."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = _VERSIONS[files.min_version or "TLS12"]
    if files.max_version:
        context.maximum_version = _VERSIONS[files.max_version]
    certificate, key, client_ca = files.options
    _load(context, files.certificate, files.key, certificate, key)
    if files.client_ca is not None:
        _trust(context, files.client_ca, client_ca)
        context.verify_mode = ssl.CERT_OPTIONAL if files.optional else ssl.CERT_REQUIRED
    return context


def _load(context: ssl.SSLContext, certificate: str, key: str | None, option: str, key_option: str) -> None:
    what, key_what = f"the certificate {certificate}", f"the key {key}"
    text, state = _read(certificate, what, option)
    chain, key_text, elsewhere = (
        certificates_in(text, what, option),
        text,
        f"; or name the key with {key_option}",
    )
    if key is None:
        key_what = f"the certificate and key {certificate}"
    else:
        (key_text, state), elsewhere = _read(key, key_what, key_option), ""
    if (unsafe := refusal(key or certificate, state, os.getuid(), "a private key")) is not None:
        raise unsafe
    own = private_key_in(key_text, key_what, option if key is None else key_option, elsewhere)
    check_validity(chain, what)
    encrypted = []

    def password() -> str:
        """Called for an encrypted key only; without it OpenSSL prompts on the terminal."""
        encrypted.append(True)
        return ""

    try:
        with readable(Secret(f"{chain}\n{own}\n")) as path:
            context.load_cert_chain(path, password=password)
    except (OSError, ValueError) as error:
        if encrypted:
            raise unusable(
                key_what,
                "the key is encrypted, and nobody is asked for its password",
                "write it without one: openssl pkey -in KEY -out NEW, and chmod 600 NEW",
            ) from None
        if is_mismatch(error):
            raise ConfigError(
                "the certificate and its key do not belong together",
                why=f"the key in {key or certificate} is not that of the first certificate in {certificate}",
                do="name the key that the certificate was made for; the server's own certificate comes first in its file",
            ) from None
        raise _not_loaded(error, chain, what, key_what) from None


def _not_loaded(error: Exception, chain: str, what: str, key_what: str) -> ConfigError:
    reason = getattr(error, "reason", None) or ""
    if "TOO_SMALL" in reason or "TOO_WEAK" in reason:
        whose = "its own key or signature" if reason.startswith("EE_") else "a key or signature of its chain"
        return unusable(
            what,
            f"{whose} is weaker than this system's OpenSSL allows",
            "renew it, with a key of at least 2048 bits (EC: 256) and SHA-256",
        )
    return _damaged(chain, what) or unusable(
        key_what, "the key is damaged, or of a kind that OpenSSL does not know", "copy the file again"
    )


def _trust(context: ssl.SSLContext, client_ca: str, option: str) -> None:
    what = f"the authorities {client_ca}"
    text, _ = _read(client_ca, what, option)
    found = certificates_in(text, what, option)
    if (damaged := _damaged(found, what)) is not None:
        raise damaged
    context.load_verify_locations(cadata=found)


def _read(path: str, what: str, option: str) -> tuple[str, FileState]:
    """The text of a file that may be PEM."""
    try:
        data, state = read_bounded(path)
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"cannot read {what}",
            why=(getattr(error, "strerror", None) or str(error)).lower(),
            do=f"{option} must name a PEM file that you may read",
        ) from None
    check_no_store(data, what, _CONVERT)
    return text_of(data, what, option), state


def _damaged(chain: str, what: str) -> ConfigError | None:
    """The error if OpenSSL does not know one of these for a certificate."""
    found = blocks(chain, CERTIFICATE)
    for number, block in enumerate(found, 1):
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(cadata=block)
        except (OSError, ValueError):
            return unusable(what, f"certificate {number} of {len(found)} is damaged", "copy the file again")
    return None
