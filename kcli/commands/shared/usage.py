"""Errors of usage (exit 2), in full words: what, why, and what to do."""

from collections.abc import Iterable

import click

from kcli.core.near_names import near_names


class Refused(click.UsageError):
    """A usage error with its own why and do."""

    def __init__(self, what: str, *, why: str, do: str, ctx: click.Context | None = None) -> None:
        super().__init__(what, ctx)
        self.why = why
        self.do = do


def usage(what: str, *, why: str, do: str, ctx: click.Context | None = None) -> Refused:
    """An error of usage (exit 2) in full words, for a command to raise."""
    return Refused(what, why=why, do=do, ctx=ctx)


def unknown_command(ctx: click.Context, name: str, known: Iterable[str]) -> Refused:
    """There is no such command: names what does the same, or the nearest."""
    from kcli.commands.shared.habits import instead_of_command

    path = ctx.command_path
    habit = instead_of_command(path, name)
    if habit is not None:
        why, do = habit
        return Refused(f"{where(ctx)}there is no command {name!r}", why=why, do=do, ctx=ctx)
    near = nearest(name, known)
    return Refused(
        f"{where(ctx)}there is no command {name!r}",
        why="commands are never abbreviated, and nothing was run",
        do=(f"did you mean `{path} {near}`? " if near else "") + f"`{path} --help` lists the commands",
        ctx=ctx,
    )


def where(ctx: click.Context | None) -> str:
    """``topics create: ``, the place of an error; nothing for the root, whose name every error begins with."""
    words = ctx.command_path.split()[1:] if ctx is not None else []
    return " ".join(words) + ": " if words else ""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The name most like ``name``, if any is like it."""
    close = near_names(name, known)
    return close[0] if close else None
