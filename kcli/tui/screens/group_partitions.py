"""The partitions of a group."""

from collections.abc import Sequence

from kcli.flows.monitor.snapshot import Snapshot
from kcli.tui.group_columns import calm_of
from kcli.tui.partition_columns import COLUMNS, PartitionRow
from kcli.tui.rewind_form import Scope
from kcli.tui.screens.group_members import GroupMembers
from kcli.tui.screens.listing import LISTS, RECORDS
from kcli.tui.screens.of_group import GROUP_KEYS, OfGroup
from kcli.tui.shell import command
from kcli.tui.widgets.table import Table


class GroupPartitions(OfGroup[PartitionRow]):
    """Committed offset, end and lag of each, and who reads it."""

    NAME = "partitions"
    ITEM = "TopPartition"
    COLUMNS = COLUMNS
    SORTED_BY = "LAG"
    NOTHING = "no committed offset, and no member reads a partition"
    KEYS = (RECORDS, ("tab", "members"), *GROUP_KEYS, *LISTS)

    def key(self, row: PartitionRow) -> str:
        return f"{row.lag.tp.topic}-{row.lag.tp.partition}"

    def rows(self, snapshot: Snapshot) -> Sequence[PartitionRow]:
        lags, line = snapshot.lags, self.line(snapshot)
        rows = snapshot.rows.get(self.group, ())
        words = [None] * len(rows) if line is None else line.judged.of(rows)
        most: float = max((lag or 0 for row in rows for lag in lags.get(row.tp, ())), default=0)
        if line is not None and rows:
            most = max(most, calm_of(line) / len(rows))
        return [
            PartitionRow(row, lags.get(row.tp, ()), word, most) for row, word in zip(rows, words, strict=True)
        ]

    def rewind_target(self) -> tuple[str, Sequence[Scope]] | None:
        """Also for the partition under the cursor, and its topic."""
        found, row = super().rewind_target(), self.table.chosen
        if found is None or row is None:
            return found
        tp = row.lag.tp
        here = (Scope(tp.topic), Scope(tp.topic, tp.partition))
        return self.group, (Scope(), *here, *(scope for scope in found[1][1:] if scope not in here))

    def on_table_opened(self, _event: Table.Opened) -> None:
        """The records around its committed offset."""
        if (row := self.table.chosen) is not None:
            self.app.open_record(row.lag.tp, row.lag.committed or 0)

    def action_next(self) -> None:
        self.app.switch_screen(GroupMembers(self.group))

    def copied(self) -> str:
        row = self.table.chosen
        topic = () if row is None else ("--topic", row.lag.tp.topic)
        return command(("groups", "lag"), (self.group,), topic, self.app.facts.options)
