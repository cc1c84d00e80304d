"""Connections that end: in the middle of a frame, all at once, half, or when their time is over."""

import random

import pytest

from kcli.core.errors import OutcomeUnknownError
from kcli.core.protocol.messages.produce import ProduceRequest
from tests.kafka import Kafka
from tests.proxy.clients import producer, send, stored
from tests.proxy.exchange import Fate
from tests.proxy.proxy import Proxy

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("then", ["reset", "fin"])
@pytest.mark.parametrize("at", [2, -1])
def test_an_answer_is_cut_in_the_middle(kafka: Kafka, proxy: Proxy, at: int, then: str) -> None:
    topic = kafka.topic("cut")
    rule = proxy.cut(ProduceRequest, at, then=then)
    with producer(proxy) as client:
        send(client, topic, b"v")
    first, again = proxy.produces
    assert rule.hits == 1
    assert (first.fate, first.errors) == (Fate.LOST, {(topic, 0): 0})
    assert again.connection != first.connection
    assert stored(kafka, topic) == [b"v"]


def test_a_request_is_cut_in_the_middle_and_not_applied(kafka: Kafka, proxy: Proxy) -> None:
    topic = kafka.topic("cut-up")
    proxy.cut(ProduceRequest, 100_000, what="request")
    with producer(proxy, enable_idempotence=False) as client:
        send(client, topic, b"x" * 200_000)
    first, again = proxy.produces
    assert (first.fate, first.reached, first.answered_at) == (Fate.LOST, False, None)
    assert again.fate is Fate.ANSWERED
    assert stored(kafka, topic) == [b"x" * 200_000]


def test_all_connections_are_reset(kafka: Kafka, proxy: Proxy) -> None:
    topic = kafka.topic("reset")
    with producer(proxy) as client:
        send(client, topic, b"0")
        stood = [one for one in proxy.connections if one.alive]
        assert proxy.reset_all(proxy.nodes[0]) == len(stood) > 0
        assert {one.how for one in stood} == {"reset with all others"}
        send(client, topic, b"1")
    assert stored(kafka, topic) == [b"0", b"1"]


def test_half_closed_connections_still_take_requests(kafka: Kafka, proxy: Proxy) -> None:
    topic = kafka.topic("half")
    with producer(proxy) as client:
        send(client, topic, b"0")
        assert proxy.half_close() > 0
        send(client, topic, b"1")
    assert stored(kafka, topic) == [b"0", b"1"]


def test_the_outcome_of_what_was_cut_off_is_unknown_to_the_client(kafka: Kafka, proxy: Proxy) -> None:
    """When nobody answers for longer than the client wants to wait."""
    topic = kafka.topic("unknown")
    with producer(proxy, delivery_timeout_ms=1_500, request_timeout_ms=1_000) as client:
        client.connect([topic], 10)
        proxy.swallow(then="silence", times=None)
        with pytest.raises(OutcomeUnknownError):
            send(client, topic, b"v")
    assert stored(kafka, topic) == [b"v"]


def test_every_connection_lives_for_a_short_time(kafka: Kafka, proxy: Proxy) -> None:
    topic = kafka.topic("short")
    rule = proxy.lifetime(0.05, 0.2, rng=random.Random(1))
    values: list[bytes] = []
    with producer(proxy) as client:
        while sum(rule.ended.values()) < 6:
            values.append(b"%d" % len(values))
            send(client, topic, values[-1])
        rule.remove()
    assert min(rule.ended["reset"], rule.ended["fin"]) >= 3
    ended = [one for one in proxy.connections if one.how.startswith("its time")]
    lives = [(one.ended_at or 0) - one.opened_at for one in ended]
    assert min(lives) >= 0.05
    assert stored(kafka, topic) == values
