"""``kcli txn`` on real brokers: a transaction that hangs, and one of a live producer, are found and ended.

confluent-kafka is the judge: its read_committed consumer gets past them. A transaction hangs where records are written
that its coordinator does not have: brokers before 3.6 accept them, later ones with their check turned off.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import pytest
from confluent_kafka import Consumer as Judge
from confluent_kafka import KafkaException
from confluent_kafka import Producer as JudgeProducer
from confluent_kafka import TopicPartition as JudgePartition

from kcli.core import Admin
from kcli.core.admin.configs import ConfigChange, ConfigKind, ConfigOp, ConfigResource
from kcli.sandbox.config import DEFAULT_VERSION
from tests.fake.raw_broker import RawBroker, ready, until
from tests.fake.raw_client import RawClient
from tests.integration.kafka_script import transactions
from tests.kafka import Kafka, sandboxed, version_of
from tests.run import Done, kcli_process

pytestmark = pytest.mark.integration

PATIENCE = 120
NEW, OLD = DEFAULT_VERSION, "2.8.2"
_CHECK = "transaction.partition.verification.enable"
_BEFORE_IMPLICIT = 9


@pytest.fixture(scope="module", params=[NEW, pytest.param(OLD, marks=pytest.mark.brokers)])
def broker(request: pytest.FixtureRequest) -> Iterator[Kafka]:
    if request.param == version_of(request.config):
        yield request.getfixturevalue("kafka")
        return
    with sandboxed(version=request.param) as kafka:
        yield kafka


def kcli(kafka: Kafka, line: str, code: int = 0) -> Done:
    done = kcli_process("txn", *line.split(), bootstrap=kafka.bootstrap)
    assert done.returncode == code, done
    return done


def doctor(kafka: Kafka, topic: str, code: int) -> list[dict[str, Any]]:
    """What ``kcli doctor`` finds."""
    done = kcli_process("doctor", "--topic", topic, "-o", "json", bootstrap=kafka.bootstrap)
    assert done.returncode == code, done
    return done.items


def items(kafka: Kafka, line: str, code: int = 0) -> list[dict[str, Any]]:
    return kcli(kafka, f"{line} -o json", code).items


@contextmanager
def unverified(kafka: Kafka) -> Iterator[None]:
    """The broker stores transactional records without asking the coordinator."""
    if kafka.version == OLD:
        yield
        return
    every = ConfigResource(ConfigKind.BROKER, "")
    with Admin(bootstrap_servers=kafka.bootstrap) as admin:
        assert admin.alter_configs({every: [ConfigChange(_CHECK, "false")]}) == {every: None}
        try:
            yield
        finally:
            admin.alter_configs({every: [ConfigChange(_CHECK, None, ConfigOp.DELETE)]})


def hang(kafka: Kafka, topic: str) -> int:
    """A record of a transaction that was never begun at the coordinator; the producer id."""
    with unverified(kafka), RawClient(kafka.bootstrap, timeout=30) as client:
        txn = RawBroker(client, topic, topic, topic).transaction(timeout=600_000)
        assert ready(lambda: txn.init(version=4)) == 0
        # The broker refuses the record until the changed configuration has reached it.
        until(lambda: ready(lambda: txn.produce(0, b"hanging", version=_BEFORE_IMPLICIT)) == 0)
        return txn.id


def judged(kafka: Kafka, topic: str, count: int) -> list[bytes]:
    """The first values that a read_committed consumer of confluent-kafka gets."""
    wishes = {"group.id": f"{topic}-judge", "enable.auto.commit": False, "isolation.level": "read_committed"}
    judge = Judge({"bootstrap.servers": kafka.bootstrap, **wishes})
    judge.assign([JudgePartition(topic, 0, 0)])
    values: list[bytes] = []
    while len(values) < count and (message := judge.poll(2 if not values else 0.5)) is not None:
        assert message.error() is None
        values.append(message.value())
    judge.close()
    return values


def put(kafka: Kafka, topic: str, value: bytes) -> None:
    producer = JudgeProducer({"bootstrap.servers": kafka.bootstrap})
    producer.produce(topic, value)
    assert producer.flush(30) == 0


@pytest.mark.case("P17")
def test_a_hanging_transaction_is_found_and_aborted(broker: Kafka) -> None:
    topic = broker.topic("hanging")
    put(broker, topic, b"before")
    producer_id = hang(broker, topic)
    put(broker, topic, b"behind")
    assert judged(broker, topic, 2) == [b"before"], "the judge waits"

    (row,) = [row for row in items(broker, f"list --topic {topic}") if row["partitions"] == [f"{topic}-0"]]
    assert (row["state"], row["producer_id"], row["transactional_id"]) == ("Hanging", producer_id, topic)
    (found,) = items(broker, f"describe --topic {topic} -p 0")
    assert (found["state"], found["start_offset"], found["last_stable"], found["end"]) == ("hanging", 1, 1, 3)
    assert (found["waiting"], found["ends_at"]) == (2, None)
    assert "no coordinator ends the transaction" in kcli(broker, f"describe --topic {topic}").err

    examined = doctor(broker, topic, 1)
    assert [(item["check"], item["status"]) for item in examined if item["status"] != "ok"] == [
        ("hanging", "failed")
    ]
    assert f"kcli txn abort --topic {topic} -p 0" in examined[-1]["do"]

    assert "marker" in kcli(broker, f"abort --topic {topic} -p 0 --dry-run").out
    kcli(broker, f"abort --topic {topic} -p 0", 2)
    assert judged(broker, topic, 2) == [b"before"], "nothing was done without a confirmation"
    (done,) = items(broker, f"abort --topic {topic} -p 0 --confirm {topic}")
    assert (done["action"], done["status"], done["last_stable"], done["waiting"]) == ("marker", "done", 4, 0)
    assert judged(broker, topic, 2) == [b"before", b"behind"]
    assert items(broker, f"describe --topic {topic}")[0]["state"] == "free"
    assert {item["status"] for item in doctor(broker, topic, 0)} == {"ok"}


def test_the_transaction_of_a_live_producer_is_aborted_by_fencing_it(broker: Kafka) -> None:
    topic = broker.topic("live")
    producer = JudgeProducer({"bootstrap.servers": broker.bootstrap, "transactional.id": topic})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"open")
    assert producer.flush(30) == 0
    put(broker, topic, b"behind")
    assert judged(broker, topic, 1) == []

    (row,) = items(broker, f"list --topic {topic}")
    assert (row["transactional_id"], row["state"], row["partitions"]) == (topic, "Ongoing", [f"{topic}-0"])
    assert items(broker, "list --older-than 1h") == []
    (found,) = items(broker, f"describe {topic}")
    assert found["ends_at"] is not None
    assert [(part["state"], part["waiting"]) for part in found["partitions"]] == [("open", 2)]

    (done,) = items(broker, f"abort {topic} --yes")
    assert (done["action"], done["status"], done["last_stable"]) == ("fence", "done", 3)
    assert judged(broker, topic, 1) == [b"behind"]
    with pytest.raises(KafkaException):
        producer.commit_transaction(30)
    assert judged(broker, topic, 1) == [b"behind"]
    assert "has no open transaction" in kcli(broker, f"abort {topic} --yes").err


def test_a_transaction_with_offsets_of_a_group_is_found_in_their_partition(broker: Kafka) -> None:
    topic = broker.topic("offsets")
    consumer = Judge({"bootstrap.servers": broker.bootstrap, "group.id": topic})
    producer = JudgeProducer({"bootstrap.servers": broker.bootstrap, "transactional.id": topic})
    producer.init_transactions(30)
    producer.begin_transaction()
    offsets = [JudgePartition(topic, 0, 0)]
    producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), 30)
    (row,) = [row for row in items(broker, "list") if row["transactional_id"] == topic]
    (where,) = row["partitions"]
    assert where.startswith("__consumer_offsets-")
    number = where.rpartition("-")[2]
    (found,) = [
        row
        for row in items(broker, f"describe --topic __consumer_offsets -p {number}")
        if row["transactional_id"] == topic
    ]
    assert found["state"] == "open"
    producer.abort_transaction(30)
    consumer.close()


def test_producers_of_a_partition_are_those_of_kafkas_script(broker: Kafka) -> None:
    """With and without an open transaction, and one that has ended one."""
    topic = broker.topic("producers")
    idempotent = JudgeProducer({"bootstrap.servers": broker.bootstrap, "enable.idempotence": True})
    idempotent.produce(topic, b"alone", partition=0)
    assert idempotent.flush(PATIENCE) == 0
    # The coordinator must not abort it meanwhile, however slow the machine is.
    lasting = {"transactional.id": topic, "transaction.timeout.ms": 600_000}
    transactional = JudgeProducer({"bootstrap.servers": broker.bootstrap, **lasting})
    transactional.init_transactions(PATIENCE)
    for value in (b"ended", b"open"):
        transactional.begin_transaction()
        transactional.produce(topic, value, partition=0)
        assert transactional.flush(PATIENCE) == 0
        if value == b"ended":
            transactional.commit_transaction(PATIENCE)
    judge = transactions(broker, "describe-producers", "--topic", topic, "--partition", "0").stdout
    head, *lines = [line.split() for line in judge.splitlines() if line.strip()]
    theirs = {row["ProducerId"]: row for row in (dict(zip(head, line, strict=True)) for line in lines)}
    (item,) = kcli_process("topics", "who", topic, "-o", "json", bootstrap=broker.bootstrap).items
    ours = {str(row["producer_id"]): row for row in item["producers"]}
    assert len(ours) == 2
    assert ours.keys() == theirs.keys()
    for number, row in ours.items():
        told = theirs[number]
        written = datetime.fromisoformat(row["last_write"])
        unknown = {None: "-1"}
        assert [
            str(row["producer_epoch"]),
            unknown.get(row["coordinator_epoch"], str(row["coordinator_epoch"])),
            str(row["last_sequence"]),
            str(round(written.timestamp() * 1000)),
        ] == [
            told[key] for key in ("ProducerEpoch", "LatestCoordinatorEpoch", "LastSequence", "LastTimestamp")
        ]
        assert told["CurrentTransactionStartOffset"] == str(row["start_offset"])
    assert sorted(row["transaction"] or "" for row in ours.values()) == ["", "open"]
    transactional.abort_transaction(PATIENCE)
