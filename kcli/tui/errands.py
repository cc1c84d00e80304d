"""A thread that does one thing after the other with clients of its own, while the screen goes on living."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from queue import SimpleQueue
from threading import Event, Thread
from typing import Generic, TypeVar

from textual.message import Message

from kcli.tui.actions import CancelledError

D = TypeVar("D")


class Done(Message):
    """An errand has ended: ``result`` of the errand named ``errand``, or its ``error``."""

    def __init__(self, errand: str, result: object = None, error: BaseException | None = None) -> None:
        super().__init__()
        self.errand, self.result, self.error = errand, result, error


class Said(Message):
    """An errand reports; ``passing``: the line takes the place of the one before."""

    def __init__(self, text: str, *, passing: bool = False) -> None:
        super().__init__()
        self.text, self.passing = text, passing


class Errands(Generic[D]):
    """``open_desk`` is called by the thread when there is something to do; its object is closed by it, too.

    One that cannot be opened is opened again for the next errand. ``ended``: what no screen has seen yet. ``vital``:
    something is being changed, which has to end in order. It is the ``Voice`` of what it runs. ``cancel`` ends waiting;
    an errand that does not wait is not interrupted.
    """

    def __init__(
        self, open_desk: Callable[[Errands[D]], AbstractContextManager[D]], post: Callable[[Message], object]
    ) -> None:
        self._open, self._post = open_desk, post
        self.ended: list[Done] = []
        self.vital = False
        self._todo: SimpleQueue[tuple[str, Callable[[D], object]] | None] = SimpleQueue()
        self._cancelled = Event()
        self._thread = Thread(target=self._run, name="kcli-top-errands", daemon=True)

    def do(self, errand: str, work: Callable[[D], object], *, vital: bool = False) -> None:
        """Adds an errand; ``Done`` is posted when it has ended."""
        self._cancelled.clear()
        self.vital = vital
        self._todo.put((errand, work))
        if self._thread.ident is None:
            self._thread.start()

    def cancel(self) -> None:
        """What waits now ends with CancelledError."""
        self._cancelled.set()

    def close(self) -> None:
        """What is begun is ended in order; nothing more is begun."""
        self._cancelled.set()
        self._todo.put(None)

    def join(self) -> None:
        """Waits until it has ended."""
        if self._thread.ident is not None:
            self._thread.join()

    @property
    def over(self) -> bool:
        """Whether the thread has ended."""
        return self._thread.ident is not None and not self._thread.is_alive()

    # as Voice

    def note(self, text: str) -> None:
        """A line below those before it."""
        self._post(Said(text))

    def progress(self, text: str) -> None:
        """A line in place of the one before."""
        self._post(Said(text, passing=True))

    def sleep(self, seconds: float) -> None:
        """CancelledError when it was cancelled."""
        if self._cancelled.wait(seconds):
            raise CancelledError

    def _run(self) -> None:
        closing = False
        while not closing and (first := self._todo.get()) is not None:
            try:
                with self._open(self) as desk:
                    self._do(desk, *first)
                    while (one := self._todo.get()) is not None:
                        self._do(desk, *one)
                    closing = True
            except BaseException as error:  # noqa: BLE001 - shown where it was asked for; the next one opens it again
                self._report(Done(first[0], error=error))

    def _do(self, desk: D, errand: str, work: Callable[[D], object]) -> None:
        try:
            done = Done(errand, work(desk))
        except BaseException as error:  # noqa: BLE001 - as above
            done = Done(errand, error=error)
        self._report(done)

    def _report(self, done: Done) -> None:
        self.ended.append(done)
        self._post(done)
