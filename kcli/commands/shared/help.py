"""The help of a command or a concept, laid out for 80 columns: usage, what it does, examples, options, global options."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from kcli.commands.shared.global_values import GlobalValues
from kcli.docgen.describe import CommandDoc, Example, OptionDoc, describe
from kcli.docgen.exit_codes import EXIT_CODES
from kcli.docgen.topics import TOPICS
from kcli.output.colour import wants_colour
from kcli.output.pager import page
from kcli.output.terminal_size import terminal_size

if TYPE_CHECKING:
    from kcli.docgen.concepts import Concept

COLUMN = 30


def show_help(ctx: click.Context) -> None:
    """Prints the help on stdout, in a pager when it is longer than the terminal."""
    values = ctx.ensure_object(GlobalValues)
    page(help_text(ctx), pager=not values.no_pager)


def help_text(ctx: click.Context, *, width: int = 0) -> str:
    """The whole help; headings are bold where stdout shows colour."""
    bold = wants_colour(sys.stdout, os.environ, ctx.ensure_object(GlobalValues).color)
    doc = describe(ctx.command, tuple(ctx.command_path.split()), ctx)
    blocks = _root_blocks(doc) if len(doc.path) == 1 and doc.is_group else _blocks(doc)
    return "\n".join(_laid_out(blocks, width or _width(), bold)).rstrip("\n")


def concept_text(concept: Concept, values: GlobalValues, *, width: int = 0) -> str:
    """The page of a concept; headings as in the help of a command."""
    bold = wants_colour(sys.stdout, os.environ, values.color)
    blocks = [
        (section.heading and f"{section.heading}:", [row for line in section.lines for row in _rows(line)])
        for section in concept.sections
    ]
    return "\n".join(_laid_out(blocks, width or _width(), bold)).rstrip("\n")


def _rows(line: tuple[str, str] | str | Example) -> Iterator[tuple[str, str] | str]:
    if isinstance(line, Example):
        yield from (("", f"# {line.says}"), ("$", line.line))
    else:
        yield line


Block = tuple[str, Iterable[tuple[str, str] | str]]
"""Heading (may be empty) and lines: (term, explanation), or text to be wrapped."""


def _root_blocks(doc: CommandDoc) -> Iterator[Block]:
    yield from _text_blocks(doc)
    yield "Usage:", [("", doc.usage)]
    yield "Commands:", list(doc.children)
    yield from _example_block(doc)
    yield "Global options (before or after the command):", [_row(option) for option in doc.global_options]
    yield "Exit codes:", list(EXIT_CODES)
    yield "More, by `kcli help WORD`:", [("", ", ".join(TOPICS))]


def _blocks(doc: CommandDoc) -> Iterator[Block]:
    yield "Usage:", [("", doc.usage)]
    yield from _text_blocks(doc)
    if doc.children:
        yield "Commands:", list(doc.children)
    yield from _example_block(doc)
    if doc.own_options:
        yield "Options:", [_row(option) for option in doc.own_options]
    if doc.global_options:
        short = [option.names[0] for option in doc.global_options]
        yield "Global options:", [("", f"{' '.join(short)} (`{doc.path[0]} --help` explains them)")]


def _text_blocks(doc: CommandDoc) -> Iterator[Block]:
    yield "", [doc.summary + "."]
    for paragraph in doc.paragraphs:
        yield "", [paragraph]


def _example_block(doc: CommandDoc) -> Iterator[Block]:
    if doc.examples:
        yield (
            "Examples:",
            [text for example in doc.examples for text in _rows(example)],
        )


def _row(option: OptionDoc) -> tuple[str, str]:
    short = option.names[0].startswith("--") and len(option.names[0]) > 2
    return (" " * 4 if short else "") + option.shown, option.help


def _laid_out(blocks: Iterable[Block], width: int, bold: bool) -> Iterator[str]:
    for heading, lines in blocks:
        if heading:
            yield f"\x1b[1m{heading}\x1b[0m" if bold else heading
        rows = [line for line in lines if isinstance(line, tuple)]
        column = min(COLUMN, max((len(term) for term, _ in rows), default=0), max(width // 2 - 4, 0)) + 4
        for line in lines:
            yield from _line(line, width, column)
        yield ""


def _line(line: tuple[str, str] | str, width: int, column: int) -> Iterator[str]:
    if isinstance(line, str):
        yield from _paragraph(line, width)
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


def _paragraph(text: str, width: int) -> Iterator[str]:
    """Wrapped; an indented paragraph stays as it is."""
    if text.startswith((" ", "\t")):
        yield from text.splitlines()
    else:
        yield from textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)


def _entry(term: str, text: str, width: int, column: int) -> Iterator[str]:
    wrapped = textwrap.wrap(text, max(width - column, 20), break_on_hyphens=False) or [""]
    if len(term) + 4 > column:
        yield f"  {term}"
    else:
        yield f"  {term:<{column - 2}}{wrapped.pop(0)}".rstrip()
    for rest in wrapped:
        yield " " * column + rest


def _width() -> int:
    """80 columns, fewer on a narrow terminal."""
    return max(40, min(80, terminal_size(1).columns))
