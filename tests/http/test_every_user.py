"""Each user of the HTTP client keeps each of its rules, against a server, a proxy and TLS on loopback.

``USERS`` and ``RULES`` are walked against each other; a module that sends requests and is no user here fails.
"""

import base64
import errno
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import NamedTuple

import pytest

import kcli
from kcli.core.errors import AuthError, ConfigError, KcliError
from kcli.core.secret import Secret
from kcli.core.tokens.endpoint import Grant, TokenEndpoint, parse_endpoint
from kcli.flows.lag.webhook import Webhook, parse_webhook
from kcli.sandbox import fetch
from kcli.serde.registry.addresses import addresses
from kcli.serde.registry.options import RegistryOptions
from kcli.serde.registry.transport import Transport
from tests.certificates import Authority
from tests.http.server import NOT_LOOPBACK, Asked, Server, hangs_up, says
from tests.registry.proxy import Proxy

SECRET = "geheim"
SECONDS = 120.0
"""Of a request."""
FEW_SECONDS = 0.5
PROXY_USER = f"me:{SECRET}@"


def registry(url: str, seconds: float) -> None:
    options = RegistryOptions(
        schema_registry_url=url,
        schema_registry_api_timeout_ms=round(seconds * 1000),
        schema_registry_max_retries=2,
    )
    Transport(addresses(options), options).ask("GET", "/subjects")


def endpoint(url: str, seconds: float) -> None:
    grant = Grant("kcli", Secret(SECRET), "", {})
    TokenEndpoint(parse_endpoint(url), grant, timeout=seconds).fetch()


def webhook(url: str, seconds: float) -> None:
    Webhook(parse_webhook(f"{url}/{SECRET}"))(b"{}", seconds, lambda: False)


def download(url: str, _seconds: float) -> None:
    """Which has as long as it needs."""
    fetch.Fetcher(url)._published_sha1("a.jar")


class User(NamedTuple):
    """``ask`` sends one request to the URL, or raises a KcliError. ``answer``: what it takes for success."""

    module: str
    ask: Callable[[str, float], None]
    answer: bytes
    tls_only: bool = False
    redirects: bool = False


USERS = {
    "registry": User("serde/registry/transport.py", registry, b"[]"),
    "endpoint": User(
        "core/tokens/endpoint.py", endpoint, json.dumps({"access_token": "abc"}).encode(), tls_only=True
    ),
    "webhook": User("flows/lag/webhook.py", webhook, b""),
    "download": User("sandbox/fetch.py", download, b"a" * 40, redirects=True),
}


class World(NamedTuple):
    ca: Authority
    user: User
    patch: pytest.MonkeyPatch

    @contextmanager
    def server(
        self, host: str = "127.0.0.1", *, tls: bool | None = None, names: str = ""
    ) -> Iterator[Server]:
        tls = self.user.tls_only if tls is None else tls
        context = self.ca.broker(names or host) if tls else None
        with Server(says(200, self.user.answer), context, host) as running:
            yield running

    def ask(self, url: str, seconds: float = SECONDS) -> None:
        self.user.ask(url, seconds)

    def refused(self, url: str, seconds: float = SECONDS) -> KcliError:
        with pytest.raises(KcliError) as caught:
            self.ask(url, seconds)
        shown = f"{caught.value} {caught.value.why} {caught.value.do}"
        assert SECRET not in shown
        assert base64.b64encode(f"me:{SECRET}".encode()).decode() not in shown
        return caught.value


def plain_proxy(world: World) -> None:
    with Proxy() as through, world.server(NOT_LOOPBACK, tls=False) as server:
        world.patch.setenv("http_proxy", f"http://{PROXY_USER}127.0.0.1:{through.port}")
        if world.user.tls_only:
            assert isinstance(world.refused(server.url), ConfigError)
            return
        world.ask(server.url)
        ((line, credentials),) = through.asked
        assert line.split()[1].startswith(server.url)
        assert credentials == "Basic bWU6Z2VoZWlt"


def tls_proxy(world: World) -> None:
    with Proxy() as through, world.server(NOT_LOOPBACK, tls=True) as server:
        world.patch.setenv("HTTPS_PROXY", f"http://{PROXY_USER}127.0.0.1:{through.port}")
        world.ask(server.url)
        assert through.asked == [(f"CONNECT {server.url.removeprefix('https://')}", "Basic bWU6Z2VoZWlt")]
        assert "proxy-authorization" not in server.asked[0].headers


def proxy_of_all(world: World) -> None:
    with Proxy() as through, world.server(NOT_LOOPBACK, tls=True) as server:
        world.patch.setenv("ALL_PROXY", f"127.0.0.1:{through.port}")
        world.ask(server.url)
        assert len(through.asked) == 1


