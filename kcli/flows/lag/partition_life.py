"""What the commits of a group in one partition show over time. Pure.

*Stalled*: no commit while there is something to read, for 20 s and for three times the interval at which this partition
is committed as a rule. A job with a checkpoint a minute is not stalled between two of them.

*Slow*: falling behind. Lags are compared just after commits only, since between two of them the lag of a group that keeps
up grows, too: the smallest one of ten seconds with that of the ten seconds before, in seconds of what is written. The
differences are added up (CUSUM), never below 0, and a single one counts for half the limit at most: a burst of records is
no falling behind, however large, and neither is what a pause leaves. Above the limit, with one more step that did not
shrink, the group is slow; it stays slow until it has made good for so much that half the limit is left. The limit is
eight seconds, and six times what the differences go up and down by as a rule: where samples are rare, the moment of
the last commit decides about them.

*Held*: the last stable offset stands still below the end of the log: who reads committed records waits for the end of a
transaction (KIP-98). One that takes no longer than twice the one before is no news.
"""

from __future__ import annotations

from functools import lru_cache

STILL_MS = 20_000
"""Members commit every five seconds by default: a shorter time does not show a stall."""
BACK_MS = 60_000
"""How long commits that moved back are news."""
_FIRST_MS = 30_000  # without a commit, where none was seen yet
_INTERVALS, _KNOWN = 3, 5  # between commits: so many may pass without one; so many are remembered
_HABIT = 3  # steps ahead without members that are reading: nobody moves offsets by hand that often
_STEP_MS = 10_000  # between two lags that are compared
_LIMIT, _NOISES = 8.0, 6.0  # seconds, and how often the noise: see above
_NOISE_STEPS = 8  # over which the noise is averaged
_SUDDEN = 2.0  # a lag that grows so much faster than records are written comes from a burst
_RATE_MS, _SURGE = 60_000, 3.0  # over which the rate is averaged, and by how much one step may exceed it
_FEW = 2.0  # records a second: a topic with fewer is taken for one with as many


@lru_cache(4_096)
def _shared(intervals: tuple[int, ...]) -> tuple[int, ...]:
    """One object for all partitions that are committed at the same times: often all of a group."""
    return intervals


