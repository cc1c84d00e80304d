"""Transactions from the batches of a log: which were aborted, and which are still open."""

from array import array
from dataclasses import dataclass, field
from typing import NamedTuple

from kcli.core.logdir.aborted_index import Aborted
from kcli.core.records.isolation import is_abort_marker
from kcli.core.records.segment import Segment


class Ended(NamedTuple):
    """Aborted transactions in the order of their markers; ``open`` are those without one, first offset by producer."""

    aborted: tuple[Aborted, ...]
    open: dict[int, int]


@dataclass(slots=True)
class Transactions:
    """Follows a log from events (``Scanned.events``). ``open``: the first offset of a producer's open transaction."""

    open: dict[int, int]
    aborted: list[Aborted] = field(default_factory=list)

    def add(self, segment: Segment, events: bytes) -> None:
        """The events of a stretch of this segment."""
        numbers = array("q", events)
        for at in range(0, len(numbers), 3):
            offset, producer, position = numbers[at : at + 3]
            if position < 0:
                self.open.setdefault(producer, offset)
                continue
            first = self.open.pop(producer, None)
            batch = segment.batch_at(position)
            if first is not None and batch is not None and is_abort_marker(batch):
                stable = min(self.open.values(), default=offset + 1)
                self.aborted.append(Aborted(producer, first, offset, stable))

    def ended(self) -> Ended:
        """What is known so far."""
        return Ended(tuple(self.aborted), dict(self.open))
