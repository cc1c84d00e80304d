"""The rows of a query, in the chosen format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kcli.commands.shared.context import Invocation
from kcli.output.listing import DOCUMENTS, NO_FIELDS, list_rows
from kcli.output.progress import Progress
from kcli.output.tables import Column, Rows
from kcli.pipeline.result_values import ResultColumn, item_maker, with_text_cells

if TYPE_CHECKING:
    from types import TracebackType

_NUMBERS = frozenset({"tinyint", "smallint", "int", "bigint", "float", "double"})


class ResultRows:
    """``with result_rows(…) as result: result.add_portion(rows)``; ``rows`` are those of the format."""

    def __init__(self, rows: Rows, columns: Sequence[ResultColumn], shown: str) -> None:
        self.rows = rows
        self._item = item_maker(columns)
        self._is_document = shown in DOCUMENTS

    def __enter__(self) -> ResultRows:
        self.rows.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.rows.__exit__(kind, error, trace)

    def add_portion(self, portion: Sequence[Sequence[Any]]) -> None:
        """Adds rows as the engine returned them."""
        for row in portion:
            self.rows.add(self._item(row) if self._is_document else with_text_cells(self._item(row)))


def result_rows(
    inv: Invocation,
    columns: Sequence[ResultColumn],
    cluster: str | None,
    tail: Mapping[str, object] = NO_FIELDS,
) -> ResultRows:
    """Rows with these columns. ``tail``: see ``list_rows``."""
    shown = inv.out.list_kind()
    made = []
    for name, kind in columns:
        made.append(Column(name, "time" if kind == "timestamp" else "id" if kind in _NUMBERS else "text"))
        if kind == "binary" and shown in ("csv", "tsv"):
            made.append(Column(f"{name}_encoding"))
    rows = list_rows(
        inv.out,
        "QueryResult",
        "QueryRow",
        made,
        cluster=cluster,
        warnings=inv.talk.warnings,
        missing=inv.missing,
        head={"columns": [column.name for column in columns]},
        tail=tail,
    )
    return ResultRows(rows, columns, shown)


def clear_the_way(inv: Invocation, bar: Progress) -> None:
    """On a terminal rows follow where the progress was."""
    if inv.out.isatty:
        bar.close()
