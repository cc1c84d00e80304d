"""The select loop: one thread owns it and everything it runs; other threads only ``wakeup`` or ``call_threadsafe``.

One turn: write what is queued, wait once, read and write what is ready, fire timers and deadlines, then complete the
futures of the turn. Completions come last and in one place, so that a callback never finds a connection with its bytes
half processed.

``poll`` does not return for bytes alone. A fetch of 8 MB arrives in some 40 pieces; when each of them made the
consumer check its positions, fetches and transactions, that was a third of its CPU time. Only reads are repeated
without a check of timers and interest: any other event ends the wait (``tests/unit/core/net/test_loop.py``).
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from kcli.core import clock
from kcli.core.connection.connection import Completion
from kcli.core.errors import KcliError
from kcli.core.future import Future
from kcli.core.hooks import NO_HOOKS, Hooks
from kcli.core.net.channel import Channel
from kcli.core.net.polling import READ, WRITE, Wakeup, open_poll

Done = Callable[[Any, BaseException | None], None]


class Worker:
    """The thread for work that takes long and needs no loop: deriving a key, fetching a token. One piece at a time.

    It starts with the first piece and ends when none is left, so that a client without such work has none.
    ``submit`` may be called from any thread; ``done`` is called in the worker thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards the two fields below
        self._queue: deque[tuple[Callable[[], Any], Done]] = deque()
        self._running = False

    def submit(self, work: Callable[[], Any], done: Done) -> None:
        """Runs ``work`` after what was submitted before, then ``done`` with its result or its error."""
        with self._lock:
            self._queue.append((work, done))
            start, self._running = not self._running, True
        if start:
            threading.Thread(target=self._run, name="kcli-worker", daemon=True).start()

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._queue:
                    # Under the lock, together with the look at the queue: a piece that is submitted after this
                    # starts a new thread, one before it is seen here.
                    self._running = False
                    return
                work, done = self._queue.popleft()
            value, raised = None, None
            try:
                value = work()
            except Exception as error:  # noqa: BLE001 - it belongs to whoever submitted the work
                raised = error
            done(value, raised)


NEVER = float("inf")


class Timer:
    """A handle that can cancel the timer."""

    __slots__ = ("callback", "cancelled", "when")

    def __init__(self, when: float, callback: Callable[[], None]) -> None:
        self.when = when
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class Timers:
    """Absolute times on the loop's clock, earliest first; equal times in the order they were set.

    ``heap`` is only read by others: while it is empty, nothing is due.
    """

    def __init__(self) -> None:
        self.heap: list[tuple[float, int, Timer]] = []
        self._order = itertools.count()

    def at(self, when: float, callback: Callable[[], None]) -> Timer:
        """Sets a timer."""
        timer = Timer(when, callback)
        heapq.heappush(self.heap, (when, next(self._order), timer))
        return timer

    def next_deadline(self) -> float:
        """When the earliest timer is due."""
        while self.heap and self.heap[0][2].cancelled:
            heapq.heappop(self.heap)
        return self.heap[0][0] if self.heap else NEVER

    def due(self, now: float) -> list[Timer]:
        """Removes and returns the timers that are due."""
        ready = []
        while self.next_deadline() <= now:
            ready.append(heapq.heappop(self.heap)[2])
        return ready


_UNWATCHED = 0
_NEVER = float("inf")
_LONGEST_WAIT = 86_400.0  # seconds; epoll accepts no more than 24 days


