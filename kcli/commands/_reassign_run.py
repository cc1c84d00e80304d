"""What ``kcli reassign run`` does: checks the file, shows the moves, asks, starts them, waits, and reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from shlex import quote

from kcli.commands import _reassign_rows as view
from kcli.commands._reassign_plan_run import warn_of_unknown_sizes
from kcli.commands._reassign_throttle import clear_throttles
from kcli.commands._reassign_watch import wait_for_moves
from kcli.commands.shared.cluster import connect, open_admin
from kcli.commands.shared.confirm import confirm
from kcli.commands.shared.context import Invocation, stdin_is_terminal
from kcli.commands.shared.params import Rate
from kcli.commands.shared.plan_output import show_plan_only
from kcli.commands.shared.row_output import print_rows
from kcli.commands.shared.usage import usage
from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigKind, ConfigResource
from kcli.core.clock import monotonic, wall_ms
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition
from kcli.files.journal_folder import new_id
from kcli.flows.partition_failures import grouped_failures, partition_names
from kcli.flows.read_back import VISIBLE_WITHIN
from kcli.flows.reassign.journal import ReassignmentJournals
from kcli.flows.reassign.moves import (
    Move,
    OutdatedError,
    check_same,
    planned_moves,
    refusals,
    seconds_at,
    traffic,
)
from kcli.flows.reassign.plan_file import STDIN, read_plan_file
from kcli.flows.reassign.survey import survey
from kcli.flows.reassign.throttle import planned_throttle, set_throttle, without_existing
from kcli.output.progress import counted, duration_text, size_text

_PAUSE = 0.1
MOVING, DONE, FAILED = "moving", "done", "failed"

Errors = dict[TopicPartition, KcliError]


def run(inv: Invocation, path: str, throttle: Rate | None, watch: bool) -> int:
    """Moves replicas as a file says. Returns the exit status."""
    rate = _bytes(throttle)
    if path == STDIN and stdin_is_terminal():
        inv.talk.note("reading the plan from the terminal; end with Ctrl-D …")
    wanted = read_plan_file(path)
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        topics = {tp.topic for tp in wanted}
        found = survey(admin, topics)
        moves = planned_moves(wanted, found)
        refused = refusals(moves, found)
        todo = [move for move in moves if move.needed]
        if refused or not todo or inv.dry_run:
            warn_of_unknown_sizes(inv, found)
            return _only_shown(inv, admin, cluster, moves, refused, rate)
        warn_of_unknown_sizes(inv, found)
        _warn_of_few_replicas(inv, admin, todo)
        confirm(inv, _text(todo, {}, rate), f"Move {counted(len(todo), 'partition')}?")
        check_same(todo, survey(admin, topics))
        return _execute(inv, admin, cluster, todo, rate, watching=watch)


def _bytes(throttle: Rate | None) -> int | None:
    if throttle is None:
        return None
    if throttle.bytes is None:
        raise usage(
            "reassign run: --throttle needs a unit",
            why="it limits bytes a second",
            do="write --throttle 50MB/s, or --throttle 50MiB/s",
        )
    return max(1, int(throttle.bytes))


def _only_shown(
    inv: Invocation,
    admin: Admin,
    cluster: str,
    moves: Sequence[Move],
    refused: Mapping[TopicPartition, KcliError],
    rate: int | None,
) -> int:
    todo = [move for move in moves if move.needed]
    rows = [view.plan_row(move, refused.get(move.tp)) for move in moves]
    if todo or inv.dry_run:
        text = _text(todo, refused, rate)
        show_plan_only(inv, text, view.PLAN, rows, cluster, kind="ReassignmentPlan")
    for error in grouped_failures("{} cannot be moved", refused):
        inv.failed(error)
    if not todo and not refused:
        inv.talk.note("nothing is to be moved: the replicas are as the file says")
    if not todo and not inv.dry_run:
        clear_throttles(inv, admin, cluster)
        _report(inv, cluster, moves, dict.fromkeys(refused, FAILED), refused)
    return inv.finish(done=False)


def _text(todo: Sequence[Move], refused: Mapping[TopicPartition, KcliError], rate: int | None) -> str:
    rows = traffic(todo, ())
    head = f"Move replicas of {counted(len(todo), 'partition')}: {view.copied_text(todo)}"
    if rate is not None:
        seconds = max(1.0, seconds_at(rate, rows))
        head += f", at least {duration_text(seconds)} at {size_text(rate)}/s"
    lines = [f"{head}.", *view.moves_table(todo, refused), *view.brokers_table(rows)]
    if rate is None and any(move.copied for move in todo):
        lines.append("No throttle: --throttle 50MB/s limits what each broker sends and receives.")
    return "\n".join(lines)


def _warn_of_few_replicas(inv: Invocation, admin: Admin, todo: Sequence[Move]) -> None:
    """Fewer replicas than min.insync.replicas: producers with acks=all fail."""
    fewest: dict[str, int] = {}
    for move in todo:
        if len(move.new) < len(move.old):
            fewest[move.tp.topic] = min(len(move.new), fewest.get(move.tp.topic, len(move.new)))
    resources = [ConfigResource(ConfigKind.TOPIC, name) for name in fewest]
    found = admin.describe_configs(resources, keys=["min.insync.replicas"]) if resources else {}
    for resource, entries in found.items():
        for entry in [] if isinstance(entries, KcliError) else entries:
            count = fewest[resource.name]
            if entry.name == "min.insync.replicas" and int(entry.value or 1) > count:
                inv.talk.warn(
                    f"{resource} has min.insync.replicas={entry.value}: with {counted(count, 'replica')} "
                    "producers with acks=all fail"
                )


def _execute(
    inv: Invocation, admin: Admin, cluster: str, todo: Sequence[Move], rate: int | None, *, watching: bool
) -> int:
    try:
        journal, errors = _start(inv, admin, cluster, todo, rate)
        status = _observed(admin, todo, errors)
    except BaseException:  # also Ctrl-C: a throttle whose moves were not started is removed
        clear_throttles(inv, admin, cluster)
        raise
    moving = [move for move in todo if status[move.tp] == MOVING]
    signal = 0
    if watching and moving:
        signal = wait_for_moves(inv, admin, [move.tp for move in moving])
        if not signal:
            status |= _observed(admin, moving, errors)
    done = any(state != FAILED for state in status.values())
    for error in grouped_failures("the replicas of {} were not moved", errors):
        inv.failed(error, partly=done)
    clear_throttles(inv, admin, cluster)
    _report(inv, cluster, todo, status, errors)
    if done:
        _say_what_is_next(inv, todo, status, journal)
    return inv.finish(done=done, also=[signal])


def _start(
    inv: Invocation, admin: Admin, cluster: str, todo: Sequence[Move], rate: int | None
) -> tuple[Path, Errors]:
    """Writes the journal, sets the throttle, starts the moves. Returns the journal, and the errors of partitions."""
    journals, number = ReassignmentJournals(cluster), new_id(wall_ms())
    with journals.locked():
        own = None
        if rate is not None:
            own, kept = without_existing(admin, planned_throttle(todo, rate), admin.connect().nodes)
            for text in kept:
                inv.talk.warn(f"a throttle is kept as it is: {text}")
        journal = journals.write(number, todo, own, wall_ms())
        if own is not None:
            set_throttle(admin, own)
        outcome = admin.alter_reassignments({move.tp: move.new for move in todo})
    return journal, {tp: error for tp, error in outcome.items() if error is not None}


def _observed(admin: Admin, moves: Sequence[Move], errors: Errors) -> dict[TopicPartition, str]:
    """The status of each move, as the cluster shows it; waits a moment until it shows those that were accepted.

    Takes back errors of moves that are made nevertheless: their response was lost.
    """
    until = monotonic() + VISIBLE_WITHIN
    while True:
        ongoing = admin.list_reassignments([move.tp for move in moves])
        replicas = _replicas(admin, {move.tp.topic for move in moves})
        status = {}
        for move in moves:
            tp = move.tp
            if tp in ongoing:
                status[tp] = MOVING if set(ongoing[tp].target) == set(move.new) else FAILED
            else:
                status[tp] = DONE if replicas.get(tp) == move.new else FAILED
            if status[tp] != FAILED:
                errors.pop(tp, None)
        open_ones = [move for move in moves if status[move.tp] == FAILED and move.tp not in errors]
        if not open_ones:
            return status
        if monotonic() >= until:
            break
        admin.cluster.sleep(_PAUSE)
    for move in open_ones:
        found = replicas.get(move.tp)
        errors[move.tp] = OutdatedError(
            f"{move.tp} was not moved",
            why=f"its replicas are {view.numbers_text(found)}" if found else "it does not exist any more",
            do="the move was cancelled or replaced by another client: `kcli reassign status` shows what is being moved",
        )
    return status


def _replicas(admin: Admin, topics: Iterable[str]) -> dict[TopicPartition, tuple[int, ...]]:
    return {
        TopicPartition(topic.name, part.partition): part.replicas
        for topic in admin.describe_topics(sorted(topics)).values()
        if not isinstance(topic, KcliError)
        for part in topic.partitions
    }


def _say_what_is_next(
    inv: Invocation, todo: Sequence[Move], status: Mapping[TopicPartition, str], journal: Path
) -> None:
    done = [move for move in todo if status[move.tp] == DONE]
    moving = sum(state == MOVING for state in status.values())
    if done:
        inv.talk.note(f"moved the replicas of {counted(len(done), 'partition')}, read back")
    if moving:
        inv.talk.note(
            f"{counted(moving, 'partition')} {'is' if moving == 1 else 'are'} being moved: "
            "`kcli reassign status --watch` shows how far, and removes a throttle at the end"
        )
    if other := [move.tp for move in done if move.new[0] != move.leader]:
        inv.talk.note(
            f"{partition_names(other)}: `kcli elect-leaders` makes the preferred replica the leader, if it is not yet"
        )
    inv.talk.note(f"go back with: kcli reassign run {quote(str(journal))}")


def _report(
    inv: Invocation,
    cluster: str,
    moves: Sequence[Move],
    status: Mapping[TopicPartition, str],
    errors: Mapping[TopicPartition, KcliError],
) -> None:
    rows = (view.report_row(move, status.get(move.tp, "unchanged"), errors.get(move.tp)) for move in moves)
    print_rows(inv, "ReassignmentReport", view.REPORT, rows, cluster)
