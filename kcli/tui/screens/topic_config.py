"""What is configured for a topic, where it differs from Kafka's defaults."""

from collections.abc import Sequence

from kcli.flows.monitor.cluster_reading import TopicFacts
from kcli.flows.monitor.snapshot import Snapshot
from kcli.tui.config_columns import COLUMNS, ConfigRow, topic_rows
from kcli.tui.screens.listing import LISTS
from kcli.tui.screens.of_topic import TOPIC_KEYS, OfTopic
from kcli.tui.shell import command


class TopicConfig(OfTopic[ConfigRow]):
    """What is set on the topic first, then what brokers set for all; a recording has the first only."""

    NAME = "topic configuration"
    ITEM = "TopConfig"
    COLUMNS = COLUMNS
    SORTED_BY = "NAME"
    NOTHING = "nothing is set: Kafka's defaults are in use"
    KEYS = (("tab", "partitions"), *TOPIC_KEYS, *LISTS)

    def key(self, row: ConfigRow) -> str:
        return row.name

    def rows_of(self, snapshot: Snapshot, value: TopicFacts) -> Sequence[ConfigRow]:  # noqa: ARG002
        return topic_rows(value)

    def copied(self) -> str:
        return command(("configs", "describe", "topics"), (self.topic,), (), self.app.facts.options)

    def action_next(self) -> None:
        self.app.show_topic(self.topic)
