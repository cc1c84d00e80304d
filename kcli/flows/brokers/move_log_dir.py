"""``kcli brokers move-log-dir``: moves replicas of a broker to another of its log directories, and back (KIP-113).

The broker copies a replica to a future replica, which takes its place when it has caught up. Leaders, replicas and what
is in sync stay as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from kcli.account.change import Change, Found, Item, Question
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.admin.brokers import LogDir
from kcli.core.classes import NamedTuple
from kcli.core.clock import monotonic, wall_ms
from kcli.core.errors import KcliError, NotFoundError, OutcomeUnknownError, PartlyFailedError, TimedOutError
from kcli.core.exit_codes import ExitCode
from kcli.core.permissions import on_cluster
from kcli.core.types import TopicPartition
from kcli.files.journal_folder import new_id
from kcli.flows.journal import Draft, Journal, LogDirEntry
from kcli.flows.partition_failures import grouped_failures, reason
from kcli.flows.permitted import refusal
from kcli.flows.read_back import VISIBLE_WITHIN
from kcli.flows.reassign.change import BEGUN, Moving, StillMovingError
from kcli.flows.reassign.journal import ReassignmentJournals, clear_throttles
from kcli.flows.reassign.rows import size_or_unknown
from kcli.flows.reassign.throttle import LOG_DIRS_RATE, Throttle, set_throttle, without_existing
from kcli.output.progress import counted, duration_text, size_text
from kcli.output.tables import Column, indented_table

_PAUSE = 0.1
_MOST_LINES = 50
_GOES_ON = "the same line goes on; with --watch it waits for the end"
Scope = tuple[str, Collection[int] | None]
"""A topic with the partitions of it that are meant, None: all."""


class NotMovableError(KcliError):
    """A replica is not where it is to be moved from, or cannot be moved."""

    exit_code = ExitCode.REFUSED


class DirMove(NamedTuple):
    """A replica of a broker: its directory (empty: it has none), the one it is to have, its size in bytes, and where a
    future replica of it is (empty: it is not being moved).
    """

    now: str
    new: str
    size: int | None = None
    future: str = ""


class Held(NamedTuple):
    """What a broker has of a partition: its directory, the size there, and the same of the future replica."""

    path: str = ""
    size: int = 0
    future: str = ""
    copied: int = 0


class DirProgress(NamedTuple):
    """The replicas that are being moved, the bytes of each, and those that are left."""

    ongoing: Collection[TopicPartition]
    total: Mapping[TopicPartition, int]
    left: Mapping[TopicPartition, int]


DirItem = Item[TopicPartition, DirMove]


class LogDirMoves(Change[TopicPartition, DirMove]):
    """Moves of replicas of the broker ``number`` between its log directories."""

    columns = (
        Column("topic"),
        Column("partition", "id"),
        Column(
            "log_dir", values="string?", meaning="The directory of the replica; null where there is none."
        ),
        Column("new_log_dir", values="string", spare=2, meaning="The directory that it is to have."),
        Column("bytes", "size", meaning="Bytes to be copied; null where it is unknown."),
    )
    item_meaning = "A replica of the broker."
    parts = True

    def __init__(self, number: int, how: Moving) -> None:
        self.number = number
        self.rate, self.talk, self.wait = how.rate, how.talk, how.wait
        self._warnings: list[str] = []
        self._refused: set[TopicPartition] = set()
        self._moving: set[TopicPartition] = set()
        self._ids: Mapping[str, str] = {}

    # the plan

    def decided(self, directories: Sequence[LogDir], held: Mapping[TopicPartition, Held]) -> list[DirItem]:
        """The items, by the directories of the broker, and what it has of each partition."""
        raise NotImplementedError

    def decide(self, admin: Admin) -> list[DirItem]:
        """The items; refused where moves are not permitted."""
        directories = described(admin, self.number)
        items = self.decided(directories, by_partition(directories))
        todo = [item for item in items if item.outcome is Outcome.PLANNED]
        operations = admin.describe_cluster(include_operations=True).operations
        denied = refusal(operations, on_cluster("ALTER"), "moving replicas between log directories")
        if denied is None and self.rate is not None:
            denied = refusal(operations, on_cluster("ALTER_CONFIGS"), "setting the throttle of the broker")
        kept = self._throttle(admin)[1] if todo and denied is None else []
        self._warnings = [
            *(f"a throttle is kept as it is: {text}" for text in kept),
            *_full(directories, todo),
        ]
        if denied is None:
            return items
        return [
            item._replace(outcome=Outcome.REFUSED, error=denied) if item.outcome is Outcome.PLANNED else item
            for item in items
        ]

    def _throttle(self, admin: Admin) -> tuple[Throttle, list[str]]:
        """What is to be set, and what is kept, in words."""
        if self.rate is None:
            return Throttle(0), []
        wanted = Throttle(self.rate, {self.number: [LOG_DIRS_RATE]})
        return without_existing(admin, wanted, admin.connect().nodes)

    def text(self, plan: Sequence[DirItem]) -> str:
        """The plan for people."""
        items = [item for item in plan if item.outcome is not Outcome.UNCHANGED]
        if not items:
            return ""
        size = sum(item.facts.size or 0 for item in items)
        ways = {(item.facts.now, item.facts.new) for item in items}
        between = ""
        if len(ways) == 1 and all(now != new for now, new in ways):
            between = " from {} to {}".format(*next(iter(ways)))
        head = f"Move {counted(len(items), 'replica')} of broker {self.number}{between}: {size_text(size)} to copy"
        if self.rate is not None:
            head += f", at least {duration_text(max(1.0, size / self.rate))} at {size_text(self.rate)}/s"
        rows = [
            self.row(item)
            | {
                "bytes": size_or_unknown(item.facts.size),
                "note": "refused" if item.error is not None else item.note,
            }
            for item in items[:_MOST_LINES]
        ]
        columns = [column for column in self.columns if not between or not column.key.endswith("log_dir")]
        lines = [f"{head}.", *indented_table((*columns, Column("note", "prose")), rows)]
        if len(items) > _MOST_LINES:
            lines.append(f"  … and {len(items) - _MOST_LINES:,} more")
        if self.rate is None and size:
            lines.append("No throttle: --throttle 50MB/s limits what the broker copies.")
        return "\n".join(lines)

    def questions(self, plan: Sequence[DirItem]) -> list[Question]:
        """One for all."""
        count = sum(item.outcome is Outcome.PLANNED for item in plan)
        return [Question(self.text(plan), f"Move {counted(count, 'replica')}?")]

    def warnings(self, plan: Sequence[DirItem]) -> Iterable[str]:  # noqa: ARG002 - the change's signature
        """Directories that have too little space, throttles that are kept."""
        return self._warnings

    def again(self, item: DirItem, now: DirItem | None) -> DirItem:
        """Sizes grow; what was being moved may be there by now, which is read back."""
        if now is None and item.facts.future == item.facts.new:
            return item
        if (
            now is not None
            and now.facts._replace(size=item.facts.size, future=item.facts.future) == item.facts
        ):
            now = now._replace(facts=item.facts)
        return super().again(item, now)

    # the act

    def apply(self, admin: Admin, todo: Sequence[DirItem]) -> Mapping[TopicPartition, KcliError | None]:
        """Sets the throttle, starts the moves that have not begun."""
        wanted = {item.key: item.facts.new for item in todo if item.facts.future != item.facts.new}
        answers: dict[TopicPartition, KcliError | None] = dict.fromkeys(item.key for item in todo)
        if self.rate is not None and wanted:
            self._set_throttle(admin, wanted)
        answers |= admin.alter_replica_log_dirs(self.number, wanted) if wanted else {}
        self._refused = {tp for tp, error in answers.items() if error is not None}
        return answers

    def _set_throttle(self, admin: Admin, partitions: Iterable[TopicPartition]) -> None:
        journals = ReassignmentJournals(admin.cluster_id())
        with journals.locked():
            own = self._throttle(admin)[0]
            if own.is_empty:
                return
            journals.write_throttle(new_id(wall_ms()), self.number, partitions, own, wall_ms())
            try:
                set_throttle(admin, own)
            except (OutcomeUnknownError, TimedOutError) as error:
                raise PartlyFailedError("the throttle was not set", error) from error

    def read_back(
        self, admin: Admin, items: Sequence[DirItem]
    ) -> Mapping[TopicPartition, Found[DirMove] | KcliError]:
        """Where the replicas are; with ``wait``, when the moves have ended."""
        found = self._observed(admin, items)
        if self.wait is not None and self._moving:
            self.stopped_by = self.wait(admin, sorted(self._moving))
            if not self.stopped_by:
                found |= self._observed(admin, [item for item in items if item.key in self._moving])
        return found

    def _observed(
        self, admin: Admin, items: Sequence[DirItem]
    ) -> dict[TopicPartition, Found[DirMove] | KcliError]:
        """Waits a moment until the broker shows what it has accepted."""
        until = monotonic() + VISIBLE_WITHIN
        while True:
            held = by_partition(described(admin, self.number))
            found = {item.key: self._found(item, held.get(item.key, Held())) for item in items}
            self._moving = {tp for tp, one in found.items() if isinstance(one, StillMovingError)}
            there = {tp for tp, one in found.items() if isinstance(one, Found) and one.error is None}
            if not found.keys() - there - self._moving - self._refused or monotonic() >= until:
                return found
            admin.cluster.sleep(_PAUSE)

    def _found(self, item: DirItem, held: Held) -> Found[DirMove] | KcliError:
        move, tp = item.facts, item.key
        if held.path == move.new and not held.future:
            return Found(move)
        if held.future == move.new:
            return StillMovingError(tp, _GOES_ON)
        where = (
            f"it is in {held.path}" if held.path else f"broker {self.number} has no replica of it any more"
        )
        return Found(
            move,
            NotMovableError(
                f"{tp} was not moved",
                why=where + (f", and is being moved to {held.future}" if held.future else ""),
                do=f"run it again; {_where(self.number)}",
            ),
        )

    def clean_up(self, admin: Admin, *, dry_run: bool) -> Iterable[KcliError]:
        """Removes the throttles of moves that have ended, or were not begun."""
        return () if dry_run else clear_throttles(admin, self.talk, dry_run=False)

    # what is printed

    def row(self, item: DirItem) -> dict[str, Any]:
        """The values of the columns."""
        return {
            "topic": item.key.topic,
            "partition": item.key.partition,
            "log_dir": item.facts.now or None,
            "new_log_dir": item.facts.new,
            "bytes": item.facts.size,
        }

    def failures(self, items: Sequence[DirItem]) -> Iterator[KcliError]:
        """An error for each reason, with its partitions."""
        for outcome, what in (
            (Outcome.REFUSED, f"{{}} of broker {self.number} cannot be moved"),
            (Outcome.FAILED, f"the replicas of {{}} on broker {self.number} were not moved"),
            (
                Outcome.UNKNOWN,
                f"it is not known whether the replicas of {{}} on broker {self.number} were moved",
            ),
        ):
            errors = {
                item.key: item.error
                for item in items
                if item.outcome is outcome and item.error is not None
                if not isinstance(item.error, StillMovingError)
            }
            yield from grouped_failures(what, errors)
        still = {item.key: item.error for item in items if isinstance(item.error, StillMovingError)}
        yield from grouped_failures(f"{{}} of broker {self.number}: still being moved", still)

    def reason(self, error: KcliError) -> str:
        """Without the partition."""
        return reason(error)

    def summary(self, items: Sequence[DirItem]) -> Iterator[str]:
        """How many were moved."""
        if items:
            yield f"moved {counted(len(items), 'replica')} of broker {self.number}, read back"


class LogDirMove(LogDirMoves):
    """From the directory ``source`` to ``target``; ``scopes``: only these partitions, none are all that are there."""

    kind = "LogDirMove"
    printed_by = "brokers move-log-dir"

    def __init__(self, number: int, source: str, target: str, scopes: Sequence[Scope], how: Moving) -> None:
        super().__init__(number, how)
        self.source, self.target, self.scopes = source, target, scopes
        self.nothing = f"nothing is to be moved: {source} of broker {number} has no replicas"

    def decided(self, directories: Sequence[LogDir], held: Mapping[TopicPartition, Held]) -> list[DirItem]:
        """What is in the source, as far as it is meant; what is in the target already stays."""
        self._check(directories)
        if not self.scopes:
            return [self._item(tp, one) for tp, one in sorted(held.items()) if one.path == self.source]
        self.nothing = f"nothing is to be moved: the replicas are in {self.target}"
        meant: dict[TopicPartition, Held] = {}
        for name, numbers in self.scopes:
            known = [tp for tp in held if tp.topic == name and held[tp].path in (self.source, self.target)]
            named = known if numbers is None else [TopicPartition(name, number) for number in numbers]
            if not named:
                raise NotFoundError(
                    f"broker {self.number} has no replica of topic {name} in {self.source}",
                    why=_elsewhere(name, held),
                    do=f"correct --topic or --from; {_where(self.number)}",
                )
            meant |= {tp: held.get(tp, Held()) for tp in named}
        return [self._item(tp, one) for tp, one in sorted(meant.items())]

    def _check(self, directories: Sequence[LogDir]) -> None:
        """Raises for directories that the broker does not have, or cannot use."""
        by_path = {row.path: row for row in directories}
        for option, path in (("--from", self.source), ("--to", self.target)):
            if path not in by_path:
                raise NotFoundError(
                    f"broker {self.number} has no log directory {path}",
                    why=f"it has {', '.join(sorted(by_path))}",
                    do=f"correct {option}",
                )
            if by_path[path].error is not None:
                raise NotMovableError(
                    f"log directory {path} of broker {self.number} is offline",
                    why="its disk has failed",
                    do="see the log of the broker; it uses the directory again after a restart",
                )
        if by_path[self.target].is_cordoned:
            raise NotMovableError(
                f"log directory {self.target} of broker {self.number} is cordoned",
                why="it gets no replicas (cordoned.log.dirs)",
                do="choose another directory, or take it out of cordoned.log.dirs of the broker",
            )

    def _item(self, tp: TopicPartition, held: Held) -> DirItem:
        move = DirMove(held.path, self.target, held.size if held.path else None, held.future)
        if held.path == self.target and not held.future:
            return Item(tp, move, Outcome.UNCHANGED, note="it is there")
        if held.path != self.source:
            why = f"it is in {held.path}" if held.path else f"broker {self.number} has no replica of it"
            return Item(tp, move, Outcome.REFUSED, _not_movable(tp, why, self.number))
        if held.future == self.target:
            return Item(tp, move, note=BEGUN)
        if held.future:
            return Item(
                tp,
                move,
                Outcome.REFUSED,
                _not_movable(tp, f"it is being moved to {held.future}", self.number),
            )
        return Item(tp, move)

    def journal(self, admin: Admin, todo: Sequence[DirItem]) -> Draft | None:
        """The directories before; of moves that go on already, the journal of the run that began them has them."""
        fresh = [item for item in todo if not item.facts.future]
        topics = admin.describe_topics(sorted({item.key.topic for item in fresh})) if fresh else {}
        ids = {name: "" if isinstance(one, KcliError) else one.topic_id for name, one in topics.items()}
        entries = [
            LogDirEntry(
                self.number,
                item.key.topic,
                ids.get(item.key.topic, ""),
                item.key.partition,
                item.facts.now,
                item.facts.new,
            )
            for item in fresh
        ]
        return Draft(f"{self.printed_by} {self.number}", entries) if entries else None


class LogDirRestore(LogDirMoves):
    """``kcli undo`` of it: back to the directories before; a move that has not ended is cancelled."""

    kind = "LogDirRestore"
    printed_by = "undo"
    nothing = "nothing is to be moved back: the replicas are where they were"

    def __init__(self, how: Moving, journal: Journal) -> None:
        self.made = journal
        self._entries = {entry.tp: entry for entry in journal.entries if isinstance(entry, LogDirEntry)}
        super().__init__(next(iter(self._entries.values())).broker, how)

    def decide(self, admin: Admin) -> list[DirItem]:
        """As when they are moved; ConfigError on another cluster."""
        self.made.check_cluster(admin.cluster_id())
        return super().decide(admin)

    def decided(self, directories: Sequence[LogDir], held: Mapping[TopicPartition, Held]) -> list[DirItem]:
        """Refused where a replica was moved since, or is gone."""
        paths = {row.path for row in directories if row.error is None}
        return [self._item(entry, held.get(tp, Held()), paths) for tp, entry in sorted(self._entries.items())]

    def _item(self, entry: LogDirEntry, held: Held, paths: Collection[str]) -> DirItem:
        size = held.size if held.path == entry.after else 0
        move = DirMove(held.path, entry.before, size, held.future)
        if held.path == entry.before and held.future != entry.after:
            return Item(entry.tp, move, Outcome.UNCHANGED, note="it is there")
        if held.path not in (entry.before, entry.after):
            why = (
                f"it is in {held.path}"
                if held.path
                else f"broker {self.number} has no replica of it any more"
            )
            return Item(entry.tp, move, Outcome.REFUSED, _not_movable(entry.tp, why, self.number))
        if entry.before not in paths:
            why = f"broker {self.number} cannot use {entry.before}"
            return Item(entry.tp, move, Outcome.REFUSED, _not_movable(entry.tp, why, self.number))
        note = f"the move to {held.future} is cancelled" if held.path == entry.before else ""
        return Item(entry.tp, move, note=note)


def described(admin: Admin, number: int) -> list[LogDir]:
    """The log directories of the broker; raises if it does not say."""
    found = admin.describe_log_dirs(broker_ids=[number])[number]
    if isinstance(found, KcliError):
        raise found
    return found


def by_partition(directories: Iterable[LogDir]) -> dict[TopicPartition, Held]:
    """What the broker has of each partition."""
    found: dict[TopicPartition, Held] = {}
    for row in directories:
        for tp, replica in row.replicas.items():
            one = found.get(tp, Held())
            if replica.is_future:
                found[tp] = one._replace(future=row.path, copied=replica.size)
            else:
                found[tp] = one._replace(path=row.path, size=replica.size)
    return found


def dir_progress(admin: Admin, number: int, partitions: Collection[TopicPartition]) -> DirProgress:
    """How far the moves of these replicas are."""
    held = by_partition(described(admin, number))
    moving = {tp: held[tp] for tp in partitions if tp in held and held[tp].future}
    return DirProgress(
        list(moving),
        {tp: one.size for tp, one in moving.items()},
        {tp: max(0, one.size - one.copied) for tp, one in moving.items()},
    )


def _where(number: int) -> str:
    return f"`kcli brokers describe {number}` shows the log directories and what is in them"


def _full(directories: Sequence[LogDir], todo: Sequence[DirItem]) -> Iterator[str]:
    for row in directories:
        size = sum(item.facts.size or 0 for item in todo if item.facts.new == row.path)
        if 0 <= row.usable_bytes < size:
            yield f"{row.path} gets {size_text(size)}, and its volume has {size_text(row.usable_bytes)} left"


def _elsewhere(name: str, held: Mapping[TopicPartition, Held]) -> str:
    paths = sorted({one.path for tp, one in held.items() if tp.topic == name and one.path})
    return f"its replicas of it are in {', '.join(paths)}" if paths else "it has no replica of that topic"


def _not_movable(tp: TopicPartition, why: str, number: int) -> NotMovableError:
    return NotMovableError(f"{tp} cannot be moved", why=why, do=f"nothing was done to it; {_where(number)}")
