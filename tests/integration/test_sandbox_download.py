"""The download of the jars, against a repository on loopback that serves this machine's cache, or lies."""

import hashlib
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from kcli.sandbox.artifacts import classpath
from kcli.sandbox.config import DEFAULT_VERSION
from kcli.sandbox.errors import DownloadError
from kcli.sandbox.jar_list import repository_of
from kcli.sandbox.paths import cache_root
from kcli.sandbox.progress import Progress

pytestmark = pytest.mark.integration


@dataclass
class Repository:
    """What is served, and how it misbehaves: by parts of a path."""

    root: Path
    url: str = ""
    asked: list[str] = field(default_factory=list)
    tampered: str = "//none"
    hung_up: str = "//none"
    busy_once: str = "//none"


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    classpath(DEFAULT_VERSION)  # fills the cache of this machine, if that is new
    found = Repository(repository_of(cache_root()))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            found.asked.append(self.path)
            if found.hung_up in self.path:
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            if found.busy_once in self.path and found.asked.count(self.path) == 1:
                self._answer(503, b"")
                return
            file = found.root / self.path.lstrip("/").removesuffix(".sha1")
            if not file.is_file():
                self._answer(404, b"")
            elif self.path.endswith(".sha1"):
                self._answer(200, hashlib.sha1(file.read_bytes()).hexdigest().encode())
            else:
                self._answer(200, file.read_bytes() + (b"!" if found.tampered in self.path else b""))

        do_HEAD = do_GET  # noqa: N815

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    found.url = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setenv("KCLI_MAVEN_REPO", found.url)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield found
    server.shutdown()
    server.server_close()
    thread.join()


def test_all_jars_come_checked_and_counted(repository: Repository, tmp_path: Path) -> None:
    seen: list[Progress] = []
    jars = classpath(DEFAULT_VERSION, cache=tmp_path, on_progress=seen.append)
    assert [j.name for j in jars] == [j.name for j in classpath(DEFAULT_VERSION)]
    assert jars[0].name == f"kafka_2.13-{DEFAULT_VERSION}.jar"
    assert all(
        jar.read_bytes() == mine.read_bytes()
        for jar, mine in zip(jars, classpath(DEFAULT_VERSION), strict=True)
    )
    last = [p for p in seen if p.stage == "download"][-1]
    assert last.jars_done == last.jars_total == len(jars)
    assert last.bytes_done == last.bytes_total == sum(jar.stat().st_size for jar in jars)
    assert seen[-1].stage == "done"


def test_a_wrong_checksum_is_refused_and_nothing_of_it_stays(repository: Repository, tmp_path: Path) -> None:
    repository.tampered = "scala-library"
    with pytest.raises(DownloadError, match="SHA-1") as caught:
        classpath(DEFAULT_VERSION, cache=tmp_path)
    assert "scala-library" in caught.value.what
    assert not list(tmp_path.rglob("*scala-library*.jar"))
    assert not list(tmp_path.rglob(".*"))


def test_a_failure_in_the_middle_of_resolving_makes_no_holes(repository: Repository, tmp_path: Path) -> None:
    """jgo swallows the failure of a description, and would leave out that jar and all below it."""
    repository.hung_up = "kafka-raft"
    with pytest.raises(DownloadError, match="kafka-raft"):
        classpath(DEFAULT_VERSION, cache=tmp_path)
    repository.hung_up = "//none"
    assert len(classpath(DEFAULT_VERSION, cache=tmp_path)) == len(classpath(DEFAULT_VERSION))


def test_a_busy_repository_is_retried(repository: Repository, tmp_path: Path) -> None:
    repository.busy_once = "kafka-clients"
    assert classpath(DEFAULT_VERSION, cache=tmp_path)


def test_two_at_once_download_once(repository: Repository, tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        one, two = pool.map(lambda _n: classpath(DEFAULT_VERSION, cache=tmp_path), range(2))
    assert one == two
    fetched = [path for path in repository.asked if path.endswith(f"kafka_2.13-{DEFAULT_VERSION}.pom")]
    assert len(fetched) == 1
