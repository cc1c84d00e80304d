"""The table of events."""

from kcli.core.classes import NamedTuple
from kcli.flows.monitor.snapshot import Event
from kcli.output.tables import Field, time_text
from kcli.tui import figures
from kcli.tui.cells import Cell
from kcli.tui.columns import Column, fields_of
from kcli.tui.head import event_style


class EventRow(NamedTuple):
    """An event, and the zone in which its time is shown: see ``Reading.utc_offset``."""

    event: Event
    utc_offset: int | None = None


COLUMNS: tuple[Column[EventRow], ...] = (
    Column(
        "TIME", 8, lambda one: Cell(figures.clock(one.event.at_ms, one.utc_offset)), lambda one: one.event.at_ms,
        falling=True,
        data=(
            Field(
                "at", of=lambda one: time_text(one.event.at_ms), values="time",
                meaning="When it was seen: between this reading and the one before.",
            ),
        ),
    ),
    Column(
        "GROUP", 16, lambda one: Cell(one.event.group), lambda one: one.event.group, grows=True, least=4,
        about="the group's name",
        data=(Field("group", of=lambda one: one.event.group, meaning="The group, or empty.", values="string"),),
    ),
    Column(
        "KIND", 10, lambda one: Cell(one.event.kind), lambda one: one.event.kind, drop=1,
        data=(
            Field(
                "event", of=lambda one: one.event.kind, values="string",
                meaning="rebalance, joined, left, verdict, rewind, new group or group gone.",
            ),
        ),
    ),
    Column(
        "WHAT", 30, lambda one: Cell(one.event.text, event_style(one.event)), lambda one: one.event.text, grows=True,
        least=6,
        data=(Field("what", of=lambda one: one.event.text, values="string", meaning="What has changed."),),
    ),
)  # fmt: skip
FIELDS = fields_of(COLUMNS)
