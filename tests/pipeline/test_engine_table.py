"""The table of both engines: each query has the same columns and rows on DuckDB and on Spark, or one of them refuses it
by the name of what it lacks.

A query costs Spark a second even for nine records. So it reads the topics once, and runs several queries as one, each row
with the number of its query. How each engine reads topics: ``test_engines.py``, ``test_query_here.py``, and the
join at the end.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import pytest

from kcli.core.consumer.consumer import Consumer
from kcli.core.errors import ConfigError
from kcli.core.options import ConsumerOptions
from kcli.core.positions import RangeSpec
from kcli.core.types import Record
from kcli.flows.stop import Stop
from kcli.pipeline.cluster_ref import ClusterRef
from kcli.pipeline.drivers.query import parsed, source_columns
from kcli.pipeline.duckdb.query import Query as DuckQuery
from kcli.pipeline.duckdb.scan import Reading
from kcli.pipeline.duckdb.statement import translate
from kcli.pipeline.duckdb.typed import LacksError
from kcli.pipeline.plan import Slice, pin
from kcli.pipeline.result_values import HEADERS, ResultColumn
from kcli.pipeline.spark.source_settings import SOURCE_COLUMNS, SourceSettings
from kcli.serde.opening import Serdes
from tests.batches import batch_of
from tests.fake.cluster import FakeCluster
from tests.run import kcli

if TYPE_CHECKING:
    from kcli.pipeline.spark.runner import SparkRunner

START = 1_700_000_000_000
TOPICS = ("orders", "customers", "order", "empty-1.x")
Rows = list[str]
_AT_ONCE = 8  # queries of a job of Spark: a larger plan takes its optimizer longer

ORDERS = (
    (b"c1", b'{"id":1,"n":5,"price":12.50,"state":"paid","tags":["a","b"],"at":"2026-01-31T10:00:00Z",'
     b'"x":{"y":[1,{"z":1}]}}'),
    (b"c2", b'{"id":2,"n":-7,"price":-0.5,"state":"open","tags":[],"at":"2026-03-29 01:30:00+02:00"}'),
    (b"c1", b'{"id":3,"n":null,"price":1e3,"state":"PAID","at":"2026-02-01"}'),
    (None, b'{"id":4,"state":null,"n":"12"}'),
    ("\u00fc\U0001f600".encode(), '{"id":5,"n":0,"state":"\u00c9t\u00e9 \u4e2d\u6587 100%_","price":0.1}'.encode()),
    (b"", b""),
    (b"c3", b"no json"),
    (b"\xff", b"\xfe"),
    (b"c2", None),
)  # fmt: skip
CUSTOMERS = (
    (b"c1", b'{"name":"Ann","city":"Bonn"}'),
    (b"c2", b'{"name":"Bob"}'),
    (b"c4", b'{"name":"Dan","city":"Bonn"}'),
)

SAME = (
    # nulls, and their order
    "select value:n::string n, offset from orders order by n, offset",
    "select value:n::string n, offset from orders order by n desc, offset desc",
    "select value:state::string s, offset from orders order by s nulls last, offset",
    "select offset, value:n is null a, value:state <=> null b, coalesce(value:n, value:state, 'none') c from orders",
    "select count(*), count(value:n), count(value:state), count(distinct value:state) from orders",
    "select offset from orders where value:n <> '5'",
    "select offset from orders where not (value:n = '5' or value:state = 'paid')",
    "select offset from orders where key in ('c1', null)",
    "select key, count(*) n from orders group by key order by n desc, key",
    # numbers: decimals as literals, doubles, integer division, remainders
    "select offset, value:price::double * 2 a, try_cast(value:price as double) > 0.1 b from orders",
    "select offset, offset / 2 a, offset div 2 b, offset % 3 c, -offset div 2 d, -offset % 3 e from orders",
    "select sum(value:price::double) a, avg(try_cast(value:n as int)) b, sum(try_cast(value:n as bigint)) c from orders",
    "select offset, abs(-offset) a, floor(offset / 2) b, ceil(offset / 2) c, greatest(offset, 3) d from orders",
    "select offset from orders where try_cast(value:n as int) between -7 and 5",
    # casts that fail are null with try_cast
    "select offset, try_cast(value:state as int) a, try_cast(value:n as smallint) b, try_cast(value:at as timestamp) c "
    "from orders",
    "select offset, cast(offset as string) || '!' a, (offset > 2)::int b, try_cast(value:n as boolean) c from orders",
    # times and zones
    "select offset, timestamp, date_trunc('minute', timestamp) a, hour(timestamp) b, to_date(timestamp) c from orders",
    "select offset, try_cast(value:at as timestamp) a from orders",
    "select offset from orders where timestamp >= '2023-11-14T22:13:22Z' and timestamp < '2023-11-14 23:13:24+01:00'",
    "select timestamp - interval 90 minutes a, unix_millis(timestamp) b, timestamp_millis(offset * 1000) c from orders",
    "select date_trunc('week', timestamp) a, year(timestamp) b, month(timestamp) c, day(timestamp) d from orders",
    # windows of time
    "select tumble(timestamp, '2 seconds') w, count(*) n from orders group by 1 order by 1",
    "select window_start, window_end, key_text, count(*) from orders group by tumble(timestamp, '1 day'), key_text",
    "select tumble(o.timestamp, '5s'), max(o.offset) from orders o group by all",
    # texts and unicode
    "select offset, upper('ab') a, length(value:state) b, length(value) c, trim('  x ') d from orders",
    "select offset, substring(value:state, 2, 3) a, replace(value:state, 'a', '\u00e4') b from orders",
    "select offset, contains(value:state, '\u4e2d') a, startswith(value:state, '\u00c9') b, endswith(value:state, '_') "
    "c from orders",
    "select offset, value:state like '%100\\\\%\\\\_' a, value:state like '_aid' b, value:state not like 'p%' c "
    "from orders",
    "select concat(key_text, ':', value:state) a, key_text || offset b from orders",
    "select key_text from orders where key_text = '\u00fc\U0001f600'",
    # paths into JSON, arrays among them
    "select value:x a, value:x.y b, value:x.y[1] c, value:x.y[1].z d, value:tags e, value:tags[1] f, value:tags[9] g "
    "from orders",
    "select get_json_object(value_text, '$.tags[0]') a, value:['id'] b, value:nosuch.deep c from orders",
    # sets
    "select distinct value:state from orders",
    "select key_text from orders union select key_text from customers",
    "select key_text from orders union all select key_text from customers",
    "select key_text from orders intersect select key_text from customers",
    "select key_text from orders except select key_text from customers",
    # limits
    "select offset from orders order by offset limit 3",
    "select offset from orders order by offset desc limit 2 offset 3",
    "select offset from orders order by all limit 0",
    # common table expressions, subqueries, having
    "with paid as (select * from orders where lower(value:tags) is null), n as (select count(*) c from paid) "
    "select p.offset, n.c from paid p cross join n",
    "select k, max(n) from (select key_text k, try_cast(value:n as int) n from orders) group by k having max(n) > 0",
    "select key_text k, count(*) n from orders group by k having n > 1 order by k",
    "select offset from orders where offset = (select max(offset) from orders)",
    "select c.value:name from customers c where exists (select 1 from orders o where o.key = c.key)",
    # windows over rows
    "select offset, row_number() over (partition by key order by offset desc) r from orders",
    "select offset, rank() over (order by key) r, dense_rank() over (order by key) d, count(*) over () c from orders",
    # the order of values at paths: with a type, beside texts that are no numbers, and their equality
    "select min(value:price::double) a, max(value:state::string) b, min(try_cast(value:n as int)) c from orders",
    "select value:state, count(*) n from orders group by all order by value:state::string, n",
    "select offset from orders where value:at >= '2026-02' and value:state between 'a' and 'z'",
    "select offset from orders where value:id > 2 and value:id between 1 and 4",
    "select offset from orders where value:price::double > 12 order by value:price::double desc",
    "select a.offset from orders a join orders b on a.value:id = b.value:id and a.value:id in ('1', '2')",
    "select max(n) from (select value:n::string n from orders)",
    "select upper(value:tags) u, count(*) from orders group by 1 order by 1",
    "select row_number() over (partition by value:state order by try_cast(value:id as int)) r, offset from orders",
    # paths of several tables
    "select a.value:id, b.value:id, a.value:id::int + b.offset from orders a join orders b on a.offset = b.offset",
    "select a.value:id, coalesce(b.value:id, '-') from orders a, orders b where a.offset < 1 and b.offset < 2",
    # choices
    "select offset, case when offset < 2 then 'low' when value:n is null then 'none' end a, if(offset > 2, 1, 2L) b, "
    "nullif(value:state, 'open') c, nvl(value:n, '-') d from orders",
    "select count_if(value:state = 'paid') a, count(*) filter (where key is null) b, bool_or(offset > 7) c from orders",
    # topics as tables
    "select o.offset, c.value:name from orders o join customers c on o.key = c.key",
    "select orders.offset, customers.value:city from orders left join customers on orders.key = customers.key",
    "select a.offset, b.offset from orders a join orders b on a.key = b.key and a.offset < b.offset",
    "select topic, count(*) from source group by topic",
    "select key_text, value_text from `order`",
    "select count(*), max(offset) from `empty-1.x`",
    "select o.topic, x.topic from `order` o, `empty-1.x` x",
    "select key, key, 1 one, 'x' two from customers",
    "select * from customers",
    "select c.* except (value, headers) from customers c",
)  # fmt: skip

REFUSED = (
    ("select offset from orders where value:state rlike '^p'", "the function regexp_like"),
    ("select regexp_extract(value:state, '(p.)', 1) a from orders", "the function regexp_extract"),
    ("select cast(value:price as decimal(10, 2)) a from orders where offset < 3", "a cast to DECIMAL(10, 2)"),
    ("select offset + 1.5 a from orders", "arithmetic with DECIMAL"),
    ("select cast(timestamp as string) a from orders", "a cast from TIMESTAMP to STRING"),
    ("select split(value:state, ' ') a from orders", "the function regexp_split"),
    ("select explode(array(1, 2)) a from orders", "the function explode"),
    ("select value:tags[*] a from orders", "a path with *"),
    ("select round(offset / 3, 2) a from orders", "the function round"),
    ("select sum(offset) over (order by offset) a from orders", "the function sum over a window"),
    ("select first(key) a from orders", "the function first"),
    ("select key from orders group by cube(key)", "CUBE"),
    ("select o.offset from orders o join customers c using (partition)", "USING"),
    (
        "select rank() over (order by value:id::int) a from orders where offset < 3",
        "a window over a cast of a text",
    ),
    ("select count(*) over (partition by offset div 2) a from orders", "a window over a cast of a text"),
    (
        "select offset from orders where rand() < 2",
        "the function rand",
    ),
)

NO_ORDER = (
    ("select min(value:price) from orders", "min of value:price"),
    ("select key_text, max(value:x.y) from orders group by 1", "max of value:x.y"),
    ("select max(n) from (select value:n n from orders)", "max of value:n"),
    ("with t as (select value:n as n from orders) select max(t.n) from t", "max of value:n"),
    ("with t as (select value:n as n from orders) select max(b.n) from t a join t b on a.n = b.n", "max of value:n"),
    ("select (select max(value:n) from customers) a, offset from orders", "max of value:n"),
    ("select max(coalesce(value:n, '0')) from orders", "max of value:n"),
    ("select max(case when offset > 1 then value:n end), max(if(offset > 1, value:id, null)) from orders",
     "max of value:n"),
    ("select max(nullif(value:n, '0')) from orders", "max of value:n"),
    ("select offset from orders order by value:price desc limit 2", "ORDER BY of value:price"),
    ("select value:price p from orders order by p", "ORDER BY of value:price"),
    ("select value:['price'] from orders order by 1", "ORDER BY of value:price"),
    ("select value:state, count(*) from orders group by all order by all", "ORDER BY of value:state"),
    ("select offset, rank() over (order by value:price) r from orders", "ORDER BY of value:price"),
    ("select value:n n from orders union all select key_text from orders order by n", "ORDER BY of value:n"),
    ("select offset from orders where value:price > '5'", "> of value:price"),
    ("select offset from orders where value:price between '5' and '20'", "of value:price"),
    ("select a.offset from orders a join orders b on a.value:n < b.value:n", "< of "),
    ("select offset from orders where key_text <= value:n", "<= of value:n"),
    ("select greatest(value:n, value:id) from orders", "greatest of value:n"),
    ("select offset from orders where offset in (select offset from orders where value:n > key_text)",
     "> of value:n"),
    ("select get_json_object(value_text, '$.n') n from orders order by n", "ORDER BY of value:n"),
)  # fmt: skip

FAIL = (
    "select value:state::int a from orders",
    "select offset div (offset - offset) a from orders",
    "select value:n::int + 2147483647 a from orders where offset < 1",
)


def put(cluster: FakeCluster, topic: str, records: tuple[tuple[bytes | None, bytes | None], ...]) -> None:
    rows = [
        Record(topic, 0, n, START + n * 1000, 0, key, value, (("h", b"1"),))
        for n, (key, value) in enumerate(records)
    ]
    cluster.append(topic, 0, bytes(batch_of(rows).raw))


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics=dict.fromkeys(TOPICS, 1)) as made:
        put(made, "orders", ORDERS)
        put(made, "customers", CUSTOMERS)
        put(made, "order", CUSTOMERS[:1])
        yield made


@pytest.fixture(scope="module")
def options(cluster: FakeCluster) -> ConsumerOptions:
    return ConsumerOptions(bootstrap_servers=cluster.bootstrap)


@pytest.fixture(scope="module")
def slices(options: ConsumerOptions) -> list[Slice]:
    with Consumer(options) as consumer:
        consumer.connect(10)
        return pin(consumer, TOPICS, RangeSpec(None), 10)


# --- both engines -----------------------------------------------------------------------------------------


def on_duckdb(sql: str, slices: list[Slice], options: ConsumerOptions) -> tuple[list[str], Rows]:
    made = DuckQuery(
        translate(parsed(sql, (), TOPICS)[0], ()),
        slices,
        lambda each, pushed: pushed.begun(pushed.narrowed(each), {}),
        Reading(options, Serdes, 1),
        threads=1,
        limit=None,
    )
    with made as query:
        rows = [row for portion in query.rows(Stop(), lambda *_counts: None) for row in portion]
        return [column.name for column in query.columns], [
            json.dumps([of_json(column, value) for column, value in zip(query.columns, row, strict=True)])
            for row in rows
        ]


def of_json(column: ResultColumn, value: Any) -> Any:
    """As Spark's ``to_json`` has it."""
    if column.kind == HEADERS:
        return [{"key": name, "value": b64encode(data).decode()} for name, data in value]
    return b64encode(value).decode() if isinstance(value, bytes) else value


