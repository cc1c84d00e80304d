"""The journal of what destroys: what was there, on disk before the change, so that ``kcli undo`` can make it again.

One file for each change: ``$XDG_STATE_HOME/kcli/journal/<cluster id>/<UTC stamp>-<6 hex>.json``. A new kind of thing is a
struct here and a row in ``undo.py``.
"""

import contextlib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import msgspec

from kcli.core.admin.acls import AclBinding, AclPattern, AclPermission, AclResource, known
from kcli.core.admin.configs import ConfigKind, ConfigResource
from kcli.core.admin.quotas import QuotaEntity
from kcli.core.clock import wall_ms
from kcli.core.errors import ConfigError, NotFoundError
from kcli.core.names import group_shown
from kcli.core.permissions import AclOperation
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.files.journal_folder import JournalError, JournalFolder, new_id
from kcli.files.xdg import state_home
from kcli.output.progress import counted

if TYPE_CHECKING:
    from kcli.serde.registry.client import Schema

KIND = "ChangeJournal"
_ID = re.compile(r"\d{8}-\d{6}-[0-9a-f]{6}")


class OffsetEntry(msgspec.Struct, frozen=True, tag_field="what", tag="offset"):
    """A committed offset. ``topic_id`` is in Kafka's text form; empty where it was not known."""

    group: str
    topic: str
    partition: int
    committed: int
    metadata: str
    leader_epoch: int
    topic_id: str = ""

    @classmethod
    def of(cls, group: str, tp: TopicPartition, commit: OffsetAndMetadata, topic_id: str) -> "OffsetEntry":
        return cls(
            group, tp.topic, tp.partition, commit.offset, commit.metadata, commit.leader_epoch, topic_id
        )

    @property
    def is_share(self) -> bool:
        """Whether it is of a share group."""
        return isinstance(self, ShareOffsetEntry)

    @staticmethod
    def words(entries: "Sequence[OffsetEntry]") -> str:
        """``3 committed offsets of billing``; ``offsets`` where there are start offsets, too."""
        groups = dict.fromkeys(group_shown(entry.group) for entry in entries)
        kinds = {entry.is_share for entry in entries}
        what = "offset" if len(kinds) > 1 else "start offset" if kinds == {True} else "committed offset"
        return f"{counted(len(entries), what)} of {', '.join(groups)}"

    @property
    def row(self) -> dict[str, Any]:
        """In the list of journals, for programs."""
        row: dict[str, Any] = msgspec.to_builtins(self)
        epoch = self.leader_epoch if self.leader_epoch >= 0 else None
        return {**row, "leader_epoch": epoch, "topic_id": self.topic_id or None}


class ShareOffsetEntry(OffsetEntry, frozen=True, tag_field="what", tag="share_offset"):
    """A start offset of a share group, ``committed``. What was acknowledged after it is not kept: brokers do not say."""


class TopicEntry(msgspec.Struct, frozen=True, tag_field="what", tag="topic"):
    """A topic, without its records. ``configs``: what was set on it; None where that could not be read."""

    topic: str
    topic_id: str
    partitions: int
    replication_factor: int
    configs: dict[str, str] | None

    @staticmethod
    def words(entries: "Sequence[TopicEntry]") -> str:
        """``topics orders, refunds``."""
        names = ", ".join(entry.topic for entry in entries)
        return f"{'topic' if len(entries) == 1 else 'topics'} {names}, without records"

    @property
    def row(self) -> dict[str, Any]:
        """In the list of journals, for programs."""
        row: dict[str, Any] = msgspec.to_builtins(self)
        return {**row, "topic_id": self.topic_id or None}


class CreatedTopicEntry(msgspec.Struct, frozen=True, tag_field="what", tag="created_topic"):
    """A topic that the change creates: to undo it is to delete the topic. ``topic_id`` is empty where it is not known."""

    topic: str
    topic_id: str = ""

    @staticmethod
    def words(entries: "Sequence[CreatedTopicEntry]") -> str:
        """``topics orders, refunds, created``."""
        return f"{_some('topic', [entry.topic for entry in entries])}, created"

    @property
    def row(self) -> dict[str, Any]:
        """In the list of journals, for programs."""
        return {"what": "created_topic", "topic": self.topic, "topic_id": self.topic_id or None}


