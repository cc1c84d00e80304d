"""A result that is not available yet: plain state, without a lock or a thread of its own.

Its creator passes the callable that waits: the Loop's poll for requests, the sender's thread for deliveries. A future
is completed once, by the thread that owns its creator.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

Wait = Callable[["Future[T]", float | None], None]


class Future(Generic[T]):
    """``wait(future, timeout)`` must return when the future is done or ``timeout`` seconds have passed.

    ``done``: it has its value or its error. ``error`` is None if it is not done or has succeeded. Both are only read.
    """

    __slots__ = ("_callbacks", "_value", "_wait", "done", "error")

    def __init__(self, wait: "Wait[T] | None" = None) -> None:
        self._wait = wait
        self.done = False
        self._value: T | None = None
        self.error: BaseException | None = None
        self._callbacks: list[Callable[[Future[T]], None]] = []

    @property
    def value(self) -> T:
        """The value of a future that has succeeded; raises its error otherwise."""
        if not self.done:
            raise RuntimeError("the future is not done")
        if self.error is not None:
            raise self.error
        return self._value  # type: ignore[return-value]

    def result(self, timeout: float | None = None) -> T:
        """Waits at most ``timeout`` seconds (None: without limit) and returns ``value``.

        Raises TimeoutError if it is not done by then, or the error the future was completed with.
        """
        if not self.done and self._wait is not None:
            self._wait(self, timeout)
        if not self.done:
            raise TimeoutError("no result in time")
        return self.value

    def set_result(self, value: T) -> None:
        """Completes it with a value."""
        self.complete(value, None)

    def set_error(self, error: BaseException) -> None:
        """Completes it with an error."""
        self.complete(None, error)

    def on_done(self, callback: "Callable[[Future[T]], None]") -> None:
        """Calls ``callback(self)`` when done, or at once if it is. Callbacks must not block."""
        if self.done:
            callback(self)
        else:
            self._callbacks.append(callback)

    def complete(self, value: T | None, error: BaseException | None) -> None:
        """Completes it with a value, or with an error. A second completion is ignored: the first one stays."""
        if self.done:
            return
        self._value, self.error, self.done = value, error, True
        callbacks, self._callbacks = self._callbacks, []
        defect: Exception | None = None
        for callback in callbacks:
            try:
                callback(self)
            except Exception as raised:  # noqa: BLE001 - the other callbacks must still be called
                defect = defect or raised
        if defect is not None:
            raise defect
