"""Fetch: slices of the segments' files, and the aborted transactions in them. There are no sessions.

A slice ends where the index says that a batch begins, so that none is sent twice; without such an entry it may end in a
batch, as brokers' do.
"""

import os
from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter
from typing import cast

from kcli.core.classes import NamedTuple
from kcli.core.error_codes import NONE, OFFSET_OUT_OF_RANGE, UNKNOWN_TOPIC_ID
from kcli.core.errors import DamagedFileError
from kcli.core.logdir.aborted_index import Aborted
from kcli.core.logdir.offset_index import IndexEntry, OffsetIndex
from kcli.core.logdir.partition_log import PartitionLog, Place
from kcli.core.offline.directories import Directories
from kcli.core.offline.file_slices import FileSlice, OpenFile
from kcli.core.offline.reading import last_stable, read
from kcli.core.offline.seams import check_seam
from kcli.core.protocol.codec import Buffer
from kcli.core.protocol.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from kcli.core.records.batch import LENGTH_END
from kcli.core.records.segment import PIECE
from kcli.core.types import TopicPartition

_MOST_SLICES = 32
"""Of a response: each has a descriptor until it was sent."""


class _Read(NamedTuple):
    """What a partition has at the offset that is asked for."""

    log: PartitionLog
    limit: int
    records: FileSlice | None
    aborted: list[AbortedTransaction] | None


def fetch(directories: Directories, request: FetchRequest, _version: int) -> FetchResponse | None:
    """Answers at once if there is anything to say; else when the time is up, as more may have been written meanwhile."""
    room, slices = request.max_bytes, 0
    topics: list[FetchableTopicResponse] = []
    is_first = speaks = False
    for topic in request.topics:
        name = _name_of(directories, topic)
        rows = []
        for asked in topic.partitions:
            if slices >= _MOST_SLICES:
                break  # the client asks for these next: it begins each request with another partition
            row = _row(directories, name, asked, request, 0 if is_first and room <= 0 else max(room, 1))
            size = sum(len(part) for part in cast("list[FileSlice]", row.records))
            is_first = is_first or size > 0
            slices += size > 0
            speaks = speaks or size > 0 or row.error_code != NONE
            room -= size
            rows.append(row)
        topics.append(FetchableTopicResponse(topic=topic.topic, topic_id=topic.topic_id, partitions=rows))
    if not speaks and request.max_wait_ms > 0 and topics:
        return None
    return FetchResponse(responses=topics)


def _name_of(directories: Directories, topic: FetchTopic) -> str:
    """Empty for an id that is not known."""
    if topic.topic:
        return topic.topic
    known = directories.by_id.get(bytes(topic.topic_id))
    return known.name if known is not None else ""


def _row(
    directories: Directories, name: str, asked: FetchPartition, request: FetchRequest, room: int
) -> PartitionData:
    if not name:
        return _error(asked, UNKNOWN_TOPIC_ID)
    most = min(room, asked.partition_max_bytes)
    committed = bool(request.isolation_level)
    tp = TopicPartition(name, asked.partition)
    ends = directories.once(_ends)

    def find(log: PartitionLog) -> _Read | None:
        limit = last_stable(directories, log) if committed else log.end_offset
        found = _read(log, asked.fetch_offset, most, ends, limit, committed=committed)
        if found is not None and found.records is not None and not found.records.position:
            check_seam(directories, log, asked.fetch_offset)
        return found

    code, found = read(directories, tp, find)
    if code:
        return _error(asked, code)
    if found is None:
        return _error(asked, OFFSET_OUT_OF_RANGE)
    return PartitionData(
        partition_index=asked.partition,
        error_code=NONE,
        high_watermark=found.log.end_offset,
        last_stable_offset=found.limit,
        log_start_offset=found.log.start_offset,
        aborted_transactions=found.aborted,
        # The encoder asks its buffers only for their length, and hands them on.
        records=cast("list[Buffer]", [] if found.records is None else [found.records]),
    )


def _error(asked: FetchPartition, code: int) -> PartitionData:
    """Bounds are not told with an error."""
    return PartitionData(
        partition_index=asked.partition,
        error_code=code,
        high_watermark=-1,
        aborted_transactions=None,
        records=[],
    )


_Ends = dict[tuple[TopicPartition, int], tuple[PartitionLog, Place]]
"""Where the batch with an offset begins, since the slice before it ended there: it need not be looked for."""


def _ends(_directories: Directories) -> _Ends:
    return {}


def _read(
    log: PartitionLog, offset: int, most: int, ends: _Ends, limit: int, *, committed: bool
) -> _Read | None:
    """What is there from an offset up to ``limit``; None for an offset that is not in the log."""
    if not log.start_offset <= offset <= log.end_offset:
        return None
    known = ends.pop((log.tp, offset), None)
    if known is not None and known[0] is log and offset < limit:
        place: Place | None = known[1]
    else:
        place = log.locate(offset) if offset < limit else None
    if place is None:
        return _Read(log, limit, None, [] if committed else None)
    segment = log.segment(place.segment)
    end, stop = _end_of(log, place.segment, limit)
    if place.position + most < end:
        boundary = _boundary(log.index(place.segment), place.position, place.position + most)
        end = place.position + most
        if boundary is not None:
            end = boundary.position
            stop = min(stop, boundary.offset + 1)
            following = int.from_bytes(os.pread(segment.fileno(), 8, end), "big")
            ends[log.tp, following] = log, Place(place.segment, end)
        else:
            end = max(
                end, place.position + _size_at(segment.fileno(), place.position)
            )  # one at least (KIP-74)
    size = min(end, segment.size) - place.position
    if size <= 0:
        return _Read(log, limit, None, [] if committed else None)
    aborted = None
    rows: Sequence[Aborted] = ()
    try:
        if not log.check(offset, place, place.position + size) and committed:
            rows = log.aborted(offset, stop)
    except DamagedFileError as damage:
        before = damage.position - place.position
        if damage.path != segment.path or not 0 < before < size:
            raise
        size = before
        rows = log.aborted(offset, damage.offset) if committed else ()
    segment.forget(place.position, place.position + size + PIECE)
    if committed:
        aborted = [
            AbortedTransaction(producer_id=one.producer_id, first_offset=one.first_offset) for one in rows
        ]
    records = FileSlice(OpenFile(segment.path, segment.fileno()), place.position, size)
    return _Read(log, limit, records, aborted)


def _end_of(log: PartitionLog, number: int, limit: int) -> tuple[int, int]:
    """Where what may be read of a segment ends: the position, and an offset that no record before it has."""
    last = number == len(log.files) - 1
    end, stop = log.files[number].size, log.end_offset if last else log.files[number + 1].base_offset
    if last and log.tail is not None:
        end = log.tail.position
    if limit < stop:
        place = log.locate(limit)
        if place is not None and place.segment == number:
            return place.position, limit
    return end, min(stop, limit)


def _boundary(index: OffsetIndex, low: int, high: int) -> IndexEntry | None:
    """The last batch that the index of a segment names between two positions of it."""
    at = bisect_right(index, high, key=attrgetter("position"))
    found = index[at - 1] if at else None
    return found if found is not None and low < found.position <= high else None


def _size_at(descriptor: int, position: int) -> int:
    """The size that the header of the batch at a position gives."""
    head = os.pread(descriptor, LENGTH_END, position)
    return LENGTH_END + int.from_bytes(head[8:], "big", signed=True) if len(head) == LENGTH_END else 0
