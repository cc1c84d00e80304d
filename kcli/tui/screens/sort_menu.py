"""The menu of columns to sort by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen
from textual.widgets import OptionList

from kcli.tui.columns import Column


class SortMenu(ModalScreen[str | None]):
    """The result is the title of the column."""

    NAME = "sort"
    BINDINGS = [Binding("escape,s,q", "dismiss", "keep the order")]
    CSS = """
    SortMenu { align: center middle; }
    SortMenu OptionList { width: auto; min-width: 24; height: auto; max-height: 90%; border: round $accent; }
    """

    def __init__(self, columns: Sequence[Column[Any]], sorted_by: str) -> None:
        super().__init__()
        self._titles = [column.title for column in columns]
        self._list = OptionList(*self._titles, markup=False, compact=True)
        self._list.border_title = "sort by"
        self._sorted_by = sorted_by

    def compose(self) -> ComposeResult:
        """The list."""
        yield self._list

    def on_mount(self) -> None:
        """Begins at the column that is sorted by now."""
        self._list.highlighted = self._titles.index(self._sorted_by)
        self._list.focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Chosen."""
        self.dismiss(self._titles[event.option_index])
