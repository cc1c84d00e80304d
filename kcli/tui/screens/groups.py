"""All groups."""

from collections.abc import Sequence

from kcli.flows.monitor.reading import View
from kcli.flows.monitor.snapshot import GroupLine, Snapshot
from kcli.tui.group_columns import COLUMNS
from kcli.tui.screens.listing import LISTS, Listing
from kcli.tui.widgets.table import Table


class Groups(Listing[GroupLine]):
    """One line a group. Lag in time is looked up for those in sight; for all, where the table is sorted by it."""

    COLUMNS = COLUMNS
    SORTED_BY = "LAG"
    NOTHING = "no group"
    KEYS = (("↵", "open"), ("/", "filter"), ("s", "sort"), *LISTS)

    def key(self, row: GroupLine) -> str:
        return row.group

    def rows(self, snapshot: Snapshot) -> Sequence[GroupLine]:
        return [*snapshot.groups, *snapshot.unread]

    def view(self) -> tuple[View, str | None]:
        rows = self.table.in_sight
        if self.table.sorted_by.title == "TIME":
            rows = rows + [row for row in self.table.rows if row.summary.lag]
        names = tuple(dict.fromkeys(row.group for row in rows))
        return View(names, self.app.time), None

    def on_table_opened(self, event: Table.Opened) -> None:
        """Its partitions."""
        self.app.open_group(event.key)
