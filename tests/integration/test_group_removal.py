"""``groups delete``, ``delete-offsets`` and ``remove-members`` on a real broker."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from kcli.core import Admin, Consumer
from kcli.core.types import OffsetAndMetadata, TopicPartition
from tests.kafka import Kafka
from tests.run import KCLI, Done, kcli_process, run

pytestmark = pytest.mark.integration


def kcli(kafka: Kafka, *arguments: str) -> Done:
    return kcli_process("groups", *arguments, bootstrap=kafka.bootstrap)


def committed(kafka: Kafka, group: str) -> dict[TopicPartition, int]:
    with Admin(bootstrap_servers=kafka.bootstrap) as admin:
        found = admin.fetch_offsets({group: None})[group]
    assert isinstance(found, Mapping)
    return {tp: stored.offset for tp, stored in found.items() if isinstance(stored, OffsetAndMetadata)}


def idle_group(kafka: Kafka, topic: str, partitions: int = 3) -> str:
    group = kafka.unused_name("g")
    offsets = {TopicPartition(topic, n): OffsetAndMetadata(n) for n in range(partitions)}
    with Admin(bootstrap_servers=kafka.bootstrap) as admin:
        assert set(admin.commit_offsets({group: offsets})[group].values()) == {None}
    return group


@contextmanager
def member(kafka: Kafka, group: str, topic: str) -> Iterator[Consumer]:
    with Consumer(bootstrap_servers=kafka.bootstrap, group_id=group) as consumer:
        consumer.subscribe([topic])
        end = time.monotonic() + 30
        while not consumer.assignment:
            consumer.poll(0.1)
            assert time.monotonic() < end
        yield consumer


@pytest.mark.case("S0-44", "C18")
def test_the_life_and_end_of_a_group(kafka: Kafka) -> None:
    topic = kafka.topic(partitions=3)
    group = idle_group(kafka, topic)
    asked = kcli(kafka, "delete", group)
    assert (asked.returncode, asked.out) == (2, "")
    assert "3 committed offsets" in asked.err
    assert kcli(kafka, "delete", group, "--dry-run").returncode == 0
    assert len(committed(kafka, group)) == 3

    assert kcli(kafka, "delete-offsets", group, "-t", f"{topic}:0,2", "--yes").returncode == 0
    assert committed(kafka, group) == {TopicPartition(topic, 1): 1}
    assert kcli(kafka, "delete-offsets", group, "-t", f"{topic}:0", "--yes").returncode == 1

    done = kcli(kafka, "delete", group, "no-such-group", "--yes")
    assert done.returncode == 6
    assert f"deleted group {group}" in done.err
    assert committed(kafka, group) == {}
    undo = done.err.split("Undo with: kcli undo ")[1].strip()
    assert run([*KCLI, "undo", undo, "--yes", "-b", kafka.bootstrap], timeout=60).returncode == 0
    assert committed(kafka, group) == {TopicPartition(topic, 1): 1}
    assert kcli(kafka, "delete", group, "--yes").returncode == 0
    assert kcli(kafka, "delete", group, "--yes").returncode == 1


def test_a_live_group_keeps_its_offsets_until_its_member_is_removed(kafka: Kafka) -> None:
    topic, other = kafka.topic(), kafka.topic()
    group = idle_group(kafka, topic, 1)
    with Admin(bootstrap_servers=kafka.bootstrap) as admin:
        admin.commit_offsets({group: {TopicPartition(other, 0): OffsetAndMetadata(0)}})
    with member(kafka, group, topic):
        refused = kcli(kafka, "delete", group, "--yes")
        assert refused.returncode == 7
        assert "it has 1 member: kcli at" in refused.err
        done = kcli(kafka, "delete-offsets", group, "-t", topic, "-t", other, "--yes")
        assert done.returncode == 7
        assert committed(kafka, group).keys() == {TopicPartition(topic, 0)}
        assert kcli(kafka, "remove-members", group, "--dry-run").returncode == 0
        removed = kcli(kafka, "remove-members", group, "--yes")
        assert removed.returncode == 0, removed.err
        assert f"removed 1 member from group {group}" in removed.err
    assert kcli(kafka, "remove-members", group, "--yes").returncode == 0
    assert kcli(kafka, "delete", group, "--yes").returncode == 0
