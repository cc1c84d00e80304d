"""Fetches single files of a Maven repository, checked and in one step; it knows nothing of dependencies.

jgo's own download writes straight to the final name (a killed download leaves half a jar that passes for a
whole one) and only warns when a checksum differs. Hence this: a draft beside the target, the published SHA-1
compared, then renamed. Sessions are per thread, connections are kept alive.
"""

import hashlib
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import requests

from kcli.sandbox.errors import DownloadError

_T = TypeVar("_T")

_TRIES = 3
_CHUNK = 1 << 16
_TEMPORARY = (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError)
"""SSLError is a ConnectionError to requests, but trying again will not make a certificate valid: it ends with the same
text after the tries, which is soon enough."""


class NotPublishedError(DownloadError):
    """The repository responds, but does not have this file."""


class Fetcher:
    """Files of the repository at ``base`` (a URL without trailing slash)."""

    def __init__(self, base: str, *, timeout: float = 15.0) -> None:
        self.base = base.rstrip("/")
        self._timeout = timeout
        self._local = threading.local()

    def size(self, path: str) -> int:
        """Bytes of the file, as the repository announces them (0: it does not say)."""
        return self._retried(path, lambda: self._size(path))

    def fetch(self, path: str, target: Path, *, on_bytes: Callable[[int], None]) -> str:
        """Store the file at ``target``; its SHA-1. ``on_bytes`` is called with the bytes of each chunk, negative when a
        try is undone.
        """
        return self._retried(path, lambda: self._fetch(path, target, on_bytes))

    def _size(self, path: str) -> int:
        answer = self._session().head(f"{self.base}/{path}", timeout=self._timeout, allow_redirects=True)
        _check_status(answer)
        return int(answer.headers.get("content-length", 0))

    def _fetch(self, path: str, target: Path, on_bytes: Callable[[int], None]) -> str:
        expected = self._published_sha1(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f".{target.name}.{os.getpid()}.{threading.get_ident()}")
        received = 0
        digest = hashlib.sha1(usedforsecurity=False)
        try:
            with self._session().get(f"{self.base}/{path}", timeout=self._timeout, stream=True) as answer:
                _check_status(answer)
                with draft.open("wb") as file:
                    for chunk in answer.iter_content(_CHUNK):
                        file.write(chunk)
                        digest.update(chunk)
                        received += len(chunk)
                        on_bytes(len(chunk))
            if digest.hexdigest() != expected:
                raise DownloadError(
                    f"{path} from {self.base}",
                    why=f"its SHA-1 is {digest.hexdigest()}, the published one is {expected}",
                    do="try again; if it stays, a proxy or mirror in between alters the file",
                )
            draft.replace(target)
        except BaseException:
            draft.unlink(missing_ok=True)
            on_bytes(-received)
            raise
        return expected

    def _published_sha1(self, path: str) -> str:
        """The first word of the file's ``.sha1`` (some repositories put the name behind it)."""
        answer = self._session().get(f"{self.base}/{path}.sha1", timeout=self._timeout)
        _check_status(answer)
        word = (answer.text.split() or [""])[0].lower()
        if len(word) != 40:
            raise DownloadError(
                f"{path}.sha1 from {self.base}",
                why="that is no checksum",
                do="check the response of the repository, or of a proxy in between",
            )
        return word

    def _retried(self, path: str, attempt: Callable[[], _T]) -> _T:
        for left in range(_TRIES - 1, -1, -1):
            try:
                return attempt()
            except _BusyError as error:
                if not left:
                    raise
                time.sleep(error.wait)
            except requests.RequestException as error:
                if not left or not isinstance(error, _TEMPORARY):
                    raise _unreachable(self.base, path, error) from error
                time.sleep(0.3)
        raise AssertionError("unreachable")

    def _session(self) -> requests.Session:
        session: requests.Session | None = getattr(self._local, "session", None)
        if session is None:
            session = self._local.session = requests.Session()
        return session


class _BusyError(DownloadError):
    """The repository asks to try later, or has a temporary error."""

    def __init__(self, url: str, status: int, wait: float) -> None:
        super().__init__(f"{url} cannot be fetched", why=f"HTTP {status}", do="try again later")
        self.wait = wait


def _check_status(answer: requests.Response) -> None:
    status = answer.status_code
    if status == 200:
        return
    if status == 404:
        raise NotPublishedError(
            f"{answer.url} does not exist",
            why="HTTP 404",
            do="check the version, and KCLI_MAVEN_REPO if it is set",
        )
    if status == 429 or status >= 500:
        asked = answer.headers.get("retry-after", "")
        raise _BusyError(answer.url, status, min(float(asked), 10.0) if asked.isdigit() else 0.5)
    raise DownloadError(
        f"{answer.url} cannot be fetched",
        why=f"HTTP {status}",
        do="check the proxy settings, or set KCLI_MAVEN_REPO to a repository you may use",
    )


def _unreachable(base: str, path: str, error: Exception) -> DownloadError:
    return DownloadError(
        f"the first start downloads Kafka, and {base} cannot be reached",
        why=f"{path}: {_innermost(error)}",
        do="connect to a network or set HTTPS_PROXY; KCLI_MAVEN_REPO names another repository",
    )


def _innermost(error: BaseException) -> str:
    """The system's own words; requests and urllib3 wrap them three layers deep."""
    seen = error
    while True:
        reason = getattr(seen, "reason", None)
        inner = reason if isinstance(reason, BaseException) else seen.__cause__ or seen.__context__
        if inner is None:
            inner = next((arg for arg in seen.args if isinstance(arg, BaseException)), None)
        if inner is None or inner is seen:
            return str(seen) or type(seen).__name__
        seen = inner
