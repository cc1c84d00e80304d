"""The help of a command or a concept: usage, what it does, examples, then options, and what is looked up last.

The variables and exit codes that all commands have are pages of their own: `kcli help environment`, `exit-codes`.

On a terminal headings are bold and lines have up to 100 columns; in a pipe it is plain text of 80 columns.
"""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from kcli.commands.registry import SECTIONS
from kcli.commands.shared.global_values import GlobalValues
from kcli.docgen.describe import CommandDoc, Example, OptionDoc, describe
from kcli.docgen.topics import TOPICS
from kcli.output.terminal import page, terminal_size, wants_colour

if TYPE_CHECKING:
    from kcli.docgen.concepts import Concept

COLUMN = 30
WIDEST = 100
"""More is hard to read."""
NO_SECTIONS: Mapping[str, Sequence[str]] = {}


def show_help(ctx: click.Context) -> None:
    """Prints the help on stdout, in a pager when it is longer than the terminal."""
    values = ctx.ensure_object(GlobalValues)
    page(help_text(ctx), pager=not values.no_pager)


def help_text(ctx: click.Context, *, width: int = 0) -> str:
    """The whole help; headings are bold where stdout shows colour."""
    bold = wants_colour(sys.stdout, os.environ, ctx.ensure_object(GlobalValues).color)
    doc = describe(ctx.command, tuple(ctx.command_path.split()), ctx)
    return "\n".join(_laid_out(_blocks(doc), width or _width(), bold)).rstrip("\n")


Block = tuple[str, Iterable[tuple[str, str] | str]]
"""Heading (may be empty) and lines: (term, explanation), or text to be wrapped."""


def blocks_text(blocks: Iterable[Block], values: GlobalValues, *, width: int = 0) -> str:
    """A page of these blocks; headings as in the help of a command."""
    bold = wants_colour(sys.stdout, os.environ, values.color)
    return "\n".join(_laid_out(blocks, width or _width(), bold)).rstrip("\n")


def concept_blocks(concept: Concept) -> list[Block]:
    """The page of a concept."""
    return [
        (section.heading and f"{section.heading}:", [row for line in section.lines for row in rows_of(line)])
        for section in concept.sections
    ]


def rows_of(line: tuple[str, str] | str | Example) -> Iterator[tuple[str, str] | str]:
    """A line of a section: an example is what it is for, then its lines to type."""
    if isinstance(line, Example):
        yield "", f"# {line.says}"
        yield from (("$", one) for one in line.line.splitlines())
    else:
        yield line


def _blocks(doc: CommandDoc) -> Iterator[Block]:
    """What is read first comes first: how to call it, what it does, lines to type; what is looked up comes last."""
    root = len(doc.path) == 1
    yield "Usage:", [("", doc.usage)]
    yield from _text_blocks(doc)
    yield from _example_block(doc)
    yield from command_blocks(doc.children, SECTIONS if root else NO_SECTIONS)
    column = min(COLUMN, max((len(_row(option)[0]) for option in doc.own_options), default=0))
    for heading, options in doc.own_groups:
        yield f"{heading or 'Options'}:", [_row(option, column) for option in options]
    if len(doc.paragraphs) > 1:
        yield "Details:", [line for paragraph in doc.paragraphs[1:] for line in (paragraph, "")][:-1]
    yield from _global_blocks(doc) if root else _short_global_block(doc)
    if not doc.is_group and doc.particular_environment:
        yield "Environment:", list(doc.particular_environment)
    if not doc.is_group and doc.particular_exit_codes:
        yield "Exit codes:", list(doc.particular_exit_codes)
    yield "See also:", list(_see_also(doc))


def command_blocks(
    children: Sequence[tuple[str, str]], sections: Mapping[str, Sequence[str]] = NO_SECTIONS
) -> Iterator[Block]:
    """Names of one width, so that the summaries of all sections are aligned; what no section has comes last."""
    column = max((len(name) for name, _ in children), default=0)
    rows = {name: (name.ljust(column), summary) for name, summary in children}
    for heading, names in sections.items():
        yield f"{heading}:", [rows.pop(name) for name in names if name in rows]
    if rows:
        yield "Commands:", list(rows.values())


