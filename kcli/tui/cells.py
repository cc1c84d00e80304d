"""Text in cells of a fixed width: the one way from any text to the terminal. Pure."""

from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

from kcli.output.sanitise import visible_line

ELLIPSIS = "…"


class Cell(NamedTuple):
    """A text and the name of its style (``look.STYLES``); texts are literal, without markup."""

    text: str
    style: str = ""


Line = tuple[Cell, ...]


def fitted(text: str, width: int, *, right: bool = False) -> str:
    """The text in exactly ``width`` columns, shortened with an ellipsis; control characters become visible escapes."""
    shown = visible_line(text)
    size = cell_len(shown)
    if size > width:
        return set_cell_size(shown, width - 1) + ELLIPSIS if width > 0 else ""
    return " " * (width - size) + shown if right else shown + " " * (width - size)


def width_of(text: str) -> int:
    """The columns that the text takes."""
    return cell_len(visible_line(text))
