"""Threads that wait for something that other threads change under a lock, each for a condition of its own.

``threading.Condition`` wakes a thread at every change, to look whether it was the right one: during a flush at every
batch that is confirmed, in some thirty calls. Here the thread that makes the change looks, and wakes those whose
condition is met. No condition may acquire the lock, nor block.
"""

import threading
from collections.abc import Callable

from kcli.core.classes import dataclass


@dataclass(slots=True, eq=False, repr=False)
class _Waiter:
    """A waiting thread: it acquires ``gate`` a second time, which is released when ``condition`` is met."""

    condition: Callable[[], bool]
    gate: threading.Lock


class Waiters:
    """All methods are called with ``lock`` held. ``waiting``: ``wake`` may be left out while it is empty."""

    def __init__(self, lock: threading.Lock) -> None:
        self._lock = lock
        self.waiting: list[_Waiter] = []

    def wait_for(self, condition: Callable[[], bool], timeout: float | None) -> bool:
        """Waits at most ``timeout`` seconds, without the lock meanwhile; returns whether the condition is met.

        False may be returned earlier: another thread may have undone what the condition is about. ``timeout`` may be
        more than a lock accepts. Ctrl-C right after the lock was released must find the ``try`` entered.
        """
        if condition():
            return True
        if timeout is not None and timeout <= 0:
            return False
        gate = threading.Lock()
        gate.acquire()
        seconds = timeout if timeout is not None and timeout < threading.TIMEOUT_MAX else -1.0
        waiter = _Waiter(condition, gate)
        self.waiting.append(waiter)
        try:
            self._lock.release()
            # The gate may have been released already, by a thread that took the lock in between: a lock, unlike
            # a condition, keeps that until it is acquired, so no wake-up is lost.
            gate.acquire(timeout=seconds)
        finally:
            self._lock.acquire()
            if waiter in self.waiting:
                self.waiting.remove(waiter)
        return condition()

    def wake(self) -> None:
        """Something has changed: wakes the threads whose condition is met now."""
        for waiter in list(self.waiting):
            if waiter.condition():
                self.waiting.remove(waiter)
                waiter.gate.release()
