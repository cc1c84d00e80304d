"""What ``kcli elect-leaders`` does: finds the partitions, shows the plan, asks, elects, and reads back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kcli.commands.shared.cluster import connect, open_admin, unique, without_errors
from kcli.commands.shared.confirm import confirm
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.params import TopicPartitions
from kcli.commands.shared.plan_output import show_plan_only
from kcli.commands.shared.row_output import print_rows
from kcli.core.admin.admin import Admin
from kcli.core.admin.topics import TopicInfo
from kcli.core.cluster.metadata import OR_HIDDEN, no_partition
from kcli.core.errors import KcliError
from kcli.core.permissions import grant_command, on_topic
from kcli.core.types import TopicPartition
from kcli.flows.leader_elections import (
    NOBODY,
    Election,
    NotElectedError,
    is_elected,
    preferred_elections,
    read_back,
    unclean_elections,
)
from kcli.flows.partition_failures import grouped_failures, reason
from kcli.output.progress import counted
from kcli.output.tables import Column, indented_table

_PLAN = (
    Column("topic"),
    Column("partition", "id"),
    Column("leader", "id"),
    Column("new_leader", "id"),
    Column("replicas", spare=2),
    Column("isr", spare=1),
    Column("note", "prose"),
)
_REPORT = (*_PLAN[:-1], Column("status"), Column("note", "prose"))
_MOST_LINES = 50
_LOSSES = "Records that these replicas do not have are lost, also acknowledged ones; it cannot be undone."

Errors = dict[TopicPartition, KcliError]


def run(inv: Invocation, scopes: tuple[TopicPartitions, ...], unclean: bool) -> int:
    """Elects leaders. Returns the exit status."""
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        topics = _topics(inv, admin, scopes)
        selected = _selected(topics, scopes)
        count = len(selected) if selected is not None else sum(len(topic.partitions) for topic in topics)
        find = unclean_elections if unclean else preferred_elections
        live = admin.describe_cluster().brokers
        elections = find(topics, [broker.node.id for broker in live if not broker.is_fenced], selected)
        return _confirm_and_elect(inv, admin, cluster, elections, count, unclean=unclean)


def _topics(inv: Invocation, admin: Admin, scopes: Sequence[TopicPartitions]) -> list[TopicInfo]:
    """All topics, or those that are named; names that do not exist are reported."""
    if not scopes:
        return admin.list_topics()
    return list(
        without_errors(inv, admin.describe_topics(unique([scope.topic for scope in scopes]))).values()
    )


def _selected(topics: Sequence[TopicInfo], scopes: Sequence[TopicPartitions]) -> set[TopicPartition] | None:
    """The partitions that are named; an error for one that does not exist."""
    if not scopes:
        return None
    counts = {topic.name: len(topic.partitions) for topic in topics}
    found = set()
    for scope in scopes:
        for number in scope.partitions or range(counts.get(scope.topic, 0)):
            tp = TopicPartition(scope.topic, number)
            if scope.topic in counts and number >= counts[scope.topic]:
                raise no_partition(tp, counts[scope.topic])
            found.add(tp)
    return found


def _confirm_and_elect(
    inv: Invocation,
    admin: Admin,
    cluster: str,
    elections: Sequence[Election],
    count: int,
    *,
    unclean: bool,
) -> int:
    """``count``: the partitions that were checked."""
    todo = [election for election in elections if election.error is None]
    refused = {election.tp: election.error for election in elections if election.error is not None}

    def remarks() -> None:
        _report_failures(inv, refused, partly=bool(todo))

    if todo:
        admin.require("elect_unclean" if unclean else "elect_leaders")
    text = _text(elections, todo, unclean=unclean)
    if inv.dry_run or not todo:
        if elections:
            show_plan_only(inv, text, _PLAN, map(_row, elections), cluster, kind="LeaderElectionPlan")
        elif inv.dry_run:
            nothing = f"Nothing is to be elected: {counted(count, 'partition')} checked."
            show_plan_only(inv, nothing, _PLAN, [], cluster, kind="LeaderElectionPlan")
        remarks()
        if not elections and not inv.finish(done=False):
            _say_why_nothing(inv, count, unclean=unclean)
        if not inv.dry_run and not refused:
            _print_report(inv, cluster, elections, {}, {})
        return inv.finish(done=bool(todo))
    topics = unique([election.tp.topic for election in todo])
    named = (topics[0] if len(topics) == 1 else "unclean") if unclean else None
    question = f"Elect leaders of {counted(len(todo), 'partition')}" + (
        ", and lose records?" if unclean else "?"
    )
    confirm(inv, text, question, name=named, remarks=remarks)
    errors, leaders = _elected(inv, admin, todo, unclean=unclean)
    _report_failures(inv, errors, partly=len(errors) < len(todo))
    _print_report(inv, cluster, elections, errors, leaders)
    if done := len(todo) - len(errors):
        inv.talk.note(f"elected the leaders of {counted(done, 'partition')}, read back")
    return inv.finish(done=bool(done))


def _say_why_nothing(inv: Invocation, count: int, *, unclean: bool) -> None:
    if not count:
        inv.talk.warn(
            f"no partition was checked: the cluster has no topics, {OR_HIDDEN} "
            f"(`{inv.with_user(grant_command('DESCRIBE', [on_topic('DESCRIBE', 'TOPIC')]))}`)"
        )
        return
    state = "has a leader" if unclean else "is led by its preferred replica"
    inv.talk.note(f"every partition {state}: {counted(count, 'partition')} checked")


def _elected(
    inv: Invocation, admin: Admin, todo: Sequence[Election], *, unclean: bool
) -> tuple[Errors, dict[TopicPartition, int]]:
    """The errors, and the leaders that were read back."""
    outcome = admin.elect_leaders([election.tp for election in todo], unclean=unclean)
    errors = {tp: error for tp, error in outcome.items() if error is not None}
    wanted = {e.tp: NOBODY if unclean else e.new for e in todo if e.tp not in errors}
    leaders = read_back(admin, wanted, inv.timeout)
    for tp, leader in leaders.items():
        if not is_elected(wanted[tp], leader):
            found = f"broker {leader} leads it" if leader >= 0 else "it has no leader"
            errors[tp] = NotElectedError(
                f"the leader of {tp} was elected, but is another",
                why=f"{found} after the controller confirmed the election",
                do="another election followed it, or brokers have not received it yet; run it again",
            )
    return errors, leaders


def _report_failures(inv: Invocation, errors: Mapping[TopicPartition, KcliError], *, partly: bool) -> None:
    for error in grouped_failures("no leader was elected for {}", errors):
        inv.failed(error, partly=partly)


def _text(elections: Sequence[Election], todo: Sequence[Election], *, unclean: bool) -> str:
    columns = [column for column in _PLAN if column.key not in ("replicas", "isr")]
    table = indented_table(columns, [_row(election) for election in elections[:_MOST_LINES]])
    if len(elections) > _MOST_LINES:
        table.append(f"  … and {len(elections) - _MOST_LINES} more")
    kind = "any replica that is alive" if unclean else "the preferred replica"
    lines = [f"Elect {kind} as leader of {counted(len(todo), 'partition')}.", *table]
    if unclean and todo:
        lines.append(_LOSSES)
    return "\n".join(lines)


def _row(election: Election) -> dict[str, Any]:
    return {
        "topic": election.tp.topic,
        "partition": election.tp.partition,
        "leader": None if election.leader < 0 else election.leader,
        "new_leader": None if election.new < 0 else election.new,
        "replicas": list(election.replicas),
        "isr": list(election.isr),
        "note": election.note or None,
    }


def _print_report(
    inv: Invocation,
    cluster: str,
    elections: Sequence[Election],
    errors: Mapping[TopicPartition, KcliError],
    leaders: Mapping[TopicPartition, int],
) -> None:
    rows = []
    for election in elections:
        error = errors.get(election.tp, election.error)
        leader = leaders.get(election.tp, NOBODY)
        rows.append(
            _row(election)
            | {
                "new_leader": None if leader < 0 else leader,
                "status": "done" if error is None else "failed",
                "note": reason(error) if error is not None else election.note or None,
            }
        )
    print_rows(inv, "LeaderElectionReport", _REPORT, rows, cluster)
