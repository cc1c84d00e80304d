"""The colours of the screen, in dark and in light, and whether a text can be read on a background (WCAG 2.2). Pure.

Three meanings have a colour of their own: text is as it should be, amber wants attention, red is wrong. What could not be
read is grey. The accent is that of the frame: the title, and the edge of the row under the cursor.
"""

from textual.color import Color
from textual.theme import Theme

LEAST_CONTRAST = 4.5


def _frame(line: str, ground: str, choice: str, on_choice: str) -> dict[str, str]:
    """Borders, and scrollbars in the same colour, whatever the mouse does; what is chosen in a list stands out, also
    while the field above it has the keys.
    """
    bars = {f"scrollbar{state}": line for state in ("", "-hover", "-active")}
    grounds = {f"scrollbar-background{state}": ground for state in ("", "-hover", "-active")}
    more = {"border": line, "scrollbar-corner-color": ground, "block-cursor-text-style": "none"}
    chosen = {"block-cursor-blurred-background": choice, "block-cursor-blurred-foreground": on_choice}
    return {**bars, **grounds, **more, **chosen}


DARK = Theme(
    name="kcli-dark",
    primary="#82aaff", secondary="#a3abba", accent="#82aaff",
    success="#dde1e8", warning="#f0b95a", error="#ff8a86",
    foreground="#dde1e8", background="#12151b", surface="#191d25", panel="#1b2029",
    dark=True, variables=_frame("#3a4252", "#1b2029", "#82aaff", "#12151b"),
)  # fmt: skip
LIGHT = Theme(
    name="kcli-light",
    primary="#1f4fb5", secondary="#545b68", accent="#1f4fb5",
    success="#1f242c", warning="#855000", error="#b3161f",
    foreground="#1f242c", background="#fbfbf8", surface="#f2f3f0", panel="#edeff1",
    dark=False, variables=_frame("#b9bfca", "#edeff1", "#1f4fb5", "#fbfbf8"),
)  # fmt: skip


def contrast(one: Color, other: Color) -> float:
    """From 1, the same brightness, to 21, black on white."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def readable(color: Color, *backgrounds: Color) -> Color:
    """The colour, or the nearest one towards black or white that can be read on all of these."""
    if color.ansi is not None or any(one.ansi is not None for one in backgrounds):
        return color  # the terminal decides what it looks like
    dark = sum(map(_luminance, backgrounds)) / len(backgrounds) < 0.18
    end = Color(255, 255, 255) if dark else Color(0, 0, 0)
    shades = (color.blend(end, share / 20) for share in range(20))
    return next((one for one in shades if _readable(one, backgrounds)), end)


def cursor_background(background: Color, accent: Color) -> Color:
    """That of the row under the cursor: near enough for the colours of its cells."""
    return (
        background
        if background.ansi is not None or accent.ansi is not None
        else background.blend(accent, 0.13)
    )


def _readable(color: Color, backgrounds: tuple[Color, ...]) -> bool:
    return all(contrast(color, one) >= LEAST_CONTRAST for one in backgrounds)


def _luminance(color: Color) -> float:
    parts = (one / 12.92 if one <= 0.03928 else ((one + 0.055) / 1.055) ** 2.4 for one in color.normalized)
    red, green, blue = parts
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