class OnSpark:
    """Queries of Spark over the topics as it has read them once."""

    def __init__(self, session: Any, slices: list[Slice], cluster: FakeCluster) -> None:
        from kcli.pipeline.spark.query import source_of
        from kcli.pipeline.spark.source import register

        register(session.sql)
        self._session = session
        columns = tuple(name for name in SOURCE_COLUMNS if not name.endswith("_json"))
        ref = ClusterRef({"bootstrap_servers": cluster.bootstrap}, {}, {}, {})
        self._settings = SourceSettings(
            ref, topics=TOPICS, columns=columns, packed=False, slices=tuple(slices)
        )
        frame = source_of(session, self._settings)
        whole = session.sql.createDataFrame(frame.toArrow(), frame.schema).coalesce(1)
        self._kept = {
            topics: whole.where(whole.topic.isin(*topics))
            for topics in (TOPICS, *((topic,) for topic in TOPICS))
        }

    def source(self, _session: Any, settings: SourceSettings) -> Any:
        """In the place of ``source_of``."""
        return self._kept[settings.topics].select(*settings.columns)

    def query(self, sql: str) -> Any:
        from kcli.pipeline.spark.query import Query

        asked, specs = parsed(sql, (), TOPICS)
        settings = replace(self._settings, columns=source_columns(asked.columns, specs))
        return Query(self._session, settings, asked, None)

    def results(self, queries: tuple[str, ...]) -> Iterator[tuple[list[str], Rows]]:
        from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

        made = [self.query(sql) for sql in queries]
        frames = [
            one._shown.toDF(*(f"c{place}" for place in range(len(one.columns)))).select(
                F.lit(number).alias("query"),
                F.to_json(
                    F.struct(*(f"c{place}" for place in range(len(one.columns)))),
                    {"ignoreNullFields": "false"},
                ).alias("row"),
            )
            for number, one in enumerate(made)
        ]
        found: list[Rows] = [[] for _ in queries]
        for first in range(0, len(frames), _AT_ONCE):
            whole = reduce(lambda a, b: a.unionAll(b), frames[first : first + _AT_ONCE])
            for number, row in whole.collect():
                found[number].append(json.dumps([*json.loads(row).values()]))
        for one, rows in zip(made, found, strict=True):
            yield [column.name for column in one.columns], rows


