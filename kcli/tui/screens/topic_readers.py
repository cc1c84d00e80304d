"""The groups that read a topic."""

from collections.abc import Sequence

from kcli.flows.monitor.cluster_reading import TopicFacts, View
from kcli.flows.monitor.opened_topic import TopicReader, topic_readers
from kcli.flows.monitor.snapshot import Snapshot
from kcli.tui.reader_columns import COLUMNS
from kcli.tui.rewind_form import Scope
from kcli.tui.screens.listing import LISTS
from kcli.tui.screens.of_topic import TOPIC_KEYS, OfTopic
from kcli.tui.screens.topic_config import TopicConfig
from kcli.tui.shell import command
from kcli.tui.widgets.table import Table


class TopicReaders(OfTopic[TopicReader]):
    """One line a group: how far behind it is in this topic."""

    NAME = "readers"
    ITEM = "TopReader"
    COLUMNS = COLUMNS
    SORTED_BY = "VERDICT"
    NOTHING = "no group reads the topic, as far as groups were read"
    KEYS = (
        ("↵", "open the group"), ("tab", "configuration"), ("w", "rewind"), ("u", "undo"), *TOPIC_KEYS, *LISTS
    )  # fmt: skip

    def key(self, row: TopicReader) -> str:
        return row.group

    def rows_of(self, snapshot: Snapshot, value: TopicFacts) -> Sequence[TopicReader]:  # noqa: ARG002
        return topic_readers(snapshot, self.topic)

    def view(self) -> tuple[View, str | None]:
        names = tuple(row.group for row in self.table.in_sight)
        return View(names, self.app.time, topic=self.topic), None

    def rewind_target(self) -> tuple[str, Sequence[Scope]] | None:
        row = self.table.chosen
        return None if row is None else (row.group, (Scope(self.topic), Scope()))

    def on_table_opened(self, event: Table.Opened) -> None:
        """Its partitions."""
        self.app.open_group(event.key)

    def copied(self) -> str:
        row = self.table.chosen
        if row is None:
            return super().copied()
        return command(("groups", "lag"), (row.group,), ("--topic", self.topic), self.app.facts.options)

    def action_next(self) -> None:
        self.app.switch_screen(TopicConfig(self.topic))
