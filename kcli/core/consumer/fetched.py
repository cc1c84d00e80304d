"""What a fetch brought: the records of a partition cut into batches, by their headers only. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from kcli.core.consumer.subscription import PartitionState
from kcli.core.consumer.transactions import visible_batches
from kcli.core.errors import CorruptRecordsError
from kcli.core.options import ConsumerOptions
from kcli.core.protocol.messages.fetch import FetchResponse, PartitionData
from kcli.core.records.batch import BatchSplitter, split_batches
from kcli.core.records.run import BatchRun, plain_run
from kcli.core.records.view import BatchView
from kcli.core.types import TopicPartition

_OF_AN_ANSWER, _OF_A_BATCH = 4_096, 1_024  # bytes of the objects that describe them, about


@dataclass(frozen=True, slots=True)
class FetchedBatch:
    """A batch, and the offsets of it that were asked for: from ``first`` up to, not including, ``stop``.

    To a consumer that ``joins`` it may be several neighbouring batches as one (``records/run.py``). Valid until the
    consumer's next poll: its bytes are a view into the receive buffer.
    """

    where: TopicPartition
    batch: BatchView | BatchRun
    first: int
    stop: int
    then: int
    """Where to go on once all of it was read: at ``stop``, or behind what is not shown there."""
    epoch: int | None = None
    """The leader epoch of what is before ``then``, where that is not the batch's own."""

    @property
    def then_epoch(self) -> int:
        """The leader epoch of what is before ``then``."""
        return self.batch.leader_epoch if self.epoch is None else self.epoch


@dataclass(slots=True, eq=False)
class Arrived:
    """An answer that waits to be handed out. ``size`` is the memory it takes until ``release``."""

    answer: FetchResponse
    given_back: Callable[[int], None]
    parts: list[tuple[TopicPartition, int, Cut]] = field(default_factory=list)
    """Partition, version of its state, and what there is of it."""
    size: int = _OF_AN_ANSWER

    def add(self, state: PartitionState, found: Cut) -> None:
        """Something of a partition."""
        self.parts.append((state.where, state.version, found))
        self.size += found.bytes + _OF_A_BATCH * len(found.batches)

    def release(self) -> None:
        """Nobody reads its bytes any more; once is enough."""
        size, self.size = self.size, 0
        if size:
            self.answer.release()
            self.given_back(size)


@dataclass(slots=True)
class Cut:
    """The batches of a partition, the position behind them and the leader epoch there.

    ``damage`` is why it ends before the answer does. ``needed`` is the size of a batch that did not come whole.
    """

    position: int
    epoch: int
    batches: list[FetchedBatch] = field(default_factory=list)
    bytes: int = 0
    needed: int = 0
    damage: CorruptRecordsError | None = None


def cut(state: PartitionState, data: PartitionData, options: ConsumerOptions, *, joins: bool = False) -> Cut:
    """What is to be handed out of an answer, from the position up to the stop.

    ``joins``: neighbouring plain batches are handed out as one, where no transaction of the answer was aborted.
    """
    records = data.records
    found = Cut(state.fetch_from, state.fetch_epoch)
    if not isinstance(records, memoryview) or not len(records):
        return found
    found.bytes = len(records)
    aborted = [(a.producer_id, a.first_offset) for a in data.aborted_transactions or ()]
    committed_only = options.isolation_level == "read_committed"
    split = split_batches(records)
    whole: Iterable[BatchView | BatchRun] = (
        _joined(split, records, check=options.check_crcs) if joins and not aborted else split
    )
    whole = _checked(state.where, whole, options, found)
    position, stop = state.fetch_from, state.stop
    for batch, visible in visible_batches(whole, aborted, committed_only=committed_only):
        if stop is not None and position >= stop:
            break
        if batch.next_offset <= position:
            continue
        end = batch.next_offset if stop is None else min(stop, batch.next_offset)
        if visible and batch.base_offset < end:
            first = max(position, batch.base_offset)
            found.batches.append(FetchedBatch(state.where, batch, first, end, end))
        position = batch.next_offset
        found.epoch = batch.leader_epoch
    if found.batches:
        then = position if stop is None else min(position, stop)
        found.batches[-1] = replace(found.batches[-1], then=then, epoch=found.epoch)
    found.position, found.needed = position, split.needed
    return found


def _joined(split: BatchSplitter, records: memoryview, *, check: bool) -> Iterator[BatchView | BatchRun]:
    """The batches of an answer, plain neighbours as one."""
    while True:
        run = plain_run(records, split.position, transactional=True, verify=check)
        if run is None:
            batch = next(split, None)
            if batch is None:
                return
            yield batch
        else:
            split.position += run.size
            yield run


def _checked(
    where: TopicPartition, batches: Iterable[BatchView | BatchRun], options: ConsumerOptions, found: Cut
) -> Iterable[BatchView | BatchRun]:
    """The batches up to a damaged one, which is reported when those before it were handed out."""
    check, limit = options.check_crcs, options.max_decompressed_batch_bytes
    try:
        for batch in batches:
            if isinstance(batch, BatchView):
                batch.limit = limit
                if check:
                    batch.verify()
            yield batch
    except CorruptRecordsError as error:
        found.damage = CorruptRecordsError(
            f"{where}: {error.what}",
            why=error.why,
            do="the broker's copy of the log is damaged: restore it from a replica, or read behind it",
        )
