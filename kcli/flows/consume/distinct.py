"""``consume --distinct``: of the records with the same value of some fields only the first.

What was seen is kept as text, or as its digest where that is shorter; what memory does not hold, in an SQLite file that
is removed with its folder, which is in ``TMPDIR``.
"""

import tempfile
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kcli.flows.filters.field_paths import FieldReader
from kcli.flows.filters.selection import BatchFields, Mask
from kcli.serde.json_text import dump_json

if TYPE_CHECKING:
    from sqlite3 import Connection

IN_MEMORY = 500_000
"""Values in memory, from which on they are written."""
_DIGEST = 16
_ASKED = 500  # values of one question


class DistinctFilter:
    """A Filter, which has to be the last: what a later one left out would count as seen."""

    def __init__(self, reader: FieldReader) -> None:
        self.count = 0
        self._reader = reader
        self._seen = set[bytes]()
        self._stored: _Stored | None = None

    def keep(self, fields: BatchFields, mask: Mask) -> bool:
        """See Filter."""
        indices = [index for index, wanted in enumerate(mask) if wanted]
        first: dict[bytes, int] = {}
        for index, row in zip(indices, self._reader.rows(fields, mask), strict=True):
            value = _identity(row)
            if value not in self._seen:
                first.setdefault(value, index)
        if self._stored is not None:
            for value in self._stored.among(list(first)):
                del first[value]
        mask[:] = bytes(len(mask))
        for index in first.values():
            mask[index] = 1
        self.count += len(first)
        self._seen.update(first)
        if len(self._seen) > IN_MEMORY:
            self._stored = self._stored or _Stored()
            self._stored.add(self._seen)
            self._seen.clear()
        return bool(first)

    def close(self) -> None:
        """Removes what is on disk."""
        if self._stored is not None:
            self._stored.close()


class _Stored:
    """The values on disk."""

    def __init__(self) -> None:
        import sqlite3  # only where there are many values

        self._folder = tempfile.TemporaryDirectory(prefix="kcli-")
        self._db: Connection = sqlite3.connect(Path(self._folder.name, "seen"), isolation_level=None)
        for line in ("journal_mode=OFF", "synchronous=OFF", "cache_size=-32768", "temp_store=MEMORY"):
            self._db.execute(f"PRAGMA {line}")
        self._db.execute("CREATE TABLE seen (value BLOB PRIMARY KEY) WITHOUT ROWID")

    def add(self, values: set[bytes]) -> None:
        self._db.execute("BEGIN")
        self._db.executemany("INSERT INTO seen VALUES (?)", ((value,) for value in sorted(values)))
        self._db.execute("COMMIT")

    def among(self, values: Sequence[bytes]) -> list[bytes]:
        """Those of ``values`` that are stored."""
        found: list[bytes] = []
        for at in range(0, len(values), _ASKED):
            part = values[at : at + _ASKED]
            query = f"SELECT value FROM seen WHERE value IN ({','.join('?' * len(part))})"  # noqa: S608 - only marks
            found += [row[0] for row in self._db.execute(query, part)]
        return found

    def close(self) -> None:
        self._db.close()
        self._folder.cleanup()


def _identity(row: Sequence[Any]) -> bytes:
    """Of rows with equal cells the same, of others another: bytes differ from text, and 1 from true and "1"."""
    parts = [b"b" + cell if isinstance(cell, bytes) else b"j" + dump_json(cell).encode() for cell in row]
    text = parts[0] if len(parts) == 1 else b"".join(b"%d:%b" % (len(part), part) for part in parts)
    return text if len(text) < _DIGEST else blake2b(text, digest_size=_DIGEST).digest()
