"""``kcli help``: the help of a command, the table of client options, the table of exit codes."""

import textwrap

import click

from kcli.commands._options_help import options_text
from kcli.commands.shared.command import Group, command
from kcli.commands.shared.global_values import GlobalValues
from kcli.commands.shared.help import show_help
from kcli.commands.shared.types import OfferedType
from kcli.commands.shared.usage import unknown_command
from kcli.docgen.exit_codes import EXIT_CODES
from kcli.output.pager import page

TOPICS = ("options", "profiles", "exit-codes")


@command(
    "help",
    changes=False,
    examples=(
        ("kcli help topics create", "the same as `kcli topics create --help`"),
        ("kcli help options", "all client options, for -X and -F"),
        ("kcli help profiles", "where options and secrets come from"),
        ("kcli help exit-codes", "what the exit codes mean"),
    ),
)
@click.argument("words", nargs=-1, type=OfferedType("command", TOPICS), metavar="[COMMAND…]")
@click.pass_context
def help_command(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Help on a command, on client options, on profiles, on exit codes.

    Without a COMMAND: the same as `kcli --help`.
    """
    if words == ("options",):
        _page(ctx, options_text())
    elif words == ("profiles",):
        from kcli.commands._profiles_help import profiles_text  # only this topic

        _page(ctx, profiles_text())
    elif words == ("exit-codes",):
        _page(ctx, exit_codes_text())
    else:
        show_help(_context_of(ctx, words))


def _context_of(ctx: click.Context, words: tuple[str, ...]) -> click.Context:
    """The context in which the words' command would run."""
    here = ctx.find_root()
    for word in words:
        group = here.command
        found = group.get_command(here, word) if isinstance(group, click.Group) else None
        if found is None:
            known = group.list_commands(here) if isinstance(group, click.Group) else []
            raise unknown_command(here, word, [*known, *(TOPICS if here.parent is None else ())])
        name = group.aliases.get(word, word) if isinstance(group, Group) else word
        here = click.Context(found, info_name=name, parent=here, obj=here.obj)
    return here


def exit_codes_text() -> str:
    """The table of exit codes."""
    lines = ["Exit codes"]
    for code, meaning in EXIT_CODES:
        lines += textwrap.wrap(f"  {code:<13}{meaning}", 80, subsequent_indent=" " * 15)
    lines.append("When several apply: a signal, 5, 4, 7, 3, then 6 if anything was done, 8, 1.")
    return "\n".join(lines)


def _page(ctx: click.Context, text: str) -> None:
    page(text, pager=not ctx.ensure_object(GlobalValues).no_pager)
