"""Hosts of metadata are text that others choose: only legal and allowed ones are connected to."""

import pytest

from kcli.core.cluster.hosts import host_check, is_legal_host
from kcli.core.errors import AuthError, ProtocolError
from kcli.core.types import Node

pytestmark = pytest.mark.case("S6", "X15")


@pytest.mark.parametrize(
    "host",
    ["broker", "kafka_1",
     "b-1.prod.example.org", "example.org.", "10.0.0.7", "::1", "fe80::1%eth0", "xn--bcher-kva.example", "a" * 63],
)  # fmt: skip
def test_legal_hosts(host: str) -> None:
    assert is_legal_host(host)


@pytest.mark.parametrize(
    "host",
    ["", " ", "a b", "a\nb", "\x1b[31mred", "-a", "a-", "a..b", ".a", "a/b", "user@host", "http://h", "h:9092",
     "[::1]", "é.example",
     "a" * 64, "a." * 127 + "aaa", "h\0", "$(id)", "%s", "\u202e"],
)  # fmt: skip
def test_other_text_is_refused_with_the_brokers_number(host: str) -> None:
    assert not is_legal_host(host)
    error = host_check("", ())(Node(7, host, 9092))
    assert isinstance(error, ProtocolError)
    assert "broker 7 advertises" in error.what
    assert len(error.what) < 600
    assert "\x1b" not in error.what


@pytest.mark.parametrize("port", [0, -1, 65_536, 2**31 - 1])
def test_a_port_that_does_not_exist(port: int) -> None:
    assert isinstance(host_check("", ())(Node(7, "h", port)), ProtocolError)


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("b1.example.org", True),
        ("B1.Example.ORG", True),
        ("10.0.0.9", True),
        ("bootstrap", True),
        ("example.org", False),
        ("b1.example.org.evil.com", False),
        ("10.0.1.9", False),
        ("localhost", False),
    ],
)
def test_the_list_of_allowed_hosts(host: str, allowed: bool) -> None:
    """What the user named is always allowed."""
    error = host_check(" *.example.org, 10.0.0.* ", {"bootstrap"})(Node(3, host, 9092))
    if allowed:
        assert error is None
    else:
        assert isinstance(error, AuthError)
        assert error.what == f"broker 3 advertises {host}, which is not allowed"


def test_no_list_allows_every_legal_host() -> None:
    for allowed in ("", " , "):
        assert host_check(allowed, ())(Node(3, "anything", 9092)) is None
