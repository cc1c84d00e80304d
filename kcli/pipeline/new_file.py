"""A file that has its name only when it is complete and on disk.

Two attempts of a task may write it at once, one of them long given up: the first to be complete has the name, and the
other one's file goes. On file systems without hard links the later one replaces the earlier.
"""

import contextlib
import errno
import hashlib
import io
import os
from pathlib import Path
from typing import Any, NamedTuple

from kcli.files.atomic import naming, sync_folder

TEMPORARY = ".tmp"
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
_BLOCK = 1 << 20


class Digest(NamedTuple):
    """Size and SHA-256 of a file."""

    bytes: int
    sha256: str


class NewFile(io.RawIOBase):
    """Binary, for writing only; ``path`` exists after ``commit``. Leaving the ``with`` block without it discards."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path
        self._hash = hashlib.sha256()
        self._size = 0
        folder, name = os.path.split(path)
        os.makedirs(folder, exist_ok=True)
        self._temporary = os.path.join(folder, f".{name}.{os.urandom(8).hex()}{TEMPORARY}")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        with naming(path):
            self._descriptor = os.open(self._temporary, flags, 0o666)

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
        with naming(self.path), memoryview(data).cast("B") as view:
            self._hash.update(view)
            at = 0
            while at < len(view):
                at += os.write(self._descriptor, view[at:])
            self._size += at
            return at

    def close(self) -> None:
        """Nothing: a library that closes what it has written to does not know whether it is complete."""

    def commit(self) -> bool:
        """Gives the file its name; False if there is one of that name already: this one is discarded then."""
        with naming(self.path):
            os.fsync(self._descriptor)
            won = self._named()
        self.discard()
        sync_folder(os.path.dirname(self.path))
        return won

    def digest(self) -> Digest:
        """Size and digest of what was written so far."""
        return Digest(self._size, self._hash.hexdigest())

    def discard(self) -> None:
        """Removes what has no name; does nothing after ``commit``."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
            with contextlib.suppress(OSError):
                os.unlink(self._temporary)

    def _named(self) -> bool:
        try:
            os.link(self._temporary, self.path)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            os.rename(self._temporary, self.path)
        return True


def digest_of(path: str) -> Digest:
    """Size and digest of a file."""
    with open(path, "rb", buffering=0) as file:
        found = hashlib.sha256()
        size, buffer = 0, bytearray(_BLOCK)
        while count := file.readinto(buffer):
            found.update(memoryview(buffer)[:count])
            size += count
        return Digest(size, found.hexdigest())


def remove_temporary_files(folder: str) -> None:
    """Removes what runs that were killed have left in the folder of an export."""
    for pattern in (f"_kcli_*.json.*{TEMPORARY}", f"topic=*/partition=*/.*{TEMPORARY}"):
        for path in Path(folder).glob(pattern):
            with contextlib.suppress(OSError):
                path.unlink()
