"""``kcli undo``: the change that makes again what a journal has."""

from typing import Any

from kcli.account.change import Change
from kcli.flows.groups.restore import OffsetRestore
from kcli.flows.journal import Entry, Journal, OffsetEntry, TopicEntry
from kcli.flows.topics.restore import TopicRestore

RESTORES: dict[type[Entry], type[Change[Any, Any]]] = {OffsetEntry: OffsetRestore, TopicEntry: TopicRestore}
"""By what the entries of a journal are; all entries of one are of one kind."""


def restore_of(journal: Journal) -> Change[Any, Any]:
    """The change for a journal."""
    made: Any = RESTORES[type(journal.entries[0])]
    change: Change[Any, Any] = made(journal)
    return change
