"""The application: it has the last snapshot, the pace and the screens."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual._styles_cache import StylesCache
from textual.app import App, SystemCommand
from textual.await_complete import AwaitComplete
from textual.binding import Binding
from textual.color import Color
from textual.filter import LineFilter
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input

from kcli.core.classes import replace
from kcli.core.clock import monotonic
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition
from kcli.flows.lag.measure import ESTIMATE, EXACT
from kcli.flows.monitor.snapshot import Event, Snapshot
from kcli.tui.actions import Actions
from kcli.tui.cells import Cell, Line, fitted
from kcli.tui.driver import TopDriver
from kcli.tui.errands import Errands
from kcli.tui.facts import REPLAY_ONLY, Facts, offered, works
from kcli.tui.feed import Feed
from kcli.tui.head import TABS, Status
from kcli.tui.host import Host
from kcli.tui.keys import key_rows
from kcli.tui.look import in_sixteen_colours, without_colours
from kcli.tui.palette import DARK, LIGHT
from kcli.tui.replay import ReplayFeed
from kcli.tui.reports import Broken, Report, Taken
from kcli.tui.rewind_form import CHOICES, RewindForm, Scope
from kcli.tui.screens.brokers import Brokers
from kcli.tui.screens.events import Events
from kcli.tui.screens.group_partitions import GroupPartitions
from kcli.tui.screens.groups import Groups
from kcli.tui.screens.help import Help
from kcli.tui.screens.help_sections import help_sections
from kcli.tui.screens.listing import Listing
from kcli.tui.screens.mirrors import Mirrors
from kcli.tui.screens.quorum import Quorum
from kcli.tui.screens.record import RecordView
from kcli.tui.screens.rewind import Rewind
from kcli.tui.screens.topic_partitions import TopicPartitions
from kcli.tui.screens.topics import Topics
from kcli.tui.screens.transactions import Transactions
from kcli.tui.widgets.tabs import Tabs

_REPAINT = 0.05
"""Seconds in which several snapshots become one repaint."""
_NOTED = 5.0
"""Seconds for which a note is shown."""
_MINUTE_MS = 60_000
_TIDY = 1.0
"""Seconds after which garbage is searched for when a screen was closed: 20 to 40 ms with 20,000 partitions."""
LIVE_KEYS = [
    Binding("space", "pause", "pause, or go on"),
    Binding("r", "now", "read now"),
    Binding("plus", "pace(1)", "a longer time between two readings"),
    Binding("minus", "pace(-1)", "a shorter time between two readings"),
    Binding("t", "time", "lag in time from the records themselves, or estimated"),
]
"""Only of a cluster."""
REPLAY_KEYS = [
    Binding("space", "play", "play, or pause; at the end: from the start"),
    Binding("plus", "speed(1)", "slower"),
    Binding("minus", "speed(-1)", "faster"),
    Binding("left", "seek(-1)", "a reading back", show=False, priority=True),
    Binding("right", "seek(1)", "a reading on", show=False, priority=True),
    Binding("shift+left", "seek_minute(-1)", "a minute back", show=False, priority=True),
    Binding("shift+right", "seek_minute(1)", "a minute on", show=False, priority=True),
    Binding("home", "seek_end(-1)", "to the first reading", show=False, priority=True),
    Binding("end", "seek_end(1)", "to the last reading", show=False, priority=True),
]
"""Only while a recording is played."""

# A cache of Textual whose keys have widgets' drawn lines: it keeps those of a thousand widgets of closed screens.
StylesCache.get_inner_outer = StylesCache.get_inner_outer.__wrapped__  # type: ignore[method-assign,assignment]


class Reported(Message):
    """A report of the feed."""

    def __init__(self, report: Report) -> None:
        super().__init__()
        self.report = report


class TopApp(Host):
    """``kcli top``. ``error`` is what ended it, if anything did."""

    TITLE = "kcli top"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS = [
        *(Binding(key, f"list('{name}')", name) for key, name in TABS),
        Binding("question_mark", "help", "help"),
        Binding("ctrl+p", "command_palette", "all commands, and the themes", show=False, priority=True),
        Binding("colon", "command_palette", "all commands, and the themes", show=False),
        Binding("ctrl+z", "suspend_process", "suspend: fg continues", show=False, priority=True),
        Binding("q,ctrl+q", "quit", "quit", priority=False),
        Binding("ctrl+c", "quit", "quit", show=False, priority=True),
        *LIVE_KEYS,
        *REPLAY_KEYS,
    ]
    SCREENS = {one.NAME: one for one in (Groups, Topics, Brokers, Quorum, Transactions, Mirrors, Events)}
    CSS = """
    * { scrollbar-size-vertical: 1; }
    SearchIcon { display: none; }
    Lines { height: auto; width: 100%; }
    #head { background: $panel; }
    #keys { background: $panel; dock: bottom; }
    """

    def __init__(
        self,
        feed: Feed,
        facts: Facts,
        first: str = "groups",
        *,
        colour: bool = True,
        light: bool = False,
        actions: Actions | None = None,
    ) -> None:
        super().__init__(driver_class=TopDriver, ansi_color=False)
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self.theme = self._suiting = LIGHT.name if light else DARK.name
        self._colour, self.actions = colour, actions
        self.replay = feed if isinstance(feed, ReplayFeed) else None
        self.errands: list[Errands[Any]] = []
        self.course_shown = False
        self._own_events: list[Event] = []
        self._events_seen_ms = 0
        self._note: tuple[float, str] = 0.0, ""
        self.feed, self.facts, self.first = feed, facts, first
        self.time = ESTIMATE
        self.snapshot: Snapshot | None = None
        self.lost: tuple[int, KcliError] | None = None
        self.error: BaseException | None = None
        self._repaint_due = False
        self._leaving = self._untidy = False

    # --- life --------------------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """The first screen, and the first reading."""
        self.push_screen(self.first)
        self.set_interval(1.0, self._tick)
        self.feed.start(self.report)
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
            "the terminal is gone", why="it can no longer be read or written", do="start it again"
        )
        self.exit(return_code=1)

    @property
    def follows_background(self) -> bool:
        """Whether the terminal is asked for its background: without colours it makes no difference."""
        return self._colour

    def suit(self, *, light: bool) -> None:
        """The terminal has reported its background. Colours that were chosen by hand stay."""
        if self.theme == self._suiting:
            self.theme = self._suiting = LIGHT.name if light else DARK.name

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Without colour, for NO_COLOR: only bold, dim, underlined and reversed text."""
        filters = super().get_line_filters()
        if not self._colour:
            return [*filters, _WithoutColour(dark=self.current_theme.dark)]
        if self.console.color_system == "standard" and not self.is_headless:
            return [*filters, _SixteenColours(dark=self.current_theme.dark)]
        return filters

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

    @property
    def news(self) -> Mapping[str, int]:
        """Events after the last one that the list of events has shown."""
        events = () if self.snapshot is None else self.snapshot.events
        if isinstance(self.screen, Events) and events:
            self._events_seen_ms = events[-1].at_ms
        return {"events": sum(1 for one in events if one.at_ms > self._events_seen_ms)}

    def on_tabs_chosen(self, message: Tabs.Chosen) -> None:
        """A list was clicked."""
        self.action_list(message.name)

    def status(self) -> Status:
        """How the screen is now."""
        lost = None if self.lost is None else (self.lost[0], str(self.lost[1]))
        reading = None if self.snapshot is None else self.snapshot.reading
        requests = None if reading is None else reading.requests / max(self.feed.interval, reading.seconds)
        feed = self.feed
        return Status(
            feed.clock(),
            feed.interval,
            feed.paused,
            lost,
            requests,
            feed.speed,
            None if reading is None else reading.utc_offset,
            feed.note,
            feed.waiting,
        )

    def report(self, report: Report) -> None:
        """What the feed has. From any thread."""
        self.post_message(Reported(report))

    def on_reported(self, message: Reported) -> None:
        """Repaints soon; snapshots that come until then are not painted one by one."""
        report = message.report
        if isinstance(report, Broken):  # nothing more will come
            self.error = report.error
            self.exit(return_code=1)
            return
        if isinstance(report, Taken):
            self.snapshot, self.lost = with_events(report.snapshot, self._own_events), None
        else:  # what is on the screen is from before
            since = self.lost[0] if self.lost is not None else report.at_ms
            self.lost = since, report.error
        self._repaint_soon()

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
            self.set_timer(_REPAINT, self.repaint_now)

    def repaint_now(self) -> None:
        """Shows the last snapshot."""
        self._repaint_due = False
        if (listing := self.listing) is not None:
            listing.repaint()
            self.look()

    def _tick(self) -> None:
        for screen in {*self.screen_stack[-1:], self.listing}:
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
        """Copies to the clipboard of the terminal (OSC 52), and returns the note to show."""
        self.copy_to_clipboard(text)
        return f"copied, if the terminal allows it: {text}"

    async def _on_key(self, event: events.Key) -> None:
        """What nobody took. Hands are faster than a busy loop: a letter may have been sent to what had the focus before
        the field that was opened by the letter before it.
        """
        if isinstance(self.focused, Input) and event.is_printable and event.character is not None:
            event.prevent_default()  # else Textual's own handler runs too
            self.focused.insert_text_at_cursor(event.character)

    # --- keys --------------------------------------------------------------------------------------------------------

    def back(self) -> None:
        """To the screen before; the first one stays."""
        if len(self.screen_stack) > 2:
            self.pop_screen()

    def pop_screen(self) -> AwaitComplete:
        """What a closed screen leaves is cycles of half a MB; they are searched for a moment later."""
        if not self._untidy:
            self._untidy = True
            self.set_timer(_TIDY, self._collect)
        return super().pop_screen()

    def _collect(self) -> None:
        self._untidy = False
        gc.collect()

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

    def open_record(self, tp: TopicPartition, offset: int | None) -> None:
        """The records around an offset that a group has committed; None: the newest ones."""
        if self.actions is None:
            self.note("records are read from a live cluster")
        else:
            self.push_screen(RecordView(self.actions, tp, offset))

    def open_group(self, name: str) -> None:
        """The partitions of a group."""
        if name:
            self.push_screen(GroupPartitions(name))

    def open_topic(self, name: str) -> None:
        """The partitions of a topic."""
        self.push_screen(TopicPartitions(name))

    def show_topic(self, name: str) -> None:
        """In place of the screen that is shown."""
        self.switch_screen(TopicPartitions(name))

    def show_partitions(self, group: str) -> None:
        """In place of the screen that is shown."""
        self.switch_screen(GroupPartitions(group))

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
        self.feed.pace(step)
        self._tick()

    def action_time(self) -> None:
        """Lag in time from the records themselves, or from the time index."""
        self.time = EXACT if self.time == ESTIMATE else ESTIMATE
        self.look()

    def action_help(self) -> None:
        """All keys, columns, verdicts and colours."""
        if not isinstance(self.screen, Help):
            self.push_screen(Help(help_sections(type(self), self.facts)))

    # --- a recording -------------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether a key does anything here."""
        if not works(action, self.facts):
            return False
        if action in REPLAY_ONLY:
            return isinstance(self.screen, Listing) and not self._typing
        return super().check_action(action, parameters)

    @property
    def _typing(self) -> bool:
        return isinstance(self.focused, Input)

    def action_play(self) -> None:
        """Plays, or stays."""
        self.action_pause()

    def action_speed(self, step: int) -> None:
        """The next lower or higher speed."""
        self.action_pace(step)

    def action_seek(self, readings: int) -> None:
        """Some readings on, or back."""
        if self.replay is not None:
            self.replay.step(readings)
            self._tick()

    def action_seek_minute(self, minutes: int) -> None:
        """A minute on, or back."""
        if self.replay is not None:
            self.replay.step_time(minutes * _MINUTE_MS)
            self._tick()

    def action_seek_end(self, side: int) -> None:
        """To the first reading, or to the last."""
        if self.replay is not None:
            self.replay.jump(0 if side < 0 else len(self.replay.recording) - 1)
            self._tick()

    # --- palette -----------------------------------------------------------------------------------------------------

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """What the keys of this screen do, and the themes."""
        for node, classes in ((screen, type(screen).__mro__), (self, type(self).__mro__)):
            for cls in classes:
                for row in key_rows(cls) if cls.__module__.startswith("kcli.") else ():
                    if row.action not in _NOT_IN_PALETTE and self._applies(node, row.action, screen):
                        yield SystemCommand(
                            row.what.capitalize(), row.keys, partial(self.run_action, row.action, node)
                        )
        yield SystemCommand("Theme", "other colours", self.search_themes)

    def _applies(self, node: Screen[Any] | App[None], action: str, screen: Screen[Any]) -> bool:
        """``screen`` is below the palette, which is the application's screen by then."""
        name = action.partition("(")[0]
        if not offered(action, self.facts):
            return False
        return isinstance(screen, Listing) if name in REPLAY_ONLY else bool(node.check_action(name, ()))


class _WithoutColour(LineFilter):
    def __init__(self, *, dark: bool) -> None:
        super().__init__()
        self._dark = dark

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002 - Textual's signature
        return [
            Segment(text, None if style is None else without_colours(style, dark=self._dark), control)
            for text, style, control in segments
        ]


class _SixteenColours(LineFilter):
    def __init__(self, *, dark: bool) -> None:
        super().__init__()
        self._dark = dark

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002 - Textual's signature
        return [
            Segment(text, in_sixteen_colours(style or Style(), dark=self._dark), control)
            for text, style, control in segments
        ]


_NOT_IN_PALETTE = ("command_palette", "back")


def with_events(snapshot: Snapshot, events: Sequence[Event]) -> Snapshot:
    """With events that the readings do not know, in the order of their times."""
    if not events:
        return snapshot
    return replace(snapshot, events=sorted((*snapshot.events, *events), key=lambda event: event.at_ms))
