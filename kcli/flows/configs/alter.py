"""``kcli configs alter``: changes configurations of what ``resources.py`` describes, and undoes that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kcli.account.change import Item
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigChange, ConfigEntry, ConfigKind, ConfigOp, ConfigResource
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.names import own_group_danger
from kcli.flows.configs.alteration import COLUMNS, AlteredKey, AlterItem, ConfigAlteration
from kcli.flows.configs.key_changes import PlannedChange
from kcli.flows.configs.resources import described, kind_word, no_subscription, shown_name
from kcli.flows.configs.values import same_value
from kcli.flows.journal import ConfigKeyEntry, Draft, Journal
from kcli.flows.topics.purpose import internal_purpose
from kcli.output.tables import Column

ALL_KEYS = "*"
"""In place of the keys, where it is not known which are set."""
_NONE_SET = "no key is set"
_KEPT = (ConfigKind.BROKER_LOGGER, ConfigKind.CLIENT_METRICS, ConfigKind.GROUP)
"""Kinds of which every change is kept for ``kcli undo``; of others what ``--unset-all`` removes. None has secrets."""
_OF_METRICS = [
    ConfigEntry(name, None, "default", is_sensitive=False, type=kind, own_source="client metrics")
    for name, kind in (("interval.ms", "int"), ("match", "list"), ("metrics", "list"))
]


class KeyChangedError(KcliError):
    """A key does not have the value that the change to be undone left."""

    exit_code = ExitCode.REFUSED


class ConfigAlter(ConfigAlteration):
    """See ``ConfigAlteration``. With ``unset_all`` the changes are those that unset each key of a resource's own."""

    kind = "ConfigAlter"
    printed_by = "configs alter"
    columns = (Column("name", meaning="Name of the resource."), *COLUMNS)

    def __init__(
        self,
        resources: Sequence[ConfigResource],
        changes: Sequence[ConfigChange],
        *,
        named: bool,
        unset_all: bool = False,
    ) -> None:
        super().__init__(
            resources, [ConfigChange(ALL_KEYS, None, ConfigOp.DELETE)] if unset_all else changes, named=named
        )
        self._unset_all = unset_all

    def items(
        self,
        resource: ConfigResource,
        entries: list[ConfigEntry] | KcliError,
        others: Iterable[ConfigEntry] = (),
    ) -> list[AlterItem]:
        """One item where every key is to be unset and none is set: then client metrics do not exist."""
        unset = not isinstance(entries, KcliError) and all(entry.is_default for entry in entries)
        if not self._unset_all or not unset:
            return super().items(resource, entries, others)
        if resource.kind is ConfigKind.CLIENT_METRICS:
            return super().items(resource, no_subscription(resource.name))
        facts = PlannedChange(resource, self.changes[0], None, "default", None, "default", note=_NONE_SET)
        return [Item(AlteredKey(resource, ALL_KEYS, "unset"), facts, Outcome.UNCHANGED, note=_NONE_SET)]

    def changes_of(
        self,
        resource: ConfigResource,  # noqa: ARG002
        entries: Sequence[ConfigEntry] | None,
    ) -> Sequence[ConfigChange]:
        """The same of all, or those that unset each key that is set."""
        if not self._unset_all or entries is None:
            return self.changes
        return [ConfigChange(entry.name, None, ConfigOp.DELETE) for entry in entries if not entry.is_default]

    def others(self, admin: Admin, resource: ConfigResource) -> Sequence[ConfigEntry]:
        """Keys that brokers do not list where they are not set: of the default of all brokers, which may have those of
        any broker, and of client metrics before Kafka 4.1.
        """
        if resource.kind is ConfigKind.CLIENT_METRICS:
            return _OF_METRICS
        if resource.name:
            return []
        broker = ConfigResource(ConfigKind.BROKER, str(min(admin.connect().nodes)))
        found = described(admin, [broker])[broker]
        if isinstance(found, KcliError):
            raise found
        return found

    def dangers(self, admin: Admin, resources: Sequence[ConfigResource]) -> dict[ConfigResource, str]:
        """Internal topics, and groups of kcli's own."""
        topics = [resource.name for resource in resources if resource.kind is ConfigKind.TOPIC]
        groups = [resource for resource in resources if resource.kind is ConfigKind.GROUP]
        dangers = {group: danger for group in groups if (danger := own_group_danger(group.name))}
        for name, topic in (admin.describe_topics(topics) if topics else {}).items():
            purpose = None if isinstance(topic, KcliError) else internal_purpose(topic)
            if purpose is not None:
                dangers[ConfigResource(ConfigKind.TOPIC, name)] = purpose
        return dangers

    def journal(self, admin: Admin, todo: Sequence[AlterItem]) -> Draft | None:  # noqa: ARG002
        """The values before the change, of kinds that are kept."""
        if not self._unset_all and not all(item.key.resource.kind in _KEPT for item in todo):
            return None
        return Draft(self.printed_by, [key_entry(item.facts) for item in todo])


