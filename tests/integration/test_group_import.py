"""``groups import``, ``copy`` and ``create`` on a real broker: what was exported comes back, also into another topic."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from kcli.core import Admin, Consumer, Producer
from kcli.core.types import OffsetAndMetadata, ProducerRecord, TopicPartition
from tests.kafka import Kafka
from tests.run import kcli_process

pytestmark = pytest.mark.integration

STAMP = 1_700_000_000_000


def groups(kafka: Kafka, state: Path, *arguments: str, code: int = 0) -> str:
    """stdout when that has something, else stderr."""
    done = kcli_process("groups", *arguments, bootstrap=kafka.bootstrap, XDG_STATE_HOME=str(state))
    assert done.returncode == code, (done.returncode, done.out, done.err)
    return done.out or done.err


def committed(kafka: Kafka, group: str) -> dict[TopicPartition, OffsetAndMetadata]:
    with Admin(bootstrap_servers=kafka.bootstrap) as admin:
        told = admin.fetch_offsets({group: None})[group]
    assert isinstance(told, Mapping)
    return {tp: one for tp, one in told.items() if isinstance(one, OffsetAndMetadata)}


def fill(kafka: Kafka, topic: str, first: int) -> None:
    """One record a second in partitions 0 and 1, from second ``first`` to 20."""
    with Producer(bootstrap_servers=kafka.bootstrap) as producer:
        for number in range(first, 20):
            for partition in (0, 1):
                producer.send(
                    ProducerRecord(topic, b"v", partition=partition, timestamp=STAMP + number * 1000)
                )


def test_export_delete_import_and_by_time_into_another_topic(kafka: Kafka, tmp_path: Path) -> None:
    topic, other = kafka.topic("t", partitions=3), kafka.topic("o", partitions=3)
    group, new = kafka.unused_name("g"), kafka.unused_name("n")
    fill(kafka, topic, 0)
    fill(kafka, other, 5)
    before = {
        TopicPartition(topic, 0): OffsetAndMetadata(12, "mine"),
        TopicPartition(topic, 1): OffsetAndMetadata(20),
        TopicPartition(topic, 2): OffsetAndMetadata(0),
    }
    with Admin(bootstrap_servers=kafka.bootstrap) as admin:
        assert not any(admin.commit_offsets({group: before})[group].values())
        before = committed(kafka, group)
        path = str(tmp_path / "offsets.ndjson")
        groups(kafka, tmp_path, "export", group, "--with-time", "--file", path)
        assert admin.delete_groups([group]) == {group: None}
    shown = groups(kafka, tmp_path, "import", path, "--dry-run")
    assert "Group state: does not exist." in shown
    assert committed(kafka, group) == {}
    report = json.loads(groups(kafka, tmp_path, "import", path, "--yes", "-o", "json"))
    assert (report["kind"], [row["status"] for row in report["items"]]) == (
        "OffsetImportReport",
        ["done"] * 3,
    )
    assert committed(kafka, group) == before

    to_other = ("import", path, "--group", new, "--map-topic", f"{topic}={other}")
    assert "it is an offset of topic" in groups(kafka, tmp_path, *to_other, "--yes", code=7)
    groups(kafka, tmp_path, *to_other, "--by", "time", "--yes")
    found = committed(kafka, new)
    assert [found[TopicPartition(other, number)].offset for number in range(3)] == [7, 15, 0]

    groups(kafka, tmp_path, "copy", group, new, "--yes")
    assert {tp: one for tp, one in committed(kafka, new).items() if tp.topic == topic} == before
    groups(kafka, tmp_path, "rewind", new, "--undo", "--yes")
    assert committed(kafka, new) == found


@pytest.mark.case("S0-42")
def test_a_member_begins_where_its_group_was_created(kafka: Kafka, tmp_path: Path) -> None:
    topic, group = kafka.topic("t", partitions=2), kafka.unused_name("g")
    fill(kafka, topic, 0)
    groups(kafka, tmp_path, "create", group, "-t", topic, "--from", f"@{STAMP + 12_000}", "--yes")
    assert "already exists" in groups(
        kafka, tmp_path, "create", group, "-t", topic, "--from", "latest", "--yes", code=7
    )
    with Consumer(bootstrap_servers=kafka.bootstrap, group_id=group, auto_offset_reset="none") as consumer:
        consumer.subscribe(topic)
        first: dict[int, int] = {}
        while len(first) < 2:
            for record in consumer.records(0.5):
                first.setdefault(record.partition, record.offset)
        assert first == {0: 12, 1: 12}
        path = str(tmp_path / "offsets.csv")
        groups(kafka, tmp_path, "export", group, "--file", path)
        refused = groups(kafka, tmp_path, "import", path, "--group", group, "--yes", code=7)
        assert f"group {group} has members (1)" in refused
