"""The table of events."""

from kcli.flows.monitor.snapshot import Event
from kcli.tui import figures
from kcli.tui.cells import Cell
from kcli.tui.columns import Column
from kcli.tui.head import event_style

COLUMNS: tuple[Column[Event], ...] = (
    Column("TIME", 8, lambda one: Cell(figures.clock(one.at_ms)), lambda one: one.at_ms, falling=True),
    Column("GROUP", 16, lambda one: Cell(one.group), lambda one: one.group, grows=True),
    Column("KIND", 10, lambda one: Cell(one.kind), lambda one: one.kind, drop=1),
    Column("WHAT", 40, lambda one: Cell(one.text, event_style(one)), lambda one: one.text, grows=True),
)
