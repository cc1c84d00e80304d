"""``kcli mirror`` with the message formats before magic 2, which brokers up to Kafka 2.8 can store."""

from collections.abc import Iterator

import pytest

from kcli.core import Consumer
from kcli.core.consumer.subscription import Span
from kcli.core.options import WHOLE_BATCHES
from kcli.core.types import TopicPartition
from tests.integration.mirroring import (
    CODECS,
    PATIENCE,
    check_equal,
    check_report,
    judged,
    mirror,
    numbered,
    raw_batches,
    write,
)
from tests.kafka import QUICK_JVM, Kafka, sandboxed

pytestmark = pytest.mark.brokers

OLD_CODECS = CODECS[:4]  # zstd needs magic 2
COUNT = 60


@pytest.fixture(scope="module")
def old() -> Iterator[Kafka]:
    with sandboxed(version="2.8.2", jvm_options=QUICK_JVM) as found:
        yield found


def magics(kafka: Kafka, topic: str, partition: int) -> set[int]:
    """The formats in which the broker stores the partition."""
    tp = TopicPartition(topic, partition)
    with Consumer(bootstrap_servers=kafka.bootstrap, max_poll_records=WHOLE_BATCHES) as consumer:
        consumer.assign({tp: Span(0, COUNT)})
        found: set[int] = set()
        while not consumer.done:
            found |= {fetched.batch.magic for fetched in consumer.poll(PATIENCE)}
    return found


@pytest.mark.case("M12")
@pytest.mark.parametrize("mode", [(), ("--exactly-once",)], ids=["at least once", "exactly once"])
@pytest.mark.parametrize(("version", "magic"), [("0.9.0", 0), ("0.10.2", 1)])
def test_old_formats_are_converted(
    old: Kafka, kafka: Kafka, version: str, magic: int, mode: tuple[str, ...]
) -> None:
    """Messages of magic 0 have no timestamp: −1 on the target. The new topic has the format of its brokers."""
    topic = old.topic(f"format-{version}", partitions=4, config={"message.format.version": version})
    for partition, codec in enumerate(OLD_CODECS):
        records = ({**record, "headers": None} for record in numbered(COUNT))
        write(old, topic, records, partition=partition, batch=20, **{"compression.type": codec})
        assert magics(old, topic, partition) == {magic}
    rows, _ = mirror(old, kafka, "-t", topic, *mode, "--verify")
    check_report(rows, [COUNT] * 4)
    found = check_equal(old, topic, kafka, topic, [COUNT] * 4)
    assert {record.timestamp == -1 for record in found[0]} == {magic == 0}
    for partition, codec in enumerate(OLD_CODECS):
        stored = [batch for batch in raw_batches(kafka, topic, partition) if not batch.is_control]
        assert {(batch.magic, batch.codec) for batch in stored} == {(2, codec)}
        assert rows[partition]["passed_through_batches"] == 0
    copy = f"{topic}-copy"
    mirror(old, old, "-t", topic, "--map-topic", f"{topic}={copy}", *mode, "--verify")
    assert magics(old, copy, 0) == {2}


@pytest.mark.case("M12", "M7")
@pytest.mark.parametrize("version", ["0.9.0", "0.10.2"])
@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_a_target_of_an_old_format_is_refused_before_the_copy(
    old: Kafka, kafka: Kafka, version: str, codec: str
) -> None:
    """It would lose headers, and has neither producer ids nor zstd."""
    topic = kafka.topic("new-format")
    write(kafka, topic, numbered(10), **{"compression.type": codec})
    copy = old.topic("old-format", config={"message.format.version": version})
    rows, text = mirror(
        kafka, old, "-t", topic, "--map-topic", f"{topic}={copy}", "--until-caught-up", code=7
    )
    assert not rows
    assert f"topic {copy} cannot hold an exact copy of {topic}" in text
    assert f"message.format.version={version}" in text
    assert judged(old, copy) == {0: []}
