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
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from benchmarks.pipeline._connector import jars
from kcli.sandbox.errors import DownloadError
from tests.kafka import Kafka
from tests.pipeline.streaming_driver import copy, start
from tests.pipeline.test_source_options import write_checkpoint

if TYPE_CHECKING:
    from kcli.pipeline.spark.runner import SparkRunner

pytestmark = pytest.mark.integration

PARTITIONS = 2
KINDS = ("driver", "jvm", "daemon", "worker")
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


def uncommit(checkpoint: Path, batch: int) -> None:
    """As if the driver had died between the last transaction of a batch and Spark's commit."""
    for name in (f"{batch}", f".{batch}.crc"):
        (checkpoint / "commits" / name).unlink()


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
    uncommit(tmp_path / "checkpoint", 2)
    fill(kafka, source, 1200, 1300)
    copy(*run)
    assert numbers(kafka, target) == once(1300)
    assert committed(kafka, f"{source}-stream", source) == [650, 650]


def test_a_repeated_batch_that_is_divided_in_another_way_is_refused(
    spark: "SparkRunner", kafka: Kafka, tmp_path: Path
) -> None:
    """Each task has as many records as before."""
    source, target = (kafka.topic(name, partitions=PARTITIONS) for name in ("from", "to"))
    fill(kafka, source, 0, 400)
    run = (spark.session, kafka.bootstrap, source, target, str(tmp_path / "checkpoint"))
    copy(*run, task=f"partition % {PARTITIONS}")
    uncommit(tmp_path / "checkpoint", 0)
    with pytest.raises(Exception, match="now has as many others") as caught:
        copy(*run, task="cast(cast(value as string) as int) div 2 % 2")
    failed = spark.session.failure(caught.value, "the stream failed")
    assert (failed.exit_code, failed.why[:27]) == (5, "the query or its options we")
    assert numbers(kafka, target) == once(400)


def test_a_stream_that_is_stopped_goes_on_from_its_checkpoint(
    spark: "SparkRunner", kafka: Kafka, tmp_path: Path
) -> None:
    """In the middle of its batches, whose size is limited; then to the end of now."""
    source, target = (kafka.topic(name, partitions=PARTITIONS) for name in ("from", "to"))
    fill(kafka, source, 0, 1000)
    run = (spark.session, kafka.bootstrap, source, target, str(tmp_path / "checkpoint"))
    query = start(*run, most=20, trigger={"processingTime": "0 seconds"})
    deadline = time.monotonic() + 60
    while len(query.recentProgress) < 2:
        assert query.isActive, query.exception()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    query.stop()
    assert query.exception() is None
    assert {progress.numInputRows for progress in query.recentProgress} == {20}
    before = numbers(kafka, target)
    assert 40 <= before.total() < 1000
    assert max(before.values()) == 1
    copy(*run)
    assert numbers(kafka, target) == once(1000)


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


@pytest.fixture
def connector(spark: "SparkRunner") -> Any:
    """The session, with Spark's own connector."""
    try:
        for jar in jars():
            spark.session.sql.sql(f"ADD JAR '{jar}'")
    except DownloadError as error:
        pytest.skip(f"Spark's connector: {error}")
    return spark.session.sql


def read_by_connector(connector: Any, kafka: Kafka, topic: str) -> "Counter[int]":
    frame = (
        connector.read.format("kafka")
        .option("kafka.bootstrap.servers", kafka.bootstrap)
        .option("kafka.isolation.level", "read_committed")
        .option("subscribe", topic)
        .load()
    )
    return Counter(int(row.value) for row in frame.select("value").collect())


def test_a_checkpoint_that_the_connector_wrote_is_continued(
    connector: Any, spark: "SparkRunner", kafka: Kafka, tmp_path: Path
) -> None:
    source, target = (kafka.topic(name, partitions=PARTITIONS) for name in ("from", "to"))
    fill(kafka, source, 0, 100)
    theirs = (
        connector.readStream.format("kafka")
        .option("kafka.bootstrap.servers", kafka.bootstrap)
        .option("subscribe", source)
        .option("startingOffsets", "earliest")
        .load()
        .selectExpr("key", "value", "partition")
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", kafka.bootstrap)
        .option("topic", target)
        .option("checkpointLocation", str(tmp_path / "theirs"))
        .trigger(availableNow=True)
        .start()
    )
    theirs.awaitTermination(60)
    assert numbers(kafka, target) == once(100)
    fill(kafka, source, 100, 150)
    query = (
        connector.readStream.format("kcli")
        .option("kafka.bootstrap.servers", kafka.bootstrap)
        .option("subscribe", source)
        .option("startingCheckpoint", str(tmp_path / "theirs"))
        .load()
        .selectExpr("key", "value", "partition")
        .writeStream.format("kcli")
        .option("kafka.bootstrap.servers", kafka.bootstrap)
        .option("topic", target)
        .option("checkpointLocation", str(tmp_path / "ours"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination(60)
    assert numbers(kafka, target) == once(150)
    assert read_by_connector(connector, kafka, target) == once(150)


class Run:
    """A driver of its own; what of it is killed, is killed at random."""

    def __init__(self, kafka: Kafka, source: str, target: str, folder: Path) -> None:
        self._line = [sys.executable, "-m", "tests.pipeline.streaming_driver"]
        self._line += [kafka.bootstrap, source, target, str(folder / "checkpoint")]
        self._log = folder / "log"
        self.killed: Counter[str] = Counter()
        self._next: list[str] = []

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
        """A driver with all of it, its JVM, which also executes tasks, the process that forks Python workers, or one of
        those: each kind as often as the others, once tasks run.
        """
        if not self._next:
            self._next = chance.sample(KINDS, len(KINDS))
        kind = self._next[-1]
        with suppress(psutil.NoSuchProcess):
            found = process.children(recursive=True)
            daemons = [each for each in found if "pyspark.daemon" in line_of(each)]
            workers = [each for each in daemons if each.parent() in daemons]
            if not any("pyspark.worker" in line_of(each) for each in workers):  # those only plan
                return
            forking = [each for each in daemons if each not in workers]
            if kind == "driver":
                self._end(process)
            else:
                victims = {"jvm": [each for each in found if is_jvm(line_of(each))], "daemon": forking}
                chance.choice(victims.get(kind, workers)).kill()
            self.killed[self._next.pop()] += 1

    @staticmethod
    def _end(process: psutil.Popen) -> None:
        with suppress(psutil.NoSuchProcess):
            for each in [process, *process.children(recursive=True)]:
                with suppress(psutil.NoSuchProcess):
                    each.kill()
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)


def line_of(process: psutil.Process) -> list[str]:
    """Its command line; empty for one that has ended: many live only for a moment."""
    with suppress(psutil.Error):
        return list(process.cmdline())
    return []


def is_jvm(line: list[str]) -> bool:
    return bool(line) and os.path.basename(line[0]) == "java" and any("SparkSubmit" in word for word in line)


@pytest.mark.long
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize(("count", "kills"), [(4000, 2), (20_000, 12)])
def test_each_record_is_written_once_however_often_drivers_and_workers_are_killed(
    kafka: Kafka, tmp_path: Path, request: pytest.FixtureRequest, count: int, kills: int
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
    judge = request.getfixturevalue("connector") if kills > 2 else None
    if judge is not None:
        assert read_by_connector(judge, kafka, target) == once(count)
    assert committed(kafka, f"{source}-stream", source) == [count // 2] * 2
