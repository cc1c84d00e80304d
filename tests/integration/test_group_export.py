"""``groups export`` on a real broker, beside Kafka's own script."""

import json
from pathlib import Path

import pytest

from kcli.core import Admin, Producer
from kcli.core.types import OffsetAndMetadata, ProducerRecord, TopicPartition
from tests.integration.kafka_script import consumer_groups
from tests.kafka import Kafka
from tests.run import Done, kcli_process

pytestmark = pytest.mark.integration


def export(kafka: Kafka, *arguments: str) -> Done:
    return kcli_process("groups", "export", *arguments, bootstrap=kafka.bootstrap)


def script(kafka: Kafka, *groups: str) -> list[str]:
    """The lines of Kafka's export of these groups, sorted."""
    named = [word for group in groups for word in ("--group", group)]
    done = consumer_groups(
        kafka, *named, "--reset-offsets", "--to-current", "--all-topics", "--dry-run", "--export"
    )
    return sorted(line for line in done.stdout.splitlines() if line.strip())


def commit(kafka: Kafka, group: str, offsets: dict[TopicPartition, int]) -> None:
    with Admin(bootstrap_servers=kafka.bootstrap) as admin:
        stored = admin.commit_offsets({group: {w: OffsetAndMetadata(o) for w, o in offsets.items()}})
        assert set(stored[group].values()) == {None}


def test_csv_equals_that_of_kafkas_script(kafka: Kafka) -> None:
    short, long = kafka.topic("t", partitions=3), kafka.topic("a.topic-with-a_long-name", partitions=2)
    groups = [kafka.unused_name("g"), kafka.unused_name('q"u, ote*')]
    for group in groups:
        commit(kafka, group, {TopicPartition(short, n): n for n in range(3)} | {TopicPartition(long, 1): 4})
    one = export(kafka, groups[0])
    assert one.returncode == 0, one.err
    assert sorted(one.out.splitlines()) == script(kafka, groups[0])
    assert sorted(export(kafka, *groups).out.splitlines()) == script(kafka, *groups)


def test_times_of_the_first_unread_records(kafka: Kafka, tmp_path: Path) -> None:
    topic, group = kafka.topic(partitions=2), kafka.unused_name("g")
    with Producer(bootstrap_servers=kafka.bootstrap) as producer:
        for number in range(10):
            producer.send(ProducerRecord(topic, b"v", partition=0, timestamp=1_000 * number))
    commit(kafka, group, {TopicPartition(topic, 0): 7, TopicPartition(topic, 1): 0})
    path = tmp_path / "offsets.ndjson"
    done = export(kafka, group, "--with-time", "--file", str(path))
    assert (done.returncode, done.out) == (0, ""), done.err
    first, second = map(json.loads, path.read_text().splitlines())
    assert (first["offset"], first["timestamp"], first["drained"]) == (7, 7_000, False)
    assert (second["offset"], second["timestamp"], second["drained"]) == (0, None, True)
    with Admin(bootstrap_servers=kafka.bootstrap) as admin:
        assert first["cluster"] == admin.cluster_id()
        found = admin.describe_topics([topic])[topic]
    assert first["topic_id"] == getattr(found, "topic_id", None)


def test_groups_that_do_not_exist(kafka: Kafka) -> None:
    group = kafka.unused_name("g")
    assert export(kafka, group).returncode == 1
    commit(kafka, group, {TopicPartition(kafka.topic(), 0): 0})
    assert export(kafka, group, "no-such-group").returncode == 6
    assert group in export(kafka, "--all").out
