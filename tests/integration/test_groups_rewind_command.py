"""``kcli groups rewind`` on a real broker: by time, undone, redone; a live group is refused."""

import time
from pathlib import Path
from typing import Any

import pytest

from kcli.core import Admin, Consumer, Producer
from kcli.core.types import OffsetAndMetadata, ProducerRecord, TopicPartition, TopicSpec
from tests.kafka import Kafka
from tests.run import Done, kcli_process

pytestmark = pytest.mark.integration

MINUTE = 60_000


def rewind(kafka: Kafka, state: Path, *arguments: str) -> Done:
    return kcli_process("groups", "rewind", *arguments, bootstrap=kafka.bootstrap, XDG_STATE_HOME=str(state))


def items(done: Done) -> list[dict[str, Any]]:
    assert done.returncode == 0, done.err
    return done.items


def test_by_time_undo_redo_and_a_live_group(kafka: Kafka, tmp_path: Path) -> None:
    topic, group = kafka.unused_name("rewind"), kafka.unused_name("group")
    partitions = [TopicPartition(topic, number) for number in range(3)]
    now = int(time.time() * 1000)
    with Admin(bootstrap_servers=kafka.bootstrap) as admin:
        assert admin.create_topics([TopicSpec(topic, 3, 1)]) == {topic: None}
        with Producer(bootstrap_servers=kafka.bootstrap) as producer:
            for number in range(20):
                for tp in partitions[:2]:  # the third stays empty
                    stamp = now - (20 - number) * MINUTE
                    producer.send(ProducerRecord(topic, b"v", partition=tp.partition, timestamp=stamp))
        old = {tp: OffsetAndMetadata(20, "kept") for tp in partitions[:2]}
        assert not any(admin.commit_offsets({group: old})[group].values())

        def committed() -> dict[TopicPartition, Any]:
            told: Any = admin.fetch_offsets({group: None})[group]
            return {where: one for where, one in told.items() if one is not None}

        before = committed()
        planned = items(rewind(kafka, tmp_path, group, "--to", "@-10m", "--dry-run", "-o", "json"))
        assert committed() == before
        done = items(rewind(kafka, tmp_path, group, "--to", f"@{now - 10 * MINUTE}", "--yes", "-o", "json"))
        assert [(row["new"], row["status"]) for row in done] == [
            (10, "done"), (10, "done"), (0, "done"),
        ]  # fmt: skip
        assert [row["span_seconds"] for row in planned[:2]] == [8 * 60, 8 * 60]
        assert [row["records"] for row in planned] == [9, 9, None]
        after = committed()
        assert {tp: one.metadata for tp, one in after.items()} == {
            partitions[0]: "kept", partitions[1]: "kept", partitions[2]: f"kcli-rewind={done[0]['undo']}",
        }  # fmt: skip
        assert rewind(kafka, tmp_path, group, "--undo", "--yes").returncode == 0
        assert committed() == before
        assert rewind(kafka, tmp_path, group, "--undo", "--yes").returncode == 0
        assert committed() == after

        with Consumer(bootstrap_servers=kafka.bootstrap, group_id=group, client_id="reader") as consumer:
            consumer.subscribe(topic)
            while not consumer.assignment:
                consumer.poll(0.5)
            refused = rewind(kafka, tmp_path, group, "--to", "earliest", "--yes")
        assert refused.returncode == 7
        assert "reader at " in refused.err
