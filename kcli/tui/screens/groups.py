"""All groups."""

from collections.abc import Sequence

from kcli.flows.monitor.cluster_reading import View
from kcli.flows.monitor.snapshot import Snapshot
from kcli.tui.cells import Cell, Line
from kcli.tui.detail import detail_lines, detail_of
from kcli.tui.fitting import cut
from kcli.tui.group_columns import COLUMNS
from kcli.tui.rewind_form import Scope
from kcli.tui.screens.listing import LISTS, Listing
from kcli.tui.shell import command
from kcli.tui.standing import GroupRow, Standing, rows_of
from kcli.tui.widgets.table import Table


class Groups(Listing[GroupRow]):
    """One line a group. Lag in time is looked up for those in sight; for all, where the table is sorted by it."""

    NAME = "groups"
    ITEM = "TopGroup"
    COLUMNS = COLUMNS
    SORTED_BY = "VERDICT"
    NOTHING = "no group"
    KEYS = (
        ("↵", "open"), ("w", "rewind"), ("u", "undo"), ("/", "filter"), ("s", "sort"), ("c", "copy"), *LISTS
    )  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self._standing = Standing()

    def key(self, row: GroupRow) -> str:
        return row.line.group

    def rows(self, snapshot: Snapshot) -> Sequence[GroupRow]:
        """A recording looks the same however a moment was reached: nothing is remembered of other moments."""
        return self._standing.rows(snapshot) if self.app.replay is None else rows_of(snapshot)

    def detail(self, width: int, height: int) -> Sequence[Line]:
        row, snapshot = self.table.chosen, self.app.snapshot
        if row is None or snapshot is None:
            return ()
        title = (Cell(f" {row.line.group}", "title"), Cell(f"   {row.line.state}", "dim"))
        return [cut(title, width), *detail_lines(detail_of(row, snapshot), width, height - 1)]

    def view(self) -> tuple[View, str | None]:
        rows = self.table.in_sight
        if self.table.sorted_by.title == "BEHIND":
            rows = rows + [row for row in self.table.rows if row.line.summary.lag]
        names = tuple(dict.fromkeys(row.line.group for row in rows))
        return View(names, self.app.time), None

    def rewind_target(self) -> tuple[str, Sequence[Scope]] | None:
        row, snapshot = self.table.chosen, self.app.snapshot
        if row is None or snapshot is None:
            return None
        topics = dict.fromkeys(one.tp.topic for one in snapshot.rows.get(row.line.group, ()))
        return row.line.group, (Scope(), *map(Scope, topics))

    def copied(self) -> str | None:
        row = self.table.chosen
        return (
            None if row is None else command(("groups", "lag"), (row.line.group,), (), self.app.facts.options)
        )

    def on_table_opened(self, event: Table.Opened) -> None:
        """Its partitions."""
        self.app.open_group(event.key)
