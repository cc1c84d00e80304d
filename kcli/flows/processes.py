"""``--processes N``: work of a command that is shared out among processes of this machine; results come in order.

The work is a pure function of bytes: what talks to the brokers, and the account of what was done, stay in the parent
(decision 0139). So a process that dies takes nothing with it: its share is done again by the parent.

A process is a fork that is made before the command has threads and connections: settings, compiled expressions and
secrets are there already, and nothing is imported twice. Bytes pass through memory that both share, and only their sizes
through pipes. A process ends when its parent is gone, and knows nothing of signals: what Ctrl-C means is the parent's to
decide.
"""

from __future__ import annotations

import errno
import mmap
import os
import signal
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from struct import Struct
from types import TracebackType
from typing import NoReturn

from kcli.core.errors import KcliError, TooManyFilesError
from kcli.core.kernels.varint import Buffer
from kcli.flows.stop import SIGNALS

Work = Callable[[memoryview], Buffer]
"""What a process does; the result may be a view of what it was given. Whatever it raises is left to the parent."""

SLOT_BYTES = 32 << 20
"""The most that is given to a process or comes back at once; memory is used as far as it is written."""
_SLOTS = 2  # of a process: while it works on one, the next is ready
_MESSAGE = Struct("=ii")  # slot and size, which is −1 for work that the parent has to do
_LEFT = -1
_LIMITED = {
    errno.EMFILE: "open files (ulimit -n)",
    errno.ENFILE: "open files on this machine",
    errno.ENOMEM: "memory (ulimit -v)",
}


class Processes:
    """``submit`` while there is ``room``, ``take`` in the same order. ``lost`` is told once of each process that died.

    Raises KcliError if they cannot be started.
    """

    def __init__(self, count: int, work: Work, *, lost: Callable[[str], object] = str) -> None:
        self._lost = lost
        self._workers: list[_Worker] = []
        self._queue: deque[tuple[_Worker, int] | None] = deque()
        self._taken: tuple[_Worker, int] | None = None
        try:
            for _ in range(count):
                self._workers.append(_Worker(work, self._workers))
        except OSError as error:
            started = len(self._workers)
            self.close()
            full = error.errno in (errno.EMFILE, errno.ENFILE)
            raise (TooManyFilesError if full else KcliError)(
                f"process {started + 1} of {count} cannot be started",
                why=(error.strerror or str(error)).lower(),
                do=f"choose fewer --processes, or allow more {_LIMITED.get(error.errno or 0, 'processes (ulimit -u)')}",
            ) from None

    def __enter__(self) -> Processes:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()

    def __len__(self) -> int:
        """The number of results that were not taken."""
        return len(self._queue)

    @property
    def pids(self) -> list[int]:
        """Those of the processes that live."""
        return [worker.pid for worker in self._workers if worker.lives]

    @property
    def count(self) -> int:
        """The number of processes."""
        return len(self._workers)

    @property
    def room(self) -> bool:
        """Whether more may be submitted: a living process has a slot, or nothing waits for the parent either."""
        return not self._queue or any(worker.lives and worker.free for worker in self._workers)

    def submit(self, pieces: Sequence[Buffer]) -> None:
        """Gives the joined pieces to the process that has least to do."""
        size = sum(map(len, pieces))
        idle = [worker for worker in self._workers if worker.lives and worker.free]
        if not idle or size > SLOT_BYTES:
            self._queue.append(None)
            return
        worker = max(idle, key=lambda one: len(one.free))
        slot = worker.free.pop()
        view, at = worker.given[slot], 0
        for piece in pieces:
            view[at : at + len(piece)] = piece
            at += len(piece)
        worker.tell(slot, size)
        self._queue.append((worker, slot))

    def take(self) -> memoryview | None:
        """The oldest result that was not taken, valid until the next call; None where the parent has to do the work."""
        self._release()
        entry = self._queue.popleft()
        if entry is None:
            return None
        worker, slot = self._taken = entry
        size = worker.answer()
        if size is None:
            self._report(worker)
            return None
        return None if size == _LEFT else memoryview(worker.made[slot])[:size]

    def drop(self) -> None:
        """Passes over all results that were not taken."""
        while self._queue:
            self.take()
        self._release()

    def close(self) -> None:
        """Ends the processes; what they are doing is not needed any more."""
        self._queue.clear()
        self._taken = None
        for worker in self._workers:
            worker.end()

    def _release(self) -> None:
        if self._taken is not None:
            worker, slot = self._taken
            worker.free.append(slot)
            self._taken = None

    def _report(self, worker: _Worker) -> None:
        if not worker.reported:
            worker.reported = True
            self._lost(
                f"a process of --processes {worker.end()}: its share is done by this one, and nothing is lost"
            )


