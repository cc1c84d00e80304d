"""Asks for the name of the file that an export is written to."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from kcli.core.errors import KcliError
from kcli.tui.cells import Cell, fitted
from kcli.tui.export import FORMATS
from kcli.tui.widgets.lines import Lines


class ExportName(ModalScreen[str | None]):
    """``write`` is called with the name; while it fails, the screen stays and says why. The result is the name."""

    NAME = "export"
    BINDINGS = [Binding("escape", "dismiss", "leave without a file")]
    CSS = """
    ExportName { align: center middle; }
    ExportName Vertical { width: 70; max-width: 100%; height: auto; border: round $accent; padding: 0 1; }
    """

    def __init__(self, suggestion: str, write: Callable[[str], None]) -> None:
        super().__init__()
        self.input = Input(suggestion, compact=True, select_on_focus=False)
        self.lines = Lines(((Cell(f"a new file, as {', '.join(FORMATS)} by its ending", "dim"),),))
        self._write = write

    def compose(self) -> ComposeResult:
        """A line to type in, and what is wrong with it."""
        with Vertical():
            yield Lines(((Cell("Export what is on the screen to", "title"),),))
            yield self.input
            yield self.lines

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Writes the file."""
        event.stop()
        try:
            self._write(event.value)
        except KcliError as error:
            text = ": ".join(filter(None, (error.what, error.why, error.do)))
            self.lines.show(((Cell(fitted(text, self.lines.size.width), "bad"),),))
        else:
            self.dismiss(event.value)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Not for the filter of the screen below."""
        event.stop()
