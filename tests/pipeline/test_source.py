"""``format("kcli")`` on a session of Spark and a real Kafka: what is read, written, refused, and what is no loss."""

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kcli.core import Admin, Consumer, Producer
from kcli.core.consumer.subscription import Span
from kcli.core.errors import KcliError
from kcli.core.types import ProducerRecord, Record, TopicPartition
from kcli.pipeline.spark.session import Session
from tests.kafka import Kafka

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from kcli.pipeline.spark.runner import SparkRunner

pytestmark = pytest.mark.integration

COUNT = 300
START = 1_700_000_000_000
EVERYTHING = (
    "topic,partition,offset,timestamp,timestamp_type,key,value,headers,leader_epoch,key_text,value_text"
)


def value(number: int) -> bytes | None:
    return (None, b"", b"\xff\x00", json.dumps({"n": number}).encode())[min(number % 10, 3)]


@pytest.fixture(scope="module")
def topic(kafka: Kafka) -> str:
    """300 records in three partitions: keys k0 to k9 and null, all kinds of values, headers."""
    name = kafka.topic("source", partitions=3)
    with Producer(bootstrap_servers=kafka.bootstrap, compression_type="lz4") as producer:
        for number in range(COUNT):
            key = None if number % 20 == 19 else b"k%d" % (number % 10)
            headers = (("h", b"%d" % number), ("h", None)) if number % 2 else ()
            producer.send(
                ProducerRecord(name, value(number), key, headers, number % 3, START + number * 1000)
            )
        assert producer.flush(30)
    return name


class Notebook:
    """What a user of a session writes."""

    def __init__(self, session: Session, bootstrap: str) -> None:
        from kcli.pipeline.spark.source import register

        self.session = session
        self.bootstrap = bootstrap
        register(session.sql)

    def read(self, topic: str, **options: str) -> "DataFrame":
        reader = self.session.sql.read.format("kcli").option("bootstrap.servers", self.bootstrap)
        for name, text in options.items():
            reader = reader.option(name.replace("__", "."), text)
        return reader.option("topic", topic).load()

    def write(self, frame: "DataFrame", **options: str) -> None:
        writer = frame.write.format("kcli").option("bootstrap.servers", self.bootstrap).mode("append")
        for name, text in options.items():
            writer = writer.option(name, text)
        writer.save()

    def error(self, act: Callable[[], Any]) -> KcliError:
        try:
            act()
        except Exception as error:  # noqa: BLE001 - pyspark raises anything
            return self.session.failure(error, "it failed")
        raise AssertionError("it worked")


@pytest.fixture
def notebook(spark: "SparkRunner", kafka: Kafka) -> Notebook:
    return Notebook(spark.session, kafka.bootstrap)


