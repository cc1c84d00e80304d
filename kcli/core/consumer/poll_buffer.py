"""Hands out what was fetched, so many records at a time, and moves positions only by what was handed out.

What was taken away, sought elsewhere or paused meanwhile is left out. The bytes of an answer are released when all of
it was handed out and the application polls again.

Ctrl-C may come between any two steps. So what is taken stands in ``_open`` before it leaves the queue, until it is the
application's; ``end_open`` and ``take_back`` see to it that the next poll reads the rest again. Each step is in an order
in which being interrupted, and done once more, does no harm.

In a loop over records an exception takes the record back only if it was raised before the ``yield``. Tested in
``tests/unit/core/consumer/test_poll_buffer.py``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace

from kcli.core.consumer.fetched import Arrived, FetchedBatch
from kcli.core.consumer.subscription import PartitionState, Phase, Subscription
from kcli.core.dataclass import dataclass
from kcli.core.errors import CorruptRecordsError, KcliError
from kcli.core.types import Record, TopicPartition

_Place = tuple[PartitionState, int, int]
"""A partition with its position, and the leader epoch there."""
_Places = list[_Place]


@dataclass(slots=True)
class _Item:
    """A batch to be handed out, or (None) offsets behind which there was nothing to see."""

    tp: TopicPartition
    version: int
    batch: FetchedBatch | None
    then: int
    epoch: int


class _Cursor:
    """Goes through the records of a batch once, part by part."""

    def __init__(self, fetched: FetchedBatch) -> None:
        self.batch = fetched.batch
        self.position = fetched.batch.base_offset
        self._records = fetched.batch.records(*fetched.tp)
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


class PollBuffer:
    """``take`` until it is ``empty``, then ``begin`` with the next answer. ``records``, ``bytes``: handed out so far."""

    def __init__(self, subscription: Subscription, withheld: Callable[[], frozenset[TopicPartition]]) -> None:
        self._subscription = subscription
        self._withheld = withheld
        self._arrived: Arrived | None = None
        self._items: deque[_Item] = deque()
        self._open: list[FetchedBatch] = []  # taken, and not handed out
        self._moving: tuple[list[FetchedBatch], _Places] = ([], [])  # handed out last, and where that began
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
        for tp, version, cut in arrived.parts:
            self._items.extend(_Item(tp, version, b, b.then, b.then_epoch) for b in cut.batches)
            if not cut.batches:
                self._items.append(_Item(tp, version, None, cut.position, cut.epoch))

    def release(self) -> None:
        """Forgets what is left, and gives the bytes back: nothing that was handed out is valid any more."""
        self._items.clear()
        self._cursor = None
        if self._arrived is not None:
            self._arrived.release()
            self._arrived = None

    def take(self, limit: int) -> list[FetchedBatch]:
        """The next batches, of at most ``limit`` offsets; the last may be the beginning of one."""
        self.end_open()
        taken: list[FetchedBatch] = []
        self._open = taken
        withheld = self._withheld()
        while self._items and limit > 0:
            item = self._items[0]
            batch = item.batch
            if self._state(item, withheld) is None:
                self._items.popleft()
            elif batch is None:
                self._moved(item.tp, item.then, item.epoch)
                self._items.popleft()
            elif batch.stop - batch.first > limit and batch.batch.count > limit:
                cut = batch.first + limit
                taken.append(replace(batch, stop=cut, then=cut, epoch=None))
                self._items[0] = replace(item, batch=replace(batch, first=cut))
                limit = 0
            else:
                taken.append(batch)
                self._items.popleft()
                limit -= min(batch.stop - batch.first, batch.batch.count)
        return taken

    def handed_out(self, batches: list[FetchedBatch]) -> None:
        """All of ``batches``, which were taken last, is the application's now; unless ``take_back`` follows."""
        states = {batch.tp: state for batch in batches if (state := self._of(batch))}
        self._moving = (batches, [(state, state.position, state.epoch) for state in states.values()])
        for batch in batches:
            self._moved(batch.tp, batch.then, batch.then_epoch)
        self.records += sum(min(batch.stop - batch.first, batch.batch.count) for batch in batches)
        self._open = []

    def take_back(self, batches: list[FetchedBatch]) -> None:
        """The poll that was to return ``batches`` was interrupted: the application has nothing of them."""
        moved, places = self._moving
        if batches and moved is batches:
            for state, position, epoch in places:
                state.position, state.epoch = position, epoch
            self._open = batches
        self.end_open()
        self.release()
        for tp, state in self._subscription.items():  # an answer, or an error, may have been on its way
            if state.fetch_from != state.position or state.phase is Phase.FAILED:
                self._subscription.step_back(tp)

    def one_by_one(
        self, batches: list[FetchedBatch], convert: Callable[[Record], Record] | None = None
    ) -> Iterator[Record]:
        """The records of ``batches``; positions follow record by record, and what is not taken is read again.

        ``convert`` makes of a record what is given; one for which it raises is passed.
        """
        versions = {batch.tp: state.version for batch in batches if (state := self._of(batch))}
        self._open = batches
        held: _Place | None = None  # where a record is that is about to be given
        try:
            while batches and self._open is batches:
                fetched = batches[0]
                state = self._of(fetched)
                if state is None or state.version != versions.get(fetched.tp):
                    batches.pop(0)  # sought elsewhere, or taken away, by what was done with a record
                    continue
                for record in self._records_of(fetched):
                    if state.version != versions[fetched.tp] or self._of(fetched) is not state:
                        break
                    held = (state, state.position, state.epoch)
                    state.position, state.epoch = record.offset + 1, record.leader_epoch
                    self.records += 1
                    yield record if convert is None else convert(record)
                    held = None
                    if self._open is not batches:
                        return  # another poll has begun: what is left here is read again there
                else:
                    self._moved(fetched.tp, fetched.then, fetched.then_epoch)
                if fetched.then >= fetched.batch.next_offset:
                    self._cursor = None
                    fetched.batch.forget_payload()
                batches.pop(0)
        except CorruptRecordsError as error:
            raise error.in_partition(batches[0].tp) from error
        except (GeneratorExit, KcliError):
            raise
        except BaseException:  # Ctrl-C before the record was given, or right behind: then it comes once more
            if held is not None:
                held[0].position, held[0].epoch = held[1:]
            raise
        finally:
            if self._open is batches:
                self.end_open(versions)

    def end_open(self, versions: dict[TopicPartition, int] | None = None) -> None:
        """What was taken last and not handed out is read again later."""
        for tp in {batch.tp for batch in self._open}:
            state = self._subscription.get(tp)
            if state is not None and (versions is None or state.version == versions.get(tp)):
                self._subscription.step_back(tp)
        self._open = []
        self._moving = ([], [])

    def _records_of(self, fetched: FetchedBatch) -> Iterator[Record]:
        """Of a batch that is handed out in several parts the records are decoded once."""
        cursor = self._cursor
        if cursor is None or cursor.batch is not fetched.batch or cursor.position > fetched.first:
            cursor = self._cursor = _Cursor(fetched)
        return cursor.part(fetched.first, fetched.stop)

    # --- inside ------------------------------------------------------------------------------------

    def _state(self, item: _Item, withheld: frozenset[TopicPartition]) -> PartitionState | None:
        """The state of what may be handed out; what may not be now steps back, so that it is read again later."""
        state = self._subscription.get(item.tp)
        if state is None or state.version != item.version:
            return None
        if state.paused or item.tp in withheld:
            self._subscription.step_back(item.tp)
            return None
        return state

    def _of(self, batch: FetchedBatch) -> PartitionState | None:
        return self._subscription.get(batch.tp)

    def _moved(self, tp: TopicPartition, position: int, epoch: int) -> None:
        state = self._subscription.get(tp)
        if state is not None:
            state.position, state.epoch = position, epoch