class PartitionsEntry(msgspec.Struct, frozen=True, tag_field="what", tag="partitions"):
    """The number of partitions that a topic had before, and after. Kafka cannot remove them."""

    topic: str
    before: int
    after: int

    @staticmethod
    def words(entries: "Sequence[PartitionsEntry]") -> str:
        """``partitions of topic orders, added``."""
        return f"partitions of {_some('topic', [entry.topic for entry in entries])}, added"

    @property
    def row(self) -> dict[str, Any]:
        """In the list of journals, for programs."""
        return {"what": "partitions", "topic": self.topic, "old": self.before, "new": self.after}


class RewindEntry(msgspec.Struct, frozen=True, tag_field="what", tag="rewind"):
    """Offsets of a group that were set: ``id`` is that of the journal of rewinds which has those before."""

    group: str
    id: str

    @staticmethod
    def words(entries: "Sequence[RewindEntry]") -> str:
        """``offsets of group billing``."""
        return f"offsets of {_some('group', [group_shown(entry.group) for entry in entries])}"

    @property
    def row(self) -> dict[str, Any]:
        """In the list of journals, for programs."""
        return {"what": "rewind", "group": self.group, "rewind": self.id}


class AclEntry(msgspec.Struct, frozen=True, tag_field="what", tag="acl"):
    """An ACL, with the numbers of the protocol."""

    resource: int
    name: str
    pattern: int
    principal: str
    permission: int
    operation: int
    host: str

    @classmethod
    def of(cls, binding: AclBinding) -> "AclEntry":
        return cls(
            int(binding.resource),
            binding.name,
            int(binding.pattern),
            binding.principal,
            int(binding.permission),
            int(binding.operation),
            binding.host,
        )

    @property
    def binding(self) -> AclBinding:
        """Numbers that this version knows have their names."""
        return AclBinding(
            known(AclResource, self.resource),
            self.name,
            known(AclPattern, self.pattern),
            self.principal,
            known(AclPermission, self.permission),
            known(AclOperation, self.operation),
            self.host,
        )

    @staticmethod
    def words(entries: "Sequence[AclEntry]") -> str:
        """``3 ACLs of User:a, User:b``."""
        principals = dict.fromkeys(entry.principal for entry in entries)
        return f"{counted(len(entries), 'ACL')} of {', '.join(principals)}"

    @property
    def row(self) -> dict[str, Any]:
        """In the list of journals, for programs."""
        return {"what": "acl", "acl": str(self.binding)}


class CreatedAclEntry(AclEntry, frozen=True, tag_field="what", tag="created_acl"):
    """An ACL that the change creates: to undo it is to delete the ACL."""

    @staticmethod
    def words(entries: "Sequence[AclEntry]") -> str:
        """``3 ACLs of User:a, created``."""
        return f"{AclEntry.words(entries)}, created"

    @property
    def row(self) -> dict[str, Any]:
        """In the list of journals, for programs."""
        return {"what": "created_acl", "acl": str(self.binding)}


class QuotaEntry(msgspec.Struct, frozen=True, tag_field="what", tag="quota"):
    """A quota of an entity before a change and after it; None: not set."""

    entity: tuple[tuple[str, str | None], ...]
    key: str
    old: float | None
    new: float | None

    @staticmethod
    def words(entries: "Sequence[QuotaEntry]") -> str:
        """``producer_byte_rate of user a``."""
        of: dict[QuotaEntity, list[str]] = {}
        for entry in entries:
            of.setdefault(QuotaEntity(entry.entity), []).append(entry.key)
        return "; ".join(f"{', '.join(keys)} of {entity}" for entity, keys in of.items())

    @property
    def row(self) -> dict[str, Any]:
        """In the list of journals, for programs."""
        entity = str(QuotaEntity(self.entity))
        return {"what": "quota", "entity": entity, "key": self.key, "old": self.old, "new": self.new}


