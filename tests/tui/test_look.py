"""Styles are made once for the colours of a theme, not for each line that is drawn."""

from textual.theme import BUILTIN_THEMES

from kcli.tui.look import STYLES, look


def test_every_theme_has_every_style_and_the_same_ones_each_time() -> None:
    for theme in BUILTIN_THEMES.values():
        assert set(look(theme)) == set(STYLES)
        assert look(theme) is look(theme)


def test_themes_of_other_colours_have_other_styles() -> None:
    assert look(BUILTIN_THEMES["textual-dark"])["ok"] != look(BUILTIN_THEMES["dracula"])["ok"]
