"""``kcli exporter`` for tests: the command, and its loop and server within this process. Not a test."""

import http.client
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from kcli.core.admin.admin import Admin
from kcli.core.hooks import Hooks
from kcli.core.options import ClientOptions
from kcli.exporter.address import Address
from kcli.exporter.collectors.choice import USUAL
from kcli.exporter.collectors.reading import FactReader
from kcli.exporter.health import ClusterSite
from kcli.exporter.loop import Collecting, Loop, Readers
from kcli.exporter.server import Server
from kcli.flows.lag.sample import Wanted
from kcli.flows.monitor.ages import Lookups
from kcli.flows.monitor.latencies import Latencies
from kcli.flows.monitor.monitor import Monitor
from tests.run import start

INTERVAL = 0.1


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


def get(url: str, path: str = "/metrics", *, context: ssl.SSLContext | None = None, **headers: str) -> Answer:
    """One GET."""
    at = urlsplit(url)
    assert at.hostname is not None
    if at.scheme == "https":
        connection = http.client.HTTPSConnection(at.hostname, at.port, timeout=10, context=context)
    else:
        connection = http.client.HTTPConnection(at.hostname, at.port, timeout=10)
    try:
        connection.request(
            "GET", path, headers={name.replace("_", "-"): text for name, text in headers.items()}
        )
        response = connection.getresponse()
        return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
    finally:
        connection.close()


class Running(NamedTuple):
    """In this process; ``said`` are the warnings."""

    loop: Loop
    server: Server
    said: list[str]

    @property
    def url(self) -> str:
        return self.server.url

    def sampled(self, more: int = 1) -> None:
        """Waits until so many more samples have ended, the first of which began after the call."""
        wanted = self.loop.state.samples + more + 1
        until(lambda: self.loop.state.samples >= wanted)


@contextmanager
def exporting(
    bootstrap: str,
    *,
    time: str = "estimate",
    most: int = 1_000_000,
    timeout: float = 2.0,
    collect: frozenset[str] = USUAL,
    **how: Any,
) -> Iterator[Running]:
    """Ten samples a second."""
    options = ClientOptions(bootstrap_servers=bootstrap)
    said: list[str] = []

    @contextmanager
    def readers() -> Iterator[Readers]:
        latencies = Latencies(Hooks())
        with Admin(options, latencies.hooks, timeout=timeout) as admin:
            monitor = Monitor(admin, latencies, Wanted(), lookups=Lookups(100_000, 0))
            yield Readers(admin, monitor, FactReader(admin, collect))

    loop = Loop(readers, Collecting(time, collect), interval=INTERVAL, most=most, warn=said.append)
    server = Server(Address("127.0.0.1", 0), ClusterSite({"": lambda: loop.state}), **how)
    server.start()
    loop.start()
    try:
        assert loop.first.wait(120)
        yield Running(loop, server, said)
    finally:
        server.close()
        loop.close()


@contextmanager
def command(bootstrap: str, *arguments: str) -> Iterator[tuple["subprocess.Popen[bytes]", str]]:
    """The process and its URL; it is ended if the test has not done so."""
    process = start("exporter", "--listen", "127.0.0.1:0", *arguments, bootstrap=bootstrap)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().decode().strip()
        if not url:
            raise AssertionError(process.communicate(timeout=120)[1].decode())
        yield process, url
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def until(condition: Callable[[], Any], patience: float = 120.0) -> Any:
    """What it returns once that is true."""
    end = time.monotonic() + patience
    while not (found := condition()):
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.02)
    return found
