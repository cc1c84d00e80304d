"""What has happened since the screen was opened."""

from collections.abc import Sequence

from kcli.flows.monitor.cluster_reading import View
from kcli.flows.monitor.snapshot import Snapshot
from kcli.tui.cells import Cell, wrapped
from kcli.tui.event_columns import COLUMNS, EventRow
from kcli.tui.head import event_style
from kcli.tui.rewind_form import Scope
from kcli.tui.screens.listing import LISTS, Listing
from kcli.tui.shell import command
from kcli.tui.widgets.table import Table

_LEAST_HEIGHT, _LINES = 16, 3
"""Lines of a terminal that has room for an event below the table, and of that."""


class Events(Listing[EventRow]):
    """Rebalances, members, verdicts, rewinds, new groups: the last thousand."""

    NAME = "events"
    ITEM = "TopEvent"
    COLUMNS = COLUMNS
    SORTED_BY = "TIME"
    NOTHING = "nothing has happened yet"
    KEYS = (
        ("↵", "open the group"), ("w", "rewind"), ("u", "undo"), ("/", "filter"), ("s", "sort"), ("c", "copy"), *LISTS
    )  # fmt: skip

    def key(self, row: EventRow) -> str:
        event = row.event
        return f"{event.group} {event.kind}: {event.text} {event.at_ms}"

    def rows(self, snapshot: Snapshot) -> Sequence[EventRow]:
        return [EventRow(event, snapshot.reading.utc_offset) for event in snapshot.events]

    def view(self) -> tuple[View, str | None]:
        return View(), None

    def on_table_opened(self, _event: Table.Opened) -> None:
        """The group that it happened to."""
        if (chosen := self.table.chosen) is not None:
            self.app.open_group(chosen.event.group)

    def on_table_looked(self) -> None:
        super().on_table_looked()
        self.paint_status()

    def paint_status(self) -> None:
        """The event under the cursor is below the table as a whole, where it is too long for its row."""
        super().paint_status()
        row, width = self.table.chosen, self.size.width
        if row is None or self.size.height < _LEAST_HEIGHT:
            return
        lines = wrapped(f"{row.event.group}  {row.event.kind}: {row.event.text}", max(1, width - 2))
        rule = (Cell("─" * width, "dim"),)
        style = event_style(row.event)
        self.strip.show((rule, *((Cell(f" {line}", style),) for line in lines[:_LINES])))

    def rewind_target(self) -> tuple[str, Sequence[Scope]] | None:
        row = self.table.chosen
        return None if row is None or not row.event.group else (row.event.group, (Scope(),))

    def copied(self) -> str | None:
        row = self.table.chosen
        if row is None or not row.event.group:
            return None
        return command(("groups", "lag"), (row.event.group,), (), self.app.facts.options)
