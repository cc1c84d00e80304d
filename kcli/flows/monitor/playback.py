"""A recorded file, played: an index of its lines, and the snapshot at each of them. One thread at a time.

The snapshot at a reading depends on the readings of the minutes before it only: it is the same whether the file is
played up to there or the position jumped there.
"""

from __future__ import annotations

import os
import re
import stat
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator
from datetime import timedelta, timezone
from itertools import pairwise
from statistics import median
from typing import BinaryIO

from kcli.core.classes import NamedTuple, replace
from kcli.core.errors import ConfigError, KcliError
from kcli.core.positions import read_instant
from kcli.flows.monitor.board import RECENT_MS, Board
from kcli.flows.monitor.cluster_reading import Reading
from kcli.flows.monitor.recording import WHAT_TO_GIVE, read_line, time_in
from kcli.flows.monitor.snapshot import Snapshot
from kcli.output.tables import time_text

_CHUNK = 1 << 20
_HEAD = 512
_LONGEST = 256 << 20  # bytes of a line
_CACHED = 8 << 20  # bytes of lines of which the readings are kept, which take ten times as much
_WARM_MS = 300_000  # until verdicts are what they would be with all that was before
_BEFORE_MS = RECENT_MS + _WARM_MS
_KEPT = 8
"""Snapshots that are kept for the way back, which is one reading at a time as a rule."""
_NEAR_MS, _NEAR_STEPS = (
    60_000,
    3,
)  # how old the reading of a moment may be; at least so many of their intervals
_DAY_MS = 86_400_000


class NoSampleError(KcliError):
    """A recording has no reading of the time that was asked for."""


class Moment(NamedTuple):
    """A time, and the last reading at or before it. ``note``: see ``Instant``."""

    number: int
    at_ms: int
    note: str


class Recording:
    """The readings of a file in the order of their times. The index takes 24 bytes a reading.

    Raises ConfigError if there is none. ``broken`` counts the lines that are no samples: most are known from the start,
    others when they are read. ``indexed`` is called with the bytes so far.
    """

    def __init__(self, path: str, indexed: Callable[[int], object] = lambda _size: None) -> None:
        self.path, self.broken = path, 0
        self._file, self._indexed = _opened(path), indexed
        self._size = os.fstat(self._file.fileno()).st_size
        try:
            self.starts, self.ends, self.times = self._index()
            self._bad: set[int] = set()
            self._cache: dict[int, tuple[int, Reading]] = {}
            self._check_readable()
        except BaseException:
            self._file.close()
            raise

    def __len__(self) -> int:
        return len(self.times)

    @property
    def grown(self) -> bool:
        """Whether something was added to the file since: it is not part of this recording."""
        return os.fstat(self._file.fileno()).st_size > self._size

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def at(self, number: int) -> Reading | None:
        """A reading; None if its line is broken."""
        if number in self._bad:
            return None
        if number in self._cache:
            return self._cache[number][1]
        start, end = self.starts[number], self.ends[number]
        try:
            if end - start > _LONGEST:
                raise ConfigError(f"{self._where(number)} is longer than {_LONGEST:,} bytes")
            reading = read_line(os.pread(self._file.fileno(), end - start, start), self._where(number))
        except (ConfigError, MemoryError):
            self._bad.add(number)
            self.broken += 1
            return None
        self._keep(number, end - start, reading)
        return reading

    def before(self, at_ms: int) -> int:
        """The number of the last reading at or before a time; the first one if there is none."""
        return max(0, bisect_right(self.times, at_ms) - 1)

    def needed(self, number: int) -> range:
        """The readings that verdicts and trends at one are made of, it being the last."""
        return range(self.before(self.times[number] - _BEFORE_MS), number + 1)

    def at_time(self, text: str) -> Moment:
        """The moment that a time means: without a zone in that of the machine that recorded, and without a date as seen
        from the end of the recording, which ``now`` is, too.

        NoSampleError if the last reading before it is older than a minute, and than three intervals.
        """
        last = self.times[-1]
        zone = timezone(timedelta(seconds=self._utc_offset()))
        try:
            found = read_instant(text, last, zone)
            if found.ms > last and re.match(r"@?\d+:", text.strip()):  # the clock of the day before
                found = read_instant(text, last - _DAY_MS, zone)
        except ValueError as error:
            raise ConfigError(
                f"{text!r} is not a time", why=str(error), do="as in 2026-11-21T02:13Z or 02:13"
            ) from None
        number = self.before(found.ms)
        while number and self.at(number) is None:
            number -= 1
        age = found.ms - self.times[number]
        if age < 0 or age > self._reach() or self.at(number) is None:
            raise self._no_sample(found.ms)
        return Moment(number, found.ms, found.note)

    def _utc_offset(self) -> int:
        readings = (self.at(number) for number in reversed(range(len(self))))
        return next((one.utc_offset or 0 for one in readings if one is not None), 0)

    def _reach(self) -> float:
        steps = [after - before for before, after in pairwise(self.times[:1000])]
        return max(_NEAR_MS, _NEAR_STEPS * median(steps)) if steps else _NEAR_MS

    def _no_sample(self, at_ms: int) -> NoSampleError:
        place = bisect_right(self.times, at_ms)
        before, after = self.times[place - 1 : place] or (None,), self.times[place : place + 1] or (None,)
        ends = [one for one in (before[0], after[0]) if one is not None]
        words = [f"the last one before is of {time_text(before[0])}"] if before[0] is not None else []
        words += [f"the first one after is of {time_text(after[0])}"] if after[0] is not None else []
        nearest = min(ends, key=lambda one: abs(one - at_ms))
        return NoSampleError(
            f"{self.path} has no sample of {time_text(at_ms)}",
            why=", ".join(words),
            do=f"--at {time_text(nearest)}",
        )

    def _keep(self, number: int, size: int, reading: Reading) -> None:
        self._cache[number] = size, reading
        total = sum(size for size, _ in self._cache.values())
        for oldest in list(self._cache):
            if total <= _CACHED or oldest == number:
                break
            total -= self._cache.pop(oldest)[0]

    def _where(self, number: int) -> str:
        return f"the line at byte {self.starts[number]:,} of {self.path}"

    def _index(self) -> tuple[array[int], array[int], array[int]]:
        starts, ends, times = array("q"), array("q"), array("q")
        for start, end, head in _lines(self._file, self._size):
            self._indexed(end)
            if (at_ms := time_in(head)) is not None:
                starts.append(start)
                ends.append(end)
                times.append(at_ms)
            elif head.strip():
                self.broken += 1
        if not times:
            raise ConfigError(
                f"{self.path} has no recorded samples", why=self._why() if self.broken else "it is empty", do=WHAT_TO_GIVE
            )  # fmt: skip
        if all(before <= after for before, after in pairwise(times)):
            return starts, ends, times
        # The lines are of several runs, or the clock was set back.
        order = sorted(range(len(times)), key=times.__getitem__)
        return (
            array("q", map(starts.__getitem__, order)),
            array("q", map(ends.__getitem__, order)),
            array("q", map(times.__getitem__, order)),
        )

    def _why(self) -> str:
        head = os.pread(self._file.fileno(), _HEAD, 0)
        try:
            read_line(head.partition(b"\n")[0], "its first line")
        except ConfigError as error:
            return f"{error.what}: {error.why}"
        return "no line of it is one"

    def _check_readable(self) -> None:
        """There has to be one reading that can be shown."""
        if all(self.at(number) is None for number in range(len(self))):
            raise ConfigError(
                f"{self.path} has no recorded samples", why="each of its lines is broken", do=WHAT_TO_GIVE
            )


