"""Brokers that go and come back behind the proxy, and clients that are no Kafka clients. Without a real broker."""

import socket
import struct
from collections.abc import Iterator

import pytest

from kcli.core.protocol.messages.metadata import MetadataResponse
from tests.proxy.proxy import Proxy
from tests.proxy.stub_broker import StubBroker
from tests.proxy.upstream import learn


@pytest.fixture
def broker() -> Iterator[StubBroker]:
    broker = StubBroker()
    yield broker
    broker.stop()


def ports(answer: MetadataResponse) -> list[int]:
    return [one.port for one in answer.brokers]


def test_a_broker_that_is_away_is_reachable_when_it_is_back(broker: StubBroker) -> None:
    with Proxy(broker.bootstrap) as proxy:
        assert ports(learn(proxy.bootstrap)) == [proxy.port(1)]
        broker.stop()
        with pytest.raises(ConnectionError, match="reset"):
            learn(proxy.bootstrap)
        assert "cannot be reached" in proxy.connections[-1].how
        broker.start()
        assert ports(learn(proxy.bootstrap)) == [proxy.port(1)]


def test_a_broker_that_was_not_there_at_first_gets_a_port(broker: StubBroker) -> None:
    with Proxy(broker.bootstrap) as proxy:
        broker._node = 2
        (port,) = ports(learn(proxy.bootstrap))
        assert proxy.nodes == [1, 2]
        assert port == proxy.port(2) != proxy.port(1)
        assert ports(learn(f"127.0.0.1:{port}")) == [port]


def test_an_unreachable_address_is_reported_at_once(broker: StubBroker) -> None:
    broker.stop()
    with pytest.raises(ConnectionError, match="no broker answers"), Proxy(broker.bootstrap):
        pass
    broker.start()


def test_a_connection_that_is_not_kafka_is_reset_and_fails_the_test(broker: StubBroker) -> None:
    def http() -> None:
        with (
            Proxy(broker.bootstrap) as proxy,
            socket.create_connection(("127.0.0.1", proxy.port(1)), 5) as peer,
        ):
            peer.sendall(b"GET / HTTP/1.1\r\n\r\n")
            with pytest.raises(ConnectionResetError):
                peer.recv(1)

    with pytest.raises(AssertionError, match="a client sent a frame of 1195725856 bytes"):
        http()


def test_a_version_that_the_proxy_cannot_read_makes_the_test_fail(broker: StubBroker) -> None:
    def from_the_future() -> None:
        with (
            Proxy(broker.bootstrap) as proxy,
            socket.create_connection(("127.0.0.1", proxy.port(1)), 5) as peer,
        ):
            peer.sendall(struct.pack(">ihhihh", 12, 22, 99, 1, -1, 0))  # InitProducerId v99
            assert peer.recv(1) == b""

    with pytest.raises(AssertionError, match="no table of InitProducerId v99"):
        from_the_future()
