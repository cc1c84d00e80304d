"""The last record of each key of a partition: what compaction keeps, whenever it runs. Pure.

Only digests are kept, of 16 bytes for each key and each record. Where there are more keys than memory should hold, they
are divided into buckets by their digests, and the partition is read once for each bucket.
"""

from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from struct import Struct

from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.kernels.shapes import Row
from kcli.core.records.passing import offsets_taken, rows_taken
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
    """The keys of bucket ``bucket`` of ``buckets``; batches are added in order.

    ``change``: of each row before it is added, None for one that does not count. ``timestamps`` False leaves them out.
    ``most``: with more keys than that there are twice as many buckets, and the keys of the others are removed.
    ``keyless``: records without a key are counted, with a digest of all of them, instead of refused.
    """

    def __init__(
        self,
        bucket: int = 0,
        buckets: int = 1,
        *,
        change: Callable[[Row], Row | None] | None = None,
        timestamps: bool = True,
        most: int | None = None,
        keyless: bool = False,
    ) -> None:
        self._bucket = bucket
        self.buckets = buckets
        self._change = change
        self._timestamps = timestamps
        self._most = most
        self._keyless = keyless
        self.by_key: dict[bytes, Last] = {}
        self.records = 0
        self.without_key = 0
        self.digest_without_key = b""

    def update(self, batch: BatchView, first: int, stop: int) -> None:
        """Adds the records of ``batch`` with offsets from ``first`` up to, not including, ``stop``."""
        if self._change is not None:
            self._update_rows(batch, first, stop)
            return
        columns = batch.columns()
        data = bytes(batch.payload())
        base, appended = batch.base_offset, batch.timestamp_type == _APPENDED
        for delta, time, key, key_end, value, value_end, headers, end, _ in zip(*columns, strict=True):
            offset = base + delta
            if not first <= offset < stop:
                continue
            self.records += 1
            found = b"" if key < 0 else key_digest(data[key:key_end])
            if found and self._is_of_another(found):
                continue
            stamp = batch.max_timestamp if appended else batch.base_timestamp + time
            rest = data[value:end] if value_end == headers else data[value:value_end] + data[headers:end]
            self._add(found, offset, stamp, -1 if value < 0 else value_end - value, rest)

    def narrow(self, buckets: int) -> None:
        """Divides into so many buckets; removes the keys that are not of this one."""
        self.buckets = buckets
        for key in [key for key in self.by_key if self._is_of_another(key)]:
            del self.by_key[key]

    def _update_rows(self, batch: BatchView, first: int, stop: int) -> None:
        assert self._change is not None
        for offset, row in zip(
            offsets_taken(batch, first, stop), rows_taken(batch, first, stop), strict=True
        ):
            self.records += 1
            changed = self._change(row)
            if changed is None:
                continue
            key, value, headers, stamp = changed
            found = b"" if key is None else key_digest(key)
            if not (found and self._is_of_another(found)):
                self._add(found, offset, stamp, -1 if value is None else len(value), (value or b"") + headers)

    def _is_of_another(self, key: bytes) -> bool:
        return self.buckets > 1 and int.from_bytes(key[:4]) % self.buckets != self._bucket

    def _add(self, key: bytes, offset: int, stamp: int, length: int, rest: bytes) -> None:
        if length < 0 and key:
            self.by_key[key] = Last(offset, None)
            return
        content = blake2b(_TIME.pack(stamp if self._timestamps else 0), digest_size=_DIGEST)
        content.update(_TIME.pack(length))
        content.update(rest)
        if key:
            self.by_key[key] = Last(offset, content.digest())
            if self._most is not None and len(self.by_key) > self._most:
                self.narrow(2 * self.buckets)
        elif self._keyless:
            self.without_key += 1
            content.update(self.digest_without_key)
            self.digest_without_key = content.digest()
        else:
            raise NoKeyError(
                f"the record at offset {offset} has no key",
                why="--compacted compares the last record of each key",
                do="leave --compacted out",
            )


def key_digest(key: bytes) -> bytes:
    """The digest that represents a key."""
    return blake2b(key, digest_size=_DIGEST).digest()


class KeyDifference(NamedTuple):
    """A key whose last records differ, by the offsets of these; None where that side has none. ``key`` is its digest."""

    source_offset: int | None
    target_offset: int | None
    what: str
    key: bytes = b""


def live_keys(side: Mapping[bytes, Last]) -> int:
    """How many keys have a value."""
    return sum(last.content is not None for last in side.values())


def key_differences(source: Mapping[bytes, Last], target: Mapping[bytes, Last]) -> Iterator[KeyDifference]:
    """Keys with another last record on the target, in no order. A tombstone and no record are the same."""
    for key, last in source.items():
        other = target.get(key)
        if last.content is None:
            if other is not None and other.content is not None:
                yield KeyDifference(
                    last.offset, other.offset, "the target still has a key that was deleted", key
                )
        elif other is None or other.content is None:
            yield KeyDifference(last.offset, None, "the target has no record of its key", key)
        elif other.content != last.content:
            yield KeyDifference(
                last.offset, other.offset, "the target has another last record of its key", key
            )
    for key, last in target.items():
        if last.content is not None and key not in source:
            yield KeyDifference(None, last.offset, "the target has a key that the source does not have", key)
