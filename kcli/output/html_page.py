"""One HTML page that needs nothing else: no script, no network. It is well-formed XML, too. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

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
