"""What ``kcli consume --count`` prints: a number, or a table of the groups of ``--by``."""

from collections.abc import Callable
from types import TracebackType

from kcli.commands.consume.options import ConsumeOptions
from kcli.commands.shared.context import Invocation
from kcli.files.atomic import FileError
from kcli.flows.consume.counting import Counting
from kcli.flows.filters.field_paths import FieldReader
from kcli.output.fields import shown
from kcli.output.listing import DOCUMENTS, list_rows
from kcli.output.tables import Column

COUNT = Column("count", "number", values="count", meaning="How many records there are.")
COUNTED = (COUNT,)


class PrintedCounts(Counting):
    """Counts, and prints the result at the end; of a part of what was asked for only where the format says so."""

    def __init__(
        self,
        inv: Invocation,
        asked: ConsumeOptions,
        by: FieldReader | None,
        cluster: Callable[[], str | None],
        stopped: Callable[[], bool],
    ) -> None:
        super().__init__(by)
        self._inv, self._asked, self._reader = inv, asked, by
        self._cluster, self._stopped = cluster, stopped

    def __enter__(self) -> "PrintedCounts":
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: TracebackType | None) -> None:
        try:
            whole = error is None and not self._stopped()
            if not isinstance(error, OSError | FileError) and (whole or self._inv.out.kind in DOCUMENTS):
                self._print()
        finally:
            self.close()

    def _print(self) -> None:
        inv, out = self._inv, self._inv.out
        if self._reader is None and out.kind in (None, "value"):
            out.text(f"{self.total}\n")
            out.flush()
            return
        names = [] if self._reader is None else [field.name for field in self._reader.fields]
        groups = (
            self.groups(self._asked.top) if names else ()
        )  # before anything is printed: the disk may be full
        with list_rows(
            out,
            "RecordCountList",
            "RecordCount",
            [*(Column(name) for name in names), COUNT],
            cluster=self._cluster(),
            warnings=inv.talk.warnings,
            missing=inv.missing,
        ) as rows:
            if self._reader is None:
                rows.add({"count": self.total})
                return
            for cells, count in groups:
                rows.add({**dict(zip(names, map(shown, cells), strict=True)), "count": count})
