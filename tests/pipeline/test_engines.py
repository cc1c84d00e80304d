"""DuckDB and Spark on one topic: the same rows and names of columns, or a refusal by name. All expressions are
one query, since a query costs Spark seconds.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pytest

from kcli.core import Producer
from kcli.core.types import ProducerRecord
from tests.json_paths import CASES
from tests.kafka import Kafka
from tests.run import Done, kcli

if TYPE_CHECKING:
    from kcli.pipeline.spark.runner import SparkRunner

pytestmark = pytest.mark.integration

START = 1_700_000_000_000
Run = Callable[..., Done]

RECORDS: list[tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]] = [
    (b"k1", b'{"n":5,"s":"paid","d":12.50,"t":"2026-01-31T10:00:00Z","b":"true","a":[1,{"x":"y"}]}', (("h", b"1"),)),
    (b"k2", b'{"n":7,"s":"open","d":-0.5,"t":"2026-01-31 12:00:00+02:00","b":"f"}', (("h", None), ("\u00e9", b"\xff"))),
    (b"k1", b'{"n":-3,"s":"paid","d":1e3,"t":"2026-02-01","b":"1"}', ()),
    (None, b'{"n":null,"s":null}', ()),
    (b"\xff\x00", b"\xfe not text", ()),
    (b"", b"", ()),
    ("\u00fc\U0001f600".encode(), '{"n":9223372036854775807,"s":"\u00c9t\u00e9 100%_\\\\"}'.encode(), ()),
    (b"k3", b"no json", ()),
    (b"k3", None, ()),
]  # fmt: skip

EXPRESSIONS = (
    # names and literals
    "offset", "KEY",  "value_text", "timestamp", "timestamp_type", "headers", "leader_epoch", "1", "-1", "1.5",
    "9999999999", "'x'", "'it\\'s \\\\n \\n'", "null", "true", "r'a\\d'",
    # paths
    "value:s", "value:a", "value:a[1].x", "value:a[0]", "value:nosuch.x", "key:a",
    # comparisons
    "offset = 1", "offset <> 1", "offset <= 2L as low", "value:s = 'paid'", "value:s <=> null", "value:n > 5",
    "value:n = '5'",
    "key = 'k1'", "key <> 'k1'", "offset between 1 and 3", "offset in (1, 3, null)", "offset not in (1, 3)",
    "value:s in ('paid', 'open')", "value:s is null", "key is not null", "not (offset = 1)", "offset > 1.5 as above",
    "offset = 1 or null", "value:s is distinct from 'paid'", "timestamp >= '2023-11-14T22:13:20.002Z'",
    "timestamp < timestamp '2023-11-14 22:13:20.004+00:00' as early", "value:s like 'p%'", "value:s not like '%a_d'",
    "value:s like '%100\\\\%\\\\_%'", "offset > partition",
    # numbers
    "offset + 1", "offset - partition * 2", "offset / 2", "offset % 4", "-offset % 4", "-offset", "value:n::bigint / 2",
    "value:d + 1.5",
    "value:d::double * 2", "abs(-offset)", "floor(value:d::double)", "ceil(value:d::double)", "offset + 1.5e0 as more",
    # casts
    "value:n::bigint", "cast(value:n as string)", "value:d::double", "cast(offset as int)", "cast(value:d as double) > 0",
    "try_cast(value:n as int)", "try_cast(value:s as int)", "try_cast(value:d as bigint)", "value:b::boolean",
    "value:d::double::int", "offset::string", "(offset > 3)::int", "try_cast(key_text as binary)",
    # texts
    "length(value:s)", "length(value)", "lower(value:n)", "upper(value:b)", "concat(value:s, '-', offset)",
    "value:s || offset", "trim(' x ')", "ltrim(' x ')", "rtrim(' x ')", "replace(value:s, 'a', 'bb')",
    "startswith(value:s, 'p')", "endswith(value:s, 'd')", "contains(value:s, 'pe')", "substring(value:s, 2, 2) as sub",
    # choices
    "coalesce(value:s, key_text, '-')", "nvl(value:s, '-')", "ifnull(value:s, '-')", "nullif(value:s, 'paid')",
    "if(offset > 2, 'a', null)", "case when offset > 2 then 1 when offset > 1 then 2L end as some",
    "case offset when 1 then 'one' else value:s end", "greatest(offset, 3)", "least(value:s::string, 'oz')",
    # times
    "date_trunc('hour', timestamp) as hour", "hour(timestamp)", "year(timestamp)", "month(timestamp)", "day(timestamp)",
    "minute(timestamp)", "second(timestamp)", "to_date(timestamp)", "cast(timestamp as date)",
    "timestamp - interval 90 minutes as before", "timestamp '2026-01-31T10:00:00Z' as literal",
    "date '2026-01-31' as day2",
    "value:t::timestamp",
)  # fmt: skip

QUERIES = (
    "select * from source",
    "select *, value:s from source where partition = 0 and offset < 3",
    "select s.* except (value, headers), s.offset from source s",
    "select value:s, count(*), count(value:s), count(distinct key), min(key), max(value:d::double), sum(offset), "
    "avg(offset) from source group by all",
    "select sum(value:n::double), sum(value:n), avg(value:d), count(*) filter (where value:s = 'paid'), "
    "count_if(offset > 2), max(timestamp), min(key_text), bool_and(offset >= 0), bool_or(offset > 7) "
    "from source where offset <> 6",
    "select key_text k, count(*) n from source group by key_text having n > 1 or key_text is null",
    "select key_text k, count(*) from source group by k order by 2 desc, k limit 3",
    "select distinct value:s from source",
    "select count(*) from source where offset between 2 and 4 and key is not null",
    "select count(*), max(offset) from source where timestamp >= '2023-11-14T22:13:20.002Z' and "
    "timestamp < '2023-11-14T22:13:20.005Z'",
    "select offset from source where key in ('k1', 'k3')",
    "select offset from source where key is null",
    "select offset from source where key = 'k1' and offset in (0, 2, 5)",
    "select a.offset, b.offset from source a join source b on a.key = b.key and a.offset < b.offset",
    "select a.offset, b.value:s from source a left join source b on a.value:s = b.value:s and b.offset = 0 "
    "where a.offset < 4",
    "select count(*) from source a cross join source b where a.offset = 1",
    "with s as (select key_text k, offset o from source where offset < 4) select k, count(*) n, max(o) m "
    "from s group by k",
    "with s as (select offset from source) select a.offset from s a where offset = 1 union all "
    "select b.offset from s b where offset = 2",
    "select value:s from source union select key_text from source",
    "select offset from source except select offset from source where key = 'k1'",
    "select offset from source where offset in (select max(offset) from source group by key)",
    "select offset from source o where exists (select 1 from source i where i.key = o.key and i.offset > o.offset)",
    "select offset, (select count(*) from source) n from source where offset = (select max(offset) from source)",
    "select n, count(*) c from (select key, count(*) n from source group by key) group by n",
    "select offset, row_number() over (partition by key order by offset desc) r, count(*) over (partition by key) c, "
    "rank() over (order by timestamp_type) k from source",
    "select key_text from source order by key_text, offset desc",
    "select value:s, offset from source order by value:s::string desc, offset",
    "select key, value:s::string s from source order by all limit 4 offset 1",
    "select 1",
    "select key, key, offset from source where false",
)  # fmt: skip

_SHORT = (1, 3, 13)
"""Those of which Spark's side is short enough for each run of the tests."""

