"""Orderly stopping: the first SIGINT, SIGTERM or SIGHUP requests a stop, the second exits at once.

A handler runs in the main thread, between two steps of Python code; it only sets the signal's number and wakes waiting
code. Python resumes an interrupted system call (PEP 475), so a loop that blocks must watch ``fileno()`` or be woken by
a callable (``wake``). The handler of a signal that comes between the last step and a system call runs after that call: so
the interpreter writes to the pipe of ``fileno()`` itself, as soon as the signal comes. A decompression in the thread of
the ``with`` block ends early, by StoppedError.

``Stop`` is installed only when there is something to complete: before the first contact Ctrl-C is the plain
KeyboardInterrupt, so that a broker that does not respond delays no one (``tests/cli/test_early_interrupts.py``).
"""

import _signal as signal  # type: ignore[import-not-found] # all of `signal` that is used here, without its enumerations
import os
import threading
from collections.abc import Callable
from contextvars import Token
from types import FrameType, TracebackType

from kcli.core.clock import monotonic
from kcli.core.codecs.decompress import stop_requested
from kcli.core.exit_codes import signalled

_LAST_PATIENCE = 3.0  # seconds for the last answers, of the five in which a stop has to be over
_LOOK = 0.2  # seconds between two looks at the stop
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class LastWait:
    """How long the end of a run waits for brokers: ``seconds``, as any call; once a stop is requested, three at most."""

    def __init__(
        self, stopped: Callable[[], object], seconds: float, clock: Callable[[], float] = monotonic
    ) -> None:
        self._stopped, self._clock = stopped, clock
        self._until = clock() + seconds
        self._shortened = False

    @property
    def left(self) -> float:
        """Seconds to wait before the next look; 0 where it is over."""
        now = self._clock()
        if not self._shortened and self._stopped():
            self._shortened = True
            self._until = min(self._until, now + _LAST_PATIENCE)
        return max(0.0, min(_LOOK, self._until - now))


class Stop:
    """A request to stop. Also works without signals: a test or a screen calls ``request``.

    ``unconfirmed`` returns what would be lost, at a second signal; it is called inside the handler. ``late``: the block
    begins with a contact that may take long, and calls ``install`` when there is something to complete (see above).
    """

    def __init__(
        self,
        *,
        unconfirmed: Callable[[], str] = str,
        end: Callable[[int], object] = os._exit,
        late: bool = False,
    ) -> None:
        self.signal = 0
        self._late = late
        self.unconfirmed = unconfirmed
        self._end = end
        self._wakers: list[Callable[[], object]] = []
        self._pipe: tuple[int, int] | None = None
        self._wakeup_before: int | None = None
        # A request of another thread must not write to a pipe that is closed meanwhile. Reentrant: a signal may arrive
        # while the lock is held; the pipe is only closed when the handlers are gone.
        self._pipe_lock = threading.RLock()
        self._before: dict[int, object] = {}
        self._decompressing: Token[Callable[[], object]] | None = None

    def __bool__(self) -> bool:
        return self.signal != 0

    @property
    def exit_code(self) -> int:
        """128 + the signal's number; 0 while no stop is requested."""
        return signalled(self.signal) if self.signal else 0

    def __enter__(self) -> "Stop":
        if not self._late:
            self._install()
        return self

    def install(self) -> None:
        """The contact is made: from now on a signal is a request. Of a stop that is not ``late`` nothing."""
        if self._late:
            self._late = False
            self._install()

    def _install(self) -> None:
        """Installs the handlers; not for signals that the parent chose to ignore (nohup, ``&``)."""
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                try:
                    self._before[number] = signal.signal(number, self._on_signal)
                except ValueError:  # not the main thread: other code owns the signals
                    break
        with self._pipe_lock:
            if self._pipe is not None:
                self._wake_by_signal(self._pipe[1])
        self._decompressing = stop_requested.set(self.__bool__)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()
        if self._decompressing is not None:
            stop_requested.reset(self._decompressing)
            self._decompressing = None
        with self._pipe_lock:
            if self._pipe is not None:
                if self._wakeup_before is not None:
                    signal.set_wakeup_fd(self._wakeup_before)
                    self._wakeup_before = None
                for end in self._pipe:
                    os.close(end)
                self._pipe = None

    def wake(self, waker: Callable[[], object]) -> None:
        """Calls ``waker`` when a stop is requested (at once if it already was); it must not block."""
        self._wakers.append(waker)
        if self.signal:
            waker()

    def fileno(self) -> int:
        """A descriptor that becomes readable, and stays so, when a stop is requested."""
        with self._pipe_lock:
            if self._pipe is None:
                self._pipe = os.pipe()
                self._wake_by_signal(self._pipe[1])
                if self.signal:
                    os.write(self._pipe[1], b"!")
            return self._pipe[0]

    def _wake_by_signal(self, end: int) -> None:
        if not self._before:  # no signal is a request
            return
        os.set_blocking(end, False)
        try:
            self._wakeup_before = signal.set_wakeup_fd(end, warn_on_full_buffer=False)
        except ValueError:  # not the main thread: its wait for signals is none of this one's
            os.set_blocking(end, True)

    def request(self, number: int = signal.SIGINT) -> None:
        """The effect of a signal: the first requests a stop, the second ends the process."""
        if self.signal:
            self._now(number)
            return
        self.signal = number
        with self._pipe_lock:
            if self._pipe is not None:
                os.write(self._pipe[1], b"!")
        for waker in self._wakers:
            waker()

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self.request(number)

    def _now(self, number: int) -> None:
        try:
            text = self.unconfirmed()
            if text:
                os.write(2, f"kcli: stopped at once: {text}\n".encode())
        finally:
            self._end(signalled(number))
