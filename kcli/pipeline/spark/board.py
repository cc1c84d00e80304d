"""What running tasks have done so far, and whether they are to stop: a file that driver and tasks map into memory.

Spark brings values of a task to the driver only when it ends. On the driver's machine a file does it at once; on other
machines there is no such file, and progress moves when tasks end. The head of the file is a token, so that a file of the
same name elsewhere is not mistaken for it.
"""

import mmap
import os
import secrets
import struct
from collections.abc import Iterator

from kcli.core.classes import NamedTuple

_TOKEN = 16
_STOP = _TOKEN  # one byte, after the token
_SLOTS = 24
_SLOT = struct.Struct("<qq")


class BoardRef(NamedTuple):
    """What a task needs to find the board."""

    path: str
    token: bytes


class Board:
    """The driver's side, for a number of tasks."""

    def __init__(self, folder: str, tasks: int) -> None:
        token = secrets.token_bytes(_TOKEN)
        self.ref = BoardRef(os.path.join(folder, f"board-{token.hex()}"), token)
        fd = os.open(self.ref.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.ftruncate(fd, _SLOTS + tasks * _SLOT.size)
            self._memory = mmap.mmap(fd, 0)
        finally:
            os.close(fd)
        self._memory[:_TOKEN] = token

    def request_stop(self) -> None:
        """Asks all tasks that see the board to stop."""
        self._memory[_STOP] = 1

    def slots(self) -> Iterator[tuple[int, int]]:
        """Records and bytes of each task so far."""
        return _SLOT.iter_unpack(self._memory[_SLOTS:])

    def close(self) -> None:
        """Removes it."""
        self._memory.close()
        os.unlink(self.ref.path)


class Slot:
    """A task's side: where it counts. The counts of an attempt that failed are dropped by the next one."""

    def __init__(self, memory: mmap.mmap, task: int) -> None:
        self._memory = memory
        self._at = _SLOTS + task * _SLOT.size
        self._records = self._size = 0
        self.add(0, 0)

    def add(self, records: int, size: int) -> None:
        """Adds to what this attempt has done."""
        self._records += records
        self._size += size
        _SLOT.pack_into(self._memory, self._at, self._records, self._size)

    def stopped(self) -> bool:
        """Whether the job is to stop."""
        return self._memory[_STOP] == 1

    def close(self) -> None:
        """Unmaps the file."""
        self._memory.close()


def open_slot(ref: BoardRef, task: int) -> Slot | None:
    """None where the driver's file is not: on another machine, or after the job."""
    try:
        fd = os.open(ref.path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        memory = mmap.mmap(fd, 0)
    except (OSError, ValueError):
        return None
    finally:
        os.close(fd)
    if memory[:_TOKEN] != ref.token:
        memory.close()
        return None
    return Slot(memory, task)
