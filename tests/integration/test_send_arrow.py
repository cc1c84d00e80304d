"""``Producer.send_arrow`` on a real broker, judged by another client: any table arrives as it was, record for record."""

import re
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from confluent_kafka import Consumer as Judge
from confluent_kafka import TopicPartition as Partition
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kcli import read_topic
from kcli.core import Producer
from kcli.core.producer.partitioner import partitioner
from tests.kafka import Kafka

pytestmark = pytest.mark.integration

PATIENCE = 120.0
PARTITIONS = 3
LATEST = 1_795_000_000_000  # brokers refuse the far future
Row = tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]], int | None, int | None]

VALUES = st.none() | st.binary(max_size=40) | st.integers(0, 3000).map(bytes)
HEADERS = st.lists(st.tuples(st.sampled_from(["h", "", "trace-id", "é"]), VALUES), max_size=3)
ROWS = st.lists(
    st.tuples(
        VALUES,
        VALUES,
        HEADERS,
        st.none() | st.integers(0, LATEST),
        st.none() | st.integers(0, PARTITIONS - 1),
    ),
    min_size=1,
    max_size=40,
)


def table_of(rows: list[Row]) -> pa.Table:
    kind = pa.list_(pa.struct([("key", pa.utf8()), ("value", pa.binary())]))
    keys, values, headers, times, partitions = (list(column) for column in zip(*rows, strict=True))
    entries = [[{"key": name, "value": value} for name, value in row] for row in headers]
    return pa.table(
        {
            "key": pa.array(keys, pa.binary()),
            "value": pa.array(values, pa.large_binary()),
            "headers": pa.array(entries, kind),
            "timestamp": pa.array(times, pa.timestamp("ms")),
            "partition": pa.array(partitions, pa.int32()),
        }
    )


def judged(kafka: Kafka, topic: str, count: int) -> list[list[Any]]:
    """The messages of each partition as confluent-kafka reads them, committed ones only."""
    judge = Judge(
        {"bootstrap.servers": kafka.bootstrap, "group.id": "judge", "isolation.level": "read_committed"}
    )
    judge.assign([Partition(topic, number, 0) for number in range(PARTITIONS)])
    found: list[list[Any]] = [[] for _ in range(PARTITIONS)]
    left = count
    while left:
        messages = judge.consume(min(left, 1000), PATIENCE)
        assert messages, f"{left} of {count} messages did not arrive"
        for message in messages:
            assert message.error() is None
            found[message.partition()].append(message)
        left -= len(messages)
    assert judge.poll(0.2) is None, "more arrived than was sent"
    judge.close()
    return found


def assert_arrived(rows: list[Row], found: list[list[Any]]) -> None:
    """Each partition holds its rows in order; where a row has no key and names no partition, any is right.

    Rows may be equal, so which partition took one of those may only show later: every way that fits so
    far is kept, as the number of messages matched in each partition.
    """
    by_key = partitioner("murmur2")
    ways = {(0,) * PARTITIONS}
    for row in rows:
        key, named = row[0], row[4]
        home = named if named is not None else by_key([key], PARTITIONS)[0]
        homes = range(PARTITIONS) if home == -1 else (home,)
        ways = {
            (*way[:n], way[n] + 1, *way[n + 1 :])
            for way in ways
            for n in homes
            if way[n] < len(found[n]) and is_of(found[n][way[n]], row)
        }
        assert ways, f"{row} is not where it belongs"
    assert ways == {tuple(map(len, found))}


def is_of(message: Any, row: Row) -> bool:
    key, value, headers, timestamp, _ = row
    same = (message.key(), message.value(), message.headers()) == (key, value, headers or None)
    return same and timestamp in (None, message.timestamp()[1])


def some_tables() -> list[list[Row]]:
    """Tables that hypothesis makes."""
    made: list[list[Row]] = []

    @settings(deadline=None, max_examples=30, suppress_health_check=list(HealthCheck), database=None)
    @given(ROWS)
    def make(rows: list[Row]) -> None:
        made.append(rows)

    make()
    return made


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_any_table_arrives_as_it_was(kafka: Kafka, codec: str) -> None:
    topic = kafka.topic("arrow", partitions=PARTITIONS)
    tables = some_tables()
    with Producer(bootstrap_servers=kafka.bootstrap, compression_type=codec) as producer:
        for rows in tables:
            assert producer.send_arrow(topic, table_of(rows)) == len(rows)
    everything = [row for rows in tables for row in rows]
    assert_arrived(everything, judged(kafka, topic, len(everything)))


