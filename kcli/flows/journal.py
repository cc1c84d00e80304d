"""The journal of what destroys: what was there, on disk before the change, so that ``kcli undo`` can make it again.

One file for each change: ``$XDG_STATE_HOME/kcli/journal/<cluster id>/<UTC stamp>-<6 hex>.json``. A new kind of thing is a
struct here and a row in ``undo.py``.
"""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from kcli.core.admin.unknown_group import group_shown
from kcli.core.clock import wall_ms
from kcli.core.errors import ConfigError, NotFoundError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.files.journal_folder import JournalError, JournalFolder, new_id
from kcli.files.xdg import state_home
from kcli.output.progress import counted

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

    @staticmethod
    def words(entries: "Sequence[OffsetEntry]") -> str:
        """``3 committed offsets of billing``."""
        groups = dict.fromkeys(group_shown(entry.group) for entry in entries)
        return f"{counted(len(entries), 'committed offset')} of {', '.join(groups)}"

    @property
    def row(self) -> dict[str, Any]:
        """In the list of journals, for programs."""
        row: dict[str, Any] = msgspec.to_builtins(self)
        epoch = self.leader_epoch if self.leader_epoch >= 0 else None
        return {**row, "leader_epoch": epoch, "topic_id": self.topic_id or None}


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


Entry = OffsetEntry | TopicEntry


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
        entries: Any = self.entries
        words: str = entries[0].words(entries)
        return words

    def check_cluster(self, cluster: str) -> None:
        """ConfigError unless it is of this cluster."""
        if self.cluster != cluster:
            raise ConfigError(
                f"journal {self.id} is not of this cluster",
                why=f"it is of cluster {self.cluster or 'without an id'}, and this is {cluster or 'one without an id'}",
                do="name the brokers, or the profile, of that cluster",
            )


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
    raise NotFoundError(
        f"there is no journal {journal_id}",
        why=f"the journals of this machine are in {state_home() / 'journal'}",
        do="`kcli undo` lists those of the cluster",
    )
