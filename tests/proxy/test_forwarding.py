"""Nothing is told to do: clients work as without it, and everything they say goes through it."""

import os

import pytest
from confluent_kafka import Consumer as OtherConsumer
from confluent_kafka import Producer as OtherProducer
from confluent_kafka.admin import AdminClient

from kcli.core import Admin, Cluster, Consumer
from kcli.core.consumer.subscription import Span
from kcli.core.options import ClientOptions
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.types import TopicPartition
from tests.kafka import Kafka
from tests.proxy.clients import producer, send, stored
from tests.proxy.exchange import Fate
from tests.proxy.proxy import Proxy

pytestmark = pytest.mark.integration

JOIN_GROUP = 11


def test_brokers_are_advertised_at_the_proxys_ports(kafka: Kafka, proxy: Proxy) -> None:
    node = proxy.nodes[0]
    with Cluster(ClientOptions(bootstrap_servers=proxy.bootstrap)) as cluster:
        cluster.connect(10)
        assert {n.port for n in cluster.view.nodes.values()} == {proxy.port(node)}
    other = AdminClient({"bootstrap.servers": proxy.bootstrap}).list_topics(timeout=10)
    assert [broker.port for broker in other.brokers.values()] == [proxy.port(node)]
    assert proxy.bootstrap != kafka.bootstrap


def test_kcli_writes_and_reads_through_it(kafka: Kafka, proxy: Proxy) -> None:
    topic = kafka.topic("through")
    values = [os.urandom(40_000) for _ in range(100)]
    with producer(proxy) as client:
        assert send(client, topic, *values) == list(range(100))
    with Consumer(bootstrap_servers=proxy.bootstrap) as consumer:
        consumer.connect(10)
        consumer.assign({TopicPartition(topic, 0): Span(0, 100)})
        read: list[bytes | None] = []
        while not consumer.done:
            read += [record.value for record in consumer.records(10)]
    assert read == values
    assert proxy.exchanges(FetchRequest)


def test_another_client_writes_and_reads_through_it_in_a_group(kafka: Kafka, proxy: Proxy) -> None:
    topic = kafka.topic("other")
    writer = OtherProducer({"bootstrap.servers": proxy.bootstrap, "enable.idempotence": True})
    for number in range(100):
        writer.produce(topic, b"%d" % number)
    assert writer.flush(20) == 0
    reader = OtherConsumer(
        {"bootstrap.servers": proxy.bootstrap, "group.id": topic, "auto.offset.reset": "earliest"}
    )
    reader.subscribe([topic])
    messages = reader.consume(100, 30)
    reader.close()
    assert [message.value() for message in messages] == [b"%d" % number for number in range(100)]
    assert proxy.exchanges(FindCoordinatorRequest)
    assert proxy.exchanges(JOIN_GROUP), "the coordinator was reached past the proxy"


def test_every_produce_request_is_recorded(kafka: Kafka, proxy: Proxy) -> None:
    topic = kafka.topic("recorded", partitions=2)
    with producer(proxy, compression_type="zstd") as client:
        for count in (3, 2):
            client.send_text(topic, b"v\n" * count, partition=1)
            assert client.flush(10)
    first, second = proxy.produces
    assert first.is_for(ProduceRequest)
    assert (first.node, first.fate, first.reached) == (proxy.nodes[0], Fate.ANSWERED, True)
    assert first.errors == {(topic, 1): 0}
    batches = [*first.batches, *second.batches]
    assert [(b.topic, b.partition, b.base_sequence, b.count) for b in batches] == [
        (topic, 1, 0, 3),
        (topic, 1, 3, 2),
    ]
    assert len({(b.producer_id, b.epoch) for b in batches}) == 1
    assert all(b.producer_id >= 0 and b.codec == 4 and not b.transactional for b in batches)
    assert first.answered_at is not None
    assert first.over_at is not None
    assert first.at < first.answered_at <= first.over_at
    assert "Produce" in proxy.tell()


def test_acks_0_wants_no_answer_and_pairs_no_later_one_wrongly(kafka: Kafka, proxy: Proxy) -> None:
    topic = kafka.topic("zero")
    with producer(proxy, acks="0") as client:
        for number in range(20):
            send(client, topic, b"%d" % number)
    proxy.wait_for(lambda: len(proxy.produces) == 20)
    assert {one.fate for one in proxy.produces} == {Fate.NO_ANSWER}
    with Admin(bootstrap_servers=proxy.bootstrap) as admin:
        assert admin.describe_topics([topic])
    assert stored(kafka, topic) == [b"%d" % number for number in range(20)]


def test_transactions_pass(kafka: Kafka, proxy: Proxy) -> None:
    topic = kafka.topic("txn")
    writer = OtherProducer({"bootstrap.servers": proxy.bootstrap, "transactional.id": topic})
    writer.init_transactions(20)
    for commit in (True, False, True):
        writer.begin_transaction()
        writer.produce(topic, b"yes" if commit else b"no")
        writer.flush(20)
        writer.commit_transaction(20) if commit else writer.abort_transaction(20)
    assert stored(kafka, topic) == [b"yes", b"yes"]
    assert all(b.transactional for one in proxy.produces for b in one.batches)
    assert proxy.epochs_bumped_with_in_flight() == []


def test_connections_are_recorded(kafka: Kafka, proxy: Proxy) -> None:
    topic = kafka.topic("connections")
    with producer(proxy) as client:
        send(client, topic, b"v")
        assert all(one.alive for one in proxy.connections)
    proxy.wait_for(lambda: not any(one.alive for one in proxy.connections))
    assert {one.how for one in proxy.connections} == {"closed by the client"}
    assert {one.truncated for one in proxy.connections} == {None}
