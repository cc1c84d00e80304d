"""The changes of other verbs as stages of an apply, or of its undo: which step an item of each is part of, what is told
of it, and what a journal keeps of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from kcli.account.change import Change, Item
from kcli.core.admin.acls import AclBinding
from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigKind
from kcli.core.admin.users import mechanism_name
from kcli.core.errors import KcliError
from kcli.flows.configs.alter import ConfigAlter, key_entry
from kcli.flows.configs.key_changes import HIDDEN
from kcli.flows.configs.resources import shown_name
from kcli.flows.journal import (
    AclEntry,
    ConfigKeyEntry,
    CreatedAclEntry,
    CreatedTopicEntry,
    CreatedUserEntry,
    Draft,
    Entry,
    OffsetEntry,
    PartitionsEntry,
    QuotaEntry,
    ReplicasEntry,
    RewindEntry,
    SecretKeyEntry,
    TopicEntry,
    UserEntry,
)
from kcli.flows.quotas.alter import QuotaAlteration
from kcli.flows.quotas.values import number_text
from kcli.flows.reassign.change import ReplicaMoves
from kcli.flows.reassign.placement import TopicPlacement
from kcli.flows.resources.names import acl_ref, acl_spec, quota_ref
from kcli.flows.resources.resource import Kind, Ref
from kcli.flows.resources.stages import CHANGE, CREATE, DELETE, Stage, Step, Told
from kcli.flows.rewind.change import OffsetsChange
from kcli.flows.rewind.remarks import LeftOutError
from kcli.flows.topics.create import TopicCreation
from kcli.flows.users.credentials import CredentialChange

SubItem = Item[Any, Any]

CONFIGURED = {
    ConfigKind.TOPIC: Kind.TOPIC,
    ConfigKind.BROKER: Kind.BROKER_CONFIG,
    ConfigKind.GROUP: Kind.GROUP_CONFIG,
}


def topic_step(item: SubItem) -> Step:
    """Of a change whose items are topics."""
    return Step(Ref(Kind.TOPIC, item.key))


def acl_step(item: SubItem) -> Step:
    """Of a change whose items are ACLs."""
    return Step(acl_step_of(item.key))


def acl_step_of(binding: AclBinding) -> Ref:
    """The resource."""
    return acl_ref(acl_spec(binding))


def key_step(item: SubItem) -> Step:
    """Of a change of configurations, or of the number of partitions."""
    resource = item.key.resource
    part = "partitions" if item.key.word == "increase" else f"config.{item.key.name}"
    return Step(Ref(CONFIGURED[resource.kind], shown_name(resource)), part)


def user_step(item: SubItem) -> Step:
    """Of a change of credentials."""
    return Step(Ref(Kind.USER, item.key.user), _mechanism(item.key.mechanism))


def _mechanism(number: int) -> str:
    return mechanism_name(number) if number else ""


def quota_step(item: SubItem) -> Step:
    """Of a change of quotas."""
    return Step(quota_ref(dict(item.key.entity.parts)), f"limits.{item.key.key}")


def offset_step(item: SubItem) -> Step:
    """Of a change of offsets of groups."""
    key = item.key
    part = (
        ""
        if key.topic is None
        else f"{key.topic}-{key.partition}"
        if key.partition is not None
        else key.topic
    )
    return Step(Ref(Kind.GROUP_OFFSETS, key.group), part and f"offsets.{part}")


def entry_ref(entry: Entry) -> Ref:
    """The resource of which an entry in the journal of an apply is."""
    if isinstance(entry, AclEntry):
        return acl_step_of(entry.binding)
    if isinstance(entry, ConfigKeyEntry):
        return Ref(CONFIGURED[entry.resource.kind], shown_name(entry.resource))
    if isinstance(entry, QuotaEntry):
        return quota_ref(dict(entry.entity))
    if isinstance(entry, UserEntry | CreatedUserEntry):
        return Ref(Kind.USER, entry.user)
    if isinstance(entry, OffsetEntry | RewindEntry):
        return Ref(Kind.GROUP_OFFSETS, entry.group)
    assert isinstance(entry, TopicEntry | CreatedTopicEntry | PartitionsEntry | ReplicasEntry), entry
    return Ref(Kind.TOPIC, entry.topic)


def creation(change: TopicCreation) -> Stage:
    """Creates topics."""

    def told(item: SubItem) -> Told:
        return Told(CREATE, None, change.settings(item))

    scope = [Step(Ref(Kind.TOPIC, one)) for one in change.specs]
    return Stage(change, topic_step, told, created_topics, scope=scope)


def added_partitions(change: Change[Any, Any]) -> Stage:
    """Adds partitions to topics."""

    def told(item: SubItem) -> Told:
        row = change.row(item)
        return Told(CHANGE, row["old"], row["new"])

    def entries(_admin: Admin, todo: Sequence[SubItem]) -> Iterator[Entry]:
        return (PartitionsEntry(item.facts.topic, item.facts.has, item.facts.wanted) for item in todo)

    return Stage(change, key_step, told, entries)


def placement(change: TopicPlacement) -> Stage:
    """Moves replicas of topics to where they are wanted."""

    def entries(_admin: Admin, todo: Sequence[SubItem]) -> Sequence[Entry]:
        return change.entries(todo)

    return Stage(change, lambda item: _placed(change, item), lambda item: _moved(change, item), entries)


def _placed(change: TopicPlacement, item: SubItem) -> Step:
    of_factor = change.wanted[item.key.topic].factor is not None
    part = "replication_factor" if of_factor else f"assignment.{item.key.partition}"
    return Step(Ref(Kind.TOPIC, item.key.topic), part)


def _moved(change: TopicPlacement, item: SubItem) -> Told:
    factor = change.wanted[item.key.topic].factor
    if factor is not None:
        return Told(CHANGE, str(len(item.facts.old)), str(factor))
    return moved(item)


def moved(item: SubItem) -> Told:
    """Of a change whose items are moves of partitions."""
    return Told(CHANGE, _brokers(item.facts.old), _brokers(item.facts.new))


def _brokers(numbers: Iterable[int]) -> str | None:
    return ",".join(map(str, numbers)) or None


def moves_back(change: ReplicaMoves) -> Stage:
    """Moves replicas back to where they were."""

    def step(item: SubItem) -> Step:
        return Step(Ref(Kind.TOPIC, item.key.topic), f"assignment.{item.key.partition}")

    return Stage(change, step, moved, no_entries)


def acls(change: Change[Any, Any], act: str, bindings: Iterable[AclBinding]) -> Stage:
    """Creates ACLs, or deletes them."""

    def entries(admin: Admin, todo: Sequence[SubItem]) -> Sequence[Entry]:
        if act == CREATE:
            return [CreatedAclEntry.of(item.key) for item in todo]
        return kept(change, admin, todo)

    scope = [Step(acl_step_of(one)) for one in bindings]
    return Stage(change, acl_step, lambda _item: Told(act), entries, destroys=act == DELETE, scope=scope)


def credentials(change: CredentialChange) -> Stage:
    """Sets credentials of users, or deletes them."""
    deletes = change.done == "deleted"

    def told(item: SubItem) -> Told:
        old, new = (None if count is None else f"{count} iterations" for count in item.facts)
        return Told(DELETE if deletes else CREATE if old is None else CHANGE, old, new)

    def entries(_admin: Admin, todo: Sequence[SubItem]) -> Iterator[Entry]:
        for item in todo:
            name = mechanism_name(item.key.mechanism)
            if item.facts.old is None:
                yield CreatedUserEntry(item.key.user, name)
            else:
                yield UserEntry(item.key.user, name, item.facts.old)

    scope = [
        Step(Ref(Kind.USER, user), mechanism_name(one))
        for user, mechanisms in change.mechanisms.items()
        for one in mechanisms
    ]
    return Stage(change, user_step, told, entries, destroys=deletes, scope=scope)


def quotas(change: QuotaAlteration, *, destroys: bool) -> Stage:
    """Changes quotas."""

    def told(item: SubItem) -> Told:
        old, new = (None if value is None else number_text(float(value)) for value in item.facts)
        return Told(DELETE if new is None else CREATE if old is None else CHANGE, old, new)

    def entries(_admin: Admin, todo: Sequence[SubItem]) -> Iterator[Entry]:
        return (QuotaEntry(item.key.entity.parts, item.key.key, *item.facts) for item in todo)

    return Stage(change, quota_step, told, entries, destroys=destroys)


def configs(change: ConfigAlter, *, destroys: bool) -> Stage:
    """Changes configurations."""

    def told(item: SubItem) -> Told:
        row = change.row(item)
        if row["sensitive"]:
            was = HIDDEN if item.facts.old_source == item.key.resource.own_source else None
            return Told(CHANGE, was, HIDDEN if item.facts.change.value else None)
        return Told(CHANGE, row["old"], row["new"])

    def entries(_admin: Admin, todo: Sequence[SubItem]) -> Iterator[Entry]:
        for item in todo:
            entry = key_entry(item.facts)
            if item.facts.sensitive and item.facts.old_source == item.key.resource.own_source:
                yield SecretKeyEntry(entry.kind, entry.name, entry.key, None, None)
            else:
                yield entry

    return Stage(change, key_step, told, entries, destroys=destroys)


def offsets(change: OffsetsChange) -> Stage:
    """Sets offsets of groups."""

    def told(item: SubItem) -> Told:
        one = item.facts.item
        return Told(CHANGE, _offset(one and one.committed), _offset(one and one.new))

    def entries(_admin: Admin, todo: Sequence[SubItem]) -> Iterator[Entry]:
        plans = {item.key.group: item.facts.plan for item in todo if item.facts.plan is not None}
        return (RewindEntry(group, plan.id) for group, plan in plans.items())

    def error(item: SubItem) -> KcliError | None:
        """That of the partition itself, whatever becomes of the others."""
        one = item.facts.item
        return one.refusal if isinstance(item.error, LeftOutError) and one is not None else item.error

    return Stage(change, offset_step, told, entries, error=error, warns=False)


def _offset(commit: Any) -> str | None:
    return None if commit is None else str(commit.offset)


def removal(change: Change[Any, Any], step: Callable[[SubItem], Step]) -> Stage:
    """Deletes topics, or offsets of a group: what is kept of them is in the journal of the verb."""

    def entries(admin: Admin, todo: Sequence[SubItem]) -> Sequence[Entry]:
        return kept(change, admin, todo)

    return Stage(change, step, lambda _item: Told(DELETE), entries, destroys=True)


def topics_again(change: Change[Any, Any]) -> Stage:
    """Makes topics again."""
    return Stage(change, topic_step, lambda _item: Told(CREATE), created_topics)


def offsets_again(change: Change[Any, Any]) -> Stage:
    """Commits offsets again."""
    return Stage(change, offset_step, lambda _item: Told(CREATE), no_entries)


def kept(change: Change[Any, Any], admin: Admin, todo: Sequence[SubItem]) -> Sequence[Entry]:
    """What the journal of the change itself has."""
    draft = change.journal(admin, todo)
    return draft.entries if isinstance(draft, Draft) else ()


def created_topics(_admin: Admin, todo: Sequence[SubItem]) -> Sequence[Entry]:
    """The topics, without ids: these are known after the act."""
    return [CreatedTopicEntry(item.key) for item in todo]


def no_entries(_admin: Admin, _todo: Sequence[SubItem]) -> Sequence[Entry]:
    """Nothing."""
    return ()
