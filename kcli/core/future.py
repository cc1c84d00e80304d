"""A result that is not available yet: plain state, without a lock or a thread of its own.

Its creator passes the callable that waits: the Loop's poll for requests, the producer's Condition for deliveries. A
future is completed once, by the thread that owns its creator.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

Wait = Callable[["Future[T]", float | None], None]


class Future(Generic[T]):
    """``wait(future, timeout)`` must return when the future is done or ``timeout`` seconds have passed."""

    __slots__ = ("_callbacks", "_done", "_error", "_value", "_wait")

    def __init__(self, wait: "Wait[T] | None" = None) -> None:
        self._wait = wait
        self._done = False
        self._value: T | None = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future[T]], None]] = []

    @property
    def done(self) -> bool:
        """Whether it has its value or its error."""
        return self._done

    @property
    def error(self) -> BaseException | None:
        """The error; None if it is not done or has succeeded."""
        return self._error

    @property
    def value(self) -> T:
        """The value of a future that has succeeded; raises its error otherwise."""
        if not self._done:
            raise RuntimeError("the future is not done")
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]

    def result(self, timeout: float | None = None) -> T:
        """Waits at most ``timeout`` seconds (None: without limit) and returns ``value``.

        Raises TimeoutError if it is not done by then, or the error the future was completed with.
        """
        if not self._done and self._wait is not None:
            self._wait(self, timeout)
        if not self._done:
            raise TimeoutError("no result in time")
        return self.value

    def set_result(self, value: T) -> None:
        """Completes it with a value. A second completion is ignored: the first one stays."""
        if not self._done:
            self._value = value
            self._finish()

    def set_error(self, error: BaseException) -> None:
        """Completes it with an error."""
        if not self._done:
            self._error = error
            self._finish()

    def on_done(self, callback: "Callable[[Future[T]], None]") -> None:
        """Calls ``callback(self)`` when done, or at once if it is. Callbacks must not block."""
        if self._done:
            callback(self)
        else:
            self._callbacks.append(callback)

    def _finish(self) -> None:
        self._done = True
        callbacks, self._callbacks = self._callbacks, []
        defect: Exception | None = None
        for callback in callbacks:
            try:
                callback(self)
            except Exception as error:  # noqa: BLE001 - the other callbacks must still be called
                defect = defect or error
        if defect is not None:
            raise defect
