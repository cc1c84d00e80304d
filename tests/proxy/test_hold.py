"""Frames that wait until a test lets them go: a request that comes late, an answer that comes never."""

import pytest

from kcli.core.protocol.messages.metadata import MetadataRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from tests.kafka import Kafka
from tests.proxy.clients import producer, send, stored
from tests.proxy.exchange import Fate
from tests.proxy.proxy import Proxy

pytestmark = pytest.mark.integration


def test_a_held_answer_is_in_flight_until_it_is_released(kafka: Kafka, proxy: Proxy) -> None:
    topic = kafka.topic("answer")
    with producer(proxy, request_timeout_ms=10_000) as client:
        send(client, topic, b"0")
        hold = proxy.hold(ProduceRequest)
        client.send_text(topic, b"1", partition=0)
        client.push()
        held = hold.wait()
        assert proxy.in_flight(ProduceRequest) == [held]
        assert held.errors == {(topic, 0): 0}
        assert stored(kafka, topic) == [b"0", b"1"]
        assert client.outstanding == 1
        hold.release()
        assert client.flush(10)
    assert held.fate is Fate.ANSWERED
    assert len(proxy.produces) == 2


def test_a_held_request_has_not_reached_the_broker(kafka: Kafka, proxy: Proxy) -> None:
    topic = kafka.topic("request")
    with producer(proxy, request_timeout_ms=10_000) as client:
        hold = proxy.hold(ProduceRequest, "request")
        client.send_text(topic, b"v", partition=0)
        client.push()
        held = hold.wait()
        assert held.answered_at is None
        assert stored(kafka, topic) == []
        hold.release()
        assert client.flush(10)
    assert held.reached
    assert stored(kafka, topic) == [b"v"]


def test_a_request_comes_late_after_its_client_has_sent_it_again(kafka: Kafka, proxy: Proxy) -> None:
    """As on a slow way around; the broker knows its number and stores it once."""
    topic = kafka.topic("late")
    with producer(proxy) as client:
        send(client, topic, b"0")
        with proxy.hold(ProduceRequest, "request") as hold:
            assert send(client, topic, b"1", b"2") == [1, 2]
            late = hold.wait()
            assert (late.fate, late.reached) == (Fate.LOST, False)
        proxy.wait_for(lambda: late.answered_at)
        send(client, topic, b"3")
    assert late.errors == {(topic, 0): 0}, "a duplicate is a success to the broker"
    assert stored(kafka, topic) == [b"0", b"1", b"2", b"3"]


def test_a_late_request_without_a_number_is_stored_twice(kafka: Kafka, proxy: Proxy) -> None:
    """So the one above did reach the broker."""
    topic = kafka.topic("late-twice")
    with producer(proxy, enable_idempotence=False) as client:
        with proxy.hold(ProduceRequest, "request") as hold:
            send(client, topic, b"1")
        proxy.wait_for(lambda: hold.held[0].answered_at)
    assert stored(kafka, topic) == [b"1", b"1"]


def test_a_dropped_request_never_comes(kafka: Kafka, proxy: Proxy) -> None:
    topic = kafka.topic("dropped")
    with producer(proxy, enable_idempotence=False) as client:
        hold = proxy.hold(ProduceRequest, "request")
        client.send_text(topic, b"v", partition=0)
        client.push()
        held = hold.wait()
        hold.drop()
        assert client.flush(10)
    assert (held.reached, held.fate) == (False, Fate.LOST)
    assert stored(kafka, topic) == [b"v"]


def test_several_frames_of_one_node_can_be_held(kafka: Kafka, proxy: Proxy) -> None:
    topic = kafka.topic("several")
    with producer(proxy, request_timeout_ms=10_000) as one, producer(proxy, request_timeout_ms=10_000) as two:
        for client in (one, two):
            client.connect([topic], 10)
        hold = proxy.hold(ProduceRequest, "request", times=2, node=proxy.nodes[0])
        for client in (one, two):
            client.send_text(topic, b"v", partition=0)
            client.push()
        hold.wait(count=2)
        assert len(proxy.in_flight(ProduceRequest)) == 2
        hold.release()
        assert one.flush(10)
        assert two.flush(10)
    assert stored(kafka, topic) == [b"v", b"v"]


def test_another_node_or_api_is_not_held(kafka: Kafka, proxy: Proxy) -> None:
    topic = kafka.topic("others")
    holds = [
        proxy.hold(ProduceRequest, node=proxy.nodes[0] + 1),
        proxy.hold(MetadataRequest, when=lambda one: one.size < 0),
    ]
    with producer(proxy) as client:
        send(client, topic, b"v")
    assert [hold.held for hold in holds] == [[], []]
