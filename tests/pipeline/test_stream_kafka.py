"""Streams of ``format("kcli")`` between topics of a real Kafka: each record once, whatever is killed; positions in a
group; the checkpoint of another query. Judged by another client.
"""

import os
import random
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from tests.kafka import Kafka
from tests.pipeline.streaming_driver import copy
from tests.pipeline.test_source_options import write_checkpoint

if TYPE_CHECKING:
    from kcli.pipeline.spark.runner import SparkRunner

pytestmark = pytest.mark.integration

PARTITIONS = 2
SEED = int(os.environ.get("KCLI_KILL_SEED", "35"))


def fill(kafka: Kafka, topic: str, first: int, last: int) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for number in range(first, last):
        producer.produce(topic, b"%d" % number, b"k%d" % number, partition=number % PARTITIONS)
        producer.poll(0)
    assert producer.flush(60) == 0


def numbers(kafka: Kafka, topic: str) -> "Counter[int]":
    """How often each number is in the topic, for a reader of what is committed."""
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "group.id": "judge",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in range(PARTITIONS)])
    found: Counter[int] = Counter()
    ended = 0
    deadline = time.monotonic() + 60
    while ended < PARTITIONS:
        assert time.monotonic() < deadline
        message = consumer.poll(1.0)
        if message is None:
            continue
        if message.error():
            ended += 1
        else:
            assert message.key() == b"k" + message.value()
            assert message.partition() == int(message.value()) % PARTITIONS
            found[int(message.value())] += 1
    consumer.close()
    return found


def committed(kafka: Kafka, group: str, topic: str) -> list[int]:
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": group})
    found = consumer.committed([TopicPartition(topic, number) for number in range(PARTITIONS)], 30)
    consumer.close()
    return [each.offset for each in found]


def once(count: int) -> "Counter[int]":
    return Counter(range(count))


def test_a_repeated_batch_adds_nothing_and_the_group_has_the_position(
    spark: "SparkRunner", kafka: Kafka, tmp_path: Path
) -> None:
    source, target = (kafka.topic(name, partitions=PARTITIONS) for name in ("from", "to"))
    fill(kafka, source, 0, 1200)
    run = (spark.session, kafka.bootstrap, source, target, str(tmp_path / "checkpoint"))
    copy(*run)
    assert numbers(kafka, target) == once(1200)
    assert committed(kafka, f"{source}-stream", source) == [600, 600]
    batches = sorted(int(path.name) for path in (tmp_path / "checkpoint" / "commits").glob("[0-9]*"))
    assert batches == [0, 1, 2]
    # As if the driver had died between the last transaction and Spark's commit:
    for name in ("2", ".2.crc"):
        (tmp_path / "checkpoint" / "commits" / name).unlink()
    copy(*run)
    assert numbers(kafka, target) == once(1200)
    fill(kafka, source, 1200, 1300)
    copy(*run)
    assert numbers(kafka, target) == once(1300)
    assert committed(kafka, f"{source}-stream", source) == [650, 650]


def test_a_checkpoint_of_a_query_that_wrote_to_another_topic_is_refused(
    spark: "SparkRunner", kafka: Kafka, tmp_path: Path
) -> None:
    source, target, other = (kafka.topic(name, partitions=PARTITIONS) for name in ("from", "to", "other"))
    fill(kafka, source, 0, 10)
    run = (spark.session, kafka.bootstrap, source)
    copy(*run, target, str(tmp_path / "checkpoint"))
    fill(kafka, source, 10, 20)
    with pytest.raises(Exception, match="it is not known what of it is in topic") as caught:
        copy(*run, other, str(tmp_path / "checkpoint"))
    failed = spark.session.failure(caught.value, "the stream failed")
    assert failed.exit_code == 5
    assert f"in topic {other}" in failed.what
    assert numbers(kafka, target) == once(10)
    assert not numbers(kafka, other)


def test_a_stream_of_the_connector_is_continued(spark: "SparkRunner", kafka: Kafka, tmp_path: Path) -> None:
    """Behind its last batch that was committed; the one that was begun is read again."""
    source = kafka.topic("from", partitions=PARTITIONS)
    fill(kafka, source, 0, 20)
    theirs = tmp_path / "theirs"
    lines = [f'{{"{source}":{{"0":{end},"1":{end + 1}}}}}' for end in (2, 4, 9)]
    write_checkpoint(theirs, lines, 2)
    reader = spark.session.sql.readStream.format("kcli").option("kafka.bootstrap.servers", kafka.bootstrap)
    rows = reader.option("subscribe", source).option("startingCheckpoint", str(theirs)).load()
    found: list[int] = []
    query = (
        rows.writeStream.foreachBatch(
            lambda frame, _: found.extend(int(row.value) for row in frame.collect())
        )
        .option("checkpointLocation", str(tmp_path / "ours"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination(60)
    assert sorted(found) == sorted([*range(8, 20, 2), *range(11, 20, 2)])


class Run:
    """A driver of its own; what of it is killed, is killed at random."""

    def __init__(self, kafka: Kafka, source: str, target: str, folder: Path) -> None:
        self._line = [sys.executable, "-m", "tests.pipeline.streaming_driver"]
        self._line += [kafka.bootstrap, source, target, str(folder / "checkpoint")]
        self._log = folder / "log"
        self.killed: Counter[str] = Counter()

    def until_done(self, chance: random.Random, kills: int) -> None:
        """Runs again from the checkpoint until a run ends by itself, after so many kills at most."""
        for _ in range(kills + 10):
            with self._log.open("ab") as log:
                process = psutil.Popen(self._line, stdout=log, stderr=log)
            try:
                while process.poll() is None and sum(self.killed.values()) < kills:
                    time.sleep(chance.uniform(0.1, 1.5))
                    self._kill(process, chance)
                if process.wait(120) == 0:
                    return
            finally:
                self._end(process)
        raise AssertionError(self._log.read_text()[-4000:])

    def _kill(self, process: psutil.Popen, chance: random.Random) -> None:
        """A driver with its JVM, or a Python worker of it, once it works."""
        with suppress(psutil.NoSuchProcess):
            everything = process.children(recursive=True)
            workers = [each for each in everything if "pyspark.daemon" in each.cmdline()]
            if not workers:
                return
            if chance.random() < 0.4:
                self._end(process)
                self.killed["driver"] += 1
            else:
                chance.choice(workers).kill()
                self.killed["worker"] += 1

    @staticmethod
    def _end(process: psutil.Popen) -> None:
        with suppress(psutil.NoSuchProcess):
            for each in [process, *process.children(recursive=True)]:
                with suppress(psutil.NoSuchProcess):
                    each.kill()
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)


@pytest.mark.long
@pytest.mark.parametrize(("count", "kills"), [(4000, 2), (60_000, 25)])
def test_each_record_is_written_once_however_often_drivers_and_workers_are_killed(
    kafka: Kafka, tmp_path: Path, count: int, kills: int
) -> None:
    source, target = (kafka.topic(name, partitions=PARTITIONS) for name in ("from", "to"))
    fill(kafka, source, 0, count)
    run = Run(kafka, source, target, tmp_path)
    run.until_done(random.Random(SEED), kills)
    found = numbers(kafka, target)
    print(f"seed {SEED}: {dict(run.killed)} killed")
    assert not once(count) - found, "missing"
    assert not found - once(count), "twice"
    assert sum(run.killed.values()) == kills
    assert committed(kafka, f"{source}-stream", source) == [count // 2] * 2
