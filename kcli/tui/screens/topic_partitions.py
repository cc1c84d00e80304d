"""The partitions of a topic."""

from collections.abc import Sequence

from kcli.core.types import TopicPartition
from kcli.flows.groups.offsets import NOTHING
from kcli.flows.monitor.cluster_reading import TopicFacts
from kcli.flows.monitor.snapshot import Snapshot
from kcli.tui.screens.listing import LISTS, RECORDS
from kcli.tui.screens.of_topic import TOPIC_KEYS, OfTopic
from kcli.tui.screens.topic_readers import TopicReaders
from kcli.tui.topic_partition_columns import COLUMNS, TopicPartitionRow
from kcli.tui.widgets.table import Table


class TopicPartitions(OfTopic[TopicPartitionRow]):
    """Leader, replicas, offsets and size of each; its newest records are opened from here."""

    NAME = "topic"
    ITEM = "TopTopicPartition"
    COLUMNS = COLUMNS
    SORTED_BY = "STATE"
    NOTHING = "the topic has no partition"
    KEYS = (RECORDS, ("tab", "readers"), *TOPIC_KEYS, *LISTS)

    def key(self, row: TopicPartitionRow) -> str:
        return f"{self.topic}-{row.view.partition}"

    def rows_of(self, snapshot: Snapshot, value: TopicFacts) -> Sequence[TopicPartitionRow]:  # noqa: ARG002
        name = value.info.name
        return [
            TopicPartitionRow(
                one,
                value.ends.get(TopicPartition(name, one.partition), NOTHING),
                value.sizes.get(one.partition),
            )
            for one in value.info.partitions
        ]

    def on_table_opened(self, _event: Table.Opened) -> None:
        """Its newest records."""
        if (row := self.table.chosen) is not None:
            self.app.open_record(TopicPartition(self.topic, row.view.partition), None)

    def action_next(self) -> None:
        self.app.switch_screen(TopicReaders(self.topic))
