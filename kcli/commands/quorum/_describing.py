"""What ``kcli quorum describe`` does: shows the quorum once, or again and again."""

from __future__ import annotations

from contextlib import ExitStack
from time import monotonic, sleep

from kcli.account.survey import Missing
from kcli.commands.shared.cluster import connect, open_admin
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.exit import orderly_end
from kcli.commands.shared.row_output import print_rows
from kcli.core.admin.admin import Admin
from kcli.core.admin.feature_levels import KRAFT_VERSION
from kcli.core.admin.quorum import QuorumDescription
from kcli.core.clock import wall_ms
from kcli.core.errors import KcliError
from kcli.flows.cluster_state import finalized_levels
from kcli.flows.quorum.rows import COLUMNS, WATCHED, heading, quorum_fields, replica_rows
from kcli.output.listing import list_rows
from kcli.output.tables import time_text

_KIND, _ITEM = "Quorum", "QuorumReplica"
_FOR_PEOPLE = ("table", "wide", "plain")
_HOME_AND_CLEAR = "\x1b[H\x1b[J"


def describe(inv: Invocation) -> int:
    """Shows it once. Returns the exit status."""
    inv.page()
    with open_admin(inv) as admin:
        admin.foresee(brokers=True)
        cluster = connect(inv, admin)
        quorum, level = admin.together(admin.describe_quorum, lambda: _kraft_version(inv, admin))
    if inv.out.list_kind() in _FOR_PEOPLE and inv.out.headers:
        inv.out.shown(heading(cluster, quorum, level) + "\n", fold=True)
    head = quorum_fields(quorum, level)
    print_rows(inv, _KIND, COLUMNS, replica_rows(quorum), cluster, item=_ITEM, head=head)
    return inv.finish(done=True)


def watching(inv: Invocation, interval: float) -> int:
    """Shows it every ``interval`` seconds, until a signal. Returns the exit status."""
    with ExitStack() as stack:
        stack.enter_context(orderly_end())  # a document is complete whatever signal ends it
        admin = stack.enter_context(open_admin(inv))
        cluster = connect(inv, admin)
        level = _kraft_version(inv, admin)
        rows = None
        if inv.out.list_kind() not in _FOR_PEOPLE:
            rows = stack.enter_context(
                list_rows(
                    inv.out,
                    _KIND,
                    _ITEM,
                    (*WATCHED, *COLUMNS),
                    cluster=cluster,
                    warnings=inv.talk.warnings,
                    missing=inv.missing,
                )
            )
            rows.endless = True
        while True:
            began = monotonic()
            quorum = admin.describe_quorum()
            if rows is None:
                _show(inv, cluster, quorum, level)
            else:
                at = time_text(wall_ms())
                for row in replica_rows(quorum):
                    rows.add({"at": at, **row})
            inv.out.flush()
            sleep(max(0.0, began + interval - monotonic()))


def _show(inv: Invocation, cluster: str, quorum: QuorumDescription, level: int | None) -> None:
    """For people: on a terminal instead of what was there, else below it."""
    inv.out.text(_HOME_AND_CLEAR if inv.out.isatty else "")
    inv.out.text(f"{time_text(wall_ms())}\n")
    inv.out.shown(heading(cluster, quorum, level) + "\n", fold=True)
    print_rows(inv, _KIND, COLUMNS, replica_rows(quorum), cluster, item=_ITEM)
    inv.out.text("" if inv.out.isatty else "\n")


def _kraft_version(inv: Invocation, admin: Admin) -> int | None:
    """The finalized level, 0 where there is none; None, and said, where no broker reports it."""
    try:
        return finalized_levels(admin).get(KRAFT_VERSION, 0)
    except KcliError as error:
        inv.lacks(Missing.of(error, "the level of kraft.version"))
        return None
