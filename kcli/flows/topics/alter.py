"""``kcli topics alter``: changes the configuration of a topic, and adds partitions after that."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from kcli.account.change import Found, Item, is_lost
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigChange, ConfigKind, ConfigResource
from kcli.core.admin.new_partitions import NotKnownError
from kcli.core.admin.topics import TopicInfo
from kcli.core.errors import KcliError, PartlyFailedError
from kcli.flows.configs.alteration import COLUMNS, AlteredKey, AlterItem, ConfigAlteration
from kcli.flows.topics.partitions import AddedPartitions
from kcli.flows.topics.purpose import internal_purpose
from kcli.output.tables import Column


class Growth(NamedTuple):
    """The answer to the request for more partitions."""

    answer: KcliError | None


class TopicAlter(ConfigAlteration):
    """Changes of a topic; ``partitions`` is their number afterwards, or None where it stays.

    Partitions are added only if the configuration was changed.
    """

    kind = "TopicAlter"
    printed_by = "topics alter"
    columns = (Column("topic", wide=True), *COLUMNS)
    named_by = "topic"
    parts = True

    def __init__(
        self, name: str, changes: Sequence[ConfigChange], partitions: int | None, *, named: bool
    ) -> None:
        self.resource = ConfigResource(ConfigKind.TOPIC, name)
        super().__init__([self.resource], changes, named=named)
        self.name, self.partitions = name, partitions
        self._topic: TopicInfo | None = None
        self._growth: Growth | None = None

    def decide(self, admin: Admin) -> list[AlterItem]:
        """The changes of the configuration, then that of the partitions."""
        topic = admin.describe_topics([self.name])[self.name]
        if isinstance(topic, KcliError):
            return self._none(topic)
        self._topic = topic
        items = super().decide(admin)
        if self.partitions is not None:
            added = AddedPartitions(self.name, self.partitions, topic.topic_id, len(topic.partitions))
            if added.danger is not None:
                self._dangers.setdefault(self.resource, added.danger)
            planned = self._grown(added, Outcome.PLANNED if added.added else Outcome.UNCHANGED)
            items.append(self.judged(planned, self.asked(partial(added.rejected, admin))))
        return items

    def _none(self, error: KcliError) -> list[AlterItem]:
        """Everything is refused: there is no such topic."""
        self._missing = {self.resource}
        items = self.items(self.resource, error)
        if self.partitions is not None:
            none = AddedPartitions(self.name, self.partitions)
            items.append(self._grown(none, Outcome.REFUSED)._replace(error=error, note=""))
        return items

    def _grown(self, added: AddedPartitions, outcome: Outcome) -> AlterItem:
        return Item(AlteredKey(self.resource, "partitions", "increase"), added, outcome, note=added.note)

    def dangers(self, admin: Admin, resources: Sequence[ConfigResource]) -> dict[ConfigResource, str]:  # noqa: ARG002
        """An internal topic."""
        purpose = self._topic and internal_purpose(self._topic)
        return {self.resource: purpose} if purpose else {}

    def lines(self, item: AlterItem) -> list[str]:
        """The lines of a change."""
        return item.facts.lines() if isinstance(item.facts, AddedPartitions) else super().lines(item)

    def apply(self, admin: Admin, todo: Sequence[AlterItem]) -> dict[AlteredKey, KcliError | None]:
        """Changes the configuration, then adds partitions."""
        self._growth = None
        configs, grown = _split(todo)
        answers = super().apply(admin, configs)
        failed = next((error for error in answers.values() if error is not None), None)
        for item in grown:
            self._growth = Growth(item.facts.make(admin) if failed is None else self._not_added(failed))
            known = isinstance(self._growth.answer, NotKnownError)
            answers[item.key] = None if known else self._growth.answer
        return answers

    def _not_added(self, first: KcliError) -> KcliError:
        error = PartlyFailedError(f"no partitions were added to {self.resource}", first)
        was = "may not have been" if is_lost(first) else "was not"
        error.why, error.do = f"its configuration {was} changed", ""
        return error

    def read_back(self, admin: Admin, items: Sequence[AlterItem]) -> dict[AlteredKey, Found[Any] | KcliError]:
        """The configuration; and, where the answer to the request for partitions was lost, how many there are."""
        configs, grown = _split(items)
        found = super().read_back(admin, configs)
        for item in grown:
            answer = self._growth.answer if self._growth is not None else None
            if isinstance(answer, NotKnownError):
                found[item.key] = answer
            elif self._growth is not None and not is_lost(answer):
                found[item.key] = Found(item.facts)
            else:
                topic = admin.describe_topics([self.name])[self.name]
                if isinstance(topic, KcliError):
                    found[item.key] = topic
                else:
                    has = len(topic.partitions)
                    found[item.key] = Found(item.facts, None if has >= item.facts.wanted else answer)
        return found

    def row(self, item: AlterItem) -> dict[str, Any]:
        """The values of the columns."""
        return item.facts.row() if isinstance(item.facts, AddedPartitions) else super().row(item)


def _split(items: Sequence[AlterItem]) -> tuple[list[AlterItem], list[AlterItem]]:
    """The changes of the configuration, and that of the partitions."""
    grown = [item for item in items if isinstance(item.facts, AddedPartitions)]
    return [item for item in items if item not in grown], grown
