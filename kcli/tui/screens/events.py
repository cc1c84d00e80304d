"""What has happened since the screen was opened."""

from collections.abc import Sequence

from kcli.flows.monitor.reading import View
from kcli.flows.monitor.snapshot import Event, Snapshot
from kcli.tui.event_columns import COLUMNS
from kcli.tui.rewind_form import Scope
from kcli.tui.screens.listing import LISTS, Listing
from kcli.tui.shell import command
from kcli.tui.widgets.table import Table


class Events(Listing[Event]):
    """Rebalances, members, verdicts, rewinds, new groups: the last thousand."""

    COLUMNS = COLUMNS
    SORTED_BY = "TIME"
    NOTHING = "nothing has happened yet"
    KEYS = (("↵", "open the group"), ("w", "rewind"), ("u", "undo"), ("/", "filter"), ("c", "copy"), *LISTS)

    def key(self, row: Event) -> str:
        return f"{row.group} {row.kind}: {row.text} {row.at_ms}"

    def rows(self, snapshot: Snapshot) -> Sequence[Event]:
        return snapshot.events

    def view(self) -> tuple[View, str | None]:
        return View(), None

    def on_table_opened(self, _event: Table.Opened) -> None:
        """The group that it happened to."""
        if (chosen := self.table.chosen) is not None:
            self.app.open_group(chosen.group)

    def rewind_target(self) -> tuple[str, Sequence[Scope]] | None:
        row = self.table.chosen
        return None if row is None or not row.group else (row.group, (Scope(),))

    def copied(self) -> str | None:
        row = self.table.chosen
        if row is None or not row.group:
            return None
        return command(("groups", "lag"), (row.group,), (), self.app.facts.options)
