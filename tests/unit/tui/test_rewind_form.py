"""The dialog of a rewind: what its rows choose, and what is shown of plans, results and errors."""

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


def test_a_result_has_its_verdict_first_and_errors_in_three_parts() -> None:
    result = Result(("group g: 1 partition set",), (Trouble("it failed", "because", "again"),))
    assert texts(result_lines(result, 40)) == [
        "group g: 1 partition set", "it failed", "  why: because", "  do: again",
    ]  # fmt: skip