def _global_blocks(doc: CommandDoc) -> Iterator[Block]:
    where = ", before or after the command"
    for heading, options in doc.global_groups:
        yield f"Global options{where}: {heading.lower()}", [_row(option) for option in options]
        where = ""


def _short_global_block(doc: CommandDoc) -> Iterator[Block]:
    """``-o`` in full, since its values depend on the command; of the others the names."""
    output = [option for option in doc.global_options if option.choices and "-o" in option.names]
    shown = [] if doc.is_group else [_row(option) for option in output]
    names = [option.names[0] for option in doc.global_options if shown == [] or option not in output]
    yield "Global options:", [*shown, ("", f"{' '.join(names)} (`{doc.path[0]} --help` explains them)")]


def _see_also(doc: CommandDoc) -> Iterator[tuple[str, str]]:
    yield f"kcli man {' '.join(doc.path[1:])}".rstrip(), "the same as a page of the manual"
    if len(doc.path) == 1:
        yield "kcli help WORD", ", ".join(TOPICS)
        yield "kcli help --search WORD", "tasks, concepts, commands and options with this word"
    elif not doc.is_group:
        yield "kcli help WORD", ", ".join(doc.concepts)
    if len(doc.path) > 2:
        yield f"{' '.join(doc.path[:-1])} --help", "the commands beside it"


def _text_blocks(doc: CommandDoc) -> Iterator[Block]:
    """The summary and what follows it, as one paragraph unless that is laid out."""
    first = doc.paragraphs[:1]
    if first and not first[0].startswith((" ", "\t")):
        yield "", [f"{doc.summary}. {first[0]}"]
    else:
        yield "", [f"{doc.summary}."]
        yield from (("", [paragraph]) for paragraph in first)


def _example_block(doc: CommandDoc) -> Iterator[Block]:
    if doc.examples:
        yield (
            "Examples:",
            [text for example in doc.examples for text in rows_of(example)],
        )


def _row(option: OptionDoc, column: int = 0) -> tuple[str, str]:
    """``column``: the least width of the term, so that the options of all groups are aligned."""
    short = option.names[0].startswith("--") and len(option.names[0]) > 2
    return f"{' ' * 4 if short else ''}{option.shown}".ljust(column), option.help


def _laid_out(blocks: Iterable[Block], width: int, bold: bool) -> Iterator[str]:
    for heading, lines in blocks:
        if heading:
            yield f"\x1b[1m{heading}\x1b[0m" if bold else heading
        rows = [line for line in lines if isinstance(line, tuple)]
        column = min(COLUMN, max((len(term) for term, _ in rows), default=0), max(width // 2 - 4, 0)) + 4
        for line in lines:
            yield from _line(line, width, column, "  " if heading else "")
        yield ""


def _line(line: tuple[str, str] | str, width: int, column: int, indent: str) -> Iterator[str]:
    if isinstance(line, str):
        yield from _paragraph(line, width, indent)
        return
    term, text = line
    if term == "$":
        yield f"  {text}"
    elif not term:
        yield from textwrap.wrap(
            text, width, initial_indent="  ", subsequent_indent="      ", break_on_hyphens=False
        )
    else:
        yield from _entry(term, text, width, column)


def _paragraph(text: str, width: int, indent: str) -> Iterator[str]:
    """Wrapped; an indented paragraph stays as it is, an empty one is an empty line."""
    if not text or text.startswith((" ", "\t")):
        yield from text.splitlines() or [""]
    else:
        words = " ".join(text.split())
        yield from textwrap.wrap(
            words, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
        )


def _entry(term: str, text: str, width: int, column: int) -> Iterator[str]:
    wrapped = textwrap.wrap(text, max(width - column, 20), break_on_hyphens=False) or [""]
    if len(term) + 4 > column:
        yield from _wrapped_term(term, width)
    else:
        yield f"  {term:<{column - 2}}{wrapped.pop(0)}".rstrip()
    for rest in wrapped:
        yield " " * column + rest


def _wrapped_term(term: str, width: int) -> Iterator[str]:
    yield from textwrap.wrap(
        term,
        width,
        initial_indent="  ",
        subsequent_indent="      ",
        break_on_hyphens=False,
        break_long_words=False,
    )


def _width() -> int:
    """Those of the terminal, at most 100; 80 in a pipe."""
    return max(40, min(WIDEST, terminal_size(1).columns))