class UserEntry(msgspec.Struct, frozen=True, tag_field="what", tag="user"):
    """A SCRAM credential, without its secrets: brokers return none."""

    user: str
    mechanism: str
    iterations: int | None

    @staticmethod
    def words(entries: "Sequence[UserEntry]") -> str:
        """``SCRAM-SHA-256, SCRAM-SHA-512 of user a, without the password``."""
        of: dict[str, list[str]] = {}
        for entry in entries:
            of.setdefault(entry.user, []).append(entry.mechanism)
        users = "; ".join(f"{', '.join(found)} of user {user}" for user, found in of.items())
        return f"{users}, without the password"

    @property
    def row(self) -> dict[str, Any]:
        """In the list of journals, for programs."""
        row: dict[str, Any] = msgspec.to_builtins(self)
        return row


class CreatedUserEntry(msgspec.Struct, frozen=True, tag_field="what", tag="created_user"):
    """A SCRAM credential that the change makes: to undo it is to delete the credential."""

    user: str
    mechanism: str

    @staticmethod
    def words(entries: "Sequence[CreatedUserEntry]") -> str:
        """``credentials of users a, b, created``."""
        return f"credentials of {_some('user', [entry.user for entry in entries])}, created"

    @property
    def row(self) -> dict[str, Any]:
        """In the list of journals, for programs."""
        row: dict[str, Any] = msgspec.to_builtins(self)
        return row


class RetentionEntry(msgspec.Struct, frozen=True, tag_field="what", tag="retention"):
    """``retention.ms`` of a topic before a change and after it; ``old`` None: it was not set on the topic."""

    topic: str
    old: int | None
    new: int

    @staticmethod
    def words(entries: "Sequence[RetentionEntry]") -> str:
        """``retention.ms of topic orders``."""
        return f"retention.ms of topic {', '.join(entry.topic for entry in entries)}"

    @property
    def row(self) -> dict[str, Any]:
        """In the list of journals, for programs."""
        row: dict[str, Any] = msgspec.to_builtins(self)
        return row


class ConfigKeyEntry(msgspec.Struct, frozen=True, tag_field="what", tag="config"):
    """A configuration key before a change and after it; None: not set on the resource. ``kind`` is Kafka's number."""

    kind: int
    name: str
    key: str
    before: str | None
    after: str | None

    @property
    def resource(self) -> ConfigResource:
        """What is configured."""
        return ConfigResource(ConfigKind(self.kind), self.name)

    @staticmethod
    def words(entries: "Sequence[ConfigKeyEntry]") -> str:
        """``interval.ms, metrics of client metrics apps``."""
        keys = dict.fromkeys(entry.key for entry in entries)
        resources = dict.fromkeys(str(entry.resource) for entry in entries)
        return f"{', '.join(keys)} of {', '.join(resources)}"

    @property
    def row(self) -> dict[str, Any]:
        """In the list of journals, for programs."""
        resource = str(self.resource)
        return {
            "what": "config",
            "resource": resource,
            "key": self.key,
            "before": self.before,
            "after": self.after,
        }


class SecretKeyEntry(ConfigKeyEntry, frozen=True, tag_field="what", tag="secret_config"):
    """A key that is a secret, was set, and was set otherwise or unset: brokers do not return the value before."""

    @property
    def row(self) -> dict[str, Any]:
        """In the list of journals, for programs."""
        return {"what": "secret_config", "resource": str(self.resource), "key": self.key}


