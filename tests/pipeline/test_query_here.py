"""Queries on DuckDB, in the process of the command: what is read, refused, limited and stopped. On the fake cluster."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from kcli.core.arrow.fields import RECORD_COLUMNS
from kcli.core.arrow.table import ArrowBatch
from kcli.core.consumer.consumer import Consumer
from kcli.core.errors import DataLossError
from kcli.core.options import ConsumerOptions
from kcli.core.positions import RangeSpec
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.types import Record
from kcli.flows.stop import Stop
from kcli.pipeline.duckdb import scan
from kcli.pipeline.duckdb.query import Query
from kcli.pipeline.duckdb.statement import translate
from kcli.pipeline.duckdb.typed import LacksError
from kcli.pipeline.plan import pin
from kcli.pipeline.sql_text import rewrite
from kcli.serde.opening import Serdes
from tests.batches import batch_of
from tests.fake.cluster import FakeCluster
from tests.fake.sasl import Sasl
from tests.run import KCLI, Done, environment, kcli

COUNT, EACH = 2000, 100
START = 1_700_000_000_000


def fill(cluster: FakeCluster, topic: str, partition: int, count: int = COUNT) -> None:
    """Batches of 100 records, a second apart."""
    for first in range(0, count, EACH):
        rows = [
            Record(
                topic,
                partition,
                n,
                START + n * 1000,
                0,
                b"k%d" % (n % 10),
                b'{"n":%d,"s":"x%d"}' % (n, n % 3),
                (),
            )
            for n in range(first, first + EACH)
        ]
        cluster.append(topic, partition, bytes(batch_of(rows).raw))


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"orders": 2, "other": 1, "spoilt": 1, "fractions": 1}) as made:
        fraction = Record("fractions", 0, 0, START, 0, None, b'{"d":50.0}', ())
        made.append("fractions", 0, bytes(batch_of([fraction]).raw))
        for topic, partition in (("orders", 0), ("orders", 1), ("other", 0)):
            fill(made, topic, partition)
        rows = [
            Record("spoilt", 0, n, START, 0, None, value, ())
            for n, value in enumerate((b"{}", b"{", b"\xff"))
        ]
        made.append("spoilt", 0, bytes(batch_of(rows).raw))
        yield made


def query(cluster: FakeCluster, sql: str, *words: str, topics: Sequence[str] = ("orders",)) -> Done:
    return kcli("query", *topics, sql, "--engine", "duckdb", *words, bootstrap=cluster.bootstrap)


def rows(done: Done) -> list[tuple[Any, ...]]:
    assert done.code == 0, done.err
    return [tuple(item.values()) for item in json.loads(done.out)["items"]]


def test_fields_are_grouped(cluster: FakeCluster) -> None:
    sql = "select value:s, count(*), sum(value:n::int) from source group by all order by value:s::string"
    found = rows(query(cluster, sql, "-o", "json"))
    assert found == [(f"x{n}", 2 * len(range(n, COUNT, 3)), 2 * sum(range(n, COUNT, 3))) for n in range(3)]


def test_two_topics_are_joined(cluster: FakeCluster) -> None:
    sql = (
        "select count(*), min(a.topic), max(b.topic) from source a join source b on a.value:n = b.value:n "
        "where a.topic = 'orders' and a.partition = 1 and b.topic = 'other'"
    )
    assert rows(query(cluster, sql, "-o", "json", topics=("orders", "other"))) == [(COUNT, "orders", "other")]


def test_both_commands_are_the_same(cluster: FakeCluster) -> None:
    sql = "select topic, max(offset) from source group by topic order by topic"
    words = ("pipeline", "query", "orders", "other", "--sql", sql, "--engine", "duckdb", "-o", "tsv")
    one = kcli(*words, bootstrap=cluster.bootstrap)
    other = query(cluster, sql, "-o", "tsv", topics=("orders", "other"))
    assert one.out == other.out == f"topic\tmax(offset)\norders\t{COUNT - 1}\nother\t{COUNT - 1}\n"


def test_the_result_is_a_folder_of_parquet(cluster: FakeCluster, tmp_path: Path) -> None:
    import pyarrow.parquet

    folder = tmp_path / "out"
    done = kcli(
        "query", "orders", "select key, timestamp t, headers from source where offset < 5", str(folder), "-o", "parquet",
        "--engine", "duckdb", bootstrap=cluster.bootstrap,
    )  # fmt: skip
    assert (done.code, done.out) == (0, ""), done.err
    assert sorted(os.listdir(folder)) == ["_SUCCESS", "part-00000.parquet"]
    table = pyarrow.parquet.read_table(folder / "part-00000.parquet")
    assert table.num_rows == 10
    assert str(table.schema.field("t").type) == "timestamp[us, tz=UTC]"
    failed = kcli(
        "query", "orders", "select value:s::int from source", str(tmp_path / "none"), "-o", "parquet",
        "--engine", "duckdb", bootstrap=cluster.bootstrap,
    )  # fmt: skip
    assert (failed.code, (tmp_path / "none").exists()) == (1, False)


def test_what_cannot_be_decoded_is_counted_once(cluster: FakeCluster) -> None:
    """Also where the topic is read twice."""
    joined = "source a join source b on a.offset = b.offset and a.value:x is null"
    sql = f"select a.offset, b.value_json from {joined} order by 1"
    done = query(cluster, sql, "-s", "value=json", "-o", "json", topics=("spoilt",))
    found = json.loads(done.out)
    assert [tuple(item.values()) for item in found["items"]] == [(0, "{}"), (1, None), (2, None)]
    (warning,) = found["warnings"]
    assert warning.startswith(
        "2 values could not be decoded with json and are null; the first at spoilt-0@1: "
    )


def test_secrets_of_the_command_line_reach_the_clients_of_this_process() -> None:
    """Nothing is handed to other processes, as for Spark, where such a secret is refused."""
    sasl = Sasl(users={"alice": "canary-4711"})
    with FakeCluster(1, topics={"orders": 1}, sasl=sasl) as made:
        fill(made, "orders", 0, EACH)
        login = (
            "-X", "security.protocol=SASL_PLAINTEXT", "-X", "sasl.mechanism=PLAIN", "-X", "sasl.username=alice",
            "-X", "sasl.password=canary-4711", "--allow-plaintext-secrets",
        )  # fmt: skip
        sql = "select count(*) from source"
        done = query(made, sql, *login, "-o", "tsv")
        assert (done.code, done.out) == (0, "count(1)\n100\n"), done.err
        spark = kcli("query", "orders", sql, "--engine", "spark", *login, bootstrap=made.bootstrap)
        assert spark.code == 2
        assert "the tasks of a job cannot read it there" in spark.err
        assert "canary" not in done.err + spark.err


# --- what is read ---------------------------------------------------------------------------------------


class Watched:
    """A query on the ranges of topics, with what it reads."""

    def __init__(
        self, cluster: FakeCluster, sql: str, *topics: str, readers: int = 1, beyond: int = 0, **options: Any
    ) -> None:
        self.options = ConsumerOptions(bootstrap_servers=cluster.bootstrap, **options)
        with Consumer(self.options) as consumer:
            consumer.connect(10)
            slices = pin(consumer, topics or ("orders",), RangeSpec(None), 10)
        slices = [each._replace(start=each.start + beyond, end=each.end + beyond) for each in slices]
        statement = translate(rewrite(sql, RECORD_COLUMNS, ()), ())
        self.columns = [sorted(map(str, each.columns.values())) for each in statement.scans]
        self.query = Query(
            statement,
            slices,
            lambda each, pushed: pushed.begun(pushed.narrowed(each), {}),
            scan.Reading(self.options, Serdes, readers),
            threads=2,
            limit=None,
        )

    def run(self) -> tuple[list[Any], int]:
        """The rows, and the number of records that were read."""
        with self.query as made:
            found = [row for portion in made.rows(Stop(), lambda *_counts: None) for row in portion]
            return found, made._counts.records


@pytest.mark.parametrize(
    ("condition", "most"),
    [
        ("partition = 1 and offset between 300 and 349", 50),
        ("offset in (10, 12)", 6),
        ("topic = 'nosuch'", 0),
        ("(offset >= 1990) and value:s = 'x1'", 20),
        ("5 > offset", 10),
        ("partition in (0) and key = 'k3'", COUNT),
        ("offset < 5 or offset > 1995", 2 * COUNT),
    ],
)
def test_conditions_limit_what_is_read(cluster: FakeCluster, condition: str, most: int) -> None:
    found, records = Watched(cluster, f"select partition, offset from source where {condition}").run()
    everything, _ = Watched(cluster, "select partition, offset, value:s, key_text, topic from source").run()
    judges = {
        "partition = 1 and offset between 300 and 349": lambda p, o, s, k: p == 1 and 300 <= o <= 349,
        "offset in (10, 12)": lambda p, o, s, k: o in (10, 12),
        "topic = 'nosuch'": lambda p, o, s, k: False,
        "(offset >= 1990) and value:s = 'x1'": lambda p, o, s, k: o >= 1990 and s == "x1",
        "5 > offset": lambda p, o, s, k: o < 5,
        "partition in (0) and key = 'k3'": lambda p, o, s, k: p == 0 and k == "k3",
        "offset < 5 or offset > 1995": lambda p, o, s, k: o < 5 or o > 1995,
    }
    wanted = [(p, o) for p, o, s, k, _ in everything if judges[condition](p, o, s, k)]
    assert sorted(found) == sorted(wanted)
    assert records == most


def test_each_scan_has_columns_and_ranges_of_its_own(cluster: FakeCluster) -> None:
    watched = Watched(
        cluster,
        "select a.key_text, b.value:s from source a join source b on a.key = b.key "
        "where a.offset < 10 and a.partition = 0 and b.offset = 3 and b.partition = 1",
    )
    assert [len(columns) for columns in watched.columns] == [4, 4]
    found, records = watched.run()
    assert found == [("k3", "x0")]
    assert records == 11


def test_an_outer_join_keeps_the_rows_of_its_left_side(cluster: FakeCluster) -> None:
    found, records = Watched(
        cluster,
        "select a.offset, b.offset from source a left join source b on a.offset = b.offset and b.partition = 1 "
        "and b.offset = 1 where a.offset < 3 and a.partition = 0 order by 1",
    ).run()
    assert found == [(0, None), (1, 1), (2, None)]
    assert records == 3 + 2 * COUNT


def test_a_limit_ends_the_reading(cluster: FakeCluster) -> None:
    """Also that of a reader that waits for room: all threads end with the query."""
    before = threading.active_count()
    found, _ = Watched(cluster, "select offset from source limit 3", readers=2).run()
    assert len(found) == 3
    assert threading.active_count() == before


def test_few_batches_are_alive_at_a_time(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that wait, one that each thread makes, and those that DuckDB has not released yet."""
    alive: weakref.WeakSet[Counted] = weakref.WeakSet()
    most = made = 0

    class Counted(ArrowBatch):
        __slots__ = ("__weakref__",)

        def __init__(self, *parts: Any) -> None:
            nonlocal most, made
            super().__init__(*parts)
            alive.add(self)
            made, most = made + 1, max(most, len(alive))

    monkeypatch.setattr(scan, "ArrowBatch", Counted)
    small = {"fetch_max_bytes": 1, "max_partition_fetch_bytes": 1}  # then a fetch returns one batch
    watched = Watched(cluster, "select count(*), sum(length(value)) from source", **small)
    (row,), _ = watched.run()
    assert row[0] == 2 * COUNT
    assert made >= 40
    assert most <= scan._AHEAD + 4


