"""What ``kcli reassign plan`` does: reads the cluster, computes the assignment, writes the file, shows the moves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import Any

from kcli.account.outcomes import Outcome
from kcli.commands.shared.changing import ROW_KINDS, plan_columns
from kcli.commands.shared.cluster import connect, open_admin, unique, without_errors
from kcli.commands.shared.confirm import show_plan, with_cluster
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.row_output import print_rows
from kcli.commands.shared.usage import usage
from kcli.core.errors import ConfigError, KcliError, NotFoundError
from kcli.core.exit_codes import ExitCode
from kcli.files.atomic import replace_file
from kcli.flows.partitions_file import STDIN
from kcli.flows.reassign import rows as view
from kcli.flows.reassign.assignment import Placement, assignment
from kcli.flows.reassign.moves import Move, planned_moves, traffic, without_leader
from kcli.flows.reassign.plan_file import file_text, read_plan_file
from kcli.flows.reassign.replicas import ClusterReplicas, survey
from kcli.flows.reassign.run import ReassignmentRun
from kcli.output.progress import counted

_MODE = 0o644
_COLUMNS = plan_columns(ReassignmentRun)


class ForeignFileError(KcliError):
    """The file that would be written exists, and is no plan."""

    exit_code = ExitCode.REFUSED


def plan(
    inv: Invocation,
    topics: tuple[str, ...],
    brokers: tuple[int, ...] | None,
    replication_factor: int | None,
    path: str | None,
    *,
    rack_aware: bool = True,
) -> int:
    """Plans a reassignment. Returns the exit status."""
    if path not in (None, STDIN):
        _check_replaceable(str(path), confirmed=inv.yes)
    with open_admin(inv) as admin:
        admin.foresee(topics=True, permissions=True)
        cluster = connect(inv, admin)
        names = None
        if topics:
            names = list(without_errors(inv, admin.describe_topics(unique(topics))))
            if not names:
                return inv.finish(done=False)
        found = survey(admin, names)
    if names is None and path is not None:
        _check_no_topic(path, found)
    racks = _racks(inv, found, brokers)
    if not rack_aware:
        racks = dict.fromkeys(racks)
    for warning in found.unknown_sizes():
        inv.talk.warn(warning)
    if found.ongoing.keys() & found.partitions.keys():
        inv.talk.warn("partitions are being moved: the plan is for the time after that")
    placements = [
        Placement(tp, part.replicas, part.leader, found.sizes.get(tp, 0))
        for tp, part in sorted(found.partitions.items())
    ]
    moves = planned_moves(assignment(placements, racks, replication_factor), found)
    todo = [move for move in moves if move.needed]
    for warning in without_leader(todo):
        inv.talk.warn(warning)
    text = _text(moves, todo, racks)
    if inv.dry_run:
        if inv.out.kind in ROW_KINDS:
            print_rows(inv, "ReassignmentPlan", _COLUMNS, map(_row, todo), cluster)
        else:
            show_plan(inv, text)
        return inv.finish(done=True)
    inv.talk.note(with_cluster(text, inv))
    document = file_text({move.tp: move.new for move in todo})
    if path not in (None, STDIN):
        _write(inv, str(path), document, following=bool(todo))
    elif inv.out.kind is None:
        inv.out.text(document)
        inv.out.flush()
    if inv.out.kind is not None:
        print_rows(inv, "ReassignmentPlan", _COLUMNS, map(_row, todo), cluster)
    return inv.finish(done=True)


def _row(move: Move) -> dict[str, Any]:
    return view.move_row(move) | {"note": view.move_note(move) or None, "status": str(Outcome.PLANNED)}


def _check_replaceable(path: str, *, confirmed: bool) -> None:
    """ForeignFileError for a regular file that has something and is no plan."""
    file = Path(path)
    try:
        if confirmed or not file.is_file() or not file.stat().st_size:
            return
        read_plan_file(path)
    except OSError:
        return  # writing it reports the error
    except ConfigError as error:
        raise ForeignFileError(
            f"{path} exists, and is not replaced",
            why=f"{error.why}: it is no plan of an earlier run",
            do="name another file, or add --yes to replace it",
        ) from None


def _check_no_topic(path: str, found: ClusterReplicas) -> None:
    """A topic without --topic would be taken for a file, and the whole cluster be planned."""
    if any(tp.topic == path for tp in found.partitions):
        raise usage(
            f"reassign plan: {path} is a topic, and FILE is the file to be written",
            why="without --topic all topics would be planned",
            do=f"did you mean --topic {quote(path)}? A file of that name is ./{path}",
        )


def _racks(inv: Invocation, found: ClusterReplicas, brokers: Sequence[int] | None) -> dict[int, str | None]:
    """The brokers that are to have replicas, with their racks."""
    for number in brokers or ():
        if number not in found.racks:
            raise NotFoundError(
                f"broker {number} is not alive",
                why=f"the brokers are {view.numbers_text(sorted(found.racks))}",
                do="`kcli cluster describe` lists the brokers; correct --brokers",
            )
    racks = {number: found.racks[number] for number in brokers or sorted(found.racks)}
    without = [number for number, rack in racks.items() if rack is None]
    if without and len(without) < len(racks):
        inv.talk.warn(f"racks are ignored: broker {view.numbers_text(without)} has none (broker.rack)")
    return racks


def _text(moves: Sequence[Move], todo: Sequence[Move], racks: dict[int, str | None]) -> str:
    brokers = sorted({*racks, *(number for move in moves for number in move.old)})
    names = sorted({rack for rack in racks.values() if rack is not None})
    where = f"{'broker' if len(racks) == 1 else 'brokers'} {view.numbers_text(sorted(racks))}"
    if names and None not in racks.values():
        where += f" ({'rack' if len(names) == 1 else 'racks'} {', '.join(names)})"
    if not todo:
        return f"Nothing is to be moved: {counted(len(moves), 'partition')} on {where} are balanced."
    head = (
        f"Reassign {len(todo):,} of {counted(len(moves), 'partition')} to {where}: {view.copied_text(todo)}."
    )
    return "\n".join([head, *view.moves_table(todo), *view.brokers_table(traffic(moves, brokers))])


def _write(inv: Invocation, path: str, document: str, *, following: bool) -> None:
    try:
        file = Path(path)
        if file.exists() and not file.is_file():  # a pipe, or /dev/stdout
            file.write_bytes(document.encode())
        else:
            replace_file(path, document.encode(), mode=_MODE)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise ConfigError(f"cannot write {path}", why=why, do="name another file") from None
    what_is_next = f"; next: kcli reassign run {quote(path)} --throttle 50MB/s --watch" if following else ""
    inv.talk.note(f"wrote {path}{what_is_next}")
