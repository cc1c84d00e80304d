"""What ``kcli txn list`` does: asks the coordinators what is open, and partitions what holds them back."""

from __future__ import annotations

from fnmatch import fnmatchcase
from shlex import quote

from kcli.account.survey import Missing
from kcli.commands.shared.cluster import connect, open_admin
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.row_output import print_rows
from kcli.commands.shared.transaction_log import log_reader
from kcli.commands.txn import _rows as view
from kcli.commands.txn._scope import check_scope, surveyed
from kcli.core.admin.admin import Admin
from kcli.core.clock import wall_ms
from kcli.core.types import TopicPartition
from kcli.flows.transactions.coordinated import open_transactions
from kcli.flows.transactions.held import partitions_of
from kcli.flows.transactions.listed import HANGING_STATE, listed
from kcli.output.progress import counted


def list_transactions(
    inv: Invocation,
    topic: str | None,
    partitions: tuple[int, ...] | None,
    older_than: float | None,
    match: str | None,
) -> int:
    """Lists open and hanging transactions. Returns the exit status."""
    check_scope("list", None, topic, partitions, needed=False)
    with open_admin(inv) as admin:
        admin.foresee(topics=True)
        cluster, read_log = connect(inv, admin), log_reader(inv)
        chosen, coordinated = admin.together(
            lambda: _every_partition(admin) if topic is None else partitions_of(admin, topic, partitions),
            lambda: open_transactions(admin, read_log),
        )
        found = surveyed(inv, admin, chosen, read_log)
    reported = {str(error) for error in found.coordinated.errors}
    for error in coordinated.errors:
        if str(error) not in reported:
            inv.lacks(Missing.of(error))
    now = wall_ms()
    scope: set[TopicPartition] | None = None if topic is None else set(chosen)
    rows = [
        view.transaction_row(one, now)
        for one in listed(coordinated, found)
        if scope is None or not scope.isdisjoint(one.partitions)
    ]
    rows = [row for row in rows if older_than is None or _is_older(row["age_seconds"], older_than)]
    if match is not None:
        rows = [row for row in rows if fnmatchcase(row["transactional_id"] or "", match)]
    if not rows:
        inv.talk.remark(
            f"no transaction {_wanted(older_than, match)}, as far as this client may describe topics and "
            "transactional ids"
        )
    _print(inv, cluster, rows)
    hanging = [row for row in rows if row["state"] == HANGING_STATE]
    if hanging:
        inv.talk.note(f"{counted(len(hanging), 'hanging transaction')}: {_ends(hanging)}")
    any_read = not coordinated.errors or any(state.error is None for state in found.partitions)
    return inv.finish(done=bool(rows) or any_read)


def _wanted(older_than: float | None, match: str | None) -> str:
    old = "" if older_than is None else "is that old"
    named = "" if match is None else f"has an id that matches {match}"
    return " and ".join(filter(None, (old, named))) or "is open or hanging"


def _ends(hanging: list[view.Row]) -> str:
    """What ends the first, which is often the only one."""
    topic, _, partition = hanging[0]["partitions"][0].rpartition("-")
    it = "it" if len(hanging) == 1 else "the first"
    return f"nothing ends {it} but `kcli txn abort --topic {quote(topic)} -p {partition}`"


def _print(inv: Invocation, cluster: str, rows: list[view.Row]) -> None:
    if inv.out.list_kind() == "name":
        rows = [row for row in rows if row["transactional_id"] is not None]
    print_rows(inv, "TransactionList", view.LIST, rows, cluster, item="Transaction")


def _every_partition(admin: Admin) -> list[TopicPartition]:
    return [
        TopicPartition(topic.name, part.partition)
        for topic in admin.list_topics()
        for part in topic.partitions
    ]


def _is_older(age: float | None, limit: float) -> bool:
    """A transaction of unknown age is shown: it may be older."""
    return age is None or age > limit
