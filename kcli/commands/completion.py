"""``kcli completion``: the script that makes a shell complete kcli's commands, options and names."""

from typing import Any

import click

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import option
from kcli.commands.shared.usage import nearest, usage, where
from kcli.docgen.describe import walk

SHELLS = ("bash", "zsh", "fish")


class ShellType(click.Choice[str]):
    """One of the shells for which there is a script."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ARG002
        """The shell; for another one an error that says which there are."""
        if value in SHELLS:
            return str(value)
        near = nearest(value, SHELLS)
        raise usage(
            f"{where(ctx)}there is no script for {value!r}",
            why=f"there are scripts for {', '.join(SHELLS[:-1])} and {SHELLS[-1]}",
            do=f"did you mean {near}?" if near else "name the one that you run: `echo $SHELL` shows it",
            ctx=ctx,
        )


@command(
    "completion",
    outputs=(),
    exits={7: "with --install: a file of another program is in its place"},
    examples=(
        ("kcli completion bash --install", "put the script where bash-completion looks for it"),
        ("kcli completion zsh > ~/.zsh/_kcli", "to a file of your own"),
        ("kcli completion fish --install --dry-run", "only show where it would go"),
    ),
)
@click.argument("shell", type=ShellType(SHELLS), metavar="|".join(SHELLS))
@option("--install", is_flag=True, help="write the script to where the shell looks for it in the home folder")
@pass_invocation
def completion(inv: Invocation, shell: str, install: bool) -> None:
    """Print the completion script of a shell.

    With --install it is written to where the shell looks for scripts of this user, and kcli prints what remains to be
    done. The script completes commands, options and their values by itself; for names of groups and topics it asks the
    cluster that the line and the configuration name, for 0.3 s at most, and remembers them for a minute.
    """
    from kcli.docgen.scripts import script  # not for --help
    from kcli.flows.completion.install import place, write

    text = script(shell, list(walk(click.get_current_context().find_root().command, "kcli")))
    if not install:
        inv.out.text(text)
        return
    path, to_do = place(shell)
    if inv.dry_run:
        inv.talk.note(f"would write {path}")
        return
    write(path, text)
    inv.talk.note(f"wrote {path}")
    inv.talk.note(to_do)
