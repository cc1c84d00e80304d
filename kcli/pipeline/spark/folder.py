"""The temporary folder of a session: configuration, log, and what Spark writes besides.

It is removed when the session ends. One whose process was killed is removed by the next session: the lock that its owner
held is free.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

from kcli.core.errors import KcliError
from kcli.files.xdg import state_home

_PREFIX = "kcli-spark-"
_LOCK = "lock"


class FolderError(KcliError):
    """The session has nowhere to write."""


class SessionFolder:
    """``path`` is the folder; ``log`` the file with the log of Spark, and with what its processes print."""

    def __init__(self) -> None:
        _remove_abandoned()
        try:
            self.path, self._lock = _locked_folder()
        except OSError as error:
            raise FolderError(
                f"cannot create a directory in {tempfile.gettempdir()}",
                why=error.strerror or str(error),
                do="set TMPDIR to a writable directory",
            ) from None
        self.log = os.path.join(self.path, "spark.log")

    def write(self, name: str, text: str) -> str:
        """Writes a file of this user alone; returns its path."""
        path = os.path.join(self.path, name)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "w") as file:
            file.write(text)
        return path

    def keep_log(self) -> str:
        """Copies the log to where it stays; returns that path, empty if that is not possible."""
        kept = state_home() / "spark" / "last-error.log"
        try:
            kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.copyfile(self.log, kept)
            kept.chmod(0o600)
        except OSError:
            return ""
        return str(kept)

    def remove(self) -> None:
        """Removes it with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        with contextlib.suppress(OSError):
            os.close(self._lock)


def _locked_folder() -> tuple[str, int]:
    """A new folder, of this user alone, and the descriptor of its lock. Another session may have removed it before it was
    locked; then there is another one.
    """
    while True:
        path = tempfile.mkdtemp(prefix=_PREFIX)
        lock = os.path.join(path, _LOCK)
        fd = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(fd, fcntl.LOCK_EX)
        if os.path.exists(lock):
            return path, fd
        os.close(fd)


def _remove_abandoned() -> None:
    for folder in Path(tempfile.gettempdir()).glob(_PREFIX + "*"):
        with contextlib.suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            fd = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(fd)
