"""Names to addresses, without asking any resolver but the literal one."""

import _socket
import socket

import pytest

from kcli.core.errors import ConnectError
from kcli.core.net.resolve import is_literal, lookup


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "fe80::1", "10.0.0.255"])
def test_addresses_need_no_lookup(host: str) -> None:
    assert is_literal(host)


@pytest.mark.parametrize("host", ["localhost", "broker1", "1.2.3", "", "[::1]", "256.0.0.1"])
def test_names_need_one(host: str) -> None:
    assert not is_literal(host)


def test_a_literal_is_its_own_address() -> None:
    [found] = lookup("127.0.0.1", 9092)
    assert (found.family, found.target) == (socket.AF_INET, ("127.0.0.1", 9092))
    [found] = lookup("::1", 9092)
    assert (found.family, found.target[:2]) == (socket.AF_INET6, ("::1", 9092))


@pytest.mark.case("N1")
@pytest.mark.parametrize(
    "failure",
    [socket.gaierror(-2, "Name or service not known"), UnicodeError("label too long"), OSError(5, "I/O")],
)
def test_a_name_that_does_not_resolve_is_named(monkeypatch: pytest.MonkeyPatch, failure: Exception) -> None:
    def fails(*_: object, **__: object) -> None:
        raise failure

    monkeypatch.setattr(_socket, "getaddrinfo", fails)
    with pytest.raises(ConnectError) as error:
        lookup("nowhere.example", 9092)
    assert "nowhere.example" in error.value.what
    assert error.value.why
