"""Where snapshots come from: a thread that reads the cluster at intervals."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import Condition, Thread
from time import process_time
from typing import Protocol

from textual.message import Message

from kcli.core.clock import monotonic
from kcli.core.errors import KcliError
from kcli.flows.monitor.board import Board
from kcli.flows.monitor.monitor import Monitor
from kcli.flows.monitor.reading import Reading, View
from kcli.tui.messages import Broken, Lost, Taken

Post = Callable[[Message], object]
SHORTEST, LONGEST = 0.5, 300.0
"""Seconds between two readings."""
_PATIENCE = 1.0
"""Seconds for a reading to complete when the screen is left; the thread ends with the process in any case."""


class Feed(Protocol):
    """Posts ``Taken``, ``Lost`` and ``Broken``. All calls come from the application's thread."""

    interval: float
    paused: bool

    def start(self, post: Post) -> None:
        """Begins to post."""

    def look(self, view: View, follow: str | None) -> None:
        """What is on the screen now; what that needs and was not read is read at once."""

    def pace(self, interval: float) -> None:
        """Other seconds between two readings."""

    def pause(self, *, paused: bool) -> None:
        """Stops reading, or goes on."""

    def now(self) -> None:
        """Reads at once, also while paused."""

    def close(self) -> None:
        """Ends it. A reading that a cluster does not answer is not waited for."""


class LiveFeed:
    """``open_monitor`` is called by the thread of the feed, which owns the clients. ``record`` takes each reading.

    A reading that takes long delays the next one: at most half of a core is used.
    """

    def __init__(
        self,
        open_monitor: Callable[[], AbstractContextManager[Monitor]],
        interval: float,
        record: Callable[[Reading], None] | None = None,
    ) -> None:
        self.interval, self.paused = interval, False
        self._open_monitor, self._record = open_monitor, record
        self._board = Board()
        self._view = View()
        self._follow: str | None = None
        self._changed = Condition()
        self._at_once, self._closed = True, False
        self._post: Post = lambda _message: None
        self._thread = Thread(target=self._run, name="kcli-top", daemon=True)

    def start(self, post: Post) -> None:
        self._post = post
        self._thread.start()

    def look(self, view: View, follow: str | None) -> None:
        with self._changed:
            more = _more(self._view, view) or (follow != self._follow and follow is not None)
            self._view, self._follow = view, follow
            if more and not self.paused:
                self._wake()

    def pace(self, interval: float) -> None:
        with self._changed:
            self.interval = min(LONGEST, max(SHORTEST, interval))
            self._changed.notify()

    def pause(self, *, paused: bool) -> None:
        with self._changed:
            self.paused = paused
            if not paused:
                self._wake()

    def now(self) -> None:
        with self._changed:
            self._wake()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread.ident is not None:
            self._thread.join(_PATIENCE)

    def _wake(self) -> None:
        self._at_once = True
        self._changed.notify()

    def _run(self) -> None:
        try:
            with self._open_monitor() as monitor:
                while not self._closed:
                    with self._changed:
                        self._at_once = False
                        view, follow = self._view, self._follow
                    began, used = monotonic(), process_time()
                    self._read(monitor, view, follow)
                    self._wait(began, 2 * (process_time() - used))
        except BaseException as error:  # noqa: BLE001 - the thread that started it reports it
            self._send(Broken(error))

    def _read(self, monitor: Monitor, view: View, follow: str | None) -> None:
        try:
            reading = monitor.read(view)
        except KcliError as error:
            self._board.interrupt()
            self._send(Lost(error))
            return
        if self._record is not None:
            self._record(reading)
        self._board.follow(follow)
        self._send(Taken(self._board.add(reading)))

    def _send(self, message: Message) -> None:
        if self._closed:
            return
        try:
            self._post(message)
        except RuntimeError:
            if not self._closed:  # else the loop of the application has ended meanwhile
                raise

    def _wait(self, began: float, at_least: float) -> None:
        """Until the next reading is due, or something was asked for."""
        with self._changed:
            while not (self._closed or self._at_once):
                left = began + max(self.interval, at_least) - monotonic()
                if left <= 0 and not self.paused:
                    return
                self._changed.wait(None if self.paused else left)


def _more(before: View, now: View) -> bool:
    """Whether the view wants something that was not read."""
    kinds = (now.topics and not before.topics) or (now.brokers and not before.brokers)
    return kinds or now.time != before.time or bool(set(now.timed) - set(before.timed))
