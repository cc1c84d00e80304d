"""The rows that a command prints on stdout, in the format that ``-o`` chooses."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kcli.commands.shared.context import Invocation
from kcli.output.listing import NO_FIELDS, list_rows
from kcli.output.tables import Column


def print_rows(
    inv: Invocation,
    kind: str,
    columns: Sequence[Column],
    rows: Iterable[Mapping[str, Any]],
    cluster: str | None = None,
    *,
    item: str | None = None,
    head: Mapping[str, object] = NO_FIELDS,
) -> None:
    """A list of this kind; its items are of the kind ``item``, by default the kind with ``Item`` appended.

    ``head`` has further fields of the document. Its warnings and what is missing are those of the whole command.
    """
    with list_rows(
        inv.out,
        kind,
        item or f"{kind}Item",
        columns,
        cluster=cluster,
        warnings=inv.talk.warnings,
        missing=inv.missing,
        head=head,
    ) as printed:
        for row in rows:
            printed.add(row)
