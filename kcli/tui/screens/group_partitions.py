"""The partitions of a group."""

from collections.abc import Sequence

from kcli.flows.monitor.snapshot import Snapshot
from kcli.tui.partition_columns import COLUMNS, PartitionRow
from kcli.tui.screens.group_members import GroupMembers
from kcli.tui.screens.listing import LISTS
from kcli.tui.screens.of_group import OfGroup


class GroupPartitions(OfGroup[PartitionRow]):
    """Committed offset, end and lag of each, and who reads it."""

    NAME = "partitions"
    ITEM = "TopPartition"
    COLUMNS = COLUMNS
    SORTED_BY = "LAG"
    NOTHING = "no committed offset, and no member reads a partition"
    KEYS = (("tab", "members"), ("/", "filter"), ("s", "sort"), *LISTS)

    def key(self, row: PartitionRow) -> str:
        return f"{row.lag.tp.topic}-{row.lag.tp.partition}"

    def rows(self, snapshot: Snapshot) -> Sequence[PartitionRow]:
        lags = snapshot.lags
        return [PartitionRow(row, lags.get(row.tp, ())) for row in snapshot.rows.get(self.group, ())]

    def action_next(self) -> None:
        self.app.switch_screen(GroupMembers(self.group))
