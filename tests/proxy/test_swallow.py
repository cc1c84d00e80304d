"""Answers that go no further: the broker has stored what the client has to send again."""

import random
import time

import pytest
from confluent_kafka import Producer as OtherProducer

from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest
from kcli.core.protocol.messages.metadata import MetadataRequest
from kcli.core.types import ProducerRecord
from tests.kafka import Kafka
from tests.proxy.clients import producer, send, stored
from tests.proxy.exchange import Exchange, Fate
from tests.proxy.proxy import Proxy

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("then", ["reset", "silence"])
def test_a_swallowed_batch_is_stored_and_sent_again(kafka: Kafka, proxy: Proxy, then: str) -> None:
    topic = kafka.topic("swallow")
    with producer(proxy) as client:
        send(client, topic, b"before")
        rule = proxy.swallow(then=then)
        send(client, topic, b"swallowed")
        send(client, topic, b"after")
    assert rule.counts == {then: 1}
    assert stored(kafka, topic) == [b"before", b"swallowed", b"after"]
    _, lost, again, _ = proxy.produces
    assert (lost.fate, lost.swallowed, lost.errors[topic, 0]) == (Fate.SWALLOWED, then, 0)
    assert lost.answered_at is not None
    assert lost.over_at is not None
    assert (lost.over_at - lost.answered_at > 0.3) == (then == "silence")
    assert again.connection != lost.connection
    assert [b.crc for b in again.batches] == [b.crc for b in lost.batches]
    assert proxy.epochs_bumped_with_in_flight() == []
    assert proxy.epoch_bumps == 0


def test_records_that_are_sent_again_keep_their_timestamps(kafka: Kafka, proxy: Proxy) -> None:
    """A broker that has the batch responds with its largest timestamp, as if it were that of the append."""
    topic, now = kafka.topic("times"), int(time.time() * 1000)
    stamps = [now - 2_000, now, now - 1_000]
    with producer(proxy, linger_ms=100) as client:
        send(client, topic, b"before")
        rule = proxy.swallow()
        futures = [client.send(ProducerRecord(topic, b"v", partition=0, timestamp=at)) for at in stamps]
        found = [future.result(120).timestamp for future in futures]
    assert rule.hits == 1
    assert proxy.produces[-1].batches[0].count == 3
    assert found == stamps


@pytest.mark.parametrize("then", ["reset", "silence"])
def test_without_numbers_the_retry_is_a_duplicate(kafka: Kafka, proxy: Proxy, then: str) -> None:
    """That is how one sees that the broker has applied what was swallowed."""
    topic = kafka.topic("twice")
    proxy.swallow(then=then)
    with producer(proxy, enable_idempotence=False) as client:
        send(client, topic, b"v")
    assert stored(kafka, topic) == [b"v", b"v"]


def test_another_client_sends_again_too(kafka: Kafka, proxy: Proxy) -> None:
    topic = kafka.topic("other")
    rule = proxy.swallow_schedule(random.Random(1), [1, 2])
    wishes = {
        "enable.idempotence": True,
        "socket.timeout.ms": 1_000,
        "request.timeout.ms": 900,
        "linger.ms": 0,
    }
    writer = OtherProducer({"bootstrap.servers": proxy.bootstrap, **wishes})
    for number in range(10):
        writer.produce(topic, b"%d" % number)
    assert writer.flush(30) == 0
    assert rule.counts == {"reset": 1, "silence": 1}
    assert stored(kafka, topic) == [b"%d" % number for number in range(10)]


def test_the_nth_answer_is_meant(kafka: Kafka, proxy: Proxy) -> None:
    topic = kafka.topic("nth")
    rule = proxy.swallow(nth=(2, 4))
    with producer(proxy) as client:
        for number in range(4):
            send(client, topic, b"%d" % number)
    assert rule.hits == 2
    assert [one.fate is Fate.SWALLOWED for one in proxy.produces] == [False, True, False, True, False, False]


def test_what_is_in_the_request_may_decide(kafka: Kafka, proxy: Proxy) -> None:
    topic, other = kafka.topic("when"), kafka.topic("not")

    def is_meant(one: Exchange) -> bool:
        return any(batch.topic == topic and batch.count == 2 for batch in one.batches)

    rule = proxy.swallow(when=is_meant, times=1)
    with producer(proxy) as client:
        for where in (topic, other):
            for count in (1, 2):
                client.send_text(where, b"v\n" * count, partition=0)
                assert client.flush(20)
    assert rule.hits == 1
    assert stored(kafka, topic) == stored(kafka, other) == [b"v"] * 3


def test_any_api_can_be_meant(kafka: Kafka, proxy: Proxy) -> None:
    topic = kafka.topic("ids")
    rules = [proxy.swallow(InitProducerIdRequest), proxy.swallow(MetadataRequest)]
    with producer(proxy) as client:
        send(client, topic, b"v")
    assert [rule.hits for rule in rules] == [1, 1]
    assert stored(kafka, topic) == [b"v"]


def test_a_schedule_is_the_same_for_the_same_seed(kafka: Kafka, proxy: Proxy) -> None:
    topic = kafka.topic("seed")
    rule = proxy.swallow_schedule(random.Random(7), 0.4, kinds=["reset"], times=5)
    with producer(proxy) as client:
        while rule.hits < 5:
            send(client, topic, b"v")
    answered = [one for one in proxy.produces if one.fate in (Fate.ANSWERED, Fate.SWALLOWED)]
    rng = random.Random(7)
    chosen = [rng.random() < 0.4 for _ in range(rule.seen)]
    assert [one.fate is Fate.SWALLOWED for one in answered[: rule.seen]] == chosen


def test_behind_a_silent_answer_nothing_is_forwarded(kafka: Kafka, proxy: Proxy) -> None:
    topic = kafka.topic("silent")
    with producer(proxy, request_timeout_ms=1_500) as client:
        send(client, topic, b"0")
        rule = proxy.swallow(then="silence")
        client.send_text(topic, b"1", partition=0)
        client.push()
        proxy.wait_for(lambda: rule.hits)
        client.send_text(topic, b"2", partition=0)
        proxy.wait_for(lambda: len(proxy.produces) == 3)
        assert len(proxy.in_flight(0)) == 2
        assert client.flush(20)
    assert not proxy.produces[2].reached
    (dead,) = [one for one in proxy.connections if one.silent]
    assert dead.how == "closed by the client"
    assert stored(kafka, topic) == [b"0", b"1", b"2"]