# --- what is refused ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "named"),
    [
        ("select first(key) k from source", "the function first"),
        ("select count(key, value) from source", "the function count with expressions"),
        ("select explode(headers) from source", "the function explode"),
        ("select my_own(key) from source", "the function my_own"),
        ("select key_text from source where key_text rlike 'a'", "the function regexp_like"),
        ("select round(offset / 3, 2) r from source", "the function round"),
        ("select cast(offset as decimal(10, 2)) d from source", "a cast to DECIMAL(10, 2)"),
        ("select cast(timestamp as string) t from source", "a cast from TIMESTAMP to STRING"),
        ("select offset + 1.5 m from source", "arithmetic with DECIMAL"),
        ("select value:items[*].x from source", "a path with *"),
        ("select key from source tablesample (10 percent)", "SAMPLE"),
        ("select key from source group by cube(key)", "CUBE"),
        ("select key from source sort by key", "SORT"),
        ("select a.key from source a join source b using (key)", "USING"),
        ("select sum(offset) over (order by offset) s from source", "the function sum over a window"),
        ("select offset + 1L from source", "a column of this kind without a name"),
        ("select key_text like 'a' escape '!' x from source", "ESCAPE"),
        ("select timestamp > 'yesterday' x from source", "the time yesterday"),
        ("select distinct headers from source", "DISTINCT of ARRAY<STRUCT<KEY:STRING,VALUE:BINARY>>"),
        ("values (1)", "VALUES"),
        ("select 'a''b' x", "texts side by side"),
        ("explain select 1", ""),
        ("select key form source limit limit", "the syntax at"),
    ],
)
def test_what_differs_is_refused_by_name(sql: str, named: str) -> None:
    with pytest.raises(LacksError) as lacks:
        translate(rewrite(sql, RECORD_COLUMNS, ()), ())
    assert named in str(lacks.value)


