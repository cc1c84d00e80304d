"""Compares partitions of two clusters in the order of their records: digests of all, and where they differ.

Both sides are read at the same time and only digests are kept, so memory does not grow with the topics. Where a chunk
differs, that chunk alone is read again, record by record. With an offset map each record is compared with the copy of its
own offset, so every record that differs is found; without one, the n-th record is compared with the n-th, up to the first
that differs. What the target has beside the map is told apart by ``repetition``.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, zip_longest

from kcli.core.classes import NamedTuple, dataclass, field, replace
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.consumer.subscription import Span
from kcli.core.errors import CorruptRecordsError, KcliError, StoppedError, TimedOutError
from kcli.core.kernels.shapes import NO_RECORDS, Row
from kcli.core.types import Record, TopicPartition
from kcli.flows.mirror.copy.finer_times import in_ms
from kcli.flows.mirror.copy.offset_map import OffsetMap, Piece
from kcli.flows.mirror.proof.alignment import gaps
from kcli.flows.mirror.proof.digest import (
    CHUNK_RECORDS,
    AlignedDigest,
    Chunk,
    Digester,
    PartitionDigest,
    Surplus,
    folded,
    plain_digester,
    row_digester,
    source_pieces,
)
from kcli.flows.mirror.proof.repetition import tell_apart
from kcli.flows.stop import Stop
from kcli.output.progress import counted

MOST_LISTED = 10
"""So many differences of a partition are listed with their offsets; the others are counted."""

MOST_TOLD_APART = 1_000_000
"""So many records between two that are in the offset map are compared with the source: about 100 bytes of memory each."""

_MOST_CHUNKS = 100  # that differ, and in which the records that do are counted
_POLL = 0.2  # seconds
_FIELDS = ("timestamp", "key", "value", "headers")
_APPENDED = 1  # the timestamp type LogAppendTime


class Extent(NamedTuple):
    """The offsets of one partition from ``start`` up to, not including, ``stop``."""

    tp: TopicPartition
    start: int
    stop: int


class Pair(NamedTuple):
    """What should hold the same records.

    ``offsets``: which offsets correspond; source offsets from its position on are not copied yet, as far as the map says.
    None: the n-th record of the source is the n-th of the target. ``source_end``: up to here the source may be read to
    recognise what the mirror has stored and its map lacks.
    """

    source: Extent
    target: Extent
    offsets: OffsetMap | None = None
    source_end: int = -1


class Difference(NamedTuple):
    """Records that differ; an offset is None where it is not known, or that side has no record left to compare.

    ``lacking``: the side that has no such record, ``source`` or ``target``; ``none``: both have one. ``record``: that of
    the source, where it has one, else of the target; None where it was not read.
    """

    source_offset: int | None
    target_offset: int | None
    what: str
    lacking: str = "none"
    record: Record | None = None


class Listed(NamedTuple):
    """The first differences, at most ``MOST_LISTED``, of ``records`` that differ; ``whole``: both sides were read to
    their ends.
    """

    differences: list[Difference]
    records: int
    whole: bool


@dataclass(slots=True)
class Comparison:
    """The result for one pair. ``error``: it could not be read to its end; ``finished``: it was.

    ``differences``: the first ones; ``different``: how many records differ or are on one side only, at least that many
    unless ``counted``. ``repeated``: records of the target that the mirror stored twice; ``ahead``: that it stored and no
    saved position covers; ``not_copied``: records of the source that the target should have, and has not.
    ``deleted``: records that the target has removed and the source still has; ``removed``: that the source has removed
    and the target still has; both by the offset map. ``held_source``, ``held_target``: offsets behind the first open
    transaction. ``by_key``: the last records of the keys were compared. ``ignored``: why timestamps were not.
    """

    pair: Pair
    source_records: int = 0
    target_records: int = 0
    source_digest: str = ""
    target_digest: str = ""
    differences: list[Difference] = field(default_factory=list)
    different: int = 0
    counted: bool = True
    repeated: int = 0
    ahead: int = 0
    not_copied: int = 0
    deleted: int = 0
    removed: int = 0
    held_source: int = 0
    held_target: int = 0
    by_key: bool = False
    ignored: str = ""
    finished: bool = False
    error: KcliError | None = None

    @property
    def difference(self) -> Difference | None:
        """The first one; None and no error: equal."""
        return self.differences[0] if self.differences else None

    @property
    def equal(self) -> bool:
        """Whether all records of both sides are the same, in the same order, or by key the last ones."""
        return self.finished and self.error is None and not self.differences and not self.deleted

    def add(self, found: Difference, records: int = 1) -> None:
        """Counts a difference of so many records, and lists it if it is one of the first."""
        self.different += records
        if len(self.differences) < MOST_LISTED:
            self.differences.append(found)


Change = Callable[[Row], Row | None]


class View(NamedTuple):
    """How records are looked at before they are compared: a function for the rows of each side, None: as they are."""

    source: Change | None = None
    target: Change | None = None

    def digester(self, change: Change | None, *, timestamps: bool) -> Digester:
        """That of one side; both sides have the same kind."""
        if self.source is None and self.target is None:
            return plain_digester(timestamps=timestamps)
        return row_digester(change or _as_it_is, timestamps=timestamps)


def _as_it_is(row: Row) -> Row:
    return row


AS_STORED = View()


class Reader:
    """Reads extents of one cluster, all at the same time, or one after another.

    ``patience``: seconds without any record until a partition is given up, with an error of its own.
    """

    def __init__(self, consumer: Consumer, patience: float = math.inf) -> None:
        self.consumer = consumer
        self._patience = patience / 2  # positions are compared twice
        self._waited = 0.0
        self._positions = -1
        self.errors: dict[TopicPartition, KcliError] = {}

    def assign(self, extents: Sequence[Extent]) -> None:
        """Reads these from now on."""
        self.errors.clear()
        self._waited, self._positions = 0.0, -1
        self.consumer.assign({e.tp: Span(e.start, e.stop) for e in extents if e.start < e.stop})

    @property
    def done(self) -> bool:
        """Whether everything was read, or cannot be."""
        return not self._unfinished()

    def poll(self) -> list[FetchedBatch]:
        """What arrives within a moment; errors of partitions are in ``errors``, others are raised."""
        began = time.monotonic()
        try:
            batches = self.consumer.poll(_POLL)
        except KcliError as error:
            failed = [tp for tp in self.consumer.assignment if self.consumer.state(tp).error is error]
            if not failed:
                raise  # it is no error of a partition
            self.errors |= dict.fromkeys(failed, error)
            return []
        self._waited = 0.0 if batches else self._waited + time.monotonic() - began
        if self._waited > self._patience:
            self._give_up()
        return [one for one in batches if one.tp not in self.errors]

    def fail(self, tp: TopicPartition, error: KcliError) -> None:
        """Reads no more of the partition."""
        self.errors[tp] = error
        self.consumer.pause(tp)

    def digests(self, extent: Extent, digester: Digester, stop: Stop) -> Iterator[tuple[int, bytes]]:
        """Offset and digest of each record of one extent; ends early after ``stop``. Raises what fails."""
        self.assign([extent])
        while not (stop or self.done):
            for one in self.poll():
                try:
                    found = digester(one.batch, one.first, one.stop, NO_RECORDS, 1, 1)
                except CorruptRecordsError as error:
                    raise error.in_partition(one.tp) from None
                one.batch.forget_payload()
                yield from ((offset, digest) for digest, _, offset, _ in found)
            if self.errors:
                raise self.errors[extent.tp]

    def records(self, extent: Extent) -> Iterator[Record]:
        """The records of one extent. Raises what fails."""
        self.assign([extent])
        while not self.done:
            for one in self.poll():
                for record in one.batch.records(*one.tp):
                    if one.first <= record.offset < one.stop:
                        yield record
            if self.errors:
                raise self.errors[extent.tp]

    def _unfinished(self) -> list[TopicPartition]:
        state = self.consumer.state
        return [tp for tp in self.consumer.assignment if tp not in self.errors and not state(tp).reached_stop]

    def _give_up(self) -> None:
        """Where positions have moved, over records that are not shown, it goes on."""
        left = self._unfinished()
        positions = sum(self.consumer.state(tp).position for tp in left)
        seconds, self._waited = 2 * self._waited, 0.0
        if positions != self._positions:
            self._positions = positions
            return
        open_transactions = self.consumer.waiting()
        for tp in left:
            held = tp in open_transactions
            self.fail(
                tp,
                TimedOutError(
                    f"{tp} was not read to its end",
                    why="an open transaction holds back what follows"
                    if held
                    else f"nothing arrived for {seconds:.0f} s: its leader is away",
                    do="`kcli txn list` finds the transaction"
                    if held
                    else "verify again when it is back; --timeout gives it more time",
                ),
            )


@dataclass(slots=True)
class Progress:
    """Records read so far on each side, and how many there are at most (offsets)."""

    source: int
    target: int
    total: int


class _Side:
    """One cluster of a comparison: reads all its extents and computes their digests."""

    def __init__(
        self, reader: Reader, extents: Sequence[Extent], digests: Mapping[TopicPartition, PartitionDigest]
    ) -> None:
        self._reader = reader
        self._digests = digests
        self.records = 0
        reader.assign(extents)

    @property
    def done(self) -> bool:
        """Whether everything was read, or cannot be."""
        return self._reader.done

    def read(self) -> None:
        """Reads what arrives within a moment."""
        for one in self._reader.poll():
            digest = self._digests[one.tp]
            before = digest.records
            try:
                digest.update(one.batch, one.first, one.stop)
            except StoppedError:
                return
            except CorruptRecordsError as error:
                self._reader.fail(one.tp, error.in_partition(one.tp))
            one.batch.forget_payload()  # a poll returns many batches
            self.records += digest.records - before


def compare(
    source: Consumer,
    target: Consumer,
    pairs: Sequence[Pair],
    *,
    timestamps: bool,
    stop: Stop,
    progress: Callable[[Progress], None],
    locate: bool = True,
    view: View = AS_STORED,
    patience: float = math.inf,
) -> list[Comparison]:
    """Compares all pairs; returns early when ``stop`` is requested, then with pairs that are not ``finished``.

    The consumers must have no group. Errors of single partitions are in the results. Without ``locate``, a difference
    is that of a chunk, which is not read again. Timestamps that one side is known to replace are left out, and the
    comparison says why.
    """
    left, right = Reader(source, patience), Reader(target, patience)
    work = _Work(left, right, view, stop, timestamps=timestamps, locate=locate)
    found = work.run(pairs, progress)
    again = {number: one.ignored for number, one in enumerate(found) if one.ignored}
    if again and not stop:
        work = _Work(left, right, view, stop, timestamps=False, locate=locate)
        repeated = work.run([pairs[number] for number in again], progress)
        for (number, why), one in zip(again.items(), repeated, strict=True):
            found[number] = replace(one, ignored=why)
    return found


def list_differences(
    source: Consumer,
    target: Consumer,
    pair: Pair,
    first: Difference,
    *,
    timestamps: bool,
    stop: Stop,
    view: View = AS_STORED,
) -> Listed:
    """Aligns what follows the ``first`` difference of a pair without a map, ``CHUNK_RECORDS`` of each side at most."""
    left, right = Reader(source), Reader(target)
    ours, theirs = (
        list(islice(reader.digests(rest, view.digester(change, timestamps=timestamps), stop), CHUNK_RECORDS))
        for reader, rest, change in (
            (left, _from(pair.source, first.source_offset), view.source),
            (right, _from(pair.target, first.target_offset), view.target),
        )
    )
    whole = max(len(ours), len(theirs)) < CHUNK_RECORDS
    found = list(gaps([digest for _, digest in ours], [digest for _, digest in theirs]))
    if not whole and len(found) > 1:
        found.pop()  # what is behind the last common record may only be cut
    listed: list[Difference] = []
    for gap in found:
        if len(listed) >= MOST_LISTED or stop:
            break
        here = _records_at(left, pair.source.tp, [ours[at][0] for at in gap.source[:MOST_LISTED]])
        there = _records_at(right, pair.target.tp, [theirs[at][0] for at in gap.target[:MOST_LISTED]])
        listed += _paired(here, there, timestamps=timestamps)
    return Listed(listed[:MOST_LISTED], sum(gap.records for gap in found), whole)


def _from(extent: Extent, offset: int | None) -> Extent:
    """The rest of an extent; nothing where it has no record left."""
    return extent._replace(start=extent.stop if offset is None else offset)


def _records_at(reader: Reader, tp: TopicPartition, offsets: Sequence[int]) -> list[Record]:
    if not offsets:
        return []
    wanted = set(offsets)
    return [one for one in reader.records(Extent(tp, offsets[0], offsets[-1] + 1)) if one.offset in wanted]


def _paired(source: Sequence[Record], target: Sequence[Record], *, timestamps: bool) -> list[Difference]:
    """The differences of a gap: records with the same key are one that was changed, and as many on both sides too."""
    left = list(target)
    found: list[tuple[Record, Record | None]] = []
    for one in source:
        other = next((each for each in left if each.key == one.key and one.key is not None), None)
        if other is not None:
            left.remove(other)
        found.append((one, other))
    if sum(other is None for _, other in found) == len(left):
        rest = iter(left)
        found = [(one, next(rest) if other is None else other) for one, other in found]
        left = []
    return [
        *(
            Difference(one.offset, None, "the target has no record for it", "target", one)
            if other is None
            else Difference(
                one.offset, other.offset, _different(one, other, timestamps=timestamps), "none", one
            )
            for one, other in found
        ),
        *(Difference(None, one.offset, "the target has a record too many", "source", one) for one in left),
    ]


def _different(one: Record, other: Record, *, timestamps: bool) -> str:
    names = _FIELDS if timestamps else _FIELDS[1:]
    differ = [name for name in names if getattr(one, name) != getattr(other, name)]
    return f"different {' and '.join(differ)}" if differ else "the records changed while they were compared"


class _Work:
    """One comparison of pairs. See ``compare``."""

    def __init__(
        self, left: Reader, right: Reader, view: View, stop: Stop, *, timestamps: bool, locate: bool
    ) -> None:
        self._left, self._right = left, right
        self._view = view
        self._here = view.digester(view.source, timestamps=timestamps)
        self._there = view.digester(view.target, timestamps=timestamps)
        self._stop = stop
        self._timestamps = timestamps
        self._locates = locate

    def run(self, pairs: Sequence[Pair], progress: Callable[[Progress], None]) -> list[Comparison]:
        """All pairs at the same time; then what differs, one by one."""
        ours = {pair.source.tp: self._source_digest(pair) for pair in pairs}
        theirs = {pair.target.tp: self._target_digest(pair) for pair in pairs}
        left = _Side(self._left, [pair.source for pair in pairs], ours)
        right = _Side(self._right, [pair.target for pair in pairs], theirs)
        total = sum(pair.source.stop - pair.source.start for pair in pairs)
        while not self._stop and not (left.done and right.done):
            side = left if right.done or (not left.done and left.records <= right.records) else right
            side.read()
            progress(Progress(left.records, right.records, total))
        found = []
        errors = self._left.errors.copy(), self._right.errors.copy()  # what follows reads other extents
        for pair in pairs:
            one, two = ours[pair.source.tp], theirs[pair.target.tp]
            one.finish()
            two.finish()
            error = errors[0].get(pair.source.tp) or errors[1].get(pair.target.tp)
            digests = one.hexdigest, two.hexdigest
            made = Comparison(pair, one.records, two.records, *digests, error=error)
            found.append(made)
            if error is None and not self._stop:
                try:
                    self._judge(made, one, two)
                except KcliError as failure:
                    made.error = failure
        return found

    def _source_digest(self, pair: Pair) -> PartitionDigest:
        if pair.offsets is None:
            return PartitionDigest(self._here)
        return AlignedDigest(source_pieces(pair.offsets.position), self._here)

    def _target_digest(self, pair: Pair) -> PartitionDigest:
        offsets = pair.offsets
        if offsets is None:
            return PartitionDigest(self._there)

        def cut(first: int, stop: int) -> Iterator[Piece]:
            return offsets.pieces(first, stop, CHUNK_RECORDS)

        return AlignedDigest(cut, self._there)

    def _judge(self, made: Comparison, one: PartitionDigest, two: PartitionDigest) -> None:
        if made.pair.offsets is None:
            self._judge_in_order(made, one, two)
        else:
            self._judge_by_offsets(made, made.pair.offsets, one, two)
        made.finished = not self._stop and (
            bool(made.differences)
            or made.pair.offsets is not None
            or made.source_digest == made.target_digest
        )

    # --- without a map -------------------------------------------------------------------------------

    def _judge_in_order(self, made: Comparison, one: PartitionDigest, two: PartitionDigest) -> None:
        chunks = _first_difference(one, two)
        if chunks is None:
            return
        made.counted = False
        found = self._locate(made, *chunks) if self._locates else _chunk_difference(*chunks)
        if found is not None:
            made.add(found)

    def _locate(self, made: Comparison, one: Chunk | None, two: Chunk | None) -> Difference | None:
        """Reads two chunks again, record by record; None if they are equal now."""
        here, there = _extent(made.pair.source.tp, one), _extent(made.pair.target.tp, two)
        for a, b in zip_longest(
            self._left.digests(here, self._here, self._stop),
            self._right.digests(there, self._there, self._stop),
        ):
            if a is None or b is None:
                what = "has no record for it" if b is None else "has a record too many"
                return Difference(
                    None if a is None else a[0],
                    None if b is None else b[0],
                    f"the target {what}",
                    "target" if b is None else "source",
                )
            if a[1] != b[1]:
                return Difference(a[0], b[0], self._what_differs(made, a[0], b[0]))
        return None

    # --- with a map ----------------------------------------------------------------------------------

    def _judge_by_offsets(
        self, made: Comparison, offsets: OffsetMap, one: PartitionDigest, two: PartitionDigest
    ) -> None:
        ours, theirs = ({chunk.number: chunk.digest for chunk in side.chunks} for side in (one, two))
        differ = [number for number in sorted(ours.keys() | theirs) if ours.get(number) != theirs.get(number)]
        made.counted = len(differ) <= _MOST_CHUNKS
        for number in differ[:_MOST_CHUNKS]:
            self._compare_chunk(made, offsets, number)
            if made.ignored or self._stop:
                return
        reach = 0
        for after, some in _by_source(offsets, two.surplus):
            reach = max(reach, self._tell_apart(made, offsets, after, some))
        self._note_uncopied(made, one.surplus, reach)

    def _compare_chunk(self, made: Comparison, offsets: OffsetMap, number: int) -> None:
        """Reads the records of a chunk on both sides again, and compares each with the copy of its own offset."""
        pair = made.pair
        low = max(number * CHUNK_RECORDS, pair.source.start)
        high = min((number + 1) * CHUNK_RECORDS, offsets.position)
        first, stop = offsets.translate(low), offsets.translate(high)
        assert isinstance(first, int)
        assert isinstance(stop, int)
        theirs = {
            at: (offset, digest)
            for offset, digest in self._right.digests(
                Extent(pair.target.tp, max(first, pair.target.start), stop), self._there, self._stop
            )
            if (at := offsets.source_of(offset)) is not None
        }
        for at, digest in self._left.digests(Extent(pair.source.tp, low, high), self._here, self._stop):
            offset, other = theirs.pop(at, (None, b""))
            if offset is None:
                made.add(Difference(at, offsets.copy_of(at), "the target has no record for it", "target"))
            elif other != digest:
                listed = len(made.differences) < MOST_LISTED
                what = self._what_differs(made, at, offset) if listed else ""
                made.add(Difference(at, offset, what))
            if made.ignored:
                return
        if not self._stop:
            for at, (offset, _) in theirs.items():
                made.add(Difference(at, offset, "the source has no record for it", "source"))

    def _tell_apart(
        self, made: Comparison, offsets: OffsetMap, after: int, surplus: Sequence[Surplus]
    ) -> int:
        """What the target has between two runs of the map, or after the last: records of the mirror, or of others.

        ``after``: the source offset at which the mirror's own begin. Returns how many records of the source follow the
        saved position on the target already.
        """
        pair = made.pair
        first, last = surplus[0].first, surplus[-1].last
        count = sum(one.records for one in surplus)
        if count > MOST_TOLD_APART:
            what = f"the target has {counted(count, 'record')} that the mirror did not confirm: too many to be compared"
            made.add(Difference(None, first, what, "source"), count)
            return 0
        there = Extent(pair.target.tp, first, last + 1)
        here = Extent(pair.source.tp, max(after, pair.source.start), pair.source_end)
        beside = [
            one
            for one in self._right.digests(there, self._there, self._stop)
            if offsets.source_of(one[0]) is None
        ]
        source = list(islice(self._left.digests(here, self._here, self._stop), count))
        told = tell_apart(beside, [digest for _, digest in source])
        # What was there before the copy began is not compared.
        foreign = [offset for offset in told.foreign if offset >= offsets.target_start]
        for offset in foreign:
            made.add(Difference(None, offset, "the source has no such record", "source"))
        if foreign:
            made.target_digest = folded(made.target_digest, surplus)
        if len(offsets) and first < offsets.target_end:
            made.repeated += told.own
            return 0
        made.ahead += told.own
        return told.reach

    def _note_uncopied(self, made: Comparison, surplus: Sequence[Surplus], reach: int) -> None:
        """The source's records after the position, of which the target has the first ``reach``."""
        made.not_copied = max(0, sum(one.records for one in surplus) - reach)
        if not made.not_copied:
            return
        made.source_digest = folded(made.source_digest, surplus)
        rest = Extent(made.pair.source.tp, surplus[0].first, made.pair.source.stop)
        first, _ = next(islice(self._left.digests(rest, self._here, self._stop), reach, None), (None, b""))
        made.add(Difference(first, None, "the target has no record for it", "target"), made.not_copied)

    def _what_differs(self, made: Comparison, here: int, there: int) -> str:
        """The field that differs in two records; where their timestamps may, ``ignored`` says why."""
        pair = made.pair
        a = next(self._left.records(Extent(pair.source.tp, here, here + 1)), None)
        b = next(self._right.records(Extent(pair.target.tp, there, there + 1)), None)
        if a is None or b is None:
            return "the records changed while they were compared"
        differ = [name for name in _FIELDS if getattr(a, name) != getattr(b, name)]
        if self._timestamps and "timestamp" in differ:
            made.ignored = replaced(a, b)
        elif "timestamp" in differ:
            differ.remove("timestamp")
        return f"different {differ[0]}" if differ else "the records changed while they were compared"


