"""Every ``-o`` form of one list, byte for byte; forms for programs lose nothing."""

import csv
import io
import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from kcli.output import envelope, style
from kcli.output.listing import list_rows
from kcli.output.stdout import Output
from kcli.output.tables import Column, Field, Screen, row_of

COLUMNS = (
    Column("name"),
    Column("count", "number"),
    Column("leader_epoch", "id"),
    Column("replicas"),
    Column("at", "time"),
    Column("note", wide=True),
)
ROWS: list[dict[str, Any]] = [
    {
        "name": "orders",
        "count": 1204331,
        "leader_epoch": 7,
        "replicas": [1, 2],
        "at": 1795255200250,
        "note": "a, b",
    },
    {"name": "x\ty\x1b", "count": None, "leader_epoch": None, "replicas": [], "at": None, "note": ""},
]


@pytest.fixture(autouse=True)
def _fixed_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(envelope, "wall_ms", lambda: 1795255200000)


def printed(kind: str | None, rows: list[dict[str, Any]] = ROWS, **settings: Any) -> str:
    stream = io.BytesIO()
    out = Output(stream, kind=kind, **settings)
    with list_rows(out, "ThingList", "Thing", COLUMNS, cluster="Qx3", warnings=["w"]) as lines:
        for row in rows:
            lines.add(row)
    return stream.getvalue().decode()


def test_plain_keeps_few_of_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcli.output.tables._KEPT", 2)
    rows = [
        {"name": name, "count": 1, "leader_epoch": 1, "at": None} for name in ("a", "bb", "c", "d" * 9, "e")
    ]
    assert [line.split("1")[0] for line in printed("plain", rows).splitlines()[1:]] == [
        "a         ",
        "bb        ",
        "c              ",
        "ddddddddd      ",
        "e              ",
    ]


def test_plain() -> None:
    assert printed("plain") == (
        "NAME        COUNT  LEADER-EPOCH  REPLICAS  AT\n"
        "orders    1204331             7  1,2       2026-11-21T10:00:00.250Z\n"
        "x\\ty\\x1b        -             -  -         -\n"
    )


def test_a_pipe_is_plain_and_a_terminal_gets_a_table() -> None:
    assert printed(None, isatty=False) == printed("plain")
    assert printed(None, isatty=True, width=80) == printed("table", isatty=True, width=80)


def test_no_headers() -> None:
    assert printed("plain", headers=False).splitlines()[0].startswith("orders ")
    assert printed("csv", headers=False).splitlines()[0].startswith("orders,")
    assert printed("plain", [], headers=False) == ""


def test_table_groups_digits_and_stays_a_table_in_a_pipe() -> None:
    lines = printed("table").splitlines()
    assert lines[0].split() == ["NAME", "COUNT", "LEADER-EPOCH", "REPLICAS", "AT"]
    assert set(lines[1]) <= {"─", " "}
    assert "1,204,331" in lines[2]
    assert "\x1b" not in "".join(lines)


def test_table_fits_the_terminal_and_wide_does_not() -> None:
    row = {**ROWS[0], "name": "a-name-that-is-too-long-for-it"}
    lines = printed("table", [row], isatty=True, width=70).splitlines()
    assert max(map(len, lines)) <= 70
    assert "a-name-th…" in lines[-1]
    assert "1,204,331" in lines[-1]
    assert "…" not in printed("wide", [row], isatty=True, width=40)
    assert "NOTE" in printed("wide")
    assert "NOTE" not in printed("table")


GROUPS = (
    Column("group"),
    Column("state", spare=1),
    Column("produced_per_second", "number", spare=2),
    Column("lag_records", "number"),
    Column("note", "prose"),
)
LATE = {
    "group": "日本",
    "state": "Stable",
    "produced_per_second": 12,
    "lag_records": 1234567,
    "note": "records were lost there",
}


def table(
    rows: list[dict[str, Any]], *, kind: str = "table", screen: Screen | None = None, **how: Any
) -> str:
    stream = io.BytesIO()
    with list_rows(Output(stream, kind=kind, isatty=True, **how), "L", "I", GROUPS, screen=screen) as lines:
        for row in rows:
            lines.add(row)
    return stream.getvalue().decode()


def test_a_table_where_there_is_room() -> None:
    assert table([LATE], width=76) == (
        "GROUP   STATE    PRODUCED-PER-SECOND   LAG-RECORDS   NOTE\n"
        "────────────────────────────────────────────────────────────────────────────\n"
        "日本    Stable                    12     1,234,567   records were lost there\n"
    )


def test_headings_break_before_anything_is_left_out() -> None:
    assert table([LATE], width=66) == (
        "                 PRODUCED-PER-       LAG-\n"
        "GROUP  STATE            SECOND    RECORDS  NOTE\n"
        "──────────────────────────────────────────────────────────────────\n"
        "日本   Stable               12  1,234,567  records were lost there\n"
    )


