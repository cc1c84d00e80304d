"""What kcli makes of the SQL of a query before Spark reads it."""

import random
import re

import pytest

from kcli.core.errors import ConfigError
from kcli.pipeline.sql_text import Rewritten, rewrite

STAR = (
    "topic",
    "partition",
    "offset",
    "timestamp",
    "timestamp_type",
    "key",
    "value",
    "headers",
    "leader_epoch",
)
SOURCE = {*STAR, "key_text", "value_text", "key_json", "value_json"}


def rewritten(sql: str, *decoded: str) -> Rewritten:
    return rewrite(sql, STAR, decoded)


def columns(sql: str) -> set[str]:
    return SOURCE & set(rewritten(sql).columns)


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("value:a.b", "get_json_object(value_text, '$.a.b')"),
        ("key:a", "get_json_object(key_text, '$.a')"),
        ("VALUE:a", "get_json_object(value_text, '$.a')"),
        ("`value`:a", "get_json_object(value_text, '$.a')"),
        ("value_text:a", "get_json_object(value_text, '$.a')"),
        ("s.value:a", "get_json_object(s.value_text, '$.a')"),
        ("value:items[0].sku", "get_json_object(value_text, '$.items[0].sku')"),
        ("value:items[*]", "get_json_object(value_text, '$.items[*]')"),
        ("value:[1]", "get_json_object(value_text, '$[1]')"),
        ("value:['a b'].c", r"get_json_object(value_text, '$[\'a b\'].c')"),
        ('value:a["b c"]', r"get_json_object(value_text, '$.a[\'b c\']')"),
        ("value:`a b`", r"get_json_object(value_text, '$[\'a b\']')"),
        ("value:a::int + 1", "get_json_object(value_text, '$.a')::int + 1"),
        ("`struct` < value:a", "`struct` < get_json_object(value_text, '$.a')"),
        ("value:from.select", "get_json_object(value_text, '$.from.select')"),
        ("value :a", "get_json_object(value_text, '$.a')"),
        ("value: a", "get_json_object(value_text, '$.a')"),
        ("value /* v */ : -- a path\n a\n . b", "get_json_object(value_text, '$.a.b')"),
        ("s . value:a . `b c` [ 0 ]", r"get_json_object(s . value_text, '$.a[\'b c\'][0]')"),
        ("`s`.`Value`:a", "get_json_object(`s`.value_text, '$.a')"),
        ("value:a ::int", "get_json_object(value_text, '$.a') ::int"),
        ("transform(x, v -> value:a || v)", "transform(x, v -> get_json_object(value_text, '$.a') || v)"),
        (
            "1 < value:a.b, value:c",
            "1 < get_json_object(value_text, '$.a.b'), get_json_object(value_text, '$.c')",
        ),
    ],
)
def test_a_path_into_json_becomes_a_function_of_spark(given: str, made: str) -> None:
    assert rewritten(f"select {given} from source").sql == f"select {made} from source"


@pytest.mark.parametrize(
    "sql",
    [
        "select 'value:a' from source",
        'select "value:a", r\'value:\\\', "it\\"s value:a" from source',
        "select 1 -- value:a\n from source",
        "select /* value:a */ 1 from source",
        "select `value:a` from source",
        "select value::string from source",
        "select cast(null as struct<value :int, key: int>) from source",
        "select cast(null as struct<value:int,key:array<struct<value:int>>>) from source",
        "select other:a from source",
        "select :value from source",
    ],
)
def test_literals_comments_types_and_other_colons_stay(sql: str) -> None:
    assert rewritten(sql).sql == sql


def test_after_a_type_paths_are_replaced_again() -> None:
    found = rewritten("select cast(x as struct<value:int>), value:a from source").sql
    assert found == "select cast(x as struct<value:int>), get_json_object(value_text, '$.a') from source"


def test_space_and_comments_between_the_parts_of_a_path_change_nothing() -> None:
    chance = random.Random(5)
    gaps = ("", " ", "\n", "\t", " /* a:b */", " -- value:x\n")

    def without_gaps(sql: str) -> str:
        return re.sub(r"\s+|--[^\n]*\n|/\*.*?\*/", "", sql)

    for _ in range(500):
        steps = chance.choices([(".", "a"), (".", "`x y`"), ("[0]",), ("['k']",), ("[*]",), (".", "É")], k=3)
        parts = [
            *chance.choice([(), ("s", "."), ("`s`", ".")]),
            chance.choice(["value", "KEY", "`value`"]),
            ":",
            "a",
        ]
        parts += [part for step in steps[: chance.randint(0, 3)] for part in step]
        plain, spaced = "".join(parts), "".join(part + chance.choice(gaps) for part in parts)
        found = [without_gaps(rewritten(f"select {each} from source s").sql) for each in (plain, spaced)]
        assert found[0] == found[1], spaced


def test_with_a_serde_paths_lead_into_what_was_decoded() -> None:
    found = rewritten("select value:a, key:b from source", "value")
    assert (
        found.sql == "select get_json_object(value_json, '$.a'), get_json_object(key_text, '$.b') from source"
    )
    assert set(found.columns) >= {"value_json", "key_text"}
    assert "value" not in found.columns


@pytest.mark.parametrize(
    ("sql", "used"),
    [
        ("select count(*) from source", set()),
        ("select count(*), min(timestamp) from source where partition = 2", {"timestamp", "partition"}),
        ("select value:key from source", {"value_text"}),
        ("select `offset`, s.Key from source s", {"offset", "key"}),
        ("select 2*3, offset*2 from source", {"offset"}),
        ("select 'value', \"key\" from source -- topic", set()),
        ("select * from source", set(STAR)),
        ("select s.* from source s", set(STAR)),
        ("select distinct * from source", set(STAR)),
        ("select offset, * from source", set(STAR)),
        ("select to_json(struct(*)) from source", set(STAR)),
        ("describe source", set(STAR)),
    ],
)
def test_only_columns_that_occur_are_read(sql: str, used: set[str]) -> None:
    assert columns(sql) == used


