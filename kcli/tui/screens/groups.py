"""All groups."""

from collections.abc import Sequence

from kcli.flows.monitor.cluster_reading import View
from kcli.flows.monitor.snapshot import GroupLine, Snapshot
from kcli.tui.group_columns import COLUMNS
from kcli.tui.rewind_form import Scope
from kcli.tui.screens.listing import LISTS, Listing
from kcli.tui.shell import command
from kcli.tui.widgets.table import Table


class Groups(Listing[GroupLine]):
    """One line a group. Lag in time is looked up for those in sight; for all, where the table is sorted by it."""

    NAME = "groups"
    ITEM = "TopGroup"
    COLUMNS = COLUMNS
    SORTED_BY = "LAG"
    NOTHING = "no group"
    KEYS = (
        ("↵", "open"), ("w", "rewind"), ("u", "undo"), ("/", "filter"), ("s", "sort"), ("c", "copy"), *LISTS
    )  # fmt: skip

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

    def rewind_target(self) -> tuple[str, Sequence[Scope]] | None:
        row, snapshot = self.table.chosen, self.app.snapshot
        if row is None or snapshot is None:
            return None
        topics = dict.fromkeys(one.tp.topic for one in snapshot.rows.get(row.group, ()))
        return row.group, (Scope(), *map(Scope, topics))

    def copied(self) -> str | None:
        row = self.table.chosen
        return None if row is None else command(("groups", "lag"), (row.group,), (), self.app.facts.options)

    def on_table_opened(self, event: Table.Opened) -> None:
        """Its partitions."""
        self.app.open_group(event.key)
