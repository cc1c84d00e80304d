"""Threads that wait for a condition under a lock: who is woken, and by what."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from kcli.core.producer.waiters import Waiters


class Waiting:
    """A thread in ``wait_for``; ``conditions`` counts how often its condition was asked for."""

    def __init__(self, waiters: Waiters, lock: threading.Lock, timeout: float | None = 30.0) -> None:
        self.met = False
        self.asked: list[str] = []
        self.found: bool | None = None
        self._waiters, self._lock, self._timeout = waiters, lock, timeout
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> "Waiting":
        before = len(self._waiters.waiting)
        self._thread.start()
        while len(self._waiters.waiting) == before:
            assert self._thread.is_alive()
            self._thread.join(0.001)
        return self

    def end(self) -> bool | None:
        self._thread.join(120)
        assert not self._thread.is_alive()
        return self.found

    def _condition(self) -> bool:
        self.asked.append(threading.current_thread().name)
        return self.met

    def _run(self) -> None:
        with self._lock:
            self.found = self._waiters.wait_for(self._condition, self._timeout)


@pytest.fixture
def lock() -> threading.Lock:
    return threading.Lock()


@pytest.fixture
def waiters(lock: threading.Lock) -> Waiters:
    return Waiters(lock)


def never() -> bool:
    return False


def test_a_condition_that_is_met_is_not_waited_for(waiters: Waiters, lock: threading.Lock) -> None:
    with lock:
        assert waiters.wait_for(lambda: True, None)
        assert not waiters.waiting


@pytest.mark.parametrize("timeout", [0.0, -1.0, 0.001])
def test_after_the_timeout_the_lock_is_held_again(
    waiters: Waiters, lock: threading.Lock, timeout: float
) -> None:
    with lock:
        assert not waiters.wait_for(never, timeout)
        assert lock.locked()
        assert not waiters.waiting


@pytest.mark.parametrize("timeout", [1e10, float("inf")])
def test_a_timeout_may_be_longer_than_a_lock_accepts(
    waiters: Waiters, lock: threading.Lock, timeout: float
) -> None:
    one = Waiting(waiters, lock, timeout).start()
    one.met = True
    with lock:
        waiters.wake()
    assert one.end() is True


def test_only_threads_whose_condition_is_met_are_woken(waiters: Waiters, lock: threading.Lock) -> None:
    one, other = Waiting(waiters, lock).start(), Waiting(waiters, lock).start()
    one.met = True
    with lock:
        waiters.wake()
        assert len(waiters.waiting) == 1
    assert one.end() is True
    assert other.found is None
    other.met = True
    with lock:
        waiters.wake()
    assert other.end() is True


def test_a_change_that_meets_no_condition_is_seen_by_the_thread_that_makes_it(
    waiters: Waiters, lock: threading.Lock
) -> None:
    one = Waiting(waiters, lock).start()
    for _ in range(3):
        with lock:
            waiters.wake()
    assert one.asked[1:] == ["MainThread"] * 3
    one.met = True
    with lock:
        waiters.wake()
    one.end()


def test_what_was_undone_before_the_thread_ran_is_not_met(waiters: Waiters, lock: threading.Lock) -> None:
    one = Waiting(waiters, lock).start()
    with lock:
        one.met = True
        waiters.wake()
        one.met = False
    assert one.end() is False


def test_an_interrupted_wait_leaves_nothing_behind(
    waiters: Waiters, lock: threading.Lock, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Gate:
        """A lock whose second acquisition is interrupted, as by Ctrl-C."""

        def __init__(self) -> None:
            self.acquire: Callable[..., bool] = self._first

        def _first(self) -> bool:
            self.acquire = self._second
            return True

        def _second(self, timeout: float) -> bool:
            raise KeyboardInterrupt

    monkeypatch.setattr(threading, "Lock", Gate)
    with lock:
        with pytest.raises(KeyboardInterrupt):
            waiters.wait_for(never, None)
        assert lock.locked()
        assert not waiters.waiting


def test_an_interrupt_as_the_lock_is_released_leaves_nothing_behind() -> None:
    """The caller, who releases the lock afterwards, would otherwise release it while another thread holds it."""

    class Interrupted:
        """A lock after whose release the thread is interrupted."""

        held = True

        def release(self) -> None:
            self.held = False
            raise KeyboardInterrupt

        def acquire(self) -> None:
            self.held = True

    lock: Any = Interrupted()
    waiters = Waiters(lock)
    with pytest.raises(KeyboardInterrupt):
        waiters.wait_for(never, None)
    assert lock.held
    assert not waiters.waiting
