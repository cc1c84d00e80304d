"""What can be followed, and windows and topics in SQL. No engine."""

import pytest

from kcli.core.arrow.fields import RECORD_COLUMNS
from kcli.core.errors import ConfigError
from kcli.pipeline.duckdb.following import followed
from kcli.pipeline.sql_text import Rewritten, rewrite

WINDOW = "tumble(timestamp, '1 minute')"


def rewritten(sql: str, *topics: str) -> Rewritten:
    return rewrite(sql, RECORD_COLUMNS, (), topics)


@pytest.mark.parametrize(
    ("sql", "width"),
    [
        ("select * from source where value:n = '1'", None),
        (f"select {WINDOW}, key_text from source", None),
        (f"select {WINDOW} w, key_text, count(*) from source group by 1, 2", 60_000),
        (f"select {WINDOW} w, count(*) n from source group by w having n > 1 order by n", 60_000),
        (f"select count(distinct key) from source s where s.offset > 5 group by {WINDOW}", 60_000),
        ("select window_start, count(*) from source s group by tumble(s.timestamp, '90s'), key", 90_000),
        ("select tumble(timestamp, '2 Hours') w, max(offset) from source group by all", 7_200_000),
        ("select distinct window_end from source group by tumble(timestamp, '1 week')", 7 * 86_400_000),
    ],
)
def test_rows_and_windows_are_followed(sql: str, width: int | None) -> None:
    assert followed(rewritten(sql), ()).width_ms == width


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        ("select count(*) from source", "an aggregate without a window"),
        ("select key, count(*) from source group by key", "an aggregate without a window"),
        ("select key from source group by key", "GROUP BY without a window"),
        (
            f"select key, count(*), {WINDOW} from source group by key, offset, timestamp",
            "GROUP BY without the window",
        ),
        (f"select count(*) from source where {WINDOW} > '2026-01-01'", "an aggregate without a window"),
        ("select key from source order by offset", "ORDER BY"),
        ("select distinct key from source", "DISTINCT"),
        ("select key from source limit 5", "LIMIT"),
        (f"select {WINDOW}, count(*) from source group by 1 offset 1", "OFFSET"),
        ("select offset, row_number() over (order by offset) n from source", "OVER"),
        ("select a.key from source a join source b on a.key = b.key", "a join"),
        ("select a.key from source a, source b", "a join"),
        ("select key from source union all select key from source", "UNION"),
        ("select key from (select key from source)", "a query within the query"),
        ("with s as (select key from source) select key from s", "a query within the query"),
        (
            "select key from source where offset = (select max(offset) from source)",
            "a query within the query",
        ),
        ("select 1", "a query that reads no topic"),
        (
            f"select {WINDOW}, tumble(timestamp, '2m') t, count(*) from source group by all",
            "windows of two widths",
        ),
    ],
)
def test_what_cannot_be_followed_is_refused_by_name(sql: str, what: str) -> None:
    with pytest.raises(ConfigError) as refused:
        followed(rewritten(sql), ())
    assert str(refused.value).startswith(f"--follow with {what}")
    assert refused.value.why
    assert refused.value.do


# --- windows ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        (f"select {WINDOW}, window_end from source", ["window_start", "window_end"]),
        (f"select key, {WINDOW} as w from source group by {WINDOW}, key", ["key", "w"]),
        (
            f"select window_start s, window_end as e, count(*) n from source group by {WINDOW}",
            ["s", "e", "n"],
        ),
    ],
)
def test_windows_have_names(sql: str, names: list[str]) -> None:
    from kcli.pipeline.duckdb.statement import translate

    assert [column.name for column in translate(rewritten(sql), ()).columns] == names


@pytest.mark.parametrize(
    "window",
    [
        "tumble(timestamp)",
        "tumble(timestamp, 60)",
        "tumble(timestamp, '1 month')",
        "tumble(timestamp, '500ms')",
        "tumble(timestamp, '')",
        "tumble(timestamp, '0 seconds')",
        "tumble(timestamp, '1 minute', '5 seconds')",
        "tumble(date_trunc('hour', timestamp), '1 minute')",
        "tumble(",
    ],
)
def test_wrong_windows_are_refused(window: str) -> None:
    with pytest.raises(ConfigError) as refused:
        rewritten(f"select {window} from source")
    assert "a window is wrong: tumble(" in str(refused.value)
    assert refused.value.do == WINDOW


def test_names_of_windows_are_names_of_columns_without_a_window() -> None:
    sql = "select window_start from (select offset as window_start from source)"
    assert rewritten(sql).sql == sql


# --- topics as tables -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "tables", "made"),
    [
        ("select * from orders", {"orders"}, "select * from kcli_topic_0 as `orders`"),
        ("select o.key from orders o", {"orders"}, "select o.key from kcli_topic_0 o"),
        ("select key from `my-c.x` as c", {"my-c.x"}, "select key from kcli_topic_0 as c"),
        ("select key from my-c.x", {"my-c.x"}, "select key from kcli_topic_0 as `my-c.x`"),
        ("select 1 from `select` s, `select` t", {"select"}, "select 1 from kcli_topic_0 s, kcli_topic_0 t"),
        (
            "select 1 from orders join `a b` on true where orders.key = 'orders'",
            {"orders", "a b"},
            "select 1 from kcli_topic_0 as `orders` join kcli_topic_1 as `a b` on true where orders.key = 'orders'",
        ),
        (
            "select 1 from (select * from orders) x left join source on true",
            {"orders"},
            "select 1 from (select * from kcli_topic_0 as `orders`) x left join source on true",
        ),
    ],
)
def test_topics_are_tables(sql: str, tables: set[str], made: str) -> None:
    found = rewritten(sql, "orders", "my-c.x", "select", "a b", "key")
    assert found.sql == made
    assert set(found.tables.values()) - {None} == tables


@pytest.mark.parametrize(
    "sql",
    [
        "with orders as (select 1 a) select * from orders",
        "select extract(day from orders) from source",
        "select 1 from source where key is distinct from orders",
        "select orders, 'from orders' from source -- from orders",
        "select trim(both from orders) from source s where s.orders in (orders, orders)",
        "select 1 from Orders",
    ],
)
def test_other_names_are_left_as_they_are(sql: str) -> None:
    assert rewritten(sql, "orders").sql == sql


def test_a_topic_that_is_read_once_is_known() -> None:
    found = rewritten("select 1 from orders a join orders b on true join other on true", "orders", "other")
    assert {found.tables[name] for name in found.read_once} == {None, "other"}
