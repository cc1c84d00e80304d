"""The journal of rewinds: the previous commits, written to disk before the first new commit so that it can be undone.

One file for each group and rewind: ``$XDG_STATE_HOME/kcli/rewind/<cluster id>/<UTC stamp>-<6 hex>.json``.
"""

import shlex
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import msgspec

from kcli.core.errors import ConfigError, NotFoundError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.files.atomic import make_private_folder
from kcli.files.journal_folder import JournalError, JournalFolder
from kcli.files.lock import file_lock
from kcli.flows.rewind.plan import GroupPlan

KIND = "RewindJournal"


class Row(msgspec.Struct, frozen=True, omit_defaults=True):
    """One partition before and after; None means no commit. ``status``: the outcome that was seen. ``topic_id``: of the
    topic that the offsets are of, in Kafka's text form; empty where it is not known.
    """

    topic: str
    partition: int
    committed: int | None
    metadata: str
    leader_epoch: int
    new: int | None
    status: str | None = None
    topic_id: str = ""


class LiveMember(msgspec.Struct, frozen=True):
    """A member that was evicted. ``partitions`` by topic; ``pace`` and ``session``: see ``attendance.EvictedMember``."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    partitions: dict[str, list[int]]
    pace: float
    session: float


class LiveArrival(msgspec.Struct, frozen=True):
    """A member that joined, ``at`` seconds after the release; see ``barrier.arrivals.Arrival``."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    at: float
    unassigned_since: float | None = None
    left_at: float | None = None


class LiveRow(msgspec.Struct, frozen=True):
    """A partition that was set; see ``judge.Rewound``. ``commits``: seconds and offsets as they were seen."""

    topic: str
    partition: int
    new: int
    old: int | None
    end: int | None
    commits: list[tuple[float, int | None]] = []


_KEYS = {"released_ms": "let_in", "evicted_at": "sent_out_at", "observed_until": "looked_until"}
"""The keys of a journal on disk are older than the names here."""


class LiveEntry(msgspec.Struct, frozen=True, rename=_KEYS):
    """What is needed to judge a live rewind later. ``released_ms`` is in ms since the epoch; ``evicted_at`` and
    ``observed_until`` are seconds since ``released_ms``.
    """

    released_ms: int
    evicted_at: float
    type: str
    assignor: str
    members: list[LiveMember]
    arrivals: list[LiveArrival]
    partitions: list[LiveRow]
    observed_until: float = 0.0


class Journal(msgspec.Struct, frozen=True):
    """One rewind of one group. ``at`` is in ms since the epoch, ``to`` describes the target in words. ``type`` is that of
    the group, empty in journals of older versions; the offsets of a share group are start offsets.
    """

    kind: str
    id: str
    at: int
    cluster: str
    group: str
    to: str
    partitions: tuple[Row, ...]
    undoes: str | None = None
    live: LiveEntry | None = None
    type: str = ""

    @property
    def before(self) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """What was committed; None for partitions without a commit."""
        return {
            TopicPartition(row.topic, row.partition): None
            if row.committed is None
            else OffsetAndMetadata(row.committed, row.metadata, row.leader_epoch)
            for row in self.partitions
        }

    @property
    def topic_ids(self) -> dict[str, str]:
        """The ids of the topics, as far as they are known."""
        return {row.topic: row.topic_id for row in self.partitions if row.topic_id}


