"""Queues the records of a call, or parks them while the partitions of their topic are unknown.

Runs in the caller's thread. A call for many records is queued piece by piece, and waits for memory between the pieces.
It raises only before the first piece is queued; later pieces that cannot be queued are reported as failed. An exception
in the middle of a call would leave the caller unable to say which rows are in a batch: ``--failed`` once lost a chunk
of lines that way. Tested in ``tests/fault/test_producer.py`` and ``tests/fault/test_send_text.py``.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

from kcli.core.cluster.cluster import Cluster
from kcli.core.errors import ConfigError, KcliError, UnknownPartitionError
from kcli.core.kernels.shapes import Row, Text
from kcli.core.names import check_topic
from kcli.core.options import ProducerOptions
from kcli.core.producer.accumulator import Accumulator
from kcli.core.producer.completions import Completions
from kcli.core.producer.origins import OriginRows, Rows
from kcli.core.producer.parked import Parked
from kcli.core.producer.placer import Placer
from kcli.core.producer.sender import Sender
from kcli.core.producer.sender_thread import SenderThread
from kcli.core.producer.text_placer import Region, TextFormat, TextPlacer
from kcli.core.records.text_cut import last_line_end, line_count, line_length

T = TypeVar("T")


class Submission:
    """``must_be_allowed`` raises if the producer's transaction does not accept records.

    ``piece_size``: so many bytes are queued at once at most, before there is a wait for memory.
    """

    def __init__(
        self,
        cluster: Cluster,
        options: ProducerOptions,
        accumulator: Accumulator,
        placer: Placer,
        sender: Sender,
        thread: SenderThread,
        completions: Completions,
        must_be_allowed: Callable[[], None] | None,
    ) -> None:
        self._cluster = cluster
        self._accumulator = accumulator
        self._memory = accumulator.memory
        self._placer = placer
        self._sender = sender
        self._thread = thread
        self._completions = completions
        self._must_be_allowed = must_be_allowed
        self._delivery_timeout = options.delivery_timeout_ms / 1000
        self.piece_size = max(options.batch_size, options.buffer_memory // 4)

    def submit(
        self,
        topic: str,
        count: int,
        size: int,
        place: Callable[[], object],
        failed: Callable[[KcliError], None] | None = None,
        *,
        later: bool = False,
        origins: Sequence[OriginRows] = (),
    ) -> None:
        """Queues records with ``place``, or parks them: until the partitions are known, or, ``later``, for the sender."""
        if self._must_park(topic) or later:
            self._park(topic, count, size, place, failed, origins)
        else:
            self._place(place)

    def submit_rows(
        self,
        topic: str,
        rows: Sequence[Row],
        size: int,
        partition: int | None,
        partitions: Sequence[int] | None,
        origin: Any,
        first_row: int,
    ) -> None:
        """Queues rows piece by piece. Raises if the first piece cannot be queued; later ones are reported as failed."""
        refuse = partial(self.refuse, topic, origin)

        def place(part: slice) -> None:
            own = None if partitions is None else partitions[part]
            first = first_row + part.start
            self._placer.add_rows(
                topic, rows[part], partition, partitions=own, origin=origin, first_row=first, refuse=refuse
            )

        for part, share in self._pieces(len(rows), size):
            numbers = range(first_row + part.start, first_row + min(part.stop, len(rows)))
            try:
                self.submit(
                    topic, len(numbers), share, partial(place, part), origins=origins_of(origin, numbers)
                )
            except KcliError as error:
                if not part.start:
                    raise
                left = range(numbers.start, first_row + len(rows))
                refuse(left, share * len(left) // len(numbers), error)
                return

    def submit_text(
        self,
        topic: str,
        text: Text,
        start: int,
        stop: int,
        how: TextFormat,
        partition: int | None,
        timestamp: int,
        origin: Any,
        *,
        quietly: bool = False,
    ) -> int:
        """Queues the lines of ``text[start:stop]`` piece by piece, like ``submit_rows``; returns the number of lines.
        ``quietly``: the caller wakes the sender. Not for several pieces, of which one may have to wait for the sender.
        """
        row = 0
        while start < stop:
            cut = stop
            if stop - start > self.piece_size:
                cut = last_line_end(text, start, start + self.piece_size, how.delimiter)
                if cut == start:
                    cut = min(
                        stop, start + line_length(text, start, stop, how.delimiter) + len(how.delimiter)
                    )
            try:
                row += self._submit_region(
                    topic, Region(text, start, cut, origin, row), how, partition, timestamp, quietly=quietly
                )
            except KcliError as error:
                if not row:
                    raise
                left = line_count(text, start, stop, how.delimiter)
                self.refuse(topic, origin, range(row, row + left), stop - start, error)
                return row + left
            start = cut
        return row

    def is_lost(self, topic: str) -> bool:
        """Whether records of the topic are refused: it was deleted, or does not exist."""
        return topic in self._sender.lost_topics

    def _submit_region(
        self,
        topic: str,
        region: Region,
        how: TextFormat,
        partition: int | None,
        timestamp: int,
        *,
        quietly: bool,
    ) -> int:
        refuse = partial(self.refuse, topic, region.origin)
        if not self._must_park(topic):
            placer = TextPlacer(self._placer, topic, region, how, timestamp, refuse)
            return self._place(partial(placer.add_lines, partition), quietly=quietly)
        kept = bytes(memoryview(region.text)[region.start : region.end])
        count = line_count(kept, 0, len(kept), how.delimiter)
        copy = Region(kept, 0, len(kept), region.origin, region.first_row)
        rows = range(region.first_row, region.first_row + count)
        placer = TextPlacer(self._placer, topic, copy, how, timestamp, refuse)
        self._park(
            topic,
            count,
            len(kept),
            lambda: placer.add_lines(partition),
            None,
            origins_of(region.origin, rows),
        )
        return count

    def _pieces(self, count: int, size: int) -> Iterator[tuple[slice, int]]:
        """Slices of the rows that fit into memory, of about equal size."""
        pieces = max(1, min(count, -(-size // self.piece_size)))
        step = -(-count // pieces)
        for start in range(0, count, step):
            yield slice(start, start + step), size // pieces

    def _must_park(self, topic: str) -> bool:
        """Whether records must wait for the topic's partitions. Raises if nothing can be sent; waits for memory."""
        thread, memory = self._thread, self._memory
        if thread.crash is not None:
            thread.raise_crash()
        if self._must_be_allowed is not None:
            self._must_be_allowed()
        if topic in self._sender.lost_topics:
            raise self._sender.lost_topics[topic].with_traceback(None)
        view = self._cluster.view.topics.get(topic)
        if view is None:
            check_topic(topic)
        # a callback that sends must not wait for its own thread
        if (memory.used >= memory.size or memory.closed is not None) and not thread.is_current:
            memory.wait_for_room()
        if thread.thread is None:
            thread.ensure_started()
        return view is None or not view.partitions or topic in self._accumulator.parked_queues

    def _place(self, place: Callable[[], T], *, quietly: bool = False) -> T:
        try:
            placed = place()
        except UnknownPartitionError:  # it may have been created since
            self._cluster.loop.call_threadsafe(self._cluster.request_refresh)
            raise
        if not quietly and self._accumulator.must_wake_sender():
            self._cluster.loop.wakeup()
        return placed

    def _park(
        self,
        topic: str,
        count: int,
        size: int,
        place: Callable[[], object],
        failed: Callable[[KcliError], None] | None,
        origins: Sequence[OriginRows],
    ) -> None:
        deadline = self._cluster.loop.now() + self._delivery_timeout
        parked = Parked(count, size, deadline, _nothing, _nothing, topic)
        parked.place = partial(self._place_parked, parked, place)
        parked.fail = partial(self._fail_parked, parked, failed, origins)
        self._accumulator.park(topic, parked)
        self._cluster.loop.wakeup()

    def _place_parked(self, parked: Parked, place: Callable[[], object]) -> None:
        try:
            place()
        except KcliError as error:
            parked.fail(error)
        except Exception as error:  # noqa: BLE001 - an application's partitioner may raise anything
            why = f"{type(error).__name__}: {error}"
            parked.fail(ConfigError(f"a record for {parked.topic} cannot be encoded", why=why))
        else:
            self._parked_is_over(parked)

    def _fail_parked(
        self,
        parked: Parked,
        failed: Callable[[KcliError], None] | None,
        origins: Sequence[OriginRows],
        error: KcliError,
    ) -> None:
        self.fail_transaction(error)
        if failed is not None:
            self._completions.run_callback(partial(failed, error))
        self._completions.fail_unsent(parked.topic, parked.count, parked.size, error, origins)
        self._parked_is_over(parked)

    def _parked_is_over(self, parked: Parked) -> None:
        parked.over = True
        # Both refer to what was parked, and it to them: without this only a collection of garbage would free it.
        parked.place = parked.fail = _nothing
        self._thread.notify()

    def refuse(self, topic: str, origin: Any, rows: Rows, size: int, error: KcliError) -> None:
        """Reports rows that could not be queued as failed."""
        if isinstance(error, UnknownPartitionError):  # it may have been created since
            self._cluster.loop.call_threadsafe(self._cluster.request_refresh)
        self.fail_transaction(error)
        self._completions.fail_unsent(topic, len(rows), size, error, origins_of(origin, rows))

    def fail_transaction(self, error: KcliError) -> None:
        """A record is lost: an open transaction must not be committed without it."""
        if self._sender.transactions is not None:
            self._sender.transactions.record_lost(error)


def _nothing(_: KcliError | None = None) -> None:
    """Replaces the callbacks of a parked call that is over."""


def origins_of(origin: Any, rows: Rows) -> list[OriginRows]:
    """The origins of rows that are in no batch."""
    return [] if origin is None else [OriginRows(0, origin, rows)]
