"""``kcli brokers drain`` on three real brokers under load, killed over and over: librdkafka and the disks are the judges.

``min.insync.replicas`` is the number of replicas, so a single replica that falls out of sync fails the producer. Also
``kcli brokers move-log-dir``, whose judge is what is in the directories.
"""

import json
import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer
from confluent_kafka import TopicPartition as JudgePartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

from tests.kafka import FAST_FAILOVER, QUICK_JVM, TEST_PROPERTIES, Kafka, sandboxed
from tests.run import KCLI, run
from tests.warm_kcli import WarmPopen

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.timeout(600)]
KILLS = int(os.environ.get("KILLS", "12"))
SEED = int(os.environ.get("SEED", "1"))
REPLICAS = {
    "strict": [[1, 3], [3, 2], [2, 3], [3, 1], [1, 2], [2, 1]],
    "single": [[1], [2], [3]],
}
LINE = ("brokers", "drain", "3", "--throttle", "4MB/s", "--watch", "--yes")
PAUSE = 0.05


@pytest.fixture
def cluster() -> Iterator[Kafka]:
    """Three nodes of two log directories each, whose internal topics have two replicas."""
    extra = {**TEST_PROPERTIES, **FAST_FAILOVER, "offsets.topic.replication.factor": "2"}
    with sandboxed(brokers=3, log_dirs=2, extra=extra, jvm_options=QUICK_JVM) as kafka:
        yield kafka


@pytest.fixture
def state(tmp_path: Path) -> dict[str, str]:
    """The environment of kcli: a folder of its own for journals."""
    return {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}


class Load:
    """Sends numbered records with acks=all until the block ends; what was confirmed is in ``confirmed``, and the longest
    wait for that in ``slowest``.
    """

    def __init__(self, kafka: Kafka) -> None:
        self.confirmed: set[tuple[str, int, int, bytes]] = set()
        self.errors: list[KafkaError] = []
        self.slowest = (0.0, "")
        self._producer = Producer({"bootstrap.servers": kafka.bootstrap, "acks": "all", "linger.ms": 20})
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._send)

    def __enter__(self) -> "Load":
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._over.set()
        self._thread.join()
        assert self._producer.flush(60) == 0

    def _send(self) -> None:
        number = 0
        while not self._over.wait(PAUSE):
            for topic, partitions in REPLICAS.items():
                for partition in range(len(partitions)):
                    value = b"%d " % number + b"x" * 200
                    self._producer.produce(topic, value, partition=partition, on_delivery=self._delivered)
            number += 1
            self._producer.poll(0)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.errors.append(error)
        else:
            self.confirmed.add((message.topic(), message.partition(), message.offset(), message.value()))
            self.slowest = max(
                self.slowest,
                (
                    message.latency() or 0.0,
                    f"{message.topic()}-{message.partition()} {time.strftime('%H:%M:%S')}",
                ),
            )


class Watch:
    """Looks all the time how many replicas of ``strict`` are in sync, and whether leaders are among these."""

    def __init__(self, kafka: Kafka) -> None:
        self.looks = 0
        self.wrong: list[str] = []
        self._admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(0.05):
            found = self._admin.list_topics("strict", timeout=30).topics["strict"].partitions
            for number, part in found.items():
                if len(part.isrs) < 2 or part.leader not in part.isrs:
                    self.wrong.append(f"strict-{number}: leader {part.leader}, in sync {part.isrs}")
            self.looks += 1


def kcli(kafka: Kafka, env: dict[str, str], *words: str, code: int | None = 0) -> Any:
    line = [*KCLI, *words, "-b", kafka.bootstrap]
    done = run(line, capture_output=True, text=True, timeout=240, stdin=subprocess.DEVNULL, env=env)
    assert code is None or done.returncode == code, done.stderr
    return done


def create(kafka: Kafka) -> None:
    made = [
        NewTopic(
            name,
            len(rows),
            replica_assignment=rows,
            config={"min.insync.replicas": str(len(rows[0])), "retention.ms": "-1"},
        )
        for name, rows in REPLICAS.items()
    ]
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    for future in admin.create_topics(made).values():
        future.result(30)
    time.sleep(1)


