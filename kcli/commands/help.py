"""``kcli help``: the help of a command, a page on a concept, the table of client options."""

from collections.abc import Sequence

import click

from kcli.commands.shared.command import Group, command
from kcli.commands.shared.global_values import GlobalValues
from kcli.commands.shared.help import concept_text, show_help
from kcli.commands.shared.options import OfferedType
from kcli.commands.shared.usage import nearest, usage
from kcli.docgen.topics import CONCEPTS, OPTIONS, PROFILES, RELATED, TOPICS
from kcli.output.terminal import page


@command(
    "help",
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
    if words in ((OPTIONS,), (PROFILES,)):
        from kcli.docgen.option_pages import PROFILES_TEXT, options_text  # only these topics

        _page(ctx, options_text() if words == (OPTIONS,) else PROFILES_TEXT)
    elif len(words) == 1 and words[0] in CONCEPTS:
        _page(ctx, _concept(words[0]))
    else:
        show_help(context_of(ctx, words, TOPICS))


def context_of(ctx: click.Context, words: tuple[str, ...], topics: Sequence[str]) -> click.Context:
    """The context in which the words' command would run; ``topics`` are words that the caller explains besides."""
    here = ctx.find_root()
    for word in words:
        group = here.command
        found = group.get_command(here, word) if isinstance(group, click.Group) else None
        if found is None:
            raise _unknown(ctx, here, word, topics if here.parent is None else ())
        name = group.aliases.get(word, word) if isinstance(group, Group) else word
        here = click.Context(found, info_name=name, parent=here, obj=here.obj)
    return here


def _unknown(ctx: click.Context, here: click.Context, word: str, topics: Sequence[str]) -> click.UsageError:
    """The error for a word that names nothing, with what does the same, or the line that names the nearest."""
    from kcli.commands.shared.habits import instead_of_command  # a table for errors only

    before = here.command_path.split()[1:]
    line = " ".join([ctx.command_path, *before])
    if not isinstance(here.command, click.Group):
        return usage(
            f"{ctx.info_name}: nothing is called {' '.join([*before, word])!r}",
            why=f"`{here.command_path}` has no commands below it",
            do=f"`{line}`",
        )
    habit = instead_of_command(here.command_path, word)
    if habit is not None:
        why, do = habit
        return usage(f"{ctx.info_name}: nothing is called {' '.join([*before, word])!r}", why=why, do=do)
    known = [*here.command.list_commands(here), *topics]
    near = RELATED.get(word) if RELATED.get(word) in topics else nearest(word, known)
    return usage(
        f"{ctx.info_name}: nothing is called {' '.join([*before, word])!r}",
        why="it is neither a command nor a concept"
        if topics
        else f"`{here.command_path}` has no such command",
        do=(f"did you mean `{line} {near}`? " if near else "")
        + ("`kcli help` lists commands and concepts" if topics else f"`{line}` lists the commands"),
    )


def _concept(name: str) -> str:
    from kcli.docgen.concepts import concept  # only these topics

    return concept_text(concept(name), click.get_current_context().ensure_object(GlobalValues))


def _page(ctx: click.Context, text: str) -> None:
    page(text, pager=not ctx.ensure_object(GlobalValues).no_pager)
