"""Slow ways: latency, a narrow line, bytes one by one."""

import os
import random
import time

import pytest

from kcli.core import Admin
from kcli.core.protocol.messages.metadata import MetadataRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from tests.kafka import Kafka
from tests.lasting import Moment, lasted
from tests.proxy.clients import producer, send, stored, warm_up
from tests.proxy.proxy import Proxy

pytestmark = pytest.mark.integration


def durations(proxy: Proxy) -> list[float]:
    """From the arrival of each Produce request until its answer was gone."""
    return [(one.over_at or 0) - one.at for one in proxy.produces]


def test_latency_delays_answers_and_not_their_number(kafka: Kafka, proxy: Proxy) -> None:
    """Five requests are under way at a time: they wait side by side."""
    topic = kafka.topic("latency", partitions=1)
    with producer(proxy, request_timeout_ms=10_000) as client:
        send(client, topic, b"first")
        rule = proxy.delay(ProduceRequest, 0.4)
        began = Moment.now()
        for number in range(5):
            client.send_text(topic, b"%d" % number, partition=0)
            client.push()
            proxy.wait_for(lambda n=number: len(proxy.produces) == n + 2)  # type: ignore[misc]
        assert client.flush(10)
        took = time.monotonic() - began
    assert rule.hits == 5
    assert min(durations(proxy)[1:]) >= 0.4
    assert took < 5 * 0.4
    assert stored(kafka, topic) == [b"first", *(b"%d" % number for number in range(5))]


def test_jitter_and_requests(kafka: Kafka, proxy: Proxy) -> None:
    topic = kafka.topic("jitter")
    with producer(proxy, request_timeout_ms=10_000) as client:
        warm_up(client, topic)
        with proxy.delay(None, 0.1, 0.1, what="request", rng=random.Random(3)) as rule:
            for _ in range(6):
                send(client, topic, b"v")
        send(client, topic, b"v")
    rng = random.Random(3)
    wished = [0.1 + rng.uniform(-0.1, 0.1) for _ in range(6)]
    measured = durations(proxy)[2:]
    assert rule.hits == 6
    assert all(took >= wish for took, wish in zip(measured, wished, strict=False))
    assert max(wished) - min(wished) > 0.05


def test_a_narrow_line_lets_so_many_bytes_a_second_through(kafka: Kafka, proxy: Proxy) -> None:
    topic = kafka.topic("narrow")
    value = os.urandom(100_000)
    with producer(proxy, request_timeout_ms=20_000) as client:
        client.connect([topic], 10)
        proxy.bandwidth(200_000)
        began = Moment.now()
        send(client, topic, value)
        assert time.monotonic() - began >= 0.5
        assert lasted(began) < 5
        proxy.bandwidth(0)
        send(client, topic, value)
    assert stored(kafka, topic) == [value, value]


def test_answers_come_byte_by_byte(kafka: Kafka, proxy: Proxy) -> None:
    """Frames are split at every place, and the client puts them together again."""
    topic = kafka.topic("drip")
    rule = proxy.drip()
    with producer(proxy, request_timeout_ms=10_000) as client:
        send(client, topic, *(b"%d" % number for number in range(20)))
    with Admin(bootstrap_servers=proxy.bootstrap) as admin:
        assert admin.describe_topics([topic])
    assert rule.hits == len(proxy.exchanges())


def test_drip_pauses_between_its_pieces(kafka: Kafka, proxy: Proxy) -> None:
    proxy.drip(MetadataRequest, size=10, pause=0.02)
    with Admin(bootstrap_servers=proxy.bootstrap) as admin:
        assert admin.cluster_id()
    (one, *_) = proxy.exchanges(MetadataRequest)
    assert one.answered_at is not None
    assert one.over_at is not None
    assert one.over_at - one.answered_at > 0.06


def test_requests_can_drip_too(kafka: Kafka, proxy: Proxy) -> None:
    topic = kafka.topic("drip-up")
    rule = proxy.drip(ProduceRequest, what="request", size=7)
    with producer(proxy, request_timeout_ms=10_000) as client:
        send(client, topic, b"x" * 2_000)
    assert rule.hits == 1
    assert stored(kafka, topic) == [b"x" * 2_000]
