"""A page of the manual as plain text, for pipes and for systems without man(1). Pure.

It reads the macros that ``man.py`` writes, and no others.
"""

import re
import textwrap
from collections.abc import Iterator

_INDENT, _TERM = 7, 14
_ESCAPES = {r"\e": "\\", r"\-": "-", r"\(aq": "'", r"\(ga": "`", r"\(ti": "~", r"\(ha": "^", r"\&": ""}
_ESCAPE = re.compile(r"\\(?:\[u([0-9A-F]{4,6})\]|f[BRI]|\(..|.)")


def man_text(page: str, width: int = 80) -> str:
    """The page, at most ``width`` columns wide where words allow it; lines of code are not wrapped."""
    return "\n".join(_lines(page.splitlines(), width)).strip("\n") + "\n"


def _lines(source: list[str], width: int) -> Iterator[str]:
    paragraph: list[str] = []
    term, indent, verbatim, names_term, below_heading = "", _INDENT, False, False, False

    def flushed() -> Iterator[str]:
        if paragraph:
            first = " " * indent
            if term:
                first = f"{' ' * _INDENT}{term:<{_TERM - _INDENT - 1}} "
                if len(first) > _TERM:
                    yield first.rstrip()
                    first = " " * indent
            yield from textwrap.wrap(
                " ".join(paragraph),
                width,
                initial_indent=first,
                subsequent_indent=" " * indent,
                break_on_hyphens=False,
            )
            paragraph.clear()

    for line in source:
        macro, _, rest = line.partition(" ")
        if line.startswith('.\\"') or macro in (".TH", ".RS", ".RE"):
            continue
        if macro in (".SH", ".SS", ".PP", ".TP", ".nf"):
            yield from flushed()
            term, indent, names_term = "", _INDENT, macro == ".TP"
            verbatim = macro == ".nf"
            if macro in (".SH", ".SS"):
                yield from ("", f"{' ' * (0 if macro == '.SH' else 3)}{_plain(rest)}")
            elif macro in (".PP", ".TP") and not below_heading:
                yield ""
            below_heading = macro in (".SH", ".SS")
        elif macro == ".fi":
            verbatim = False
        elif verbatim:
            yield " " * (_INDENT + 4) + _plain(line)
        elif names_term:
            term, indent, names_term = _plain(line), _TERM, False
        else:
            paragraph.append(
                _plain(rest.replace(" ", "") if macro == ".BR" else rest if macro == ".B" else line)
            )
    yield from flushed()


def _plain(text: str) -> str:
    return _ESCAPE.sub(_sign, text)


def _sign(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16))
    return "" if match[0].startswith(r"\f") else _ESCAPES[match[0]]
