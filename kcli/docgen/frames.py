"""Frames of a moving picture: what a terminal shows, row by row, and for how long. Pure, but for ``frame_of``, which
reads them from the screen of ``kcli top``.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from kcli.core.classes import NamedTuple

if TYPE_CHECKING:
    from kcli.tui.app import TopApp


class Ink(NamedTuple):
    """How text looks: colours as ``#rrggbb``."""

    text: str
    ground: str
    bold: bool = False
    italic: bool = False
    underlined: bool = False


Row = tuple[tuple[str, Ink], ...]
"""Runs of text of the same look, from the left."""


class Frame(NamedTuple):
    """``rows`` from the top, for ``seconds``; ``caption`` says what is seen."""

    rows: tuple[Row, ...]
    seconds: float
    caption: str = ""


def frame_of(app: TopApp, seconds: float, caption: str) -> Frame:
    """What is on the screen now, with what is seen of other screens behind it."""
    update: Any = app.screen._compositor.render_update(full=True, screen_stack=app._background_screens)
    usual = app.current_theme.foreground or "#dddddd", app.current_theme.background or "#111111"
    rows = []
    for strips in update.strips:
        cells = [
            (segment.text, _ink(segment.style, *usual))
            for strip in strips
            for segment in strip
            if segment.text and not segment.control
        ]
        runs = groupby(cells, key=lambda cell: cell[1])
        rows.append(tuple(("".join(text for text, _ in run), ink) for ink, run in runs))
    return Frame(tuple(rows), seconds, caption)


def joined(frames: list[Frame]) -> list[Frame]:
    """Those that look the same follow each other as one."""
    found: list[Frame] = []
    for frame in frames:
        if found and found[-1][::2] == frame[::2]:
            found[-1] = found[-1]._replace(seconds=found[-1].seconds + frame.seconds)
        else:
            found.append(frame)
    return found


def _ink(style: Any, text: str, ground: str) -> Ink:
    if style is None:
        return Ink(text, ground)
    front, behind = (
        usual if colour is None or colour.is_default else colour.get_truecolor().hex
        for colour, usual in ((style.color, text), (style.bgcolor, ground))
    )
    if style.reverse:
        front, behind = behind, front
    return Ink(front, behind, bool(style.bold), bool(style.italic), bool(style.underline))
