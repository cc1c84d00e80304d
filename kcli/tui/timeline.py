"""The line that shows where in a recording the screen is, and what a click on it means. Pure."""

from __future__ import annotations

from kcli.core.classes import NamedTuple
from kcli.tui import figures
from kcli.tui.cells import Cell, Line, width_of
from kcli.tui.fitting import cut

_LEAST = 8


class Moment(NamedTuple):
    """Times in ms; ``utc_offset`` as of ``Reading``."""

    first_ms: int
    last_ms: int
    at_ms: int
    utc_offset: int | None = None


def timeline(moment: Moment, width: int, *, playing: bool, busy: bool) -> Line:
    """First and last time, and the position between them."""
    before, after = _ends(moment, playing=playing)
    room = track(moment, width, playing=playing)[1]
    if room < _LEAST:
        return cut(
            (Cell(before.split(" ")[0] + " "), Cell(figures.clock(moment.at_ms, moment.utc_offset))), width
        )
    mark = round(_share(moment) * (room - 1))
    return (
        Cell(before, "key" if playing else "warn"),
        Cell("━" * mark, "accent"),
        Cell("○" if busy else "●", "title"),
        Cell("─" * (room - mark - 1), "dim"),
        Cell(after, "dim"),
    )


def track(moment: Moment, width: int, *, playing: bool) -> tuple[int, int]:
    """Where the track begins, and how wide it is."""
    before, after = _ends(moment, playing=playing)
    return width_of(before), width - width_of(before) - width_of(after)


def time_at(moment: Moment, x: int, width: int, *, playing: bool) -> int:
    """The time at a column of the line."""
    begin, room = track(moment, width, playing=playing)
    share = max(0.0, min(1.0, (x - begin) / max(1, room - 1)))
    return round(moment.first_ms + share * (moment.last_ms - moment.first_ms))


def _ends(moment: Moment, *, playing: bool) -> tuple[str, str]:
    first, last = (figures.clock(ms, moment.utc_offset) for ms in (moment.first_ms, moment.last_ms))
    return f"{'▶' if playing else '‖'} {first} ", f" {last}"


def _share(moment: Moment) -> float:
    whole = moment.last_ms - moment.first_ms
    return (moment.at_ms - moment.first_ms) / whole if whole else 0.0
