"""T1, T2: whatever is in a field of a cluster, the terminal gets it as text, and lines keep their width."""

import re
import sys

import pytest
from rich.cells import cell_len

from kcli.core.admin.configs import ConfigEntry
from kcli.tui import config_columns
from kcli.tui.cells import ELLIPSIS, Cell, fitted, width_of
from kcli.tui.columns import layout, needs_of
from kcli.tui.config_columns import entry_rows
from tests.terminal import Terminal
from tests.tui.hostile_text import CONTROLS, INVISIBLE, strings

MADE = [sys.executable, "-m", "tests.tui.screen_process"]
_SEQUENCES = re.compile(
    r"\x1b\[[0-9;]*m|\x1b\[[0-9;]*H|\x1b\[\?(25|1000|1003|1004|1006|1015|1016|1049|2004|2026|2048|7)[hl]|\x1b\[[<>]1?[0-9]*u"
    r"|\x1b\[\?(2026|2048)\$p|\x1b\]22;[a-z-]*\x07|\x1b\]11;\?\x1b\\|\x1b\[c|\r\n"
)
"""All that Textual and kcli write themselves."""


@pytest.mark.case("T1", "T2")
def test_5000_strings_keep_the_width_of_their_cell_and_have_no_control_character() -> None:
    for text in strings(5_000):
        for width in (0, 1, 2, 7, 40):
            for right in (False, True):
                shown = fitted(text, width, right=right)
                assert cell_len(shown) == width, (text, width, shown)
                assert not CONTROLS.union(INVISIBLE).intersection(shown), (text, shown)
                assert not re.search("[\ud800-\udfff]", shown)
                assert len(shown) <= 4 * width + 4, "a flood of combining characters"


@pytest.mark.case("T1")
def test_markup_is_text() -> None:
    assert fitted("[red]a[/red][/", 16) == "[red]a[/red][/  "


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("abc", 5, "abc  "),
        ("abcdef", 4, "abc…"),
        ("", 2, "  "),
        ("abc", 0, ""),
        ("漢字", 4, "漢字"),
        ("漢字", 3, "漢…"),
        ("漢字x", 4, "漢 …"),
        ("a\tb", 6, "a\\tb  "),
        ("e\u0301te\u0301", 4, "e\u0301te\u0301 "),
        ("a" + "\u0301" * 20, 3, "a" + "\u0301" * 3 + "  "),
        ("x" * 10_000, 3, "xx…"),
        ("é" * 10_000, 3, "éé…"),
        ("a" + "\u0301" * 99, 3, "a" + "\u0301" * 3 + "… "),
        ("\u0301" * 10_000, 3, "\u0301" * 3 + "…  "),
    ],
)
def test_a_cell_is_filled_or_cut(text: str, width: int, shown: str) -> None:
    assert fitted(text, width) == shown


@pytest.mark.case("T1", "T2")
def test_hostile_configurations_of_a_group_are_text() -> None:
    for text in strings(1_000):
        entry = ConfigEntry(text, text, "group", is_sensitive=False)
        rows = entry_rows([entry], "", 0)
        for width in (40, 200):
            needs = needs_of(config_columns.COLUMNS, rows, width)
            line = layout(config_columns.COLUMNS, width, needs).line(rows[0])
            shown = "".join(cell.text for cell in line)
            assert not CONTROLS.union(INVISIBLE).intersection(shown), text
            assert cell_len(shown) <= width


def test_numbers_are_filled_on_the_left() -> None:
    assert fitted("12", 4, right=True) == "  12"
    assert fitted("é", 3, right=True) == "  é"
    assert (width_of("a\x1b"), ELLIPSIS, Cell("x").style) == (5, "…", "")


@pytest.mark.case("T1", "T2", "R22")
def test_a_screen_full_of_them_writes_nothing_of_theirs_but_text() -> None:
    """All screens, each field of the cluster, and a paste into the filter; the screen is as it should be after them."""
    with Terminal([*MADE, "hostile"], columns=140, rows=45) as terminal:
        terminal.wait("✖ stalled")
        for keys, shown in (
            ("2", "TOPIC "), ("\r", "ISR"), ("\t", "MEMBERS"), ("\t", "FROM"), ("3", "LEADERS"), ("4", "CAUGHT UP"),
            ("5", "TIMEOUT"), ("6", "ENDS READ"), ("7", "WHAT"), ("1", "VERDICT"), ("G", "VERDICT"), ("\r", "COMMITTED"),
            ("\t", "CLIENT"), ("\x1b", "VERDICT"),
            ("/", "VERDICT"), ("\x1b[200~\x1b]52;c;Zm9v\x07[red]\u202e\x9b31m(\x1b[201~", "VERDICT"), ("\r", "filter: "),
            ("\x1b", "VERDICT"), ("/", "VERDICT"), ("\x1b[200~a\u202eb\u200b\x9b\x1b[201~", "a\\u202eb"),
            ("\r", "a\\u202eb"),
        ):  # fmt: skip
            terminal.press(keys)
            terminal.wait(shown)
            terminal.watch(0.3)  # an escape is a key of its own, if nothing follows it
        terminal.press("\x03")  # the field may still have the focus
        assert terminal.ended() == 0, terminal.text
        left = _SEQUENCES.sub("", bytes(terminal.written).decode("utf-8"))
    assert CONTROLS.isdisjoint(left), sorted({left[max(0, at - 30) : at + 30] for at in _places(left)})[:5]
    assert INVISIBLE.isdisjoint(left)
    assert "[red]" in left
    assert "\\x1b]52;c;Zm9v" in left


def _places(text: str) -> list[int]:
    return [at for at, char in enumerate(text) if char in CONTROLS]
