"""Files that are written atomically: to a temporary file, synced, renamed, and the folder synced."""

import contextlib
import errno
import os

from kcli.core.errors import KcliError
from kcli.files.system_errors import naming


class FileError(KcliError):
    """A file that a run keeps cannot be written."""


def replace_file(path: str, data: bytes, *, mode: int = 0o600, sync: bool = True) -> None:
    """Writes ``data`` to ``path`` and to disk; on OSError the previous content stays. A device or a pipe is refused: it
    would be replaced by a file, ``/dev/null`` for all who use it.

    Without ``sync``, for content that can be recreated, it does not wait for the disk. An OSError names ``path``.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        raise OSError(errno.EINVAL, "it is not a regular file", path)
    temporary = f"{path}.{os.getpid()}-{os.urandom(4).hex()}.tmp"
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
        try:
            while data:
                data = data[os.write(fd, data) :]
            if sync:
                os.fsync(fd)
        finally:
            os.close(fd)
        os.rename(temporary, path)
        if sync:
            sync_folder(os.path.dirname(os.path.abspath(path)))
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        with naming(path):
            raise


def sync_folder(path: str) -> None:
    """Flushes the names in the folder to disk, where the file system supports it."""
    with contextlib.suppress(OSError):
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
