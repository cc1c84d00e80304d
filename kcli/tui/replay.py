"""A recorded file as the source of snapshots: plays, pauses, and goes to any moment."""

from __future__ import annotations

from itertools import pairwise
from statistics import median
from threading import Condition, Thread

from kcli.core.clock import monotonic
from kcli.flows.monitor.cluster_reading import View
from kcli.flows.monitor.playback import Player, Recording
from kcli.output.progress import counted
from kcli.tui.feed import Post, stepped
from kcli.tui.reports import Broken, Taken

_SPEEDS = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 60.0, 120.0, 300.0)
_GAP_MS = 300_000  # a longer time without readings is skipped
_GAP_SECONDS = 1.0
_AT_ONCE = 40
"""Readings that are read without a word: for more, the wanted one is shown by itself meanwhile."""


class ReplayFeed:
    """Plays ``recording``, whose readings are parsed by a thread; ``close`` closes it too.

    ``position`` is the reading that is wanted: ``busy`` until its snapshot has been posted. It begins at
    ``position``, and stays there with ``paused``.
    """

    def __init__(self, recording: Recording, position: int = 0, *, paused: bool = False) -> None:
        self.recording, self.paused = recording, paused
        self.speed = 1.0
        self.position, self._shown = position, -1
        times = recording.times
        steps = [after - before for before, after in pairwise(times[:1000])]
        self.interval = median(steps) / 1000 if steps else 1.0
        self._player = Player(recording)
        self._follow: str | None = None
        self._followed: str | None = None
        self._changed = Condition()
        self._closed = False
        self._post: Post = lambda _report: None
        self._thread = Thread(target=self._run, name="kcli-replay", daemon=True)

    waiting = 0.0

    # --- Feed --------------------------------------------------------------------------------------------------------

    @property
    def note(self) -> str:
        read, needed = self._player.progress
        if needed > _AT_ONCE and self.busy:
            return f"reading {read} of {needed} before it"
        broken = self.recording.broken
        if broken:
            return f"{counted(broken, 'line')} skipped"
        at_end = self.paused and self.position == len(self.recording) - 1
        return "the file has grown since: open it again" if at_end and self.recording.grown else ""

    def clock(self) -> int:
        return self.recording.times[self.position]

    def start(self, post: Post) -> None:
        self._post = post
        self._thread.start()

    def look(self, view: View, follow: str | None) -> None:  # noqa: ARG002 - a recording has what it has
        if follow is not None:
            with self._changed:
                self._follow = follow
                self._changed.notify()

    def pace(self, step: int) -> None:
        with self._changed:
            self.speed = stepped(_SPEEDS, self.speed, -step)
            self._changed.notify()

    def pause(self, *, paused: bool) -> None:
        """Plays from the start again where it has come to the end."""
        with self._changed:
            self.paused = paused
            if not paused and self.position == len(self.recording) - 1:
                self.position = 0
            self._changed.notify()

    def now(self) -> None:
        """A recording has nothing newer."""

    def exclude(self, group: str, since_ms: int, until_ms: int) -> None:
        """Nothing is set from here."""

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join()
        self.recording.close()

    # --- position ----------------------------------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        """Whether the screen does not show the wanted reading yet."""
        return self._shown != self.position

    def step(self, readings: int) -> None:
        """Some readings on, or back."""
        self.jump(self.position + readings)

    def step_time(self, ms: int) -> None:
        """So much time on, or back: to the last reading at or before; at least one reading."""
        target = self.recording.before(self.clock() + ms)
        if target == self.position:
            target += 1 if ms > 0 else -1
        self.jump(target)

    def jump(self, position: int) -> None:
        """To a reading; it stays there if it was paused."""
        with self._changed:
            self.position = max(0, min(position, len(self.recording) - 1))
            self._changed.notify()

    # --- thread ------------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while (position := self._next()) is not None:
                self._show(position)
        except BaseException as error:  # noqa: BLE001 - the thread that started it reports it
            self._post(Broken(error))

    def _show(self, position: int) -> None:
        follow = self._player.follow = self._follow
        if self._player.cost(position) > _AT_ONCE and (first := self._player.alone(position)) is not None:
            self._post(Taken(first))
        snapshot = self._player.snapshot(position, lambda: self._closed or self.position != position)
        if self.position != position or self._closed:
            return
        self._shown, self._followed = position, follow
        if snapshot is not None:
            self._post(Taken(snapshot))

    def _next(self) -> int | None:
        """Waits for the next position to show; None when it is closed."""
        began = monotonic()
        with self._changed:
            while not self._closed:
                if self._shown != self.position or self._followed != self._follow:
                    return self.position
                if self.position == len(self.recording) - 1:
                    self.paused = True
                left = None if self.paused else began + self._wait() - monotonic()
                if left is not None and left <= 0:
                    self.position += 1
                    continue
                paused = self.paused
                self._changed.wait(left)
                if paused:
                    began = monotonic()
        return None

    def _wait(self) -> float:
        """Seconds from the reading that is shown to the one after."""
        times = self.recording.times
        step = times[self.position + 1] - times[self.position]
        return _GAP_SECONDS if step > _GAP_MS else step / 1000 / self.speed
