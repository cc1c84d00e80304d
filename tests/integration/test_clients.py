"""The clients from Python against a real broker: futures, parking, positions, errors by name."""

import threading
import time

import pytest

from kcli.core import Admin, Cluster, Consumer, Producer
from kcli.core.cluster.offsets import EARLIEST, LATEST, OffsetInfo
from kcli.core.consumer.subscription import Span
from kcli.core.errors import BrokerError, ConfigError, ConnectError, DataLossError, NotFoundError
from kcli.core.hooks import Hooks
from kcli.core.options import ClientOptions
from kcli.core.protocol.messages.metadata import MetadataRequest
from kcli.core.types import ProducerRecord, TopicPartition, TopicSpec
from tests.kafka import Kafka

pytestmark = [pytest.mark.integration, pytest.mark.case("S0-69")]


@pytest.mark.case("S0-61")
def test_the_low_level_client_sends_and_polls(kafka: Kafka) -> None:
    with Cluster(ClientOptions(bootstrap_servers=kafka.bootstrap)) as cluster:
        first, second = MetadataRequest(topics=[]), MetadataRequest(topics=None)
        done = cluster.poll(10, first, cluster.send(second))
        assert [future.value.brokers[0].node_id for future in done] == [1, 1]


@pytest.mark.case("S0-17")
def test_requests_are_pipelined_on_one_connection(kafka: Kafka) -> None:
    wire: list[tuple[str, int]] = []
    hooks = Hooks(wire=lambda way, node, number, api, version, size: wire.append((way, number)))
    with Cluster(ClientOptions(bootstrap_servers=kafka.bootstrap), hooks=hooks) as cluster:
        cluster.connect(10)
        wire.clear()
        requests = [cluster.send(MetadataRequest(topics=[])) for _ in range(5)]
        assert len(cluster.poll(10, *requests)) == 5
    assert [way for way, _ in wire] == ["→"] * 5 + ["←"] * 5
    assert [n for way, n in wire if way == "→"] == [n for way, n in wire if way == "←"]


@pytest.mark.case("S0-9")
def test_a_future_returns_partition_offset_and_timestamp(kafka: Kafka) -> None:
    topic = kafka.topic("future", partitions=2)
    with Producer(bootstrap_servers=kafka.bootstrap) as producer:
        told = producer.send(ProducerRecord(topic, b"v", partition=1, timestamp=1_700_000_000_000)).result(
            120
        )
        assert (told.topic, told.partition, told.offset, told.timestamp) == (topic, 1, 0, 1_700_000_000_000)


@pytest.mark.case("S0-8", "S0-21")
def test_records_sent_before_metadata_are_parked_not_refused(kafka: Kafka) -> None:
    """The proposal's queue "-1": a send never waits for metadata."""
    topic = kafka.topic("parked", partitions=3)
    with Producer(bootstrap_servers=kafka.bootstrap) as producer:
        assert producer.partitions_of(topic) == 0
        futures = [producer.send(ProducerRecord(topic, b"%d" % i, b"k")) for i in range(100)]
        results = [future.result(120) for future in futures]
    assert len({r.partition for r in results}) == 1
    assert [r.offset for r in results] == list(range(100))


@pytest.mark.case("S0-15")
def test_close_right_after_send_loses_nothing(kafka: Kafka) -> None:
    topic = kafka.topic("close")
    with Producer(bootstrap_servers=kafka.bootstrap) as producer:
        future = producer.send(ProducerRecord(topic, b"v"))
    assert future.result(0).offset == 0


def test_a_partition_that_does_not_exist_is_named(kafka: Kafka) -> None:
    topic = kafka.topic("one")
    with Producer(bootstrap_servers=kafka.bootstrap) as producer:
        producer.connect([topic], 10)
        with pytest.raises(NotFoundError, match="has no partition 7"):
            producer.send(ProducerRecord(topic, b"v", partition=7))


