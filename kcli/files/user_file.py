"""A small file of the user: read bounded, never waiting for a writer, with owner and mode; whether it changed."""

import os
import stat

from kcli.core.classes import NamedTuple

LARGEST = 1 << 20
_PIPES = ("/dev/fd/", "/proc/self/fd/", "/dev/stdin")
"""Pipes that a shell has opened for this process, as ``<(…)``."""


class FileState(NamedTuple):
    """The owner and mode of the file that was read; ``link_owner`` is that of the symbolic link that led to it."""

    owner: int
    mode: int
    link_owner: int | None = None

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file."""
        return stat.S_ISREG(self.mode)


class NotAFileError(OSError):
    """A pipe, a device or a folder."""


class TooLargeError(OSError):
    """More bytes than the limit."""


def read_bounded(path: str, limit: int = LARGEST) -> tuple[bytes, FileState]:
    """The content and the state of the file; NotAFileError, TooLargeError or OSError.

    A named pipe is refused without opening it for good, since its writer might never come; a pipe of a shell is read.
    """
    path = os.path.expanduser(path)
    link = os.lstat(path)
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        found = os.fstat(fd)
        of_shell = path.startswith(_PIPES)
        if not (stat.S_ISREG(found.st_mode) or (of_shell and stat.S_ISFIFO(found.st_mode))):
            raise NotAFileError(f"it is {_kind(found.st_mode)}")
        os.set_blocking(fd, True)
        data = _read(fd, limit)
    finally:
        os.close(fd)
    return data, _state(path, link, found)


def file_state(path: str) -> FileState:
    """The state of a file that is read elsewhere; OSError where there is none."""
    path = os.path.expanduser(path)
    return _state(path, os.lstat(path), os.stat(path))


def _state(path: str, link: os.stat_result, found: os.stat_result) -> FileState:
    linked = stat.S_ISLNK(link.st_mode) and not path.startswith(_PIPES)
    return FileState(found.st_uid, found.st_mode, link.st_uid if linked else None)


def _read(fd: int, limit: int) -> bytes:
    parts, left = [], limit + 1
    while left and (part := os.read(fd, min(left, 1 << 16))):
        parts.append(part)
        left -= len(part)
    if not left:
        raise TooLargeError(f"it is larger than {limit:,} bytes")
    return b"".join(parts)


def _kind(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a named pipe"
    return "a folder" if stat.S_ISDIR(mode) else "no regular file"


Version = tuple[int, int, int]


def version_of(path: str) -> Version | None:
    """Differs after the file was written, replaced, or made readable; None where there is none."""
    try:
        found = os.stat(os.path.expanduser(path))
    except OSError:
        return None
    return found.st_ino, found.st_ctime_ns, found.st_size
