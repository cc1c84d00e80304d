"""The last record of each key of a partition: what compaction keeps, whenever it runs. Pure.

Only digests are kept, of 16 bytes for each key and each record. Where there are more keys than memory should hold, they
are divided into buckets by their digests, and the partition is read once for each bucket.
"""

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from struct import Struct
from typing import NamedTuple

from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.records.view import BatchView

KEYS_AT_ONCE = 2_000_000
"""About 500 MB for both sides."""

_DIGEST = 16
_TIME = Struct(">q")
_APPENDED = 1


class Last(NamedTuple):
    """``content``: the digest of timestamp, value and headers; None for a tombstone."""

    offset: int
    content: bytes | None


class NoKeyError(KcliError):
    """A record without a key, which compaction cannot keep."""

    exit_code = ExitCode.REFUSED


class LastValues:
    """The keys of bucket ``bucket`` of ``buckets``; batches are added in order."""

    def __init__(self, bucket: int = 0, buckets: int = 1) -> None:
        self._bucket = bucket
        self._buckets = buckets
        self.by_key: dict[bytes, Last] = {}
        self.records = 0

    def update(self, batch: BatchView, first: int, stop: int) -> None:
        """Adds the records of ``batch`` with offsets from ``first`` up to, not including, ``stop``."""
        columns = batch.columns()
        data = bytes(batch.payload())
        base, appended = batch.base_offset, batch.timestamp_type == _APPENDED
        for delta, time, key, key_end, value, value_end, headers, end, _ in zip(*columns, strict=True):
            offset = base + delta
            if not first <= offset < stop:
                continue
            self.records += 1
            if key < 0:
                raise NoKeyError(
                    f"the record at offset {offset} has no key",
                    why="--compacted compares the last record of each key",
                    do="leave --compacted out",
                )
            found = key_digest(data[key:key_end])
            if self._buckets > 1 and int.from_bytes(found[:4]) % self._buckets != self._bucket:
                continue
            if value < 0:
                self.by_key[found] = Last(offset, None)
                continue
            stamp = batch.max_timestamp if appended else batch.base_timestamp + time
            content = blake2b(_TIME.pack(stamp), digest_size=_DIGEST)
            content.update(_TIME.pack(value_end - value))
            content.update(
                data[value:end] if value_end == headers else data[value:value_end] + data[headers:end]
            )
            self.by_key[found] = Last(offset, content.digest())


def key_digest(key: bytes) -> bytes:
    """The digest that represents a key."""
    return blake2b(key, digest_size=_DIGEST).digest()


class KeyDifference(NamedTuple):
    """A key whose last records differ, by the offsets of these; None where that side has none."""

    source_offset: int | None
    target_offset: int | None
    what: str


def live_keys(side: Mapping[bytes, Last]) -> int:
    """How many keys have a value."""
    return sum(last.content is not None for last in side.values())


def key_differences(source: Mapping[bytes, Last], target: Mapping[bytes, Last]) -> Iterator[KeyDifference]:
    """Keys with another last record on the target, in no order. A tombstone and no record are the same."""
    for key, last in source.items():
        other = target.get(key)
        if last.content is None:
            if other is not None and other.content is not None:
                yield KeyDifference(last.offset, other.offset, "the target still has a key that was deleted")
        elif other is None or other.content is None:
            yield KeyDifference(last.offset, None, "the target has no record of its key")
        elif other.content != last.content:
            yield KeyDifference(last.offset, other.offset, "the target has another last record of its key")
    for key, last in target.items():
        if last.content is not None and key not in source:
            yield KeyDifference(None, last.offset, "the target has a key that the source does not have")
