"""On terminals without boxes and bars nothing is written as an escape, and nothing moves."""

import pytest
from rich.cells import cell_len

from kcli.tui import figures
from kcli.tui.charset import in_charset
from kcli.tui.look import SIGNS

DRAWN = "─━│▌╭╮╰╯" + "▁▂▃▄▅▆▇█" + "".join(SIGNS.values()) + "▲▼▴▾≥●○◌▶‖↵↑↓←→" + figures.UNKNOWN + "…≈×·³"


@pytest.mark.parametrize("encoding", ["iso-8859-1", "ascii", "iso-8859-15", "cp1252"])
def test_every_character_that_is_drawn_has_a_likeness_of_the_same_width(encoding: str) -> None:
    shown = in_charset(DRAWN, encoding)
    shown.encode(encoding)
    assert cell_len(shown) == cell_len(DRAWN)
    assert "?" not in shown


def test_signs_and_bars_differ_from_one_another() -> None:
    assert len(set(in_charset("".join(SIGNS.values()), "ascii"))) == len(set(SIGNS.values()))
    assert len(set(in_charset("▁▂▃▄▅▆▇█", "ascii"))) == 8


def test_unicode_stays_as_it_is() -> None:
    assert in_charset(DRAWN, "utf-8") == DRAWN


def test_what_has_no_likeness_keeps_its_width() -> None:
    assert in_charset("é漢", "ascii") == "???"
    assert in_charset("é漢", "iso-8859-1") == "é??"
