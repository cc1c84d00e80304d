"""What ``kcli txn describe`` does: a transactional id with its partitions, or what is open in those of a topic."""

from __future__ import annotations

from collections.abc import Sequence

from kcli.commands.shared.cluster import connect, open_admin
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.row_output import print_rows
from kcli.commands.shared.transaction_log import log_reader
from kcli.commands.txn import _rows as view
from kcli.commands.txn._scope import check_scope, surveyed
from kcli.core.clock import wall_ms
from kcli.flows.transactions.coordinated import described
from kcli.flows.transactions.held import PartitionState, partitions_of
from kcli.flows.transactions.remedies import remedies
from kcli.output.envelope import item_of

_DOCUMENTS = ("json", "ndjson", "yaml")
_FOR_PROGRAMS = (*_DOCUMENTS, "tsv", "csv", "name")


def describe_transactions(
    inv: Invocation, name: str | None, topic: str | None, partitions: tuple[int, ...] | None
) -> int:
    """Describes what is selected. Returns the exit status."""
    check_scope("describe", name, topic, partitions, needed=True)
    inv.page()
    if name:
        return _describe_id(inv, name)
    with open_admin(inv) as admin:
        admin.foresee(topics=True)
        cluster = connect(inv, admin)
        found = surveyed(inv, admin, partitions_of(admin, topic or "", partitions), log_reader(inv))
    shown = found.partitions if partitions is not None or not found.held else found.held
    free = len(found.partitions) - len(shown)
    _print_partitions(inv, cluster, shown if inv.out.list_kind() not in _FOR_PROGRAMS else found.partitions)
    if inv.out.list_kind() not in _FOR_PROGRAMS:
        if free:
            inv.talk.note(f"{free:,} of {len(found.partitions):,} partitions are not held back")
        _note_remedies(inv, shown)
    return inv.finish(done=any(state.error is None for state in found.partitions))


def _describe_id(inv: Invocation, name: str) -> int:
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        read_log = log_reader(inv)
        transaction = described(admin, name, read_log)
        found = surveyed(inv, admin, transaction.partitions, read_log)
    now = wall_ms()
    states = found.partitions
    form = inv.out.list_kind()
    if form in _DOCUMENTS:
        rows = [item_of(view.PARTITION, row) for state in states for row in view.partition_rows(state, now)]
        item = view.transaction_item(transaction, rows, now)
        kind = "TransactionDescription"
        print_rows(inv, f"{kind}List", view.TRANSACTION, [item], cluster, item=kind)
        return inv.finish(done=True)
    if form not in _FOR_PROGRAMS and inv.out.headers:
        inv.out.text(view.transaction_text(transaction, now))
    if states:
        _print_partitions(inv, cluster, states)
    if form not in _FOR_PROGRAMS:
        _note_remedies(inv, states)
    return inv.finish(done=True)


def _print_partitions(inv: Invocation, cluster: str, states: Sequence[PartitionState]) -> None:
    now = wall_ms()
    rows = (row for state in states for row in view.partition_rows(state, now))
    print_rows(inv, "PartitionTransactionList", view.PARTITION, rows, cluster, item="PartitionTransaction")


def _note_remedies(inv: Invocation, states: Sequence[PartitionState]) -> None:
    inv.out.flush()
    for line in remedies(states):
        inv.talk.note(line)