class ControllerEntry(msgspec.Struct, frozen=True, tag_field="what", tag="controller"):
    """A controller that was added to the voters of the quorum, or removed. ``endpoints``: listener, host and port."""

    node: int
    directory_id: str
    added: bool
    endpoints: tuple[tuple[str, str, int], ...]

    @staticmethod
    def words(entries: "Sequence[ControllerEntry]") -> str:
        """``controller 3 as a voter, added``."""
        return ", ".join(
            f"controller {entry.node} as a voter, {'added' if entry.added else 'removed'}"
            for entry in entries
        )

    @property
    def row(self) -> dict[str, Any]:
        """In the list of journals, for programs."""
        return {
            "what": "controller",
            "node": self.node,
            "directory_id": self.directory_id,
            "added": self.added,
        }


class FeatureEntry(msgspec.Struct, frozen=True, tag_field="what", tag="feature"):
    """The finalized level of a feature before a change and after it; 0: it was off."""

    feature: str
    before: int
    after: int

    @staticmethod
    def words(entries: "Sequence[FeatureEntry]") -> str:
        """``levels of group.version, metadata.version``."""
        return f"levels of {', '.join(entry.feature for entry in entries)}"

    @property
    def row(self) -> dict[str, Any]:
        """In the list of journals, for programs."""
        return {"what": "feature", "feature": self.feature, "old": self.before, "new": self.after}


class ReplicasEntry(msgspec.Struct, frozen=True, tag_field="what", tag="replicas"):
    """The replicas of a partition before they were moved, and those that it was to have."""

    topic: str
    topic_id: str
    partition: int
    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def tp(self) -> TopicPartition:
        """The partition."""
        return TopicPartition(self.topic, self.partition)

    @staticmethod
    def words(entries: "Sequence[ReplicasEntry]") -> str:
        """``replicas of 3 partitions of orders, refunds``."""
        topics = ", ".join(dict.fromkeys(entry.topic for entry in entries))
        return f"replicas of {counted(len(entries), 'partition')} of {topics}"

    @property
    def row(self) -> dict[str, Any]:
        """In the list of journals, for programs."""
        return {
            "what": "replicas",
            "topic": self.topic,
            "topic_id": self.topic_id or None,
            "partition": self.partition,
            "replicas": list(self.before),
            "new_replicas": list(self.after),
        }


class LogDirEntry(msgspec.Struct, frozen=True, tag_field="what", tag="log_dir"):
    """The log directory of a replica before it was moved, and the one that it was to have."""

    broker: int
    topic: str
    topic_id: str
    partition: int
    before: str
    after: str

    @property
    def tp(self) -> TopicPartition:
        """The partition."""
        return TopicPartition(self.topic, self.partition)

    @staticmethod
    def words(entries: "Sequence[LogDirEntry]") -> str:
        """``log directories of 3 replicas on broker 1``."""
        return f"log directories of {counted(len(entries), 'replica')} on broker {entries[0].broker}"

    @property
    def row(self) -> dict[str, Any]:
        """In the list of journals, for programs."""
        return {
            "what": "log_dir",
            "broker": self.broker,
            "topic": self.topic,
            "topic_id": self.topic_id or None,
            "partition": self.partition,
            "log_dir": self.before,
            "new_log_dir": self.after,
        }


