"""A lock between processes: ``flock`` on a file, released by the system when its holder dies. It contains the pid."""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kcli.core.errors import KcliError


class LockedError(KcliError):
    """Another process holds the lock."""

    exit_code = 7


@contextmanager
def file_lock(
    path: Path, *, timeout: float, doing: str, on_wait: Callable[[], None] = lambda: None
) -> Iterator[None]:
    """Holds ``path`` for the block; waits at most ``timeout`` seconds for another holder.

    ``doing`` completes "another kcli process is …" for the error. ``on_wait`` is called once before waiting. The holder
    may remove the file: a process that gets the lock of a removed file retries with the file that has the name now.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + timeout
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if not _try(descriptor):
                on_wait()
                _wait(descriptor, deadline, doing)
            os.truncate(descriptor, 0)
            os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
            if _has_the_name(descriptor, path):
                yield
                return
        finally:
            os.close(descriptor)


def _has_the_name(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def is_locked(path: Path) -> bool:
    """Whether some process holds ``path`` now."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not _try(descriptor)
    finally:
        os.close(descriptor)


def _wait(descriptor: int, deadline: float, doing: str) -> None:
    while not _try(descriptor):
        if time.monotonic() > deadline:
            pid = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
            raise LockedError(
                f"another kcli process is {doing}",
                why=f"its pid is {pid}" if pid else "",
                do="wait for it, then try again",
            )
        time.sleep(0.05)


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
