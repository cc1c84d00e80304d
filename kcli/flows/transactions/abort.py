"""``kcli txn abort``: fences the producer of a transaction that its coordinator has, writes an abort marker for one that
hangs.

Right before anything is sent, each is described again: what has ended, or was replaced by another, is left alone.
Afterwards the partitions are read back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from shlex import quote
from typing import TYPE_CHECKING, Any

from kcli.account.change import Change, Found, Item, Question, is_lost
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.classes import NamedTuple
from kcli.core.clock import wall_ms
from kcli.core.errors import BrokerError, KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.permissions import on_cluster
from kcli.core.types import TopicPartition
from kcli.flows.groups.offsets import log_ends
from kcli.flows.partition_failures import partition_names
from kcli.flows.permitted import refusal
from kcli.flows.transactions.coordinated import COMPLETING, ONGOING, ReadLog, described
from kcli.flows.transactions.held import (
    ENDING,
    HANGING,
    OPEN,
    UNKNOWN,
    PartitionTransaction,
    Survey,
    age,
    known,
    open_producers,
    partitions_of,
    survey,
)
from kcli.output.progress import counted, duration_text
from kcli.output.sanitise import visible_line
from kcli.output.tables import Column, indented_table, time_text

if TYPE_CHECKING:
    from kcli.core.admin.transactions import ProducerDescription, TransactionDescription

FENCE, MARKER = "fence", "marker"
_RECENT = 900.0
"""Seconds; ``transaction.max.timeout.ms`` of a broker by default: a transaction that was written to since may be live."""
_PAUSE = 0.1
"""Seconds between two reads of the partitions."""
_ENDED = "it had ended before"
_NO_PARTITION = "null for a transaction without records in a partition that can be read."


class AbortRefusedError(KcliError):
    """A transaction that cannot be ended by hand in its present state."""

    exit_code = ExitCode.REFUSED


class StillOpenError(KcliError):
    """A transaction shows as open when it is read back."""

    exit_code = ExitCode.REFUSED


class Scope(NamedTuple):
    """What is selected: a transactional id, or what holds partitions of a topic back; ``older_than`` in seconds."""

    name: str | None
    topic: str | None
    partitions: tuple[int, ...] | None
    older_than: float | None


class Ending(NamedTuple):
    """How a transaction is ended: fenced by its coordinator, by a marker of the leader, or (None) not by hand.

    ``held`` is the transaction in the partition of the item; an item that is a transactional id has none. ``stable`` and
    ``end`` are offsets of the partition.
    """

    action: str | None
    transaction: TransactionDescription | None
    held: PartitionTransaction | None = None
    stable: int | None = None
    end: int | None = None

    @property
    def producer(self) -> ProducerDescription | TransactionDescription:
        """Whose transaction it is."""
        found = self.held.producer if self.held is not None else self.transaction
        assert found is not None, "an item has a partition or a transactional id"
        return found

    @property
    def is_known(self) -> bool:
        """Whether a transaction was found: not in a partition that could not be read."""
        return self.held is not None or self.transaction is not None

    @property
    def identity(self) -> tuple[int, ...]:
        """What a later transaction of the same producer does not share."""
        if self.action == MARKER and self.held is not None:
            return *_start(self.held.producer), self.held.producer.producer_epoch
        return _identity(self.transaction) if self.transaction is not None else ()

    @property
    def waiting(self) -> int | None:
        """Offsets that readers of committed records cannot read yet."""
        return None if self.stable is None or self.end is None else max(0, self.end - self.stable)


Key = TopicPartition | str
"""A partition, or the transactional id of a transaction that is in none that can be read."""
AbortItem = Item[Key, Ending]


class TransactionAbort(Change[Key, Ending]):
    """``find`` surveys partitions for the first plan. Those of a topic that cannot be read are refused. Those of a
    transactional id are reported by ``find``, as its coordinator ends it in all of them. ``seconds``: to wait until the
    transactions have gone.
    """

    kind = "TransactionAbort"
    printed_by = "txn abort"
    item_meaning = "A partition."
    columns = (
        Column("topic", meaning=f"Name of the topic; {_NO_PARTITION}"),
        Column("partition", "id", meaning=f"Number of the partition; {_NO_PARTITION}"),
        Column("action", meaning="How it is ended: fence or marker; null where it cannot be ended by hand."),
        Column("transactional_id"),
        Column("producer_id", "id"),
        Column("producer_epoch", "id"),
        Column("start_offset", "number"),
        Column("last_stable", "number"),
        Column("end", "number", spare=1),
        Column("waiting", "number"),
    )
    plan_columns = (Column("age_seconds", "duration", spare=2),)
    parts = True
    nothing = "nothing is to be aborted"

    def __init__(
        self,
        scope: Scope,
        read_log: ReadLog,
        find: Callable[[Admin, Sequence[TopicPartition]], Survey],
        seconds: Callable[[], float],
    ) -> None:
        self.scope, self.read_log, self.find, self.seconds = scope, read_log, find, seconds
        self._now = 0
        self._keys: list[Key] = []
        self._open: tuple[int, ...] = ()
        self._sent: list[AbortItem] = []
        self._had_ended = 0

    # the plan

    def decide(self, admin: Admin) -> list[AbortItem]:
        """The transactions; refused where the coordinator is ending one, may have it, or a marker is not permitted."""
        self._now = wall_ms()
        if self.scope.name is not None:
            transaction = described(admin, self.scope.name, self.read_log)
            items = self._of_transaction(admin, transaction)
        else:
            items = self._of_partitions(admin)
        if any(item.facts.action == MARKER for item in items):
            items = _permitted(admin, items)
        self._keys = self._keys or [item.key for item in items if item.outcome is Outcome.PLANNED]
        return items

    def _of_transaction(self, admin: Admin, transaction: TransactionDescription) -> list[AbortItem]:
        name = transaction.transactional_id
        self._open = _identity(transaction) if transaction.state == ONGOING else ()
        bare = Ending(None, transaction)
        if transaction.state in COMPLETING:
            return [
                Item(key, bare, Outcome.REFUSED, _being_ended(transaction)) for key in self._keys or [name]
            ]
        if transaction.state != ONGOING:
            why = f"{visible_line(name)} has no open transaction ({transaction.state})"
        elif self._is_young(transaction.start_ms):
            why = "its transaction is not that old"
        else:
            found = self._found(admin, transaction.partitions)
            items: list[AbortItem] = _unread(found) if self._keys else []
            items += [
                Item(state.tp, Ending(FENCE, transaction, one, state.stable, state.end))
                for state in found.partitions
                for one in state.transactions
                if one.state == OPEN and one.transaction is not None
                if one.transaction.transactional_id == name
            ]
            return items or [Item(name, Ending(FENCE, transaction))]
        self.nothing = f"nothing is to be aborted: {why}"
        return [Item(name, bare, Outcome.UNCHANGED, note=why)]

    def _of_partitions(self, admin: Admin) -> list[AbortItem]:
        """What holds the partitions back: the first transaction of each. Later only in those of the plan."""
        partitions = [key for key in self._keys if isinstance(key, TopicPartition)]
        if not partitions:
            assert self.scope.topic is not None
            partitions = partitions_of(admin, self.scope.topic, self.scope.partitions)
        found = self._found(admin, partitions)
        items = _unread(found)
        for state in found.partitions:
            holder = state.holder
            if holder is None or self._is_young(holder.since_ms):
                continue
            action = {OPEN: FENCE, HANGING: MARKER}.get(holder.state)
            facts = Ending(action, holder.transaction, holder, state.stable, state.end)
            if holder.state in (ENDING, UNKNOWN):
                items.append(Item(state.tp, facts, Outcome.REFUSED, _not_by_hand(holder)))
            else:
                items.append(Item(state.tp, facts))
        return sorted(items, key=lambda item: item.key)

    def _found(self, admin: Admin, partitions: Sequence[TopicPartition]) -> Survey:
        """What is open in the partitions."""
        return survey(admin, partitions, self.read_log) if self._keys else self.find(admin, partitions)

    def _is_young(self, since_ms: int) -> bool:
        return self.scope.older_than is not None and (age(since_ms, self._now) or 0) <= self.scope.older_than

    def text(self, plan: Sequence[AbortItem]) -> str:
        """The table, then what each kind of end means."""
        todo = [item for item in plan if item.outcome is Outcome.PLANNED]
        if not todo:
            return ""
        lines = [
            self._title(todo),
            *indented_table((*self.columns, *self.plan_columns), [self._shown(item) for item in todo]),
        ]
        for one in _fenced(todo).values():
            parts = counted(len(one.partitions), "partition")
            lines.append(
                f"The producer of {visible_line(one.transactional_id)} is fenced, which aborts its transaction "
                f"({parts}). A client that still runs gets PRODUCER_FENCED and has to start anew."
            )
            if one.start_ms >= 0:
                ends = time_text(one.start_ms + one.timeout_ms)
                lines.append(f"Without this, its coordinator aborts it at {ends}.")
        markers = [item for item in todo if item.facts.action == MARKER]
        if markers:
            hanging = ", ".join(str(item.key) for item in markers)
            lines.append(
                f"No coordinator ends what is open in {hanging}, as far as this client may describe transactional ids: "
                "an abort marker is written there."
            )
        for item in markers:
            if (seconds := self._idle(item)) < _RECENT:
                lines.append(
                    f"{item.key} was written to {duration_text(seconds)} ago: its client may still be at work."
                )
        lines.append("Records of an aborted transaction are never read as committed; this cannot be undone.")
        return "\n".join(lines)

    def _title(self, todo: Sequence[AbortItem]) -> str:
        if self.scope.name is not None:
            return f"Abort the transaction of {visible_line(self.scope.name)}:"
        held = counted(len(todo), "partition")
        return f"Abort what holds {held} of topic {visible_line(self.scope.topic or '')} back:"

    def questions(self, plan: Sequence[AbortItem]) -> list[Question]:
        """A name has to be typed where a client may be hurt."""
        todo = [item for item in plan if item.outcome is Outcome.PLANNED]
        fenced = _fenced(todo)
        name = self.scope.name
        if name is None and len(fenced) == 1 and all(item.facts.action == FENCE for item in todo):
            (name,) = fenced
        elif name is None and (fenced or any(self._idle(item) < _RECENT for item in todo)):
            name = self.scope.topic
        count = len({item.facts.producer.producer_id for item in todo})
        return [Question(self.text(plan), f"Abort {counted(count, 'transaction')}?", name=name)]

    def _idle(self, item: AbortItem) -> float:
        """Seconds since the transaction was written to; much, if that is not known."""
        held = item.facts.held
        seconds = age(held.producer.last_timestamp, self._now) if held is not None else None
        return _RECENT if seconds is None else seconds

    def again(self, item: AbortItem, now: AbortItem | None) -> AbortItem:
        """A transaction that has ended is not touched, nor its successor."""
        if now is not None and not now.facts.is_known:
            return item._replace(outcome=Outcome.REFUSED, error=now.error)
        if now is None and item.facts.identity == self._open:
            return super().again(item, None)
        if now is None or now.outcome is Outcome.UNCHANGED or not _is_same(now.facts, item.facts):
            self._had_ended += 1
            return item._replace(outcome=Outcome.UNCHANGED, note=_ENDED)
        if now.outcome is Outcome.REFUSED:
            return item._replace(outcome=Outcome.REFUSED, error=now.error)
        same = (now.facts.action, now.facts.identity) == (item.facts.action, item.facts.identity)
        return super().again(item, now._replace(facts=item.facts) if same else now)

    # the act

    def apply(self, admin: Admin, todo: Sequence[AbortItem]) -> dict[Key, KcliError | None]:
        """Fences the producers, writes the markers."""
        timeouts = {name: one.timeout_ms for name, one in _fenced(todo).items()}
        markers = {
            item.facts.held.tp: item.facts.held.producer
            for item in todo
            if item.facts.action == MARKER and item.facts.held is not None
        }
        fenced = admin.fence_producers(timeouts) if timeouts else {}
        written = admin.abort_hanging(markers) if markers else {}
        answers: dict[Key, KcliError | None] = dict(written.items())
        for item in todo:
            if item.facts.action == FENCE and item.facts.transaction is not None:
                answers[item.key] = fenced[item.facts.transaction.transactional_id]
        for error in answers.values():
            if isinstance(error, BrokerError) and not error.do:
                error.do = "run it again for a new plan: the producer may have written to the partition since"
        self._sent = [item for item in todo if (error := answers[item.key]) is None or is_lost(error)]
        return answers

    def read_back(self, admin: Admin, items: Sequence[AbortItem]) -> Mapping[Key, Found[Ending] | KcliError]:  # noqa: ARG002
        """Reads those for which something was sent until they have gone, for at most ``seconds``."""
        sent = {item.key: item for item in self._sent}
        found = dict[Key, Found[Ending] | KcliError]()
        left = [key for key in sent if isinstance(key, TopicPartition)]
        bare = [key for key in sent if isinstance(key, str)]
        partitions, failed = list(left), dict[Key, KcliError]()
        deadline = admin.cluster.deadline(self.seconds())
        while left or bare:
            for tp, rows in open_producers(admin, left).items():
                if isinstance(rows, KcliError):
                    failed[tp] = rows
                elif not _contains(rows, sent[tp].facts):
                    left.remove(tp)
            bare = [name for name in bare if self._is_open(admin, name, sent[name].facts)]
            if admin.cluster.loop.now() >= deadline or not (left or bare):
                break
            admin.cluster.sleep(_PAUSE)
        ends = log_ends(admin, partitions, stable=True)
        for key, item in sent.items():
            facts = item.facts
            if isinstance(key, TopicPartition):
                facts = facts._replace(stable=ends[key].stable, end=ends[key].end)
            if key not in left and key not in bare:
                more = f"another transaction holds it back at {facts.stable:,}" if facts.waiting else ""
                found[key] = Found(facts, note=more)
            else:
                found[key] = failed.get(key) or Found(facts, _still_open(key, facts, self.seconds()))
        return found

    def _is_open(self, admin: Admin, name: str, facts: Ending) -> bool:
        now = described(admin, name, self.read_log)
        return now.state == ONGOING and _identity(now) == facts.identity

    # what is printed

    def report_row(self, item: Any) -> dict[str, Any]:
        """Without the age, which was that before the act."""
        return {key: value for key, value in self.row(item).items() if key != "age_seconds"}

    def row(self, item: AbortItem) -> dict[str, Any]:
        """The values of the columns."""
        ending, held = item.facts, item.facts.held
        tp = item.key if isinstance(item.key, TopicPartition) else None
        producer = ending.producer if ending.is_known else None
        since = (
            held.since_ms if held is not None else ending.transaction.start_ms if ending.transaction else -1
        )
        return {
            "topic": tp and tp.topic,
            "partition": tp.partition if tp is not None else None,
            "action": ending.action,
            "transactional_id": ending.transaction.transactional_id if ending.transaction else None,
            "producer_id": producer and known(producer.producer_id),
            "producer_epoch": producer and known(producer.producer_epoch),
            "start_offset": held.start_offset if held is not None else None,
            "last_stable": ending.stable,
            "end": ending.end,
            "waiting": ending.waiting,
            "age_seconds": age(since, self._now),
        }

    def _shown(self, item: AbortItem) -> dict[str, Any]:
        """Numbers with separators, the age in words."""
        row = self.row(item)
        for column in (*self.columns, *self.plan_columns):
            if (value := row[column.key]) is not None and column.kind in ("number", "duration"):
                row[column.key] = duration_text(value) if column.kind == "duration" else f"{value:,}"
        return row

    def reason(self, error: KcliError) -> str:
        """In full: there are few."""
        return str(error)

    def summary(self, items: Sequence[AbortItem]) -> Iterator[str]:
        """How many were aborted, and how many had ended before."""
        done = [item for item in items if item.facts.held is not None]
        if done:
            yield f"aborted the transaction in {counted(len(done), 'partition')}, read back"
        elif items:
            names = ", ".join(str(item.key) for item in items)
            yield f"fenced {names}; it had no records in partitions that can be read back"
        if self._had_ended:
            yield f"{counted(self._had_ended, 'transaction')} had ended before, and nothing was sent"


def _unread(found: Survey) -> list[AbortItem]:
    """The partitions that could not be read: what holds them back is not known."""
    return [
        Item(tp, Ending(None, None), Outcome.REFUSED, error)
        for unread, error in found.unread
        for tp in unread
    ]


def _fenced(items: Iterable[AbortItem]) -> dict[str, TransactionDescription]:
    """The transactions that are ended by fencing their producers."""
    return {
        item.facts.transaction.transactional_id: item.facts.transaction
        for item in items
        if item.facts.action == FENCE and item.facts.transaction is not None
    }


def _permitted(admin: Admin, items: Sequence[AbortItem]) -> list[AbortItem]:
    """Markers need ALTER on the cluster (KIP-664), or CLUSTER_ACTION, the only one that brokers accepted before."""
    operations = admin.describe_cluster(include_operations=True).operations
    markers = [
        item.key for item in items if isinstance(item.key, TopicPartition) and item.facts.action == MARKER
    ]
    doing = f"aborting the transaction in {partition_names(markers)}"
    denied = refusal(operations, on_cluster("ALTER"), doing)
    if denied is None or refusal(operations, on_cluster("CLUSTER_ACTION"), doing) is None:
        return list(items)
    return [
        item._replace(outcome=Outcome.REFUSED, error=denied) if item.key in markers else item
        for item in items
    ]


def _contains(rows: Iterable[ProducerDescription], facts: Ending) -> bool:
    assert facts.held is not None, "the transaction is in a partition"
    return any(_start(one) == _start(facts.held.producer) for one in rows)


def _identity(one: TransactionDescription) -> tuple[int, int, int]:
    return one.producer_id, one.producer_epoch, one.start_ms


def _is_same(one: Ending, other: Ending) -> bool:
    """Whether it is one transaction, in whatever state: its coordinator raises the epoch when it aborts it."""
    if one.held is not None and other.held is not None:
        return _start(one.held.producer) == _start(other.held.producer)
    first, second = one.transaction, other.transaction
    return first is not None and second is not None and _identity(first)[::2] == _identity(second)[::2]


def _start(one: ProducerDescription) -> tuple[int, int]:
    return one.producer_id, one.open_since


def _still_open(key: Key, facts: Ending, seconds: float) -> StillOpenError:
    if isinstance(key, str):
        what, do = f"the transaction of {key} is still open", _wait(key)
    else:
        what = f"the transaction of producer {facts.producer.producer_id} in {key} is still open"
        shows = f"`kcli txn describe --topic {key.topic} -p {key.partition}` shows its state"
        do = f"check that the leaders of all its partitions are running; {shows}"
    return StillOpenError(what, why=f"its marker did not show within {seconds:.0f} s", do=do)


def _not_by_hand(holder: PartitionTransaction) -> KcliError:
    if holder.state == ENDING and holder.transaction is not None:
        return _being_ended(holder.transaction)
    return AbortRefusedError(
        f"the transaction of producer {holder.producer.producer_id} in {holder.tp} is not aborted",
        why="not all coordinators responded: one of them may have it, and its client may be at work",
        do="run it again when all brokers respond",
    )


def _being_ended(transaction: TransactionDescription) -> KcliError:
    word = "commit" if transaction.state == "PrepareCommit" else "abort"
    return AbortRefusedError(
        f"the transaction of {transaction.transactional_id} is not aborted",
        why=f"its state is {transaction.state}: it was told to {word}, and its coordinator is writing the markers",
        do=_wait(transaction.transactional_id),
    )


def _wait(name: str) -> str:
    return (
        "wait a moment; if it lasts, check that the leaders of all its partitions are running: "
        f"`kcli txn describe {quote(name)}`"
    )