class Loop:
    """``poll`` is the only method that waits. ``now`` returns seconds and never steps back."""

    def __init__(self, *, hooks: Hooks = NO_HOOKS, now: Callable[[], float] = clock.monotonic) -> None:
        self.now = now
        self._hooks = hooks
        self._poll = open_poll()
        self._wakeup = Wakeup()
        self._wakeup_fd = self._wakeup.fileno()
        self._poll.register(self._wakeup_fd, READ)
        self._timers = Timers()
        self._channels: dict[Channel, int] = {}  # channel -> events that are watched
        self._watched: dict[int, Channel] = {}  # descriptor -> channel
        self._completed: deque[Completion] = deque()
        self._calls: deque[Callable[[], None]] = deque()
        self._worker: Worker | None = None
        self._owner: int | None = None  # the first thread to run it
        self._turning = False
        self._earliest = 0.0  # before it no timer and no deadline of this turn is due
        self._closed = False
        self._defect: Exception | None = None

    # --- for the owner thread ----------------------------------------------------------------------

    def adopt(self) -> None:
        """Makes the calling thread the owner; the previous owner must not use the loop any more."""
        self._owner = threading.get_ident()

    def poll(self, timeout: float | None = None, *requests: Future[Any]) -> list[Future[Any]]:
        """Runs the loop for at most ``timeout`` seconds (None: without limit).

        Without requests: returns when anything happened. Bytes sent or received do not count by themselves: a response
        of megabytes arrives in many pieces, and the caller would repeat the same decisions for each. With requests:
        runs until all are complete or time is up, and returns the complete ones; a request's error stays in its future.
        Connections, timers and everything else make progress meanwhile.
        """
        if self._turning or self._owner != threading.get_ident():
            self.check_owner()
        deadline = None if timeout is None else self.now() + timeout
        if not requests:
            while not self._turn(deadline):
                if deadline is not None and self.now() >= deadline:
                    break
            return []
        while not all(request.done for request in requests):
            self._turn(deadline)
            if deadline is not None and self.now() >= deadline:
                break
        return [request for request in requests if request.done]

    def poll_until(self, deadline: float) -> None:
        """``poll`` without requests, until a time on the loop's clock."""
        if self._turning or self._owner != threading.get_ident():
            self.check_owner()
        while not self._turn(deadline):
            if self.now() >= deadline:
                break

    def wait(self, future: Future[Any], timeout: float | None) -> None:
        """The ``wait`` of futures of this loop."""
        self.poll(timeout, future)

    def at(self, when: float, callback: Callable[[], None]) -> Timer:
        """Calls ``callback`` at ``when`` (the loop's clock), inside a turn."""
        return self._timers.at(when, callback)

    def complete(self, completion: Completion) -> None:
        """Completes a future at the end of this turn."""
        self._completed.append(completion)

    def flush(self) -> None:
        """Writes what is queued, without a turn: for an owner that will be busy with other work."""
        now = self.now()
        for channel in list(self._channels):
            if channel.wants_write:
                channel.flush(now)

    def add(self, channel: Channel) -> None:
        """Watches ``channel`` until it closes."""
        self._channels[channel] = _UNWATCHED
        channel.forget = self._forget

    def close(self) -> None:
        """Closes all channels and completes requests in flight with errors."""
        if self._closed:
            return
        self._closed = True
        try:
            for channel in list(self._channels):
                channel.close()
            # Their callbacks run while the loop still exists: they may wake it, or send, which the closed
            # client refuses.
            self._run_completions()
        finally:
            self._poll.close()
            self._wakeup.close()

    def drop(self) -> None:
        """Closes all sockets and calls no callbacks: for a finalizer, when the sockets may have been finalized before."""
        if not self._closed:
            self.forked()
            self._wakeup.close()

    def forked(self) -> None:
        """Called in the child after a fork: closes its copies of the sockets, and removes none from the epoll that it
        shares with its parent. Acquires no lock: another thread may have held it.
        """
        self._closed = True
        with contextlib.suppress(OSError):  # a kqueue is not inherited
            self._poll.close()  # first: then no socket needs to be unregistered
        for channel in self._channels:
            channel.drop()

    # --- for any thread ----------------------------------------------------------------------------

    def wakeup(self) -> None:
        """Ends the wait of the current or the next turn."""
        self._wakeup.wake()

    def call_threadsafe(self, fn: Callable[[], None]) -> None:
        """Runs ``fn`` in the owner thread, inside a turn."""
        self._calls.append(fn)
        self.wakeup()

    def run_in_thread(self, work: Callable[[], Any], done: Callable[[Any, KcliError | None], None]) -> None:
        """Runs ``work`` (a name lookup) in a new thread, then ``done`` in the loop."""

        def run() -> None:
            try:
                value, error = work(), None
            except KcliError as raised:
                value, error = None, raised
            with contextlib.suppress(OSError):  # the loop may be closed by now
                self.call_threadsafe(lambda: done(value, error))

        threading.Thread(target=run, name="kcli-worker", daemon=True).start()

    def compute(self, work: Callable[[], Any], done: Callable[[Any, BaseException | None], None]) -> None:
        """Runs ``work`` in the loop's one worker thread, then ``done`` with its result or its error in the loop."""
        if self._worker is None:
            self._worker = Worker()
        self._worker.submit(work, lambda value, error: self.call_threadsafe(lambda: done(value, error)))

    # --- inside ------------------------------------------------------------------------------------

    def check_owner(self) -> None:
        """Raises unless the calling thread may use the loop now."""
        if self._owner is None:
            self.adopt()
        if self._owner != threading.get_ident():
            raise RuntimeError("a loop is used by its owner thread only; see wakeup() and call_threadsafe()")
        if self._turning:
            raise RuntimeError("a callback must not poll the loop that runs it")

    def _turn(self, deadline: float | None) -> bool:
        """One wait and the handling of its events; False if only bytes of established connections moved."""
        # From here on a callback that polls is refused (`check_owner`): it would be run in the middle of the
        # events that called it.
        self._turning = True
        try:
            now = self.now()
            # What the callbacks of the last turn have queued is written before the wait, not after it.
            closed = self._flush_and_watch(now)
            happened, now = self._wait(now, self._wait_time(now, deadline))
            happened |= closed
            late = now >= self._earliest
            if late:
                happened |= self._check_deadlines(now)
            if self._calls:
                happened = True
                self._run_calls()
            if late:
                for timer in self._timers.due(now):
                    happened = True
                    self._contain(timer.callback)
            if self._completed or self._defect is not None:
                happened = True
                self._run_completions()
            return happened
        finally:
            self._turning = False

    def _wait(self, now: float, wait: float | None) -> tuple[bool, float]:
        """Waits once, and continues for the rest of that time as long as only bytes of a response arrive.

        They change nothing that is watched or that the waiting time depends on, and a large response arrives in many
        pieces. Returns False if it ended with only bytes sent or received, and the time of the last event.
        """
        end = None if wait is None else now + wait
        while True:
            ready = self._poll.poll(wait)
            now = self.now()
            happened, wrote = not ready, False
            for fd, events in ready:
                if fd == self._wakeup_fd:
                    self._wakeup.drain()
                    happened = True
                elif fd in self._watched:  # not closed since, by what was served before it
                    channel = self._watched[fd]
                    writable = bool(events & ~READ and self._channels[channel] & WRITE)
                    happened |= self._serve(channel, bool(events & ~WRITE), writable, now)
                    wrote |= writable
            if happened or wrote or self._completed or self._calls:
                return happened, now
            if end is not None:
                now = self.now()
                wait = end - now
                if wait <= 0:
                    return False, now

    def _serve(self, channel: Channel, readable: bool, writable: bool, now: float) -> bool:
        """Whether more happened than bytes that moved. An error or a hang-up is reported as both."""
        was_ready = channel.is_ready
        # A refused connect is readable and writable at once; after the first event the channel may be at its next
        # address already, and the second event does not belong to that socket.
        served = channel.attempt
        if readable and channel.is_open:
            channel.on_readable(now)
        if writable and channel.is_open and channel.attempt == served:
            channel.on_writable(now)
        return not (was_ready and channel.is_ready)

    def _flush_and_watch(self, now: float) -> bool:
        """Writes queued bytes before waiting, then updates what is watched. Returns whether a channel has closed."""
        closed = False
        for channel in list(self._channels):
            wants_write = channel.wants_write
            if wants_write:
                channel.flush(now)
                wants_write = channel.wants_write
            if not channel.is_open:
                del self._channels[channel]
                closed = True
                continue
            events = READ | WRITE if wants_write else READ
            watched = self._channels[channel]
            if watched == events or (fd := channel.fileno()) < 0:
                continue
            if watched == _UNWATCHED:
                self._poll.register(fd, events)
                self._watched[fd] = channel
            else:
                self._poll.modify(fd, events)
            self._channels[channel] = events
        return closed

    def _forget(self, channel: Channel) -> None:
        if self._channels.get(channel, _UNWATCHED) != _UNWATCHED:
            fd = channel.fileno()
            with contextlib.suppress(OSError):  # a forked child has removed it: both share epoll
                self._poll.unregister(fd)
            del self._watched[fd]
            self._channels[channel] = _UNWATCHED

    def _wait_time(self, now: float, deadline: float | None) -> float | None:
        earliest = self._timers.next_deadline() if self._timers.heap else _NEVER
        for channel in self._channels:
            due = channel.next_deadline()
            if due < earliest:
                earliest = due
        self._earliest = earliest
        if self._completed or self._calls:
            return 0.0
        if deadline is not None and deadline < earliest:
            earliest = deadline
        if earliest == _NEVER:
            return None
        wait = earliest - now
        return 0.0 if wait < 0 else wait if wait < _LONGEST_WAIT else _LONGEST_WAIT

    def _check_deadlines(self, now: float) -> bool:
        """Whether any deadline has passed."""
        late = [channel for channel in self._channels if channel.next_deadline() <= now]
        for channel in late:
            channel.check_deadlines(now)
        return bool(late)

    def _run_calls(self) -> None:
        # As many as there are now: a call that queues another one must not keep the turn from ending.
        for _ in range(len(self._calls)):
            self._contain(self._calls.popleft())

    def _contain(self, callback: Callable[[], None]) -> None:
        """Runs a callback; an error in it is a defect, which must not affect the others."""
        try:
            callback()
        except Exception as error:  # noqa: BLE001 - the loop continues in any case, and the first error is kept
            self._note_defect(error)

    def _note_defect(self, error: Exception) -> None:
        self._hooks.log("warning", "proto", f"internal error in a callback: {error!r}")
        self._defect = self._defect or error

    def _run_completions(self) -> None:
        while self._completed:
            future, value, error = self._completed.popleft()
            try:
                future.complete(value, error)
            except Exception as raised:  # noqa: BLE001 - as in ``_contain``, whose calls are saved for each response
                self._note_defect(raised)
        if self._defect is not None:
            defect, self._defect = self._defect, None
            raise defect
