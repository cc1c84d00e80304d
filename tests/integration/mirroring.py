"""What the tests of ``kcli mirror`` on real clusters share: the command, and clients that judge it. Not a test."""

import json
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from struct import Struct
from typing import Any, NamedTuple

from confluent_kafka import Consumer as Judge
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError
from confluent_kafka import Producer as JudgeProducer
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from kcli.core import Consumer
from kcli.core.consumer.subscription import Span
from kcli.core.options import WHOLE_BATCHES
from kcli.core.types import TopicPartition
from kcli.sandbox.java import find_java
from tests.integration.members import compiled
from tests.kafka import Kafka
from tests.run import kcli_process, ok

PATIENCE = 120.0
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
WRITER = Path(__file__).with_name("MirrorWriter.java")
WRITER_PARTITIONS = 7

_HEADER = Struct(">qiibIhiqqqhii")


class Content(NamedTuple):
    """A record as the judge reads it."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


class RawBatch(NamedTuple):
    """The header of a stored batch of magic 2, and its bytes."""

    base_offset: int
    magic: int
    attributes: int
    last_offset_delta: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    count: int

    @property
    def codec(self) -> str:
        return CODECS[self.attributes & 7]

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & 0x20)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & 0x10)


def mirror(source: Kafka, target: Kafka, *arguments: str, code: int = 0) -> tuple[list[dict[str, Any]], str]:
    """Runs it to its end, which has to be ``code``; the rows of its report and its stderr."""
    done = kcli_process(
        "mirror", "--from", source.bootstrap, "--to", target.bootstrap, "--yes", "-o", "json", *arguments
    )
    out = ok(done, [code])
    return (json.loads(out)["items"] if out else []), done.stderr.decode()


def judged(
    kafka: Kafka, topic: str, *, isolation: str = "read_committed", starts: Sequence[int] | None = None
) -> dict[int, list[Content]]:
    """All records of each partition as confluent-kafka reads them."""
    options = {
        "bootstrap.servers": kafka.bootstrap,
        "group.id": "judge",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "isolation.level": isolation,
        "auto.offset.reset": "error",
        "fetch.wait.max.ms": 50,
    }
    with closing(Judge(options)) as judge:
        count = len(judge.list_topics(topic, timeout=PATIENCE).topics[topic].partitions)
        found: dict[int, list[Content]] = {partition: [] for partition in range(count)}
        begin = list(starts) if starts is not None else [-2] * count
        judge.assign([Place(topic, partition, begin[partition]) for partition in found])
        left, end = set(found), time.monotonic() + PATIENCE
        while left:
            assert time.monotonic() < end, f"no end of {topic}, partitions {left}"
            for message in judge.consume(1_000, 0.05):
                error, partition = message.error(), message.partition()
                if error is None:
                    found[partition].append(
                        Content(
                            message.offset(),
                            message.timestamp()[1] if message.timestamp()[0] else -1,  # magic 0 has none
                            message.key(),
                            message.value(),
                            tuple(message.headers() or ()),
                        )
                    )
                else:
                    assert error.code() == KafkaError._PARTITION_EOF, error
                    left.discard(partition)
    return found


def contents(found: dict[int, list[Content]]) -> dict[int, list[tuple[Any, ...]]]:
    """The same without offsets."""
    return {partition: [record[1:] for record in records] for partition, records in found.items()}


Offsets = dict[tuple[str, int], int]


def commit(kafka: Kafka, wanted: Mapping[str, Offsets]) -> None:
    """Commits offsets of groups that have no members; the first commit of a cluster finds its coordinator not ready."""
    admin, end = AdminClient({"bootstrap.servers": kafka.bootstrap}), time.monotonic() + PATIENCE
    todo = dict(wanted)
    while todo:
        futures = {}
        for group, offsets in todo.items():
            places = [Place(topic, partition, offset) for (topic, partition), offset in offsets.items()]
            futures |= admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, places)])
        errors = {
            group: [place.error for place in future.result(PATIENCE).topic_partitions if place.error]
            for group, future in futures.items()
        }
        todo = {group: wanted[group] for group, found in errors.items() if found}
        assert not todo or time.monotonic() < end, errors


def committed(kafka: Kafka, group: str, topics: tuple[str, ...]) -> Offsets:
    """What the group has committed for these topics."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    (future,) = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]).values()
    return {
        (place.topic, place.partition): place.offset
        for place in future.result(PATIENCE).topic_partitions
        if place.topic in topics and place.offset >= 0
    }


