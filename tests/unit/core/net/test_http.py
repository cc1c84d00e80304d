"""What is sent by the HTTP client, and what is an address; its rules are in ``tests/http/test_every_user.py``."""

import ssl

import pytest

from kcli.core.errors import ConfigError
from kcli.core.net.http import HttpClient, Policy
from kcli.core.net.http_address import parse_http
from kcli.core.net.http_messages import Answer, Request


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
