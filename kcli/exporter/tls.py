"""TLS of the server: its certificate, and the authority of its clients'; read again when the files change."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from threading import Lock
from typing import Any

from kcli.core.errors import ConfigError
from kcli.exporter.certificate import TlsFiles, server_context
from kcli.files.user_file import version_of


class ServerTls:
    """``current``: the files now. ``warn`` is called when new files cannot be used.

    Raises ConfigError for files that cannot be used at first.
    """

    def __init__(self, current: Callable[[], TlsFiles], warn: Callable[[str], object]) -> None:
        self._current = current
        self._warn, self._lock = warn, Lock()
        files = current()
        self._seen = _versions(files)
        self._context = server_context(files)

    @property
    def asks_clients(self) -> bool:
        """Whether only clients with a certificate are served."""
        return self._context.verify_mode is ssl.CERT_REQUIRED

    def context(self) -> ssl.SSLContext:
        """The context for a new connection; reads the files again if they have changed."""
        with self._lock:
            files = self._current()
            if (seen := _versions(files)) != self._seen:
                self._seen = seen
                try:
                    self._context = server_context(files)
                except ConfigError as error:
                    self._warn(f"the certificate in use remains: {error}")
            return self._context


def _versions(files: TlsFiles) -> Any:
    return files, [version_of(one) for one in files.paths]
