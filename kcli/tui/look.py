"""Styles by name, from the colours of a theme."""

from collections.abc import Mapping
from functools import lru_cache

from rich.color import Color as RichColor
from rich.style import Style
from textual.color import Color
from textual.theme import Theme

from kcli.profiles.profile import COLORS

STYLES = (
    "",
    "head",
    "dim",
    "ok",
    "warn",
    "bad",
    "accent",
    "title",
    "key",
    "stale",
    *(f"on {one}" for one in COLORS),
)
"""``on red`` is that of a heading in a profile's colour."""


def look(theme: Theme) -> Mapping[str, Style]:
    """The styles of ``STYLES``; for the same colours the same ones, since every line that is drawn asks for them."""
    return _styles(
        theme.dark, theme.primary, theme.secondary, theme.success, theme.warning, theme.error, theme.accent
    )


@lru_cache(maxsize=4)
def _styles(
    dark: bool,
    primary: str,
    secondary: str | None,
    success: str | None,
    warning: str | None,
    error: str | None,
    accent: str | None,
) -> Mapping[str, Style]:
    return {
        **{f"on {color}": Style(bold=True, reverse=True, color=color) for color in COLORS},
        "": Style(),
        "head": Style(bold=True, color=_color(secondary or primary)),
        "dim": Style(dim=True),
        "ok": Style(color=_color(success) or ("green" if dark else "dark_green")),
        "warn": Style(color=_color(warning) or "yellow"),
        "bad": Style(color=_color(error) or "red", bold=True),
        "accent": Style(color=_color(accent or primary)),
        "title": Style(bold=True),
        "key": Style(bold=True, color=_color(accent or primary)),
        "stale": Style(dim=True, italic=True),
    }


def _color(name: str | None) -> RichColor | None:
    """Themes name colours in Textual's words, ``ansi_cyan`` among them, which Rich does not know."""
    return None if name is None else Color.parse(name).rich_color
