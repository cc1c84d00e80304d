"""What a query's filters spare: the records that the tasks of ``format("kcli")`` fetch, without a session of Spark."""

import gc
from dataclasses import dataclass, replace
from typing import Any

import pytest

from kcli.core.consumer.arrow_reader import ArrowReader
from kcli.core.consumer.subscription import Span
from kcli.core.types import Record, TopicPartition
from kcli.pipeline.decoding import Undecoded, undecoded_warnings
from kcli.pipeline.plan import Slice
from kcli.pipeline.spark import worker_process
from kcli.pipeline.spark.source_columns import RowBatches
from kcli.pipeline.spark.source_reading import BatchReader, open_consumer
from kcli.pipeline.spark.source_settings import settings_of
from kcli.pipeline.spark.undecoded import UndecodedParam
from kcli.serde.names import parse_serdes
from kcli.serde.opening import open_serdes
from tests.batches import batch_of
from tests.fake.cluster import FakeCluster

COUNT = 3000
START = 1_700_000_000_000


@dataclass(frozen=True)
class EqualTo:
    attribute: tuple[str, ...]
    value: Any


class GreaterThanOrEqual(EqualTo): ...


class LessThanOrEqual(EqualTo): ...


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch) -> list[ArrowReader]:
    """Those that are made."""
    found: list[ArrowReader] = []
    made = ArrowReader.__init__

    def counting(self: ArrowReader, *arguments: Any, **options: Any) -> None:
        found.append(self)
        made(self, *arguments, **options)

    monkeypatch.setattr(ArrowReader, "__init__", counting)
    return found


@pytest.mark.parametrize(
    ("times", "filters", "found"),
    [
        ((START + 3, START + 6), [], [3, 4, 5]),
        ((START + 3, None), [LessThanOrEqual(("offset",), 4)], [3, 4]),
        ((None, START + 2), [], [0, 1]),
        ((None, None), [LessThanOrEqual(("offset",), 1)], [0, 1]),
    ],
)
def test_only_records_within_exact_times_are_rows(
    times: tuple[int | None, int | None], filters: list[Any], found: list[int]
) -> None:
    with FakeCluster(1, topics={"orders": 1}) as cluster:
        cluster.append("orders", 0, bytes(batch_of(records(0)).raw))
        options = {
            "bootstrap.servers": cluster.bootstrap,
            "topic": "orders",
            "columns": "offset",
            "pushdown": "true",
        }
        reader = BatchReader(replace(settings_of(options), times=times))
        list(reader.pushFilters(filters))
        rows = [batch for task in reader.partitions() for batch in reader.read(task)]
        assert [offset for batch in rows for offset in batch.column("offset").to_pylist()] == found


def test_a_query_of_a_range_fetches_only_that_range(readers: list[ArrowReader]) -> None:
    """``where partition = 2 and offset between 1000 and 2000``: of 9,000 records, in batches of 10, 1,001 are decoded."""
    with FakeCluster(1, topics={"orders": 3}) as cluster:
        for partition in range(3):
            for first in range(0, COUNT, 10):
                cluster.append("orders", partition, bytes(batch_of(records(first)).raw))
        reader = BatchReader(
            settings_of(
                {
                    "bootstrap.servers": cluster.bootstrap,
                    "topic": "orders",
                    "columns": "offset,timestamp",
                    "pushdown": "true",
                }
            )
        )
        filters = [
            EqualTo(("partition",), 2),
            GreaterThanOrEqual(("offset",), 1000),
            LessThanOrEqual(("offset",), 2000),
            EqualTo(("value",), b"x"),
        ]
        assert reader.pushFilters(filters) == filters[3:]
        parts = reader.partitions()
        batches = [batch for part in parts for batch in reader.read(part)]
    assert [(each.slice.tp, each.slice.start, each.slice.end) for each in parts] == [  # type: ignore[attr-defined]
        (TopicPartition("orders", 2), 1000, 2001)
    ]
    offsets = [offset for batch in batches for offset in batch.column("offset").to_pylist()]
    assert offsets == list(range(1000, 2001))
    assert [one.seen for one in readers] == [1001]


