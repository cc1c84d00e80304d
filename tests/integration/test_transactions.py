"""Transactions on real brokers, of both protocols: 4.x has version 2, 3.9.2 and 2.8.2 need the Add requests."""

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer as Judge
from confluent_kafka import TopicPartition as JudgePartition

from kcli.core import Consumer, Producer
from kcli.core.consumer.subscription import Span
from kcli.core.errors import KcliError, ProducerFencedError, TransactionAbortableError
from kcli.core.hooks import Hooks
from kcli.core.types import GroupMetadata, OffsetAndMetadata, ProducerRecord, TopicPartition
from kcli.sandbox.config import DEFAULT_VERSION
from tests.kafka import Kafka, sandboxed, version_of

pytestmark = pytest.mark.integration

PARTITIONS = 3


NEW, OLD = DEFAULT_VERSION, ("3.9.2", "2.8.2")


@pytest.fixture(scope="module", params=[NEW, *(pytest.param(old, marks=pytest.mark.brokers) for old in OLD)])
def broker(request: pytest.FixtureRequest) -> Iterator[Kafka]:
    if request.param == version_of(request.config):
        yield request.getfixturevalue("kafka")
        return
    with sandboxed(version=request.param) as kafka:
        yield kafka


@pytest.fixture
def topic(broker: Kafka) -> str:
    return broker.topic("txn", partitions=PARTITIONS)


def transactional(broker: Kafka, name: str, **options: object) -> Producer:
    return Producer(bootstrap_servers=broker.bootstrap, transactional_id=name, **options)


def judged(broker: Kafka, topic: str, isolation: str = "read_committed") -> list[bytes]:
    """All values that confluent-kafka reads, sorted."""
    wishes = {"group.id": f"{topic}-judge", "enable.auto.commit": False, "enable.partition.eof": True}
    judge = Judge({"bootstrap.servers": broker.bootstrap, "isolation.level": isolation, **wishes})
    values: list[bytes] = []
    for partition in range(PARTITIONS):
        judge.assign([JudgePartition(topic, partition, 0)])
        while (message := judge.poll(10)) is not None and message.error() is None:
            values.append(message.value() or b"")
    judge.close()
    return sorted(values)


def read_by_kcli(broker: Kafka, topic: str) -> list[bytes]:
    """The same by kcli's own consumer, which reads committed records by default."""
    with Consumer(bootstrap_servers=broker.bootstrap) as consumer:
        partitions = [TopicPartition(topic, p) for p in range(PARTITIONS)]
        ends = consumer.list_offsets(dict.fromkeys(partitions, -1), 30)
        consumer.assign({tp: Span(0, info.offset) for tp, info in ends.items()})
        values = []
        while not consumer.done:
            values += [record.value or b"" for record in consumer.records(5)]
    return sorted(values)


def position(broker: Kafka, group: str, tp: TopicPartition) -> int:
    judge = Judge({"bootstrap.servers": broker.bootstrap, "group.id": group})
    found = judge.committed([JudgePartition(*tp)], timeout=30)[0].offset
    judge.close()
    return int(found)


@pytest.mark.case("S1-10")
@pytest.mark.parametrize("broker", [NEW, *OLD], indirect=True, scope="module")
def test_every_third_is_aborted_and_readers_see_the_rest_only(broker: Kafka, topic: str) -> None:
    tp, expected = TopicPartition(topic, 0), []
    apis: set[str] = set()
    hooks = Hooks(wire=lambda _way, _node, _id, api, version, _size: apis.add(f"{api} {version}"))
    with transactional(broker, topic, hooks=hooks) as producer:
        producer.init_transactions()
        for number in range(12):
            producer.begin_transaction()
            values = [b"%d-%d" % (number, i) for i in range(5)]
            for i, value in enumerate(values):
                producer.send(ProducerRecord(topic, value, key=b"%d" % i))
            producer.send_offsets_to_transaction({tp: OffsetAndMetadata(number, "n")}, GroupMetadata(topic))
            if number % 3 == 2:
                producer.flush()
                producer.abort_transaction()
            else:
                producer.commit_transaction()
                expected += values
    assert judged(broker, topic) == sorted(expected)
    assert read_by_kcli(broker, topic) == sorted(expected)
    assert len(judged(broker, topic, "read_uncommitted")) == 60
    assert position(broker, topic, tp) == 10
    adds = {api for api in apis if api.startswith("Add")}
    assert bool(adds) == (broker.version in OLD), apis


def test_a_successor_fences_its_predecessor(broker: Kafka, topic: str) -> None:
    with transactional(broker, topic) as zombie, transactional(broker, topic) as heir:
        zombie.init_transactions()
        zombie.begin_transaction()
        zombie.send(ProducerRecord(topic, b"zombie"))
        assert zombie.flush(30)
        heir.init_transactions()
        zombie.send(ProducerRecord(topic, b"zombie too"))
        with pytest.raises(ProducerFencedError):
            zombie.commit_transaction()
        with heir.transaction():
            heir.send(ProducerRecord(topic, b"heir"))
    assert judged(broker, topic) == [b"heir"]


def test_what_is_open_at_the_end_is_aborted(broker: Kafka, topic: str) -> None:
    with transactional(broker, topic) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(ProducerRecord(topic, b"never"))
        assert producer.flush(30)
    assert judged(broker, topic) == []


@pytest.mark.case("P15")
def test_a_transaction_that_is_open_for_too_long(broker: Kafka, topic: str) -> None:
    """The coordinator looks every 10 s and aborts it; the next one is clean."""
    with transactional(broker, topic, transaction_timeout_ms=1_000) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(ProducerRecord(topic, b"slept"))
        assert producer.flush(30)
        _until_aborted(broker, topic)
        with pytest.raises((ProducerFencedError, TransactionAbortableError)) as caught:
            producer.commit_transaction()
        assert "open for longer" in caught.value.why
        producer.init_transactions()
        with producer.transaction():
            producer.send(ProducerRecord(topic, b"next"))
    assert judged(broker, topic) == [b"next"]


@pytest.mark.case("P12")
def test_a_transaction_of_unknown_outcome_ends_with_the_next_one(broker: Kafka, topic: str) -> None:
    """Given no time at all, the end is asked for and its answer not awaited."""
    with transactional(broker, topic) as producer:
        producer.init_transactions()
        for number in range(6):
            producer.begin_transaction()
            producer.send(ProducerRecord(topic, b"in doubt %d" % number))
            assert producer.flush(30)
            try:
                producer.commit_transaction(timeout=0.001 * (number % 3))
            except KcliError as error:
                doubt = error
                if "commit again" in doubt.do:  # its end was not asked for yet
                    producer.abort_transaction()
        with producer.transaction():
            producer.send(ProducerRecord(topic, b"clear"))
    found = judged(broker, topic)
    assert found.count(b"clear") == 1
    assert found == read_by_kcli(broker, topic)


def _until_aborted(broker: Kafka, topic: str) -> None:
    """Until the last stable offset has passed the record: its transaction is no longer open."""
    deadline = time.monotonic() + 60
    with Consumer(bootstrap_servers=broker.bootstrap) as consumer:
        places = dict.fromkeys((TopicPartition(topic, p) for p in range(PARTITIONS)), -1)
        while not any(info.offset for info in consumer.list_offsets(places, 30).values()):
            assert time.monotonic() < deadline, "the coordinator did not abort it"
            time.sleep(0.5)
