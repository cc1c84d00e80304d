"""The figures of a test that reads: records, bytes and marks of the batches of each poll. Reads no clock."""

from __future__ import annotations

from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.errors import CorruptRecordsError
from kcli.flows.perf.integrity import Trace
from kcli.flows.perf.marks import MAGIC, PREFIX_SIZE
from kcli.flows.perf.measurement import Interval, Measurement


class ReadFigures:
    """``most``: how many records are read in all, those of the ``warmup`` included; None: no limit.

    The warm-up ends with the poll that brings its last record: all of that poll belongs to it. ``began``: when the
    measured part did, on the monotonic clock, once it did.
    """

    def __init__(self, *, most: int | None = None, warmup: int = 0) -> None:
        self.trace = Trace()
        self.measured = Measurement(trace=self.trace)
        self.began: float | None = None
        self._left = most
        self._warmup = warmup
        self._last = 0.0
        self._records = self._bytes = 0
        self._used_at_begin = self._used = self._used_at_last = 0.0
        self._unassigned_since: float | None = None

    @property
    def full(self) -> bool:
        """Whether all records are there that are wanted."""
        return self._left == 0

    def start(self, now: float, wall: float, used: float) -> None:
        """The test begins, ``wall`` seconds after 1970; without a warm-up its measured part too. ``used``: seconds of
        CPU time so far.
        """
        self._last = now
        if not self._warmup:
            self._begin(now, wall, used)

    def add(self, fetched: FetchedBatch) -> int | None:
        """Adds a batch. Returns the offset at which to continue if the limit was reached before its end."""
        first, stop = fetched.first, fetched.stop
        try:
            while first < stop:
                # No more records than offsets, so the limit is reached exactly, also where offsets have gaps.
                upto = stop if self._left is None else min(stop, first + self._left)
                if upto == first:
                    return first
                self._count(fetched, first, upto)
                first = upto
        except CorruptRecordsError as error:
            raise error.in_partition(fetched.tp) from error
        fetched.batch.forget_payload()
        self.reached(fetched.tp.partition, fetched.then)
        return None

    def reached(self, partition: int, position: int) -> None:
        """A partition was read up to a position, before which there may be nothing that is shown to readers."""
        self.trace.add(partition, position, position, ())

    def polled(self, now: float, wall: float, used: float) -> Interval:
        """All batches of a poll were added: returns what they had, nothing during the warm-up."""
        found = Interval(0, self._records, self._bytes)
        self._records = self._bytes = 0
        if self.began is None:
            self.measured.warmup_records += found.records
            if self.measured.warmup_records >= self._warmup:
                self._begin(now, wall, used)
            return Interval(0)
        found.cpu_seconds, self._used = used - self._used, used
        if found.records:
            self._last, self._used_at_last = now, used
            self.measured.records += found.records
            self.measured.bytes += found.bytes
        self.measured.interval_at(now - self.began).merge(found)
        return found

    def assigned(self, now: float) -> None:
        """A member of a group has partitions to read: since ``unassigned`` it was rebalancing."""
        since, self._unassigned_since = self._unassigned_since, None
        if since is not None and self.began is not None:
            self.measured.rebalance_seconds += max(0.0, now - max(since, self.began))

    def unassigned(self, now: float) -> None:
        """A member of a group has lost its partitions, or joins."""
        if self._unassigned_since is None:
            self._unassigned_since = now

    def end(self, until: float | None, used: float) -> Measurement:
        """The measurement: its time, and that of the CPU, ends with the last records, or at ``until``, if that was waited
        for.
        """
        found = self.measured
        if self.began is not None:
            found.cpu_seconds = (self._used_at_last if until is None else used) - self._used_at_begin
            if until is not None:
                self.assigned(until)  # a member that still waits for partitions was rebalancing until then
            last = self._last if until is None else until
            found.ended = found.began + max(0.0, last - self.began)
            found.rebalance_seconds = min(found.rebalance_seconds, found.seconds)
            found.fetch_seconds = found.seconds - found.rebalance_seconds
            found.intervals = {
                number: interval
                for number, interval in found.intervals.items()
                if number * found.interval_seconds <= found.seconds
            }
        return found

    def _begin(self, now: float, wall: float, used: float) -> None:
        self.began = self._last = now
        self._used_at_begin = self._used = self._used_at_last = used
        self.measured.began = wall

    def _count(self, fetched: FetchedBatch, first: int, stop: int) -> None:
        partition = fetched.tp.partition
        new = min(stop, self.trace.unread(partition, first))
        for start, upto in ((first, new), (new, stop)):
            if start >= upto:
                continue
            records, size, runs = fetched.batch.marks(start, upto, MAGIC, PREFIX_SIZE)
            self._records += records
            self._bytes += size
            if self._left is not None:
                self._left -= records
            if start == new:
                self.trace.add(partition, start, upto, runs)
