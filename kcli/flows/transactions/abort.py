"""Ends open transactions: fences the producer of one that its coordinator has, writes an abort marker for one that hangs.

Before anything is sent, each is described again: what has ended, or was replaced by another, is left alone. Afterwards
the partitions are read back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from kcli.core.admin.admin import Admin
from kcli.core.admin.transactions import ProducerDescription, TransactionDescription
from kcli.core.errors import BrokerError, KcliError, OutcomeUnknownError, TimedOutError
from kcli.core.exit_codes import ExitCode
from kcli.core.types import TopicPartition
from kcli.flows.groups.offsets import LogEnds, log_ends
from kcli.flows.transactions.coordinated import ONGOING, ReadLog, described, transactions_of
from kcli.flows.transactions.held import HANGING, OPEN, PartitionTransaction, open_producers, state_of

FENCE, MARKER = "fence", "marker"
DONE, ENDED, FAILED, UNSURE = "done", "ended", "failed", "unknown"
"""``ended``: the transaction had ended, or was replaced by another, before anything was sent."""

_PAUSE = 0.1
"""Seconds between two reads of the partitions."""


@dataclass(frozen=True, slots=True)
class Item:
    """One transaction in one partition, and how it is ended: fenced by its coordinator, or by a marker of the leader."""

    held: PartitionTransaction
    stable: int | None
    end: int | None

    @property
    def tp(self) -> TopicPartition:
        """The partition."""
        return self.held.tp

    @property
    def action(self) -> str | None:
        """None: it cannot be ended by hand."""
        return {OPEN: FENCE, HANGING: MARKER}.get(self.held.state)


@dataclass(frozen=True, slots=True)
class Attempt:
    """``was_sent`` is false where the transaction had ended or changed; ``error``: why the request may have failed."""

    item: Item
    was_sent: bool
    error: KcliError | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an item; ``stable`` and ``end`` of its partition as they were read back."""

    status: str
    stable: int | None = None
    end: int | None = None
    error: KcliError | None = None


class StillOpenError(KcliError):
    """A transaction shows as open when its partition is read back."""

    exit_code = ExitCode.REFUSED


@dataclass(frozen=True, slots=True)
class Result:
    """What became of each partition, and of each fenced transactional id: None, or why it was not fenced.

    Ids whose transaction had ended are not in ``fenced``.
    """

    partitions: dict[TopicPartition, Outcome]
    fenced: dict[str, KcliError | None]


def execute(
    admin: Admin,
    transactions: Iterable[TransactionDescription],
    items: Sequence[Item],
    read_log: ReadLog,
    seconds: float,
) -> Result:
    """Ends the transactions of the items, each of another partition; ``seconds`` to wait until that shows.

    ``transactions``: those to be fenced, of all items to be ended by FENCE.
    """
    markers = {item.tp: item for item in items if item.action == MARKER}
    fenced = fence(admin, transactions, read_log)
    hanging = _still_hanging(admin, markers, read_log) if markers else {}
    todo = {tp: markers[tp].held.producer for tp, error in hanging.items() if error is None}
    written = admin.abort_hanging(todo) if todo else {}
    sent, outcomes = [], {}
    for item in items:
        if item.action == FENCE:
            name = item.held.transaction.transactional_id if item.held.transaction else ""
            attempt = Attempt(item, name in fenced, fenced.get(name))
        else:
            attempt = Attempt(item, item.tp in todo, hanging.get(item.tp) or written.get(item.tp))
        if attempt.error is None or _unsure(attempt.error):
            sent.append(attempt)
        else:
            _add_remedy(attempt.error)
            outcomes[item.tp] = Outcome(FAILED, item.stable, item.end, attempt.error)
    outcomes |= read_back(admin, sent, seconds)
    return Result({item.tp: outcomes[item.tp] for item in items}, fenced)


