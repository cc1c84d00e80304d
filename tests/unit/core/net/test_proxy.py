"""The exchanges with proxies, byte by byte: what is sent, what each answer means, and what is no answer at all."""

from typing import Any

import pytest

from kcli.core.errors import ConfigError, ConnectError, KcliError
from kcli.core.errors import ProxyRefusedError as Refused
from kcli.core.net.proxy import Proxy, Tunnel, proxy_of
from kcli.core.options import ClientOptions
from kcli.core.secret import Secret

LOGIN = {"proxy_username": "me", "proxy_password": Secret("hunter2"), "allow_plaintext_secrets": True}
IPV6 = bytes.fromhex("20010db8000000000000000000000001")


def proxy(url: str, **more: Any) -> Proxy:
    found = proxy_of(ClientOptions(proxy_url=url, **more))
    assert found is not None
    return found


def run(tunnel: Tunnel, *answers: bytes, at_once: int = 1 << 20) -> list[bytes]:
    """What the tunnel sends, if the proxy answers so, in pieces of ``at_once`` bytes."""
    sent = []
    for answer in answers:
        sent.append(tunnel.outgoing)
        tunnel.sent(len(tunnel.outgoing))
        for at in range(0, len(answer), at_once):
            tunnel.received(answer[at : at + at_once])
    return sent


GOOD = b"\5\0\0\1\x7f\0\0\1\0\x50"
OPEN = b"HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n"
EXCHANGES: list[tuple[str, dict[str, Any], str, list[bytes], list[bytes]]] = [
    # the proxy, its login, the broker's host; what the proxy answers, what is sent
    ("socks5h://p", {}, "b-1", [b"\5\0", GOOD], [b"\5\1\0", b"\5\1\0\3\3b-1\x23\x84"]),
    ("socks5://p", {}, "10.1.2.3", [b"\5\0", GOOD], [b"\5\1\0", b"\5\1\0\1\x0a\1\2\3\x23\x84"]),
    ("socks5h://p", {}, "2001:db8::1%eth0", [b"\5\0", GOOD], [b"\5\1\0", b"\5\1\0\4" + IPV6 + b"\x23\x84"]),
    ("socks5h://p", {}, "b", [b"\5\0", b"\5\0\0\3\2xy\0\1"], [b"\5\1\0", b"\5\1\0\3\1b\x23\x84"]),
    ("socks5h://p", {}, "b", [b"\5\0", b"\5\0\0\4" + IPV6 + b"\0\1"], [b"\5\1\0", b"\5\1\0\3\1b\x23\x84"]),
    ("socks5h://p", LOGIN, "b", [b"\5\0", GOOD], [b"\5\2\0\2", b"\5\1\0\3\1b\x23\x84"]),
    ("socks5h://p", LOGIN, "b", [b"\5\2", b"\1\0", GOOD], [b"\5\2\0\2", b"\1\2me\7hunter2", b"\5\1\0\3\1b\x23\x84"]),
    ("http://p", {}, "b", [OPEN], [b"CONNECT b:9092 HTTP/1.1\r\nHost: b:9092\r\nUser-Agent: kcli\r\n\r\n"]),
    ("http://p", {}, "::1", [b"HTTP/1.0 204\r\n\r\n"],
        [b"CONNECT [::1]:9092 HTTP/1.1\r\nHost: [::1]:9092\r\nUser-Agent: kcli\r\n\r\n"]),
    ("http://p", LOGIN, "b", [b"HTTP/1.1 200 OK\n\n"],
        [b"CONNECT b:9092 HTTP/1.1\r\nHost: b:9092\r\nUser-Agent: kcli\r\n"
         b"Proxy-Authorization: Basic bWU6aHVudGVyMg==\r\n\r\n"]),
]  # fmt: skip


@pytest.mark.parametrize("at_once", [1, 1 << 20])
@pytest.mark.parametrize(("url", "login", "host", "answers", "sent"), EXCHANGES)
def test_a_tunnel_is_opened(
    url: str, login: dict[str, Any], host: str, answers: list[bytes], sent: list[bytes], at_once: int
) -> None:
    tunnel = Tunnel(proxy(url, **login), host, 9092)
    assert not tunnel.is_open
    assert run(tunnel, *answers, at_once=at_once) == sent
    assert tunnel.is_open
    assert not tunnel.outgoing


