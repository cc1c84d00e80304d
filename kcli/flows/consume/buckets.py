"""Keys with a value each, more of them than memory holds: kept in buckets on disk by the hash of the key.

A bucket holds all entries of its keys in the order in which they came, and is read back alone. Files are removed with
their folder, which is in ``TMPDIR``.
"""

import heapq
import marshal
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

BUCKETS = 128
IN_MEMORY = 400_000
"""Entries in memory, from which on they are written."""
_CHUNK = 10_000

Key = Any
"""Bytes, text, numbers, None, or a tuple of them: what ``marshal`` writes and a dict accepts."""
Merge = Callable[[dict[Key, Any], Iterable[tuple[Key, Any]]], object]
"""Adds later entries to a dict."""


class Buckets:
    """``add`` when a dict has become too large, ``merged`` or ``ordered`` at the end. To be closed."""

    def __init__(self) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __bool__(self) -> bool:
        """Whether anything was written."""
        return self._folder is not None

    def close(self) -> None:
        """Removes the files."""
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def add(self, entries: Mapping[Key, Any]) -> None:
        """Writes the entries behind those of before."""
        parts: list[list[tuple[Key, Any]]] = [[] for _ in range(BUCKETS)]
        for entry in entries.items():
            parts[hash(entry[0]) % BUCKETS].append(entry)
        for number, part in enumerate(parts):
            if part:
                with self._path(f"{number}").open("ab") as file:
                    _write(file, part)

    def merged(self, merge: Merge) -> Iterator[dict[Key, Any]]:
        """A dict for each bucket, made of its entries by ``merge``."""
        for number in range(BUCKETS):
            path = self._path(f"{number}")
            if path.exists():
                found: dict[Key, Any] = {}
                with path.open("rb") as file:
                    for part in _read(file):
                        merge(found, part)
                yield found

    def ordered(self, merge: Merge, order: Callable[[tuple[Key, Any]], Any]) -> Iterator[tuple[Key, Any]]:
        """All entries, by ``order``."""
        names = []
        for number, found in enumerate(self.merged(merge)):
            names.append(f"ordered-{number}")
            with self._path(names[-1]).open("wb") as file:
                _write(file, sorted(found.items(), key=order))
        with ExitStack() as stack:
            files = [stack.enter_context(self._path(name).open("rb")) for name in names]
            yield from heapq.merge(*(_entries(file) for file in files), key=order)

    def _path(self, name: str) -> Path:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="kcli-")
        return Path(self._folder.name, name)


def add_counts(found: dict[Key, Any], entries: Iterable[tuple[Key, Any]]) -> None:
    """Merges counts."""
    for key, count in entries:
        found[key] = found.get(key, 0) + count


def keep_last(found: dict[Key, Any], entries: Iterable[tuple[Key, Any]]) -> None:
    """Keeps the last value of each key."""
    found.update(entries)


def _write(file: BinaryIO, entries: list[tuple[Key, Any]]) -> None:
    for at in range(0, len(entries), _CHUNK):
        marshal.dump(entries[at : at + _CHUNK], file)


def _read(file: BinaryIO) -> Iterator[list[tuple[Key, Any]]]:
    while True:
        try:
            yield marshal.load(file)  # noqa: S302 - written by this process
        except EOFError:
            return


def _entries(file: BinaryIO) -> Iterator[tuple[Key, Any]]:
    for part in _read(file):
        yield from part
