"""``kcli undo`` of ``topics delete``: creates the topics again as a journal has them, without their records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kcli.account.change import Change, Found, Item, Question
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.admin.new_partitions import NotKnownError
from kcli.core.admin.topics import TopicInfo
from kcli.core.error_codes import INVALID_REPLICATION_FACTOR, TOPIC_ALREADY_EXISTS
from kcli.core.errors import BrokerError, KcliError, NotFoundError
from kcli.core.types import TopicSpec
from kcli.flows.journal import Journal, TopicEntry
from kcli.flows.permitted import creation_failed, denied_creations
from kcli.output.progress import counted
from kcli.output.tables import Column, indented_table, time_text

TopicItem = Item[str, TopicEntry]


class TopicRestore(Change[str, TopicEntry]):
    """The topics of a journal."""

    kind = "TopicRestore"
    printed_by = "undo"
    item_meaning = "A topic."
    columns = (
        Column("topic"),
        Column("partitions", "number", meaning="How many partitions it had."),
        Column("replication_factor", "number", spare=1, meaning="Replicas of a partition."),
        Column(
            "configs",
            meaning="What was set on it; null where it could not be read.",
            values="object?",
            spare=2,
        ),
    )
    quiet_report = True
    nothing = "nothing is to be created"

    def __init__(self, journal: Journal) -> None:
        self.made = journal
        self._late: dict[str, NotKnownError] = {}
        self.ids: dict[str, str] = {}
        """Those of the topics that were created again."""

    def decide(self, admin: Admin) -> list[TopicItem]:
        """Topics that exist are refused, unless they are the same ones, which were not deleted."""
        self.made.check_cluster(admin.cluster_id())
        entries = {entry.topic: entry for entry in self.made.entries if isinstance(entry, TopicEntry)}
        found = admin.describe_topics(list(entries))
        missing = [name for name, topic in found.items() if isinstance(topic, NotFoundError)]
        denied, brokers = denied_creations(admin, missing), len(admin.cluster.view.nodes)
        items: list[TopicItem] = []
        for name, entry in entries.items():
            topic, item = found[name], Item(name, entry)
            error = denied.get(name)
            if isinstance(topic, TopicInfo):
                if entry.topic_id and topic.topic_id == entry.topic_id:
                    items.append(item._replace(outcome=Outcome.UNCHANGED, note="it was not deleted"))
                    continue
                do = f"`kcli topics describe {name}` shows the topic that has the name now; nothing was done to it"
                error = BrokerError(TOPIC_ALREADY_EXISTS, creation_failed(name), do=do)
            elif not isinstance(topic, NotFoundError):
                error = topic
            elif error is None and entry.replication_factor > brokers:
                has = f"the cluster has {counted(brokers, 'broker')}"
                error = BrokerError(INVALID_REPLICATION_FACTOR, creation_failed(name), message=has)
            items.append(item if error is None else item._replace(outcome=Outcome.REFUSED, error=error))
        return items

    def text(self, plan: Sequence[TopicItem]) -> str:
        """The topics, and what is not restored."""
        todo = sum(item.outcome is Outcome.PLANNED for item in plan)
        notes = {item.key: item.note or (self.reason(item.error) if item.error else None) for item in plan}
        rows = [{**self.row(item), "note": notes[item.key]} for item in plan]
        when = time_text(self.made.at)
        return "\n".join(
            [
                f"Create {counted(todo, 'topic')} again, deleted by kcli {self.made.command} at {when}.",
                *indented_table([*self.columns, Column("note", "prose")], rows),
                "The topics will be empty: neither their records nor the offsets that groups had committed are restored.",
            ]
        )

    def questions(self, plan: Sequence[TopicItem]) -> list[Question]:
        """One for all."""
        return [Question(self.text(plan), "Create these topics?", subject=self.made.id)]

    def warnings(self, plan: Sequence[TopicItem]) -> Iterable[str]:
        """Topics whose configuration is not known."""
        return (
            f"the configuration of topic {item.key} is not in the journal: it could not be read when it was deleted"
            for item in plan
            if item.facts.configs is None
        )

    def apply(self, admin: Admin, todo: Sequence[TopicItem]) -> Mapping[str, KcliError | None]:
        """Creates the topics. Those that brokers do not show in time are there: what became of them is not known."""
        answers = admin.create_topics(
            [
                TopicSpec(name, entry.partitions, entry.replication_factor, entry.configs or {})
                for name, entry in ((item.key, item.facts) for item in todo)
            ]
        )
        self._late = {name: error for name, error in answers.items() if isinstance(error, NotKnownError)}
        return {name: None if name in self._late else error for name, error in answers.items()}

    def read_back(self, admin: Admin, items: Sequence[TopicItem]) -> dict[str, Found[TopicEntry] | KcliError]:
        """Whether the topics exist."""
        found = admin.describe_topics([item.key for item in items])
        self.ids = {name: one.topic_id for name, one in found.items() if isinstance(one, TopicInfo)}
        return {item.key: self._late.get(item.key) or _after(item, found[item.key]) for item in items}

    def row(self, item: TopicItem) -> dict[str, Any]:
        """The values of the columns."""
        entry = item.facts
        return {
            "topic": entry.topic,
            "partitions": entry.partitions,
            "replication_factor": entry.replication_factor,
            "configs": entry.configs,
        }

    def summary(self, items: Sequence[TopicItem]) -> Iterable[str]:
        """A line for each topic."""
        return (f"created topic {item.key}, empty" for item in items)


def _after(item: TopicItem, now: TopicInfo | KcliError) -> Found[TopicEntry] | KcliError:
    if isinstance(now, KcliError) and not isinstance(now, NotFoundError):
        return now
    return Found(item.facts, now if isinstance(now, KcliError) else None)
