"""What is sent by the HTTP client, and what is an address; its rules are in ``tests/http/test_every_user.py``."""

import ssl

import pytest

from kcli.core.errors import ConfigError
from kcli.core.net.http import HttpClient, Policy
from kcli.core.net.http_address import parse_http
from kcli.core.net.http_messages import Answer, Request
from kcli.core.net.http_proxies import proxy_of_environment


@pytest.mark.parametrize("value", ["a\r\nX: y", "a\nb", "€", "ü", "\x00", "a\x1b[31m"])
def test_a_header_that_cannot_be_sent_is_an_error_that_does_not_show_it(value: str) -> None:
    sent: list[Request] = []

    def send(request: Request) -> Answer:
        sent.append(request)
        return Answer(request.address, 200, {}, b"")

    address = parse_http("http://127.0.0.1:1")
    assert address is not None
    client = HttpClient([address], Policy(3, 0.0, 0.0, 1), ssl.create_default_context, send=send)
    with pytest.raises(ConfigError, match="the header X-Cluster cannot be sent") as caught:
        client.ask("GET", "", headers={"X-Cluster": value})
    assert value not in f"{caught.value} {caught.value.why} {caught.value.do}"
    assert sent == []


@pytest.mark.parametrize(
    ("url", "port"),
    [("http://h", 80), ("https://h", 443), ("http://h:", 80), ("http://h:1", 1), ("http://h:0", None)],
)
def test_ports(url: str, port: int | None) -> None:
    found = parse_http(url)
    assert (None if found is None else found.port) == port


@pytest.mark.parametrize(
    ("exempt", "url", "is_exempt"),
    [
        ("fd00::5", "https://[fd00::5]", True),
        ("[fd00::5]", "https://[fd00::5]", True),
        ("fd00:0:0::5", "https://[fd00::5]:8081", True),
        ("fd00::/8", "https://[fd00::5]", True),
        ("fd00::6", "https://[fd00::5]", False),
        ("10.1.2.3", "http://10.1.2.3", True),
        ("10.0.0.0/8", "http://10.1.2.3", True),
        ("x, 10.1.2.3", "http://10.1.2.4", False),
        ("10.1.2.3", "http://h", False),
        ("a.example", "https://x.a.example", True),
        (".a.example", "https://x.a.example:8081", True),
        ("x, *.a.example", "https://x.a.example", True),
        ("*.A.example", "http://y.X.a.EXAMPLE", True),
        ("*.a.example", "https://a.example", False),
        ("*.a.example", "https://xa.example", False),
        ("*.a.example:443", "https://x.a.example", True),
        ("*.a.example:444", "https://x.a.example", False),
    ],
)
def test_addresses_that_no_proxy_exempts(
    exempt: str, url: str, is_exempt: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among them what the error of a proxy that cannot be used suggests: the host of the address."""
    for name in ("http_proxy", "https_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ALL_PROXY", "http://proxy:1")
    monkeypatch.setenv("HTTP_PROXY", "http://proxy:1")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:1")
    monkeypatch.setenv("NO_PROXY", exempt)
    address = parse_http(url)
    assert address is not None
    assert (proxy_of_environment(address) is None) is is_exempt
