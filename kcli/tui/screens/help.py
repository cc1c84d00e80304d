"""All keys, columns, verdicts and colours."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.events import Resize
from textual.screen import Screen

from kcli.tui.cells import Cell
from kcli.tui.help_lines import Section, help_lines
from kcli.tui.widgets.lines import Lines


class Help(Screen[None]):
    """Shows ``sections``."""

    NAME = "help"
    BINDINGS = [
        Binding("escape,question_mark", "dismiss", "back"),
        Binding("j", "scroll(1)", "down"),
        Binding("k", "scroll(-1)", "up"),
    ]

    def __init__(self, sections: Sequence[Section]) -> None:
        super().__init__()
        self._sections = sections
        self._lines = Lines()
        self._scroll = VerticalScroll(self._lines)

    def compose(self) -> ComposeResult:
        """A title and what is scrolled."""
        yield Lines(((Cell("kcli top: help", "title"), Cell("   esc goes back, ↑ ↓ scroll", "dim")),))
        yield self._scroll

    def on_mount(self) -> None:
        """The keys scroll."""
        self._scroll.focus()

    def on_resize(self, event: Resize) -> None:
        """Lines are as wide as the terminal."""
        self._lines.show(help_lines(self._sections, max(1, event.size.width - 2)))

    def action_scroll(self, step: int) -> None:
        """By a line."""
        self._scroll.scroll_relative(y=step, animate=False)
