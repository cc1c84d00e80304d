"""Mirrors on a real cluster of Spark, whose processes are killed at random: each record is there once, in order."""

import dataclasses
import random
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import psutil
import pytest

from kcli.core.admin.admin import Admin
from kcli.core.admin.topics import id_bytes
from kcli.core.cluster.offsets import LATEST, OffsetInfo
from kcli.core.types import TopicPartition
from kcli.flows.stop import Stop
from kcli.pipeline.cluster_ref import ClusterRef
from kcli.pipeline.job import Job, TaskResult
from kcli.pipeline.kernels.copy import CopySettings, CopyTask
from kcli.pipeline.plan import Slice
from kcli.pipeline.runners.runner import Runner
from kcli.pipeline.spark.runner import open_runner
from tests.chaos.mirror_audit import CommittedReader, assert_equal, assert_judged
from tests.chaos.transactional_source import TransactionalSource
from tests.chaos.workload import SEED
from tests.kafka import Kafka
from tests.pipeline.standalone import Standalone, standalone

pytestmark = [pytest.mark.spark_cluster, pytest.mark.timeout(900)]

RECORDS = 160_000
PACE = 2_500.0  # records a second
PARTITIONS = 4
KILLS = 12
CONF = {
    "spark.task.maxFailures": "20",
    "spark.executor.memory": "512m",
    "spark.excludeOnFailure.enabled": "false",
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    with standalone(tmp_path_factory.mktemp("standalone")) as found:
        yield found


class Killer:
    """Kills a Python worker, a daemon or an executor every few seconds, until ``close``."""

    def __init__(self, cluster: Standalone) -> None:
        self.killed: list[str] = []
        self._cluster = cluster
        self._chance = random.Random(SEED)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._ended.wait(self._chance.uniform(0.5, 3.0)) and len(self.killed) < KILLS:
            kind = self._chance.choice(("worker", "worker", "daemon", "executor"))
            with suppress(psutil.NoSuchProcess):
                found = self._cluster.executors() if kind == "executor" else self._cluster.daemons()
                if kind == "worker":
                    found = [child for daemon in found for child in daemon.children(recursive=True)]
                if found:
                    self._chance.choice(found).kill()
                    self.killed.append(kind)

    def close(self) -> None:
        self._ended.set()
        self._thread.join()


def one_slice(
    runner: Runner, settings: CopySettings, kafka: Kafka, topic: str, copy: str
) -> list[TaskResult]:
    """Copies what can be read now."""
    with Admin(bootstrap_servers=kafka.bootstrap) as admin:
        partitions = {TopicPartition(topic, number): LATEST for number in range(PARTITIONS)}
        ends = admin.list_offsets(partitions, committed_only=True)
        info = admin.describe_topics([topic])[topic]
    assert not isinstance(info, Exception)
    tasks = []
    for tp, end in ends.items():
        assert isinstance(end, OffsetInfo)
        source = Slice(topic, id_bytes(info.topic_id), tp.partition, 0, end.offset)
        tasks.append(CopyTask(source, TopicPartition(copy, tp.partition), PARTITIONS))
    return runner.run(Job("copy", settings, tuple(tasks)), on_progress=lambda _: None, stop=Stop())


@pytest.mark.case("K2", "K3")
def test_killed_workers_daemons_and_executors_lose_and_repeat_nothing(
    cluster: Standalone, kafka: Kafka
) -> None:
    topic, copy = kafka.topic("killed", partitions=PARTITIONS), kafka.topic("copy", partitions=PARTITIONS)
    ref = ClusterRef({"bootstrap_servers": kafka.bootstrap}, {}, {}, {})
    settings = CopySettings(ref, ref, "source", copy, "run", exactly_once=True, interval=0.2)
    runner = open_runner(master=cluster.url, local=None, conf=CONF, java_home=None, note=print, warn=print)
    records = attempts = 0
    with (
        TransactionalSource(
            kafka, topic, partitions=PARTITIONS, seed=SEED, total=RECORDS, backlog=RECORDS // 4, pace=PACE,
            transaction_size=50,
        ) as writer,
        CommittedReader(kafka.bootstrap, topic, PARTITIONS) as here,
        CommittedReader(kafka.bootstrap, copy, PARTITIONS) as there,
    ):  # fmt: skip
        killer = Killer(cluster)
        try:
            began, part = time.monotonic(), 0
            while len(killer.killed) < KILLS or writer.committed < RECORDS // 2:
                assert time.monotonic() - began < 400
                results = one_slice(runner, dataclasses.replace(settings, part=part), kafka, topic, copy)
                part += 1
                assert [result.error for result in results] == [None] * PARTITIONS
                records += sum(result.item["records"] for result in results if result.item is not None)
                attempts += sum(result.attempts for result in results) - PARTITIONS
            killer.close()
            writer.finish()
            results = one_slice(runner, dataclasses.replace(settings, part=part), kafka, topic, copy)
            records += sum(result.item["records"] for result in results if result.item is not None)
        finally:
            killer.close()
            runner.close()
        here.read()
        print(
            f"killed: {killer.killed}; {part + 1} slices, {attempts} attempts repeated, {there.read():,} records"
        )
        assert_equal(here, there)
        assert_judged(writer, topic, there, SEED)
        assert records == writer.committed
