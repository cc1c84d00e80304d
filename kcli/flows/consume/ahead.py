"""``consume --processes``: the batches of a poll are selected from and formatted by other processes, in their order.

They are given as the bytes of the broker, compressed or not, and come back as output. Everything else stays where it is
without them: what is read, written, counted and committed. What a process could not do, because its batch is damaged or
it has died, is done here, where the error belongs.
"""

import marshal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from struct import Struct
from typing import Any

from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.kernels.varint import Buffer
from kcli.core.records.batch import split_batches
from kcli.core.records.run import BatchRun
from kcli.core.records.view import BatchView
from kcli.core.types import TopicPartition
from kcli.flows.consume.tallies import Tallies
from kcli.flows.filters.selection import Selection
from kcli.flows.processes import Processes
from kcli.output.records import Formatter, Rendered

_LEAST, _MOST = 1 << 16, 1 << 20  # bytes of batches that are given at once
_HEAD = Struct("=I")
_RUN = -1  # in place of a limit of decompression: plain batches that were joined


class BatchWork:
    """What a process does with batches: see ``Work``."""

    def __init__(self, selection: Selection, formatter: Formatter, tallies: Tallies) -> None:
        self._selection, self._formatter, self._tallies = selection.without_observer(), formatter, tallies
        self._leaders: dict[TopicPartition, int] = {}
        self._moved = False

    def __call__(self, data: memoryview) -> Buffer:
        """The output of batches, behind what there is to know of each."""
        if not self._moved:
            self._moved = True
            self._formatter.move(lambda tp: self._leaders.get(tp, -1))
            self._tallies.be_silent()
        self._tallies.take()  # of work that was given up
        found: list[tuple[int, int, int]] = []
        pieces: list[Buffer] = []
        for fetched, broker in _unpacked(data):
            self._leaders[fetched.tp] = broker
            selected = self._selection.select(fetched)
            if selected is None:
                found.append((0, -1, 0))
                continue
            rendered = self._formatter.batch(fetched, None, selected)
            found.append((len(rendered.data), rendered.last, rendered.count))
            pieces.append(rendered.data)
        head = marshal.dumps((found, self._tallies.take()))
        return b"".join((_HEAD.pack(len(head)), head, *pieces))


class Ahead:
    """``begin`` with the batches of a poll, then ``next`` for each of them in order, then ``end``.

    ``broker`` is needed by some formats. ``singly``: what was counted belongs to each batch, of which the last may not be
    written.
    """

    def __init__(
        self,
        processes: Processes,
        tallies: Tallies,
        *,
        broker: Callable[[TopicPartition], int] | None = None,
        singly: bool = False,
    ) -> None:
        self._processes, self._tallies = processes, tallies
        self._broker, self._singly = broker, singly
        self._waiting: deque[list[FetchedBatch]] = deque()
        self._given: deque[int] = deque()
        self._done: deque[Rendered | None] = deque()

    def begin(self, batches: Sequence[FetchedBatch]) -> None:
        """Shares the batches out."""
        total = sum(fetched.batch.size for fetched in batches)
        enough = 0 if self._singly else min(max(total // (2 * self._processes.count), _LEAST), _MOST)
        share: list[FetchedBatch] = []
        size = 0
        for fetched in batches:
            share.append(fetched)
            size += fetched.batch.size
            if size >= enough:
                self._waiting.append(share)
                share, size = [], 0
        if share:
            self._waiting.append(share)
        self._give()

    def next(self, limit: int | None = None) -> Rendered | None:
        """The output of the next batch, valid until the next call; None: it is to be made here, as one with ``limit``
        records or more, which needs ``singly``.
        """
        if not self._done:
            count = self._given.popleft()
            result = self._processes.take()
            self._done.extend(self._results(result, count, limit))
            self._give()
        return self._done.popleft()

    def end(self) -> None:
        """Passes over what was not asked for."""
        self._waiting.clear()
        self._processes.drop()
        self._given.clear()
        self._done.clear()

    def _give(self) -> None:
        while self._waiting and self._processes.room:
            share = self._waiting.popleft()
            self._processes.submit(self._packed(share))
            self._given.append(len(share))

    def _packed(self, share: Sequence[FetchedBatch]) -> list[Buffer]:
        broker = self._broker or (lambda _tp: -1)
        heads = []
        for one in share:
            batch = one.batch
            limit = _RUN if isinstance(batch, BatchRun) else batch.limit
            heads.append(
                (*one.tp, one.first, one.stop, one.deliveries, broker(one.tp), batch.size, limit,
                 batch.count, batch.next_offset) if limit == _RUN else
                (*one.tp, one.first, one.stop, one.deliveries, broker(one.tp), batch.size, limit, 0, 0)
            )  # fmt: skip
        head = marshal.dumps(heads)
        return [_HEAD.pack(len(head)), head, *(one.batch.raw for one in share)]

    def _results(self, result: memoryview | None, count: int, limit: int | None) -> Iterator[Rendered | None]:
        if result is None:
            yield from [None] * count
            return
        (size,) = _HEAD.unpack_from(result)
        at = _HEAD.size + size
        found, tallies = marshal.loads(result[_HEAD.size : at])  # noqa: S302 - of a fork of this process
        if limit is not None and found[0][2] >= limit:
            yield None
            return
        if tallies is not None:
            self._tallies.add(tallies)
        for length, last, records in found:
            yield Rendered(result[at : at + length], records, last)
            at += length


def _unpacked(data: memoryview) -> Iterator[tuple[FetchedBatch, int]]:
    """The batches, each with its broker."""
    (size,) = _HEAD.unpack_from(data)
    at = _HEAD.size + size
    heads: list[Any] = marshal.loads(data[_HEAD.size : at])  # noqa: S302 - of the parent
    for topic, partition, first, stop, deliveries, broker, length, limit, count, following in heads:
        raw = data[at : at + length]
        at += length
        batch: BatchView
        if limit == _RUN:
            batch = BatchRun(raw, count, following)
        else:
            batch = next(split_batches(raw))
            batch.limit = limit
        yield (
            FetchedBatch(TopicPartition(topic, partition), batch, first, stop, stop, None, deliveries),
            broker,
        )
