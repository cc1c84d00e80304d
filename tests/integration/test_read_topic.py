"""Topics as tables of Arrow, on a real Kafka: an independent client agrees with them, and docs/python.md runs."""

import os
import re
import time
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from confluent_kafka import Consumer as Judge
from confluent_kafka import Producer as JudgeProducer
from confluent_kafka import TopicPartition as JudgePartition

import kcli
from kcli.core import Producer, TopicRecords
from kcli.core.arrow import fields
from kcli.core.types import ProducerRecord
from tests.integration.test_interchange import CODECS, ROWS, STAMP
from tests.kafka import Kafka

pytestmark = pytest.mark.integration

PAGE = Path(__file__).parents[2] / "docs" / "python.md"
TYPES = {1: "CreateTime", 2: "LogAppendTime"}
COLUMNS = ("partition", "offset", "timestamp", "timestamp_type", "key", "value", "headers")

Told = list[tuple[Any, ...]]


def judged(kafka: Kafka, topic: str, partitions: int, isolation: str = "read_committed") -> Told:
    """Every record as librdkafka sees it."""
    wishes = {"group.id": "judge", "enable.partition.eof": True, "isolation.level": isolation}
    judge = Judge({"bootstrap.servers": kafka.bootstrap, **wishes})
    told: Told = []
    for partition in range(partitions):
        judge.assign([JudgePartition(topic, partition, 0)])
        while (message := judge.poll(20)) is not None and message.error() is None:
            kind, when = message.timestamp()
            headers = [(name, value) for name, value in message.headers() or ()]
            told.append(
                (partition, message.offset(), when, TYPES[kind], message.key(), message.value(), headers)
            )
    judge.close()
    return told


def told_by(topic: TopicRecords) -> Told:
    """The same of a table."""
    table = pa.table(topic)
    table.validate(full=True)
    columns = [table[name].to_pylist() for name in COLUMNS]
    columns[2] = table["timestamp"].cast(pa.int64()).to_pylist()
    columns[6] = [[(pair["key"], pair["value"]) for pair in row] for row in columns[6]]
    return sorted(zip(*columns, strict=True), key=lambda row: row[:2])


@pytest.mark.parametrize("kind", ["CreateTime", "LogAppendTime"])
def test_a_table_has_what_an_independent_client_reads(kafka: Kafka, kind: str) -> None:
    """All codecs, by two producers, and transactions of all ends, in one topic."""
    topic = kafka.topic("arrow", partitions=2, config={"message.timestamp.type": kind})
    for codec in CODECS:
        with Producer(bootstrap_servers=kafka.bootstrap, compression_type=codec) as producer:
            for at, (key, value, headers, stamp) in enumerate(ROWS[:60]):
                producer.send(ProducerRecord(topic, value, key, headers, timestamp=stamp, partition=at % 2))
            producer.flush()
        other = JudgeProducer(
            {"bootstrap.servers": kafka.bootstrap, "compression.type": codec, "linger.ms": 5}
        )
        for number in range(60):
            other.produce(topic, b"%d" % number * 20, partition=1, timestamp=STAMP + number)
        other.flush(30)
    for end in ("commit", "abort", "commit"):
        with Producer(bootstrap_servers=kafka.bootstrap, transactional_id=topic) as producer:
            producer.init_transactions()
            producer.begin_transaction()
            for number in range(20):
                producer.send(ProducerRecord(topic, f"{end} {number}".encode(), partition=0))
            producer.flush()  # an abort drops what was not sent yet
            producer.commit_transaction() if end == "commit" else producer.abort_transaction()
    expected = judged(kafka, topic, 2)
    with kcli.read_topic(topic, bootstrap_servers=kafka.bootstrap) as records:
        assert told_by(records) == expected
        assert sum(batch.count for batch in records) == len(expected)
        frame = pl.DataFrame(records)
        assert frame["value"].to_list() == pa.table(records)["value"].to_pylist()
        query = "select count(*), count(key), epoch_ms(max(timestamp)), sum(len(headers)) from records"
        keys = [row[4] for row in expected if row[4] is not None]
        times, headers = [row[2] for row in expected], [one for row in expected for one in row[6]]
        assert duckdb.sql(query).fetchall() == [(len(expected), len(keys), max(times), len(headers))]
    with kcli.read_topic(
        topic, bootstrap_servers=kafka.bootstrap, isolation_level="read_uncommitted"
    ) as records:
        everything = judged(kafka, topic, 2, "read_uncommitted")
        assert len(everything) == len(expected) + 20
        assert told_by(records) == everything


