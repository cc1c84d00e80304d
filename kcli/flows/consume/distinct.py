"""``consume --distinct``: of the records with the same value of some fields only the first.

What was seen is kept as digests, in memory as a set. More of them are in a file (``kcli.files.scratch``), in buckets by
their first bits: to ask for one is to read the bucket that it would be in. A set that has grown too large is merged into
a new file, bucket by bucket.
"""

from array import array
from collections.abc import Iterable
from hashlib import blake2b
from itertools import accumulate, compress
from struct import Struct
from typing import Any

from kcli.files.scratch import ScratchFile
from kcli.flows.filters.field_paths import FieldReader
from kcli.flows.filters.selection import BatchFields, Mask
from kcli.serde.json_text import dump_json

IN_MEMORY = 500_000
"""Digests in memory, from which on they are written."""
_DIGEST = 16
_FIRST_BITS = Struct(">H")
_BUCKETS = 1 << 16
_TOGETHER = 256  # buckets that are written at once


class DistinctFilter:
    """A Filter, which has to be the last: what a later one left out would count as seen. To be closed."""

    def __init__(self, reader: FieldReader) -> None:
        self.count = 0
        self._reader = reader
        self._seen = set[bytes]()
        self._stored: _Stored | None = None

    def keep(self, fields: BatchFields, mask: Mask) -> bool:
        """See Filter. Raises FileError."""
        texts = self._texts(fields, mask)
        indices = list(compress(range(len(mask)), mask))
        firsts = dict(
            zip(reversed(texts), reversed(indices), strict=True)
        )  # the first of equal ones is set last
        seen, stored = self._seen, self._stored
        mask[:] = bytes(len(mask))
        for text, index in firsts.items():
            digest = blake2b(text, digest_size=_DIGEST).digest()
            if digest not in seen and (stored is None or digest not in stored):
                seen.add(digest)
                mask[index] = 1
        if len(seen) > IN_MEMORY:
            self._stored = _Stored(seen, stored)
            seen.clear()
        found = mask.count(1)
        self.count += found
        return bool(found)

    def close(self) -> None:
        """Removes what is on disk."""
        if self._stored is not None:
            self._stored.close()

    def _texts(self, fields: BatchFields, mask: Mask) -> list[bytes]:
        """Of records with equal cells the same, of others another: bytes differ from text, and 1 from true and "1"."""
        columns = [list(map(_identity, column)) for column in self._reader.columns(fields, mask)]
        if len(columns) == 1:
            return columns[0]
        return [
            b"".join([b"%d:%b" % (len(part), part) for part in row]) for row in zip(*columns, strict=True)
        ]


class _Stored:
    """``digests``, and those of ``before``, on disk."""

    def __init__(self, digests: Iterable[bytes], before: "_Stored | None") -> None:
        parts: list[list[bytes]] = [[] for _ in range(_BUCKETS)]
        for digest in digests:
            parts[_FIRST_BITS.unpack_from(digest)[0]].append(digest)
        self._file = ScratchFile()
        sizes = []
        for first in range(0, _BUCKETS, _TOGETHER):
            data = []
            for number, part in enumerate(parts[first : first + _TOGETHER], first):
                old = b"" if before is None else before.bucket(number)
                data += [old, *part]
                sizes.append(len(old) + _DIGEST * len(part))
            self._file.append(b"".join(data))
        self._starts = array("Q", accumulate(sizes, initial=0))
        if before is not None:
            before.close()

    def __contains__(self, digest: bytes) -> bool:
        bucket = self.bucket(_FIRST_BITS.unpack_from(digest)[0])
        at = bucket.find(digest)
        while at > 0 and at % _DIGEST:  # from the end of one to the beginning of the next
            at = bucket.find(digest, at + 1)
        return at >= 0

    def bucket(self, number: int) -> bytes:
        """All digests with these first bits."""
        start = self._starts[number]
        return self._file.read(start, self._starts[number + 1] - start)

    def close(self) -> None:
        self._file.close()


def _identity(cell: Any) -> bytes:
    return b"b" + cell if isinstance(cell, bytes) else b"j" + dump_json(cell).encode()
