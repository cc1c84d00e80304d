"""Text as Markdown: escaped, with links from what it names to the pages on it. Pure."""

import re
from collections.abc import Callable, Iterator, Sequence
from posixpath import dirname, relpath

Linker = Callable[[str], str | None]
"""The page or anchor of what is written in backticks; None if there is none."""

_SPECIAL = re.compile(r"([\\`*_\[\]>|#{}])")
_CODE = re.compile(r"`([^`]+)`")
_OPTION = re.compile(r"(?<![\w/-])(-[A-Za-z]|--[a-z][a-z0-9-]*[a-z0-9])(?![\w-])")


def escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    return _SPECIAL.sub(r"\\\1", text.replace("&", "&amp;").replace("<", "&lt;"))


def code(text: str, target: str | None = None) -> str:
    """Text as code, which may be a link."""
    fence = "``" if "`" in text else "`"
    made = f"{fence} {text} {fence}" if "`" in text else f"`{text}`"
    return f"[{made}]({target})" if target else made


def prose(text: str, link: Linker) -> str:
    """A sentence: `code` and options in it are code, and links where ``link`` knows a target.

    A letter after a dash is an option only if it is known: -N may be a number.
    """
    return "".join(_parts(text, link))


def _parts(text: str, link: Linker) -> Iterator[str]:
    for number, part in enumerate(_CODE.split(text)):
        if number % 2:
            yield code(part, link(part))
            continue
        for index, word in enumerate(_OPTION.split(part)):
            target = link(word) if index % 2 else None
            yield code(word, target) if target or word.startswith("--") else escaped(word)


def block(text: str, language: str = "") -> str:
    """Lines of code."""
    return f"```{language}\n{text}\n```\n"


def definition(term: str, text: str) -> str:
    """A term with its meaning, both Markdown."""
    return f"{term}\n:   {text}\n"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Cells are Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def page(title: str, parts: Sequence[str], *, boost: float = 1.0) -> str:
    """A page. ``boost`` raises or lowers it among the results of a search."""
    head = f"---\nsearch:\n  boost: {boost:g}\n---\n\n" if boost != 1 else ""
    return head + f"# {title}\n\n" + "\n".join(parts)


def between(source: str, target: str) -> str:
    """The link from one page to another; ``target`` may have an anchor."""
    file, mark, anchor = target.partition("#")
    return (relpath(file, dirname(source)) if file != source or not mark else "") + mark + anchor