@pytest.mark.case("B12")
def test_a_batch_that_is_too_large_for_the_topic_is_split(kafka: Kafka) -> None:
    """The batch goes again in parts, each record keeps its future."""
    topic = kafka.topic("split", config={"max.message.bytes": "5000"})
    with Producer(bootstrap_servers=kafka.bootstrap, linger_ms=50) as producer:
        futures = [producer.send(ProducerRecord(topic, b"x" * 900)) for _ in range(40)]
        assert [future.result(120).offset for future in futures] == list(range(40))


@pytest.mark.case("S0-9", "B12")
def test_a_single_record_that_is_too_large_fails_alone(kafka: Kafka) -> None:
    topic = kafka.topic("large", config={"max.message.bytes": "5000"})
    with Producer(bootstrap_servers=kafka.bootstrap, linger_ms=50) as producer:
        small = producer.send(ProducerRecord(topic, b"before"))
        large = producer.send(ProducerRecord(topic, b"x" * 9_000))
        after = producer.send(ProducerRecord(topic, b"after"))
        with pytest.raises(BrokerError, match="MESSAGE_TOO_LARGE"):
            large.result(120)
        assert small.result(120).offset == 0
        assert after.result(120).offset == 1


@pytest.mark.case("S0-3")
@pytest.mark.parametrize("acks", ["all", "1", "0"])
def test_acks(kafka: Kafka, acks: str) -> None:
    topic = kafka.topic("acks")
    with Producer(bootstrap_servers=kafka.bootstrap, acks=acks) as producer:
        told = producer.send(ProducerRecord(topic, b"v")).result(120)
    assert told.offset == (-1 if acks == "0" else 0)
    with Consumer(bootstrap_servers=kafka.bootstrap) as consumer:
        consumer.connect(10)
        consumer.assign({TopicPartition(topic, 0): Span(0, 1)})
        assert [r.value for r in consumer.records(10)] == [b"v"]


@pytest.mark.case("S0-8", "S0-15")
def test_many_threads_may_send(kafka: Kafka) -> None:
    topic = kafka.topic("threads", partitions=3)
    with Producer(bootstrap_servers=kafka.bootstrap) as producer:

        def work() -> None:
            for i in range(500):
                producer.send(ProducerRecord(topic, b"%d" % i, b"%d" % i))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert producer.flush(30)
        assert producer.totals.confirmed == 2_000
        assert producer.outstanding == 0


def test_offsets_by_position_and_time(kafka: Kafka) -> None:
    topic = kafka.topic("places")
    with Producer(bootstrap_servers=kafka.bootstrap) as producer:
        for stamp in (1_000, 2_000, 3_000):
            producer.send(ProducerRecord(topic, b"v", timestamp=stamp))
    tp = TopicPartition(topic, 0)
    with Admin(bootstrap_servers=kafka.bootstrap) as admin:
        found = {wish: admin.list_offsets({tp: wish})[tp] for wish in (EARLIEST, LATEST, 1_500, 9_000)}
    assert {w: f.offset for w, f in found.items() if isinstance(f, OffsetInfo)} == {
        EARLIEST: 0,
        LATEST: 3,
        1_500: 1,
        9_000: -1,
    }


@pytest.mark.case("S0-3", "S0-12", "S0-31", "S0-36", "S1-7", "S4-20", "F8")
def test_a_span_in_the_middle_of_a_batch_is_exact(kafka: Kafka) -> None:
    topic = kafka.topic("span")
    with Producer(bootstrap_servers=kafka.bootstrap) as producer:
        producer.send_text(topic, b"\n".join(b"%d" % i for i in range(1_000)))
    with Consumer(bootstrap_servers=kafka.bootstrap) as consumer:
        consumer.connect(10)
        tp = TopicPartition(topic, 0)
        consumer.assign({tp: Span(333, 337)})
        assert [r.value for r in consumer.records(10)] == [b"333", b"334", b"335", b"336"]
        assert consumer.done
        assert consumer.position(tp) == 337


