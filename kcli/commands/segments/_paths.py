"""The paths that the verbs of ``kcli segments`` get, and what was found in them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kcli.account.survey import Missing
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.options import option
from kcli.commands.shared.params import NAMED_TOPIC
from kcli.commands.shared.usage import usage
from kcli.core.errors import KcliError, UnreadableFileError

if TYPE_CHECKING:
    from kcli.core.logdir.folders import Found, PartitionFolder

F = TypeVar("F", bound=Callable[..., Any])


def path_arguments(function: F) -> F:
    """``PATH…``, at least one."""
    found: F = click.argument("paths", nargs=-1, required=True, metavar="PATH…", type=click.Path())(function)
    return found


def check_paths(paths: tuple[str, ...]) -> None:
    """A usage error if none of them exists; one that does not exist beside others is missing."""
    if not any(map(os.path.lexists, paths)):
        raise usage(f"{paths[0]} cannot be read", why="there is no such file or folder", do="check the path")


def topic_option(function: F) -> F:
    """``-t``: topics, or patterns of their names."""
    found: F = option(
        "-t",
        "--topic",
        "topics",
        multiple=True,
        type=NAMED_TOPIC,
        metavar="TOPIC",
        help="only this topic, or those whose names match this shell pattern; repeatable",
    )(function)
    return found


def read_folders(inv: Invocation, paths: tuple[str, ...], topics: tuple[str, ...] = ()) -> Found:
    """What is in the paths, of the chosen topics; the rest is reported as missing. Also notes what a broker has open."""
    from kcli.core.logdir.folders import find  # core is loaded when a command runs

    found = find(paths)
    chosen = chosen_partitions(inv, found.partitions, topics)
    for one in found.missing:
        inv.lacks(missing_file(one.path, one.why))
    return found._replace(partitions=tuple(chosen))


def note_live(inv: Invocation, found: Found) -> None:
    """Says once for each log directory that a broker has it open."""
    for log_dir in found.log_dirs:
        if log_dir.live:
            inv.talk.note(f"{log_dir.path}: a broker has it open; what it writes meanwhile is not included")


def chosen_partitions(
    inv: Invocation, partitions: tuple[PartitionFolder, ...], topics: tuple[str, ...]
) -> list[PartitionFolder]:
    """Those of the topics; all without any. A topic that is not there is missing."""
    if not topics:
        return list(partitions)
    from kcli.commands.shared.topic_choice import glob_regex  # likewise

    chosen: list[PartitionFolder] = []
    for topic in topics:
        pattern = re.compile(glob_regex(topic))
        some = [folder for folder in partitions if pattern.match(folder.tp.topic)]
        if not some:
            error = KcliError(
                f"there is no topic {topic} in these paths",
                do="`kcli segments list PATH --by topic` lists those that are there",
            )
            inv.lacks(Missing(topic, "", error))
        chosen += [folder for folder in some if folder not in chosen]
    return sorted(chosen, key=lambda folder: (folder.tp, folder.path))


def missing_file(path: str, why: str, what: str = "") -> Missing:
    """A file or folder that cannot be read."""
    error = UnreadableFileError(path, why=why, do=_remedy(why))
    return Missing(what or path, path if what else "", error)


def _remedy(why: str) -> str:
    if "ermission" in why:
        return "read it as the user of the broker, or change the permissions of a copy"
    return "name a log directory of a broker, a folder such as orders-3, or a .log file"


def cluster_of(found: Found) -> str | None:
    """The cluster that the log directories are of, if they are of one."""
    ids = {log_dir.meta.cluster_id for log_dir in found.log_dirs if log_dir.meta and log_dir.meta.cluster_id}
    return ids.pop() if len(ids) == 1 else None