class PartitionLife:
    """One partition of a group, from a sample on in which something was unread.

    ``still_ms``: since when there is something to read and no commit moved, with the end of the log of that time in
    ``still_end``; None where all is read. ``back``: by how much commits went back at ``back_ms``. ``held_ms``: since
    when the last stable offset stands still below the end. ``known``: a commit was seen, or that all is read.
    ``calm``: it is known, and nothing else is to be said of it.
    """

    __slots__ = (
        "_alone",
        "_at_ms",
        "_behind",
        "_end",
        "_grown",
        "_hold_ms",
        "_intervals",
        "_low",
        "_lowest",
        "_noise",
        "_rate",
        "_rate_end",
        "_rate_ms",
        "_stable",
        "_step_ms",
        "back",
        "back_ms",
        "calm",
        "held_ms",
        "known",
        "slow",
        "still_end",
        "still_ms",
    )

    def __init__(self, at_ms: int, unread: int, stable: int, end: int, *, known: bool) -> None:
        self._at_ms, self._end, self._stable = at_ms, end, stable
        self._rate: float | None = None
        self._rate_ms, self._rate_end = at_ms, end
        self._intervals: tuple[int, ...] = ()
        self._hold_ms = 0
        self._noise = self._grown = 0.0
        self.held_ms = at_ms if stable < end else None
        self.back_ms: int | None = None
        self.back = self._alone = 0
        self.known = known
        self.slow = self.calm = False
        self.still_ms: int | None = at_ms if unread else None
        self.still_end = end
        self._behind, self._step_ms = 0.0, at_ms
        self._low: int | None = None
        self._lowest: int | None = None

    def add(self, at_ms: int, step: int, unread: int, stable: int, end: int, *, alone: bool) -> None:
        """A later sample: commits moved by ``step``, ``unread`` records are below the last stable offset. ``alone``: the
        group has no members.
        """
        self._alone = self._alone + (step > 0) if alone else 0
        self._at_ms, self._end = at_ms, end
        if stable != end or self.held_ms is not None:
            self._watch_transactions(at_ms, stable, end)
        if step > 0 and self.still_ms is not None and at_ms > self.still_ms:
            self._intervals = _shared((*self._intervals[1 - _KNOWN :], at_ms - self.still_ms))
        if step < 0:
            self.back_ms, self.back = at_ms, -step
            self._compare_anew(at_ms, unread)
            self.still_ms, self.still_end = at_ms, end
        elif not unread:
            self.still_ms, self.known = None, True
            self._compare_anew(at_ms, 0)
        elif step:
            self.still_ms, self.still_end, self.known = at_ms, end, True
            if self._lowest is None or unread < self._lowest:
                self._lowest = unread
            if at_ms - self._step_ms >= _STEP_MS:
                self._compare(at_ms)
        elif self.still_ms is None:
            self.still_ms, self.still_end = at_ms, end
        self.calm = (
            self.held_ms is None
            and self.back_ms is None
            and not self.slow
            and self.known
            and (self.still_ms is None or at_ms - self.still_ms < STILL_MS)
        )

    def rest(self, at_ms: int) -> None:
        """Nobody can have committed until now: the group had no members, or moved its partitions."""
        if self.still_ms is not None:
            self.still_ms, self.still_end = at_ms, self._end

    @property
    def patience_ms(self) -> float:
        """How long there may be no commit."""
        known = self._intervals
        return max(STILL_MS, _INTERVALS * sorted(known)[len(known) // 2]) if known else _FIRST_MS

    @property
    def stalled(self) -> bool:
        """See above."""
        still = 0 if self.still_ms is None else self._at_ms - self.still_ms
        return still >= STILL_MS and still >= self.patience_ms

    @property
    def held(self) -> bool:
        """See above; only for who has read up to the last stable offset."""
        return (
            self.held_ms is not None
            and self.still_ms is None
            and self._at_ms - self.held_ms >= max(STILL_MS, 2 * self._hold_ms)
        )

    @property
    def rewound(self) -> bool:
        """Whether commits went back a short time ago."""
        return self.back_ms is not None and self._at_ms - self.back_ms < BACK_MS

    @property
    def reads(self) -> bool:
        """Whether somebody reads, though no member is known: a consumer that assigns its partitions itself."""
        return self._alone >= _HABIT and not self.stalled

    @property
    def rate(self) -> float:
        """Records a second that are written."""
        return self._rate or 0.0

    def _watch_transactions(self, at_ms: int, stable: int, end: int) -> None:
        if self.held_ms is not None and stable != self._stable:
            self._hold_ms, self.held_ms = at_ms - self.held_ms, None
        if stable == end:
            self.held_ms = None
        elif self.held_ms is None:
            self.held_ms, self._stable = at_ms, stable

    def _measure(self, at_ms: int) -> None:
        """The rate, where the last time was long enough ago."""
        passed = at_ms - self._rate_ms
        if passed < _STEP_MS:
            return
        rate = max(0, self._end - self._rate_end) * 1_000 / passed
        known = self._rate
        if known is None:
            self._rate = rate
        else:
            rate = min(rate, _SURGE * max(known, _FEW))
            self._rate = known + (rate - known) * passed / (passed + _RATE_MS)
        self._rate_ms, self._rate_end = at_ms, self._end

    def _compare(self, at_ms: int) -> None:
        """Just after a commit, with what was just after one ten seconds ago."""
        self._measure(at_ms)
        low = self._lowest or 0
        if self._low is not None:
            grown = (low - self._low) / max(_FEW, self.rate)
            self._noise += (max(0.0, min(self._grown, -grown)) - self._noise) / _NOISE_STEPS
            self._grown = grown
            limit = _LIMIT + _NOISES * self._noise
            most = limit / 2
            confirmed = self._behind >= limit and grown >= 0
            if grown > _SUDDEN * (at_ms - self._step_ms) / 1_000:
                grown = most / 2
            self._behind = min(3 * most, max(0.0, self._behind + min(most, max(-most, grown))))
            self.slow = self._behind > most if self.slow else confirmed
        self._low, self._lowest, self._step_ms = low, None, at_ms

    def _compare_anew(self, at_ms: int, low: int) -> None:
        self._measure(at_ms)
        self._behind, self._low, self._lowest, self._step_ms = 0.0, low, None, at_ms
        self.slow = False
