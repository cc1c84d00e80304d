"""Transactions by the batches of a log: which were aborted, and which have no marker yet."""

from array import array

from kcli.core.classes import NamedTuple
from kcli.core.logdir.aborted_index import Aborted
from kcli.core.records.isolation import is_abort_marker
from kcli.core.records.segment import Segment

_PER_EVENT = 3


def markers_in(events: bytes) -> list[int]:
    """The positions of the control batches among these events."""
    return [position for position in array("q", events)[2::_PER_EVENT] if position >= 0]


class Ended(NamedTuple):
    """Aborted transactions in the order of their markers; ``open`` are those without one, first offset by producer."""

    aborted: tuple[Aborted, ...]
    open: dict[int, int]


class Transactions:
    """Follows a log by its events (``Scanned.events``). ``open``: where each producer's open transaction begins;
    ``seen``: whether there was any.
    """

    def __init__(self, open_before: dict[int, int]) -> None:
        self.seen = bool(open_before)
        self.open = dict(open_before)
        self.aborted: list[Aborted] = []

    def add(self, segment: Segment, events: bytes) -> None:
        """The events of a stretch of this segment, which follows what was added before."""
        numbers = array("q", events)
        self.seen = self.seen or bool(events)
        for at in range(0, len(numbers), _PER_EVENT):
            offset, producer, position = numbers[at : at + _PER_EVENT]
            if position < 0:
                self.open.setdefault(producer, offset)
                continue
            first = self.open.pop(producer, None)
            batch = None if first is None else segment.batch_at(position)
            if first is not None and batch is not None and is_abort_marker(batch):
                stable = min(self.open.values(), default=offset + 1)
                self.aborted.append(Aborted(producer, first, offset, stable))

    def ended(self) -> Ended:
        """What is known by now."""
        return Ended(tuple(self.aborted), dict(self.open))
