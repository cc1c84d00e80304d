"""The journal of reassignments: the replicas before, and the throttle that was set, on disk before anything is changed.

One file each, ``$XDG_STATE_HOME/kcli/reassign/<cluster id>/<UTC stamp>-<6 hex>.json``: itself a file of a reassignment,
to the replicas before, so that ``kcli reassign run FILE`` (and Kafka's script) goes back.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import msgspec

from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigKind, ConfigResource
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition
from kcli.files.atomic import make_private_folder, replace_file
from kcli.files.journal_folder import JournalError
from kcli.files.lock import file_lock
from kcli.files.xdg import state_home
from kcli.flows.partitions_file import VERSION
from kcli.flows.reassign.moves import Move
from kcli.flows.reassign.throttle import FOLLOWER_RATE, LEADER_RATE, Throttle, remove_throttle
from kcli.output.talk import Talk

KIND = "ReassignmentJournal"
_NOTHING_CHANGED = "nothing was changed; free space, or set XDG_STATE_HOME to another directory"
_PATIENCE = 10.0
"""Seconds to wait for another kcli that sets or removes a throttle: it takes a moment only."""


class Row(msgspec.Struct, frozen=True):
    """A partition with its replicas."""

    topic: str
    partition: int
    replicas: list[int]


class Journal(msgspec.Struct, frozen=True):
    """A reassignment: ``partitions`` are the replicas before, ``to`` those it leads to; ``at`` is ms since the epoch.

    ``throttle`` is what was set and not removed yet. ``broker``: the moves are between log directories of it, and nothing
    can be made of the file but the removal of the throttle.
    """

    version: int
    partitions: list[Row]
    kind: str
    id: str
    at: int
    cluster: str
    to: list[Row]
    throttle: Throttle | None = None
    broker: int | None = None

    @property
    def moved(self) -> set[TopicPartition]:
        """The partitions."""
        return {TopicPartition(row.topic, row.partition) for row in self.to}


class ReassignmentJournalError(JournalError):
    """A journal cannot be read or written."""


class ReassignmentJournals:
    """The journals of one cluster on this machine."""

    def __init__(self, cluster: str, root: Path | None = None) -> None:
        self.cluster = cluster
        name = quote(cluster, safe="").replace(".", "%2E") or "unnamed"
        self.folder = (root or state_home() / "reassign") / name

    def write(self, number: str, moves: Sequence[Move], throttle: Throttle | None, now_ms: int) -> Path:
        """Writes the journal; it is on disk on return. ReassignmentJournalError if that fails."""
        before = [Row(move.tp.topic, move.tp.partition, list(move.old)) for move in moves]
        after = [Row(move.tp.topic, move.tp.partition, list(move.new)) for move in moves]
        return self._put(
            Journal(VERSION, before, KIND, number, now_ms, self.cluster, after, throttle),
            _NOTHING_CHANGED,
        )

    def write_throttle(
        self, number: str, broker: int, partitions: Iterable[TopicPartition], throttle: Throttle, now_ms: int
    ) -> None:
        """Writes the throttle of moves between log directories; it is on disk on return."""
        moved = [Row(tp.topic, tp.partition, [broker]) for tp in partitions]
        journal = Journal(VERSION, [], KIND, number, now_ms, self.cluster, moved, throttle, broker)
        self._put(journal, _NOTHING_CHANGED)

    def without_throttle(self, journal: Journal) -> None:
        """Records that its throttle is removed."""
        self._put(
            msgspec.structs.replace(journal, throttle=None), "it will be looked for again, which is harmless"
        )

    def with_throttle(self) -> list[Journal]:
        """The journals whose throttle may still be set, oldest first."""
        found = []
        for path in sorted(self.folder.glob("*.json")):
            try:
                journal = msgspec.json.decode(path.read_bytes(), type=Journal)
            except (OSError, msgspec.DecodeError, UnicodeDecodeError):
                continue
            if journal.kind == KIND and journal.cluster == self.cluster and journal.throttle is not None:
                found.append(journal)
        return found

    def path(self, number: str) -> Path:
        """The file of a journal."""
        return self.folder / f"{number}.json"

    def remove(self, number: str) -> None:
        """For a reassignment that has changed nothing."""
        self.path(number).unlink(missing_ok=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Locks out other runs on this machine while a throttle is set or removed."""
        make_private_folder(self.folder, ReassignmentJournalError)
        path = self.folder / "throttle.lock"
        with file_lock(path, timeout=_PATIENCE, doing="changing the throttle of a reassignment"):
            yield

    def _put(self, journal: Journal, do: str) -> Path:
        path = self.path(journal.id)
        make_private_folder(self.folder, ReassignmentJournalError)
        try:
            replace_file(str(path), msgspec.json.format(msgspec.json.encode(journal), indent=1) + b"\n")
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise ReassignmentJournalError(f"cannot write the journal {path}", why=why, do=do) from None
        return path


