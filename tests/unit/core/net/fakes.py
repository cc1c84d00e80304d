"""A clock and a selector made of plain values, so that a loop can be turned without time passing. Not a test."""

import select
from typing import Any

from kcli.core.net import loop as loop_module
from kcli.core.net.loop import Loop
from kcli.core.net.polling import READ

NEVER = float("inf")


class Clock:
    """Seconds that pass only when somebody waits."""

    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        return self.time


class FakeSelector:
    """Waits on the clock; what is ready is what a test says, and the wakeup pipe when it was written to.

    ``events`` are what it watches each descriptor for; the first one is that of the wakeup pipe.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.events: dict[int, int] = {}
        self.ready: list[tuple[int, int]] = []
        self.waits: list[float | None] = []
        self.during_wait: list[Any] = []
        self.closed = False

    def register(self, fd: int, events: int) -> None:
        assert fd not in self.events, "registered twice"
        self.events[fd] = events

    def modify(self, fd: int, events: int) -> None:
        assert fd in self.events
        self.events[fd] = events

    def unregister(self, fd: int) -> None:
        del self.events[fd]

    def poll(self, timeout: float | None) -> list[tuple[int, int]]:
        self.waits.append(timeout)
        for action in self.during_wait:
            action()
        self.during_wait.clear()
        found = [(fd, events) for fd, events in self.ready if fd in self.events]
        self.ready.clear()
        wakeup = next(iter(self.events))
        if _has_bytes(wakeup):
            found.append((wakeup, READ))
        if not found:
            assert timeout is not None, "the loop would wait for ever"
            self.clock.time += max(0.0, timeout)
        return found

    def close(self) -> None:
        self.closed = True


def _has_bytes(fd: int) -> bool:
    return bool(select.select([fd], [], [], 0)[0])


class FakeChannel:
    """What a loop expects of a channel, and a list of what it did with it."""

    def __init__(self, fd: int = 10_000, *, wants_write: bool = False, deadline: float = NEVER) -> None:
        self.fd = fd
        self.wants_write = wants_write
        self.deadline = deadline
        self.is_open = True
        self.attempt = 1
        self.events: list[str] = []
        self.forget: Any = lambda _channel: None
        self.on_event: Any = lambda _name: None

    def fileno(self) -> int:
        return self.fd

    @property
    def is_ready(self) -> bool:
        return self.is_open

    def flush(self, now: float) -> None:
        self._note("flush")

    def on_readable(self, now: float) -> None:
        self._note("read")

    def on_writable(self, now: float) -> None:
        self._note("write")

    def next_deadline(self) -> float:
        return self.deadline

    def check_deadlines(self, now: float, _setup_error: object = None) -> None:
        self._note("late")
        self.close()

    def close(self, error: object = None) -> None:
        if self.is_open:
            self.forget(self)
            self.is_open, self.fd, self.deadline = False, -1, NEVER
            self._note("close")

    def _note(self, name: str) -> None:
        self.events.append(name)
        self.on_event(name)


def loop_on(selector: FakeSelector, monkeypatch: Any) -> Loop:
    """A loop whose waits are those of ``selector``."""
    monkeypatch.setattr(loop_module, "open_poll", lambda: selector)
    return Loop(now=selector.clock)
