"""``kcli pipeline query`` on a session of Spark and a real Kafka, and what it refuses before it needs either. On DuckDB:
``test_query_here.py``; on both: ``test_engines.py``.
"""

import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kcli.core import Producer
from kcli.core.types import ProducerRecord
from kcli.pipeline.plan import Slice
from tests.kafka import Kafka
from tests.run import Done, kcli

if TYPE_CHECKING:
    from kcli.pipeline.spark.runner import SparkRunner

START = 1_700_000_000_000


@pytest.mark.parametrize(
    ("arguments", "code", "what"),
    [
        (("--sql", "select 1", "--runner", "inline"), 2, "a query is SQL, which DuckDB or Spark runs"),
        (("--sql", "drop view source"), 2, "the SQL begins with drop"),
        (("--sql", "select value:a[x] from source"), 2, "a path into JSON is wrong"),
        (("--sql", "select 1", "--since", "1h", "--until", "2h"), 2, "--until is before --since"),
        (("--sql", "select 1", "--since", "+1h"), 2, "--since is in the future"),
        (("--sql", "select 1", "-o", "parquet"), 2, "-o parquet without a folder"),
        (("/", "--sql", "select 1", "-o", "parquet"), 7, "/ exists already"),
        (("--sql", "select 1", "-s", "value=afro"), 2, "afro"),
        (("--sql", "select 1", "--spark-conf", "x"), 2, "it is not KEY=VALUE"),
        ((), 2, "--sql"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_started(
    arguments: tuple[str, ...], code: int, what: str
) -> None:
    done = kcli("pipeline", "query", "orders", *arguments, bootstrap="127.0.0.1:1")
    assert (done.code, done.out) == (code, "")
    assert what in done.err


@pytest.mark.parametrize(("offsets", "profile"), [(4_999_999, "light"), (5_000_000, "sql")])
def test_a_jvm_for_few_records_starts_quickly(offsets: int, profile: str) -> None:
    """Each of Java's compilers is the cheaper one for the whole command on its side of the limit."""
    from kcli.pipeline.drivers.sql import profile_for  # loads pyspark
    from kcli.pipeline.spark.source_settings import settings_of

    settings = settings_of({"bootstrap.servers": "127.0.0.1:1", "topic": "orders"})
    halves = (Slice("orders", bytes(16), 0, 0, 1000), Slice("orders", bytes(16), 1, 50, offsets - 950))
    assert profile_for(replace(settings, slices=halves)) == profile


@pytest.fixture(scope="module")
def topic(kafka: Kafka) -> str:
    name = kafka.topic("query", partitions=3)
    with Producer(bootstrap_servers=kafka.bootstrap) as producer:
        for number in range(3000):
            made = {"n": number, "a": {"b": f"x{number % 3}"}, "items": [{"sku s": number % 5}]}
            text = b"\xff\xfe" if number == 0 else json.dumps(made).encode()
            producer.send(
                ProducerRecord(name, text, b"k%d" % (number % 10), (("h", b"1"),), number % 3, START + number)
            )
        assert producer.flush(30)
    return name


@pytest.fixture
def query(spark: "SparkRunner", kafka: Kafka, topic: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs the command on the session of all tests."""
    monkeypatch.setattr(
        "kcli.pipeline.drivers.sql.session_of", lambda *_, **_options: nullcontext(spark.session)
    )

    def run(sql: str, *arguments: str) -> Done:
        words = ("pipeline", "query", topic, "--sql", sql, "--engine", "spark")
        return kcli(*words, *arguments, bootstrap=kafka.bootstrap)

    return run


@pytest.mark.integration
def test_fields_of_json_are_grouped_and_counted(query: Any, topic: str) -> None:
    done = query(
        "select value:a.b, count(*) n, max(value:n::int) last, count(distinct value:items[0]['sku s']) skus "
        "from source where value:n is not null group by 1 order by value:a.b::string",
        "-o", "json",
    )  # fmt: skip
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert {key: found[key] for key in ("kind", "api", "columns", "warnings")} == {
        "kind": "QueryResult",
        "api": "kcli/v1",
        "columns": ["value:a.b", "n", "last", "skus"],
        "warnings": [],
    }
    assert found["cluster"]
    assert [tuple(item.values()) for item in found["items"]] == [
        ("x0", 999, 2997, 5),
        ("x1", 1000, 2998, 5),
        ("x2", 1000, 2999, 5),
    ]


@pytest.mark.integration
@pytest.mark.long
def test_the_whole_record_as_lines(query: Any, topic: str) -> None:
    done = query("select * from source where partition = 0 and offset < 2 order by offset", "-o", "ndjson")
    assert done.code == 0, done.err
    first, second = map(json.loads, done.out.splitlines())
    assert first == {
        "kind": "QueryRow",
        "topic": topic,
        "partition": 0,
        "offset": 0,
        "timestamp": "2023-11-14T22:13:20.000Z",
        "timestamp_type": "CreateTime",
        "key": "k0",
        "value": "//4=",
        "value_encoding": "base64",
        "headers": [["h", "1"]],
        "leader_epoch": 0,
    }
    assert "value_encoding" not in second
    limited = query("select key, key from source", "--limit", "5", "-o", "csv")
    lines = limited.out.splitlines()
    assert lines[0] == "key,key_encoding,key_2,key_2_encoding"
    assert len(lines) == 6


@pytest.mark.integration
@pytest.mark.long
def test_values_that_cannot_be_decoded_are_counted(query: Any, topic: str) -> None:
    warning = f"1 value could not be decoded with json and is null; the first at {topic}-0@0: "
    done = query(
        "select *, value:n from source where partition = 0 and offset < 2 order by offset",
        "-s", "value=json", "-o", "json",
    )  # fmt: skip
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert [text[: len(warning)] for text in found["warnings"]] == [warning]
    assert warning in done.err
    assert [item["value:n"] for item in found["items"]] == [None, "3"]
    assert "value_text" not in found["columns"]
    done = query("select headers from source limit 1", "-o", "plain")
    assert done.out.splitlines()[1] == '[["h","1"]]'


@pytest.mark.integration
@pytest.mark.long
def test_a_range_is_counted(query: Any) -> None:
    """That nothing else is read: ``test_source_reading.py``."""
    done = query(
        "select count(*), min(timestamp), max(timestamp) from source where partition = 2 and offset between 100 and 200",
        "-o", "tsv",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert done.out.splitlines()[1].split("\t") == [
        "101",
        "2023-11-14T22:13:20.302Z",
        "2023-11-14T22:13:20.602Z",
    ]


@pytest.mark.integration
@pytest.mark.long
def test_a_query_that_reads_source_twice_reads_both_ranges(query: Any) -> None:
    for sql in (
        "select offset from source where offset = 1 union all select offset from source where offset = 2 order by 1",
        "with s as (select offset from source) select a.offset from s a where offset = 1 "
        "union all select b.offset from s b where offset = 2 order by 1",
    ):
        done = query(sql, "-o", "tsv")
        assert done.code == 0, done.err
        assert done.out.split() == ["offset", "1", "1", "1", "2", "2", "2"]


@pytest.mark.integration
@pytest.mark.long
def test_since_and_serdes(query: Any) -> None:
    until = "2023-11-14T22:13:20.003Z"
    done = query("select key_text, value:n::int from source order by 2 nulls first", "--until", until, "-s",
                 "value=json", "-o", "tsv")  # fmt: skip
    assert done.code == 0, done.err
    assert done.out.splitlines()[1:] == ["k0\t", "k1\t1", "k2\t2"]


@pytest.mark.integration
@pytest.mark.long
def test_a_result_is_written_as_parquet(query: Any, topic: str, kafka: Kafka, tmp_path: Path) -> None:
    import pyarrow.parquet

    folder = tmp_path / "out"
    done = kcli("pipeline", "query", topic, str(folder), "--sql", "select key, count(*) n from source group by key",
                "-o", "parquet", "--engine", "spark", bootstrap=kafka.bootstrap)  # fmt: skip
    assert (done.code, done.out) == (0, ""), done.err
    table = pyarrow.parquet.read_table(folder)
    assert sorted(table.column("key").to_pylist()) == [b"k%d" % number for number in range(10)]
    assert set(table.column("n").to_pylist()) == {300}


@pytest.mark.integration
@pytest.mark.parametrize(
    ("sql", "code", "parts"),
    [
        ("select valeu from source", 2, ("no column valeu at character 8", "did you mean value?")),
        ("select value:a, nope from source", 2, ("no column nope at character 17: nope",)),
        (
            "select value:a from (select value from source)",
            2,
            ("no column value_text", "select value_text there too"),
        ),
        ("select 1 form source limit limit", 2, ("the SQL is wrong at character",)),
        ("select * from orders", 2, ("there is no table orders", "the table source")),
        ("select nosuch(key) from source", 2, ("the SQL is wrong",)),
        ("select cast(value_text as int) from source", 1, ("the query failed",)),
    ],
)
@pytest.mark.long
def test_errors_of_sql_say_what_and_where(query: Any, sql: str, code: int, parts: tuple[str, ...]) -> None:
    done = query(sql)
    assert (done.code, done.out) == (code, "")
    for part in parts:
        assert part in done.err
    assert "Traceback" not in done.err
    assert "org.apache" not in done.err