REFUSALS: list[tuple[str, dict[str, Any], list[bytes], type[KcliError], str, str, str]] = [
    ("socks5h://p", {}, [b"\5\xff"], Refused, "refused this client", "wants a login", "give proxy.username"),
    ("socks5h://p", {}, [b"\5\2"], Refused, "refused this client", "wants a login", "give proxy.username"),
    ("socks5h://p", LOGIN, [b"\5\xff"], Refused, "refused this client", "accepts no login", "check proxy.username"),
    ("socks5h://p", LOGIN, [b"\5\2", b"\1\1"], Refused, "the login of me", "status 1", "check proxy.username"),
    ("socks5h://p", {}, [b"HT"], ConnectError, "does not speak SOCKS5", "none of SOCKS5", "check scheme"),
    ("socks5h://p", {}, [b"\5\0", b"\4\0"], ConnectError, "does not speak SOCKS5", "", "check scheme"),
    ("socks5h://p", {}, [b"\5\0", GOOD + b"x"], ConnectError, "does not speak SOCKS5", "", "check scheme"),
    ("http://p", {}, [b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"], Refused, "refused this client",
        "HTTP 407 Proxy Authentication Required", "give proxy.username"),
    ("http://p", LOGIN, [b"HTTP/1.1 407\r\n\r\n"], Refused, "refused this client", "HTTP 407", "check proxy.username"),
    ("http://p", {}, [b"HTTP/1.1 502 Bad\x1b[31m Gateway\r\nA: b\r\n\r\n<html>"], ConnectError,
        "did not connect to b:9092", "HTTP 502 Bad[31m Gateway", "whether the proxy"),
    ("http://p", {}, [b"HTTP/1.1 301 Moved\r\nLocation: /\r\n\r\n"], ConnectError, "did not connect", "HTTP 301", ""),
    ("http://p", {}, [b"\5\0"], ConnectError, "does not speak HTTP", "none of HTTP", "check scheme"),
    ("http://p", {}, [b"HTTP/2 200 OK\r\n\r\n"], ConnectError, "does not speak HTTP", "", ""),
    ("http://p", {}, [b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70_000], ConnectError, "does not speak HTTP", "", ""),
    ("http://p", {}, [OPEN + b"x"], ConnectError, "does not speak HTTP", "", ""),
    *(("socks5h://p", {}, [b"\5\0", bytes((5, code))], ConnectError, "did not connect to b:9092", why, "the proxy may")
        for code, why in ((1, "failed"), (2, "rules"), (3, "network"), (4, "name is not known"), (5, "refused"),
            (6, "timed out"), (7, "does not connect"), (8, "kind of address"), (99, "reply 99"))),
]  # fmt: skip


@pytest.mark.parametrize(("url", "login", "answers", "kind", "what", "why", "do"), REFUSALS)
def test_what_a_proxy_refuses_is_said(
    url: str, login: dict[str, Any], answers: list[bytes], kind: type[KcliError], what: str, why: str, do: str
) -> None:
    named = proxy(url, **login)
    with pytest.raises(KcliError) as raised:
        run(Tunnel(named, "b", 9092), *answers)
    error = raised.value
    assert type(error) is kind
    assert what in error.what
    assert str(named) in error.what
    assert why in error.why
    assert do in error.do
    assert "hunter2" not in f"{error} {error.do}"


@pytest.mark.parametrize("url", ["socks5h://p", "http://p"])
def test_names_of_brokers_are_sent_as_names_only(url: str) -> None:
    """Brokers advertise what they like."""
    for host in ("", "b\r\nX: y", "b c", "b\x00", "a" * 70 + "ü"):
        with pytest.raises(ConnectError, match=r"the proxy .* did not connect"):
            run(Tunnel(proxy(url), host, 9092), b"\5\0", b"")
    tunnel = Tunnel(proxy(url), "bücher.example", 9092)
    sent = run(tunnel, *([b"\5\0", GOOD] if url != "http://p" else [OPEN]))
    assert b"xn--bcher-kva.example" in sent[-1]


def test_ends_and_silence_name_the_proxy_and_the_broker() -> None:
    tunnel = Tunnel(proxy("socks5h://p:1"), "::1", 9092)
    assert "socks5h://p:1 closed the connection before it reached [::1]:9092" in tunnel.ended().what
    assert "socks5h://p:1 has not connected to [::1]:9092 in 3 s" in tunnel.overdue("3 s").what


def test_a_proxy_is_named_by_scheme_host_and_port() -> None:
    assert proxy("socks5://p")[:3] == ("socks5", "p", 1080)
    assert proxy("SOCKS5H://10.0.0.1:99/")[:3] == ("socks5h", "10.0.0.1", 99)
    assert proxy("http://[::1]", **LOGIN) == ("http", "::1", 8080, "me", Secret("hunter2"))
    assert str(proxy("http://[::1]:1")) == "http://[::1]:1"
    assert proxy_of(ClientOptions()) is None


@pytest.mark.parametrize(
    ("url", "more", "said"),
    [
        ("p:1080", {}, "what kind of proxy"),
        ("https://p", {}, "https:// is not supported"),
        ("socks4://p", {}, "socks4:// is not supported"),
        ("http://", {}, "its host and its port alone"),
        ("http://p/path", {}, "its host and its port alone"),
        ("http://p:0", {}, "its host and its port alone"),
        ("http://p:99999", {}, "its host and its port alone"),
        ("http://me:hunter2@p", {}, "there is a login in it"),
        ("me:hunter2@p", {}, "there is a login in it"),
        ("", {"proxy_username": "me"}, "proxy.username is given without proxy.url"),
        ("", {"proxy_password": Secret("hunter2")}, "proxy.password is given without proxy.url"),
        ("http://p", {"proxy_password": Secret("hunter2")}, "without proxy.username"),
    ],
)
def test_what_names_no_proxy_is_refused(url: str, more: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        proxy_of(ClientOptions(proxy_url=url, **more))
    text = f"{raised.value} {raised.value.do}"
    assert said in text
    assert "hunter2" not in text


@pytest.mark.case("X10")
@pytest.mark.parametrize(
    ("host", "refused"),
    [
        ("p", True),
        ("10.0.0.1", True),
        ("127.a.example", True),
        ("localhost", False),
        ("127.0.0.2", False),
        ("[::1]", False),
    ],
)
def test_a_login_is_sent_to_another_machine_only_where_that_is_allowed(host: str, refused: bool) -> None:
    login = {**LOGIN, "allow_plaintext_secrets": False}
    if not refused:
        assert proxy(f"http://{host}:1", **login).username == "me"
        return
    with pytest.raises(ConfigError, match="would be sent without encryption") as raised:
        proxy(f"http://{host}:1", **login)
    assert "--allow-plaintext-secrets" in raised.value.do
    assert proxy(f"http://{host}:1", **LOGIN).username == "me"


def test_names_that_are_too_long_for_socks_are_refused() -> None:
    with pytest.raises(ConfigError, match="too long for SOCKS5"):
        run(Tunnel(proxy("socks5h://p"), "b" * 256, 9092), b"\5\0")
