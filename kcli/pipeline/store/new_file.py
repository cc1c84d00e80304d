"""A file that is written from its beginning to its end, and has its name only when it is complete and lasting."""

import hashlib
import io
from typing import Any, BinaryIO

from kcli.core.classes import NamedTuple

_BLOCK = 1 << 20


class Digest(NamedTuple):
    """Size and SHA-256 of a file."""

    bytes: int
    sha256: str


class NewFile(io.RawIOBase):
    """Binary, for writing only; ``name``, for messages, exists after ``commit``. Leaving the ``with`` block without it
    discards. A store defines ``append``, ``finish`` and ``discard``.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self._hash = hashlib.sha256()
        self._size = 0

    def __exit__(self, *_exc: object) -> None:
        self.discard()

    def writable(self) -> bool:
        """True, as writers of files expect."""
        return True

    def tell(self) -> int:
        """The number of bytes written."""
        return self._size

    def write(self, data: Any) -> int:
        """Writes all of ``data``."""
        with memoryview(data).cast("B") as view:
            self._hash.update(view)
            self.append(view)
            self._size += len(view)
            return len(view)

    def close(self) -> None:
        """Nothing: a library that closes what it has written to does not know whether it is complete."""

    def commit(self) -> bool:
        """Gives the file its name; False if there is one of that name already: this one is discarded then."""
        won = self.finish()
        self.discard()
        return won

    def digest(self) -> Digest:
        """Size and digest of what was written so far."""
        return Digest(self._size, self._hash.hexdigest())

    def append(self, data: memoryview) -> None:
        """Adds all of ``data``, which is valid during the call."""
        raise NotImplementedError

    def finish(self) -> bool:
        """See ``commit``."""
        raise NotImplementedError

    def discard(self) -> None:
        """Removes what has no name; does nothing after ``commit``, and raises nothing."""
        raise NotImplementedError


def digest_of(file: BinaryIO) -> Digest:
    """Size and digest of a file."""
    found = hashlib.sha256()
    size, buffer = 0, bytearray(_BLOCK)
    while count := file.readinto(buffer):  # type: ignore[attr-defined]
        found.update(memoryview(buffer)[:count])
        size += count
    return Digest(size, found.hexdigest())