def test_notes_wrap_and_truncation_is_reported() -> None:
    assert table([LATE], width=40, color="always") == (
        "\x1b[1m            LAG-\x1b[0m\n"
        "\x1b[1mGROUP    RECORDS  NOTE\x1b[0m\n"
        "────────────────────────────────────────\n"
        "日本   1,234,567  records were lost\n"
        "                  there\n"
        "\x1b[2m… no room for STATE,\x1b[0m\n"
        "\x1b[2mPRODUCED-PER-SECOND: -o wide, -o json or\x1b[0m\n"
        "\x1b[2ma wider terminal has them\x1b[0m\n"
    )


def test_a_table_of_a_screen_says_how_many_rows_there_are_besides() -> None:
    rows = [{**LATE, "group": f"g{number}"} for number in range(30)]
    screen = Screen(8, "all with -o tsv")
    lines = table(rows, width=200, screen=screen).splitlines()
    assert len(lines) == 8
    assert lines[-2].startswith("g4 ")
    assert lines[-1] == "… and 25 more rows (all with -o tsv)"
    assert len(table(rows[:6], width=200, screen=screen).splitlines()) == 8
    assert "more row" not in table(rows[:6], width=200, screen=screen)
    assert "… and 2 more rows (" in table(rows[:7], width=200, screen=screen)


