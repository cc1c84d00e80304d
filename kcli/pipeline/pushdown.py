"""From the filters that Spark pushes down to what is read: ranges of offsets, and predicates of the decoder. Pure.

Filters are recognized by the names of their classes (``pyspark.sql.datasource``), so that nothing here needs pyspark. A
filter is accepted only if every record that is read then passes it; all others are Spark's to evaluate.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from kcli.core.classes import dataclass
from kcli.core.consumer.arrow_reader import RecordFilter
from kcli.core.types import TopicPartition
from kcli.pipeline.plan import Slice

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_NEVER_NULL = frozenset({"topic", "partition", "offset"})

Keys = frozenset[bytes | None]


@dataclass(slots=True)
class Pushed:
    """The conjunction of all accepted filters. None: no limit. Ends are exclusive; times are in ms."""

    topics: frozenset[str] | None = None
    partitions: frozenset[int] | None = None
    offsets: frozenset[int] | None = None
    start: int = 0
    stop: int | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    keys: Keys | None = None
    key_not_null: bool = False

    def accept(self, filters: Iterable[Any]) -> Iterator[Any]:
        """Takes what can be taken, and yields the others."""
        for one in filters:
            if not self._accepts(one):
                yield one

    def narrowed(self, slices: Iterable[Slice]) -> list[Slice]:
        """What has to be read of these slices, without those of which nothing is left."""
        found = []
        for each in slices:
            if self.topics is not None and each.topic not in self.topics:
                continue
            if self.partitions is not None and each.partition not in self.partitions:
                continue
            start = max(each.start, self.start)
            end = each.end if self.stop is None else min(each.end, self.stop)
            if self.offsets is not None:
                inside = [offset for offset in self.offsets if start <= offset < end]
                start, end = (min(inside), max(inside) + 1) if inside else (start, start)
            if start < end:
                found.append(each._replace(start=start, end=end))
        return found

    def record_filter(self, times: tuple[int | None, int | None]) -> RecordFilter:
        """What the decoder has to leave out, also of records that are not within ``times`` (``SourceSettings.times``)."""
        since, until = times
        return RecordFilter(
            max((ms for ms in (since, self.since_ms) if ms is not None), default=None),
            min((ms for ms in (until, self.until_ms) if ms is not None), default=None),
            None if self.keys is None else sorted(self.keys, key=lambda key: (key is not None, key)),
            self.key_not_null,
        )

    def begun(self, slices: Iterable[Slice], first: Mapping[TopicPartition, int]) -> list[Slice]:
        """The slices from the first offset with a timestamp of ``since_ms`` on; −1: there is none."""
        found = []
        for each in slices:
            offset = first.get(each.tp, each.start)
            if 0 <= offset < each.end:
                found.append(each._replace(start=max(each.start, offset)))
        return found

    # --- single filters ----------------------------------------------------------------------------------

    def _accepts(self, one: Any) -> bool:
        attribute: tuple[str, ...] = getattr(one, "attribute", ())
        if len(attribute) != 1:
            return False
        kind, column = type(one).__name__, attribute[0]
        if kind == "IsNotNull":
            return self._not_null(column)
        if column in ("key", "key_text"):
            return self._key(kind, column, one)
        if column == "topic":
            return self._topic(kind, one)
        if column in ("partition", "offset"):
            return self._number(kind, column, one)
        return column == "timestamp" and self._timestamp(kind, one)

    def _not_null(self, column: str) -> bool:
        if column == "key":
            self.key_not_null = True
            return True
        return column in _NEVER_NULL

    def _key(self, kind: str, column: str, one: Any) -> bool:
        if kind == "IsNull":
            return column == "key" and self._only_keys([None])  # a key that is not UTF-8 has no text either
        wanted = _values(kind, one)
        if wanted is None:
            return False
        keys = [_key_bytes(value) for value in wanted]
        return None not in keys and self._only_keys(keys)

    def _only_keys(self, keys: Iterable[bytes | None]) -> bool:
        found = frozenset(keys)
        self.keys = found if self.keys is None else self.keys & found
        return True

    def _topic(self, kind: str, one: Any) -> bool:
        wanted = _values(kind, one)
        if wanted is None or not all(isinstance(value, str) for value in wanted):
            return False
        found = frozenset(wanted)
        self.topics = found if self.topics is None else self.topics & found
        return True

    def _number(self, kind: str, column: str, one: Any) -> bool:
        wanted = _values(kind, one)
        if wanted is not None:
            if not all(_is_number(value) for value in wanted):
                return False
            found = frozenset(wanted)
            if column == "partition":
                self.partitions = found if self.partitions is None else self.partitions & found
                return True
            self.offsets = found if self.offsets is None else self.offsets & found
            return len(found) <= 1  # of several, those between them are read too
        if column != "offset" or not _is_number(getattr(one, "value", None)):
            return False
        limit = int(one.value)
        if kind in ("GreaterThan", "GreaterThanOrEqual"):
            self.start = max(self.start, limit + (kind == "GreaterThan"))
        elif kind in ("LessThan", "LessThanOrEqual"):
            stop = limit + (kind == "LessThanOrEqual")
            self.stop = stop if self.stop is None else min(self.stop, stop)
        else:
            return False
        return True

    def _timestamp(self, kind: str, one: Any) -> bool:
        value = getattr(one, "value", None)
        if not isinstance(value, datetime):
            return False
        moment = (value if value.tzinfo is not None else value.replace(tzinfo=UTC)) - _EPOCH
        below, rest = divmod(moment, _MILLISECOND)
        above = below + bool(rest)  # the first whole millisecond that is not before the moment
        if kind == "GreaterThan":
            self._since(below + 1)
        elif kind == "GreaterThanOrEqual":
            self._since(above)
        elif kind == "LessThan":
            self._until(above)
        elif kind == "LessThanOrEqual":
            self._until(below + 1)
        elif kind in ("EqualTo", "EqualNullSafe"):
            self._since(above)
            self._until(below + 1)
        else:
            return False
        return True

    def _since(self, ms: int) -> None:
        self.since_ms = ms if self.since_ms is None else max(self.since_ms, ms)

    def _until(self, ms: int) -> None:
        self.until_ms = ms if self.until_ms is None else min(self.until_ms, ms)


def _values(kind: str, one: Any) -> list[Any] | None:
    """The values one of which the column has to be equal to; None for another kind of filter. A null equals nothing."""
    if kind == "In":
        return [value for value in one.value if value is not None]
    if kind == "EqualTo" or (kind == "EqualNullSafe" and one.value is not None):
        return [] if one.value is None else [one.value]
    return None


def _key_bytes(value: Any) -> bytes | None:
    """The bytes of a key; None for what is none."""
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    try:
        return value.encode() if isinstance(value, str) else None
    except UnicodeEncodeError:
        return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