class Player:
    """``snapshot(number)`` is what the screen showed when that reading was new. ``follow``: see ``Board.follow``.

    ``progress``: how many readings have been read for it, and how many it takes.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.follow: str | None = None
        self.progress = 0, 0
        self._kept: dict[int, Snapshot] = {}
        self._board, self._shown = Board(), -1
        self._followed: str | None = None
        self._last: Snapshot | None = None

    def snapshot(self, number: int, stop: Callable[[], bool] = lambda: False) -> Snapshot | None:
        """None if ``stop`` says so meanwhile, or if nothing in the minutes before can be read."""
        number, begin = self._bounds(number)
        times = self.recording.times
        if begin > number:
            return self._kept.get(number, self._last)
        if not self._goes_on(number):
            self._board, self._last, self._kept = Board(), None, {}
            self._board.follow(self.follow)
            self._followed = self.follow
        self._shown = -1
        for one in range(begin, number + 1):
            self.progress = one - begin, number + 1 - begin
            if stop():
                return None
            if (reading := self.recording.at(one)) is not None:
                self._last = self._board.add(reading)
        self._shown, self.progress = number, (0, 0)
        if self._last is not None:
            since = times[number] - RECENT_MS
            recent = [event for event in self._last.events if event.at_ms >= since]
            self._last = self._kept[number] = replace(self._last, events=recent)
            self._kept = dict(list(self._kept.items())[-_KEPT:])
        return self._last

    def cost(self, number: int) -> int:
        """How many readings have to be read for a snapshot."""
        number, begin = self._bounds(number)
        return number + 1 - begin

    def alone(self, number: int) -> Snapshot | None:
        """What a reading shows by itself: no trends, verdicts and events. For the time until its snapshot is made."""
        reading = self.recording.at(number)
        return None if reading is None else Board().add(reading)

    def _bounds(self, number: int) -> tuple[int, int]:
        """A reading, and the first one that its snapshot needs and the board does not have."""
        number = max(0, min(number, len(self.recording) - 1))
        if self.follow == self._followed:
            if number == self._shown or number in self._kept:
                return number, number + 1
            if self._goes_on(number):
                return number, number
        return number, self.recording.needed(number).start

    def _goes_on(self, number: int) -> bool:
        """Whether the board has all that was before a reading."""
        return self.follow == self._followed and 0 <= self._shown == number - 1


def _opened(path: str) -> BinaryIO:
    try:
        file = open(path, "rb", buffering=0)  # noqa: SIM115 - the recording closes it
    except OSError as error:
        raise ConfigError(
            f"cannot read {path}", why=(error.strerror or str(error)).lower(), do=WHAT_TO_GIVE
        ) from None
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise ConfigError(
            f"cannot replay {path}", why="it is no regular file, so there is no way back in it",
            do="copy what it has into a file",
        )  # fmt: skip
    return file


def _lines(file: BinaryIO, size: int) -> Iterator[tuple[int, int, bytes]]:
    """(start, end, first bytes) of each line of the first ``size`` bytes, with little memory for any length of line."""
    start = at = 0
    head = b""
    while chunk := file.read(min(_CHUNK, size - at)):
        begin = 0
        while (sign := chunk.find(b"\n", begin)) >= 0:
            head += chunk[begin : min(sign, begin + _HEAD - len(head))]
            yield start, at + sign, head
            start, begin, head = at + sign + 1, sign + 1, b""
        head += chunk[begin : begin + _HEAD - len(head)]
        at += len(chunk)
    if start < at:
        yield start, at, head
