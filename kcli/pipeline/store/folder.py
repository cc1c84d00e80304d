"""A folder of this machine, or one that machines share.

Two attempts of a task may write a file at once, one of them long given up: the first to be complete has the name, by a
hard link. On file systems without hard links the later one replaces the earlier.
"""

import contextlib
import errno
import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from kcli.core.errors import ConfigError
from kcli.files.atomic import naming, replace_file, sync_folder
from kcli.files.lock import file_lock
from kcli.pipeline.store.new_file import NewFile
from kcli.pipeline.store.store import ABSENT, Document, changed

LOCK = "_kcli_export.lock"
_TEMPORARY = ".tmp"
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


class FolderStore:
    """See ``Store``. ``url``: an absolute path."""

    locks = True

    def __init__(self, path: str) -> None:
        self.url = path

    def name(self, path: str) -> str:
        """See ``Store``."""
        return os.path.join(self.url, path)

    def size(self, path: str) -> int | None:
        """See ``Store``."""
        try:
            return os.stat(self.name(path)).st_size
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise ConfigError(
                f"{self.name(path)} cannot be read",
                why=error.strerror or str(error),
                do="make it readable, or name another folder",
            ) from None

    def open(self, path: str) -> BinaryIO:
        """See ``Store``."""
        return cast(BinaryIO, open(self.name(path), "rb", buffering=0))

    def new(self, path: str) -> NewFile:
        """See ``Store``."""
        return _NewLocalFile(self.name(path))

    def read(self, path: str) -> Document | None:
        """See ``Store``."""
        name = self.name(path)
        try:
            data = Path(name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise ConfigError(
                f"{name} cannot be read",
                why=error.strerror or str(error),
                do="make it readable, or name another folder",
            ) from None
        return Document(data, _version(data))

    def put(self, path: str, data: bytes, version: str) -> str:
        """See ``Store``; the lock of ``writing`` excludes others."""
        found = self.read(path)
        if (ABSENT if found is None else found.version) not in (version, _version(data)):
            raise changed(self.name(path))
        replace_file(self.name(path), data, mode=0o666)
        return _version(data)

    def delete(self, path: str) -> None:
        """See ``Store``."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.name(path))

    def names(self) -> Iterable[str]:
        """See ``Store``."""
        if os.path.isdir(self.url):
            return [name for name in os.listdir(self.url) if name != LOCK]
        return ()

    def remove_leftovers(self) -> None:
        """See ``Store``."""
        for pattern in (
            f"_kcli_*.json.*{_TEMPORARY}",
            f"topic=*/**/.*{_TEMPORARY}",
            f"data/.*{_TEMPORARY}",  # of tables
        ):
            for path in Path(self.url).glob(pattern):
                with contextlib.suppress(OSError):
                    path.unlink()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """See ``Store``."""
        os.makedirs(self.url, exist_ok=True)
        lock = Path(self.url, LOCK)
        with file_lock(lock, timeout=0, doing=f"writing {self.url}"):
            try:
                yield
            finally:
                lock.unlink(missing_ok=True)


def _version(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class _NewLocalFile(NewFile):
    """Under a temporary name until it is on disk."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        folder, last = os.path.split(name)
        os.makedirs(folder, exist_ok=True)
        self._temporary = os.path.join(folder, f".{last}.{os.urandom(8).hex()}{_TEMPORARY}")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        with naming(name):
            self._descriptor = os.open(self._temporary, flags, 0o666)

    def append(self, data: memoryview) -> None:
        """See ``NewFile``."""
        at = 0
        with naming(self.name):
            while at < len(data):
                at += os.write(self._descriptor, data[at:])

    def finish(self) -> bool:
        """See ``NewFile``."""
        with naming(self.name):
            os.fsync(self._descriptor)
            won = self._named()
        sync_folder(os.path.dirname(self.name))
        return won

    def discard(self) -> None:
        """See ``NewFile``."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
            with contextlib.suppress(OSError):
                os.unlink(self._temporary)

    def _named(self) -> bool:
        try:
            os.link(self._temporary, self.name)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            os.rename(self._temporary, self.name)
        return True
