"""The sender's thread as its callers see it: started once, waited for, and its death raised in all of them.

It is a daemon thread, which ends with the process whatever is left, and a forked child has none: producers that were not
closed are flushed at process exit, and unusable in a forked child.
"""

import atexit
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any

from kcli.core.errors import ClosedError, KcliError
from kcli.core.producer.waiters import Waiters


class SenderThread:
    """``run`` is the body of the thread, ``on_start`` is called when it starts, ``on_crash`` with what ended it.

    ``notify_waiting`` is called, under its ``lock``, whenever something that a caller may wait for has completed; it may
    be left out while none of ``waiters`` is waiting. ``crash`` is what ended the thread.
    """

    def __init__(
        self, run: Callable[[], None], on_start: Callable[[], None], on_crash: Callable[[KcliError], None]
    ) -> None:
        self._body = run
        self._on_start = on_start
        self._on_crash = on_crash
        self.crash: BaseException | None = None
        self._ended = False
        self.thread: threading.Thread | None = None
        self.lock = threading.Lock()
        self.waiters = Waiters(self.lock)

    @property
    def is_current(self) -> bool:
        """Whether the caller is a callback in this thread: it must not wait for itself."""
        return self.thread is not None and threading.get_ident() == self.thread.ident

    def ensure_started(self) -> None:
        """Starts it once."""
        if self.thread is not None:
            return
        with self.lock:
            if self.thread is None:
                self.thread = threading.Thread(target=self._run, name="kcli-sender", daemon=True)
                self.thread.start()
                self._on_start()

    def wait(self, done: Callable[[], bool], timeout: float | None) -> bool:
        """Waits until ``done()``; False after ``timeout`` seconds. Raises if the thread ends before that."""
        if self.is_current and not done():
            raise KcliError(
                "a callback cannot wait for the producer",
                why="it runs in the sender's thread, which would wait for itself",
            )
        with self.lock:
            self.waiters.wait_for(lambda: done() or self._ended, timeout)
        if not done() and self._ended:
            self.raise_crash()
            raise ClosedError("the producer is closed")
        return done()

    def notify(self) -> None:
        """Something has completed."""
        with self.lock:
            self.notify_waiting()

    def notify_waiting(self) -> None:
        """Like ``notify``, for callers that hold the lock."""
        if self.waiters.waiting:
            self.waiters.wake()

    def raise_crash(self) -> None:
        """Raises what ended the thread, if anything did."""
        if self.crash is None:
            return
        if isinstance(self.crash, KcliError):
            raise self.crash.with_traceback(None)
        raise KcliError("the sender thread has died", why=repr(self.crash)) from self.crash

    def forked(self) -> None:
        """Called in the child after a fork: the thread exists only in the parent, and its locks may be held."""
        self.lock = threading.Lock()
        self.waiters = Waiters(self.lock)
        self.crash = KcliError(
            "this producer belongs to the process that made it",
            why="a fork has no sender thread",
            do="make a producer after the fork",
        )
        self._ended = True
        self.thread = None

    def _run(self) -> None:
        try:
            self._body()
        except BaseException as crash:  # noqa: BLE001 - raised in every caller, see raise_crash
            self.crash = crash
            self._on_crash(KcliError("the sender thread has died", why=repr(crash)))
        finally:
            # Before the callers are woken: each looks at this to decide whether to wait on. They raise the
            # crash then, instead of waiting for a thread that is gone.
            self._ended = True
            self.notify()


_PATIENCE = 5.0  # seconds for flushing at process exit


_open: "weakref.WeakSet[Any]" = weakref.WeakSet()


def watch(producer: Any) -> None:
    """Watches a ``Producer`` until it is garbage-collected."""
    _open.add(producer)


def _close_all() -> None:
    for producer in list(_open):
        if producer.outstanding:
            producer.close(_PATIENCE)


def _mark_forked() -> None:
    for producer in list(_open):
        producer.forked()
    _open.clear()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_mark_forked)
