"""One HTML page that needs nothing else: no script, no network; and plots for it, as SVG. It is well-formed XML, too.
Pure.

The axis of a plot is linear or logarithmic; the names of the lines are written in their colours, without a legend.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from itertools import pairwise
from math import ceil, floor, log10

from kcli.core.classes import dataclass
from kcli.output.sanitise import visible

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #1b1f24 }
h1 { font-size: 1.5rem } h2 { margin-top: 2.5rem; border-bottom: 1px solid #d0d7de } h3 { margin-bottom: .3rem }
table { border-collapse: collapse } th, td { text-align: left; padding: .15rem .9rem .15rem 0; vertical-align: top }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums }
td code { word-break: break-all } pre { background: #f6f8fa; padding: .8rem; overflow-x: auto }
svg { display: block; width: 100%; height: auto }
.note { color: #57606a } .bad { color: #b3261e; font-weight: 600 }
@media (prefers-color-scheme: dark) { body { background: #0d1117; color: #e6edf3 } pre { background: #161b22 }
  .bad { color: #ff8a80 } }
"""

PLOT_STYLE = """
rect { fill: #2f6fb4 } rect.high { fill: #c2571a }
text { font: 11px system-ui, sans-serif; fill: #57606a }
.grid { stroke: #d0d7de; stroke-width: 1 } .line { fill: none; stroke-width: 1.6; stroke-linejoin: round }
.c0 { stroke: #2f6fb4 } .c1 { stroke: #c2571a } .c2 { stroke: #7a8490 }
text.c0 { fill: #2f6fb4; stroke: none } text.c1 { fill: #c2571a; stroke: none } text.c2 { fill: #7a8490; stroke: none }
@media (prefers-color-scheme: dark) { .grid { stroke: #30363d } text { fill: #9aa4af }
  .c0 { stroke: #6cb0f5 } .c1 { stroke: #f0985c } text.c0 { fill: #6cb0f5 } text.c1 { fill: #f0985c } }
"""
"""The look of what is drawn in a page."""


def html_page(title: str, note: str, body: str) -> str:
    """The page. ``title`` and ``note`` are text, ``body`` is HTML."""
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/><title>{text(title)}</title>'
        f'<meta name="viewport" content="width=device-width"/><style>{_STYLE}{PLOT_STYLE}</style></head><body>\n'
        f'<h1>{text(title)}</h1>\n<p class="note">{text(note)}</p>\n{body}</body></html>\n'
    )


def text(words: str) -> str:
    """Text as HTML; what cannot be shown, and may not be in XML, is made visible."""
    return escape(visible(words))


def html_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells are HTML; a head that begins with # is of numbers."""
    kinds = [' class="number"' if head.startswith("#") else "" for head in heads]
    cells = "".join(
        f"<th{kind}>{head.removeprefix('#')}</th>" for kind, head in zip(kinds, heads, strict=True)
    )
    top = f"<tr>{cells}</tr>" if any(heads) else ""
    lines = "".join(
        "<tr>" + "".join(f"<td{kind}>{cell}</td>" for kind, cell in zip(kinds, row, strict=True)) + "</tr>"
        for row in rows
    )
    return f"<table>{top}{lines}</table>\n"


_WIDTH, _HEIGHT = 900, 260
_LEFT, _RIGHT, _TOP, _FOOT = 70, 26, 22, 34
_DASHES = ("", ' stroke-dasharray="7 3"', ' stroke-dasharray="2 3"')

Point = tuple[float, float | None]
"""A place; None is a gap in the line."""


@dataclass(frozen=True, slots=True)
class Axis:
    """``ticks`` are values with their texts, in rising order; the first and last are its ends, without ``end``."""

    title: str
    ticks: Sequence[tuple[float, str]]
    logarithmic: bool = False
    end: float | None = None

    def share(self, value: float) -> float:
        """Where a value is between both ends: 0 to 1."""
        low, high = self.ticks[0][0], self.ticks[-1][0] if self.end is None else self.end
        if self.logarithmic:
            low, high, value = log10(low), log10(high), log10(max(value, low))
        return min(1.0, max(0.0, (value - low) / (high - low))) if high > low else 0.0