def raw_batches(kafka: Kafka, topic: str, partition: int = 0) -> list[RawBatch]:
    """The headers of all batches as the broker stores them, transaction markers too; parsed here."""
    tp = TopicPartition(topic, partition)
    found: dict[int, RawBatch] = {}
    with Consumer(
        bootstrap_servers=kafka.bootstrap,
        isolation_level="read_uncommitted",
        show_control_batches=True,
        max_poll_records=WHOLE_BATCHES,
    ) as consumer:
        ends = consumer.list_offsets({tp: -1}, PATIENCE)
        consumer.assign({tp: Span(0, ends[tp].offset)})
        end = time.monotonic() + PATIENCE
        while not consumer.done:
            assert time.monotonic() < end
            for fetched in consumer.poll(1):
                base, _, _, magic, _, attributes, delta, _, _, producer, epoch, sequence, count = (
                    _HEADER.unpack_from(fetched.batch.raw)
                )
                found[base] = RawBatch(base, magic, attributes, delta, producer, epoch, sequence, count)
    return [found[base] for base in sorted(found)]


def check_equal(
    source: Kafka, topic: str, target: Kafka, copy: str, counts: Iterable[int]
) -> dict[int, list[Content]]:
    """An independent client reads the same records, in order, from both, as many as ``counts``; those of the copy."""
    here, there = judged(source, topic), judged(target, copy)
    assert [len(records) for records in here.values()] == list(counts)
    assert contents(here) == contents(there)
    return there


def check_report(rows: list[dict[str, Any]], counts: Iterable[int]) -> None:
    """Each partition was copied as a whole, and its digests are equal."""
    assert [row["records"] for row in rows] == list(counts)
    for row in rows:
        assert row["digest_source"] == row["digest_target"] != ""
        assert row["error"] is None
        assert row["lag_records"] == 0


def numbered(count: int) -> Iterator[dict[str, Any]]:
    """Records of all shapes: null and empty keys and values, headers with the same name and without a value."""
    for number in range(count):
        headers = [("same name", None), ("same name", b""), ("other \u00e9", b"\xff"), ("same name", b"1")]
        yield {
            "key": (None, b"", b"key %d" % number, b"key")[number % 4],
            "value": (None, b"", b"%d " % number * (number % 90))[number % 3],
            "headers": headers[: number % 5] or None,
            "timestamp": 1_700_000_000_000 + (number % 100) * (-1) ** number,
        }


def write(
    kafka: Kafka,
    topic: str,
    records: Iterable[dict[str, Any]],
    *,
    partition: int = 0,
    batch: int = 1 << 30,
    **options: Any,
) -> int:
    """Writes by confluent-kafka, flushing after each ``batch`` records; the number of records."""
    producer = JudgeProducer({"bootstrap.servers": kafka.bootstrap, "linger.ms": 100, **options})
    errors: list[object] = []
    count = 0
    for count, record in enumerate(records, 1):
        producer.produce(
            topic,
            **{"partition": partition, **record},
            on_delivery=lambda error, _: error and errors.append(error),
        )
        if not count % batch:
            producer.flush(PATIENCE)
    assert not producer.flush(PATIENCE)
    assert not errors
    return count


