"""``kcli undo``: the change that makes again what a journal has."""

from typing import Any

from kcli.account.change import Change
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.flows.acls.create import AclRestore
from kcli.flows.acls.delete import AclRetraction
from kcli.flows.configs.alter import ConfigRestore
from kcli.flows.groups.restore import OffsetRestore
from kcli.flows.journal import (
    AclEntry,
    ConfigKeyEntry,
    CreatedAclEntry,
    Entry,
    Journal,
    OffsetEntry,
    QuotaEntry,
    RetentionEntry,
    ShareOffsetEntry,
    TopicEntry,
    UserEntry,
)
from kcli.flows.quotas.alter import QuotaRestore
from kcli.flows.topics.restore import TopicRestore
from kcli.flows.topics.retention import RetentionRestore


class NotRestorableError(KcliError):
    """A journal says what was deleted, and lacks what it takes to make it again."""

    exit_code = ExitCode.REFUSED


RESTORES: dict[type[Entry], type[Change[Any, Any]]] = {
    OffsetEntry: OffsetRestore,
    ShareOffsetEntry: OffsetRestore,
    TopicEntry: TopicRestore,
    AclEntry: AclRestore,
    CreatedAclEntry: AclRetraction,
    QuotaEntry: QuotaRestore,
    RetentionEntry: RetentionRestore,
    ConfigKeyEntry: ConfigRestore,
}
"""By what the entries of a journal are; all entries of one are of one kind, but for offsets, which are of two."""


def restore_of(journal: Journal) -> Change[Any, Any]:
    """The change for a journal; NotRestorableError if it lacks what that takes."""
    kind = type(journal.entries[0])
    if kind is UserEntry:
        raise NotRestorableError(
            f"what {journal.command} deleted cannot be made again: {journal.what}",
            why="brokers return no passwords, so the journal has none",
            do="set a new password for the user",
        )
    made: Any = RESTORES[kind]
    change: Change[Any, Any] = made(journal)
    return change
