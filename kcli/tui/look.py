"""Styles by name, from the colours of a theme; and the sign that goes with each meaning, for those who see no colours."""

from collections.abc import Mapping
from functools import lru_cache

from rich.color import Color as RichColor
from rich.color import ColorSystem
from rich.style import Style
from textual.color import Color
from textual.theme import Theme

from kcli.profiles.profile import COLORS
from kcli.tui.palette import contrast, cursor_background, readable

SIGNS = {"ok": "●", "warn": "▲", "bad": "✖", "unread": "◌"}
"""Of the meanings: as it should be, attention, wrong, not read."""
STYLES = (
    "",
    "head",
    "dim",
    *SIGNS,
    "accent",
    "title",
    "key",
    "tab",
    "stale",
    "cursor",
    "edge",
    *(f"on {one}" for one in COLORS),
)
"""``on red`` is a heading in a profile's colour; ``cursor`` the background of a row, ``edge`` the mark before it."""


_LIGHT_GREY, _GREY, _WHITE = 7, 8, 15
_STANDS_OUT = {True: 1.6, False: 4.0}
"""The contrast of a background to black (dark) or to white from which on it is more than the row under a cursor, and than
what is behind a dialog, which is darker than the usual one in both.
"""


def look(theme: Theme) -> Mapping[str, Style]:
    """The styles of ``STYLES``; for the same colours the same ones, since every line that is drawn asks for them."""
    return _styles(
        theme.dark, theme.primary, theme.secondary, theme.warning, theme.error, theme.accent, theme.success,
        theme.foreground, theme.background, theme.panel,
    )  # fmt: skip


@lru_cache(maxsize=4)
def _styles(dark: bool, primary: str, *others: str | None) -> Mapping[str, Style]:
    secondary, warning, error, accent, success, foreground, background, panel = others
    colours = Theme(
        name="", dark=dark, primary=primary, secondary=secondary, warning=warning, error=error, accent=accent,
        success=success, foreground=foreground, background=background, panel=panel,
    ).to_color_system().generate()  # fmt: skip
    ground, frame = Color.parse(colours["background"]), Color.parse(colours["panel"])
    edge = Color.parse(accent or primary)
    cursor = cursor_background(ground, edge)

    def style(name: str, *, bold: bool = False, italic: bool = False, underline: bool = False) -> Style:
        color = readable(Color.parse(name), ground, frame, cursor).rich_color
        return Style(color=color, bold=bold, italic=italic, underline=underline)

    text = foreground or colours["foreground"]
    grey = _grey(text, ground)
    frame_colour = edge.hex if edge.ansi is None else accent or primary
    return {
        **{f"on {color}": Style(bold=True, reverse=True, color=color) for color in COLORS},
        "": Style(),
        "head": style(grey, bold=True),
        "dim": style(grey),
        "ok": Style(),
        "warn": style(warning or "#f0b95a"),
        "bad": style(error or "#ff8a86", bold=True),
        "unread": style(grey, italic=True),
        "accent": style(frame_colour),
        "title": Style(bold=True),
        "key": Style(bold=True),
        "tab": style(frame_colour, bold=True, underline=True),
        "stale": style(grey, italic=True),
        "cursor": Style() if cursor == ground else Style(bgcolor=cursor.rich_color),
        "edge": style(frame_colour, bold=True),
    }


def in_sixteen_colours(style: Style, *, dark: bool) -> Style:
    """On black or on white: the nearest of sixteen colours to the background of a row is as light as a text. What stands
    out by its background, as the choice in a menu does, is the other way round.
    """
    ground, text = (0, _LIGHT_GREY) if dark else (_WHITE, 0)
    if style.bgcolor is not None and _stands_out(style.bgcolor, dark=dark):
        return style + Style(color=RichColor.from_ansi(ground), bgcolor=RichColor.from_ansi(text))
    color = style.color and style.color.downgrade(ColorSystem.STANDARD)
    if color is not None and color.number == _GREY and not dark:
        color = RichColor.from_ansi(0)
    return style + Style(color=color, bgcolor=RichColor.from_ansi(ground))


def without_colours(style: Style, *, dark: bool) -> Style:
    """Bold, dim, underlined; reversed what stands out by its background."""
    stands_out = style.bgcolor is not None and _stands_out(style.bgcolor, dark=dark)
    return style.without_color + Style(reverse=True) if stands_out else style.without_color


def _stands_out(ground: RichColor, *, dark: bool) -> bool:
    usual = Color(0, 0, 0) if dark else Color(255, 255, 255)
    return contrast(Color.from_rich_color(ground), usual) >= _STANDS_OUT[dark]


def _grey(text: str, ground: Color) -> str:
    """Text that stands back; what a terminal's own colours are is not known."""
    color = Color.parse(text)
    return text if color.ansi is not None or ground.ansi is not None else color.blend(ground, 0.35).hex
