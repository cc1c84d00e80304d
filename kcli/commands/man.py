"""``kcli man``: the manual page of a command, of the client options or of a concept: by man(1), a pager, or on stdout."""

import os
import shutil
import sys

import click

from kcli.commands.help import context_of
from kcli.commands.shared.command import command
from kcli.commands.shared.global_values import GlobalValues
from kcli.commands.shared.options import OfferedType
from kcli.docgen.describe import walk
from kcli.docgen.topics import CONCEPTS, OPTIONS
from kcli.output.terminal import is_terminal, page, shown_by, terminal_size

_WIDEST = 100


@command(
    "man",
    outputs=(),
    examples=(
        ("kcli man", "the first page of the manual"),
        ("kcli man groups rewind", "of a command"),
        ("kcli man options", "all client options"),
        ("kcli man offsets", "of a concept; `kcli help` lists them"),
        ("kcli man 1 config", "of the command config, not of the concept"),
    ),
)
@click.argument("words", nargs=-1, type=OfferedType("command", (OPTIONS, *CONCEPTS)), metavar="[COMMAND…]")
@click.pass_context
def man(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Show the manual page of a command or a concept.

    On a terminal man(1) shows it, or a pager where there is no man(1); in a pipe it is plain text. The pages need not be
    installed.

    Where a command and a concept have the same name, the concept is shown; the number of a section before the name
    chooses, as with man(1): 1 has the commands, 7 the concepts.
    """
    source = source_of(ctx, words)
    pages = not ctx.ensure_object(GlobalValues).no_pager
    terminal = is_terminal(sys.stdout)
    if not (terminal and pages and is_terminal(sys.stdin) and _shown_by_man(source)):
        from kcli.docgen.man_text import man_text  # not for --help

        width = min(terminal_size(1).columns, _WIDEST) if terminal else 80
        page(man_text(source, width).rstrip("\n"), pager=pages)


def source_of(ctx: click.Context, words: tuple[str, ...]) -> str:
    """The page in the macros of man(7); a usage error for a command that does not exist."""
    from kcli.docgen import man as pages  # not for --help
    from kcli.docgen import manual

    docs = list(walk(ctx.find_root().command, "kcli"))
    shared = manual.shared_by_all(docs)
    topics = (OPTIONS, *CONCEPTS)
    section = words[0] if words[:1] in (("1",), ("5",), ("7",)) else ""
    words = words[1:] if section else words
    if len(words) == 1 and words[0] in topics and section != "1":
        return manual.page_on(words[0], shared)
    path = tuple(context_of(ctx, words, topics).command_path.split())
    return pages.command_page(next(doc for doc in docs if doc.path == path), shared)


def _shown_by_man(source: str) -> bool:
    """Whether man(1) has shown it: not every man(1) reads a page from stdin."""
    if shutil.which("man") is None or os.environ.get("TERM") == "dumb":
        return False
    return shown_by("man -l - 2>/dev/null", source.encode())