class Journals(JournalFolder):
    """The journals of one cluster."""

    def __init__(self, cluster: str, root: Path | None = None) -> None:
        super().__init__("rewind", cluster, root)

    def write(self, plan: GroupPlan, now_ms: int) -> Path:
        """Writes the journal; file and name are on disk on return. Raises JournalError if that fails."""
        journal = Journal(
            KIND,
            plan.id,
            now_ms,
            self.cluster,
            plan.group,
            plan.to,
            tuple(_rows(plan)),
            plan.undoes,
            type=plan.type,
        )
        return self.put_first(journal.id, journal, "nothing was committed")

    def update(
        self,
        journal_id: str,
        *,
        live: LiveEntry | None = None,
        statuses: Mapping[TopicPartition, str] | None = None,
        committed: Mapping[TopicPartition, OffsetAndMetadata | None] | None = None,
    ) -> None:
        """Adds what was seen since; JournalError if it cannot be written, and the file is left as it was.

        ``committed``: the commits that were replaced, where they are not those of the plan.
        """
        path = self.path(journal_id)
        try:
            before = msgspec.json.decode(path.read_bytes(), type=Journal)
            rows = tuple(_updated(row, statuses or {}, committed or {}) for row in before.partitions)
            self.put(journal_id, msgspec.structs.replace(before, partitions=rows, live=live or before.live))
        except (OSError, msgspec.MsgspecError, JournalError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            raise JournalError(
                f"cannot update the journal {path}",
                why=(reason or str(error)).lower(),
                do="make room, and let this user write there: --undo needs the journal",
            ) from None

    def listed(self) -> tuple[list[Journal], list[str]]:
        """All journals, oldest first, and the names of files that are not journals."""
        return self.read(Journal, KIND)

    def of(self, group: str, journal_id: str | None = None) -> Journal:
        """The newest of the group, or the one with that id; NotFoundError when there is none."""
        listed, _broken = self.listed()
        own = [one for one in listed if one.group == group]
        if journal_id is not None:
            chosen = [one for one in listed if one.id == journal_id]
            if chosen and chosen[0].group != group:
                raise ConfigError(
                    f"journal {journal_id} is not of group {group}",
                    why=f"it is of group {chosen[0].group}",
                    do=f"`kcli groups rewind {shlex.quote(chosen[0].group)} --undo={journal_id}`",
                )
            own = chosen
        if not own:
            for path in self.folder.parent.glob("*/*.json"):
                if path.stem == journal_id:
                    raise NotFoundError(
                        f"journal {journal_id} is not of this cluster",
                        why=f"it is of cluster {unquote(path.parent.name)}, this is {self.cluster}",
                        do="name that cluster, with -b or --profile",
                    )
        if not own:
            raise NotFoundError(
                f"there is no journal {journal_id}"
                if journal_id
                else f"no rewind of group {group} is in the journal",
                why=f"the journals are in {self.folder}",
                do="`kcli groups rewind --journal` lists the rewinds of this cluster",
            )
        return own[-1]

    @contextmanager
    def locked(self, groups: list[str]) -> Iterator[None]:
        """Locks out other rewinds of these groups on this machine; LockedError (7) when one is running."""
        make_private_folder(self.folder, JournalError)
        with ExitStack() as held:
            for group in sorted(groups):
                path = (
                    self.folder / f"{sha256(group.encode('utf-8', 'surrogateescape')).hexdigest()[:32]}.lock"
                )
                held.enter_context(file_lock(path, timeout=0, doing=f"rewinding group {group}"))
            yield


def _rows(plan: GroupPlan) -> Iterator[Row]:
    for item in plan.todo:
        new = None if item.new is None else item.new.offset
        yield Row(
            item.tp.topic, item.tp.partition, **_before(item.committed), new=new, topic_id=item.topic_id
        )


def _before(commit: OffsetAndMetadata | None) -> dict[str, Any]:
    if commit is None:
        return {"committed": None, "metadata": "", "leader_epoch": -1}
    return {"committed": commit.offset, "metadata": commit.metadata, "leader_epoch": commit.leader_epoch}


def _updated(
    row: Row,
    statuses: Mapping[TopicPartition, str],
    committed: Mapping[TopicPartition, OffsetAndMetadata | None],
) -> Row:
    tp = TopicPartition(row.topic, row.partition)
    before = _before(committed[tp]) if tp in committed else {}
    return msgspec.structs.replace(row, status=statuses.get(tp, row.status), **before)