def from_zero(title: str, most: float, shown: Callable[[float], str]) -> Axis:
    """A linear axis of about five ticks."""
    if most <= 0:
        return Axis(title, [(0.0, shown(0.0)), (1.0, shown(1.0))])
    step = 10.0 ** floor(log10(most))
    while most / step < 2.5:
        step /= 2
    count = ceil(most / step - 1e-9)
    return Axis(title, [(step * number, shown(step * number)) for number in range(count + 1)])


def of_powers(title: str, least: float, most: float, shown: Callable[[float], str]) -> Axis:
    """A logarithmic axis with a tick at each power of ten, and the powers on both sides of the values."""
    low = floor(log10(max(least, 1.0)))
    high = max(low + 1, ceil(log10(max(most, 1.0)) - 1e-9))
    return Axis(
        title, [(10.0**power, shown(10.0**power)) for power in range(low, high + 1)], logarithmic=True
    )


def line_plot(across: Axis, up: Axis, lines: Sequence[tuple[str, Sequence[Point]]]) -> str:
    """At most three lines, each with its name."""
    parts = [_grid(across, up)]
    for number, (name, points) in enumerate(lines):
        path = " ".join(_segments(across, up, points))
        parts.append(
            f'<path class="line c{number}"{_DASHES[number]} d="{path}"><title>{text(name)}</title></path>'
        )
        parts.append(
            f'<text class="c{number}" x="{_LEFT + 8 + 120 * number}" y="14">'
            f"{('―', '– –', '· · ·')[number]} {text(name)}</text>"
        )
    return f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">{"".join(parts)}</svg>\n'


def _segments(across: Axis, up: Axis, points: Sequence[Point]) -> list[str]:
    """``M`` begins a line, ``L`` continues it; a point alone is drawn as a short one."""
    found = []
    before: float | None = None
    for place, value in points:
        if value is not None:
            x, y = _x(across, place), _y(up, value)
            found.append(
                f"{'M' if before is None else 'L'}{x:.1f} {y:.1f}" + ("h.8" if before is None else "")
            )
        before = value
    return found


def _grid(across: Axis, up: Axis) -> str:
    left, right, top, foot = _LEFT, _WIDTH - _RIGHT, _TOP, _HEIGHT - _FOOT
    rows = "".join(
        f'<line class="grid" x1="{left}" x2="{right}" y1="{_y(up, value):.1f}" y2="{_y(up, value):.1f}"/>'
        f'<text x="{left - 6}" y="{_y(up, value) + 4:.1f}" text-anchor="end">{text(shown)}</text>'
        for value, shown in up.ticks
    )
    columns = "".join(
        f'<line class="grid" y1="{top}" y2="{foot}" x1="{_x(across, value):.1f}" x2="{_x(across, value):.1f}"/>'
        f'<text x="{_x(across, value):.1f}" y="{foot + 14}" text-anchor="middle">{text(shown)}</text>'
        for value, shown in _readable(across)
    )
    return (
        f'{rows}{columns}<text x="{right}" y="{_HEIGHT - 4}" text-anchor="end">{text(across.title)}</text>'
        f'<text x="{right}" y="14" text-anchor="end">{text(up.title)}</text>'
    )


def _readable(axis: Axis) -> list[tuple[float, str]]:
    """Without ticks so near to the one before that their texts would overlap."""
    found = list(axis.ticks[:1])
    for _, tick in pairwise(axis.ticks):
        if (axis.share(tick[0]) - axis.share(found[-1][0])) * _WIDTH > 40:
            found.append(tick)
    return found


def _x(axis: Axis, value: float) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * axis.share(value)


def _y(axis: Axis, value: float) -> float:
    return _HEIGHT - _FOOT - (_HEIGHT - _FOOT - _TOP) * axis.share(value)
