"""``--from-dir``: log directories that a command reads instead of asking brokers."""

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from kcli.commands.shared.global_values import GlobalValues
from kcli.commands.shared.options import option
from kcli.commands.shared.usage import usage

if TYPE_CHECKING:
    from kcli.profiles.resolve import Resolved


def from_dir_option(what: str = "read") -> Callable[[Any], Any]:
    """``--from-dir``; ``what`` the command does with what is there."""
    return option(
        "--from-dir",
        multiple=True,
        expose_value=False,
        callback=_keep,
        metavar="PATH",
        help=f"{what} what a broker has left in this log directory, folder of a partition or .log file, and ask no "
        "broker; repeatable",
    )


def _keep(ctx: click.Context, _param: click.Parameter, paths: tuple[str, ...]) -> None:
    """Keeps the absolute paths: tasks of a job run in other folders."""
    if ctx.resilient_parsing or not paths:
        return
    for path in paths:
        if not path.strip() or "," in path:
            raise usage(
                f"--from-dir {path!r}",
                why="paths are separated by commas"
                if path.strip()
                else "it is empty; perhaps a variable is not set",
                do="name the directory by a link without a comma" if path.strip() else "name a directory",
                ctx=ctx,
            )
    values = ctx.ensure_object(GlobalValues)
    values.from_dir = (*values.from_dir, *(os.path.abspath(os.path.expanduser(path)) for path in paths))


def topics_there(paths: Sequence[str]) -> tuple[str, ...]:
    """What is read where no topic is named: the topics of the given folders of partitions and .log files, or all but
    the internal ones of log directories.
    """
    if not paths:
        return ()
    from kcli.core.logdir.folders import find  # only where there are log directories

    topics = {os.path.abspath(one.path): one.tp.topic for one in find(paths).partitions}
    named = {topics.get(path, topics.get(os.path.dirname(path))) for path in paths}
    return ("*",) if None in named else tuple(sorted(filter(None, named)))


def check_ends(resolved: "Resolved", command: str, option: str) -> None:
    """A usage error for an option that goes on with what arrives where log directories are read."""
    if resolved.values.get("log_dirs"):
        raise usage(
            f"kcli {command}: {option} with {resolved.origins['log_dirs']}",
            why="nothing arrives in the log directories of a broker that is gone, and one that runs has it all",
            do=f"leave {option} out, or name the brokers: -b HOST:PORT",
        )