@pytest.mark.case("O5")
def test_an_offset_out_of_range_names_the_bounds(kafka: Kafka) -> None:
    topic = kafka.topic("range")
    with Consumer(bootstrap_servers=kafka.bootstrap) as consumer:
        consumer.connect(10)
        consumer.assign({TopicPartition(topic, 0): Span(99)})
        with pytest.raises(DataLossError, match="the log goes from 0 to 0") as raised:
            consumer.poll(10)
    assert raised.value.exit_code == 5


@pytest.mark.case("F9")
def test_aborted_transactions_are_not_shown(kafka: Kafka) -> None:
    from confluent_kafka import Producer as JudgeProducer

    topic = kafka.topic("aborted")
    writer = JudgeProducer({"bootstrap.servers": kafka.bootstrap, "transactional.id": topic})
    writer.init_transactions(30)
    for number, commit in enumerate((True, False, True)):
        writer.begin_transaction()
        writer.produce(topic, b"%d" % number)
        writer.flush(30)  # else an abort takes back what was not sent yet
        writer.commit_transaction(30) if commit else writer.abort_transaction(30)
    with Admin(bootstrap_servers=kafka.bootstrap) as admin:
        end = admin.list_offsets({TopicPartition(topic, 0): LATEST})[TopicPartition(topic, 0)]
    assert isinstance(end, OffsetInfo)
    shown = {}
    for level in ("read_committed", "read_uncommitted"):
        with Consumer(bootstrap_servers=kafka.bootstrap, isolation_level=level) as consumer:
            consumer.connect(10)
            consumer.assign({TopicPartition(topic, 0): Span(0, end.offset)})
            shown[level] = []
            while not consumer.done:
                shown[level] += [r.value for r in consumer.records(10)]
    assert shown == {"read_committed": [b"0", b"2"], "read_uncommitted": [b"0", b"1", b"2"]}


@pytest.mark.case("S4-6")
def test_topics_are_created_described_and_deleted(kafka: Kafka) -> None:
    name = kafka.unused_name("made")
    with Admin(bootstrap_servers=kafka.bootstrap) as admin:
        assert admin.create_topics([TopicSpec(name, 3, 1, {"retention.ms": "60000"})]) == {name: None}
        again = admin.create_topics([TopicSpec(name, 3, 1)])[name]
        assert isinstance(again, BrokerError)
        assert (again.name, again.exit_code) == ("TOPIC_ALREADY_EXISTS", 7)
        info = admin.describe_topics([name])[name]
        assert not isinstance(info, Exception)
        assert [p.leader for p in info.partitions] == [1, 1, 1]
        configs = admin.describe_topic_configs([name])[name]
        assert not isinstance(configs, Exception)
        assert {c.name: c.value for c in configs if not c.is_default} == {"retention.ms": "60000"}
        assert admin.delete_topics([name]) == {name: None}
        deadline = time.monotonic() + 120  # until the broker's metadata follow the controller
        while not isinstance(admin.describe_topics([name])[name], NotFoundError):
            assert time.monotonic() < deadline


@pytest.mark.case("N2")
def test_a_closed_port_is_refused_within_seconds() -> None:
    with (
        Admin(bootstrap_servers="127.0.0.1:1") as admin,
        pytest.raises(ConnectError, match="Connection refused"),
    ):
        admin.connect()


@pytest.mark.case("S4-3", "N1", "N2")
def test_one_good_address_among_bad_ones_is_enough(kafka: Kafka) -> None:
    """The others are tried, and only then it fails."""
    servers = f"127.0.0.1:1,no-such-host.invalid:9092,{kafka.bootstrap}"
    with Admin(bootstrap_servers=servers) as admin:
        assert admin.cluster_id()


def test_no_address_is_a_configuration_error() -> None:
    with pytest.raises(ConfigError, match="no broker is named"):
        Admin(bootstrap_servers="")
