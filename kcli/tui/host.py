"""What screens use of the application; ``app.py`` has it, and knows the screens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from textual.app import App

from kcli.core.types import TopicPartition
from kcli.flows.monitor.snapshot import Event, Snapshot
from kcli.tui.actions import Actions
from kcli.tui.cells import Line
from kcli.tui.errands import Errands
from kcli.tui.facts import Facts
from kcli.tui.feed import Feed
from kcli.tui.head import Status
from kcli.tui.replay import ReplayFeed
from kcli.tui.rewind_form import Scope


class Host(App[None]):
    """``snapshot`` is the last one, ``time`` how lag in time is found. ``replay`` is the feed where it is a recording."""

    facts: Facts
    feed: Feed
    replay: ReplayFeed | None
    actions: Actions | None
    snapshot: Snapshot | None
    time: str
    course_shown: bool

    @property
    def stale(self) -> bool:
        """Whether what is shown is no longer what the cluster has."""
        raise NotImplementedError

    @property
    def news(self) -> Mapping[str, int]:
        """How much has happened in lists since they were shown last."""
        raise NotImplementedError

    def status(self) -> Status:
        """How the screen is now."""
        raise NotImplementedError

    def look(self) -> None:
        """Tells the feed what the screen wants."""
        raise NotImplementedError

    def add_event(self, event: Event) -> None:
        """Something that was done from here."""
        raise NotImplementedError

    def hire(self, errands: Errands[Any]) -> None:
        """A worker thread that is ended with the application."""
        raise NotImplementedError

    def note(self, text: str) -> None:
        """Shows a text at the foot for a moment."""
        raise NotImplementedError

    def note_line(self, width: int) -> Line | None:
        """That text, while it is shown."""
        raise NotImplementedError

    def copy(self, text: str) -> str:
        """Hands a text to the terminal's clipboard; returns what is said about it."""
        raise NotImplementedError

    def back(self) -> None:
        """To the screen before; the first one stays."""
        raise NotImplementedError

    def open_rewind(self, target: tuple[str, Sequence[Scope]] | None, *, undo: bool = False) -> None:
        """The dialog that rewinds a group."""
        raise NotImplementedError

    def open_record(self, tp: TopicPartition, offset: int | None) -> None:
        """The records around an offset that a group has committed; None: the newest ones."""
        raise NotImplementedError

    def open_group(self, name: str) -> None:
        """The partitions of a group."""
        raise NotImplementedError

    def show_partitions(self, group: str) -> None:
        """The partitions of a group, in place of the screen that is shown."""
        raise NotImplementedError

    def open_topic(self, name: str) -> None:
        """The partitions of a topic."""
        raise NotImplementedError

    def show_topic(self, name: str) -> None:
        """The partitions of a topic, in place of the screen that is shown."""
        raise NotImplementedError
