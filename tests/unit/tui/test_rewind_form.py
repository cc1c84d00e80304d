"""The dialog of a rewind: what its rows choose, and what is shown of plans, results and errors."""

import pytest

from kcli.tui.actions import Proposal, Result, Trouble, Wish
from kcli.tui.cells import Line
from kcli.tui.rewind_form import (
    CHOICES,
    MEMBERS,
    SCOPE,
    TARGET,
    VALUE,
    RewindForm,
    Scope,
    overhang,
    proposal_lines,
    result_lines,
)

FORM = RewindForm("g", (Scope(), Scope("t"), Scope("t", 3)))


def texts(lines: list[Line]) -> list[str]:
    return ["".join(cell.text for cell in line).rstrip() for line in lines]


def test_the_value_has_a_row_only_where_one_is_typed() -> None:
    assert FORM.rows == [TARGET, SCOPE, MEMBERS]
    assert FORM.changed(2).rows == [TARGET, VALUE, SCOPE, MEMBERS]


def test_rows_follow_each_other_in_a_circle() -> None:
    assert [FORM.to_row(step).row for step in (-1, 0, 1, 3)] == [MEMBERS, TARGET, SCOPE, TARGET]


def test_each_row_changes_its_own_part_of_the_wish() -> None:
    assert FORM.wish == Wish("g", "to", "earliest")
    assert FORM.changed(1).wish == Wish("g", "to", "latest")
    assert FORM.changed(-1).wish == Wish("g", "undo", "")
    scoped = FORM.to_row(1).changed(-1)
    assert scoped.wish == Wish("g", "to", "earliest", "t", 3)
    assert scoped.to_row(1).changed(1).wish.live


def test_a_target_without_its_value_is_not_complete() -> None:
    for place, choice in enumerate(CHOICES):
        assert RewindForm("g", choice=place).complete == (choice.fixed is not None)
    assert RewindForm("g", choice=2, value=" @-1h ").complete
    assert RewindForm("g", choice=2, value=" @-1h ").wish.value == "@-1h"
    assert not RewindForm("g", choice=2, value="  ").complete


def test_another_target_forgets_the_value() -> None:
    assert RewindForm("g", choice=3, value="1200").changed(1).value == ""


def test_lines_are_as_wide_as_the_dialog_and_show_no_control_characters() -> None:
    form = RewindForm("g", (Scope("\x1b[31m" + "t" * 90),))
    for line in form.lines(60):
        assert len("".join(cell.text for cell in line)) <= 60
        assert "\x1b" not in "".join(cell.text for cell in line)


def test_a_plan_is_followed_by_what_will_not_be_done_and_a_caution() -> None:
    proposal = Proposal(
        Wish("g"),
        "Rewind group g\n  to: 1",
        (Trouble("t-0 refused", do="wait"),),
        caution="Profile p is protected.",
    )
    assert texts(proposal_lines(proposal, 40)) == [
        "Rewind group g", "  to: 1", "t-0 refused", "  do: wait", "Profile p is protected.",
    ]  # fmt: skip


TABLE = (
    "  TOPIC    PART   COMMITTED  →  NEW   NOTE",
    "  orders      0         900  →  100   clamped to log start",
)


@pytest.mark.parametrize(
    ("width", "shift", "seen"),
    [
        (80, 0, TABLE),
        (40, 0, ("  TOPIC    PART   COMMITTED  →  NEW   N…", "  orders      0         900  →  100   c…")),
        (
            40,
            16,
            ("  TOPIC    PART …EW   NOTE", "  orders      0 …00   clamped to log st…"),
        ),
        (20, 16, ("… COMMITTED  →  NEW…", "…       900  →  100…")),
    ],
)
def test_the_table_of_a_plan_is_not_wrapped_and_moves_sideways(
    width: int, shift: int, seen: tuple[str, ...]
) -> None:
    proposal = Proposal(Wish("g"), "\n".join(("Rewind", *TABLE, "word " * 12)), table=TABLE)
    lines = texts(proposal_lines(proposal, width, shift))
    assert tuple(lines[1:3]) == seen
    assert len(lines) > 4 or width == 80, "prose is wrapped"
    assert overhang(proposal, width) == max(0, len(TABLE[1]) - width)
    assert all(len(line) <= width for line in lines)


def test_moved_as_far_as_it_goes_the_end_of_the_widest_line_is_in_sight() -> None:
    proposal = Proposal(Wish("g"), "\n".join(TABLE), table=TABLE)
    for width in range(10, 60):
        lines = texts(proposal_lines(proposal, width, overhang(proposal, width)))
        assert lines[1].endswith("start")


def test_a_result_has_its_verdict_first_and_errors_in_three_parts() -> None:
    result = Result(("group g: 1 partition set",), (Trouble("it failed", "because", "again"),))
    assert texts(result_lines(result, 40)) == [
        "group g: 1 partition set", "it failed", "  why: because", "  do: again",
    ]  # fmt: skip
