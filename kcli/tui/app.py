"""The application: it has the last snapshot, the pace and the screens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from textual.app import App
from textual.binding import Binding

from kcli.core.clock import monotonic, wall_ms
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition
from kcli.flows.lag.measure import ESTIMATE, EXACT
from kcli.flows.monitor.snapshot import Event, Snapshot
from kcli.tui.actions import Actions
from kcli.tui.cells import Cell, Line, fitted
from kcli.tui.errands import Errands
from kcli.tui.facts import Facts
from kcli.tui.feed import Feed
from kcli.tui.head import Status
from kcli.tui.messages import Broken, Lost, Taken
from kcli.tui.rewind_form import CHOICES, RewindForm, Scope
from kcli.tui.screens.brokers import Brokers
from kcli.tui.screens.events import Events
from kcli.tui.screens.group_partitions import GroupPartitions
from kcli.tui.screens.groups import Groups
from kcli.tui.screens.listing import Listing
from kcli.tui.screens.record import RecordView
from kcli.tui.screens.rewind import Rewind
from kcli.tui.screens.topics import Topics

_REPAINT = 0.05
"""Seconds in which several snapshots become one repaint."""
_NOTED = 5.0
"""Seconds for which a note is shown."""
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
        Binding("ctrl+z", "suspend_process", show=False, priority=True),
    ]
    SCREENS = {"groups": Groups, "topics": Topics, "brokers": Brokers, "events": Events}
    CSS = """
    Lines { height: auto; width: 100%; }
    #head { background: $panel; }
    #keys { background: $panel; dock: bottom; }
    """

    def __init__(
        self, feed: Feed, facts: Facts, first: str = "groups", actions: Actions | None = None
    ) -> None:
        super().__init__(ansi_color=False)
        self.actions = actions
        self.errands: list[Errands[Any]] = []
        self.course_shown = False
        self._own_events: list[Event] = []
        self._note: tuple[float, str] = 0.0, ""
        self.feed, self.facts, self.first = feed, facts, first
        self.time = ESTIMATE
        self.snapshot: Snapshot | None = None
        self.lost: tuple[int, KcliError] | None = None
        self.error: BaseException | None = None
        self._repaint_due = False

    # --- life --------------------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """The first screen, and the first reading."""
        self.push_screen(self.first)
        self.set_interval(1.0, self._tick)
        self.feed.start(self.post_message)

    def on_unmount(self) -> None:
        """The feed ends with the screen."""
        self.feed.close()

    def _handle_exception(self, error: Exception) -> None:
        """Ends the application; who called ``run`` reports the error, as for every command."""
        self.error = self.error or error
        self.exit(return_code=1)

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
        self.snapshot, self.lost = with_events(message.snapshot, self._own_events), None
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

    @property
    def listing(self) -> Listing[Any] | None:
        """The list on the screen, or below what is."""
        lists = (one for one in reversed(self.screen_stack) if isinstance(one, Listing))
        return next(lists, None)

    def look(self) -> None:
        """Tells the feed what the screen wants."""
        if (listing := self.listing) is not None:
            self.feed.look(*listing.view())

    def add_event(self, event: Event) -> None:
        """Something that was done from here."""
        self._own_events.append(event)
        if self.snapshot is not None:
            self.snapshot = with_events(self.snapshot, [event])
            self._repaint_soon()

    def _repaint_soon(self) -> None:
        if not self._repaint_due:
            self._repaint_due = True
            self.set_timer(_REPAINT, self._repaint)

    def _repaint(self) -> None:
        self._repaint_due = False
        if (listing := self.listing) is not None:
            listing.repaint()
            self.look()

    def _tick(self) -> None:
        for screen in {self.screen, self.listing}:
            if isinstance(screen, Listing | RecordView):
                screen.paint_status()

    def hire(self, errands: Errands[Any]) -> None:
        """Those that are not over when the application ends are ended by who started it."""
        self.errands = [one for one in self.errands if not one.over or one.ended] + [errands]

    # --- notes -------------------------------------------------------------------------------------------------------

    def note(self, text: str) -> None:
        """Said for some seconds in place of the keys."""
        self._note = monotonic() + _NOTED, text
        self._tick()

    def note_line(self, width: int) -> Line | None:
        """What is said now."""
        until, text = self._note
        return (Cell(fitted(text, width), "accent"),) if monotonic() < until else None

    def copy(self, text: str) -> str:
        """To the clipboard of the terminal (OSC 52); what is to be said then."""
        self.copy_to_clipboard(text)
        return f"copied, if the terminal allows it: {text}"

    # --- keys --------------------------------------------------------------------------------------------------------

    def back(self) -> None:
        """To the screen before; the first one stays."""
        if len(self.screen_stack) > 2:
            self.pop_screen()

    def open_rewind(self, target: tuple[str, Sequence[Scope]] | None, *, undo: bool = False) -> None:
        """The dialog, for a group; ``undo``: of its last rewind. It says why, where nothing may be changed."""
        if target is None:
            return
        if self.actions is None or self.facts.read_only is not None:
            self.note(f"nothing can be changed: {self.facts.read_only or 'this is no live cluster'}")
            return
        group, scopes = target
        form = RewindForm(group, scopes, choice=len(CHOICES) - 1 if undo else 0)
        self.push_screen(Rewind(self.actions, form, plan=undo))

    def open_record(self, tp: TopicPartition, offset: int) -> None:
        """The records around an offset."""
        if self.actions is None:
            self.note("records are read from a live cluster")
        else:
            self.push_screen(RecordView(self.actions, tp, offset))

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


def with_events(snapshot: Snapshot, events: Sequence[Event]) -> Snapshot:
    """With events that the readings do not know, in the order of their times."""
    if not events:
        return snapshot
    return replace(snapshot, events=sorted((*snapshot.events, *events), key=lambda event: event.at_ms))
