"""``kcli man``: the manual page of a command, of the client options or of a concept."""

import click

from kcli.commands.shared.command import command
from kcli.commands.shared.options import OfferedType
from kcli.docgen.topics import CONCEPTS, OPTIONS


@command(
    "man",
    changes=False,
    local=True,
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
    from kcli.commands._man_run import run  # not for --help

    run(ctx, words)
