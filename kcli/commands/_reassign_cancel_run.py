"""What ``kcli reassign cancel`` does: shows what is being moved, asks, cancels, and reads back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kcli.commands._reassign_throttle import clear_throttles
from kcli.commands.shared.cluster import connect, open_admin, unique, without_errors
from kcli.commands.shared.confirm import confirm
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.plan_output import show_plan_only
from kcli.commands.shared.row_output import print_rows
from kcli.commands.shared.usage import usage
from kcli.core.admin.admin import Admin
from kcli.core.admin.reassignments import Reassignment
from kcli.core.clock import monotonic
from kcli.core.error_codes import NO_REASSIGNMENT_IN_PROGRESS
from kcli.core.errors import BrokerError, KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.types import TopicPartition
from kcli.flows.partition_failures import grouped_failures, reason
from kcli.flows.read_back import VISIBLE_WITHIN
from kcli.output.progress import counted
from kcli.output.tables import Column, indented_table

_PLAN = (
    Column("topic"),
    Column("partition", "id"),
    Column("replicas"),
    Column("new_replicas"),
)
_REPORT = (*_PLAN, Column("status"), Column("note", "prose"))
_PAUSE = 0.1

Ongoing = Mapping[TopicPartition, Reassignment]


class NotCancelledError(KcliError):
    """A partition is being moved although the cancellation was confirmed."""

    exit_code = ExitCode.REFUSED


def cancel(inv: Invocation, topics: tuple[str, ...], every: bool) -> int:
    """Cancels reassignments. Returns the exit status."""
    if every == bool(topics):
        raise usage(
            "reassign cancel: "
            + ("--topic and --all exclude each other" if every else "what is to be cancelled is not said"),
            why="--all cancels the moves of all topics" if every else "it is required",
            do="write --topic TOPIC, or --all; `kcli reassign status` shows what is being moved",
        )
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        named = list(without_errors(inv, admin.describe_topics(unique(topics)))) if topics else None
        ongoing = {
            tp: one
            for tp, one in sorted(admin.list_reassignments().items())
            if named is None or tp.topic in named
        }
        text = _text(ongoing)
        if inv.dry_run or not ongoing:
            if ongoing or inv.dry_run:
                rows = [_row(tp, one) for tp, one in ongoing.items()]
                show_plan_only(inv, text, _PLAN, rows, cluster, kind="ReassignmentCancelPlan")
            if not ongoing and (every or named):
                inv.talk.note("nothing is being moved")
            clear_throttles(inv, admin, cluster)
            if not inv.dry_run and (every or named):
                _report(inv, cluster, ongoing, {}, {})
            return inv.finish(done=bool(every or named))
        confirm(inv, text, f"Cancel the moves of {counted(len(ongoing), 'partition')}?")
        errors, status = _cancelled(admin, ongoing)
        cancelled = sum(state == "cancelled" for state in status.values())
        for error in grouped_failures("the moves of {} were not cancelled", errors):
            inv.failed(error, partly=bool(cancelled))
        clear_throttles(inv, admin, cluster)
        _report(inv, cluster, ongoing, status, errors)
    if cancelled:
        inv.talk.note(f"cancelled the moves of {counted(cancelled, 'partition')}, read back")
    return inv.finish(done=len(errors) < len(ongoing))


def _cancelled(
    admin: Admin, ongoing: Ongoing
) -> tuple[dict[TopicPartition, KcliError], dict[TopicPartition, str]]:
    """The errors, and the status of each: ``cancelled``, ``finished`` (before that), ``failed``."""
    errors: dict[TopicPartition, KcliError] = {}
    status = {}
    for tp, error in admin.alter_reassignments(dict.fromkeys(ongoing)).items():
        finished = isinstance(error, BrokerError) and error.code == NO_REASSIGNMENT_IN_PROGRESS
        status[tp] = "finished" if finished else "cancelled" if error is None else "failed"
        if error is not None and not finished:
            errors[tp] = error
    wanted = [tp for tp, state in status.items() if state == "cancelled"]
    until = monotonic() + VISIBLE_WITHIN
    while (left := admin.list_reassignments(wanted) if wanted else {}) and monotonic() < until:
        admin.cluster.sleep(_PAUSE)
    for tp in left:
        status[tp] = "failed"
        errors[tp] = NotCancelledError(
            f"{tp} is still being moved",
            why="another client moves it, or the controller has not finished",
            do="see `kcli reassign status`",
        )
    return errors, status


def _text(ongoing: Ongoing) -> str:
    columns = (*_PLAN[:2], Column("replicas"), Column("adding"), Column("removing"))
    rows = [_row(tp, one) for tp, one in ongoing.items()]
    return "\n".join(
        [
            f"Cancel the moves of {counted(len(ongoing), 'partition')}: what was copied to the replicas that are "
            "being added is dropped.",
            *indented_table(columns, rows),
        ]
    )


def _row(tp: TopicPartition, one: Reassignment) -> dict[str, Any]:
    return {
        "topic": tp.topic,
        "partition": tp.partition,
        "replicas": list(one.replicas),
        "adding": list(one.adding),
        "removing": list(one.removing),
        "new_replicas": list(one.before),
    }


def _report(
    inv: Invocation,
    cluster: str,
    ongoing: Ongoing,
    status: Mapping[TopicPartition, str],
    errors: Mapping[TopicPartition, KcliError],
) -> None:
    rows = []
    for tp, one in ongoing.items():
        error = errors.get(tp)
        note = reason(error) if error is not None else None
        rows.append(_row(tp, one) | {"status": status[tp], "note": note})
    print_rows(inv, "ReassignmentCancelReport", _REPORT, rows, cluster)
