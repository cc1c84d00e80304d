"""A moving picture as one SVG without scripts: frames side by side behind a window, moved by CSS keyframes. Pure.

A row that several frames show is there once. Who prefers reduced motion, and a viewer that moves nothing, sees the frame
that was chosen as the still one.
"""

from collections.abc import Sequence
from html import escape

from kcli.docgen.frames import Frame, Ink, Row

FONTS = '"Fira Code","DejaVu Sans Mono",Menlo,Consolas,monospace'
_SIZE, _WIDTH, _HEIGHT, _BASE = 14, 8.4, 17, 13
"""Of the font; of a cell; and where its text stands in it."""
_PAD, _BAR, _APART = 12, 34, 20
"""Around the screen; the bar with the caption above it; and between two frames, of which only one is to be seen."""


def moving_svg(frames: Sequence[Frame], still: int, *, moving: bool = True) -> str:
    """``still``: the number of the frame that is seen where nothing moves; not ``moving``: that one only."""
    columns = sum(len(text) for text, _ in frames[0].rows[0])
    width, height = round(columns * _WIDTH), len(frames[0].rows) * _HEIGHT + _BAR
    ground = frames[0].rows[-2][0][1].ground
    shown = frames if moving else frames[still : still + 1]
    still = still if moving else 0
    classes, rows = _Classes(), dict[Row, str]()
    step = width + _APART
    strip = []
    for number, frame in enumerate(shown):
        places = "".join(
            f'<use href="#{rows.setdefault(row, f"r{len(rows)}")}" y="{_BAR + y * _HEIGHT}"/>'
            for y, row in enumerate(frame.rows)
        )
        caption = f'<text class="c" x="{width / 2:g}" y="21">{escape(frame.caption)}</text>'
        strip.append(f'<g transform="translate({number * step})">{caption}{places}</g>')
    defined = "".join(f'<g id="{name}">{_row(row, ground, classes)}</g>' for row, name in rows.items())
    ink = frames[0].rows[0][0][1]
    style = (
        f"text{{font:{_SIZE}px {FONTS};white-space:pre}}.c{{text-anchor:middle;fill:{_caption(frames)}}}"
        + classes.css()
        + (_keyframes(frames, step) if moving else "")
    )
    dots = "".join(
        f'<circle cx="{_PAD + 8 + 18 * n}" cy="{_PAD + 5}" r="5" fill="{ink.ground}" stroke="{_caption(frames)}"'
        ' stroke-opacity=".5"/>'
        for n in range(3)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width + 2 * _PAD} {height + _PAD}" role="img"'
        f' xml:space="preserve"><title>kcli top</title><style>{style}</style><defs>{defined}</defs>'
        f'<rect width="{width + 2 * _PAD}" height="{height + _PAD}" rx="8" fill="{ground}"/>{dots}'
        f'<svg x="{_PAD}" width="{width}" height="{height}"><g class="film" transform="translate({-still * step})">'
        f"{''.join(strip)}</g></svg></svg>\n"
    )


class _Classes:
    """A class of CSS for each look of text."""

    def __init__(self) -> None:
        self._names: dict[Ink, str] = {}

    def name(self, ink: Ink) -> str:
        return self._names.setdefault(ink._replace(ground=""), f"s{len(self._names)}")

    def css(self) -> str:
        return "".join(
            f".{name}{{fill:{ink.text}"
            + (";font-weight:bold" if ink.bold else "")
            + (";font-style:italic" if ink.italic else "")
            + (";text-decoration:underline" if ink.underlined else "")
            + "}"
            for ink, name in self._names.items()
        )


def _row(row: Row, ground: str, classes: _Classes) -> str:
    grounds, texts, x = [], [], 0
    for text, ink in row:
        if ink.ground != ground:
            grounds.append(
                f'<rect x="{x * _WIDTH:g}" width="{len(text) * _WIDTH + 0.3:g}" height="{_HEIGHT}" fill="{ink.ground}"/>'
            )
        if shown := text.strip():
            left = x + len(text) - len(text.lstrip())
            length = f' textLength="{len(shown) * _WIDTH:g}"' if len(shown) > 1 else ""
            words = escape(shown, quote=False).replace(" ", "\u00a0")
            texts.append(
                f'<text class="{classes.name(ink)}" x="{left * _WIDTH:g}" y="{_BASE}"{length}>{words}</text>'
            )
        x += len(text)
    return "".join(grounds + texts)


def _keyframes(frames: Sequence[Frame], step: int) -> str:
    whole, at, steps = sum(frame.seconds for frame in frames), 0.0, []
    for number, frame in enumerate(frames):
        steps.append(f"{at / whole * 100:.3f}%{{transform:translate({-number * step}px)}}")
        at += frame.seconds
    steps.append(f"to{{transform:translate({-(len(frames) - 1) * step}px)}}")
    return (
        f".film{{animation:film {whole:.2f}s steps(1,end) infinite}}@keyframes film{{{''.join(steps)}}}"
        "@media(prefers-reduced-motion:reduce){.film{animation:none}}"
    )


def _caption(frames: Sequence[Frame]) -> str:
    """The colour of usual text."""
    return max((ink for row in frames[0].rows for _, ink in row), key=lambda ink: ink.bold).text
