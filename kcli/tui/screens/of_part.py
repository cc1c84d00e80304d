"""What the lists share that show something besides groups: it is read while one of them is on the screen only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

from kcli.account.survey import Missing
from kcli.flows.monitor.cluster_reading import Part
from kcli.flows.monitor.snapshot import Snapshot
from kcli.output.progress import duration_text
from kcli.tui.cells import Cell, Line
from kcli.tui.fitting import Part as Piece
from kcli.tui.fitting import cut
from kcli.tui.head import figures_lines
from kcli.tui.screens.listing import Listing

R = TypeVar("R")


class OfPart(Listing[R]):
    """``SUBJECT`` is what it shows, in words: ``the recording has no SUBJECT``."""

    SUBJECT: ClassVar[str]

    def part(self, snapshot: Snapshot) -> Part[Any] | None:
        """What was read; None: nothing yet."""
        raise NotImplementedError

    def figures(self, snapshot: Snapshot, value: Any) -> Sequence[Piece]:
        """What the line below the tabs says of what was read."""
        raise NotImplementedError

    def rows_of(self, snapshot: Snapshot, value: Any) -> Sequence[R]:
        """The rows of what was read."""
        raise NotImplementedError

    def __init__(self) -> None:
        super().__init__()
        self._last: Sequence[R] = ()

    def rows(self, snapshot: Snapshot) -> Sequence[R]:
        """Those of before until it is read again: the cursor stays where it was when another list was looked at."""
        part = self.part(snapshot)
        if not self.is_awaited(snapshot):
            found = None if part is None else part.value
            self._last = () if found is None else self.rows_of(snapshot, found)
        return self._last

    def lacks(self, snapshot: Snapshot) -> Sequence[Missing]:
        part = self.part(snapshot)
        return [*(part.lacks if part is not None else ()), *super().lacks(snapshot)]

    def is_awaited(self, snapshot: Snapshot) -> bool:
        return self.app.replay is None and self.part(snapshot) is None

    def is_old(self, snapshot: Snapshot) -> bool:
        part = self.part(snapshot)
        return part is None or (bool(part.errors) and part.at_ms < snapshot.reading.sample.at_ms)

    def nothing(self, snapshot: Snapshot) -> str:
        part = self.part(snapshot)
        if part is None:
            live = self.app.replay is None
            return f"reading the {self.SUBJECT} …" if live else f"the recording has no {self.SUBJECT}"
        if part.value is not None:
            return f"{self.NOTHING}, as far as that could be read" if part.errors else self.NOTHING
        if part.absent:
            return part.absent
        return "not read: " + "; ".join(
            dict.fromkeys(filter(None, (part.errors[0].what, part.errors[0].why)))
        )

    def summary(self, snapshot: Snapshot | None, width: int) -> Sequence[Line]:
        if snapshot is None:
            return super().summary(snapshot, width)
        part = self.part(snapshot)
        if part is None or part.value is None:
            lacking = part is not None and bool(part.errors)
            said = Cell(
                f" {self.SUBJECT}: not read" if lacking else f" {self.SUBJECT}", "warn" if lacking else "dim"
            )
            return (cut((said,), width),)
        pieces = list(self.figures(snapshot, part.value))
        if self.is_old(snapshot):
            age = duration_text((snapshot.reading.sample.at_ms - part.at_ms) / 1000)
            pieces.append(Piece((Cell(f"as of {age} ago", "unread"),)))
        return figures_lines(pieces, self.lacks(snapshot), width)
