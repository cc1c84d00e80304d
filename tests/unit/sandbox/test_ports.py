"""The choice of ports, with a made-up system; who has a port, from tables as Linux writes them."""

import random
from collections.abc import Callable

import pytest

from kcli.sandbox.errors import RefusedError
from kcli.sandbox.ports import ANY, HIGH, LOW, PortTakenError, PortUse, choose_ports, use_in

RNG = random.Random(1)


def taken(*ports: int) -> Callable[[int], bool]:
    return lambda port: port not in ports


def test_port_9092_when_it_is_free() -> None:
    assert choose_ports(3, None, taken(), rng=RNG) == [9092, 9093, 9094]


def test_elsewhere_when_one_of_the_range_is_taken() -> None:
    ports = choose_ports(3, None, taken(9094), rng=RNG)
    assert ports == list(range(ports[0], ports[0] + 3))
    assert LOW <= ports[0] < HIGH


def test_any_port_is_never_9092() -> None:
    assert choose_ports(1, ANY, taken(), rng=RNG)[0] >= LOW


def test_a_named_port_is_taken_as_it_is() -> None:
    assert choose_ports(2, 19092, taken(), rng=RNG) == [19092, 19093]


def test_a_named_port_that_is_taken_is_an_error_naming_it() -> None:
    with pytest.raises(PortTakenError) as caught:
        choose_ports(3, 19092, taken(19093), rng=RNG)
    assert caught.value.port == 19093
    assert caught.value.exit_code == 7
    assert "19093" in caught.value.what


def test_nothing_free_is_an_error() -> None:
    with pytest.raises(RefusedError, match="no 3 consecutive free ports"):
        choose_ports(3, None, lambda _port: False, rng=RNG)


def line(local: str, state: str, inode: int) -> str:
    return f"   0: {local} 0100007F:1F90 {state} 00000000:00000000 00:00000000 00000000     0        0 {inode} 1 0 20 0"


def of(*inodes: int) -> frozenset[str]:
    return frozenset(f"socket:[{one}]" for one in inodes)


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ([], PortUse()),
        ([line("0100007F:4BD3", "0A", 7)], PortUse()),
        ([line("0100007F:4BD4", "0A", 7)], PortUse(listening=of(7))),
        ([line("00000000000000000000000001000000:4BD4", "0A", 7)], PortUse(listening=of(7))),
        ([line("0100007F:4BD4", "01", 7), line("0100007F:4BD4", "08", 8)], PortUse(connected=of(7, 8))),
        ([line("0100007F:4BD4", "06", 0)], PortUse(ended=True)),
        (
            [line("0100007F:4BD4", "06", 0), line("0100007F:4BD4", "0A", 9)],
            PortUse(listening=of(9), ended=True),
        ),
    ],
)
def test_sockets_are_told_apart_by_their_state(lines: list[str], found: PortUse) -> None:
    assert use_in(lines, 0x4BD4) == found


def test_a_port_of_a_connection_is_free_again_by_itself() -> None:
    passing = PortTakenError(42_000, "a connection that has just ended", passing=True)
    assert passing.why == "by a connection that has just ended"
    assert "wait a minute" in passing.do
    assert "below 32,000" in passing.do
    assert "wait" not in PortTakenError(42_000, "pid 1 (java)").do
