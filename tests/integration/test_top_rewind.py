"""Rewinds from the live screen on a real broker, checked by librdkafka: an empty group, its undo, and a running group."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Tp

from kcli.core import Admin
from kcli.core.types import TopicSpec
from kcli.tui.screens.rewind import Stage
from tests.kafka import Kafka
from tests.tui.driving import Driver, drive

pytestmark = pytest.mark.integration

RECORDS = 30


def consumer(kafka: Kafka, group: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": kafka.bootstrap, "group.id": group, "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": 200, "session.timeout.ms": 6000,
        }
    )  # fmt: skip


@contextmanager
def reading(kafka: Kafka, group: str, topic: str) -> Iterator[list[tuple[float, int]]]:
    """A member of the group; what it has read, and when."""
    read: list[tuple[float, int]] = []
    stop = threading.Event()

    def run() -> None:
        member = consumer(kafka, group)
        member.subscribe([topic])
        while not stop.is_set():
            message = member.poll(0.1)
            if message is not None and message.error() is None:
                read.append((time.monotonic(), message.offset()))
        member.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield read
    finally:
        stop.set()
        thread.join()


def committed(kafka: Kafka, group: str, topic: str) -> int:
    judge = consumer(kafka, group)
    try:
        (found,) = judge.committed([Tp(topic, 0)], timeout=20)
        return int(found.offset)
    finally:
        judge.close()


async def confirm(screen: Driver, group: str) -> Any:
    await screen.press("x")
    await screen.until_stage(Stage.CONFIRM)
    await screen.press(*("minus" if char == "-" else char for char in group))
    await screen.pause(0.2)
    await screen.press("enter")
    await screen.until_stage(Stage.REPORT)
    return screen.app.screen.result


@pytest.mark.case("T8")
def test_an_empty_group_its_undo_and_a_group_as_it_runs(
    kafka: Kafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    topic, group = kafka.unused_name("top"), kafka.unused_name("group")
    with Admin(bootstrap_servers=kafka.bootstrap) as admin:
        assert admin.create_topics([TopicSpec(topic, 1, 1)]) == {topic: None}
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for number in range(RECORDS):
        producer.produce(topic, f"value {number}", partition=0)
    producer.flush()
    with reading(kafka, group, topic) as read:
        while len(read) < RECORDS:
            time.sleep(0.05)
    assert committed(kafka, group, topic) == RECORDS

    async def use(screen: Driver) -> None:
        await screen.press("enter")  # its partitions
        await screen.shows(f"group {group}")
        await screen.press("w", "right", "right", "right", "down", "7", "down", "right", "right", "enter")
        await screen.until_stage(Stage.REVIEW)
        assert screen.app.screen.proposal.wish.topics == (f"{topic}:0",)
        result = await confirm(screen, group)
        assert not result.troubles
        assert committed(kafka, group, topic) == 7
        await screen.press("escape", "u")
        await screen.until_stage(Stage.REVIEW)
        assert not (await confirm(screen, group)).troubles
        assert committed(kafka, group, topic) == RECORDS
        await screen.press("escape")
        with reading(kafka, group, topic) as read:
            await screen.shows("1 member")
            await screen.press("w", "enter")
            await screen.until_stage(Stage.REVIEW)
            await screen.shows("l rewinds the group as it runs")
            await screen.press("l")
            await screen.until(lambda: screen.app.screen.proposal is not None)
            await screen.until_stage(Stage.REVIEW)
            begun = time.monotonic()
            result = await confirm(screen, group)
            assert "set and held" in result.verdicts[0], result
            assert min(offset for at, offset in read if at > begun) == 0
            assert screen.app.screen.result.undo.live

    drive(kafka.bootstrap, use, names=(group,))
