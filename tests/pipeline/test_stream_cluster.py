"""Streams on a real cluster of Spark, whose processes are killed at random: each record is there once."""

import contextlib
from pathlib import Path

import pytest

from kcli.pipeline.spark.runner import open_runner
from tests.kafka import Kafka
from tests.pipeline.standalone import CONF, Killer, Standalone
from tests.pipeline.streaming_driver import copy
from tests.pipeline.test_stream_kafka import PARTITIONS, committed, fill, numbers, once

pytestmark = [pytest.mark.spark_cluster, pytest.mark.timeout(1_800)]

KILLS = 12
ROUND = 3_000  # records, in six batches


def test_killed_workers_daemons_and_executors_of_a_stream_lose_and_repeat_nothing(
    spark_cluster: Standalone, kafka: Kafka, tmp_path: Path
) -> None:
    """A run that fails is begun again from the checkpoint, by the same driver."""
    source, target = (kafka.topic(name, partitions=PARTITIONS) for name in ("from", "to"))
    runner = open_runner(
        master=spark_cluster.url, local=None, conf=CONF, java_home=None, note=print, warn=print
    )
    filled = runs = 0
    run = (runner.session, kafka.bootstrap, source, target, str(tmp_path / "checkpoint"))
    try:
        with Killer(spark_cluster, KILLS) as killer:
            while len(killer.killed) < KILLS:
                fill(kafka, source, filled, filled + ROUND)
                filled += ROUND
                runs += 1
                with contextlib.suppress(Exception):
                    copy(*run)
        copy(*run)
    finally:
        runner.close()
    found = numbers(kafka, target)
    print(f"killed: {killer.killed}; {runs} runs, {filled:,} records")
    assert not once(filled) - found, "missing"
    assert not found - once(filled), "twice"
    assert committed(kafka, f"{source}-stream", source) == [filled // PARTITIONS] * PARTITIONS