class SchemaEntry(msgspec.Struct, frozen=True, tag_field="what", tag="schema"):
    """A version of a subject of a schema registry. ``references``: name, subject and version. ``permanent``: it was
    deleted for good, with its id. ``contract``: its metadata and rules. ``deleted``: it had been deleted softly before.
    """

    subject: str
    version: int
    id: int
    type: str
    text: str
    references: tuple[tuple[str, str, int], ...]
    permanent: bool = False
    contract: str = ""
    deleted: bool = False

    @classmethod
    def of(cls, schema: "Schema", *, permanent: bool = False, deleted: bool = False) -> Self:
        references = tuple((one.name, one.subject, one.version) for one in schema.references)
        return cls(
            schema.subject,
            schema.version,
            schema.id,
            schema.kind,
            schema.text,
            references,
            permanent,
            schema.contract,
            deleted,
        )

    def schema_of(self) -> "Schema":
        """The schema."""
        from kcli.serde.registry.client import Reference, Schema  # http and ssl: for a registry only

        references = tuple(Reference(*one) for one in self.references)
        return Schema(
            self.id,
            self.type,
            self.text,
            references,
            self.subject,
            self.version,
            contract=self.contract,
        )

    @staticmethod
    def words(entries: "Sequence[Entry]") -> str:
        """``3 versions of orders-value, for good``."""
        schemas = [entry for entry in entries if isinstance(entry, SchemaEntry)]
        names = [*dict.fromkeys(entry.subject for entry in schemas)]
        subjects = ", ".join(names) if len(names) < 5 else counted(len(names), "subject")
        how = ", for good" if schemas[0].permanent else ""
        return f"{counted(len(schemas), 'version')} of {subjects}{how}"

    @property
    def row(self) -> dict[str, Any]:
        """In the list of journals, for programs."""
        return {
            "what": "schema",
            "subject": self.subject,
            "version": self.version,
            "id": self.id,
            "schema": self.text,
            "permanent": self.permanent,
        }


class CreatedSchemaEntry(SchemaEntry, frozen=True, tag_field="what", tag="created_schema"):
    """A version that the change registers: to undo it is to delete it, softly. ``version`` 0 and ``id`` −1 where the
    registry chooses them.
    """

    @staticmethod
    def words(entries: "Sequence[Entry]") -> str:
        """``2 versions of orders-value, registered``."""
        return f"{SchemaEntry.words(entries)}, registered"

    @property
    def row(self) -> dict[str, Any]:
        """In the list of journals, for programs."""
        return {
            "what": "created_schema",
            "subject": self.subject,
            "version": self.version or None,
            "id": self.id if self.id >= 0 else None,
            "schema": self.text,
        }


class RegistrySettingEntry(msgspec.Struct, frozen=True, tag_field="what", tag="registry_setting"):
    """The compatibility or the mode of a subject, or of all (empty), before a change and after it; None: no own one."""

    subject: str
    key: str
    before: str | None
    after: str | None

    @staticmethod
    def words(entries: "Sequence[RegistrySettingEntry]") -> str:
        """``compatibility of orders-value``."""
        if len(entries) > 4:
            return f"{entries[0].key} of {counted(len(entries), 'subject')}"
        return ", ".join(f"{entry.key} of {entry.subject or 'the registry'}" for entry in entries)

    @property
    def row(self) -> dict[str, Any]:
        """In the list of journals, for programs."""
        return {
            "what": "registry_setting",
            "subject": self.subject or None,
            "key": self.key,
            "before": self.before,
            "after": self.after,
        }


Entry = (
    OffsetEntry
    | ShareOffsetEntry
    | TopicEntry
    | CreatedTopicEntry
    | PartitionsEntry
    | RewindEntry
    | AclEntry
    | CreatedAclEntry
    | QuotaEntry
    | UserEntry
    | CreatedUserEntry
    | RetentionEntry
    | ConfigKeyEntry
    | SecretKeyEntry
    | ControllerEntry
    | FeatureEntry
    | ReplicasEntry
    | LogDirEntry
    | SchemaEntry
    | CreatedSchemaEntry
    | RegistrySettingEntry
)

REGISTRY_ENTRIES = (SchemaEntry, RegistrySettingEntry)
"""Those of changes of a schema registry; the ``cluster`` of their journals is its address."""


class Journal(msgspec.Struct, frozen=True):
    """What one run of ``command`` destroyed. ``at`` is in ms since the epoch."""

    kind: str
    id: str
    at: int
    cluster: str
    command: str
    entries: tuple[Entry, ...]

    @property
    def what(self) -> str:
        """What was deleted, in words."""
        alike: dict[Any, list[Entry]] = {}
        for entry in self.entries:
            alike.setdefault(type(entry).words, []).append(entry)
        return "; ".join(words(entries) for words, entries in alike.items())

    def check_cluster(self, cluster: str) -> None:
        """ConfigError unless it is of this cluster."""
        if self.cluster != cluster and isinstance(self.entries[0], REGISTRY_ENTRIES):
            raise ConfigError(
                f"journal {self.id} is not of this schema registry",
                why=f"it is of {self.cluster}, and this is {cluster}",
                do=f"give -X schema.registry.url={self.cluster}, or its profile",
            )
        if self.cluster != cluster:
            raise ConfigError(
                f"journal {self.id} is not of this cluster",
                why=f"it is of cluster {self.cluster or 'without an id'}, and this is {cluster or 'one without an id'}",
                do="name the brokers, or the profile, of that cluster",
            )


