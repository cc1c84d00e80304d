"""The application: it has the last snapshot, the pace and the screens."""

from __future__ import annotations

from contextlib import suppress

from textual.app import App
from textual.binding import Binding

from kcli.core.clock import wall_ms
from kcli.core.errors import KcliError
from kcli.flows.lag.measure import ESTIMATE, EXACT
from kcli.flows.monitor.snapshot import Snapshot
from kcli.tui.driver import TopDriver
from kcli.tui.facts import Facts
from kcli.tui.feed import Feed
from kcli.tui.head import Status
from kcli.tui.messages import Broken, Lost, Taken
from kcli.tui.screens.brokers import Brokers
from kcli.tui.screens.events import Events
from kcli.tui.screens.group_partitions import GroupPartitions
from kcli.tui.screens.groups import Groups
from kcli.tui.screens.listing import Listing
from kcli.tui.screens.topics import Topics

_REPAINT = 0.05
"""Seconds in which several snapshots become one repaint."""
_STEPS = (0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0)


class TopApp(App[None]):
    """``kcli top``. ``error`` is what ended it, if anything did."""

    TITLE = "kcli top"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS = [
        Binding("q", "quit", "quit"),
        Binding("space", "pause", "pause"),
        Binding("r", "now", "read now"),
        Binding("plus", "pace(1)", "slower"),
        Binding("minus", "pace(-1)", "faster"),
        Binding("t", "time", "exact or estimated time"),
        Binding("1", "list('groups')", "groups"),
        Binding("2", "list('topics')", "topics"),
        Binding("3", "list('brokers')", "brokers"),
        Binding("4", "list('events')", "events"),
        Binding("ctrl+c", "quit", show=False, priority=True),
        Binding("ctrl+z", "suspend_process", show=False, priority=True),
    ]
    SCREENS = {"groups": Groups, "topics": Topics, "brokers": Brokers, "events": Events}
    CSS = """
    Lines { height: auto; width: 100%; }
    #head { background: $panel; }
    #keys { background: $panel; dock: bottom; }
    """

    def __init__(self, feed: Feed, facts: Facts, first: str = "groups") -> None:
        super().__init__(driver_class=TopDriver, ansi_color=False)
        self.feed, self.facts, self.first = feed, facts, first
        self.time = ESTIMATE
        self.snapshot: Snapshot | None = None
        self.lost: tuple[int, KcliError] | None = None
        self.error: BaseException | None = None
        self._repaint_due = False
        self._leaving = False

    # --- life --------------------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """The first screen, and the first reading."""
        self.push_screen(self.first)
        self.set_interval(1.0, self._tick)
        self.feed.start(self.post_message)
        if self._leaving:
            self.exit()

    def on_unmount(self) -> None:
        """The feed ends with the screen."""
        self.feed.close()

    def leave(self) -> None:
        """Ends the screen in order. For any thread and for signal handlers, also before the screen has begun."""
        self._leaving = True
        loop = self._loop
        if loop is not None:
            with suppress(RuntimeError):  # the loop has ended already
                loop.call_soon_threadsafe(self.exit)

    def leave_at_once(self) -> None:
        """Gives the terminal back as it was, for a process that ends without ``run`` having returned."""
        if isinstance(self._driver, TopDriver):
            self._driver.restore_at_once()

    def terminal_gone(self) -> None:
        """There is nothing to draw on any more."""
        self.error = self.error or KcliError(
            "the terminal is gone", why="it can no longer be read or written", do="start kcli top again"
        )
        self.exit(return_code=1)

    def _handle_exception(self, error: Exception) -> None:
        """Ends the application; who called ``run`` reports the error, as for every command.

        Not Textual's traceback, which shows the values of variables.
        """
        self.error = self.error or error
        if self._exception is None:  # what Pilot raises in tests
            self._exception = error
            self._exception_event.set()
        self._return_code = 1
        self._close_messages_no_wait()

    def panic(self, *_renderables: object) -> None:
        """Nothing is printed by Textual itself."""
        self._close_messages_no_wait()

    # --- data --------------------------------------------------------------------------------------------------------

    @property
    def stale(self) -> bool:
        """Whether what is shown is no longer what the cluster has."""
        return self.lost is not None

    def status(self) -> Status:
        """How the screen is now."""
        lost = None if self.lost is None else (self.lost[0], str(self.lost[1]))
        reading = None if self.snapshot is None else self.snapshot.reading
        requests = None if reading is None else reading.requests / max(self.feed.interval, reading.seconds)
        return Status(wall_ms(), self.feed.interval, self.feed.paused, lost, requests)

    def on_taken(self, message: Taken) -> None:
        """Repaints soon; snapshots that come until then are not painted one by one."""
        self.snapshot, self.lost = message.snapshot, None
        self._repaint_soon()

    def on_lost(self, message: Lost) -> None:
        """The data on the screen is from before."""
        since = self.lost[0] if self.lost is not None else wall_ms()
        self.lost = since, message.error
        self._repaint_soon()

    def on_broken(self, message: Broken) -> None:
        """Nothing more will come."""
        self.error = message.error
        self.exit(return_code=1)

    def look(self) -> None:
        """Tells the feed what the screen wants."""
        if isinstance(self.screen, Listing):
            self.feed.look(*self.screen.view())

    def _repaint_soon(self) -> None:
        if not self._repaint_due:
            self._repaint_due = True
            self.set_timer(_REPAINT, self._repaint)

    def _repaint(self) -> None:
        self._repaint_due = False
        if isinstance(self.screen, Listing):
            self.screen.repaint()
            self.look()

    def _tick(self) -> None:
        if isinstance(self.screen, Listing):
            self.screen.paint_status()

    # --- keys --------------------------------------------------------------------------------------------------------

    def back(self) -> None:
        """To the screen before; the first one stays."""
        if len(self.screen_stack) > 2:
            self.pop_screen()

    def open_group(self, name: str) -> None:
        """The partitions of a group."""
        if name:
            self.push_screen(GroupPartitions(name))

    def action_list(self, name: str) -> None:
        """One of the lists: it takes the place of the one before, and of what was opened from that."""
        while len(self.screen_stack) > 2:
            self.pop_screen()
        self.switch_screen(name)

    def action_pause(self) -> None:
        """Stops reading, or goes on."""
        self.feed.pause(paused=not self.feed.paused)
        self._tick()

    def action_now(self) -> None:
        """Reads at once."""
        self.feed.now()

    def action_pace(self, step: int) -> None:
        """The next longer or shorter interval."""
        steps = [
            one for one in _STEPS if (one > self.feed.interval if step > 0 else one < self.feed.interval)
        ]
        if steps:
            self.feed.pace(min(steps) if step > 0 else max(steps))
        self._tick()

    def action_time(self) -> None:
        """Lag in time from the records themselves, or from the time index."""
        self.time = EXACT if self.time == ESTIMATE else ESTIMATE
        self.look()
