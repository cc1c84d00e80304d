"""``format("kcli")`` in a program that was written for Spark's own Kafka connector: on a session and a real Kafka."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kcli.core import Producer
from kcli.core.types import ProducerRecord
from kcli.pipeline.spark.errors import kcli_error
from tests.kafka import Kafka

if TYPE_CHECKING:
    from kcli.pipeline.spark.runner import SparkRunner

pytestmark = pytest.mark.integration


def test_replacing_the_name_of_the_format_is_enough(
    spark: "SparkRunner", kafka: Kafka, tmp_path: Path
) -> None:
    from kcli.pipeline.spark.source import register

    session = spark.session.sql
    register(session)
    name, copy = kafka.topic("names", partitions=2), kafka.topic("names-copy")
    with Producer(bootstrap_servers=kafka.bootstrap) as producer:
        for number in range(20):
            producer.send(
                ProducerRecord(name, b"%d" % number, b"k", (("h", b"1"),), number % 2, 1_700_000_000_000)
            )
        assert producer.flush(30)
    frame = (
        session.read.format("kcli")
        .option("kafka.bootstrap.servers", kafka.bootstrap)
        .option("subscribe", name)
        .option("startingOffsets", json.dumps({name: {"0": 2, "1": -2}}))
        .option("endingOffsets", "latest")
        .option("includeHeaders", "true")
        .load()
    )
    assert frame.columns == [
        "key",
        "value",
        "topic",
        "partition",
        "offset",
        "timestamp",
        "timestampType",
        "headers",
    ]
    assert frame.groupBy("partition").count().orderBy("partition").collect() == [(0, 8), (1, 10)]
    row: Any = frame.selectExpr("CAST(key AS STRING) k", "timestampType", "headers[0].key h").first()
    assert tuple(row) == ("k", 0, "h")
    (
        frame.selectExpr("CAST(key AS STRING)", "CAST(value AS STRING)")
        .write.format("kcli")
        .option("kafka.bootstrap.servers", kafka.bootstrap)
        .option("topic", copy)
        .save(mode="append")
    )
    seen: list[int] = []
    query = (
        session.readStream.format("kcli")
        .option("kafka.bootstrap.servers", kafka.bootstrap)
        .option("subscribePattern", copy)
        .option("startingOffsets", "earliest")
        .option("failOnDataLoss", "false")
        .option("maxOffsetsPerTrigger", "10")
        .load()
        .writeStream.foreachBatch(lambda batch, _number: seen.append(batch.count()))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)
    assert [count for count in seen if count] == [10, 8]
    with pytest.raises(Exception, match=r"no option kafka\.isolation\.levl") as caught:
        session.read.format("kcli").option("kafka.isolation.levl", "x").load()
    error = kcli_error(caught.value)
    assert error is not None
    assert error.do == "did you mean kafka.isolation.level?"
    lines = str(caught.value).splitlines()
    sentence = next(line for line in lines if "there is no option" in line)
    assert '{"' not in sentence
