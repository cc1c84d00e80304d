"""TLS of the server: its certificate, and the authority of its clients'; read again when the files change."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Sequence
from threading import Lock

from kcli.core.errors import ConfigError
from kcli.exporter.certificate import server_context
from kcli.files.user_file import Version, version_of


class ServerTls:
    """``client_ca``: clients need a certificate of that authority. ``warn`` is called when new files cannot be used.

    Raises ConfigError for files that cannot be used at first.
    """

    def __init__(
        self, certificate: str, key: str | None, client_ca: str | None, warn: Callable[[str], object]
    ) -> None:
        self._files = certificate, key, client_ca
        self._warn, self._lock = warn, Lock()
        self._seen = self._versions()
        self._context = server_context(*self._files)

    def context(self) -> ssl.SSLContext:
        """The context for a new connection; reads the files again if they have changed."""
        with self._lock:
            seen = self._versions()
            if seen != self._seen:
                self._seen = seen
                try:
                    self._context = server_context(*self._files)
                except ConfigError as error:
                    self._warn(f"the certificate in use remains: {error}")
            return self._context

    def _versions(self) -> Sequence[Version | None]:
        return [version_of(one) for one in self._files if one is not None]
