"""``kcli undo``: the change that makes again what a journal has."""

from collections.abc import Callable
from typing import Any

from kcli.account.change import Change, ChangeOf
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.flows.acls.create import AclRestore
from kcli.flows.acls.delete import AclRetraction
from kcli.flows.brokers.move_log_dir import LogDirRestore
from kcli.flows.configs.alter import ConfigRestore
from kcli.flows.features import change as features
from kcli.flows.groups.restore import OffsetRestore
from kcli.flows.journal import (
    AclEntry,
    ConfigKeyEntry,
    ControllerEntry,
    CreatedAclEntry,
    CreatedSchemaEntry,
    Entry,
    FeatureEntry,
    Journal,
    LogDirEntry,
    OffsetEntry,
    QuotaEntry,
    RegistrySettingEntry,
    ReplicasEntry,
    RetentionEntry,
    SchemaEntry,
    ShareOffsetEntry,
    TopicEntry,
    UserEntry,
)
from kcli.flows.quorum import voters
from kcli.flows.quotas.alter import QuotaRestore
from kcli.flows.reassign.change import Moving
from kcli.flows.reassign.restore import ReplicaRestore
from kcli.flows.registry import delete, importing, settings, undelete
from kcli.flows.resources.apply import Apply
from kcli.flows.resources.undo import ApplyUndo
from kcli.flows.rewind.text import Where
from kcli.flows.topics.restore import TopicRestore
from kcli.flows.topics.retention import RetentionRestore
from kcli.serde.registry.admin import RegistryAdmin


class NotRestorableError(KcliError):
    """A journal says what was deleted, and lacks what it takes to make it again."""

    exit_code = ExitCode.REFUSED


RESTORES: dict[type[Entry], Callable[[Any], Change[Any, Any]]] = {
    OffsetEntry: OffsetRestore,
    ShareOffsetEntry: OffsetRestore,
    TopicEntry: TopicRestore,
    AclEntry: AclRestore,
    CreatedAclEntry: AclRetraction,
    QuotaEntry: QuotaRestore,
    RetentionEntry: RetentionRestore,
    ConfigKeyEntry: ConfigRestore,
    ControllerEntry: voters.undoing,
    FeatureEntry: features.undoing,
}
"""By what the entries of a journal are; all entries of one are of one kind, but for offsets, which are of two."""
STAGED = (Apply.command, ApplyUndo.command)
"""The commands whose journals have entries of several kinds."""


def restore_of(journal: Journal, moving: Moving, where: Where, *, dry: bool) -> Change[Any, Any]:
    """The change for a journal; NotRestorableError if it lacks what that takes. ``moving``: how replicas move; ``where``:
    the cluster in plans of offsets; ``dry``: nothing will be changed.
    """
    if journal.command in STAGED:
        return ApplyUndo(journal, moving, where, dry=dry)
    kind = type(journal.entries[0])
    if kind is ReplicasEntry:
        return ReplicaRestore(moving, [journal])
    if kind is LogDirEntry:
        return LogDirRestore(moving, journal)
    if kind is UserEntry:
        raise NotRestorableError(
            f"what {journal.command} deleted cannot be made again: {journal.what}",
            why="brokers return no passwords, so the journal has none",
            do="set a new password for the user",
        )
    return RESTORES[kind](journal)


def registry_restore_of(journal: Journal, registry: RegistryAdmin) -> ChangeOf[RegistryAdmin, Any, Any]:
    """Likewise of a journal of a schema registry, whose first entry is one of ``REGISTRY_ENTRIES``.

    What was deleted for good is imported with its ids; where a registry cannot, it may still know them.
    """
    first = journal.entries[0]
    if isinstance(first, RegistrySettingEntry) and len(journal.entries) == 1:
        return settings.undoing(journal)
    if isinstance(first, CreatedSchemaEntry | RegistrySettingEntry):
        return delete.SchemaRetraction(journal)
    assert isinstance(first, SchemaEntry)
    if first.permanent and registry.has_modes():
        return importing.SchemaReturn(journal)
    return undelete.SchemaRestore(journal)
