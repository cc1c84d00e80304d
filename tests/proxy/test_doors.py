"""Nodes that say nothing, take nothing, or are not there; and that come back."""

import os
import time

import pytest

from kcli.core import Admin
from kcli.core.errors import ConnectError
from kcli.core.options import ClientOptions
from kcli.core.types import ProducerRecord
from tests.kafka import Kafka
from tests.proxy.clients import WARM, producer, send, stored, warm_up
from tests.proxy.exchange import Fate
from tests.proxy.proxy import Proxy

pytestmark = pytest.mark.integration


def test_a_black_hole_accepts_everything_and_never_responds(kafka: Kafka, proxy: Proxy) -> None:
    topic = kafka.topic("hole")
    with producer(proxy, socket_connection_setup_timeout_ms=400) as client:
        warm_up(client, topic)
        began = len(proxy.connections)
        proxy.black_hole(proxy.nodes[0])
        client.send_text(topic, b"1", partition=0)
        client.push()
        proxy.wait_for(lambda: len(proxy.connections) > began + 1)
        assert not client.flush(0)
        proxy.heal(proxy.nodes[0])
        assert client.flush(20)
    lost = [one for one in proxy.produces if one.fate is Fate.LOST]
    assert lost
    assert not any(one.reached for one in lost)
    assert all(one.silent for one in proxy.connections[began : began + 2])
    assert stored(kafka, topic) == [*WARM, b"1"]


def test_a_node_that_never_answers_is_given_up(kafka: Kafka, proxy: Proxy) -> None:
    proxy.black_hole(proxy.nodes[0])
    options = ClientOptions(bootstrap_servers=proxy.bootstrap, socket_connection_setup_timeout_ms=300)
    with Admin(options, timeout=0.7) as admin, pytest.raises(ConnectError):
        admin.cluster_id()
    assert {one.api for one in proxy.exchanges()} <= {3, 18}, (
        "the handshake, and what goes with it, is swallowed"
    )


def test_a_node_refuses_and_is_back_at_the_same_port(kafka: Kafka, proxy: Proxy) -> None:
    topic = kafka.topic("refuse")
    node = proxy.nodes[0]
    with producer(proxy, reconnect_backoff_max_ms=100) as client:
        warm_up(client, topic)
        port = proxy.port(node)
        proxy.refuse(node)
        send(client, topic, b"1")  # what stands, stands
        began = len(proxy.connections)
        proxy.reset_all()
        client.send_text(topic, b"2", partition=0)
        assert not client.flush(0.5)
        assert len(proxy.connections) == began
        proxy.heal(node)
        assert proxy.port(node) == port
        assert client.flush(20)
    assert stored(kafka, topic) == [*WARM, b"1", b"2"]


def test_a_node_that_stops_reading_cuts_a_request_in_two(kafka: Kafka, proxy: Proxy) -> None:
    """The client times out with half a request written; it must not use that connection again."""
    topic = kafka.topic("window", config={"max.message.bytes": "20000000"})
    value = os.urandom(3_000_000)
    options = {"max_request_size": 10_000_000, "batch_size": 10_000_000, "send_buffer_bytes": 100_000}
    with producer(proxy, **options) as client:
        warm_up(client, topic)
        proxy.stop_reading(proxy.nodes[0])
        client.send(ProducerRecord(topic, value, partition=0))
        client.push()
        began = time.monotonic()
        assert not client.flush(1.5)
        proxy.heal()
        assert client.flush(20)
        assert time.monotonic() - began >= 1.5
    cut, *_ = proxy.wait_for(  # a busy machine may time out twice
        lambda: [one.truncated for one in proxy.connections if one.truncated]
    )
    assert cut[1] == pytest.approx(len(value), abs=1_000)
    assert 12 < cut[0] < len(value) / 2
    assert stored(kafka, topic) == [*WARM, value]
