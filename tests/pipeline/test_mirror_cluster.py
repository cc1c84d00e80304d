"""Mirrors on a real cluster of Spark, whose processes are killed at random: each record is there once, in order."""

import dataclasses
import json
import subprocess
import time
from pathlib import Path

import pytest

from kcli.core.admin.admin import Admin
from kcli.core.admin.topics import id_bytes
from kcli.core.cluster.offsets import LATEST, OffsetInfo
from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest
from kcli.core.protocol.messages.produce import ProduceRequest
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
from tests.integration.mirroring import check_equal, numbered, write
from tests.kafka import Kafka
from tests.pipeline.mirror_driver import STEPS, arguments, copied, kill_at
from tests.pipeline.standalone import CONF, Killer, Standalone, on_spark
from tests.proxy.proxy import Proxy
from tests.run import start

pytestmark = [pytest.mark.spark_cluster, pytest.mark.timeout(1_800)]

RECORDS = 160_000
PACE = 2_500.0  # records a second
PARTITIONS = 4
KILLS = 12
COUNT = 300


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


@pytest.mark.case("K2", "K3", "R23")
def test_killed_workers_daemons_and_executors_lose_and_repeat_nothing(
    spark_cluster: Standalone, kafka: Kafka
) -> None:
    topic, copy = kafka.topic("killed", partitions=PARTITIONS), kafka.topic("copy", partitions=PARTITIONS)
    ref = ClusterRef({"bootstrap_servers": kafka.bootstrap}, {}, {}, {})
    settings = CopySettings(ref, ref, "source", copy, "run", exactly_once=True, interval=0.2)
    runner = open_runner(
        master=spark_cluster.url, local=None, conf=CONF, java_home=None, note=print, warn=print
    )
    records = attempts = 0
    with (
        TransactionalSource(
            kafka, topic, partitions=PARTITIONS, seed=SEED, total=RECORDS, backlog=RECORDS // 4, pace=PACE,
            transaction_size=50,
        ) as writer,
        CommittedReader(kafka.bootstrap, topic, PARTITIONS) as here,
        CommittedReader(kafka.bootstrap, copy, PARTITIONS) as there,
    ):  # fmt: skip
        killer = Killer(spark_cluster, KILLS)
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


@pytest.mark.case("K4", "R23")
def test_a_driver_that_is_killed_at_four_steps_stores_every_record_once(
    spark_cluster: Standalone, kafka: Kafka, tmp_path: Path
) -> None:
    """Its executors live on for a while: what they still hold may reach the broker when the next driver runs."""
    topic, job = kafka.topic("driver"), kafka.unused_name("job")
    options = on_spark(spark_cluster)
    with Proxy(kafka.bootstrap) as proxy:
        for step in STEPS:
            write(kafka, topic, numbered(COUNT), batch=50)
            output = tmp_path / f"{step.name}.err"
            kill_at(step, proxy, kafka, job, *options, topic=topic, output=output, patience=300)
    copied(kafka, job, *options, topics=[topic], timeout=600)
    check_equal(kafka, topic, kafka, f"{job}-{topic}", [COUNT * len(STEPS)])
    assert copied(kafka, job, "--runner", "inline", topics=[topic]) == {topic: [0]}


@pytest.mark.case("K3", "R23")
def test_a_speculative_copy_of_a_task_fences_the_first_and_every_record_is_stored_once(
    spark_cluster: Standalone, kafka: Kafka
) -> None:
    topic, job = kafka.topic("speculative", partitions=4), kafka.unused_name("job")
    counts = [COUNT, 20, 20, 20]
    for partition, count in enumerate(counts):
        write(kafka, topic, numbered(count), partition=partition, batch=20)
    conf = {
        **CONF,
        "spark.speculation": "true",
        "spark.speculation.quantile": "0.5",
        "spark.speculation.multiplier": "1.1",
        "spark.speculation.minTaskRuntime": "500ms",
    }
    with Proxy(kafka.bootstrap) as proxy:
        first = proxy.hold(
            ProduceRequest,
            "request",
            nth=1,
            when=lambda one: any(batch.partition == 0 for batch in one.batches),
        )

        def copy_begins() -> bool:
            """Whether a producer that had no id yet has got that of the first one."""
            return any(
                one.at > held.at and one.body.producer_id == -1 and one.body.transactional_id.endswith("-0")
                for held in first.held
                for one in proxy.exchanges(InitProducerIdRequest)
                if one.answered_at is not None
            )

        command = arguments(kafka, job, *on_spark(spark_cluster, conf), topics=[topic], to=proxy.bootstrap)
        with start(*command, stdin=subprocess.DEVNULL) as process:
            proxy.wait_for(copy_begins, 300, "a copy")
            first.release()
            out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err.decode()[-2_000:]
    assert [item["records"] for item in json.loads(out)["items"]] == counts
    check_equal(kafka, topic, kafka, f"{job}-{topic}", counts)
    assert copied(kafka, job, "--runner", "inline", topics=[topic]) == {topic: [0] * 4}
