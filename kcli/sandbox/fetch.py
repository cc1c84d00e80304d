"""Fetches single files of a Maven repository, checked and in one step; it knows nothing of dependencies.

jgo's own download writes straight to the final name (a killed download leaves half a jar that passes for a
whole one) and only warns when a checksum differs. Hence this: a draft beside the target, the published SHA-1
compared, then renamed. Serves several threads.
"""

import hashlib
import os
import threading
from collections.abc import Callable
from pathlib import Path

from kcli.core.errors import ConfigError
from kcli.core.net.http import HttpClient, Policy, UnansweredError
from kcli.core.net.http_address import parse_http, refuse_plaintext
from kcli.core.net.http_messages import Answer, NoAnswerError, Sink
from kcli.core.net.tls.context import make_context
from kcli.core.net.tls.stores import Stores
from kcli.sandbox.errors import DownloadError

_POLICY = Policy(
    tries=3, first_pause=0.3, longest_pause=0.6, limit=1 << 20, request_seconds=15.0, redirects=5
)
"""Repositories send to where their files are. The limit is that of a checksum; a jar goes to its file."""
_LARGEST = 1 << 30
"""Bytes of a file; the largest of Kafka's and Spark's have a tenth of that."""


class NotPublishedError(DownloadError):
    """The repository responds, but does not have this file."""


class Fetcher:
    """Files of the repository at ``base`` (a URL without trailing slash)."""

    def __init__(self, base: str) -> None:
        found = parse_http(base)
        if found is None or "?" in found.path:
            raise ConfigError(
                "KCLI_MAVEN_REPO is no address",
                why="it is http or https, a host, and perhaps a port and a path",
                do="KCLI_MAVEN_REPO=https://HOST/PATH",
            )
        address = found._replace(path=found.path.rstrip("/"))
        if address.authorization:
            refuse_plaintext(address, "KCLI_MAVEN_REPO", "use the https address of the repository")
        self.base = str(address)
        self._client = HttpClient([address], _POLICY, lambda: make_context(Stores(prefix="sandbox")))

    def size(self, path: str) -> int:
        """Bytes of the file, as the repository announces them (0: it does not say)."""
        said = self._answer("HEAD", path).header("content-length")
        return int(said) if said.isascii() and said.isdigit() else 0

    def fetch(self, path: str, target: Path, *, on_bytes: Callable[[int], None]) -> str:
        """Store the file at ``target``; its SHA-1. ``on_bytes`` is called with the bytes of each chunk, negative when a
        try is undone.
        """
        expected = self._published_sha1(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = _Draft(target, on_bytes)
        try:
            self._answer("GET", path, draft.begin)
            draft.close()
            if (found := draft.digest.hexdigest()) != expected:
                raise DownloadError(
                    f"{path} from {self.base}",
                    why=f"its SHA-1 is {found}, the published one is {expected}",
                    do="try again; if it stays, a proxy or mirror in between alters the file",
                )
            draft.path.replace(target)
        except BaseException:
            draft.undo()
            raise
        return expected

    def _published_sha1(self, path: str) -> str:
        """The first word of the file's ``.sha1`` (some repositories put the name behind it)."""
        answer = self._answer("GET", f"{path}.sha1")
        word = (answer.body.decode("ascii", "replace").split() or [""])[0].lower()
        if len(word) != 40:
            raise DownloadError(
                f"{path}.sha1 from {self.base}",
                why="that is no checksum",
                do="check the response of the repository, or of a proxy in between",
            )
        return word

    def _answer(self, method: str, path: str, sink: Sink | None = None) -> Answer:
        try:
            answer = self._client.ask(method, f"/{path}", sink=sink)
        except (UnansweredError, NoAnswerError) as error:
            raise DownloadError(
                f"the first start downloads Kafka, and {self.base} cannot be reached",
                why=f"{path}: {error}",
                do="connect to a network or set HTTPS_PROXY; KCLI_MAVEN_REPO names another repository",
            ) from error
        url, status = f"{self.base}/{path}", answer.status
        if status == 404:
            raise NotPublishedError(
                f"{url} does not exist",
                why="HTTP 404",
                do="check the version, and KCLI_MAVEN_REPO if it is set",
            )
        if status != 200:
            raise DownloadError(
                f"{url} cannot be fetched",
                why=f"HTTP {status}",
                do="check the proxy settings, or set KCLI_MAVEN_REPO to a repository you may use",
            )
        return answer


class _Draft:
    """The file beside the target that an answer is written to; each try begins it anew."""

    def __init__(self, target: Path, on_bytes: Callable[[int], None]) -> None:
        self.path = target.with_name(f".{target.name}.{os.getpid()}.{threading.get_ident()}")
        self.digest = hashlib.sha1(usedforsecurity=False)
        self._on_bytes, self._received, self._name = on_bytes, 0, target.name
        self._file = self.path.open("wb")

    def begin(self) -> Callable[[bytes], object]:
        self._file.seek(0)
        self._file.truncate()
        self.digest = hashlib.sha1(usedforsecurity=False)
        self._take_back()
        return self._write

    def close(self) -> None:
        self._file.close()

    def undo(self) -> None:
        self._file.close()
        self.path.unlink(missing_ok=True)
        self._take_back()

    def _write(self, chunk: bytes) -> None:
        self._file.write(chunk)
        self.digest.update(chunk)
        self._received += len(chunk)
        self._on_bytes(len(chunk))
        if self._received > _LARGEST:
            raise DownloadError(
                f"what is sent as {self._name} is too large",
                why=f"it has more than {_LARGEST:,} bytes",
                do="check KCLI_MAVEN_REPO, and what answers there",
            )

    def _take_back(self) -> None:
        self._on_bytes(-self._received)
        self._received = 0
