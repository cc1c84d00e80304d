"""A few records around an offset, cut to what a screen can show. Reads within limits; runs in the consumer's thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcli.core.classes import NamedTuple, dataclass
from kcli.core.errors import NotFoundError
from kcli.core.types import Record, TopicPartition
from kcli.flows.groups.bounded_reads import Budget, known_bounds, read_spans
from kcli.flows.groups.records_around import records_before

if TYPE_CHECKING:  # loaded where records are read
    from kcli.core.consumer.consumer import Consumer

MOST_BYTES, MOST_HEADERS = 65_536, 50
"""What is kept of a key, a value or a header, and how many headers are."""
_PAGE_BYTES, _PAGE_SECONDS = 16 << 20, 10.0


class Part(NamedTuple):
    """The first bytes of a key, value or header that has ``size`` bytes; None for null."""

    data: bytes | None
    size: int

    @property
    def hidden(self) -> int:
        """How many bytes are not kept."""
        return self.size - len(self.data or b"")


@dataclass(frozen=True, slots=True)
class ShownRecord:
    """A record, cut. ``more_headers`` are left out."""

    offset: int
    timestamp: int
    key: Part
    value: Part
    headers: tuple[tuple[str, Part], ...]
    more_headers: int = 0


@dataclass(frozen=True, slots=True)
class RecordPage:
    """Records in the order of their offsets, of a log from ``start`` to ``end``. ``limited``: there may be more of them
    here, reading ended before."""

    records: tuple[ShownRecord, ...]
    start: int
    end: int
    limited: bool = False


def read_page(
    consumer: Consumer, tp: TopicPartition, offset: int, *, before: int, after: int, timeout: float
) -> RecordPage:
    """At most ``before`` records below an offset, and ``after`` from it on. NotFoundError without the partition."""
    logs = known_bounds(consumer, [tp], timeout)
    if tp not in logs.starts:
        raise NotFoundError(
            f"{tp} cannot be read",
            why="where its log begins and ends is not known: it does not exist, or has no leader",
            do=f"`kcli topics describe {tp.topic}` shows its partitions",
        )
    start, end = logs.starts[tp], logs.ends[tp]
    budget = Budget(_PAGE_BYTES, _PAGE_SECONDS)
    found: list[ShownRecord] = []

    def add(record: Record) -> bool:
        found.append(shown_record(record))
        return len(found) >= after

    at = max(start, min(offset, end))
    if after and at < end:
        read_spans(consumer, {tp: range(at, end)}, add, budget)
    limited = budget.spent
    earlier: list[ShownRecord] = []
    if before and at > start:
        budget = Budget(_PAGE_BYTES, _PAGE_SECONDS)
        read = records_before(consumer, {tp: at}, {tp: start}, before, budget)
        earlier = [shown_record(record) for record in read[tp]]
        limited = limited or budget.spent
    return RecordPage((*earlier, *found), start, end, limited)


def shown_record(record: Record) -> ShownRecord:
    """What is kept of a record."""
    headers = tuple(
        (name if isinstance(name, str) else name.decode("utf-8", "backslashreplace"), _part(value))
        for name, value in record.headers[:MOST_HEADERS]
    )
    return ShownRecord(
        record.offset,
        record.timestamp,
        _part(record.key),
        _part(record.value),
        headers,
        max(0, len(record.headers) - MOST_HEADERS),
    )


def _part(data: bytes | None) -> Part:
    return Part(None, 0) if data is None else Part(bytes(data[:MOST_BYTES]), len(data))
