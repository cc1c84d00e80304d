"""A moving picture as a terminal session that ``asciinema play`` plays: asciicast v2, with captions as markers. Pure.

https://docs.asciinema.org/manual/asciicast/v2/
"""

import json
from collections.abc import Sequence

from kcli.docgen.frames import Frame, Ink, Row

_BEGIN = "\x1b[?25l\x1b[2J"
_AT, _CODE = "\N{ESCAPE}[{};1H", "\N{ESCAPE}[{}m"
_END = "\x1b[0m\x1b[?25h"


def asciicast(frames: Sequence[Frame], title: str) -> str:
    """Lines of JSON. Of each frame only the rows are written that have changed."""
    width = sum(len(text) for text, _ in frames[0].rows[0])
    lines = [json.dumps({"version": 2, "width": width, "height": len(frames[0].rows), "title": title})]
    at, caption, shown = 0.0, "", dict[int, Row]()
    for number, frame in enumerate(frames):
        changed = {y: row for y, row in enumerate(frame.rows) if shown.get(y) != row}
        shown.update(changed)
        written = "".join(_AT.format(y + 1) + _row(row) for y, row in changed.items())
        lines.append(_event(at, "o", written if number else _BEGIN + written))
        if frame.caption != caption:
            caption = frame.caption
            lines.append(_event(at, "m", caption))
        at += frame.seconds
    lines.append(_event(at, "o", _END))
    return "".join(line + "\n" for line in lines)


def _event(at: float, kind: str, data: str) -> str:
    return json.dumps([round(at, 3), kind, data], ensure_ascii=False)


def _row(row: Row) -> str:
    return "".join(_CODE.format(_sgr(ink)) + text for text, ink in row)


def _sgr(ink: Ink) -> str:
    marks = [code for code, on in (("1", ink.bold), ("3", ink.italic), ("4", ink.underlined)) if on]
    return ";".join(["0", *marks, "38;2", *_rgb(ink.text), "48;2", *_rgb(ink.ground)])


def _rgb(colour: str) -> list[str]:
    return [str(int(colour[at : at + 2], 16)) for at in (1, 3, 5)]
