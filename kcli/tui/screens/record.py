"""The records around an offset, one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.screen import Screen

from kcli.core.types import TopicPartition
from kcli.flows.groups.record_pages import RecordPage, ShownRecord, read_page
from kcli.tui.actions import Actions
from kcli.tui.cells import Cell, Line
from kcli.tui.errands import Done, Errands
from kcli.tui.fitting import Part, fitting
from kcli.tui.head import key_cells, title_line
from kcli.tui.host import Host
from kcli.tui.record_lines import VIEWS, record_lines
from kcli.tui.rewind_form import prose, trouble_lines
from kcli.tui.shell import command
from kcli.tui.widgets.lines import Lines

if TYPE_CHECKING:
    from kcli.core.consumer.consumer import Consumer

_AROUND, _MORE, _KEPT = 10, 20, 200
"""Records that are read at first on each side, later, and kept at most."""
_END = (1 << 63) - 1
_FIRST, _NEXT, _BEFORE = "first", "next", "before"


class RecordView(Screen[None]):
    """``offset`` becomes ``committed``: the record there is the next that the group reads. None: the newest records are
    shown, and no group is looked at.
    """

    app: Host
    AUTO_FOCUS = ""
    KEYS = (
        ("n/p", "next, previous"),
        ("v", "text, JSON, hex"),
        ("↑↓", "scroll"),
        ("c", "copy"),
        ("esc", "back"),
    )
    BINDINGS = [
        Binding("n,right", "step(1)", "the next record"),
        Binding("p,left", "step(-1)", "the record before"),
        Binding("v", "view", "key, value and headers as text, JSON or hex"),
        Binding("c", "copy", "copy the command that prints the record"),
        Binding("j,down", "row(1)", "a line down", show=False),
        Binding("k,up", "row(-1)", "a line up", show=False),
        Binding("pagedown,ctrl+f", "page(1)", "a page down", show=False),
        Binding("pageup,ctrl+b", "page(-1)", "a page up", show=False),
        Binding("escape", "back", "back", show=False),
    ]
    DEFAULT_CSS = "RecordView { layout: vertical; } RecordView #body { height: 1fr; }"

    def __init__(self, actions: Actions, tp: TopicPartition, offset: int | None) -> None:
        super().__init__()
        self.tp, self.committed = tp, offset
        self.records: list[ShownRecord] = []
        self.at = 0
        self.shown = VIEWS[0]
        self._actions = actions
        self._errands: Errands[Consumer] = Errands(lambda _voice: actions.open_consumer(), self.post_message)
        self._page: RecordPage | None = None
        self._answer = "reading …", "dim"
        self._failed: BaseException | None = None
        self._busy = False
        self.head = Lines(id="head")
        self.body = VerticalScroll(Lines(id="text"), id="body", can_focus=False)
        self.keys = Lines(id="keys")

    def compose(self) -> ComposeResult:
        """Top to bottom."""
        yield self.head
        yield self.body
        yield self.keys

    def on_mount(self) -> None:
        """Reads the first records."""
        self.app.hire(self._errands)
        newest = self.committed is None
        self._read(_FIRST, self._begin, _MORE if newest else _AROUND, 0 if newest else _AROUND)

    def on_unmount(self) -> None:
        """The consumer is closed by its thread."""
        self._errands.close()

    def on_resize(self) -> None:
        """Lines are cut to the new width."""
        self.call_after_refresh(self.repaint)

    @property
    def _begin(self) -> int:
        return _END if self.committed is None else self.committed

    # --- reading -----------------------------------------------------------------------------------------------------

    def _read(self, what: str, offset: int, before: int, after: int) -> None:
        if self._busy:
            return
        self._busy, self._answer, self._failed = True, ("reading …", "dim"), None
        tp, timeout = self.tp, self._actions.timeout
        self._errands.do(
            what,
            lambda consumer: read_page(consumer, tp, offset, before=before, after=after, timeout=timeout),
        )
        self.repaint()

    def on_done(self, message: Done) -> None:
        """Records, or why there are none."""
        self._busy = False
        self._errands.ended.clear()
        page = message.result
        if isinstance(page, RecordPage):
            self._page = page
            self._add(message.errand, page)
        elif message.error is not None:
            self._failed = message.error
        self.repaint()

    def _add(self, what: str, page: RecordPage) -> None:
        new = list(page.records)
        if what == _FIRST:
            self.records = new
            later = (place for place, record in enumerate(new) if record.offset >= self._begin)
            self.at = next(later, max(0, len(new) - 1))
        elif what == _NEXT:
            self.records += new
            self.at += bool(new)
            surplus = max(0, len(self.records) - _KEPT)
            del self.records[:surplus]
            self.at -= surplus
        else:
            self.records[:0] = new
            self.at += max(0, len(new) - 1)
            del self.records[_KEPT:]
        ends = {_FIRST: "no records are kept here", _NEXT: "no later record", _BEFORE: "no earlier record"}
        nothing = "" if new else ends[what]
        limit = (
            "reading ended at a limit of 16 MiB or 10 s: some records may be missing" if page.limited else ""
        )
        self._answer = nothing or limit, "warn"

    @property
    def record(self) -> ShownRecord | None:
        """The one on the screen."""
        return self.records[self.at] if self.at < len(self.records) else None

    # --- keys --------------------------------------------------------------------------------------------------------

    def action_step(self, step: int) -> None:
        """The next or the previous record; more are read where it is not known."""
        place = self.at + step
        if 0 <= place < len(self.records):
            self.at, self._answer = place, ("", "")
            self.body.scroll_home(animate=False)
            self.repaint()
        elif step > 0:
            self._read(_NEXT, self.records[-1].offset + 1 if self.records else self._begin, 0, _MORE)
        else:
            self._read(_BEFORE, self.records[0].offset if self.records else self._begin, _MORE, 0)

    def action_view(self) -> None:
        """Text, JSON, hex."""
        self.shown = VIEWS[(VIEWS.index(self.shown) + 1) % len(VIEWS)]
        self.repaint()

    def action_copy(self) -> None:
        """The command that prints this record."""
        offset = self.committed if self.record is None else self.record.offset
        place = ("--tail", "1") if offset is None else ("--offset", str(offset), "-n", "1")
        flags = ("-p", str(self.tp.partition), *place)
        text = command(("consume",), (self.tp.topic,), flags, self.app.facts.options)
        self.app.note(self.app.copy(text))

    def action_row(self, step: int) -> None:
        """Another line."""
        self.body.scroll_relative(y=step, animate=False)

    def action_page(self, step: int) -> None:
        """Another part."""
        self.body.scroll_relative(y=step * max(1, self.body.size.height - 1), animate=False)

    def action_back(self) -> None:
        """To the screen before."""
        self.app.back()

    # --- drawing -----------------------------------------------------------------------------------------------------

    def repaint(self) -> None:
        """Everything."""
        if not self.is_mounted or not self.size.width:
            return
        self.paint_status()
        width = max(1, self.body.size.width - 2)
        lines: list[Line] = []
        if self._failed is not None:
            lines += trouble_lines(self._actions.trouble(self._failed), width)
        elif self._answer[0]:
            lines += prose(self._answer[0], width, self._answer[1])
        if self.record is not None:
            lines += record_lines(self.record, self.shown, width)
        self.body.query_one(Lines).show(lines)

    def paint_status(self) -> None:
        """The lines above and below."""
        width = self.size.width
        status = self.app.status()
        self.head.show((title_line(self.app.facts, status, self.app.snapshot, width), self._where(width)))
        self.keys.show((self.app.note_line(width) or (Cell(" "), *key_cells(self.KEYS, width - 1)),))

    def _where(self, width: int) -> Line:
        committed = self.committed
        parts = [Part((Cell(f" record of {self.tp}", "title"),))]
        if committed is not None:
            parts.append(Part((Cell(f"committed {committed:,}"),), 2))
        if self._page is not None:
            parts.append(Part((Cell(f"log {self._page.start:,} to {self._page.end:,}", "dim"),), 3))
        if self.record is not None and committed is not None:
            word = "read by the group" if self.record.offset < committed else "not read yet"
            parts.append(Part((Cell(word, "title"),)))
        parts.append(Part((Cell(f"as {self.shown}", "dim"),), 1))
        return fitting(parts, "   ", width)
