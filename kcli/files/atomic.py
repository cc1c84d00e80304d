"""Writes the files that kcli keeps, atomically: to a temporary file, synced, renamed, and the folder synced.

Also the folders that only this user may read, and errors of the system about a file as texts.
"""

import contextlib
import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kcli.core.errors import KcliError

if TYPE_CHECKING:
    from pathlib import Path

_FULL = "free space there, then run it again"
_REMEDIES = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: "choose a file system that holds files of this size",
    errno.EROFS: "choose a folder that can be written",
    errno.EACCES: "check who may read and write it: ls -ld PATH",
    errno.EPERM: "check who may read and write it: ls -ld PATH",
    errno.ENOENT: "check the path: all folders of it have to exist",
    errno.ENOTDIR: "check the path: all but its last part have to be folders",
    errno.EISDIR: "name a file, not a folder",
}


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Errors of the system in the block have ``path``: those of a descriptor have none, and temporary files have
    names that the user does not know.
    """
    try:
        yield
    except OSError as error:
        error.filename, error.filename2 = path, None
        raise


def described(error: OSError) -> tuple[str, str, str]:
    """What, why and do of an error that has a file name; no remedy where none is known."""
    path = os.fsdecode(error.filename)
    return f"{path}: {error.strerror}", "", _REMEDIES.get(error.errno or 0, "").replace("PATH", path)


class FileError(KcliError):
    """A file that a run keeps cannot be written."""


def replace_file(path: str, data: bytes, *, mode: int = 0o600, sync: bool = True) -> None:
    """Writes ``data`` to ``path`` and to disk; on OSError the previous content stays. A device or a pipe is refused: it
    would be replaced by a file, ``/dev/null`` for all who use it; and so is a link to what is open, such as
    ``/dev/stdout``, also where that is a file.

    Without ``sync``, for content that can be recreated, it does not wait for the disk. An OSError names ``path``.
    """
    of_process = os.path.islink(path) and os.readlink(path).startswith("/proc/")
    if of_process or (os.path.exists(path) and not os.path.isfile(path)):
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


def make_private_folder(folder: "Path", failure: type[KcliError]) -> None:
    """Creates the folder, on disk on return; raises ``failure`` if that is not possible."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.chmod(folder, 0o700)
        sync_folder(str(folder.parent))
    except OSError as error:
        raise failure(
            f"cannot create the directory {folder}",
            why=(error.strerror or str(error)).lower(),
            do="set XDG_STATE_HOME to a writable directory",
        ) from None