@pytest.fixture
def on_spark(
    spark: SparkRunner, slices: list[Slice], cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> Iterator[OnSpark]:
    conf = spark.session.sql.conf
    quick = {
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }
    before = {key: conf.get(key) for key in quick}
    for key, value in quick.items():
        conf.set(key, value)
    made = OnSpark(spark.session, slices, cluster)
    monkeypatch.setattr("kcli.pipeline.spark.query.source_of", made.source)
    yield made
    for key, value in before.items():
        conf.set(key, value)


# --- the table --------------------------------------------------------------------------------------------


def test_the_same_query_has_the_same_result(
    on_spark: OnSpark, slices: list[Slice], options: ConsumerOptions
) -> None:
    differ = []
    for sql, theirs in zip(SAME, on_spark.results(SAME), strict=True):
        ours = on_duckdb(sql, slices, options)
        if " over " in sql or "order by" not in sql:
            for _, rows in (ours, theirs):
                rows.sort()
        if ours != theirs:
            differ.append(f"{sql}\n  DuckDB: {ours}\n  Spark:  {theirs}")
    assert not differ, "\n".join(differ)
    assert len(SAME) >= 40


def test_both_engines_refuse_the_order_of_a_path_without_a_type(on_spark: OnSpark) -> None:
    for sql, named in NO_ORDER:
        for translated in (lambda sql: translate(parsed(sql, (), TOPICS)[0], ()), on_spark.query):
            with pytest.raises(ConfigError) as refused:
                translated(sql)
            assert named in str(refused.value), sql
            assert "::double for numbers" in refused.value.do


def test_what_duckdb_lacks_is_refused_by_name_and_accepted_by_spark(on_spark: OnSpark) -> None:
    for sql, named in REFUSED:
        with pytest.raises(LacksError) as lacks:
            translate(parsed(sql, (), TOPICS)[0], ())
        assert named in str(lacks.value)
        assert on_spark.query(sql).columns


def test_what_fails_on_one_engine_fails_on_the_other(
    on_spark: OnSpark, slices: list[Slice], options: ConsumerOptions
) -> None:
    for sql in FAIL:
        with pytest.raises(Exception, match="the query failed"):
            on_duckdb(sql, slices, options)
        with pytest.raises(Exception, match=r"DIVIDE_BY_ZERO|OVERFLOW|CAST_INVALID_INPUT"):
            list(on_spark.results((sql,)))


def test_names_that_do_not_exist_are_refused_by_both(
    on_spark: OnSpark, slices: list[Slice], options: ConsumerOptions
) -> None:
    for sql, what in (
        ("select nosuch from orders", "there is no column nosuch"),
        ("select key from nosuch", "there is no table nosuch"),
        ("select o.nosuch from orders o join customers c on o.key = c.key", r"there is no column o\.nosuch"),
    ):
        with pytest.raises(ConfigError, match=what):
            on_duckdb(sql, slices, options)
        with pytest.raises(ConfigError, match=what):
            on_spark.query(sql)


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_each_topic_of_a_join_is_read_by_itself(
    spark: SparkRunner, cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    """Of one a single offset, of the other all: by the command, from the cluster."""
    session = "kcli.pipeline.drivers.sql.session_of"
    monkeypatch.setattr(session, lambda *_, **_options: nullcontext(spark.session))
    sql = "select o.offset, c.value:name n from orders o join customers c on o.key = c.key where o.offset = 2"
    done = kcli(
        "query", "orders", "customers", sql, "--engine", engine, "-o", "tsv", bootstrap=cluster.bootstrap
    )
    assert (done.code, done.out) == (0, "offset\tn\n2\tAnn\n"), done.err