def fill(kafka: Kafka, records: int) -> None:
    """Random records of 10 kB, which do not compress."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "acks": "all"})
    for _ in range(records):
        for topic, rows in REPLICAS.items():
            for partition in range(len(rows)):
                producer.produce(topic, os.urandom(10_000), partition=partition)
        producer.poll(0)
    assert producer.flush(60) == 0


def replicas(kafka: Kafka) -> dict[str, list[list[int]]]:
    topics = AdminClient({"bootstrap.servers": kafka.bootstrap}).list_topics(timeout=30).topics
    return {
        name: [list(part.replicas) for _, part in sorted(topics[name].partitions.items())]
        for name in REPLICAS
    }


def throttles(kafka: Kafka) -> list[str]:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    resources = [ConfigResource(ConfigResource.Type.BROKER, str(number)) for number in (1, 2, 3)]
    resources += [ConfigResource(ConfigResource.Type.TOPIC, name) for name in REPLICAS]
    found = []
    for resource in resources:
        entries = admin.describe_configs([resource])[resource].result(30)
        keys = [key for key in entries if "throttled" in key or "alter.log.dirs.io" in key]
        found += [f"{resource}: {key}={entries[key].value}" for key in keys if _is_set(entries[key])]
    return found


def _is_set(entry: Any) -> bool:
    return bool(entry.value) and not entry.is_default


def directories(kafka: Kafka, node: int) -> list[Path]:
    assert kafka.sandbox is not None
    data = Path(kafka.sandbox.status().data)
    return [data / f"node-{node}", data / "disk-2" / f"node-{node}"]


def on_disk(folder: Path) -> set[str]:
    """The partitions of the topics that a log directory has."""
    found = {
        path.name for path in folder.iterdir() if path.is_dir() and path.name.rpartition("-")[0] in REPLICAS
    }
    return {name for name in found if not name.endswith(("-delete", "-future"))}


def read_all(kafka: Kafka) -> set[tuple[str, int, int, bytes]]:
    consumer = Consumer(
        {"bootstrap.servers": kafka.bootstrap, "group.id": "judge", "enable.auto.commit": False}
    )
    found, ends = set(), {}
    for topic, rows in REPLICAS.items():
        for partition in range(len(rows)):
            ends[topic, partition] = consumer.get_watermark_offsets(
                JudgePartition(topic, partition), timeout=30
            )[1]
    consumer.assign([JudgePartition(topic, number, 0) for topic, number in ends])
    left = {key for key, end in ends.items() if end}
    until = time.monotonic() + 120
    while left:
        assert time.monotonic() < until, f"{left} were not read to their ends"
        for message in consumer.consume(1000, 1.0):
            assert message.error() is None, message.error()
            key = message.topic(), message.partition()
            found.add((*key, message.offset(), message.value()))
            if message.offset() + 1 >= ends[key]:
                left.discard(key)
    consumer.close()
    return found


def drained(kafka: Kafka, env: dict[str, str]) -> Any:
    """A run to the end: while replicas that a killed run had added catch up, their partitions are refused."""
    for _ in range(10):
        done = kcli(kafka, env, *LINE, "-o", "json", code=None)
        if done.returncode == 0:
            break
        assert (done.returncode, "is not in sync" in done.stderr) == (6, True), done.stderr
        time.sleep(1)
    assert done.returncode == 0, done.stderr
    return done


def test_a_broker_is_drained_under_load_by_runs_that_are_killed(
    cluster: Kafka, state: dict[str, str]
) -> None:
    create(cluster)
    fill(cluster, 300)  # with the throttle a drain takes four seconds
    before = replicas(cluster)
    drawn = random.Random(SEED)
    hit = undone = 0
    with Load(cluster) as load, Watch(cluster) as watch:
        time.sleep(1)
        for _ in range(KILLS):
            with WarmPopen(
                [*KCLI, *LINE, "-b", cluster.bootstrap],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=state,
            ) as drain:  # fmt: skip
                time.sleep(drawn.uniform(0.05, 1.5))
                ended = drain.poll() is not None
                drain.send_signal(signal.SIGKILL)
            hit += not ended
            if ended:  # the next kills need something to be moved
                undone += 1
                kcli(cluster, state, *LINE, "--undo")
        done = drained(cluster, state)
        time.sleep(1)
    assert load.errors == []
    assert load.slowest < (30.0,)
    assert watch.wrong == []
    assert watch.looks > 20
    assert hit >= KILLS // 2, f"only {hit} of {KILLS} were killed before their end"
    assert json.loads(done.stdout)["complete"]
    after = replicas(cluster)
    assert all(3 not in row for rows in after.values() for row in rows), after
    assert {name: [len(row) for row in rows] for name, rows in after.items()} == {
        name: [len(row) for row in rows] for name, rows in before.items()
    }
    assert [on_disk(folder) for folder in directories(cluster, 3)] == [set(), set()]
    assert throttles(cluster) == []
    lost = load.confirmed - read_all(cluster)
    assert (len(load.confirmed) > 500, lost) == (True, set())
    print(
        f"{len(load.confirmed)} confirmed, 0 lost, {hit} of {KILLS} killed, {undone} drains undone, "
        f"{watch.looks} looks, seed {SEED}; slowest {load.slowest}"
    )

    kcli(cluster, state, *LINE)  # the judge has a group, so there is __consumer_offsets now
    assert kcli(cluster, state, *LINE).stdout == ""
    kcli(cluster, state, *LINE, "--undo")
    assert replicas(cluster) == before
    assert throttles(cluster) == []
    assert load.confirmed <= read_all(cluster)


def test_replicas_move_between_log_directories_and_back(cluster: Kafka, state: dict[str, str]) -> None:
    create(cluster)
    fill(cluster, 100)
    first, second = directories(cluster, 1)
    there, here = on_disk(first), on_disk(second)
    line = ("brokers", "move-log-dir", "1", "--from", str(first), "--to", str(second), "--yes")
    with Load(cluster) as load, Watch(cluster) as watch:
        begun = kcli(cluster, state, *line, "--throttle", "200kB/s", "-o", "json", code=6)
        assert {row["status"] for row in json.loads(begun.stdout)["items"]} == {"unknown"}
        undo = json.loads(begun.stdout)["undo"]
        kcli(cluster, state, "undo", undo, "--yes")
        assert (on_disk(first), on_disk(second)) == (there, here)
        assert throttles(cluster) == []
        with WarmPopen(
            [*KCLI, *line, "--throttle", "1MB/s", "--watch", "-b", cluster.bootstrap],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=state,
        ) as moving:  # fmt: skip
            time.sleep(1.5)
            moving.send_signal(signal.SIGKILL)
        done = kcli(cluster, state, *line, "--throttle", "20MB/s", "--watch", "-o", "json")
    assert {row["status"] for row in json.loads(done.stdout)["items"]} == {"done"}
    assert (on_disk(first), on_disk(second)) == (set(), there | here)
    assert throttles(cluster) == []
    assert (load.errors, watch.wrong) == ([], [])
    assert load.confirmed <= read_all(cluster)