def test_a_search_for_a_key_copies_no_other_value(
    readers: list[ArrowReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What has another key is neither in a batch for Spark nor in its buffers; garbage is collected without imports."""
    frozen: list[bool] = []
    monkeypatch.setattr(worker_process, "_spared", False)
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(True))
    with FakeCluster(1, topics={"orders": 2}) as cluster:
        for partition in range(2):
            for first in range(0, COUNT, 10):
                cluster.append("orders", partition, bytes(batch_of(records(first)).raw))
        options = {
            "bootstrap.servers": cluster.bootstrap,
            "topic": "orders",
            "columns": "value",
            "pushdown": "true",
        }
        reader = BatchReader(settings_of(options))
        assert reader.pushFilters([EqualTo(("key",), b"k3")]) == []
        batches = [batch for part in reader.partitions() for batch in reader.read(part)]
    wanted = [b"v%d" % number for number in range(COUNT) if number % 7 == 3]
    assert [value for batch in batches for value in batch.column("value").to_pylist()] == wanted * 2
    assert [one.seen for one in readers] == [COUNT, COUNT]
    assert sum(one.rows for one in readers) == 2 * len(wanted)
    assert sum(batch.nbytes for batch in batches) < 2 * len(wanted) * 16  # values, positions, validity
    assert frozen == [True]


@pytest.mark.parametrize(
    ("filters", "at_once", "count"),
    [
        ([], 0, 2),
        ([], 50_000, 20),
        ([EqualTo(("key",), b"k")], 50_000, 4),
        ([EqualTo(("offset",), 7)], 50_000, 1),
    ],
)
def test_a_query_has_as_few_tasks_as_the_memory_of_the_driver_allows(
    filters: list[Any], at_once: int, count: int
) -> None:
    """A task costs 50 ms. Rows that a filter leaves out need no memory."""
    settings = settings_of({"bootstrap.servers": "127.0.0.1:1", "topic": "orders", "pushdown": "true"})
    pinned = (Slice("orders", bytes(16), 0, 0, 1_000_000),)
    reader = BatchReader(replace(settings, slices=pinned, slots=2, at_once=at_once))
    assert reader.pushFilters(filters) == []
    assert len(reader.plan()) == count


def test_values_that_cannot_be_decoded_are_null_and_counted_with_the_first_offset() -> None:
    values = [b"{}", b"no", None, b"also no", b"[1]"]
    with FakeCluster(1, topics={"orders": 1}) as cluster:
        made = [Record("orders", 0, n, START, 0, b"k", value) for n, value in enumerate(values)]
        for one in made:  # batches of one, of which a reading makes one or more of Arrow
            cluster.append("orders", 0, bytes(batch_of([one]).raw))
        settings = settings_of(
            {
                "bootstrap.servers": cluster.bootstrap,
                "topic": "orders",
                "columns": "value_json",
                "value.serde": "json",
            }
        )
        found: dict[str, Undecoded] = {}
        with open_consumer(settings) as consumer, open_serdes(parse_serdes(settings.serdes), {}) as serdes:
            batches = RowBatches(settings, serdes)
            spans = {TopicPartition("orders", 0): Span(0, len(values))}
            with ArrowReader(consumer, spans, columns=batches.needed, batch_rows=2) as reader:
                rows = [row for batch in reader for row in batches.rows(batch).column(0).to_pylist()]
            found = batches.undecoded
    assert rows == ["{}", None, None, None, "[1]"]
    assert [(part, one.failed, one.offset) for part, one in found.items()] == [("value", 2, 1)]


def test_counts_of_ranges_are_joined_once_each() -> None:
    param, where = UndecodedParam(), ("value", "orders", 0, 0)
    found = param.addInPlace({where: Undecoded(2, 7, "x")}, {where: Undecoded(2, 7, "x")})
    found = param.addInPlace(found, {("value", "orders", 1, 0): Undecoded(1, 3, "y")})
    assert list(undecoded_warnings(found, {"key": "", "value": "json"})) == [
        "3 values could not be decoded with json and are null; the first at orders-0@7: x"
    ]


def records(first: int) -> list[Record]:
    return [
        Record("orders", 0, n, START + n, 0, b"k%d" % (n % 7), b"v%d" % n) for n in range(first, first + 10)
    ]
