"""The line with the names of the lists; a click on one shows it."""

from __future__ import annotations

from collections.abc import Mapping

from textual import events
from textual.message import Message

from kcli.tui.fitting import line_width
from kcli.tui.head import tab_cells, tabs_line
from kcli.tui.widgets.lines import Lines


class Tabs(Lines):
    """``paint`` shows which list is on the screen."""

    class Chosen(Message):
        """A name was clicked."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    def __init__(self) -> None:
        super().__init__(((),), id="tabs")
        self._shown = ""
        self._new: Mapping[str, int] = {}

    def paint(self, shown: str, new: Mapping[str, int]) -> None:
        """See ``tabs_line``."""
        self._shown, self._new = shown, dict(new)
        self.show((tabs_line(shown, new, self.app.size.width),))

    def on_click(self, event: events.Click) -> None:
        """The list at this place."""
        x = event.x
        for name, cells in tab_cells(self._shown, self._new, self.app.size.width):
            x -= line_width(cells)
            if x < 0:
                if name:
                    self.post_message(self.Chosen(name))
                return
