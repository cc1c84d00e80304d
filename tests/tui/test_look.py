"""Colours that can be read, on every theme; each meaning has a sign too. Styles are made once for each set of colours."""

import pytest
from rich.palette import Palette
from rich.style import Style
from rich.terminal_theme import DEFAULT_TERMINAL_THEME
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

from kcli.tui.look import SIGNS, STYLES, in_sixteen_colours, look
from kcli.tui.palette import DARK, LEAST_CONTRAST, LIGHT, contrast, readable

OWN = (DARK, LIGHT)
TEXTS = ("", "head", "dim", *SIGNS, "accent", "title", "key", "stale", "edge")
COLOURED = [*OWN, *(one for one in BUILTIN_THEMES.values() if not one.ansi)]


def foreground(theme: Theme, style: Style) -> Color:
    name = theme.foreground or theme.to_color_system().generate()["foreground"]
    return Color.parse(name) if style.color is None else Color.from_rich_color(style.color)


def backgrounds(theme: Theme) -> list[Color]:
    """Of the table, of the lines around it, and of the row under the cursor."""
    made = theme.to_color_system().generate()
    cursor = look(theme)["cursor"].bgcolor
    assert cursor is not None
    return [Color.parse(made["background"]), Color.parse(made["panel"]), Color.from_rich_color(cursor)]


@pytest.mark.parametrize("theme", COLOURED, ids=lambda one: one.name)
def test_what_has_a_colour_can_be_read_on_every_background(theme: Theme) -> None:
    for name in TEXTS:
        style = look(theme)[name]
        if style.color is None and theme not in OWN:
            continue  # the theme's own text
        for ground in backgrounds(theme):
            assert contrast(foreground(theme, style), ground) >= LEAST_CONTRAST, name


@pytest.mark.parametrize("theme", OWN, ids=lambda one: one.name)
def test_it_can_be_read_with_sixteen_colours_too(theme: Theme) -> None:
    palette: Palette = DEFAULT_TERMINAL_THEME.ansi_colors
    for name in TEXTS:
        for ground in backgrounds(theme):
            given = look(theme)[name] + Style(bgcolor=ground.rich_color)
            if given.color is None:
                given += Style(color=foreground(theme, given).rich_color)
            shown = in_sixteen_colours(given, dark=theme.dark)
            text, behind = (
                Color(*palette[one.number])
                for one in (shown.color, shown.bgcolor)
                if one and one.number is not None
            )
            assert contrast(text, behind) >= 4, name


@pytest.mark.parametrize("theme", OWN, ids=lambda one: one.name)
def test_the_meanings_differ_by_colour_and_by_sign(theme: Theme) -> None:
    styles = [look(theme)[name] for name in SIGNS]
    assert len({(foreground(theme, one).hex, one.italic) for one in styles}) == len(SIGNS)
    assert len(set(SIGNS.values())) == len(SIGNS)
    assert look(theme)["ok"] == look(theme)[""], "a screen of green says nothing"


def test_a_colour_that_can_be_read_stays_and_another_one_moves() -> None:
    black, white = Color(0, 0, 0), Color(255, 255, 255)
    amber = Color.parse("#f0b95a")
    assert readable(amber, black) == amber
    assert contrast(readable(amber, white), white) >= LEAST_CONTRAST
    assert contrast(black, white) == pytest.approx(21)
    assert readable(Color.parse("#004578"), black) != Color.parse("#004578")


def test_every_theme_has_every_style_and_the_same_ones_each_time() -> None:
    for theme in (*OWN, *BUILTIN_THEMES.values()):
        assert set(look(theme)) == set(STYLES)
        assert look(theme) is look(theme)


def test_themes_of_other_colours_have_other_styles() -> None:
    assert look(DARK)["warn"] != look(BUILTIN_THEMES["dracula"])["warn"]
