"""Where a broker and its controller listen, of their configuration."""

import pytest

from kcli.core.admin.quorum import Endpoint
from kcli.flows.brokers.listeners import endpoints_in, listeners_in, parse_listeners

COMBINED = {
    "process.roles": "broker,controller",
    "controller.listener.names": "CONTROLLER",
    "listeners": "PLAINTEXT://0.0.0.0:9092,CONTROLLER://10.0.0.1:9093",
    "advertised.listeners": "PLAINTEXT://a.example:19092",
}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("CONTROLLER://a:9093", [Endpoint("CONTROLLER", "a", 9093)]),
        ("A://:9092, B://[::1]:9093", [Endpoint("A", "", 9092), Endpoint("B", "::1", 9093)]),
        ("A://a:port,B://b", []),
    ],
)
def test_listeners_have_kafka_s_form(text: str, found: list[Endpoint]) -> None:
    assert parse_listeners(text) == found


def test_what_is_advertised_comes_first() -> None:
    assert [str(one) for one in listeners_in(COMBINED)] == [
        "PLAINTEXT://a.example:19092",
        "CONTROLLER://10.0.0.1:9093",
    ]


def test_the_controller_has_the_listeners_of_its_names() -> None:
    assert [str(one) for one in endpoints_in(COMBINED)] == ["CONTROLLER://10.0.0.1:9093"]
    advertised = COMBINED | {"advertised.listeners": "CONTROLLER://c.example:9093"}
    assert [str(one) for one in endpoints_in(advertised)] == ["CONTROLLER://c.example:9093"]


@pytest.mark.parametrize("host", ["", "0.0.0.0", "[::]"])
def test_an_address_that_only_binds_is_no_endpoint(host: str) -> None:
    assert endpoints_in(COMBINED | {"listeners": f"CONTROLLER://{host}:9093"}) == ()


def test_a_broker_without_a_controller_has_none() -> None:
    assert endpoints_in({"listeners": "PLAINTEXT://a:9092"}) == ()
