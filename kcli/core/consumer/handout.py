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


class Handout:
    """``take`` until it is ``empty``, then ``begin`` with the next answer. ``records``, ``bytes``: handed out so far."""

    def __init__(self, subscription: Subscription, withheld: Callable[[], frozenset[TopicPartition]]) -> None:
        self._subscription = subscription
        self._withheld = withheld
        self._arrived: Arrived | None = None
        self._items: deque[_Item] = deque()
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
        try:
            while batches:
                fetched = batches[0]
                state = self._of(fetched)
                if state is None or state.version != versions.get(fetched.where):
                    batches.pop(0)  # sought elsewhere, or taken away, by what was done with a record
                    continue
                for record in fetched.batch.records(*fetched.where):
                    if not fetched.first <= record.offset < fetched.stop:
                        continue
                    if state.version != versions[fetched.where] or self._of(fetched) is not state:
                        break
                    state.position, state.epoch = record.offset + 1, record.leader_epoch
                    self.records += 1
                    yield record
                else:
                    self._moved(fetched.where, fetched.then, fetched.then_epoch)
                fetched.batch.forget_payload()
                batches.pop(0)
        finally:
            for where in {batch.where for batch in batches}:
                state = self._subscription.get(where)
                if state is not None and state.version == versions.get(where):
                    self._subscription.step_back(where)

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
