"""Styles by name, from the colours of a theme."""

from rich.style import Style
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


def look(theme: Theme) -> dict[str, Style]:
    """The styles of ``STYLES``."""
    dark = theme.dark
    return {
        **{f"on {color}": Style(bold=True, reverse=True, color=color) for color in COLORS},
        "": Style(),
        "head": Style(bold=True, color=theme.secondary or theme.primary),
        "dim": Style(dim=True),
        "ok": Style(color=theme.success or ("green" if dark else "dark_green")),
        "warn": Style(color=theme.warning or "yellow"),
        "bad": Style(color=theme.error or "red", bold=True),
        "accent": Style(color=theme.accent or theme.primary),
        "title": Style(bold=True),
        "key": Style(bold=True, color=theme.accent or theme.primary),
        "stale": Style(dim=True, italic=True),
    }
