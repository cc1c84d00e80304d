"""Text in cells of a fixed width: the one way from any text to the terminal. Pure."""

from rich.cells import cell_len, set_cell_size

from kcli.core.classes import NamedTuple
from kcli.output.sanitise import visible_line

ELLIPSIS = "…"
_CHARACTERS = 16
"""Characters of a text that are looked at, for each column."""
_LEAST_SHORTENED = 8
_MARKS = 3
"""Combining characters that one character may have."""


class Cell(NamedTuple):
    """A text and the name of its style (``look.STYLES``); texts are literal, without markup."""

    text: str
    style: str = ""


Line = tuple[Cell, ...]


def fitted(text: str, width: int, *, right: bool = False) -> str:
    """The text in exactly ``width`` columns, shortened with an ellipsis; control characters become visible escapes."""
    if text.isascii() and text.isprintable():
        size = len(text)
        if size > width:
            return text[: width - 1] + ELLIPSIS if width > 0 else ""
        return text.rjust(width) if right else text.ljust(width)
    if width <= 0:
        return ""
    most = _CHARACTERS * (width + 1)
    shown = _unflooded(visible_line(text[:most]))
    if len(text) > most and cell_len(shown) <= width:
        shown += ELLIPSIS
    size = cell_len(shown)
    if size > width:
        return set_cell_size(shown, width - 1) + ELLIPSIS
    return " " * (width - size) + shown if right else shown + " " * (width - size)


def shortened(text: str, width: int) -> str:
    """A name without its middle, where it is too long; one that is not ASCII, as it is."""
    if len(text) <= width or width < _LEAST_SHORTENED or not (text.isascii() and text.isprintable()):
        return text
    end = (width - 1) // 2
    return f"{text[: width - 1 - end]}{ELLIPSIS}{text[len(text) - end :]}"


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """One line in as many rows as it needs, broken at blanks where it can be; rows after the first begin with
    ``indent``. Control characters become visible escapes.
    """
    rows = []
    shown, room, lead = visible_line(text), max(1, width), ""
    at = 0
    while at < len(shown):
        window = lead + shown[at : at + 2 * room]
        cut = min(_fitting(window, room), len(window))
        if at + len(window) - len(lead) < len(shown) or cut < len(window):
            blank = window.rfind(" ", len(window) - len(window.lstrip()) + 1, cut + 1)
            cut = max(blank if blank > 0 else cut, len(lead) + 1)
        rows.append(window[:cut].rstrip(" ") if cut < len(window) else window)
        at += cut - len(lead)
        while at < len(shown) and shown[at] == " ":
            at += 1
        lead = indent if room > len(indent) + 8 else ""
    return rows or [""]


def _fitting(text: str, width: int) -> int:
    """How many characters of the text fit."""
    used = 0
    for number, char in enumerate(text):
        used += cell_len(char)
        if used > width:
            return number
    return len(text)


def _unflooded(text: str) -> str:
    """Without most combining characters, where so many follow each other that they would cover the lines around."""
    if len(text) <= cell_len(text):
        return text
    kept, marks = [], 0
    for char in text:
        marks = 0 if cell_len(char) else marks + 1
        if marks <= _MARKS:
            kept.append(char)
    return "".join(kept)


def width_of(text: str) -> int:
    """The columns that the text takes."""
    return cell_len(visible_line(text))