def fence(
    admin: Admin, transactions: Iterable[TransactionDescription], read_log: ReadLog
) -> dict[str, KcliError | None]:
    """Fences the producers of transactions that are still open; the others are left out of the result."""
    timeouts, errors = {}, dict[str, KcliError | None]()
    for before in transactions:
        name = before.transactional_id
        try:
            now = described(admin, name, read_log)
        except KcliError as error:
            errors[name] = error
            continue
        if now.state == ONGOING and _identity(now) == _identity(before):
            timeouts[name] = before.timeout_ms
    return errors | (admin.fence_producers(timeouts) if timeouts else {})


def read_back(admin: Admin, sent: Collection[Attempt], seconds: float) -> dict[TopicPartition, Outcome]:
    """Reads the partitions until the transactions have gone, for at most ``seconds``."""
    left = {attempt.item.tp: attempt for attempt in sent}
    deadline = admin.cluster.deadline(seconds)
    failed: dict[TopicPartition, KcliError] = {}
    while left:
        for tp, rows in open_producers(admin, list(left)).items():
            if isinstance(rows, KcliError):
                failed[tp] = rows
            elif not _contains(rows, left[tp].item):
                del left[tp]
        if admin.cluster.loop.now() >= deadline:
            break
        if left:
            admin.cluster.sleep(_PAUSE)
    ends = log_ends(admin, [attempt.item.tp for attempt in sent], stable=True)
    return {
        attempt.item.tp: _outcome(
            attempt,
            ends[attempt.item.tp],
            gone=attempt.item.tp not in left,
            unread=failed.get(attempt.item.tp),
            seconds=seconds,
        )
        for attempt in sent
    }


def _outcome(
    attempt: Attempt, log: LogEnds, *, gone: bool, unread: KcliError | None, seconds: float
) -> Outcome:
    if gone:
        return Outcome(DONE if attempt.was_sent else ENDED, log.stable, log.end)
    unknown = attempt.error or unread
    if unknown is not None:
        return Outcome(UNSURE, log.stable, log.end, unknown)
    item = attempt.item
    what = f"the transaction of producer {item.held.producer.producer_id} in {item.tp} is still open"
    if not attempt.was_sent:
        why, do = "it has changed since the plan was made, so nothing was sent", "run it again for a new plan"
    else:
        why = f"its marker did not show within {seconds:.0f} s"
        shows = f"`kcli txn describe --topic {item.tp.topic} -p {item.tp.partition}` shows its state"
        do = f"check that the leaders of all its partitions are running; {shows}"
    return Outcome(FAILED, log.stable, log.end, StillOpenError(what, why=why, do=do))


def _still_hanging(
    admin: Admin, items: Mapping[TopicPartition, Item], read_log: ReadLog
) -> dict[TopicPartition, KcliError | None]:
    """None for each transaction that is open from the same offset in the same epoch, and still has no coordinator.

    Others are left out, except those that could not be described: their error.
    """
    coordinated = transactions_of(
        admin, {item.held.producer.producer_id for item in items.values()}, read_log
    )
    found: dict[TopicPartition, KcliError | None] = {}
    for tp, rows in open_producers(admin, list(items)).items():
        item = items[tp]
        transaction = coordinated.of_producer(item.held.producer.producer_id)
        if isinstance(rows, KcliError):
            found[tp] = rows
        elif (
            _contains(rows, item, same_epoch=True)
            and state_of(tp, transaction, complete=not coordinated.errors) == HANGING
        ):
            found[tp] = None
    return found


def _contains(rows: Iterable[ProducerDescription], item: Item, *, same_epoch: bool = False) -> bool:
    wanted = item.held.producer
    return any(
        (one.producer_id, one.open_since) == (wanted.producer_id, wanted.open_since)
        and (not same_epoch or one.producer_epoch == wanted.producer_epoch)
        for one in rows
    )


def _identity(one: TransactionDescription) -> tuple[int, int, int]:
    """What a later transaction of the same id does not share."""
    return one.producer_id, one.producer_epoch, one.start_ms


def _add_remedy(error: KcliError) -> None:
    if isinstance(error, BrokerError) and not error.do:
        error.do = "run it again for a new plan: the producer may have written to the partition since"


def _unsure(error: KcliError) -> bool:
    return isinstance(error, OutcomeUnknownError | TimedOutError)