def proxy_by_tls(world: World) -> None:
    with Proxy(world.ca.broker("127.0.0.1")) as through, world.server(NOT_LOOPBACK, tls=True) as server:
        world.patch.setenv("HTTPS_PROXY", f"https://{PROXY_USER}127.0.0.1:{through.port}")
        world.ask(server.url)
        assert [credentials for _, credentials in through.asked] == ["Basic bWU6Z2VoZWlt"]


def exempt(world: World) -> None:
    with Proxy() as through, world.server(NOT_LOOPBACK, tls=True) as server:
        world.patch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{through.port}")
        for entries in (f"elsewhere.example,{NOT_LOOPBACK}", "elsewhere.example, 127.0.0.0/8", "*"):
            world.patch.setenv("NO_PROXY", entries)
            world.ask(server.url)
        assert (through.asked, len(server.asked)) == ([], 3)


def loopback_has_no_proxy(world: World) -> None:
    with Proxy() as through, world.server() as server:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            world.patch.setenv(name, f"http://127.0.0.1:{through.port}")
        world.ask(server.url)
        assert (through.asked, len(server.asked)) == ([], 1)


def refusing_proxy(world: World) -> None:
    """It is not asked again with the credentials that it did not take. Where there is a login to be checked the exit code
    is 4, as with brokers.
    """
    for tls in {True, world.user.tls_only}:
        with Server(says(407)) as through, world.server(NOT_LOOPBACK, tls=tls) as server:
            for name in ("HTTP_PROXY", "HTTPS_PROXY"):
                world.patch.setenv(name, through.url.replace("//", f"//{PROXY_USER}"))
            error = world.refused(server.url)
            assert through.url in error.why
            assert "407" in error.why
            assert (len(through.asked), server.asked) == (1, [])
            if world.user.ask in (registry, endpoint):
                assert isinstance(error, AuthError)
                assert "HTTPS_PROXY" in error.do


def garbled_proxy(world: World) -> None:
    """What is wrong is said of the way, not of the server alone."""
    with Server(hangs_up) as through, world.server(NOT_LOOPBACK, tls=True) as server:
        world.patch.setenv("HTTPS_PROXY", through.url.replace("//", f"//{PROXY_USER}"))
        assert through.url in world.refused(server.url).why
        assert server.asked == []


def no_proxy_of_http(world: World) -> None:
    world.patch.setenv("HTTPS_PROXY", f"socks5://{PROXY_USER}127.0.0.1:1")
    assert "HTTPS_PROXY" in world.refused("https://127.0.0.2:1").what


def untrusted(world: World) -> None:
    """One handshake, and no request."""
    world.patch.delenv("SSL_CERT_FILE")
    with world.server(tls=True) as server:
        assert "certificate" in str(world.refused(server.url))
        assert (server.connections, server.asked) == (1, [])


def wrong_name(world: World) -> None:
    with world.server(tls=True, names="elsewhere.example") as server:
        assert "certificate" in str(world.refused(server.url))
        assert (server.connections, server.asked) == (1, [])


def plain_credentials(world: World) -> None:
    with world.server(NOT_LOOPBACK, tls=False) as server:
        assert isinstance(world.refused(server.url.replace("//", f"//{PROXY_USER}")), ConfigError)
        assert server.connections == 0


def busy(world: World) -> None:
    for status in (408, 429, 500, 502, 503, 504):
        with world.server() as server:
            server.script = [says(status, Retry_After="0")]
            world.ask(server.url)
            assert len(server.asked) == 2


def lasting(world: World) -> None:
    for status in (400, 403, 404, 501):
        with world.server() as server:
            server.answer = says(status)
            world.refused(server.url)
            assert len(server.asked) == 1


def too_busy(world: World) -> None:
    """A server that wants longer than there is time for is not waited for."""
    with world.server() as server:
        server.answer = says(503, Retry_After="600")
        begun = time.monotonic()
        assert "asked again in 600 s" in world.refused(server.url).why
        assert len(server.asked) == 1
        assert time.monotonic() - begun < 60


def hung_up(world: World) -> None:
    """The request is sent again, on another connection."""
    with world.server() as server:
        server.script = [hangs_up]
        world.ask(server.url)
        assert len(server.asked) == 2


def slow_head(world: World) -> None:
    """A server that sends a header byte by byte has no more time than one that is silent."""
    with world.server() as server:
        server.answer = server.without_end(b"HTTP/1.1 200 OK\r\nX: ", b"x", 0.05)
        world.patch.setattr(fetch, "_POLICY", fetch._POLICY._replace(request_seconds=0.3))
        begun = time.monotonic()
        assert "no response in time" in world.refused(server.url, FEW_SECONDS).why
        assert time.monotonic() - begun < 60