def test_a_compacted_topic_has_the_rows_that_are_left(kafka: Kafka) -> None:
    topic = kafka.topic(
        "compacted",
        config={
            "cleanup.policy": "compact",
            "min.cleanable.dirty.ratio": "0.01",
            "segment.ms": "100",
            "max.compaction.lag.ms": "100",
        },
    )
    with Producer(bootstrap_servers=kafka.bootstrap, compression_type="zstd") as producer:
        for number in range(300):
            producer.send(ProducerRecord(topic, b"%d" % number, b"key %d" % (number % 7)))
            if number % 100 == 99:
                producer.flush()
                time.sleep(0.2)
        producer.flush()
    deadline = time.monotonic() + 60
    with kcli.read_topic(topic, bootstrap_servers=kafka.bootstrap) as records:
        assert records.most_rows == 300
        while (told := told_by(records)) != judged(kafka, topic, 1) or len(told) == 300:
            assert time.monotonic() < deadline, "the log was not compacted"
            time.sleep(0.3)


def test_a_record_of_many_megabytes(kafka: Kafka) -> None:
    size = 40 << 20
    topic = kafka.topic("large", config={"max.message.bytes": str(size + 10_000)})
    value = os.urandom(1 << 20) * 40
    with Producer(
        bootstrap_servers=kafka.bootstrap,
        max_request_size=size + 10_000,
        buffer_memory=4 * size,
        request_timeout_ms=60_000,
    ) as producer:
        for n in range(2):
            producer.send(ProducerRecord(topic, value, b"%d" % n)).result(60)
    with kcli.read_topic(topic, bootstrap_servers=kafka.bootstrap, columns=["key", "value"]) as records:
        batches = [pa.record_batch(batch) for batch in records]
    assert [key for batch in batches for key in batch["key"].to_pylist()] == [b"0", b"1"]
    assert all(batch["value"][0].as_buffer().equals(pa.py_buffer(value)) for batch in batches)


# --- the page -------------------------------------------------------------------------------------------


@pytest.fixture
def orders(kafka: Kafka) -> str:
    topic = kafka.topic("orders", partitions=2)
    with Producer(bootstrap_servers=kafka.bootstrap) as producer:
        for number in range(200):
            value = b'{"customer": "c%d", "amount": %d}' % (number % 12, number)
            producer.send(ProducerRecord(topic, value, b"c%d" % (number % 12) if number % 5 else None))
        producer.flush()
    return topic


def test_the_page_runs(
    kafka: Kafka, orders: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """Every block of docs/python.md, one after the other, as a reader would paste them."""
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    assert len(blocks) >= 7
    names: dict[str, Any] = {}
    written = kafka.topic("by-customer")
    for block in blocks:
        code = block.replace("localhost:9092", kafka.bootstrap).replace('"orders",', f"{orders!r},")
        code = code.replace('"orders-by-customer"', repr(written))
        exec(compile(code, str(PAGE), "exec"), names)
    assert names["table"].num_rows == 200
    assert pa.parquet.read_metadata("orders.parquet").num_rows == 200
    assert names["frame"].shape == (200, 9)
    assert names["account"].confirmed == 2
    said = capsys.readouterr().out
    assert "customer" in said
    assert "c11" in said
    assert f"{orders}-0" in said


def test_the_page_lists_every_column() -> None:
    rows = re.findall(
        r"^\| (`\w+`(?:, `\w+`)*) \| (?:string|int|binary|timestamp|list)", PAGE.read_text(), re.M
    )
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(named) == sorted(fields.COLUMNS)