def test_headings_and_positions_are_those_of_the_user() -> None:
    found = rewritten("select value:a.b::int, nope from source")
    assert found.heading("CAST(get_json_object(value_text, $.a.b) AS INT)") == "CAST(value:a.b AS INT)"
    assert found.original_position(found.sql.index("nope")) == found.original.index("nope")
    assert found.original_position(found.sql.index("json_object")) == found.original.index("value:a.b")


@pytest.mark.parametrize(
    ("items", "named"),
    [
        ("a.value:x, b.value:x", "a.value:x as `a.value:x`, b.value:x as `b.value:x`"),
        ("a.offset, b . value : x", "a.offset, b . value : x as `b . value : x`"),
        ("value:x, b.value:x", "value:x as `value:x`, b.value:x as `b.value:x`"),
        ("sum(b.value:x), coalesce(a.value:x, 1)", "sum(b.value:x) as `sum(b.value:x)`, coalesce(a.value:x, 1) as "
         "`coalesce(a.value:x, 1)`"),
        ("a.value:x::double, b.value:x y", "a.value:x::double as `a.value:x::double`, b.value:x y"),
        ("distinct b.value:x is null, a.value:`x` as d", "distinct b.value:x is null as `b.value:x is null`, "
         "a.value:`x` as d"),
        ("(select max(b.value:x) from v2 b), a.offset", "(select max(b.value:x) as `max(b.value:x)` from v2 b) as "
         "`(select max(b.value:x) from v2 b)`, a.offset"),
        ("a.value:x + a.offset", "a.value:x + a.offset as `a.value:x + a.offset`"),
        ("a.value:y, b.value:z", "a.value:y, b.value:z"),
        ("extract(day from a.value:x::timestamp)", "extract(day from a.value:x::timestamp) as "
         "`extract(day from a.value:x::timestamp)`"),
    ],
)  # fmt: skip
def test_items_with_a_path_of_several_tables_are_named_by_their_text(items: str, named: str) -> None:
    rest = "from orders a, v2 b where a.value:x = b.value:x order by a.value:x::int, b.value:x::int"
    assert rewritten(f"select {items} {rest}").sql == rewritten(f"select {named} {rest}").sql


def test_without_an_alias_the_tables_are_left_out_of_a_heading() -> None:
    found = rewritten("select a.value:x = b.value:x and a.offset from orders a, v2 b")
    path = "get_json_object(value_text, $.x)"
    assert found.heading(f"({path} = {path})") == "(value:x = value:x)"


@pytest.mark.parametrize(
    ("sql", "once"),
    [
        ("select source.key from source where source.offset = 1", True),
        ("select 'source source' from `source` s", True),
        ("select 1", True),
        ("select * from source a join source b on a.key = b.key", False),
        ("select * from source where offset = (select max(offset) from SOURCE)", False),
        ("with s as (select * from source) select * from s a, s b", False),
    ],
)
def test_filters_are_only_pushed_down_where_the_table_is_read_once(sql: str, once: bool) -> None:
    assert ("source" in rewritten(sql).read_once) is once


def test_rows_that_are_passed_on_as_they_are_come_from_small_tasks() -> None:
    assert not rewritten("select key, value:a from source where value:count = 'sum'").joins_rows
    assert rewritten("select count(*) from source").joins_rows
    assert rewritten("select key from source order by 1").joins_rows


def test_a_semicolon_at_the_end_is_dropped() -> None:
    assert rewritten("select 1 ; ").sql.strip() == "select 1"


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        ("", "the SQL is empty"),
        (" ; ", "the SQL is empty"),
        ("drop view source", "the SQL begins with drop"),
        ("insert into source select 1", "the SQL begins with insert"),
        ("select 1; select 2", "several statements"),
        ("select value:a. from source", "a path into JSON is wrong"),
        ("select value:a[x] from source", "a path into JSON is wrong"),
        ("select value: from source", "a path into JSON is wrong"),
        ("select value: , key from source", "a path into JSON is wrong"),
        ("select value:a.* from source", "a path into JSON is wrong"),
        ("select value:['it''s'] from source", "a path into JSON is wrong"),
    ],
)
def test_what_cannot_be_a_query_is_refused(sql: str, what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        rewritten(sql)


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (
            "select *, value:a from source",
            "select * except (value_text), get_json_object(value_text, '$.a') from source",
        ),
        (
            "select s.* from source s where key:a = value:b",
            "select s.* except (key_text, value_text) from source s "
            "where get_json_object(key_text, '$.a') = get_json_object(value_text, '$.b')",
        ),
        ("select *, value_text from source", "select * except (value_text), value_text from source"),
        ("select * except (key), value_text from source", "select * except (key), value_text from source"),
        ("select count(*), value_text from source", "select count(*), value_text from source"),
        (
            "select * from (select offset, value_text from source)",
            "select * from (select offset, value_text from source)",
        ),
    ],
)
def test_a_star_stands_for_the_columns_of_a_record_whatever_else_is_read(given: str, made: str) -> None:
    assert rewritten(given).sql == made


def test_a_position_after_a_star_is_that_of_the_users_text() -> None:
    found = rewritten("select *, value:a, wrong from source")
    assert found.original_position(found.sql.index("wrong")) == found.original.index("wrong")