def records(kafka: Kafka, topic: str, partitions: int = 3, **options: Any) -> list[Record]:
    """All records, read without Spark."""
    tps = [TopicPartition(topic, number) for number in range(partitions)]
    with Consumer(bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest", **options) as consumer:
        ends = consumer.list_offsets(dict.fromkeys(tps, -1), 10)
        consumer.assign({tp: Span(0, ends[tp].offset) for tp in tps})  # type: ignore[union-attr]
        found: list[Record] = []
        while not consumer.done:
            found += consumer.records(1)
        return found


def test_every_attribute_of_every_record_is_a_column(notebook: Notebook, kafka: Kafka, topic: str) -> None:
    frame = notebook.read(topic, columns=EVERYTHING, headers="unpacked", minPartitions="6")
    rows = frame.selectExpr("*", "unix_millis(timestamp) ms").collect()
    found = sorted(
        (
            row.topic,
            row.partition,
            row.offset,
            row.ms,
            ("CreateTime", "LogAppendTime").index(row.timestamp_type),
            row.key and bytes(row.key),
            None if row.value is None else bytes(row.value),
            tuple((h.key, None if h.value is None else bytes(h.value)) for h in row.headers),
            row.leader_epoch,
        )
        for row in rows
    )
    assert found == sorted(tuple(record) for record in records(kafka, topic))
    assert {row.value_text for row in rows if row.value == b"\xff\x00"} == {None}
    assert {row.value_text for row in rows if row.value == b""} == {""}
    assert all(row.key_text == (row.key and row.key.decode()) for row in rows)


def test_filters_give_the_same_rows_however_they_are_evaluated(notebook: Notebook, topic: str) -> None:
    columns = "partition,offset,timestamp,key"
    shared = notebook.read(topic, columns=columns)
    for condition, count in (
        ("partition = 2 and offset between 10 and 20", 11),
        ("key in ('k3', 'k4') and partition <> 1", 40),
        ("key is null", 15),
        (f"timestamp >= timestamp_millis({START + 290_000})", 10),
        (f"timestamp < timestamp_millis({START + 10_000}) and key is not null", 10),
        ("offset in (0, 99)", 6),
    ):
        assert notebook.read(topic, columns=columns, pushdown="true").where(condition).count() == count, (
            condition
        )
    assert shared.where("partition = 2 and offset between 10 and 20").count() == 11
    assert shared.count() == COUNT  # a frame that was filtered before
    both = shared.where("offset = 1").union(shared.where("offset = 2")).select("offset")
    assert sorted(row.offset for row in both.collect()) == [1, 1, 1, 2, 2, 2]
    notebook.session.sql.conf.set("spark.sql.python.filterPushdown.enabled", "false")
    try:
        frame = notebook.read(topic, columns=columns, pushdown="true")
        assert frame.where("partition = 2 and offset between 10 and 20").count() == 11
    finally:
        notebook.session.sql.conf.set("spark.sql.python.filterPushdown.enabled", "true")


def test_values_are_decoded_by_serdes(notebook: Notebook, topic: str) -> None:
    frame = notebook.read(topic, columns="offset,value_json", value__serde="json").where("offset < 4")
    found = sorted(row.value_json or "" for row in frame.collect())
    assert found == sorted("" if number % 10 < 3 else f'{{"n":{number}}}' for number in range(12))


def test_what_was_read_can_be_written_again(notebook: Notebook, kafka: Kafka, topic: str) -> None:
    copy = kafka.topic("copy", partitions=3)
    notebook.write(notebook.read(topic).drop("topic"), topic=copy)

    def comparable(name: str) -> list[Any]:
        return sorted(
            (r.partition, r.timestamp, r.key or b"", repr((r.key, r.value)), r.headers)
            for r in records(kafka, name)
        )

    assert comparable(copy) == comparable(topic)
    frame = notebook.read(topic, columns="key_text,value,offset").where("offset = 0")
    assert "drop it, or rename it to key" in notebook.error(lambda: notebook.write(frame, topic=copy)).do
    without = notebook.error(lambda: notebook.write(frame.select("value")))
    assert without.what == "no topic is named"
    over = frame.select("value").write.format("kcli").option("bootstrap.servers", kafka.bootstrap)
    assert "overwrite" in notebook.error(lambda: over.option("topic", copy).mode("overwrite").save()).what


@pytest.mark.case("K6")
def test_fewer_rows_than_offsets_are_no_loss(notebook: Notebook, kafka: Kafka) -> None:
    """Markers of transactions and aborted records have offsets; read_uncommitted has the aborted ones too."""
    name = kafka.topic("transactions")
    with Producer(bootstrap_servers=kafka.bootstrap, transactional_id=name) as producer:
        producer.init_transactions(30)
        for number in range(4):
            producer.begin_transaction()
            producer.send(ProducerRecord(name, b"%d" % number))
            assert producer.flush(30)
            producer.abort_transaction() if number % 2 else producer.commit_transaction()
    assert sorted(bytes(row.value) for row in notebook.read(name, columns="value").collect()) == [b"0", b"2"]
    assert notebook.read(name, isolation__level="read_uncommitted").count() == 4


@pytest.mark.case("K5")
def test_a_range_that_retention_ate_fails_with_its_offsets(notebook: Notebook, kafka: Kafka) -> None:
    name = kafka.topic("eaten")
    with Producer(bootstrap_servers=kafka.bootstrap) as producer:
        for number in range(10):
            producer.send(ProducerRecord(name, b"%d" % number))
        assert producer.flush(30)
    frame = notebook.read(name, columns="value")
    planned = frame.rdd  # the ranges are pinned here
    with Admin(bootstrap_servers=kafka.bootstrap) as admin:
        admin.delete_records({TopicPartition(name, 0): 5})
    error = notebook.error(planned.count)
    assert error.exit_code == 5, error
    assert f"{name}-0" in error.what
    assert notebook.read(name, columns="value").count() == 5  # another frame is planned anew


@pytest.mark.case("K10")
def test_no_secret_is_in_plans_and_settings(notebook: Notebook, topic: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("canary:canary-4711")
    secret.chmod(0o600)
    frame = notebook.read(
        topic,
        key__serde="avro",  # the keys are null: no schema is asked for
        **{
            "schema__registry__url": "http://127.0.0.1:1",
            "schema__registry__basic__auth__user__info_file": str(secret),
        },
    )
    assert frame.where("offset = 0").count() == 3  # the tasks have read the secret
    execution: Any = frame._jdf.queryExecution()
    context = notebook.session.context
    seen = f"{execution.toString()}{context.getConf().getAll()}{notebook.session.sql.sql('set -v').collect()}"
    assert "canary-4711" not in seen
    refused = notebook.error(lambda: notebook.read(topic, sasl__password="canary-4711"))
    assert refused.exit_code == 2, refused
    assert "canary-4711" not in f"{refused}{refused.do}"


def stream(notebook: Notebook, folder: Path, topic: str, **options: str) -> list[Any]:
    """Reads until everything that is there was read; the rows of this run."""
    reader = notebook.session.sql.readStream.format("kcli").option("bootstrap.servers", notebook.bootstrap)
    for name, text in {"topic": topic, "columns": "partition,offset,value", **options}.items():
        reader = reader.option(name, text)
    found: list[Any] = []
    query = (
        reader.load()
        .writeStream.foreachBatch(lambda frame, number: found.append((number, frame.collect())))
        .option("checkpointLocation", str(folder))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)
    return found


@pytest.mark.case("K8")
def test_a_stream_continues_at_its_checkpoint_and_refuses_others(
    notebook: Notebook, kafka: Kafka, tmp_path: Path
) -> None:
    name = kafka.topic("stream", partitions=2)

    def send(first: int, last: int, partition: int) -> None:
        with Producer(bootstrap_servers=kafka.bootstrap) as producer:
            for number in range(first, last):
                producer.send(ProducerRecord(name, b"%d" % number, partition=partition))
            assert producer.flush(30)

    send(0, 10, 0)
    folder = tmp_path / "checkpoint"
    batches = stream(notebook, folder, name, maxOffsetsPerTrigger="6")
    assert [len(rows) for _, rows in batches if rows] == [6, 4]
    offsets = json.loads((folder / "offsets" / "0").read_text().splitlines()[-1])
    assert offsets[name] == {"0": 6, "1": 0}
    send(10, 13, 0)
    with Admin(bootstrap_servers=kafka.bootstrap) as admin:
        admin.create_partitions({name: 3})
    time.sleep(0.5)
    send(13, 15, 2)
    assert sorted(int(row.value) for _, rows in stream(notebook, folder, name) for row in rows) == [
        10,
        11,
        12,
        13,
        14,
    ]
    other = kafka.topic("other")
    refused = notebook.error(lambda: stream(notebook, folder, other))
    assert refused.exit_code == 2, refused
    assert f"the checkpoint belongs to topic {name}" in refused.what


def test_the_examples_of_the_page_run(notebook: Notebook, kafka: Kafka, tmp_path: Path, capsys: Any) -> None:
    """Those for Spark in docs/python.md; the others run in ``tests/integration/test_read_topic.py``."""
    topic, upper, copied = (kafka.topic(name) for name in ("orders", "upper", "copied"))
    with Producer(bootstrap_servers=kafka.bootstrap) as producer:
        for number in range(20):
            producer.send(ProducerRecord(topic, b'{"customer": "c%d"}' % (number % 3), b"k%d" % number))
        assert producer.flush(30)
    text = (Path(__file__).parents[2] / "docs" / "python.md").read_text()
    of_spark = text[text.index("\n## Spark\n") : text.index("\n## What is read\n")]
    blocks = re.findall(r"^```py\n(.*?)^```", of_spark, re.M | re.S)
    assert len(blocks) == 4
    names: dict[str, Any] = {"spark": notebook.session.sql}
    for block in blocks:
        for given, own in (
            ("localhost:9092", kafka.bootstrap),
            ('"orders"', repr(topic)),
            ('"orders-upper"', repr(upper)),
            ('"orders-copy"', repr(copied)),
            ("orders-copy-checkpoint", str(tmp_path / "copying")),
            ("orders-files", str(tmp_path / "files")),
            ("orders-checkpoint", str(tmp_path / "checkpoint")),
        ):
            block = block.replace(given, own)  # noqa: PLW2901
        exec(compile(block, "docs/python.md", "exec"), names)
    assert "|      c0|    7|" in capsys.readouterr().out
    assert notebook.session.sql.read.parquet(str(tmp_path / "files")).count() == 20
    assert len(records(kafka, copied, 1)) == 20
    assert {record.value for record in records(kafka, upper, 1)} == {
        b'{"CUSTOMER": "C%d"}' % n for n in range(3)
    }
