"""TLS of the server: its certificate, and the authority of its clients'; read again when the files change."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable
from threading import Lock

from kcli.core.errors import AuthError, ConfigError
from kcli.files.reading import file_state
from kcli.profiles.file_safety import refusal


class ServerTls:
    """``client_ca``: clients need a certificate of that authority. ``warn`` is called when new files cannot be used.

    Raises ConfigError or AuthError for files that cannot be used at first.
    """

    def __init__(
        self, certificate: str, key: str | None, client_ca: str | None, warn: Callable[[str], object]
    ) -> None:
        self._files = tuple(os.path.expanduser(one) if one else None for one in (certificate, key, client_ca))
        self._warn, self._lock = warn, Lock()
        self._seen = self._signatures()
        self._context = self._read()

    def context(self) -> ssl.SSLContext:
        """For a new connection."""
        with self._lock:
            seen = self._signatures()
            if seen != self._seen:
                self._seen = seen
                try:
                    self._context = self._read()
                except (ConfigError, AuthError) as error:
                    self._warn(f"the certificate in use remains: {error}")
            return self._context

    def _signatures(self) -> list[tuple[int, int] | None]:
        return [_signature(one) for one in self._files if one]

    def _read(self) -> ssl.SSLContext:
        certificate, key, client_ca = self._files
        assert certificate is not None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        for path in filter(None, self._files):
            _check_readable(path)
        if (
            unsafe := refusal(
                key or certificate, file_state(key or certificate), os.getuid(), "a private key"
            )
        ) is not None:
            raise unsafe
        try:
            context.load_cert_chain(certificate, key, password=_no_password)
        except (ssl.SSLError, OSError, ValueError) as error:
            raise AuthError(
                f"the certificate {certificate} and its key cannot be used",
                why=_why(error),
                do="--tls-certificate needs a PEM file with the chain, --tls-key its key, not encrypted",
            ) from None
        if client_ca is not None:
            try:
                context.load_verify_locations(client_ca)
            except (ssl.SSLError, OSError) as error:
                raise AuthError(
                    f"the authority {client_ca} cannot be used",
                    why=_why(error),
                    do="--tls-client-ca needs a PEM file of certificates",
                ) from None
            context.verify_mode = ssl.CERT_REQUIRED
        return context


def _no_password() -> str:
    raise ValueError("the key is encrypted")


def _check_readable(path: str) -> None:
    try:
        with open(path, "rb"):
            pass
    except OSError as error:
        raise ConfigError(
            f"cannot read {path}",
            why=(error.strerror or str(error)).lower(),
            do="check the path and its permissions",
        ) from None


def _signature(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino


def _why(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return (error.reason or str(error)).replace("_", " ").lower()
    return str(error)