def test_every_part_of_a_node_counts() -> None:
    """No rule overlooks a part: those of sqlglot that it does not name are refused."""
    from kcli.pipeline.duckdb.expressions import _HARMLESS, _RULES

    unknown = {
        (kind.__name__, part)
        for kind, (_, parts) in _RULES.items()
        for part in parts - set(kind.arg_types) - _HARMLESS
    }
    assert not unknown


@pytest.mark.parametrize(
    ("sql", "words", "what"),
    [
        (
            "select first(key) k from source",
            ("--engine", "duckdb"),
            "DuckDB does not run this query: the function first",
        ),
        (
            "select 1 from source",
            ("--engine", "duckdb", "--master", "local"),
            "--master with --engine duckdb",
        ),
        (
            "select 1 from source",
            ("--engine", "duckdb", "--runner", "spark"),
            "--runner spark with --engine duckdb",
        ),
        ("select nosuch from source", (), "there is no column nosuch at character 8: nosuch"),
        ("select offset from sauce", (), "there is no table sauce at character 20"),
        ('select offset from "sau-ce"', (), "in `backticks`, if its name has a dot or a hyphen"),
        ("select value:n o from source order by 3", (), "there is no column 3"),
        ("select key, count(*) from source", ("--engine", "duckdb"), "the SQL is wrong"),
    ],
)
def test_wrong_queries_are_refused(cluster: FakeCluster, sql: str, words: tuple[str, ...], what: str) -> None:
    done = kcli("query", "orders", sql, *words, bootstrap=cluster.bootstrap)
    assert (done.code, done.out) == (2, "")
    assert what in done.err


