"""A lock between processes: ``flock`` on a file, released by the system when its holder dies. It contains the pid."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import getpid
from pathlib import Path

from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.files.atomic import naming


class LockedError(KcliError):
    """Another process holds the lock."""

    exit_code = ExitCode.REFUSED


@contextmanager
def file_lock(
    path: Path, *, timeout: float, doing: str, on_wait: Callable[[], None] = lambda: None
) -> Iterator[None]:
    """Holds ``path`` for the block; waits at most ``timeout`` seconds for another holder.

    ``doing`` completes "another kcli process is …" for the error. ``on_wait`` is called once before waiting. The holder
    may remove the file: a process that waited for it then locks the file that has the name now.
    """
    from filelock import FileLock, Timeout  # 12 ms of CPU, which only runs that take a lock should pay

    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path, mode=0o600, fallback_to_soft=False)
    try:
        try:
            lock.acquire(blocking=False)
        except Timeout:
            on_wait()
            lock.acquire(timeout=timeout)
    except Timeout:
        raise locked_error(path, doing) from None
    try:
        with naming(str(path)):
            path.write_bytes(b"%d\n" % getpid())
        yield
    finally:
        lock.release()


def locked_error(path: Path, doing: str) -> LockedError:
    """The error for a lock that another process holds. ``doing``: see ``file_lock``."""
    try:
        pid = path.read_bytes().decode("ascii", "replace").strip()
    except FileNotFoundError:  # the holder has just finished
        pid = ""
    return LockedError(
        f"another kcli process is {doing}",
        why=f"its pid is {pid}" if pid else "",
        do="wait for it, then try again",
    )


def is_locked(path: Path) -> bool:
    """Whether some process holds ``path`` now."""
    from filelock import FileLock, Timeout  # see above

    if not path.exists():
        return False
    try:
        with FileLock(path, blocking=False, fallback_to_soft=False):
            return False
    except Timeout:
        return True
    except OSError:
        return False
