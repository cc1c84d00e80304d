"""``kcli help``: the help of a command, a page on a concept, the table of client options."""

import click

from kcli.commands._options_help import options_text
from kcli.commands.shared.command import Group, command
from kcli.commands.shared.global_values import GlobalValues
from kcli.commands.shared.help import concept_text, show_help
from kcli.commands.shared.types import OfferedType
from kcli.commands.shared.usage import unknown_command
from kcli.docgen.topics import CONCEPTS, OPTIONS, PROFILES, TOPICS
from kcli.output.pager import page


@command(
    "help",
    changes=False,
    local=True,
    examples=(
        ("kcli help topics create", "the same as `kcli topics create --help`"),
        ("kcli help options", "all client options, for -X and -F"),
        ("kcli help profiles", "where options and secrets come from"),
        ("kcli help offsets", "a concept; also times, formats, output, config, security"),
        ("kcli help exit-codes", "what the exit codes mean"),
    ),
)
@click.argument("words", nargs=-1, type=OfferedType("command", TOPICS), metavar="[COMMAND…]")
@click.pass_context
def help_command(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Help on a command, on client options, on concepts.

    Without a COMMAND: the same as `kcli --help`, which also lists the concepts.
    """
    if words == (OPTIONS,):
        _page(ctx, options_text())
    elif words == (PROFILES,):
        from kcli.commands._profiles_help import profiles_text  # only this topic

        _page(ctx, profiles_text())
    elif words == ("exit-codes",):
        _page(ctx, exit_codes_text())
    elif len(words) == 1 and words[0] in CONCEPTS:
        _page(ctx, _concept(words[0]))
    else:
        show_help(context_of(ctx, words))


def context_of(ctx: click.Context, words: tuple[str, ...]) -> click.Context:
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
    return _concept("exit-codes")


def _concept(name: str) -> str:
    from kcli.docgen.concepts import concept  # only these topics

    return concept_text(concept(name), click.get_current_context().ensure_object(GlobalValues))


def _page(ctx: click.Context, text: str) -> None:
    page(text, pager=not ctx.ensure_object(GlobalValues).no_pager)
