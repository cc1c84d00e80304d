"""Compares partitions of compacted topics: the last record of each key, up to the pinned ends.

Each side is compacted on its own and at its own time, so records of one offset may be gone on either. What both have, or
had to have, is the last record of each key below the pinned end. It may be gone as well, where a later one follows the
pinned end: a key that differs is looked up there before it is a difference.

Memory: digests of at most ``KEYS_AT_ONCE`` keys of each side. With more keys the partition is read several times, each
time for another part of them.
"""

import math
from collections.abc import Callable, Collection, Iterator
from hashlib import blake2b

from kcli.core.classes import NamedTuple
from kcli.core.consumer.consumer import Consumer
from kcli.core.errors import CorruptRecordsError, KcliError
from kcli.core.kernels.shapes import DIGEST_SIZE
from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy.offset_map import OffsetMap
from kcli.flows.mirror.proof.compare import (
    AS_STORED,
    Change,
    Comparison,
    Difference,
    Extent,
    Pair,
    Reader,
    View,
    replaced,
)
from kcli.flows.mirror.proof.last_values import KeyDifference, LastValues, key_differences, live_keys
from kcli.flows.stop import Stop
from kcli.output.progress import counted

KEYS_AT_ONCE = 500_000
"""Of each side; about 300 MB for both."""


class Bucket(NamedTuple):
    """The keys of number ``number`` of ``of`` buckets."""

    number: int
    of: int