def test_many_rows_in_transactions_arrive_once_and_those_of_an_aborted_one_do_not(kafka: Kafka) -> None:
    topic = kafka.topic("arrow", partitions=PARTITIONS)
    rows: list[Row] = [
        (b"%d" % (i % 97), b"%d" % i + bytes(i % 300), [("n", b"%d" % i)], i + 1, None) for i in range(12_000)
    ]
    whole = table_of(rows)
    with Producer(
        bootstrap_servers=kafka.bootstrap, transactional_id=topic, compression_type="lz4", batch_size=100_000
    ) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send_arrow(topic, whole.slice(100, 5_000))
        producer.flush(PATIENCE)
        producer.abort_transaction()
        for start in range(0, len(rows), 4_000):
            with producer.transaction():
                producer.send_arrow(topic, whole.slice(start, 4_000).to_batches()[0])
    assert_arrived(rows, judged(kafka, topic, len(rows)))


def test_a_topic_that_is_read_as_a_table_can_be_sent_to_another_as_it_is(kafka: Kafka) -> None:
    topic, copy = (kafka.topic(name, partitions=PARTITIONS) for name in ("original", "copy"))
    rows = [row for rows in some_tables() for row in rows]
    with Producer(bootstrap_servers=kafka.bootstrap, compression_type="gzip") as producer:
        producer.send_arrow(topic, table_of(rows))
        assert producer.flush(PATIENCE)
        table = read_topic(topic, bootstrap_servers=kafka.bootstrap)
        assert producer.send_arrow(copy, table) == len(rows)
        packed = read_topic(
            topic, columns=["key", "value", "headers_packed", "timestamp"], bootstrap_servers=kafka.bootstrap
        )
        assert producer.send_arrow(copy, packed, partition=0) == len(rows)

    def fields(messages: list[Any]) -> list[Any]:
        return [(m.key(), m.value(), m.headers(), m.timestamp()) for m in messages]

    originals = [fields(own) for own in judged(kafka, topic, len(rows))]
    copies = [fields(own) for own in judged(kafka, copy, 2 * len(rows))]
    assert copies[1:] == originals[1:]
    assert copies[0][: len(originals[0])] == originals[0]
    everything = [each for own in originals for each in own]
    assert sorted(map(repr, copies[0][len(originals[0]) :])) == sorted(map(repr, everything))


def test_a_frame_of_polars_names_the_topics(kafka: Kafka) -> None:
    topics = [kafka.topic("polars", partitions=PARTITIONS) for _ in range(2)]
    frame = pl.DataFrame(
        {
            "topic": [topics[i % 2] for i in range(1000)],
            "key": [f"key-{i % 7}" for i in range(1000)],
            "value": ["ü" * (i % 30) for i in range(1000)],
        }
    )
    with Producer(bootstrap_servers=kafka.bootstrap) as producer:
        assert producer.send_arrow(None, frame) == 1000
    for number, topic in enumerate(topics):
        rows: list[Row] = [
            (b"key-%d" % (i % 7), ("ü" * (i % 30)).encode(), [], None, None) for i in range(number, 1000, 2)
        ]
        assert_arrived(rows, judged(kafka, topic, len(rows)))


def test_the_example_of_the_documentation_runs(kafka: Kafka) -> None:
    page = (Path(__file__).parents[2] / "docs" / "producer.md").read_text("utf-8")
    (example,) = re.findall(r"## Arrow tables\n.*?```python\n(.*?)```", page, re.DOTALL)
    orders, payments = (kafka.topic(name, partitions=PARTITIONS) for name in ("orders", "payments"))
    for written, used in (("localhost:9092", kafka.bootstrap), ("orders", orders), ("payments", payments)):
        assert f'"{written}"' in example
        example = example.replace(f'"{written}"', f'"{used}"')
    exec(example, {})
    messages = [message for own in judged(kafka, orders, 3) for message in own]
    assert sorted((m.key() or b"", m.value(), m.headers()) for m in messages) == [
        (b"", b"", None),
        (b"customer-7", b'{"total": 12}', [("source", b"import")]),
        (b"customer-9", None, None),
    ]
    assert [m.value() for own in judged(kafka, payments, 1) for m in own] == [b"paid"]
