"""The line below the table that shows the position in a recording; the mouse moves it."""

from __future__ import annotations

from textual import events

from kcli.tui.replay import ReplayFeed
from kcli.tui.timeline import Moment, time_at, timeline
from kcli.tui.widgets.lines import Lines


class Timeline(Lines):
    """``paint`` shows the position of the recording that is played."""

    def __init__(self, replay: ReplayFeed) -> None:
        super().__init__(id="timeline")
        self.replay = replay
        self._utc_offset: int | None = None

    def paint(self, utc_offset: int | None) -> None:
        """``utc_offset``: see ``Reading``."""
        self._utc_offset = utc_offset
        self.show((timeline(self._moment(), self.size.width, playing=self._playing, busy=self.replay.busy),))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Goes there, and follows the mouse until it is released."""
        self.capture_mouse()
        self._go(event.x)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Goes where the mouse is drawn to."""
        if event.button and self.app.mouse_captured is self:
            self._go(event.x)

    def on_mouse_up(self, _event: events.MouseUp) -> None:
        """The mouse is free again."""
        self.release_mouse()

    @property
    def _playing(self) -> bool:
        return not self.replay.paused

    def _moment(self) -> Moment:
        times = self.replay.recording.times
        return Moment(times[0], times[-1], self.replay.clock(), self._utc_offset)

    def _go(self, x: int) -> None:
        at_ms = time_at(self._moment(), x, self.size.width, playing=self._playing)
        self.replay.jump(self.replay.recording.before(at_ms))
        self.paint(self._utc_offset)
