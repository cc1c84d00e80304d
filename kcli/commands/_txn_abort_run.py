"""What ``kcli txn abort`` does: finds transactions, shows the plan, asks, ends them, and reads the partitions back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kcli.commands import _txn_abort_plan as plans
from kcli.commands._txn_abort_plan import Plan
from kcli.commands._txn_scope import check_scope, log_reader, partitions_of, surveyed
from kcli.commands.shared.cluster import connect, open_admin
from kcli.commands.shared.confirm import confirm
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.plan_output import show_plan_only
from kcli.commands.shared.row_output import print_rows
from kcli.core.admin.admin import Admin
from kcli.core.clock import wall_ms
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition
from kcli.flows.transactions.abort import DONE, Outcome, Result, execute
from kcli.flows.transactions.coordinated import described
from kcli.output.progress import counted


class Wanted(NamedTuple):
    """What the command line selects."""

    name: str | None
    topic: str | None
    partitions: tuple[int, ...] | None
    older_than: float | None


def abort_transactions(
    inv: Invocation,
    name: str | None,
    topic: str | None,
    partitions: tuple[int, ...] | None,
    older_than: float | None,
) -> int:
    """Ends the transactions that are selected. Returns the exit status."""
    check_scope("abort", name, topic, partitions, needed=True)
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        plan = _plan(inv, admin, Wanted(name, topic, partitions, older_than))
        return _confirm_and_abort(inv, admin, cluster, plan)


def _plan(inv: Invocation, admin: Admin, wanted: Wanted) -> Plan:
    now = wall_ms()
    if wanted.name:
        transaction = described(admin, wanted.name, log_reader(inv))
        found = surveyed(inv, admin, transaction.partitions)
        return plans.plan_of_transaction(transaction, found.partitions, now, wanted.older_than)
    assert wanted.topic is not None
    found = surveyed(inv, admin, partitions_of(admin, wanted.topic, wanted.partitions))
    return plans.plan_of_partitions(wanted.topic, found.partitions, now, wanted.older_than)


def _confirm_and_abort(inv: Invocation, admin: Admin, cluster: str, plan: Plan) -> int:
    text = plans.plan_text(plan, wall_ms())

    def remarks() -> None:
        for error in plan.refused:
            inv.failed(error, partly=plan.possible)

    if not plan.possible and not plan.refused:
        inv.talk.note(plan.nothing)
    if inv.dry_run or not plan.possible:
        if plan.possible or inv.dry_run:
            rows = plans.plan_rows(plan, wall_ms())
            show_plan_only(inv, text, plans.PLAN, rows, cluster, kind="TransactionAbortPlan")
        elif not plan.refused:
            _print_report(inv, cluster, plan, Result({}, {}))
        remarks()
        return inv.finish(done=plan.possible)
    confirm(inv, text, plans.question(plan), name=plan.typed_name, remarks=remarks)
    result = execute(admin, plan.transactions, plan.items, log_reader(inv), inv.timeout)
    done = [tp for tp, outcome in result.partitions.items() if outcome.status == DONE]
    fenced = [name for name, error in result.fenced.items() if error is None]
    for error in _errors(result):
        inv.failed(error, partly=bool(done or fenced))
    _print_report(inv, cluster, plan, result)
    _summary(inv, result.partitions, done, fenced)
    return inv.finish(done=bool(done or fenced))


def _errors(result: Result) -> list[KcliError]:
    """An error for each transactional id that was not fenced, and for each partition that failed otherwise."""
    found = {name: error for name, error in result.fenced.items() if error is not None}
    own = [
        outcome.error
        for outcome in result.partitions.values()
        if outcome.error is not None and all(outcome.error is not error for error in found.values())
    ]
    return [*found.values(), *own]


def _summary(
    inv: Invocation,
    outcomes: Mapping[TopicPartition, Outcome],
    done: Sequence[TopicPartition],
    fenced: Sequence[str],
) -> None:
    if done:
        inv.talk.note(f"aborted the transaction in {counted(len(done), 'partition')}, read back")
    elif fenced:
        inv.talk.note(f"fenced {', '.join(fenced)}; it had no records in partitions that can be read back")
    ended = sum(outcome.status == "ended" for outcome in outcomes.values())
    if ended:
        inv.talk.note(f"{counted(ended, 'transaction')} had ended before, and nothing was sent")


def _print_report(inv: Invocation, cluster: str, plan: Plan, result: Result) -> None:
    rows = plans.report_rows(plan, result, wall_ms())
    print_rows(inv, "TransactionAbortReport", plans.REPORT, rows, cluster)
