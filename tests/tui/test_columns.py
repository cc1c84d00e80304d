"""Columns of a table: their order, their widths, and the figures in them."""

import importlib
import pkgutil
from dataclasses import replace

import pytest

import kcli.tui
from kcli.flows.lag.partition_lag import INTERPOLATED, READ
from kcli.flows.lag.verdicts import Trend
from kcli.tui import figures
from kcli.tui.cells import Cell
from kcli.tui.columns import Column, in_order, layout, needs_of

COLUMNS: tuple[Column[int | None], ...] = (
    Column("NAME", 6, lambda one: Cell(str(one)), lambda one: one, grows=True),
    Column("A", 4, lambda one: Cell(str(one)), lambda one: one, drop=2, right=True),
    Column("B", 4, lambda one: Cell(str(one)), lambda one: one, drop=1),
)


@pytest.mark.parametrize(
    ("width", "need", "titles", "widths"),
    [
        (17, 12, ["NAME", "A", "B"], [6, 4, 4]),
        (30, 12, ["NAME", "A", "B"], [12, 4, 4]),
        (30, 40, ["NAME", "A", "B"], [19, 4, 4]),
        (30, 2, ["NAME", "A", "B"], [6, 4, 4]),
        (16, 12, ["NAME", "B"], [10, 4]),
        (11, 12, ["NAME"], [10]),
        (1, 12, ["NAME"], [1]),
    ],
)
def test_narrow_terminals_drop_the_largest_number_first_and_names_grow_as_far_as_they_need(
    width: int, need: int, titles: list[str], widths: list[int]
) -> None:
    found = layout(COLUMNS, width, {"NAME": need})
    assert ([one.title for one in found.columns], list(found.widths)) == (titles, widths)


TABLES = {
    found.name.rpartition(".")[2]: importlib.import_module(found.name).COLUMNS
    for found in pkgutil.walk_packages(kcli.tui.__path__, "kcli.tui.")
    if found.name.endswith("_columns")
}
KEPT = {
    "group_columns": {"VERDICT", "GROUP", "LAG", "BEHIND"},
    "topic_columns": {"TOPIC", "IN/S", "WORST LAG", "REPLICAS"},
    "partition_columns": {"TOPIC", "PART", "LAG"},
    "topic_partition_columns": {"PART", "STATE", "END", "RECORDS"},
    "reader_columns": {"VERDICT", "GROUP", "LAG", "BEHIND"},
    "quorum_columns": {"STATE", "NODE", "ROLE", "LAG", "CAUGHT UP"},
    "transaction_columns": {"STATE", "TRANSACTIONAL ID", "AGE", "TOPICS"},
    "mirror_columns": {"STATE", "JOB", "LAG", "ENDS READ", "SAVED", "HELD BY"},
    "broker_columns": {"ID", "HOST", "STATE", "LATENCY"},
    "member_columns": {"CLIENT", "LAG"},
    "event_columns": {"TIME", "GROUP", "KIND", "WHAT"},
    "config_columns": {"NAME", "VALUE"},
}
"""What a terminal of 80 columns has of each table, however long its texts are."""


@pytest.mark.parametrize("table", TABLES)
def test_every_table_fits_80_columns_and_keeps_what_matters(table: str) -> None:
    columns = TABLES[table]
    for width in (78, 100, 140):
        found = layout(columns, width, {column.title: width for column in columns if column.grows})
        taken = sum(found.widths) + found.gap * len(found.widths)
        assert taken == width if any(one.grows for one in found.columns) else taken <= width
        assert KEPT[table] <= {one.title for one in found.columns}, width


@pytest.mark.parametrize("table", TABLES)
def test_numbers_are_at_the_right_and_columns_leave_one_by_one(table: str) -> None:
    columns = TABLES[table]
    ranks = [one.drop for one in columns if one.drop]
    assert len(ranks) == len(set(ranks))
    for one in columns:
        kinds = [str(field.kind) for field in one.data[:1]]
        words = one.stretch is not None or one.title == "REPLICAS"  # a course, a text of two numbers
        assert one.right or words or not {"number", "size", "duration"} & set(kinds), one.title


TEXTS: tuple[Column[str], ...] = (
    Column("A", 4, Cell, str, grows=True),
    Column("B", 4, Cell, str, grows=True),
    Column("T", 5, Cell, str, stretch=lambda one, width: Cell(one[0] * width)),
)


@pytest.mark.parametrize(
    ("width", "a", "b", "widths"),
    [
        (16, 9, 9, [4, 4, 5]),
        (26, 9, 30, [9, 9, 5]),
        (26, 30, 30, [9, 9, 5]),
        (26, 30, 6, [12, 6, 5]),
        (60, 9, 30, [9, 30, 15]),
        (60, 1, 1, [4, 4, 40]),
        (200, 1, 1, [4, 4, 40]),
    ],
)
def test_texts_share_what_is_spare_and_courses_have_the_rest(
    width: int, a: int, b: int, widths: list[int]
) -> None:
    found = layout(TEXTS, width, {"A": a, "B": b})
    assert list(found.widths) == widths
    course = found.line("xyz")[2].text
    assert course == ("x" * widths[2] if widths[2] > 5 else "xyz  ") + " " * found.gap


def test_the_needs_of_a_table_are_those_of_its_longest_texts() -> None:
    assert needs_of(TEXTS, ["a", "\x1b", "日本語", "b" * 50], 40) == {"A": 40, "B": 40}
    assert needs_of(TEXTS, ["a", "\x1b", "日本語"], 40) == {"A": 6, "B": 6}
    assert needs_of(TEXTS, [], 40) == {"A": 0, "B": 0}


def test_unknown_values_come_last_in_both_directions() -> None:
    rows = [3, None, 1, 2]
    assert in_order(rows, COLUMNS[0], falling=False) == [1, 2, 3, None]
    assert in_order(rows, COLUMNS[0], falling=True) == [3, 2, 1, None]


def test_a_row_is_asked_once_for_its_value_in_an_order() -> None:
    asked: list[int | None] = []

    def order(row: int | None) -> int | None:
        asked.append(row)
        return row

    rows = [2, None, 3, 1]
    assert in_order(rows, replace(COLUMNS[0], order=order), falling=False) == [1, 2, 3, None]
    assert asked == rows


def test_rows_of_the_same_value_stay_in_their_order_in_both_directions() -> None:
    same = replace(COLUMNS[0], order=lambda _row: 0)
    for falling in (False, True):
        assert in_order([2, 3, 1], same, falling=falling) == [2, 3, 1]


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (figures.count(None), "–"),
        (figures.count(812_410), "812,410"),
        (figures.count(12_345_678), "12.3 M"),
        (figures.rate(3_100), "3.10 k/s"),
        (figures.rate(None), "–"),
        (figures.short(0.5), "0.5"),
        (figures.age(None, READ), "–"),
        (figures.age(724, INTERPOLATED)[0], "≈"),
        (figures.age(0, INTERPOLATED)[0], "0"),
        (figures.time_to_drain(Trend(1, 2, None)), "growing"),
        (figures.time_to_drain(Trend()), "–"),
        (figures.course([0, None, 8], 4), " ▁ █"),
        (figures.course([5, 5], 2), "▄▄"),
        (figures.course([], 3), "   "),
    ],
)
def test_figures(shown: str, text: str) -> None:
    assert shown == text