@pytest.mark.parametrize(("kind", "width"), [("table", 40), ("wide", 40), ("table", 63)])
def test_lines_that_wrap_count_on_a_screen(kind: str, width: int) -> None:
    text = table([LATE] * 30, kind=kind, width=width, screen=Screen(14, "m"))
    assert sum(max(1, -(-cell_len(line) // width)) for line in text.splitlines()) <= 14
    assert "more rows (m)" in text


def test_only_some_rows_are_kept_for_the_widths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(style, "AT_ONCE", 2)
    rows = [{**LATE, "group": name} for name in ("a", "b", "c", "longer")]
    assert [line.split()[0] for line in table(rows, width=200).splitlines()[2:]] == ["a", "b", "c", "longer"]
    assert table(rows, width=200).count("GROUP") == 1


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", [""]),
        ("a bc", ["a bc"]),
        ("one two", ["one", "two"]),
        ("a 日本語 b", ["a", "日本", "語 b"]),
        ("abcdefghij k", ["abcde", "fghij", "k"]),
    ],
)
def test_prose_is_folded_between_words(text: str, lines: list[str]) -> None:
    assert style.folded(text, 5) == lines


@pytest.mark.parametrize(
    ("name", "width", "shown"),
    [
        ("orders", 6, "orders"),
        ("orders-dead-letters-eu-west-1", 16, "orders-dea…est-1"),
        ("日本日本日本日本", 9, "日本日…本"),
        ("ab", 1, "…"),
    ],
)
def test_a_name_is_shortened_in_its_middle(name: str, width: int, shown: str) -> None:
    assert style.shortened(name, width) == shown
    assert cell_len(shown) <= width


def test_table_has_colour_where_requested() -> None:
    assert "\x1b[1m" in printed("table", color="always")


def test_markup_in_data_is_literal() -> None:
    text = printed("table", [{"name": "[red]x[/red]"}])
    assert "[red]x[/red]" in text


def test_tsv() -> None:
    assert printed("tsv") == (
        "name\tcount\tleader_epoch\treplicas\tat\tnote\n"
        "orders\t1204331\t7\t1,2\t2026-11-21T10:00:00.250Z\ta, b\n"
        "x\\ty\x1b\t\t\t\t\t\n"
    )


def test_csv_is_read_back() -> None:
    lines = list(csv.reader(io.StringIO(printed("csv"))))
    assert lines[1] == ["orders", "1204331", "7", "1,2", "2026-11-21T10:00:00.250Z", "a, b"]


def test_name() -> None:
    assert printed("name") == "orders\nx\ty\x1b\n"
    assert "\x1b" not in printed("name", isatty=True)


def test_json_document() -> None:
    document = json.loads(printed("json"))
    assert list(document) == ["kind", "api", "cluster", "at", "items", "warnings", "complete", "missing"]
    assert document["kind"] == "ThingList"
    assert document["api"] == "kcli/v1"
    assert document["at"] == "2026-11-21T10:00:00.000Z"
    assert (document["warnings"], document["complete"], document["missing"]) == (["w"], True, [])
    assert document["items"][0] == ROWS[0] | {"at": "2026-11-21T10:00:00.250Z"}
    assert document["items"][1]["count"] is None


def test_json_has_keys_beyond_the_columns() -> None:
    assert json.loads(printed("json", [{"name": "a", "more": {"x": 1}}]))["items"][0]["more"] == {"x": 1}


def test_ndjson_items_have_their_kind() -> None:
    items = [json.loads(line) for line in printed("ndjson").splitlines()]
    assert [item["kind"] for item in items] == ["Thing", "Thing"]


@pytest.mark.parametrize("kind", ["json", "yaml", "plain", "csv", "table", "ndjson", "name", "tsv"])
def test_empty_lists(kind: str) -> None:
    text = printed(kind, [])
    if kind == "json":
        assert json.loads(text)["items"] == []
    elif kind == "yaml":
        assert "items: []\n" in text
    elif kind in ("ndjson", "name", "table"):
        assert text == ""
    else:
        assert text.lower().startswith("name")


def test_yaml() -> None:
    row = {"name": "true", "count": 1, "replicas": [1, 2], "note": "a: b", "more": [{"x": 1, "z": None}]}
    assert printed("yaml", [row]) == (
        'kind: ThingList\napi: kcli/v1\ncluster: Qx3\nat: "2026-11-21T10:00:00.000Z"\nitems:\n'
        '- name: "true"\n  count: 1\n  leader_epoch: null\n  replicas: [1, 2]\n  at: null\n  note: "a: b"\n'
        "  more:\n  - x: 1\n    z: null\nwarnings: [w]\ncomplete: true\nmissing: []\n"
    )


class Interrupted(BaseException):
    """Stands for whatever ends a loop."""


@pytest.mark.parametrize("rows", [1, 2])
def test_a_document_that_is_interrupted_is_closed_validly(rows: int) -> None:
    stream = io.BytesIO()

    def interrupted() -> None:
        with list_rows(Output(stream, kind="json"), "ThingList", "Thing", COLUMNS) as lines:
            for row in ROWS[:rows]:
                lines.add(row)
            raise Interrupted

    with pytest.raises(Interrupted):
        interrupted()
    assert len(json.loads(stream.getvalue())["items"]) == rows


@pytest.mark.parametrize("kind", ["json", "yaml", "plain", "table", "csv"])
def test_an_error_before_the_first_row_leaves_stdout_empty(kind: str) -> None:
    stream = io.BytesIO()
    with pytest.raises(Interrupted), list_rows(Output(stream, kind=kind), "ThingList", "Thing", COLUMNS):
        raise Interrupted
    assert stream.getvalue() == b""


def test_a_closed_stdout_is_an_os_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", None)
    with pytest.raises(OSError, match="Bad file descriptor"):
        Output().write(b"x")


TEXT = st.text(st.characters(exclude_categories=()), max_size=20)


@given(TEXT)
def test_json_forms_lose_nothing(text: str) -> None:
    row = {"name": text}
    assert json.loads(printed("ndjson", [row]))["name"] == text
    assert json.loads(printed("json", [row]))["items"][0]["name"] == text


@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=20))
def test_csv_and_tsv_lose_nothing(text: str) -> None:
    row = {"name": text, "note": "end"}
    assert next(csv.reader(io.StringIO(printed("csv", [row], headers=False), newline=""))) == [
        text,
        "",
        "",
        "",
        "",
        "end",
    ]
    line = printed("tsv", [row], headers=False)
    first = line.removesuffix("\n").split("\t")[0]
    assert "\n" not in first
    plain = (
        first.replace("\\\\", "\0\0")
        .replace("\\t", "\t")
        .replace("\\n", "\n")
        .replace("\\r", "\r")
        .replace("\0\0", "\\")
    )
    assert plain == text or "\0" in text


@given(TEXT)
def test_yaml_scalars_are_one_line_and_quoted_where_not_bare(text: str) -> None:
    line = next(line for line in printed("yaml", [{"name": text}]).split("\n") if line.startswith("- name: "))
    said = line.removeprefix("- name: ")
    assert (yaml.safe_load(said) if said.startswith('"') else said) == text


def test_an_empty_value_is_a_dash_in_plain_output_like_a_missing_one() -> None:
    lines = printed("plain", [{"name": "a", "replicas": ""}, {"name": ""}]).splitlines()
    assert lines[1].split()[3] == "-"
    assert lines[2].split()[0] == "-"
    assert '""' not in "".join(lines)


def test_a_name_that_several_rows_have_is_one_line() -> None:
    assert printed("name", [{"name": "a"}, {"name": "b"}, {"name": "a"}]) == "a\nb\n"


def test_a_field_takes_its_value_from_what_a_row_is_made_from() -> None:
    width = Field("width", "number", of=abs, digits=1, meaning="How wide; null where it is unknown.")
    name = Field("name", of=lambda one: one or None, meaning="Its name")
    assert row_of((width,), -2.345) == {"width": 2.3}
    assert name.value("") is None
    assert row_of((name, width.within(len)), "abc") == {"name": "abc", "width": 3}
    assert (width.sentence, name.sentence) == ("How wide.", "Its name.")