class Draft:
    """The journal of a change that is about to be made. ``can_undo``: whether it has what that takes."""

    def __init__(self, command: str, entries: Sequence[Entry], *, can_undo: bool = True) -> None:
        self.command, self.entries = command, tuple(entries)
        self.can_undo = can_undo
        self._folder: JournalFolder | None = None
        self.id = new_id(wall_ms())

    def write(self, cluster: str) -> None:
        """Writes it; JournalError if that fails."""
        journal = Journal(KIND, self.id, wall_ms(), cluster, self.command, self.entries)
        self._folder = folder_of(cluster)
        self._folder.put_first(self.id, journal, "nothing was changed")

    def amend(self, entries: Sequence[Entry]) -> None:
        """Writes it again, with what is known of the entries by now. Without space the first form stays."""
        self.entries = tuple(entries)
        if self._folder is not None:
            journal = Journal(KIND, self.id, wall_ms(), self._folder.cluster, self.command, self.entries)
            with contextlib.suppress(OSError):
                self._folder.put(self.id, journal)

    def remove(self) -> None:
        """For a change that has changed nothing."""
        if self._folder is not None:
            self._folder.remove(self.id)
            self._folder = None


_MOST_NAMED = 10


def _some(noun: str, names: Sequence[str]) -> str:
    """``topics orders, refunds``; of many names only the first ones."""
    found = list(dict.fromkeys(names))
    more = f" and {len(found) - _MOST_NAMED:,} more" if len(found) > _MOST_NAMED else ""
    return f"{noun}{'' if len(found) == 1 else 's'} {', '.join(found[:_MOST_NAMED])}{more}"


def folder_of(cluster: str) -> JournalFolder:
    """Where the journals of a cluster are."""
    return JournalFolder("journal", cluster)


def listed(cluster: str) -> tuple[list[Journal], list[str]]:
    """All journals of the cluster, oldest first, and the names of files that are none."""
    return folder_of(cluster).read(Journal, KIND)


def amend(journal: Journal, entries: Sequence[Entry]) -> None:
    """Writes it again with these entries, because some are settled. Without space the first form stays."""
    with contextlib.suppress(OSError):
        folder_of(journal.cluster).put(journal.id, msgspec.structs.replace(journal, entries=tuple(entries)))


def find(journal_id: str) -> Journal:
    """The journal of this id, whichever cluster it is of; NotFoundError without one, JournalError if it is no journal."""
    paths = state_home().glob(f"journal/*/{journal_id}.json") if _ID.fullmatch(journal_id) else ()
    for path in paths:
        try:
            return msgspec.json.decode(path.read_bytes(), type=Journal)
        except (OSError, msgspec.MsgspecError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            raise JournalError(
                f"cannot read the journal {path}",
                why=(reason or str(error)).lower(),
                do="it was changed, or a newer kcli has written it; nothing was done",
            ) from None
    if any(path.stem == journal_id for path in state_home().glob("rewind/*/*.json")):
        raise NotFoundError(
            f"journal {journal_id} is that of a rewind",
            why="`kcli undo` makes again what was deleted or changed otherwise",
            do=f"`kcli groups rewind GROUP --undo={journal_id}`, with its group",
        )
    raise NotFoundError(
        f"there is no journal {journal_id}",
        why=f"the journals of this machine are in {state_home() / 'journal'}",
        do="`kcli undo` lists those of the cluster",
    )