def clear_throttles(admin: Admin, talk: Talk, *, dry_run: bool) -> list[KcliError]:
    """Removes what belongs to moves that are not in progress any more; rates of brokers when nothing is being moved.

    Returns the error if that fails; the journals keep what is left, for the next time.
    """
    journals = ReassignmentJournals(admin.cluster_id())
    if not journals.with_throttle():
        return []
    try:
        with journals.locked():
            ongoing = admin.list_reassignments()
            for journal in journals.with_throttle():
                moving: Collection[TopicPartition] | None = ongoing
                if journal.broker is not None:
                    moving = _between_directories(admin, journal.broker)
                if moving is None or not journal.moved.isdisjoint(moving):
                    continue
                if dry_run:
                    talk.note(f"the throttle of reassignment {journal.id} would be removed")
                else:
                    _clear(admin, talk, journals, journal, rates=not moving)
    except KcliError as error:
        return [error]
    return []


def _between_directories(admin: Admin, broker: int) -> set[TopicPartition] | None:
    """The replicas of the broker that are being moved to another directory; None if it does not say."""
    found = admin.describe_log_dirs(broker_ids=[broker])[broker]
    if isinstance(found, KcliError):
        return None
    return {tp for row in found for tp, replica in row.replicas.items() if replica.is_future}


def _clear(
    admin: Admin, talk: Talk, journals: ReassignmentJournals, journal: Journal, *, rates: bool
) -> None:
    assert journal.throttle is not None
    kept, complete = remove_throttle(admin, journal.throttle, rates=rates)
    for text in kept:
        talk.warn(f"a throttle is kept: {text}")
    if complete:
        journals.without_throttle(journal)
        if not journal.throttle.is_empty:
            talk.note(f"removed the throttle of reassignment {journal.id}")
    elif not rates:
        talk.note("brokers keep the rate of the throttle while other partitions are being moved")


def warn_of_foreign_rates(admin: Admin, talk: Talk) -> None:
    """Rates on brokers while nothing is being moved, which no journal here holds: somebody has to remove them."""
    numbers = sorted(admin.connect().nodes)
    resources = [ConfigResource(ConfigKind.BROKER, str(number)) for number in numbers]
    for resource, entries in admin.describe_configs(resources).items():
        if isinstance(entries, KcliError):
            talk.detail(f"throttles of {resource} are not known: {entries}")
            continue
        keys = [entry for entry in entries if entry.name in (LEADER_RATE, FOLLOWER_RATE) and entry.value]
        if keys:
            values = ", ".join(f"{entry.name}={entry.value}" for entry in keys)
            unset = " ".join(f"--unset {entry.name}" for entry in keys)
            talk.warn(
                f"{resource} has a throttle, and nothing is being moved: {values}; "
                f"kcli configs alter brokers {resource.name} {unset} removes it"
            )
