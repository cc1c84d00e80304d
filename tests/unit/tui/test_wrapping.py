"""Long lines in rows, and the course of a lag in bars."""

import pytest
from rich.cells import cell_len

from kcli.tui.cells import wrapped
from kcli.tui.figures import chart


@pytest.mark.parametrize(
    ("text", "width", "rows"),
    [
        ("one two three", 8, ["one two", "three"]),
        ("abcdefghij", 4, ["abcd", "efgh", "ij"]),
        ("  indented text", 11, ["  indented", "text"]),
        ("日本語", 4, ["日本", "語"]),
        ("", 4, [""]),
        ("x", 0, ["x"]),
    ],
)
def test_rows_are_broken_at_blanks_where_they_can_be(text: str, width: int, rows: list[str]) -> None:
    assert wrapped(text, width) == rows


def test_no_row_is_wider_than_asked_for_and_nothing_is_lost() -> None:
    text = "why: its 4 members\x1b would overwrite 日本語日本語日本語 the-new-offsets-of-this-group-again and again"
    for width in range(12, 60):
        rows = wrapped(text, width, "    ")
        assert all(cell_len(row) <= width for row in rows)
        assert "".join(rows).replace(" ", "") == text.replace("\x1b", "\\x1b").replace(" ", "")


def test_bars_reach_from_nothing_to_the_largest_value() -> None:
    assert chart([0, 4, 8, None, 16], 6, 2) == ["     █", "  ▄█ █"]


def test_a_course_of_nothing_is_blank() -> None:
    assert chart([], 3, 2) == ["   ", "   "]
    assert chart([0, None], 3, 1) == ["   "]
