"""``kcli help``: the help of a command, a page on a concept, the lines for a task, and a search in all of them."""

from collections.abc import Sequence

import click

from kcli.commands.shared.command import Group, command
from kcli.commands.shared.global_values import GlobalValues
from kcli.commands.shared.help import Block, blocks_text, command_blocks, concept_blocks, rows_of, show_help
from kcli.commands.shared.options import OfferedType, option
from kcli.commands.shared.usage import nearest, usage
from kcli.docgen.describe import Example, describe
from kcli.docgen.topics import CONCEPTS, OPTIONS, PROFILES, RELATED, TOPICS
from kcli.output.terminal import page


@command(
    "help",
    outputs=(),
    examples=(
        ("kcli help topics create", "the same as `kcli topics create --help`"),
        ("kcli help skip a poison message", "what to type for a task; `kcli help tasks` lists them"),
        ("kcli help --search lag", "tasks, concepts, commands and options with a word"),
        ("kcli help options", "all client options, for -X and -F"),
        ("kcli help profiles", "where options and secrets come from"),
        ("kcli help offsets", "a concept; also times, filters, formats, serdes, groups, mirror"),
        ("kcli help exit-codes", "what the exit codes mean"),
    ),
)
@click.argument("words", nargs=-1, type=OfferedType("command", TOPICS), metavar="[COMMAND…]")
@option(
    "--search", "search_for", metavar="WORD", help="list tasks, concepts, commands and options with this word"
)
@click.pass_context
def help_command(ctx: click.Context, words: tuple[str, ...], search_for: str | None) -> None:
    """Help on a command, a concept, a task.

    Without a COMMAND: the same as `kcli --help`, which also lists the concepts. Words that are no command and no concept
    are looked for in the tasks. Further words after --search WORD are looked for, too.
    """
    if search_for is not None:
        _page(ctx, _search(ctx, (search_for, *words)))
    elif words in ((OPTIONS,), (PROFILES,)):
        from kcli.docgen.option_pages import PROFILES_TEXT, options_text  # only these topics

        _page(ctx, options_text() if words == (OPTIONS,) else PROFILES_TEXT)
    elif len(words) == 1 and words[0] in CONCEPTS:
        _page(ctx, _concept(ctx, words[0]))
    else:
        try:
            context = context_of(ctx, words, TOPICS)
        except click.UsageError:
            blocks = _task_blocks(words)
            if not blocks:
                raise
            _page(ctx, blocks_text(blocks, _values(ctx)))
        else:
            show_help(context)


def _task_blocks(words: Sequence[str]) -> list[Block]:
    """The tasks with these words."""
    from kcli.docgen.search import tasks_with  # only for words that are no command

    found = tasks_with(words)
    examples = [Example("\n".join(task.lines), task.title) for task in found]
    return [("Tasks:", [row for example in examples for row in rows_of(example)])] if found else []


def _search(ctx: click.Context, words: Sequence[str]) -> str:
    """All that has these words; a usage error if nothing has."""
    from kcli.docgen.describe import walk  # only for a search
    from kcli.docgen.search import search  # only for a search

    found = search(words, walk(ctx.find_root().command, "kcli"))
    if not any(found):
        raise usage(
            f"help: nothing has {' '.join(words)!r}",
            why="it is in no task, concept, command or option",
            do="`kcli help` lists commands and concepts, `kcli help tasks` the tasks",
        )
    headed = (("Concepts:", found.concepts), ("Commands:", found.commands), ("Options:", found.options))
    blocks = [*(_task_blocks(words) if found.tasks else []), *(block for block in headed if block[1])]
    return blocks_text(blocks, _values(ctx))


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
        + (
            "`kcli help` lists commands and concepts, `kcli help tasks` the tasks"
            if topics
            else f"`{line}` lists the commands"
        ),
    )


def _concept(ctx: click.Context, name: str) -> str:
    """The page, with the commands below the command of the same name, if there is one."""
    from kcli.docgen.concepts import concept  # only these topics

    root = ctx.find_root()
    group = root.command.get_command(root, name) if isinstance(root.command, click.Group) else None
    commands = command_blocks(describe(group, ("kcli", name)).children) if group is not None else ()
    return blocks_text([*concept_blocks(concept(name)), *commands], _values(ctx))


def _page(ctx: click.Context, text: str) -> None:
    page(text, pager=not _values(ctx).no_pager)


def _values(ctx: click.Context) -> GlobalValues:
    return ctx.ensure_object(GlobalValues)
