"""What ``kcli reassign status`` does: shows moves in progress or those of a file, and removes throttles that are left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from shlex import quote
from typing import Any

from kcli.account.survey import Missing
from kcli.commands.shared.cluster import connect, open_admin, readable
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.move_watch import wait_for_moves
from kcli.commands.shared.row_output import print_rows
from kcli.core.admin.admin import Admin
from kcli.core.errors import KcliError, NotFoundError
from kcli.core.exit_codes import ExitCode
from kcli.core.types import TopicPartition
from kcli.flows.partition_failures import partition_names
from kcli.flows.partitions_file import shown_name
from kcli.flows.reassign.journal import clear_throttles, warn_of_foreign_rates
from kcli.flows.reassign.plan_file import read_plan_file
from kcli.flows.reassign.replicas import MoveProgress, move_progress
from kcli.output.progress import counted
from kcli.output.tables import Column

COLUMNS = (
    Column("topic"),
    Column("partition", "id"),
    Column(
        "replicas",
        values="integers?",
        meaning="Numbers of the brokers with a replica; null where the partition is unknown.",
    ),
    Column("adding", values="integers", meaning="Brokers that get a replica."),
    Column("removing", values="integers", meaning="Brokers that lose their replica."),
    Column("bytes", "size", spare=1, meaning="Bytes to be copied; null where it is unknown."),
    Column("bytes_left", "size", meaning="Bytes that are left; null where it is unknown."),
    Column(
        "state",
        values=("moving", "done", "differs", "missing"),
        meaning="differs: the partition has other replicas than the file says; missing: there is no such "
        "partition.",
    ),
)
TARGET = (Column("target", values="integers?", meaning="The replicas that it is to have."),)
MOVING, DONE, DIFFERS, MISSING = "moving", "done", "differs", "missing"

Replicas = Mapping[TopicPartition, Sequence[int]]


class NotMovedError(KcliError):
    """Partitions do not have the replicas that a file says, and are not being moved."""

    exit_code = ExitCode.CHECK


def status(inv: Invocation, path: str | None, watch: bool) -> int:
    """Shows reassignments. Returns the exit status."""
    wanted: Replicas | None = read_plan_file(path) if path is not None else None
    signal = 0
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        partitions = list(wanted) if wanted is not None else None
        found = move_progress(admin, partitions) if partitions != [] else MoveProgress({})
        if wanted is None:
            wanted = {tp: one.target for tp, one in found.ongoing.items()}
        if watch and found.ongoing:
            signal = wait_for_moves(inv, admin, list(found.ongoing))
            found = move_progress(admin, list(wanted))
        states = _states(inv, admin, wanted, found)
        for error in clear_throttles(admin, inv.talk, dry_run=inv.dry_run):
            inv.failed(error)
        if not admin.list_reassignments():
            warn_of_foreign_rates(admin, inv.talk)
    for error in found.errors:
        inv.lacks(Missing.of(error))
    _print(inv, cluster, wanted, found, states)
    if not found.ongoing:
        inv.talk.note("nothing is being moved")
    elif not watch:
        inv.talk.note(f"{counted(len(found.ongoing), 'partition')} being moved")
    if wrong := [tp for tp, state in states.items() if state[0] in (DIFFERS, MISSING)]:
        inv.failed(
            NotMovedError(
                f"{partition_names(wrong)}: the replicas are not those of {shown_name(path or '')}",
                why="they are not being moved, either",
                do=f"`kcli reassign run {quote(path or '-')}` moves them",
            )
        )
    return inv.finish(done=True, also=[signal])


def _states(
    inv: Invocation, admin: Admin, wanted: Replicas, found: MoveProgress
) -> dict[TopicPartition, tuple[str, tuple[int, ...]]]:
    """The state of each partition, and its replicas; without those that could not be read."""
    topics = admin.describe_topics(sorted({tp.topic for tp in wanted})) if wanted else {}
    unread = {
        name: topic
        for name, topic in topics.items()
        if isinstance(topic, KcliError) and not isinstance(topic, NotFoundError)
    }
    readable(inv, unread, "topic")
    replicas = {
        TopicPartition(topic.name, part.partition): part.replicas
        for topic in topics.values()
        if not isinstance(topic, KcliError)
        for part in topic.partitions
    }
    states = {}
    for tp, target in sorted(wanted.items()):
        if tp.topic in unread and tp not in found.ongoing:
            continue
        now = replicas.get(tp)
        if tp in found.ongoing:
            states[tp] = MOVING, found.ongoing[tp].replicas
        elif now is None:
            states[tp] = MISSING, ()
        else:
            states[tp] = DONE if now == tuple(target) else DIFFERS, now
    return states


def _print(
    inv: Invocation,
    cluster: str,
    wanted: Replicas,
    found: MoveProgress,
    states: Mapping[TopicPartition, tuple[str, tuple[int, ...]]],
) -> None:
    rows = (_row(tp, state, replicas, wanted[tp], found) for tp, (state, replicas) in states.items())
    print_rows(inv, "ReassignmentList", COLUMNS, rows, cluster, item="Reassignment")


def _row(
    tp: TopicPartition, state: str, replicas: Sequence[int], target: Sequence[int], found: MoveProgress
) -> dict[str, Any]:
    one = found.ongoing.get(tp)
    return {
        "topic": tp.topic,
        "partition": tp.partition,
        "replicas": list(replicas),
        "target": list(one.target if one is not None else target),
        "adding": list(one.adding) if one is not None else [],
        "removing": list(one.removing) if one is not None else [],
        "bytes": found.total.get(tp),
        "bytes_left": found.left.get(tp) if one is not None else 0 if state == DONE else None,
        "state": state,
    }
