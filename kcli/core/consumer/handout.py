"""Hands out what was fetched, so many records at a time, and moves positions only by what was handed out.

What was taken away, sought elsewhere or paused meanwhile is left out. The bytes of an answer are released when all of
it was handed out and the application polls again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from kcli.core.consumer.fetched import Arrived, FetchedBatch
from kcli.core.consumer.subscription import PartitionState, Subscription
from kcli.core.types import Record, TopicPartition


@dataclass(slots=True)
class _Item:
    """A batch to be handed out, or (None) offsets behind which there was nothing to see."""

    where: TopicPartition
    version: int
    batch: FetchedBatch | None
    then: int
    epoch: int


class _Cursor:
    """Goes through the records of a batch once, part by part."""

    def __init__(self, fetched: FetchedBatch) -> None:
        self.batch = fetched.batch
        self.position = fetched.batch.base_offset
        self._records = fetched.batch.records(*fetched.where)
        self._next: Record | None = None

    def part(self, first: int, stop: int) -> Iterator[Record]:
        """Those at ``first`` up to, not including, ``stop``."""
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


class Handout:
    """``take`` until it is ``empty``, then ``begin`` with the next answer. ``records``, ``bytes``: handed out so far."""

    def __init__(self, subscription: Subscription, withheld: Callable[[], frozenset[TopicPartition]]) -> None:
        self._subscription = subscription
        self._withheld = withheld
        self._arrived: Arrived | None = None
        self._items: deque[_Item] = deque()
        self._open: list[FetchedBatch] = []
        self._cursor: _Cursor | None = None
        self.records = 0
        self.bytes = 0

    @property
    def empty(self) -> bool:
        """Whether the next answer may come."""
        return not self._items

    def begin(self, arrived: Arrived) -> None:
        """Goes on with an answer; the one before was released."""
        self.release()
        self._arrived = arrived
        for where, version, cut in arrived.parts:
            self._items.extend(_Item(where, version, b, b.then, b.then_epoch) for b in cut.batches)
            if not cut.batches:
                self._items.append(_Item(where, version, None, cut.position, cut.epoch))

    def release(self) -> None:
        """Forgets what is left, and gives the bytes back: nothing that was handed out is valid any more."""
        self._items.clear()
        self._cursor = None
        if self._arrived is not None:
            self._arrived.release()
            self._arrived = None

    def take(self, limit: int) -> list[FetchedBatch]:
        """The next batches, of at most ``limit`` offsets; the last may be the beginning of one."""
        taken: list[FetchedBatch] = []
        withheld = self._withheld()
        while self._items and limit > 0:
            item = self._items.popleft()
            if self._state(item, withheld) is None:
                continue
            if item.batch is None:
                self._moved(item.where, item.then, item.epoch)
                continue
            batch = item.batch
            if batch.stop - batch.first > limit and batch.batch.count > limit:
                cut = batch.first + limit
                self._items.appendleft(replace(item, batch=replace(batch, first=cut)))
                batch = replace(batch, stop=cut, then=cut, epoch=None)
            limit -= min(batch.stop - batch.first, batch.batch.count)
            taken.append(batch)
        return taken

    def handed_out(self, batch: FetchedBatch) -> None:
        """All of ``batch`` is the application's now."""
        self._moved(batch.where, batch.then, batch.then_epoch)
        self.records += min(batch.stop - batch.first, batch.batch.count)

    def one_by_one(self, batches: list[FetchedBatch]) -> Iterator[Record]:
        """The records of ``batches``; positions follow record by record, and what is not taken is read again."""
        versions = {batch.where: state.version for batch in batches if (state := self._of(batch))}
        self._open = batches
        try:
            while batches and self._open is batches:
                fetched = batches[0]
                state = self._of(fetched)
                if state is None or state.version != versions.get(fetched.where):
                    batches.pop(0)  # sought elsewhere, or taken away, by what was done with a record
                    continue
                for record in self._records_of(fetched):
                    if state.version != versions[fetched.where] or self._of(fetched) is not state:
                        break
                    state.position, state.epoch = record.offset + 1, record.leader_epoch
                    self.records += 1
                    yield record
                    if self._open is not batches:
                        return  # another poll has begun: what is left here is read again there
                else:
                    self._moved(fetched.where, fetched.then, fetched.then_epoch)
                if fetched.then >= fetched.batch.next_offset:
                    self._cursor = None
                    fetched.batch.forget_payload()
                batches.pop(0)
        finally:
            if self._open is batches:
                self.end_open(versions)

    def end_open(self, versions: dict[TopicPartition, int] | None = None) -> None:
        """What the last ``one_by_one`` has not handed out is read again later."""
        batches, self._open = self._open, []
        for where in {batch.where for batch in batches}:
            state = self._subscription.get(where)
            if state is not None and (versions is None or state.version == versions.get(where)):
                self._subscription.step_back(where)

    def _records_of(self, fetched: FetchedBatch) -> Iterator[Record]:
        """Of a batch that is handed out in several parts the records are decoded once."""
        cursor = self._cursor
        if cursor is None or cursor.batch is not fetched.batch or cursor.position > fetched.first:
            cursor = self._cursor = _Cursor(fetched)
        return cursor.part(fetched.first, fetched.stop)

    # --- inside ------------------------------------------------------------------------------------

    def _state(self, item: _Item, withheld: frozenset[TopicPartition]) -> PartitionState | None:
        """The state of what may be handed out; what may not be now steps back, so that it is read again later."""
        state = self._subscription.get(item.where)
        if state is None or state.version != item.version:
            return None
        if state.paused or item.where in withheld:
            self._subscription.step_back(item.where)
            return None
        return state

    def _of(self, batch: FetchedBatch) -> PartitionState | None:
        return self._subscription.get(batch.where)

    def _moved(self, where: TopicPartition, position: int, epoch: int) -> None:
        state = self._subscription.get(where)
        if state is not None:
            state.position, state.epoch = position, epoch
