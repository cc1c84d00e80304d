"""What ``kcli man`` does: makes the page, and gives it to man(1), to a pager or to stdout."""

import os
import shutil
import sys

import click

from kcli.commands.help import context_of
from kcli.commands.shared.global_values import GlobalValues
from kcli.docgen import man, manual
from kcli.docgen.describe import walk
from kcli.docgen.man_text import man_text
from kcli.docgen.topics import CONCEPTS, OPTIONS
from kcli.output.terminal import is_terminal, page, shown_by, terminal_size

_WIDEST = 100


def run(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Shows the page."""
    source = source_of(ctx, words)
    pages = not ctx.ensure_object(GlobalValues).no_pager
    terminal = is_terminal(sys.stdout)
    if not (terminal and pages and is_terminal(sys.stdin) and _shown_by_man(source)):
        width = min(terminal_size(1).columns, _WIDEST) if terminal else 80
        page(man_text(source, width).rstrip("\n"), pager=pages)


def source_of(ctx: click.Context, words: tuple[str, ...]) -> str:
    """The page in the macros of man(7); a usage error for a command that does not exist."""
    docs = list(walk(ctx.find_root().command, "kcli"))
    shared = manual.shared_by_all(docs)
    topics = (OPTIONS, *CONCEPTS)
    section = words[0] if words[:1] in (("1",), ("5",), ("7",)) else ""
    words = words[1:] if section else words
    if len(words) == 1 and words[0] in topics and section != "1":
        return manual.page_on(words[0], shared)
    path = tuple(context_of(ctx, words, topics).command_path.split())
    return man.command_page(next(doc for doc in docs if doc.path == path), shared)


def _shown_by_man(source: str) -> bool:
    """Whether man(1) has shown it: not every man(1) reads a page from stdin."""
    if shutil.which("man") is None or os.environ.get("TERM") == "dumb":
        return False
    return shown_by("man -l - 2>/dev/null", source.encode())