FAILURES = (
    "select value:s::int from source",
    "select value:n::int from source",
    "select value:d::bigint from source",
    "select offset / 0 from source",
    "select offset % (offset - offset) from source",
    "select value:s > 5 from source",
    "select cast(9223372036854775807 as int) + cast(offset as int) from source",
    "select sum(value:n::bigint) + 9223372036854775807 from source",
    "select value:s::boolean from source",
)


@pytest.fixture(scope="module")
def topic(kafka: Kafka) -> str:
    name = kafka.topic("engines")
    with Producer(bootstrap_servers=kafka.bootstrap) as producer:
        for number, (key, value, headers) in enumerate(RECORDS):
            producer.send(ProducerRecord(name, value, key, headers, 0, START + number))
        assert producer.flush(30)
    return name


@pytest.fixture(scope="module")
def documents(kafka: Kafka) -> str:
    name = kafka.topic("documents")
    with Producer(bootstrap_servers=kafka.bootstrap) as producer:
        for document, _, _ in CASES:
            producer.send(ProducerRecord(name, document.encode(), None, (), 0))
        assert producer.flush(30)
    return name


@pytest.fixture
def run(spark: SparkRunner, kafka: Kafka, topic: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command, on the session of all tests where it is Spark."""
    monkeypatch.setattr(
        "kcli.pipeline.drivers.sql.session_of", lambda *_, **_options: nullcontext(spark.session)
    )

    def query(sql: str, engine: str, name: str = topic) -> Done:
        return kcli("query", name, sql, "--engine", engine, "-o", "json", bootstrap=kafka.bootstrap)

    return query


def result(done: Done, *, ordered: bool) -> Any:
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["warnings"] == []
    rows = [json.dumps(item) for item in found["items"]]
    return found["columns"], rows if ordered else sorted(rows)


def test_expressions_have_the_same_results_and_names(run: Run) -> None:
    sql = f"select {', '.join(EXPRESSIONS)} from source"
    (names, ours), (wanted, theirs) = (
        result(run(sql, engine), ordered=True) for engine in ("duckdb", "spark")
    )
    differ = [each for each in zip(EXPRESSIONS, names, wanted, strict=True) if each[1] != each[2]]
    for row, (mine, other) in enumerate(zip(map(json.loads, ours), map(json.loads, theirs), strict=True)):
        differ += [
            (name, row, mine.get(name), value) for name, value in other.items() if mine.get(name) != value
        ]
    assert not differ, "\n".join(map(str, differ))
    assert ours == theirs
    assert len(ours) == len(RECORDS)


@pytest.mark.parametrize(
    "sql",
    [
        pytest.param(sql, marks=() if number in _SHORT else pytest.mark.long)
        for number, sql in enumerate(QUERIES)
    ],
)
def test_queries_have_the_same_results(run: Run, sql: str) -> None:
    ordered = "order by" in sql and " over " not in sql
    assert result(run(sql, "duckdb"), ordered=ordered) == result(run(sql, "spark"), ordered=ordered)


@pytest.mark.long
@pytest.mark.parametrize("sql", FAILURES)
def test_what_fails_on_one_engine_fails_on_the_other(run: Run, sql: str) -> None:
    for engine in ("duckdb", "spark"):
        done = run(sql, engine)
        assert (done.code, "the query failed" in done.err) == (1, True), (engine, done.err)


def test_paths_into_any_document_have_the_same_texts(run: Run, documents: str) -> None:
    """``tests/json_paths.py`` is what Spark returns."""
    paths = sorted({path for _, path, _ in CASES}, key=str)
    shown = {
        path: "$" + "".join(f"[{step}]" if isinstance(step, int) else f"['{step}']" for step in path)
        for path in paths
    }
    columns = ", ".join(
        f'get_json_object(value_text, "{shown[path]}") p{number}' for number, path in enumerate(paths)
    )
    sql = f"select offset, {columns} from source order by offset"
    ours, theirs = (result(run(sql, engine, documents), ordered=True)[1] for engine in ("duckdb", "spark"))
    for (document, path, expected), mine, other in zip(
        CASES, map(json.loads, ours), map(json.loads, theirs), strict=True
    ):
        column = f"p{paths.index(path)}"
        assert other[column] == expected, document
        assert mine == other, document