class ConfigAlterOfEach(ConfigAlter):
    """Changes of its own for each resource, which are of files."""

    from_line = False

    def __init__(self, wanted: Mapping[ConfigResource, Sequence[ConfigChange]]) -> None:
        self.wanted = wanted
        super().__init__(list(wanted), [one for changes in wanted.values() for one in changes], named=False)

    def changes_of(
        self,
        resource: ConfigResource,
        entries: Sequence[ConfigEntry] | None,  # noqa: ARG002
    ) -> Sequence[ConfigChange]:
        """Those of the resource."""
        return self.wanted[resource]


class ConfigRestore(ConfigAlterOfEach):
    """``kcli undo`` of it: the values before the change. A key that was changed since is refused."""

    def __init__(self, journal: Journal) -> None:
        self.made = journal
        self._entries: dict[tuple[ConfigResource, str], ConfigKeyEntry] = {}
        wanted: dict[ConfigResource, list[ConfigChange]] = {}
        for entry in journal.entries:
            if isinstance(entry, ConfigKeyEntry):
                self._entries[entry.resource, entry.key] = entry
                wanted.setdefault(entry.resource, []).append(_restoring(entry))
        super().__init__(wanted)

    def decide(self, admin: Admin) -> list[AlterItem]:
        """As when they are altered; ConfigError on another cluster."""
        self.made.check_cluster(admin.cluster_id())
        return [self._judged(item) for item in super().decide(admin)]

    def _judged(self, item: AlterItem) -> AlterItem:
        found: PlannedChange = item.facts
        left = self._entries[item.key.resource, item.key.name].after
        own = found.old if found.old_source == item.key.resource.own_source else None
        same = own is None if left is None else same_value(found.kind, found.old, left)
        if item.outcome is not Outcome.PLANNED or same:
            return item
        one = item.key.resource
        error = KeyChangedError(
            f"{item.key} has been changed since",
            why=f"it is {own or 'not set'}, and the change that is to be undone left {left or 'it unset'}; nothing was "
            "done to it",
            do=f"`kcli configs describe {kind_word(one)}s {shown_name(one)}` shows what is set",
        )
        return item._replace(outcome=Outcome.REFUSED, error=error)


def key_entry(change: PlannedChange) -> ConfigKeyEntry:
    """What a journal keeps of a change of a key."""
    resource = change.resource
    old = change.old if change.old_source == resource.own_source else None
    new = change.new if change.new_source == resource.own_source else None
    return ConfigKeyEntry(int(resource.kind), resource.name, change.change.name, old, new)


def _restoring(entry: ConfigKeyEntry) -> ConfigChange:
    if entry.before is None:
        return ConfigChange(entry.key, None, ConfigOp.DELETE)
    return ConfigChange(entry.key, entry.before)