def test_another_engine_is_taken_where_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    from kcli.core.errors import ConfigError
    from kcli.pipeline.drivers import engines

    plain, odd = (
        rewrite(f"select {what} k from source", RECORD_COLUMNS, ()) for what in ("max(key)", "first(key)")
    )
    notes: list[str] = []
    monkeypatch.setattr(engines, "_has_spark", lambda: True)
    assert engines.chosen_engine("auto", plain, (), None, notes.append) == "duckdb"
    assert not notes
    assert engines.chosen_engine("auto", odd, (), None, notes.append) == "spark"
    assert engines.chosen_engine("auto", plain, (), "s3://b/x", notes.append) == "spark"
    assert engines.fitting_engine("auto", "duckdb", engines.FITS + 1, notes.append) == "spark"
    assert engines.fitting_engine("duckdb", "duckdb", engines.FITS + 1, notes.append) == "duckdb"
    assert [note.partition(":")[2].split(",")[0].split("(")[0].strip() for note in notes] == [
        "DuckDB lacks the function first",
        "DuckDB lacks a folder that is a URL",
        "it reads 200",
    ]
    monkeypatch.setattr(engines, "_has_spark", lambda: False)
    with pytest.raises(ConfigError, match="the function first") as refused:
        engines.chosen_engine("auto", odd, (), None, notes.append)
    assert "kcli-kafka[spark]" in refused.value.do
    assert engines.fitting_engine("auto", "duckdb", engines.FITS + 1, notes.append) == "duckdb"


# --- what fails, and what is stopped --------------------------------------------------------------------


def test_lost_records_are_an_error_of_their_own() -> None:
    with FakeCluster(1, topics={"t": 1}) as cluster:
        fill(cluster, "t", 0)
        watched = Watched(cluster, "select count(*) from source", "t", beyond=COUNT + 10)
        with pytest.raises(DataLossError):
            watched.run()