class Compacted:
    """Compares pairs one after another. ``end``: looks up the present end of a partition of the source (True) or target.

    ``patience`` as in ``Reader``; ``progress`` gets how many records were read.
    """

    def __init__(
        self,
        source: Consumer,
        target: Consumer,
        stop: Stop,
        *,
        end: Callable[[TopicPartition, bool], int],
        progress: Callable[[int], None],
        view: View = AS_STORED,
        patience: float = math.inf,
    ) -> None:
        self._left, self._right = Reader(source, patience), Reader(target, patience)
        self._stop = stop
        self._end = end
        self._progress = progress
        self._view = view
        self._read = 0
        self._timestamps = True

    def compare(self, pair: Pair) -> Comparison:
        """The last records of all keys; ``source_records`` and ``target_records`` are then the keys that have one."""
        made = self._compared(pair)
        if made.ignored:
            self._timestamps = False
            why, made = made.ignored, self._compared(pair)
            made.ignored = why
            self._timestamps = True
        return made

    def _compared(self, pair: Pair) -> Comparison:
        made = Comparison(pair, by_key=True)
        try:
            left = [Bucket(0, 1)]
            while left and not (self._stop or made.ignored):
                left += self._compare_bucket(made, left.pop())
            made.finished = not self._stop
        except KcliError as error:
            made.error = error
        return made

    def _compare_bucket(self, made: Comparison, bucket: Bucket) -> list[Bucket]:
        """Compares the keys of a bucket, or of a part of it, where they are too many; returns the other parts."""
        pair = made.pair
        here = self._last(self._left, pair.source, bucket, self._view.source)
        there = self._last(self._right, pair.target, bucket._replace(of=here.buckets), self._view.target)
        here.narrow(there.buckets)
        if self._stop:
            return []
        made.source_records += live_keys(here.by_key)
        made.target_records += live_keys(there.by_key)
        if not bucket.number:
            self._compare_keyless(made, here, there)
        found = list(key_differences(here.by_key, there.by_key))
        standing = self._standing(pair, found)
        not_compared = {one.key for one in found} - {one.key for one in standing}
        made.source_digest = _added(made.source_digest, here, not_compared)
        made.target_digest = _added(made.target_digest, there, not_compared)
        for one in standing:
            if not self._is_removed(made, one):
                self._add(made, one)
        return list(_parts(bucket, there.buckets))

    def _last(self, reader: Reader, extent: Extent, bucket: Bucket, change: Change | None) -> LastValues:
        values = LastValues(
            *bucket, change=change, timestamps=self._timestamps, most=KEYS_AT_ONCE, keyless=True
        )
        for _ in self._batches(reader, extent, values):
            pass
        return values

    def _batches(self, reader: Reader, extent: Extent, values: LastValues) -> Iterator[None]:
        """Adds all batches of an extent."""
        reader.assign([extent])
        while not (self._stop or reader.done):
            for one in reader.poll():
                before = values.records
                try:
                    values.update(one.batch, one.first, one.stop)
                except CorruptRecordsError as error:
                    raise error.in_partition(one.tp) from None
                one.batch.forget_payload()
                self._read += values.records - before
            if reader.errors:
                raise reader.errors[extent.tp]
            self._progress(self._read)
            yield

    def _compare_keyless(self, made: Comparison, here: LastValues, there: LastValues) -> None:
        ours, theirs = here.without_key, there.without_key
        if ours == theirs and here.digest_without_key == there.digest_without_key:
            return
        what = f"{counted(ours, 'record')} without a key, the target has {theirs:,}"
        if ours == theirs:
            what = f"{counted(ours, 'record')} without a key, and the target has others"
        made.add(Difference(None, None, f"the source has {what}"), max(1, abs(ours - theirs)))

    def _standing(self, pair: Pair, found: list[KeyDifference]) -> list[KeyDifference]:
        """Those of the differences that are none of the time of reading.

        1. The mirror has copied key k up to source offset 10; the pinned end is 20.
        2. k is written at offset 25, and the source compacts: offset 10 is gone.
        3. The copy of offset 10 seems to be too many.

        The same happens on the target, where a mirror that runs writes after the pinned end. So the keys are looked up
        from the pinned ends to the ends of now, on both sides. Two records that the map says to be the same are none of
        this.
        """
        if not found:
            return found
        keys = {one.key for one in found if not _are_copies(pair.offsets, one)}
        later = self._present(self._left, pair.source, keys, of_source=True) | self._present(
            self._right, pair.target, keys, of_source=False
        )
        return [one for one in found if one.key not in later]

    def _present(self, reader: Reader, extent: Extent, keys: set[bytes], *, of_source: bool) -> set[bytes]:
        """Which of the keys have a record after the pinned end."""
        if not keys:
            return set()
        tail = Extent(extent.tp, extent.stop, max(extent.stop, self._end(extent.tp, of_source)))
        values = LastValues(keyless=True)
        found: set[bytes] = set()
        for _ in self._batches(reader, tail, values):
            found |= keys & values.by_key.keys()
            values.by_key.clear()
        return found

    def _is_removed(self, made: Comparison, one: KeyDifference) -> bool:
        """Whether retention has removed the record of one side (``cleanup.policy=compact,delete``); those of the target
        are counted.
        """
        pair, offsets = made.pair, made.pair.offsets
        if offsets is None:
            return False
        if one.target_offset is None and one.source_offset is not None:
            copy = offsets.copy_of(one.source_offset)
            if copy is not None and copy < pair.target.start:
                made.deleted += 1
                return True
        if one.source_offset is None and one.target_offset is not None:
            origin = offsets.source_of(one.target_offset)
            if origin is not None and origin < pair.source.start:
                made.removed += 1
                return True
        return False

    def _add(self, made: Comparison, one: KeyDifference) -> None:
        here, there = one.source_offset, one.target_offset
        if here is not None and there is not None and self._timestamps:
            made.ignored = made.ignored or self._why_not_timestamps(made.pair, here, there)
        lacking = "source" if here is None else "target" if there is None else "none"
        made.add(Difference(here, there, one.what, lacking))

    def _why_not_timestamps(self, pair: Pair, here: int, there: int) -> str:
        a = next(self._left.records(Extent(pair.source.tp, here, here + 1)), None)
        b = next(self._right.records(Extent(pair.target.tp, there, there + 1)), None)
        return "" if a is None or b is None or a.timestamp == b.timestamp else replaced(a, b)


def _added(digest: str, values: LastValues, without: Collection[bytes]) -> str:
    """A digest of keys and their last records (hexadecimal), with those of another bucket: a sum, of no order."""
    number = int(digest or "0", 16)
    for key, last in values.by_key.items():
        if last.content is not None and key not in without:
            number += int.from_bytes(blake2b(key + last.content, digest_size=DIGEST_SIZE).digest())
    return f"{number % (1 << 8 * DIGEST_SIZE):0{2 * DIGEST_SIZE}x}"


def _parts(bucket: Bucket, of: int) -> Iterator[Bucket]:
    """What is left of a bucket that was divided until there were ``of`` of them."""
    step = bucket.of
    while step < of:
        yield Bucket(bucket.number + step, 2 * step)
        step *= 2


def _are_copies(offsets: OffsetMap | None, one: KeyDifference) -> bool:
    return (
        offsets is not None
        and one.source_offset is not None
        and one.target_offset is not None
        and offsets.copy_of(one.source_offset) == one.target_offset
    )
