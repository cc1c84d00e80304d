"""A plan that is shown and not executed, of any command that changes the cluster."""

from collections.abc import Iterable, Sequence
from typing import Any

from kcli.commands.shared.confirm import show_plan
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.row_output import print_rows
from kcli.core.errors import NotValidatedError
from kcli.output.tables import Column

ROW_KINDS = ("json", "ndjson", "yaml", "csv", "tsv", "name")


def show_plan_only(
    inv: Invocation,
    text: str,
    columns: Sequence[Column],
    rows: Iterable[dict[str, Any]],
    cluster: str | None,
    *,
    kind: str,
) -> None:
    """On stdout of a dry run, as rows for programs; else, where nothing can be done, on stderr."""
    if not (inv.dry_run and inv.out.kind in ROW_KINDS):
        show_plan(inv, text)
        return
    print_rows(inv, kind, columns, rows, cluster)


def not_checked(error: NotValidatedError) -> str:
    """What a plan says of changes that no broker has checked."""
    return f"not checked by the broker: {error.why}; it was compared with what the cluster shows"