@pytest.mark.parametrize(
    ("waits", "number"), [(True, signal.SIGINT), (False, signal.SIGINT), (True, signal.SIGTERM)]
)
def test_a_signal_ends_it_within_a_moment(waits: bool, number: signal.Signals) -> None:
    """While it waits for a broker, and while it computes."""
    with FakeCluster(1, topics={"orders": 1}) as cluster:
        fill(cluster, "orders", 0)
        hold = cluster.hold(FetchRequest) if waits else None
        tables = ", ".join(f"source {name}" for name in "abcd")
        sql = f"select count(*) from {tables} where a.offset + b.offset > c.offset * d.offset"
        process = subprocess.Popen(
            [*KCLI, "query", "orders", sql, "--engine", "duckdb", "--progress", "json"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(cluster.bootstrap),
        )  # fmt: skip
        assert process.stderr is not None
        if hold is not None:
            hold.wait()
        else:
            while '"Progress"' not in (line := process.stderr.readline()):
                assert line
        process.send_signal(number)
        began = time.monotonic()
        out, err = process.communicate(timeout=60)
        took = time.monotonic() - began
        if hold is not None:
            hold.release()
        assert (process.returncode, out) == (128 + number, ""), err
        assert "the query was stopped" in err
        assert took < 10, took


@pytest.mark.parametrize("form", ["json", "ndjson", "csv"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGPIPE])
def test_what_was_printed_when_it_ends_early_is_whole(
    cluster: FakeCluster, form: str, number: signal.Signals
) -> None:
    """A document says that the rest is missing; a reader that closes the pipe ends the query without a word."""
    sql = "select a.offset o, b.offset p from source a, source b where b.partition = 0"
    process = subprocess.Popen(
        [*KCLI, "query", "orders", sql, "--engine", "duckdb", "-o", form],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, env=environment(cluster.bootstrap),
    )  # fmt: skip
    assert process.stdout is not None
    begun = process.stdout.read(2000)
    assert begun
    if number == signal.SIGPIPE:
        process.stdout.close()
        assert process.stderr is not None
        assert (process.stderr.read(), process.wait(60)) == (b"", -signal.SIGPIPE)
        process.stderr.close()
        return
    process.send_signal(number)
    rest, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert b"the query was stopped" in err
    text = (begun + rest).decode()
    assert text.endswith("\n")
    if form == "json":
        found = json.loads(text)
        (missing,) = found["missing"]
        assert (found["complete"], missing["why"]) == (False, "the query was stopped")
    rows = found["items"] if form == "json" else text.splitlines()
    assert 0 < len(rows) < 2 * COUNT * COUNT
    assert form != "ndjson" or all(set(json.loads(row)) == {"kind", "o", "p"} for row in rows)
    assert form != "csv" or all(re.fullmatch(r"\d+,\d+", row) for row in rows[1:])


def test_a_folder_is_not_left_half_written(cluster: FakeCluster, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    tables = ", ".join(f"source {name}" for name in "abcd")
    process = subprocess.Popen(
        [*KCLI, "query", "orders", f"select a.offset from {tables} order by 1", str(folder), "-o", "parquet",
         "--engine", "duckdb", "--progress", "json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(cluster.bootstrap),
    )  # fmt: skip
    assert process.stderr is not None
    while '"Progress"' not in (line := process.stderr.readline()):
        assert line
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, folder.exists()) == (128 + signal.SIGTERM, "", False), err


def test_a_fraction_beside_a_whole_number_is_said_how_to_compare(cluster: FakeCluster) -> None:
    done = query(cluster, "select offset from source where value:d > 0", topics=("fractions",))
    assert done.code == 1
    assert "is no whole number" in done.err
    assert "do: beside a whole number a path is one; value:a::double > 5" in done.err
    sql = "select offset from source where value:d::double > 0"
    assert rows(query(cluster, sql, "-o", "json", topics=("fractions",))) == [(0,)]
    done = query(cluster, "select offset from source where value:s > 0")
    assert "the text 'x0' is no whole number" in done.err
    assert "do: try_cast(… AS …) is null where a value does not fit" in done.err
    sql = "select offset from source where try_cast(value:s as int) > 0"
    assert rows(query(cluster, sql, "-o", "json")) == []


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("select max(value:d) from source", "the SQL has max of value:d, which has no type"),
        ("select value:d from source order by 1", "the SQL has ORDER BY of value:d, which has no type"),
        ("select a.offset from source a, source b where a.value:d < b.value:d", "the SQL has < of a.value:d"),
    ],
)
def test_the_order_of_a_path_needs_a_type(cluster: FakeCluster, sql: str, said: str) -> None:
    done = query(cluster, sql)
    assert done.code == 2
    assert said in done.err
    assert "::double for numbers" in done.err
