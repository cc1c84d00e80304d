"""Usage errors (exit 2): what, why, and what to do."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from kcli.commands.shared.global_values import GlobalValues


WORDS = "kcli.words"
"""The words of a refused line behind its command, in the ``meta`` of its context."""


class Refused(click.UsageError):
    """A usage error with its own why and do."""

    def __init__(self, what: str, *, why: str, do: str, ctx: click.Context | None = None) -> None:
        super().__init__(what, ctx)
        self.why = why
        self.do = do


def usage(what: str, *, why: str, do: str, ctx: click.Context | None = None) -> Refused:
    """A usage error (exit 2), for a command to raise."""
    return Refused(what, why=why, do=do, ctx=ctx)


_OF_CLUSTERS = (
    "bootstrap_server", "command_config", "command_property", "profile", "client_id", "timeout",
    "allow_plaintext_secrets", "map_address",
)  # fmt: skip


def refuse_cluster_options(values: "GlobalValues", what: str, instead: str) -> None:
    """A usage error for options of a cluster, where none is contacted. ``what``: the command and its option."""
    own = what.rpartition(" ")[2]
    for name in _OF_CLUSTERS:
        if getattr(values, name):
            option = f"--{name.replace('_', '-')}"
            raise usage(
                f"{what} with {option}",
                why=f"{instead} and contacts no cluster, so {option} has no effect",
                do=f"leave out {own} or {option}",
            )


def unknown_command(ctx: click.Context, words: Sequence[str], known: Iterable[str]) -> Refused:
    """The error for an unknown command, the first of the words, with what does the same, or the most similar name."""
    from kcli.commands.shared.habits import instead_of_command  # a table for errors only

    path, name = ctx.command_path, words[0]
    habit = instead_of_command(path, name, words[1:])
    if habit is not None:
        from kcli.commands.shared.filled_line import filled  # likewise

        why, do = habit
        do = filled(do, path, words[1:])
        return Refused(f"{where(ctx)}there is no command {name!r}", why=why, do=do, ctx=ctx)
    near = nearest(name, known)
    return Refused(
        f"{where(ctx)}there is no command {name!r}",
        why="commands are never abbreviated, and nothing was run",
        do=(f"did you mean `{path} {near}`? " if near else "") + f"`{path} --help` lists the commands",
        ctx=ctx,
    )


def where(ctx: click.Context | None) -> str:
    """``topics create: ``, the command of an error; empty for the root, since every error begins with its name."""
    words = ctx.command_path.split()[1:] if ctx is not None else []
    return " ".join(words) + ": " if words else ""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The name most similar to ``name``, if any is."""
    from kcli.core.near_names import near_names  # for errors only

    close = near_names(name, known)
    return close[0] if close else None
