"""Returns fetched batches to the application in limited portions; positions advance only by what was returned.

Batches of partitions that were revoked, sought elsewhere or paused meanwhile are left out. The bytes of a response are
released when all of it was returned and the application polls again.

Ctrl-C may interrupt between any two steps. So a batch that is taken is recorded in ``_open`` before it leaves the
queue, until the application has it; ``end_open`` and ``take_back`` make the next poll read the rest again. The steps
are ordered so that being interrupted and repeated is harmless.

In a loop over records an exception takes the record back only if it was raised before the ``yield``. Tested in
``tests/unit/core/consumer/test_poll_buffer.py``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from kcli.core.classes import dataclass, replace
from kcli.core.consumer.fetched import Arrived, FetchedBatch
from kcli.core.consumer.subscription import PartitionState, Phase, Subscription
from kcli.core.errors import CorruptRecordsError, KcliError
from kcli.core.types import Record, TopicPartition

_PriorPosition = tuple[PartitionState, int, int]
"""A partition with its position and the leader epoch there."""
_PriorPositions = list[_PriorPosition]


@dataclass(slots=True, eq=False, repr=False)
class _Item:
    """A batch to be returned, or (None) an offset range without visible records, up to ``then``."""

    tp: TopicPartition
    version: int
    batch: FetchedBatch | None
    then: int
    epoch: int


class _Cursor:
    """Iterates over the records of a batch once, part by part."""

    def __init__(self, fetched: FetchedBatch) -> None:
        self.batch = fetched.batch
        self.position = fetched.batch.base_offset
        self._records = fetched.batch.records(*fetched.tp)
        self._next: Record | None = None

    def part(self, first: int, stop: int) -> Iterator[Record]:
        """The records from ``first`` up to, not including, ``stop``."""
        while True:
            record = self._next or next(self._records, None)
            self._next = None
            if record is None:
                return
            if record.offset >= stop:
                self._next = record
                return
            self.position = record.offset + 1
            if record.offset >= first:
                yield record


class PollBuffer:
    """``take_batches`` until it is ``empty``, then ``add_response``. ``records``, ``bytes``: returned so far."""

    def __init__(self, subscription: Subscription, withheld: Callable[[], frozenset[TopicPartition]]) -> None:
        self._subscription = subscription
        self._withheld = withheld
        self._arrived: Arrived | None = None
        self._items: deque[_Item] = deque()
        self._open: list[FetchedBatch] = []  # taken but not yet returned
        # Returned last, and the positions before.
        self._moving: tuple[list[FetchedBatch], _PriorPositions] = ([], [])
        self._cursor: _Cursor | None = None
        self.records = 0
        self.bytes = 0

    @property
    def empty(self) -> bool:
        """Whether the next response may be added."""
        return not self._items

    def add_response(self, arrived: Arrived) -> None:
        """Starts on a response; the previous one is released."""
        self.release()
        self._arrived = arrived
        for tp, version, cut in arrived.parts:
            for batch in cut.batches or (None,):
                self._items.append(_Item(tp, version, batch, cut.position, cut.epoch))

    def lend(self, most: int) -> bool:
        """Whether the batches that were taken last may be used after they are released; see ``Response.lend``."""
        return self._arrived is not None and self._arrived.lend(most)

    def release(self) -> None:
        """Discards what is left and releases its bytes: batches returned before are no longer valid."""
        self._items.clear()
        self._cursor = None
        if self._arrived is not None:
            self._arrived.release()
            self._arrived = None

    def take_batches(self, limit: int) -> list[FetchedBatch]:
        """The next batches, of at most ``limit`` offsets; the last may be the first part of a batch."""
        self.end_open()
        taken: list[FetchedBatch] = []
        # The same list that is filled below: Ctrl-C after any step finds in it what has left the queue.
        self._open = taken
        withheld = self._withheld()
        while self._items and limit > 0:
            item = self._items[0]
            batch = item.batch
            if self._state(item, withheld) is None:
                self._items.popleft()
            elif batch is None:
                # Control records, or what compaction left of a batch: the position moves over them without a
                # record, or `done` would never be reached.
                self._advance(item.tp, item.then, item.epoch)
                self._items.popleft()
            elif batch.stop - batch.first > limit and batch.batch.count > limit:
                cut = batch.first + limit
                taken.append(batch._replace(stop=cut, then=cut, epoch=None))
                self._items[0] = replace(item, batch=batch._replace(first=cut))
                limit = 0
            else:
                taken.append(batch)
                self._items.popleft()
                limit -= _count(batch)
        return taken

    def mark_returned(self, batches: list[FetchedBatch]) -> None:
        """Marks ``batches``, taken last, as returned to the application; ``take_back`` undoes this."""
        before: _PriorPositions = []
        seen: dict[TopicPartition, PartitionState | None] = {}
        for batch in batches:
            if batch.tp not in seen:
                state = seen[batch.tp] = self._subscription.get(batch.tp)
                if state is not None:
                    before.append((state, state.position, state.epoch))
        # Before the first position moves: from here on an interruption restores all of them (`take_back`).
        self._moving = (batches, before)
        records = 0
        for batch in batches:
            state = seen[batch.tp]
            if state is not None:
                state.position, state.epoch = batch.then, batch.then_epoch
                self._subscription.note_moved(batch.tp)
            records += _count(batch)
        self.records += records
        self._open = []

    def take_back(self, batches: list[FetchedBatch]) -> None:
        """The poll that was to return ``batches`` was interrupted: the application received none of them."""
        moved, before = self._moving
        if batches and moved is batches:
            for state, position, epoch in before:
                state.position, state.epoch = position, epoch
                self._subscription.note_moved(state.tp)
            self._open = batches
        self.end_open()
        self.release()
        for tp, state in self._subscription.items():  # a response or an error may have been in flight
            if state.fetch_from != state.position or state.phase is Phase.FAILED:
                self._subscription.step_back(tp)

    def one_by_one(
        self, batches: list[FetchedBatch], convert: Callable[[Record], Record] | None = None
    ) -> Iterator[Record]:
        """The records of ``batches``; positions advance record by record, and records not consumed are read again.

        ``convert`` transforms each record; a record for which it raises is skipped.
        """
        versions = {batch.tp: state.version for batch in batches if (state := self._state_of(batch))}
        self._open = batches
        held: _PriorPosition | None = None  # the position before the record about to be yielded
        try:
            while batches and self._open is batches:
                fetched = batches[0]
                state = self._state_of(fetched)
                if state is None or state.version != versions.get(fetched.tp):
                    batches.pop(0)  # sought elsewhere or revoked while the application handled a record
                    continue
                for record in self._records_of(fetched):
                    if state.version != versions[fetched.tp] or self._state_of(fetched) is not state:
                        break
                    # The position moves before the record is yielded: code that handles it may commit, and
                    # includes it.
                    held = (state, state.position, state.epoch)
                    state.position, state.epoch = record.offset + 1, record.leader_epoch
                    self.records += 1
                    yield record if convert is None else convert(record)
                    held = None
                    if self._open is not batches:
                        return  # another poll has begun and reads the rest again
                else:
                    self._advance(fetched.tp, fetched.then, fetched.then_epoch)
                if fetched.then >= fetched.batch.next_offset:
                    self._cursor = None
                    fetched.batch.forget_payload()
                batches.pop(0)
        except CorruptRecordsError as error:
            raise error.in_partition(batches[0].tp) from error
        except (GeneratorExit, KcliError):
            raise
        except BaseException:  # Ctrl-C before the record was yielded, or just after: then it is yielded twice
            if held is not None:
                held[0].position, held[0].epoch = held[1:]
            raise
        finally:
            if self._open is batches:
                self.end_open(versions)

    def end_open(self, versions: dict[TopicPartition, int] | None = None) -> None:
        """Batches that were taken last and not returned are read again later."""
        if self._open:
            for tp in {batch.tp for batch in self._open}:
                state = self._subscription.get(tp)
                if state is not None and (versions is None or state.version == versions.get(tp)):
                    self._subscription.step_back(tp)
        self._open = []
        self._moving = ([], [])

    def _records_of(self, fetched: FetchedBatch) -> Iterator[Record]:
        """The records of a batch; one that is returned in several parts is decoded once."""
        cursor = self._cursor
        if cursor is None or cursor.batch is not fetched.batch or cursor.position > fetched.first:
            cursor = self._cursor = _Cursor(fetched)
        return cursor.part(fetched.first, fetched.stop)

    def _state(self, item: _Item, withheld: frozenset[TopicPartition]) -> PartitionState | None:
        """The state of a partition that may be returned; one withheld steps back, so that it is read again later."""
        state = self._subscription.get(item.tp)
        if state is None or state.version != item.version:
            return None
        # Dropped and fetched again later: kept, the records would hold back those of other partitions behind
        # them in the queue.
        if state.paused or item.tp in withheld:
            self._subscription.step_back(item.tp)
            return None
        return state

    def _state_of(self, batch: FetchedBatch) -> PartitionState | None:
        return self._subscription.get(batch.tp)

    def _advance(self, tp: TopicPartition, position: int, epoch: int) -> None:
        state = self._subscription.get(tp)
        if state is not None:
            state.position, state.epoch = position, epoch
            self._subscription.note_moved(tp)


def _count(batch: FetchedBatch) -> int:
    """The records of the part of a batch: at most its offsets."""
    offsets, records = batch.stop - batch.first, batch.batch.count
    return offsets if offsets < records else records