class _Worker:
    """A process as its parent sees it. ``free``: the slots that are not in use."""

    def __init__(self, work: Work, others: Sequence[_Worker]) -> None:
        self.given = [mmap.mmap(-1, SLOT_BYTES) for _ in range(_SLOTS)]
        self.made = [mmap.mmap(-1, SLOT_BYTES) for _ in range(_SLOTS)]
        self.free = list(range(_SLOTS))
        self.lives, self.reported = True, False
        ends: list[int] = []  # to be closed here
        try:
            ends += os.pipe()
            ends += os.pipe()
            theirs, self._to, self._from, back = ends
            # A signal to the group must not end it before it ignores that.
            masked = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
            try:
                self.pid = os.fork()
                if not self.pid:
                    for other in others:  # else they would not see that the parent is gone
                        os.close(other._to)
                    os.close(self._to)
                    os.close(self._from)
                    _live(work, theirs, back, self.given, self.made)
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, masked)
            ends = [theirs, back]
        finally:
            for end in ends:
                os.close(end)

    def tell(self, slot: int, size: int) -> None:
        """Names what is to be done. That it has died is seen by who waits for the result."""
        with suppress(OSError):
            os.write(self._to, _MESSAGE.pack(slot, size))

    def answer(self) -> int | None:
        """The size of the next result; None if there will be none."""
        message = os.read(self._from, _MESSAGE.size) if self.lives else b""
        if len(message) < _MESSAGE.size:
            self.lives = False
            return None
        return int(_MESSAGE.unpack(message)[1])

    def end(self) -> str:
        """Ends it, and tells how it has ended."""
        self.lives = False
        if not self.pid:
            return ""
        for descriptor in (self._to, self._from):
            os.close(descriptor)
        pid, self.pid = self.pid, 0
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        try:
            _, status = os.waitpid(pid, 0)
        except ChildProcessError:  # kcli was started by one that ignores SIGCHLD, so the system has reaped it
            return "has ended"
        code = os.waitstatus_to_exitcode(status)
        return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit status {code}"


# --- in the process --------------------------------------------------------------------------------------


def _live(
    work: Work, told: int, back: int, given: Sequence[mmap.mmap], made: Sequence[mmap.mmap]
) -> NoReturn:
    """Never returns: what the parent would do at its end, such as closing files, is not for this process."""
    try:
        for one in SIGNALS:
            signal.signal(one, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        while len(message := os.read(told, _MESSAGE.size)) == _MESSAGE.size:
            slot, size = _MESSAGE.unpack(message)
            os.write(back, _MESSAGE.pack(slot, _done(work, memoryview(given[slot])[:size], made[slot])))
    finally:
        os._exit(0)


def _done(work: Work, data: memoryview, out: mmap.mmap) -> int:
    """The size of the result in ``out``."""
    try:
        result = work(data)
    except Exception:  # noqa: BLE001 - the parent does it again, and meets the same error in its place
        return _LEFT
    size = len(result)
    if size > SLOT_BYTES:
        return _LEFT
    out[:size] = result
    return size
