"""The journal of what destroys: what was there, on disk before the change, so that ``kcli undo`` can make it again.

One file for each change: ``$XDG_STATE_HOME/kcli/journal/<cluster id>/<UTC stamp>-<6 hex>.json``. A new kind of thing is a
struct here and a row in ``undo.py``.
"""

from collections.abc import Sequence

import msgspec

from kcli.core.admin.unknown_group import group_shown
from kcli.core.clock import wall_ms
from kcli.core.errors import NotFoundError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.files.journal_folder import JournalFolder, new_id
from kcli.output.progress import counted

KIND = "ChangeJournal"


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


Entry = OffsetEntry


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
        """``3 committed offsets of billing``."""
        groups = dict.fromkeys(group_shown(entry.group) for entry in self.entries)
        return f"{counted(len(self.entries), 'committed offset')} of {', '.join(groups)}"


class Draft:
    """The journal of a change that is about to be made."""

    def __init__(self, command: str, entries: Sequence[Entry]) -> None:
        self._command, self._entries = command, tuple(entries)
        self._folder: JournalFolder | None = None
        self.id = new_id(wall_ms())

    def write(self, cluster: str) -> None:
        """Writes it; JournalError if that fails."""
        journal = Journal(KIND, self.id, wall_ms(), cluster, self._command, self._entries)
        self._folder = folder_of(cluster)
        self._folder.put_first(self.id, journal, "nothing was changed")

    def remove(self) -> None:
        """For a change that has changed nothing."""
        if self._folder is not None:
            self._folder.remove(self.id)


def folder_of(cluster: str) -> JournalFolder:
    """Where the journals of a cluster are."""
    return JournalFolder("journal", cluster)


def listed(cluster: str) -> tuple[list[Journal], list[str]]:
    """All journals of the cluster, oldest first, and the names of files that are none."""
    return folder_of(cluster).read(Journal, KIND)


def find(cluster: str, journal_id: str) -> Journal:
    """NotFoundError where the cluster has no journal of this id."""
    for journal in listed(cluster)[0]:
        if journal.id == journal_id:
            return journal
    raise NotFoundError(
        f"there is no journal {journal_id}",
        why=f"the journals of this cluster are in {folder_of(cluster).folder}",
        do="`kcli undo` lists them",
    )