def huge_body(world: World) -> None:
    """It is read up to a limit."""
    with world.server() as server:
        server.answer = server.without_end(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * (1 << 20), 0.0)
        if world.user.ask is webhook:  # whose answer is the status
            world.ask(server.url)
        else:
            world.refused(server.url)
        assert len(server.asked) == 1


def cut_off(world: World) -> None:
    """What there is of a body may be an answer of its own: no subjects, where the list was longer."""

    def breaks_off(head: bytes) -> Callable[[BaseHTTPRequestHandler], None]:
        def answer(handler: BaseHTTPRequestHandler) -> None:
            body = world.user.answer or b"."
            handler.wfile.write(b"HTTP/1.1 200 OK\r\n" + head.replace(b"N", b"%x" % len(body)) + body)
            handler.wfile.flush()
            hangs_up(handler)

        return answer

    counted, chunked = b"Content-Length: 1000\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\nN\r\n"
    for head in (counted, chunked):
        with world.server() as server:
            server.script = [breaks_off(head)]
            world.ask(server.url)
            assert len(server.asked) == 2
    with world.server() as server:
        server.answer = breaks_off(chunked)
        assert "breaks off" in world.refused(server.url, FEW_SECONDS).why


def redirected(world: World) -> None:
    """Followed by downloads only, and without credentials to another server."""
    with world.server() as server, world.server() as other:
        server.answer = says(302, Location=f"{other.url}/there#part")
        url = server.url if world.user.tls_only else server.url.replace("//", f"//{PROXY_USER}")
        if world.user.redirects:
            world.ask(url)
            assert "authorization" in server.asked[0].headers
            assert [(one.path, "authorization" in one.headers) for one in other.asked] == [("/there", False)]
        else:
            assert "redirect" in str(world.refused(url))
            assert other.connections == 0


def redirected_to_plain(world: World) -> None:
    with world.server(tls=True) as server, world.server(tls=False) as other:
        server.answer = says(302, Location=f"{other.url}/there")
        world.refused(server.url)
        assert other.connections == 0


def headers(world: World) -> None:
    """Nothing is packed, so that no answer is larger than it seems."""
    with world.server() as server:
        world.ask(server.url)
        sent: Asked = server.asked[0]
        assert (sent.headers["user-agent"], sent.headers.get("accept-encoding")) == ("kcli", "identity")


RULES = [
    plain_proxy, tls_proxy, proxy_of_all, proxy_by_tls, exempt, loopback_has_no_proxy, refusing_proxy, garbled_proxy,
    no_proxy_of_http, untrusted, wrong_name, plain_credentials, busy, lasting, too_busy, hung_up, slow_head, huge_body,
    cut_off, redirected, redirected_to_plain, headers,
]  # fmt: skip


@pytest.fixture(scope="module")
def ca(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("http"))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("user", USERS)
def test_each_user_keeps_each_rule(
    user: str, rule: Callable[[World], None], ca: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("SSL_CERT_FILE", str(ca.ca))
    rule(World(ca, USERS[user], monkeypatch))


def test_every_user_is_in_the_table() -> None:
    root = Path(kcli.__file__).parent
    found = {str(path.relative_to(root)) for path in root.rglob("*.py") if "HttpClient(" in path.read_text()}
    assert found == {user.module for user in USERS.values()}


def test_what_fails_where_a_download_is_stored_is_no_failure_of_the_server(tmp_path: Path) -> None:
    """It is not tried again, and nothing of it stays."""

    def full(_count: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with Server(says(200, b"a" * 40)) as server:
        with pytest.raises(OSError, match="No space left"):
            fetch.Fetcher(server.url).fetch(
                "a.jar", tmp_path / "a.jar", on_bytes=lambda n: full(n) if n else None
            )
        assert [one.path for one in server.asked] == ["/a.jar.sha1", "/a.jar"]
    assert not any(tmp_path.iterdir())


def test_a_download_without_end_stops_at_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "_LARGEST", 1 << 20)
    with Server(says(200, b"a" * 40)) as server:
        server.script = [
            says(200, b"a" * 40),
            server.without_end(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * (1 << 16), 0.0),
        ]
        with pytest.raises(KcliError, match=r"what is sent as a\.jar is too large"):
            fetch.Fetcher(server.url).fetch("a.jar", tmp_path / "a.jar", on_bytes=lambda _count: None)
        assert len(server.asked) == 2
    assert not any(tmp_path.iterdir())
