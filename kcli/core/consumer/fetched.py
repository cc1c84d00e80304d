"""What a fetch returned: the records of each partition, split into batches by their headers only. No I/O.

A batch that is passed over (``on.corrupt=skip``) ends its response: it may have held the marker of an abort, so
the list of aborted transactions after it must be fetched again. ``Consumer.poll`` returns whole batches, which may
begin before the requested offset; ``FetchedBatch.first`` and ``stop`` say which part is wanted. Tested in
``tests/unit/core/consumer/test_fetched.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kcli.core.classes import NamedTuple, dataclass, field
from kcli.core.consumer.subscription import PartitionState
from kcli.core.errors import CorruptRecordsError
from kcli.core.options import ConsumerOptions
from kcli.core.protocol.messages.fetch import FetchResponse, PartitionData
from kcli.core.records.batch import BatchSplitter, split_batches
from kcli.core.records.isolation import visible_batches
from kcli.core.records.run import plain_run
from kcli.core.records.view import BatchView
from kcli.core.types import TopicPartition

_OF_AN_ANSWER, _OF_A_BATCH = 4_096, 1_024  # approximate memory in bytes of the objects describing them


class FetchedBatch(NamedTuple):
    """A batch and the requested part of its offsets: from ``first`` up to, not including, ``stop``.

    With ``joins`` it may be several adjacent batches as one (``records/run.py``). Valid until the consumer's next
    poll: its bytes are a view into the receive buffer.
    """

    tp: TopicPartition
    batch: BatchView
    first: int
    stop: int
    then: int
    """The position after all of it was read: ``stop``, or after batches that are not visible there."""
    epoch: int | None = None
    """The leader epoch before ``then``, where it differs from the batch's own."""
    deliveries: int = 0
    """How often a share group has delivered these records, this time included; 0 outside share groups."""

    @property
    def then_epoch(self) -> int:
        """The leader epoch of the record before ``then``."""
        return self.batch.leader_epoch if self.epoch is None else self.epoch


@dataclass(slots=True, eq=False, repr=False)
class Arrived:
    """A response that waits to be returned. ``size`` is the memory it uses until ``release``."""

    answer: FetchResponse
    on_release: Callable[[int], None]
    parts: list[tuple[TopicPartition, int, Cut]] = field(default_factory=list)
    """Partition, version of its state, and its batches."""
    size: int = _OF_AN_ANSWER

    def add_partition(self, state: PartitionState, found: Cut) -> None:
        """Adds the batches of a partition."""
        self.parts.append((state.tp, state.version, found))
        self.size += found.bytes + _OF_A_BATCH * len(found.batches)

    def lend(self, most: int) -> bool:
        """See ``Response.lend``."""
        return self.answer.lend(most)

    def release(self) -> None:
        """Releases the buffer; further calls have no effect."""
        size, self.size = self.size, 0
        if size:
            self.answer.release()
            self.answer.responses = []  # views of a buffer that may be lent
            self.parts = []
            self.on_release(size)


@dataclass(slots=True, eq=False, repr=False)
class Cut:
    """The batches of a partition, the position after them and the leader epoch there.

    ``damage`` is why it ends before the response does. ``needed`` is the size of a batch that was not received whole.
    ``skipped`` is a damaged batch that was skipped: what follows it is fetched again.
    """

    position: int
    epoch: int
    batches: list[FetchedBatch] = field(default_factory=list)
    bytes: int = 0
    needed: int = 0
    damage: CorruptRecordsError | None = None
    skipped: tuple[BatchView, CorruptRecordsError] | None = None


def cut(state: PartitionState, data: PartitionData, options: ConsumerOptions, *, joins: int = 0) -> Cut:
    """The batches to be returned from a response, from the position up to the stop.

    ``joins``: adjacent plain batches of about this many bytes are returned as one, unless the response lists aborted
    transactions.
    """
    records = data.records
    found = Cut(state.fetch_from, state.fetch_epoch)
    if not isinstance(records, memoryview) or not len(records):
        return found
    found.bytes = len(records)
    aborted: list[tuple[int, int]] = []
    if data.aborted_transactions:
        aborted = [(a.producer_id, a.first_offset) for a in data.aborted_transactions]
    committed_only = options.isolation_level == "read_committed"
    split = split_batches(records)
    whole = _whole(state.tp, split, records, options, found, joins=0 if aborted else joins)
    position, stop = state.fetch_from, state.stop
    shown: list[tuple[BatchView, int, int]] = []
    try:
        for batch, visible in visible_batches(whole, aborted, committed_only=committed_only):
            if stop is not None and position >= stop:
                break
            after, base = batch.next_offset, batch.base_offset
            if after <= position:
                continue
            end = after if stop is None or after < stop else stop
            if base < end and (visible or (batch.is_control and options.show_control_batches)):
                shown.append((batch, position if base < position else base, end))
            position = after
            found.epoch = batch.leader_epoch
    except (
        CorruptRecordsError
    ) as error:  # a marker that says nothing, or a batch of which not even the offsets are known
        found.damage = error.in_partition(state.tp)
    if found.skipped is not None:
        position = max(position, found.skipped[0].next_offset)
        found.epoch = found.skipped[0].leader_epoch
    if shown:
        last, first, end = shown.pop()
        found.batches = [FetchedBatch(state.tp, *one, one[2]) for one in shown]
        then = position if stop is None or position < stop else stop
        found.batches.append(FetchedBatch(state.tp, last, first, end, then, found.epoch))
    found.position, found.needed = position, split.needed
    return found


def _whole(
    tp: TopicPartition,
    split: BatchSplitter,
    records: memoryview,
    options: ConsumerOptions,
    found: Cut,
    *,
    joins: int,
) -> Iterator[BatchView]:
    """The batches before a damaged one, which is reported after they have been returned."""
    check, limit = options.check_crcs, options.max_decompressed_batch_bytes
    try:
        while split.position < records.nbytes:
            run = (
                plain_run(records, split.position, transactional=True, verify=check, enough=joins)
                if joins
                else None
            )
            if run is not None:
                split.position += run.size
                yield run
                continue
            batch = next(split, None)
            if batch is None:
                return
            batch.limit = limit
            if check and not _sound(batch, found, skip=options.on_corrupt == "skip"):
                return
            yield batch
    except CorruptRecordsError as error:
        found.damage = error.in_partition(tp)


def _next_offset(batch: BatchView) -> int:
    """The offset after a damaged batch; −1 if its header makes no sense."""
    try:
        batch.check()
    except CorruptRecordsError:
        return -1
    return batch.next_offset


def _sound(batch: BatchView, found: Cut, *, skip: bool) -> bool:
    """Whether the batch is undamaged. A skipped batch ends the response: it may have held a transaction marker, so the
    aborted transactions after it are fetched again. A nonsensical header does not say where the batch ends.

    A compressed set of magic 0 or 1 is opened, as only its content says where it begins.
    """
    try:
        batch.verify_crc()
        _ = batch.base_offset
    except CorruptRecordsError as error:
        if not skip:
            error.next_offset = _next_offset(batch)
            raise
        batch.check()
        if batch.next_offset > found.position:
            found.skipped = (batch, error)
            return False
    return True
