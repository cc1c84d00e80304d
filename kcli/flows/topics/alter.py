"""``kcli topics alter``: changes the configuration of topics, and adds partitions after that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from kcli.account.change import Found, Item, is_lost
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigChange, ConfigKind, ConfigResource
from kcli.core.admin.new_partitions import NotKnownError
from kcli.core.admin.topics import TopicInfo
from kcli.core.errors import KcliError, PartlyFailedError
from kcli.flows.configs.alteration import COLUMNS, AlteredKey, AlterItem, ConfigAlteration
from kcli.flows.topics.partitions import ADDED, AddedPartitions, add_partitions, rejections
from kcli.flows.topics.purpose import internal_purpose
from kcli.output.tables import Column


class TopicAlter(ConfigAlteration):
    """The same changes of each topic; ``partitions`` is their number afterwards, or None where it stays.

    Partitions are added to a topic only if its configuration was changed.
    """

    kind = "TopicAlter"
    printed_by = "topics alter"
    columns: Sequence[Column] = (Column("topic", wide=True), *COLUMNS)
    named_by = "topic"
    parts = True

    def __init__(
        self,
        names: Sequence[str],
        changes: Sequence[ConfigChange],
        partitions: int | None,
        *,
        named: bool,
    ) -> None:
        topics = [ConfigResource(ConfigKind.TOPIC, name) for name in dict.fromkeys(names)]
        super().__init__(topics, changes, named=named)
        if len(topics) > 1:
            self.columns = (Column("topic"), *COLUMNS)
        self.partitions = partitions
        self._topics: dict[str, TopicInfo] = {}
        self._growth: dict[ConfigResource, KcliError | None] = {}

    def begin(self, admin: Admin) -> None:
        """With the first contact: what the plan is made from."""
        admin.foresee(topics=True)

    def decide(self, admin: Admin) -> list[AlterItem]:
        """Of each topic the changes of the configuration, then that of the partitions."""
        named, found = self.resources, admin.describe_topics([one.name for one in self.resources])
        self._topics = {name: topic for name, topic in found.items() if isinstance(topic, TopicInfo)}
        self.resources = [one for one in named if one.name in self._topics]
        try:
            items = super().decide(admin) if self.resources else []
        finally:
            self.resources = named
        of: dict[ConfigResource, list[AlterItem]] = {resource: [] for resource in named}
        for item in items:
            of[item.key.resource].append(item)
        added = {one.key.resource: one for one in self._added(admin)}
        for resource in named:
            topic = found[resource.name]
            if isinstance(topic, KcliError):
                of[resource] += self._none(resource, topic)
            elif resource in added:
                of[resource].append(added[resource])
        return [item for some in of.values() for item in some]

    def _added(self, admin: Admin) -> list[AlterItem]:
        """Those of the topics that there are."""
        if self.partitions is None:
            return []
        asked = [
            AddedPartitions(name, self.partitions, topic.topic_id, len(topic.partitions))
            for name, topic in self._topics.items()
        ]
        rejected = self.asked(partial(rejections, admin, asked))
        items = []
        for added in asked:
            resource = ConfigResource(ConfigKind.TOPIC, added.topic)
            if added.danger is not None:
                self._dangers.setdefault(resource, added.danger)
            planned = _grown(resource, added, Outcome.PLANNED if added.added else Outcome.UNCHANGED)
            items.append(self.judged(planned, rejected.get(added.topic)))
        return items

    def _none(self, resource: ConfigResource, error: KcliError) -> list[AlterItem]:
        """Everything is refused: there is no such topic."""
        self._missing.add(resource)
        items = self.items(resource, error)
        if self.partitions is not None:
            none = AddedPartitions(resource.name, self.partitions)
            items.append(_grown(resource, none, Outcome.REFUSED)._replace(error=error, note=""))
        return items

    def dangers(self, admin: Admin, resources: Sequence[ConfigResource]) -> dict[ConfigResource, str]:  # noqa: ARG002
        """Internal topics."""
        purposes = {one: internal_purpose(self._topics[one.name]) for one in resources}
        return {one: purpose for one, purpose in purposes.items() if purpose is not None}

    def remarks(self, plan: Sequence[AlterItem]) -> Iterable[str]:
        """What added partitions mean."""
        return [ADDED] if any(item.facts.needed for item in _split(plan)[1]) else []

    def lines(self, item: AlterItem) -> list[str]:
        """The lines of a change."""
        return item.facts.lines() if isinstance(item.facts, AddedPartitions) else super().lines(item)

    def apply(self, admin: Admin, todo: Sequence[AlterItem]) -> dict[AlteredKey, KcliError | None]:
        """Changes the configuration, then adds partitions."""
        self._growth = {}
        configs, grown = _split(todo)
        answers = super().apply(admin, configs)
        failed = {key.resource: error for key, error in answers.items() if error is not None}
        made = add_partitions(admin, [item.facts for item in grown if item.key.resource not in failed])
        for item in grown:
            resource = item.key.resource
            first = failed.get(resource)
            answer = made[resource.name] if first is None else _not_added(resource, first)
            self._growth[resource] = answer
            answers[item.key] = None if isinstance(answer, NotKnownError) else answer
        return answers

    def read_back(self, admin: Admin, items: Sequence[AlterItem]) -> dict[AlteredKey, Found[Any] | KcliError]:
        """The configuration; and, where the answer to the request for partitions was lost, how many there are."""
        configs, grown = _split(items)
        found = super().read_back(admin, configs)
        unknown = [
            resource.name
            for resource in (item.key.resource for item in grown)
            if resource not in self._growth or is_lost(self._growth[resource])
        ]
        topics = admin.describe_topics(unknown) if unknown else {}
        for item in grown:
            resource = item.key.resource
            answer = self._growth.get(resource)
            if isinstance(answer, NotKnownError):
                found[item.key] = answer
            elif resource.name not in topics:
                found[item.key] = Found(item.facts)
            else:
                topic = topics[resource.name]
                if isinstance(topic, KcliError):
                    found[item.key] = topic
                else:
                    has = len(topic.partitions)
                    found[item.key] = Found(item.facts, None if has >= item.facts.wanted else answer)
        return found

    def whole(self, item: AlterItem) -> bool:
        """What is refused, or fails before partitions are added, leaves its topic as it was, whatever others became."""
        return item.outcome is Outcome.REFUSED or not isinstance(item.facts, AddedPartitions)

    def row(self, item: AlterItem) -> dict[str, Any]:
        """The values of the columns."""
        return item.facts.row() if isinstance(item.facts, AddedPartitions) else super().row(item)


def _split(items: Sequence[AlterItem]) -> tuple[list[AlterItem], list[AlterItem]]:
    """The changes of the configuration, and that of the partitions."""
    found: tuple[list[AlterItem], list[AlterItem]] = ([], [])
    for item in items:
        found[isinstance(item.facts, AddedPartitions)].append(item)
    return found


def _not_added(resource: ConfigResource, first: KcliError) -> KcliError:
    error = PartlyFailedError(f"no partitions were added to {resource}", first)
    was = "may not have been" if is_lost(first) else "was not"
    error.why, error.do = f"its configuration {was} changed", ""
    return error


def _grown(resource: ConfigResource, added: AddedPartitions, outcome: Outcome) -> AlterItem:
    return Item(AlteredKey(resource, "partitions", "increase"), added, outcome, note=added.note)