def write_in_transactions(
    kafka: Kafka,
    topic: str,
    partitions: int,
    rounds: int,
    *,
    first: int = 0,
    codec: str = "none",
    name: str = "",
    key: Any = lambda number: b"%d" % number,
) -> list[int]:
    """Two transactional producers in turns, whose transactions overlap; each third is aborted.

    The number of committed records of each partition.
    """
    committed = [0] * partitions
    producers = [
        JudgeProducer(
            {
                "bootstrap.servers": kafka.bootstrap,
                "transactional.id": f"{topic}-{name}{number}",
                "compression.type": codec,
                "linger.ms": 1,
            }
        )
        for number in range(2)
    ]
    for producer in producers:
        producer.init_transactions(PATIENCE)
    for turn in range(rounds):
        for producer in producers:
            producer.begin_transaction()
        for which, producer in enumerate(producers):
            for partition in range(partitions):
                for index in range((turn + partition) % 4 + 1):
                    number = first + turn * 10 + index
                    producer.produce(
                        topic, partition=partition, key=key(number), value=b"%d of %d" % (number, which)
                    )
            assert not producer.flush(PATIENCE)
        for which, producer in enumerate(producers):
            if (turn + which) % 3 == 2:
                producer.abort_transaction(PATIENCE)
                continue
            producer.commit_transaction(PATIENCE)
            for partition in range(partitions):
                committed[partition] += (turn + partition) % 4 + 1
    return committed


def write_by_java(kafka: Kafka, topic: str, count: int) -> list[int]:
    """What MirrorWriter.java writes; the number of committed records of each partition. Skips without a compiler."""
    folder, jars = compiled(kafka.version, WRITER)
    command = [find_java().path, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{folder}:{jars}"]
    done = subprocess.run(
        [*command, WRITER.stem, kafka.bootstrap, topic, str(count)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return [count] * 5 + [sum(10 for first in range(0, count, 10) if first // 10 % 3 != 2), count]


COMPACTED = {
    "cleanup.policy": "compact",
    "segment.ms": "100",
    "min.cleanable.dirty.ratio": "0.0",
    "min.compaction.lag.ms": "0",
    "max.compaction.lag.ms": "100",
}
FROZEN = {"min.cleanable.dirty.ratio": "1.0", "max.compaction.lag.ms": str(2**63 - 1)}
_KEYS = 60


def write_to_be_compacted(kafka: Kafka, topic: str, partitions: int, rounds: int, first: int = 0) -> None:
    """Records whose keys come again, tombstones among them, in segments that compaction may clean."""
    for turn in range(first, first + rounds):
        records = [
            {
                "key": b"%d" % (number * 7 % (number % _KEYS + 1)),
                "value": None if number % 11 == 5 else b"%d-%d" % (turn, number),
                "headers": [("turn", b"%d" % turn)] if number % 2 else None,
                "timestamp": 1_700_000_000_000 + number,
            }
            for number in range(turn * 50, turn * 50 + 50)
        ]
        write(
            kafka,
            topic,
            ({**record, "partition": partition} for partition in range(partitions) for record in records),
            **{"compression.type": CODECS[turn % 5]},
        )
        time.sleep(0.15)  # older than segment.ms: the next write begins a segment


def wait_until_compacted(kafka: Kafka, topic: str) -> dict[int, list[Content]]:
    """Waits until compaction has removed records within batches of each partition, then ends compaction.

    The records that are left.
    """
    end = time.monotonic() + PATIENCE
    partitions = list(judged(kafka, topic))
    while not all(_has_holes(raw_batches(kafka, topic, partition)) for partition in partitions):
        assert time.monotonic() < end, f"{topic} was not compacted"
        time.sleep(0.5)
    set_configs(kafka, topic, FROZEN)
    before = judged(kafka, topic)
    while True:  # a cleaner that has begun before may still end
        time.sleep(1)
        now = judged(kafka, topic)
        if now == before:
            return now
        assert time.monotonic() < end, f"{topic} is compacted again and again"
        before = now


def _has_holes(batches: Sequence[RawBatch]) -> bool:
    return sum(0 < batch.count <= batch.last_offset_delta for batch in batches) >= 2


def set_configs(kafka: Kafka, topic: str, configs: dict[str, str]) -> None:
    changes = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        for name, value in configs.items()
    ]
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=changes)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(PATIENCE)
