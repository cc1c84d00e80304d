"""The choice of ports, with a made-up system."""

import random
from collections.abc import Callable

import pytest

from kcli.sandbox.errors import RefusedError
from kcli.sandbox.ports import ANY, HIGH, LOW, PortTakenError, choose_ports

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
