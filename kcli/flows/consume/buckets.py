"""Keys with a number each, more of them than memory holds: kept in buckets on disk by the hash of the key.

A bucket holds all entries of its keys in the order in which they came, and is read back alone. Chunks are written with
all keys of a bucket first, then all numbers: lists of bytes and integers cost neither an object for each entry nor the
garbage collector's time.
"""

import heapq
import marshal
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import repeat
from operator import add
from typing import Any

from kcli.files.scratch import ScratchFile

BUCKETS = 128
IN_MEMORY = 400_000
"""Entries in memory, from which on they are written; also from ``MOST_BYTES`` on."""
MOST_BYTES = 64_000_000
"""Of the records that keys in memory were read from, which are at least as large."""
_CHUNK = 1_000
_PLAIN = 2  # the format of marshal in which nothing refers to what came before: finding that costs more than it saves

Key = Any
"""Bytes, text, numbers, None, or a tuple of them: what ``marshal`` writes and a dict accepts."""
Place = tuple[int, int]
"""Where a chunk begins, and its size."""
Merge = Callable[[dict[Key, int], Sequence[Key], Sequence[int]], object]
"""Adds later keys, each there once, and their numbers to a dict."""


class Buckets:
    """``add`` when a dict has become too large, ``merged`` or ``ordered`` at the end. To be closed."""

    def __init__(self) -> None:
        self._file: ScratchFile | None = None
        self._chunks: list[list[Place]] = [[] for _ in range(BUCKETS)]

    def __bool__(self) -> bool:
        """Whether anything was written."""
        return self._file is not None

    def close(self) -> None:
        """Removes the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def add(self, entries: Mapping[Key, int]) -> None:
        """Writes the entries behind those of before. Raises FileError."""
        keys: list[list[Key]] = [[] for _ in range(BUCKETS)]
        numbers: list[list[int]] = [[] for _ in range(BUCKETS)]
        for key, number in entries.items():
            bucket = hash(key) % BUCKETS
            keys[bucket].append(key)
            numbers[bucket].append(number)
        for chunks, *part in zip(self._chunks, keys, numbers, strict=True):
            if part[0]:
                chunks.append(self._write(*part))

    def merged(self, merge: Merge) -> Iterator[dict[Key, int]]:
        """A dict for each bucket, made of its entries by ``merge``."""
        for chunks in self._chunks:
            if chunks:
                found: dict[Key, int] = {}
                for place in chunks:
                    merge(found, *self._read(place))
                yield found

    def ordered(self, merge: Merge, order: Callable[[tuple[Key, int]], Any]) -> Iterator[tuple[Key, int]]:
        """All entries, by ``order``."""
        runs = []
        for found in self.merged(merge):
            entries = sorted(found.items(), key=order)
            runs.append([self._write(*part) for part in _parts(entries)])
        return heapq.merge(*(self._entries(places) for places in runs), key=order)

    def _entries(self, places: Sequence[Place]) -> Iterator[tuple[Key, int]]:
        for place in places:
            yield from zip(*self._read(place), strict=True)

    def _write(self, keys: list[Key], numbers: list[int]) -> Place:
        self._file = self._file or ScratchFile()
        data = marshal.dumps((keys, numbers), _PLAIN)
        return self._file.append(data), len(data)

    def _read(self, place: Place) -> tuple[Sequence[Key], Sequence[int]]:
        assert self._file is not None
        found: tuple[list[Key], list[int]] = marshal.loads(self._file.read(*place))  # noqa: S302 - of this process
        return found


def add_counts(found: dict[Key, int], keys: Sequence[Key], counts: Sequence[int]) -> None:
    """Merges counts."""
    found.update(zip(keys, map(add, map(found.get, keys, repeat(0)), counts), strict=True))


def keep_last(found: dict[Key, int], keys: Sequence[Key], numbers: Sequence[int]) -> None:
    """Keeps the last number of each key."""
    found.update(zip(keys, numbers, strict=True))


def _parts(entries: Sequence[tuple[Key, int]]) -> Iterator[tuple[list[Key], list[int]]]:
    for at in range(0, len(entries), _CHUNK):
        keys, numbers = zip(*entries[at : at + _CHUNK], strict=True)
        yield list(keys), list(numbers)
