"""All topics."""

from collections.abc import Sequence

from kcli.flows.monitor.cluster_reading import View
from kcli.flows.monitor.snapshot import Snapshot, TopicLine
from kcli.tui.screens.listing import LISTS, Listing
from kcli.tui.shell import command
from kcli.tui.topic_columns import COLUMNS
from kcli.tui.widgets.table import Table


class Topics(Listing[TopicLine]):
    """One line a topic, also of those that no group reads."""

    NAME = "topics"
    ITEM = "TopTopic"
    COLUMNS = COLUMNS
    SORTED_BY = "IN/S"
    NOTHING = "no topic"
    KEYS = (("↵", "open"), ("/", "filter"), ("s", "sort"), ("c", "copy"), *LISTS)

    def __init__(self) -> None:
        super().__init__()
        self._last: Sequence[TopicLine] = ()

    def key(self, row: TopicLine) -> str:
        return row.topic

    def rows(self, snapshot: Snapshot) -> Sequence[TopicLine]:
        """Those of before until they are read again: the cursor stays where it was when a topic was opened."""
        if not self.is_awaited(snapshot):
            self._last = snapshot.topics
        return self._last

    def is_awaited(self, snapshot: Snapshot) -> bool:
        return self.app.replay is None and snapshot.reading.cluster.topics is None and not snapshot.lacks

    def nothing(self, snapshot: Snapshot) -> str:
        if snapshot.reading.cluster.topics is not None:
            return self.NOTHING
        return "reading the topics …" if self.app.replay is None else "the recording has no topics"

    def view(self) -> tuple[View, str | None]:
        return View(topics=True), None

    def on_table_opened(self, event: Table.Opened) -> None:
        """Its partitions."""
        self.app.open_topic(event.key)

    def copied(self) -> str | None:
        row = self.table.chosen
        return (
            None if row is None else command(("topics", "describe"), (row.topic,), (), self.app.facts.options)
        )
