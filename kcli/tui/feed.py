"""Where snapshots come from: a thread that reads the cluster at intervals.

Without Textual: the first reading is on its way while that is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from queue import SimpleQueue
from threading import Condition, Thread
from time import process_time
from typing import Protocol

from kcli.core.clock import monotonic, wall_ms
from kcli.core.errors import KcliError
from kcli.flows.monitor.board import Board
from kcli.flows.monitor.cluster_reading import Reading, View
from kcli.flows.monitor.monitor import Monitor
from kcli.tui.reports import Broken, Lost, Report, Taken

Post = Callable[[Report], object]
_INTERVALS = (0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0)
SHORTEST = _INTERVALS[0]
"""Seconds between two readings, at least."""
_PATIENCE, _TO_RECORD = 0.05, 1.0
"""Seconds for the thread to end when the screen is left, and for what it is recording then. It ends with the process in
any case: a reading that the cluster does not answer keeps nobody waiting.
"""

_KINDS = ("topics", "brokers", "quorum", "transactions", "mirrors")


class Feed(Protocol):
    """Posts ``Taken``, ``Lost`` and ``Broken``. All calls come from the application's thread.

    ``interval`` is in seconds; ``note`` is what the title says of what became of readings.
    """

    interval: float
    paused: bool

    @property
    def note(self) -> str:
        """Empty as a rule."""

    @property
    def waiting(self) -> float:
        """Seconds since the reading began that is on its way; 0 where none is."""

    @property
    def speed(self) -> float | None:
        """That of a recording; None for a cluster."""

    def clock(self) -> int:
        """Now, in ms: in a recording the time that is shown."""

    def start(self, post: Post) -> None:
        """Begins to post."""

    def look(self, view: View, follow: str | None) -> None:
        """What is on the screen now; what that needs and was not read is read at once."""

    def pace(self, step: int) -> None:
        """The next longer (1) or shorter (-1) interval; of a recording the next lower or higher speed."""

    def pause(self, *, paused: bool) -> None:
        """Stops reading, or goes on."""

    def now(self) -> None:
        """Reads at once, also while paused."""

    def exclude(self, group: str, since_ms: int, until_ms: int) -> None:
        """The offsets of a group were set from here between these times: it has not read what they went ahead by."""

    def close(self) -> None:
        """Ends it. A reading that a cluster does not answer is not waited for."""


class LiveFeed:
    """``open_monitor`` is called by the thread of the feed, which owns the clients.

    ``record`` takes each reading, which then has what all screens show, whatever is on this one. Its KcliErrors do not
    end the feed: ``unrecorded`` counts them, ``record_failure`` is the last one. A reading that takes long delays the
    next one: at most half of a core is used. ``begin`` lets it read before there is somebody to post to.
    """

    speed = None

    def __init__(
        self,
        open_monitor: Callable[[], AbstractContextManager[Monitor]],
        interval: float,
        record: Callable[[Reading], None] | None = None,
    ) -> None:
        self.interval, self.paused = interval, False
        self._open_monitor, self._record = open_monitor, record
        self.recorded, self.unrecorded = 0, 0
        self.record_failure: KcliError | None = None
        self._recording, self._writing = True, False
        self._board = Board()
        self._excluded: SimpleQueue[tuple[str, int, int]] = SimpleQueue()
        self._view = View()
        self._follow: str | None = None
        self._changed = Condition()
        self._at_once, self._closed = True, False
        self._began: float | None = None
        self._post: Post | None = None
        self._early: list[Report] = []
        self._thread = Thread(target=self._run, name="kcli-top", daemon=True)

    @property
    def note(self) -> str:
        if self._record is None:
            return ""
        failure = self.record_failure
        return (
            "recording" if self._recording or failure is None else f"NOT RECORDED: {failure.why or failure}"
        )

    @property
    def waiting(self) -> float:
        began = self._began
        return 0.0 if began is None else monotonic() - began

    def clock(self) -> int:
        return wall_ms()

    def begin(self) -> None:
        """Reads from now on; what there is to report waits for ``start``."""
        self._thread.start()

    def start(self, post: Post) -> None:
        with self._changed:
            self._post, early = post, self._early
            self._early = []
            for one in early:  # before what the thread posts from now on
                post(one)
        if self._thread.ident is None:
            self.begin()

    def look(self, view: View, follow: str | None) -> None:
        with self._changed:
            more = _more(self._view, view) or (follow != self._follow and follow is not None)
            self._view, self._follow = view, follow
            if more and not self.paused:
                self._wake()

    def pace(self, step: int) -> None:
        with self._changed:
            self.interval = stepped(_INTERVALS, self.interval, step)
            self._changed.notify()

    def pause(self, *, paused: bool) -> None:
        with self._changed:
            self.paused = paused
            if not paused:
                self._wake()

    def now(self) -> None:
        with self._changed:
            self._wake()

    def exclude(self, group: str, since_ms: int, until_ms: int) -> None:
        self._excluded.put((group, since_ms, until_ms))

    def close(self) -> None:
        with self._changed:
            if self._closed:
                return
            self._closed = True
            self._changed.notify()
        if self._thread.ident is not None:
            self._thread.join(_TO_RECORD if self._writing else _PATIENCE)

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
                    self._began = began
                    self._read(monitor, view, follow)
                    self._began = None
                    self._wait(began, 2 * (process_time() - used))
        except BaseException as error:  # noqa: BLE001 - the thread that started it reports it
            self._send(Broken(error))

    def _read(self, monitor: Monitor, view: View, follow: str | None) -> None:
        if self._record is not None:
            view = view._replace(
                topics=True, brokers=True, quorum=True, transactions=True, mirrors=True, configs=True
            )
        began_ms = wall_ms()
        try:
            reading = monitor.read(view, self.interval)
        except KcliError as error:
            self._board.interrupt()
            self._send(Lost(error, began_ms))
            return
        self._keep(reading)
        self._board.follow(follow)
        while not self._excluded.empty():
            self._board.exclude(*self._excluded.get())
        self._send(Taken(self._board.add(reading)))

    def _send(self, report: Report) -> None:
        if self._closed:
            return
        with self._changed:
            post = self._post
            if post is None:
                self._early.append(report)
                return
        try:
            post(report)
        except RuntimeError:
            if not self._closed:  # else the loop of the application has ended meanwhile
                raise

    def _keep(self, reading: Reading) -> None:
        if self._record is None:
            return
        self._writing = True
        try:
            self._record(reading)
        except KcliError as error:
            self.unrecorded += 1
            self.record_failure, self._recording = error, False
        else:
            self.recorded += 1
            self._recording = True
        finally:
            self._writing = False

    def _wait(self, began: float, at_least: float) -> None:
        """Until the next reading is due, or something was asked for."""
        with self._changed:
            while not (self._closed or self._at_once):
                left = began + max(self.interval, at_least) - monotonic()
                if left <= 0 and not self.paused:
                    return
                self._changed.wait(None if self.paused else left)


def stepped(steps: Sequence[float], now: float, step: int) -> float:
    """The next larger (1) or smaller (-1) of some steps in ascending order; ``now`` where there is none."""
    if step > 0:
        return next((one for one in steps if one > now), now)
    return next((one for one in reversed(steps) if one < now), now)


def _more(before: View, now: View) -> bool:
    """Whether the view wants something that was not read."""
    kinds = any(getattr(now, kind) and not getattr(before, kind) for kind in _KINDS)
    opened = bool(now.topic) and now.topic != before.topic
    return kinds or opened or now.time != before.time or bool(set(now.timed) - set(before.timed))