def replaced(source: Record, target: Record) -> str:
    """Why the timestamps of two records may differ; empty where they may not."""
    if target.timestamp_type == _APPENDED:
        return "the target replaced them (message.timestamp.type=LogAppendTime)"
    if in_ms(source.timestamp) == target.timestamp:
        return "the copy has them in ms"
    return ""


def _extent(tp: TopicPartition, chunk: Chunk | None) -> Extent:
    return Extent(tp, 0, 0) if chunk is None else Extent(tp, chunk.first, chunk.last + 1)


def _by_source(offsets: OffsetMap, surplus: Sequence[Surplus]) -> Iterator[tuple[int, list[Surplus]]]:
    """The records that are in no run of the map, by the source offset that follows the run before them."""
    some: list[Surplus] = []
    after = -1
    for one in surplus:
        at = offsets.source_before(one.first)
        if some and at != after:
            yield after, some
            some = []
        after = at
        some.append(one)
    if some:
        yield after, some


def _first_difference(one: PartitionDigest, two: PartitionDigest) -> tuple[Chunk | None, Chunk | None] | None:
    """The first chunks that differ; None for a side that has no such chunk, and None if none differs."""
    for a, b in zip_longest(one.chunks, two.chunks):
        if a is None or b is None or a.digest != b.digest:
            return a, b
    return None


def _chunk_difference(one: Chunk | None, two: Chunk | None) -> Difference:
    """The difference of two chunks: their first offsets, and the range in which the first record that differs is."""
    if one is None or two is None:
        what = f"has no record for offset {one.first:,} of the source" if one else "has records too many"
    elif one.records != two.records:
        what = f"has {counted(two.records, 'record')} where the source has {one.records:,}"
    else:
        what = f"has other records: at least one of {one.records:,}"
    if one is not None and two is not None:
        what += f", within offsets {one.first:,} to {one.last:,} of the source"
    lacking = "source" if one is None else "target" if two is None else "none"
    return Difference(
        None if one is None else one.first, None if two is None else two.first, f"the target {what}", lacking
    )
