"""Whether a rewind held in fact, by what the members of the group have read. Pure: no clock, no broker.

A run is what one poll of one member returned of one partition: offsets without a gap. The judge follows the *coverage*
of a partition, the records from the new offset on that were read again one after the other:

- it begins with the first run after the start of the rewind whose first offset is the new one. What was read before
  that is the past: members read on until they are sent out, and those of the new protocol may come back and read on
  from the old commit before the rewind has set the new one;
- a later run continues it when it begins inside it or at its end: members that were killed or restarted read again from
  what was committed last;
- a run that begins elsewhere is *astray*. If its reader does not continue what it has read itself before, it has begun
  at a commit of somebody who had not read from the new offset: the rewind did not hold. If it does continue its own
  position, it may be a member that has not noticed yet that it was sent out, which harms nobody: then it has to end,
  and the coverage must continue after it.

Offsets are compared by the time of the poll that returned them. What a member had in work when it was sent out was
polled before, so its late end is no jump.
"""

from collections.abc import Iterable
from dataclasses import dataclass

OVERLAP = 0.3
"""Seconds. A poll that collects for a while may return records after another member has polled the next ones."""
TAIL = 2.0
"""Seconds at the end of the observation in which nobody may be astray any more."""


@dataclass(frozen=True, slots=True)
class Run:
    """Offsets ``first`` to ``end``, exclusive, of a partition, that a poll of ``reader`` returned at ``at`` (seconds)."""

    first: int
    end: int
    at: float
    reader: str


@dataclass(frozen=True, slots=True)
class Fact:
    """``held``: whether the partition was read from the new offset on; None when too little was read to say so."""

    held: bool | None
    why: str = ""


def judge(runs: Iterable[Run], new: int, *, began: float, reported: float) -> Fact:
    """The fact about one partition. The rewind ran from ``began`` to ``reported``."""
    ordered = sorted(runs, key=lambda run: (run.at, run.first))
    coverage = _Coverage(new, reported)
    own: dict[str, int] = {}
    for run in ordered:
        continues = own.get(run.reader) == run.first
        own[run.reader] = run.end
        if run.at >= began:
            coverage.add(run, continues=continues)
    return coverage.fact(ordered[-1].at if ordered else began)


class _Coverage:
    """``add`` runs in the order of their times, then ask for the ``fact``."""

    def __init__(self, new: int, reported: float) -> None:
        self._new, self._reported = new, reported
        self._end: int | None = None
        self._last = 0.0  # when the coverage went on last
        self._waiting: list[Run] = []  # astray, unless what they continue turns up within OVERLAP
        self._astray: Run | None = None  # the last run of a reader that continued its own position
        self._jump: Run | None = None
        self._past: Run | None = None  # the first run after the report, while the coverage has not begun
        self._through = False  # whether the coverage began with a reader that came from before the new offset

    def _forget(self) -> None:
        self._end, self._through, self._astray, self._jump = None, False, None, None
        self._waiting.clear()

    def add(self, run: Run, *, continues: bool) -> None:
        if self._through and run.first == self._new and not continues:
            self._forget()  # it was read through the new offset before the members were evicted
        if self._end is None:
            self._begin(run, continues=continues)
        elif self._fits(run):
            self._extend(run)
        elif continues:
            self._astray = run
        else:
            self._waiting.append(run)
        self._expire(run.at)

    def _begin(self, run: Run, *, continues: bool) -> None:
        # A forward rewind: who reads on through the new offset before the report has done what was asked for.
        through = continues and run.first < self._new < run.end and run.at < self._reported
        if run.first == self._new or through:
            self._through = run.first != self._new
            self._extend(run)
        elif run.at > self._reported:
            self._past = self._past or run

    def _fits(self, run: Run) -> bool:
        return self._end is not None and self._new <= run.first <= self._end

    def _extend(self, run: Run) -> None:
        self._end, self._last = max(self._end or 0, run.end), run.at
        for late in [one for one in self._waiting if self._fits(one)]:
            self._waiting.remove(late)
            self._extend(late)

    def _expire(self, now: float) -> None:
        for run in self._waiting[:]:
            if now - run.at > OVERLAP:
                self._waiting.remove(run)
                self._jump = self._jump or run

    def fact(self, ended: float) -> Fact:
        if self._end is None:
            return self._never_begun()
        self._expire(ended + 2 * OVERLAP)
        if jump := self._jump:
            return Fact(False, f"read from {self._new} to {self._end}, then {_at(jump)}")
        stray = self._astray
        if stray and (stray.at > self._last or stray.at > ended - TAIL):
            return Fact(False, f"read from {self._new} to {self._end}, and on {_at(stray)}")
        return Fact(True)

    def _never_begun(self) -> Fact:
        if self._past is None:
            return Fact(None, "not read after the report")
        return Fact(False, f"never read from {self._new}, but {_at(self._past)}")


def _at(run: Run) -> str:
    return f"from {run.first} by {run.reader}"
