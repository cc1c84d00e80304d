"""``kcli undo`` of ``kcli apply``: makes undone, by the changes of other verbs, what can be. What cannot is refused: the
password of a credential before it was set, added partitions, records of deleted topics.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar, cast

import msgspec

from kcli.account.change import Item
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.admin.topics import TopicInfo
from kcli.core.admin.users import mechanism_name
from kcli.core.classes import dataclass
from kcli.core.errors import KcliError, NotFoundError
from kcli.core.exit_codes import ExitCode
from kcli.flows.acls.create import AclRestore
from kcli.flows.acls.delete import AclRetraction
from kcli.flows.configs.alter import ConfigRestore
from kcli.flows.configs.resources import shown_name
from kcli.flows.groups.restore import OffsetRestore
from kcli.flows.journal import (
    AclEntry,
    ConfigKeyEntry,
    CreatedAclEntry,
    CreatedTopicEntry,
    CreatedUserEntry,
    Entry,
    Journal,
    OffsetEntry,
    PartitionsEntry,
    QuotaEntry,
    ReplicasEntry,
    RewindEntry,
    SecretKeyEntry,
    ShareOffsetEntry,
    TopicEntry,
    UserEntry,
)
from kcli.flows.quotas.alter import QuotaRestore
from kcli.flows.reassign.change import Moving
from kcli.flows.reassign.restore import ReplicaRestore
from kcli.flows.resources import steps
from kcli.flows.resources.resource import Kind, Ref
from kcli.flows.resources.stages import (
    CHANGE,
    CREATE,
    DELETE,
    Composed,
    Stage,
    StagedChange,
    Step,
    StepItem,
    Told,
    not_planned,
)
from kcli.flows.rewind.journal import Journals
from kcli.flows.rewind.text import Where
from kcli.flows.topics.delete import TopicDeletion
from kcli.flows.topics.restore import TopicRestore
from kcli.flows.transfer.create import offsets_undo
from kcli.flows.users.credentials import credentials_of
from kcli.flows.users.delete import UserDeletion

E = TypeVar("E", bound=msgspec.Struct)
T = TypeVar("T")

_NOT_THERE = "it was not made, or is undone already"


class NotUndoneError(KcliError):
    """A part of an apply that Kafka cannot undo."""

    exit_code = ExitCode.REFUSED


@dataclass
class _Created(Generic[T]):
    """What was created: what is ``todo``, and what ends without being deleted."""

    todo: T
    rest: list[StepItem]


class ApplyUndo(StagedChange):
    """The journal of an apply. ``moving``: how replicas move; ``where`` names the cluster in plans of offsets."""

    kind = "ApplyUndo"
    printed_by = "undo"
    command = "undo"
    nothing = "nothing is to be undone"

    def __init__(self, journal: Journal, moving: Moving, where: Where, *, dry: bool) -> None:
        super().__init__()
        self.made, self._moving, self._where, self._dry = journal, moving, where, dry

    def compose(self, admin: Admin) -> Composed:
        """What was removed comes back first; what was created is deleted last."""
        self.made.check_cluster(admin.cluster_id())
        topics = self._created_topics(admin)
        credentials = self._created_credentials(admin)
        rewinds = self._rewinds(admin)
        rest = [*topics.rest, *credentials.rest, *rewinds.rest, *self._kept(admin)]
        asked = {ref: not_planned(ref) for ref in map(steps.entry_ref, self.made.entries)}
        return Composed(list(self._stages(topics.todo, credentials.todo, rewinds.todo)), rest, asked)

    def _stages(
        self,
        topics: Sequence[str],
        credentials: Mapping[str, Sequence[str]],
        rewinds: Sequence[RewindEntry],
    ) -> Iterator[Stage]:
        if journal := self._part(TopicEntry):
            yield steps.topics_again(TopicRestore(journal))
        if journal := self._part(ReplicasEntry):
            yield steps.moves_back(ReplicaRestore(self._moving, [journal]))
        if journal := self._part(AclEntry):
            yield steps.acls(AclRestore(journal), CREATE, [one.binding for one in self._of(AclEntry)])
        if journal := self._part(QuotaEntry):
            yield steps.quotas(QuotaRestore(journal), destroys=False)
        if journal := self._part(ConfigKeyEntry):
            yield steps.configs(ConfigRestore(journal), destroys=False)
        if offsets := [*self._of(OffsetEntry), *self._of(ShareOffsetEntry)]:
            yield steps.offsets_again(OffsetRestore(self._with(offsets)))
        for entry in rewinds:
            yield steps.offsets(offsets_undo(entry.group, entry.id, self._where, dry=self._dry))
        if journal := self._part(CreatedAclEntry):
            created = [one.binding for one in self._of(CreatedAclEntry)]
            yield steps.acls(AclRetraction(journal), DELETE, created)
        if credentials:
            yield steps.credentials(UserDeletion(credentials, may_lack=True))
        if topics:
            yield steps.removal(TopicDeletion(topics, may_lack=True), steps.topic_step)

    def _of(self, kind: type[E]) -> list[E]:
        """The entries of exactly this kind."""
        return [cast(E, entry) for entry in self.made.entries if type(entry) is kind]

    def _with(self, entries: Sequence[Any]) -> Journal:
        return msgspec.structs.replace(self.made, entries=tuple(entries))

    def _part(self, kind: type[Entry]) -> Journal | None:
        entries = self._of(kind)
        return self._with(entries) if entries else None

    def _created_topics(self, admin: Admin) -> _Created[list[str]]:
        entries = self._of(CreatedTopicEntry)
        found = admin.describe_topics([entry.topic for entry in entries]) if entries else {}
        created = _Created[list[str]]([], [])
        for entry in entries:
            step, topic = Step(Ref(Kind.TOPIC, entry.topic)), found[entry.topic]
            if isinstance(topic, NotFoundError):
                created.rest.append(Item(step, Told(), Outcome.UNCHANGED, note=_NOT_THERE))
            elif isinstance(topic, KcliError):
                created.rest.append(Item(step, Told(DELETE), Outcome.REFUSED, topic))
            elif entry.topic_id and topic.topic_id != entry.topic_id:
                created.rest.append(Item(step, Told(DELETE), Outcome.REFUSED, _another(entry.topic)))
            else:
                created.todo.append(entry.topic)
        return created

    def _created_credentials(self, admin: Admin) -> _Created[dict[str, list[str]]]:
        created = _Created[dict[str, list[str]]]({}, [])
        entries = self._of(CreatedUserEntry)
        has = credentials_of(admin, list(dict.fromkeys(entry.user for entry in entries)))
        for entry in entries:
            if entry.mechanism in map(mechanism_name, has[entry.user]):
                created.todo.setdefault(entry.user, []).append(entry.mechanism)
            else:
                step = Step(Ref(Kind.USER, entry.user), entry.mechanism)
                created.rest.append(Item(step, Told(), Outcome.UNCHANGED, note=_NOT_THERE))
        return created

    def _rewinds(self, admin: Admin) -> _Created[list[RewindEntry]]:
        """Those that were begun: they have a journal of their own."""
        journals = Journals(admin.cluster_id())
        found = _Created[list[RewindEntry]]([], [])
        for entry in self._of(RewindEntry):
            if journals.path(entry.id).exists():
                found.todo.append(entry)
            else:
                step = Step(Ref(Kind.GROUP_OFFSETS, entry.group))
                found.rest.append(Item(step, Told(), Outcome.UNCHANGED, note=_NOT_THERE))
        return found

    def _kept(self, admin: Admin) -> Iterator[StepItem]:
        """What cannot be undone."""
        grown = self._of(PartitionsEntry)
        found = admin.describe_topics([entry.topic for entry in grown]) if grown else {}
        for entry in grown:
            step, topic = Step(Ref(Kind.TOPIC, entry.topic), "partitions"), found[entry.topic]
            if isinstance(topic, TopicInfo) and len(topic.partitions) <= entry.before:
                yield Item(step, Told(), Outcome.UNCHANGED, note=_NOT_THERE)
            else:
                told = Told(CHANGE, str(entry.after), str(entry.before))
                error = _not_undone(
                    step,
                    "Kafka cannot remove partitions",
                    "for fewer, create another topic and copy the records to it",
                )
                yield Item(step, told, Outcome.REFUSED, error)
        for user in self._of(UserEntry):
            step = Step(Ref(Kind.USER, user.user), user.mechanism)
            error = _not_undone(
                step,
                "brokers return no passwords, so the journal has none",
                "set a new password for the user",
            )
            yield Item(step, Told(), Outcome.REFUSED, error)
        for key in self._of(SecretKeyEntry):
            kind = steps.CONFIGURED[key.resource.kind]
            step = Step(Ref(kind, shown_name(key.resource)), f"config.{key.key}")
            error = _not_undone(
                step, "brokers do not return secrets, so the journal has none", "set it again"
            )
            yield Item(step, Told(), Outcome.REFUSED, error)

    def after(self, stage: Stage) -> None:
        """The journal gets the ids of topics that were created again."""
        if isinstance(stage.change, TopicRestore):
            self.keep_ids(stage.change.ids)

    def needs_name(self, stage: Stage) -> bool:
        """Topics are deleted by their names."""
        return isinstance(stage.change, TopicDeletion)


def _another(name: str) -> NotUndoneError:
    return NotUndoneError(
        f"topic {name} is another one now",
        why="the one that was created is gone, and another client has created one of this name; nothing was done to it",
        do=f"`kcli topics delete {name}` deletes it, if that is meant",
    )


def _not_undone(step: Step, why: str, do: str) -> NotUndoneError:
    return NotUndoneError(f"{step} cannot be undone", why=why, do=do)
