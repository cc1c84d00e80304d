"""The tables of the benchmarks: in a document they stand between their marks, and nothing else of it changes."""

from __future__ import annotations

import pytest

from benchmarks._measure import Contest, Cost, Run
from benchmarks._table import DOCUMENT, README, Table, with_block

TABLE = Table(
    "reading", ["", "records/s"], [["kcli", "5"], ["another tool", "1,000"]], ["kcat: not installed"]
)
MARKED = (
    "before\n<!-- benchmark a -->\nold\n<!-- end -->\nbetween\n<!-- benchmark b -->\n<!-- end -->\nafter\n"
)


def test_a_terminal_gets_aligned_columns() -> None:
    assert TABLE.plain().splitlines() == [
        "-- reading",
        "              records/s",
        "kcli                  5",
        "another tool      1,000",
        "kcat: not installed",
    ]


def test_a_document_gets_markdown_with_figures_to_the_right() -> None:
    assert TABLE.markdown().splitlines() == [
        "**reading**",
        "",
        "|  | records/s |",
        "| --- | --: |",
        "| kcli | 5 |",
        "| another tool | 1,000 |",
        "",
        "kcat: not installed",
    ]


def test_a_pipe_in_a_cell_begins_no_other_cell() -> None:
    table = Table("copying", ["", "kcat -C | kcat -P"], [["a | b", "1"]])
    assert table.markdown().splitlines()[2:] == [
        r"|  | kcat -C \| kcat -P |",
        "| --- | --: |",
        r"| a \| b | 1 |",
    ]


def test_only_the_block_of_a_benchmark_is_replaced() -> None:
    once = with_block(MARKED, "a", r"new \1 text")
    assert once == MARKED.replace("old", "\nnew \\1 text\n")
    assert with_block(once, "a", r"new \1 text") == once
    assert "old" in with_block(MARKED, "b", "text")


def test_a_benchmark_without_a_place_in_the_document_is_an_error() -> None:
    with pytest.raises(ValueError, match="no place for c"):
        with_block(MARKED, "c", "text")


@pytest.mark.parametrize(
    "name",
    [
        "perf",
        "perf_pairs",
        "produce_consume",
        "lag",
        "mirror",
        "latency",
        "startup",
        "group_start",
        "filters",
        "scale",
    ],
)
def test_every_benchmark_of_tables_has_its_place(name: str) -> None:
    assert "text" in with_block(DOCUMENT.read_text(), name, "text")


def test_the_readme_has_a_place_for_its_table() -> None:
    assert "text" in with_block(README.read_text(), "readme", "text")


def test_a_contest_names_who_was_missing_and_whether_its_target_is_met() -> None:
    contest = Contest("reading", {"kcat": lambda: None, "kcli": lambda: Run([], 0)}, "kcat", 2.0)
    contest.costs = {"kcli": [Cost(1.0, 2.0)], "other": [Cost(2.0, 2.0)]}
    contest.records = {"kcli": 1_000_000, "other": 1_000_000}
    contest.absent = ["kcat"]
    table = contest.table()
    assert table.rows[0] == ["kcli", "1.000 M", "1.00 ×", "0.500 M", "1.00 ×"]
    assert table.rows[1][:3] == ["other", "0.500 M", "0.50 ×"]
    assert list(table.notes) == ["kcat: not measured, it is not installed", "target: 2 × kcat: not measured"]
