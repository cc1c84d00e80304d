"""``kcli groups import``: committed offsets from a file of kcli or another tool, planned and undone as a rewind is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kcli.commands.groups._topics_option import topics_option, within
from kcli.commands.groups._zookeeper_option import zookeeper_option
from kcli.commands.shared.cluster import connect, open_admin
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation, stdin_is_terminal
from kcli.commands.shared.params import TOPIC_MAP
from kcli.commands.shared.types import GROUP
from kcli.commands.shared.usage import usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcli.commands.shared.params import TopicPartitions
    from kcli.flows.transfer.importing import Wish
    from kcli.flows.transfer.saved_offset import OffsetFile

BY = ("offset", "time")


@command(
    "import",
    examples=(
        (
            "kcli groups import all.ndjson --dry-run",
            "the plan for all groups of the file; nothing is changed",
        ),
        ("kcli groups import billing.csv --group billing", "Kafka's csv of one group does not name it"),
        ("kcli groups import all.ndjson --by time", "in another cluster, of an export --with-time"),
        (
            "kcli groups import b.ndjson --group copy --map-topic orders=orders.v2 --by time",
            "for another topic",
        ),
        (
            "kcli groups import --zookeeper zk1:2181/kafka old.txt",
            "for consumers that keep offsets in ZooKeeper",
        ),
    ),
)
@click.argument("path", metavar="FILE")
@click.option(
    "--group",
    type=GROUP,
    metavar="NEW",
    help="the group that gets the offsets, instead of the one in the file",
)
@click.option(
    "--map-topic",
    "mapped",
    type=TOPIC_MAP,
    multiple=True,
    metavar="A=B",
    help="use topic B for topic A of the file; repeatable",
)
@click.option(
    "--by", type=click.Choice(BY), default=BY[0], show_default=True, help="how to find the new position"
)
@topics_option("only this topic of the file, or some of its partitions")
@click.option("--clamp", is_flag=True, help="move offsets outside the log to its nearer end")
@click.option("--force", is_flag=True, help="take offsets of another cluster or topic as they are")
@zookeeper_option("set the offsets in ZooKeeper, for old consumers; the previous ones are kept in a file")
@pass_invocation
def import_offsets(
    inv: Invocation,
    path: str,
    group: str | None,
    mapped: tuple[tuple[str, str], ...],
    by: str,
    scopes: tuple[TopicPartitions, ...],
    clamp: bool,
    force: bool,
    zookeeper: str | None,
) -> int:
    """Commit the offsets of a file: those of export, Kafka's csv, or the files of kcl, rpk and kafka-utils.

    Shows a plan first, keeps what was committed before for `kcli groups rewind GROUP --undo`, and reads every partition
    back. The groups must have no members; they need not exist. FILE - is stdin. With --zookeeper the
    offsets are set in ZooKeeper, for consumers that keep them there.

    An offset means the same record only in the same topic: where the file tells that it comes from another cluster or
    topic, or the offset is outside of the log, that partition is refused. --by time finds the record by its time.
    """
    from functools import partial

    from kcli.commands.groups._executing import Presentation, confirm_and_execute
    from kcli.core.clock import wall_ms
    from kcli.flows.rewind.spans import time_spans
    from kcli.flows.transfer.file import STDIN, file_name, read_file
    from kcli.flows.transfer.importing import aims
    from kcli.flows.transfer.stopping import to_be_stopped
    from kcli.flows.transfer.survey import survey_import

    wish = _wish(group, mapped, by, scopes, clamp=clamp, force=force)
    if zookeeper is not None:
        _check_zookeeper(wish)
    if path == STDIN and stdin_is_terminal():
        inv.talk.note("reading offsets from the terminal; end with Ctrl-D …")
    file = read_file(path, of_brokers=zookeeper is not None)
    _check_scopes(file, scopes, file_name(path))
    chosen = aims(file, wish)
    words = f"the {'times' if wish.by_time else 'offsets'} in {file_name(path)}"
    if zookeeper is not None:
        from kcli.commands.groups._zookeeper_import import import_into_zookeeper

        return import_into_zookeeper(inv, zookeeper, chosen, words, force=force)
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        plan, failures = survey_import(
            admin, cluster, chosen, wish, words, wall_ms(), partial(time_spans, admin)
        )
        plan = to_be_stopped(plan, lambda name: _as_it_runs(file, path, name, wish, partly=bool(scopes)))
        return confirm_and_execute(inv, admin, plan, failures, Presentation(report="OffsetImportReport"))


def _as_it_runs(file: OffsetFile, path: str, group: str, wish: Wish, *, partly: bool) -> str:
    """The rewind that does the same to a group with members; empty where there is none."""
    from shlex import join

    from kcli.flows.transfer.file import STDIN

    renamed = wish.group is not None and any(saved.group not in (None, group) for saved in file.offsets)
    if path == STDIN or partly or renamed or wish.topics or wish.by_time or wish.clamp or wish.force:
        return ""
    return join(["kcli", "groups", "rewind", group, "--from-file", path, "--live"])


def _wish(
    group: str | None,
    mapped: Sequence[tuple[str, str]],
    by: str,
    scopes: Sequence[TopicPartitions],
    *,
    clamp: bool,
    force: bool,
) -> Wish:
    from kcli.flows.transfer.importing import Wish

    if by == "time" and (clamp or force):
        raise usage(
            f"groups import: --by time and --{'clamp' if clamp else 'force'} cannot be used together",
            why="a time is found in any cluster and topic, and within the log",
            do="give one of them",
        )
    topics: dict[str, str] = {}
    for name, here in mapped:
        if topics.setdefault(name, here) != here:
            raise usage(
                f"groups import: topic {name} is mapped twice",
                why=f"to {topics[name]} and {here}",
                do="choose",
            )

    return Wish(group, topics, within(scopes), by == "time", clamp, force)


def _check_zookeeper(wish: Wish) -> None:
    """Only brokers know records by their time, and where logs begin and end."""
    if wish.by_time or wish.clamp:
        raise usage(
            f"groups import: {'--by time' if wish.by_time else '--clamp'} and --zookeeper cannot be used together",
            why="ZooKeeper has no logs to look at",
            do="give one of them",
        )


def _check_scopes(file: OffsetFile, scopes: Sequence[TopicPartitions], name: str) -> None:
    """What was named and is not there is not left out in silence."""
    from kcli.commands.shared.params import TopicPartitions
    from kcli.core.errors import ConfigError

    for scope in scopes:
        parts = [scope] if scope.partitions is None else [
            TopicPartitions(scope.topic, (number,)) for number in scope.partitions
        ]  # fmt: skip
        for part in parts:
            if not any(saved.tp in part for saved in file.offsets):
                raise ConfigError(
                    f"{name} has no offset of {part}",
                    why="--topic names it",
                    do="correct --topic, see the file",
                )
