"""What the commits of one partition say of a live rewind: the states that a trail of them passes through. Pure.

The race: a member that was evicted in the middle of a batch commits that batch when it is back, since a coordinator
accepts commits of any member for any partition. Three sequences decide what such a commit does.

1. The new owner fetches the committed offset (the new one), then the old batch is committed: no harm, as the owner goes
   on from where it began, and commits further.
2. The old batch is committed, then the owner fetches: it begins there, and the rewind of the partition is lost. Only the
   first commit after the assignment can do that, so what it is decides (``First``), and the history of commits is asked
   where a poll may have missed it.
3. As 1, but the partition is reassigned before its owner has committed further: the next owner begins at the old batch.
   So the last commit has a state as well (``Last``), and ``Trail.record_reassignment`` judges it.
"""

from collections.abc import Sequence
from enum import Enum, auto

from kcli.core.classes import dataclass

BLIND_SECONDS = 2.0
"""Between two polls further apart than this, a member may have committed and others may have started from there."""
_FROM_FIRST = "it may have been read from the first commit on, which may have been of an old batch"
_MISSED = "an earlier commit may have been missed; __consumer_offsets, which has all, cannot be read"
_BLIND = "nothing was observed for some seconds, and a member committed meanwhile"
_REASSIGNED = "it was reassigned when the last commit may have been of an old batch"


@dataclass(frozen=True, slots=True)
class Rewound:
    """One partition that was set: ``old`` is the commit at the eviction, ``end`` the log end when the last previous owner
    was back, waiting to rejoin: no member has read beyond it. None: not known.
    """

    new: int
    old: int | None
    end: int | None

    @property
    def idle(self) -> bool:
        """Whether no member could have a batch in progress: everything in the log had been committed."""
        return self.old is not None and self.old == self.end


class Last(Enum):
    """By whom the last commit is, which is where the next owner would begin."""

    NONE = auto()
    """Nothing was committed since the release."""
    AT_NEW = auto()
    """At the new offset itself: by a member that has read nothing yet."""
    FROM_NEW = auto()
    """By a member that began at the new offset."""
    MAYBE_OLD = auto()
    """By such a member, or of a batch that was read before the eviction."""
    OLD = auto()
    """Of an old batch: no member that began at the new offset can have made it."""


class First(Enum):
    """Whether the owner has begun where the first commit was, and that was of an old batch.

    NONE becomes one of the others with the first commit. CARRIED becomes MAYBE_OLD with another one. MAYBE_MISSED,
    MAYBE_OLD and CARRIED become CLEAR with a commit between the new and the old offset, which proves that the owner began
    at the new one, or when the history has been asked (``Trail.confirm``).
    """

    NONE = auto()
    CLEAR = auto()
    """It has not, or it is known by other means that this cannot be decided."""
    MAYBE_MISSED = auto()
    """The first commit that was seen is from the new offset, but a poll may have missed an old one before it."""
    MAYBE_OLD = auto()
    """The first commit may be of an old batch."""
    CARRIED = auto()
    """It may be, but only as one that a member kept while the group was held, and sent as soon as it was assigned
    something; and none but the new offset was committed after it.
    """


class Fate(Enum):
    """What no later commit changes; but an UNDECIDABLE partition may still be found to be OVERWRITTEN."""

    OPEN = auto()
    UNDECIDABLE = auto()
    OVERWRITTEN = auto()


class Trail:
    """What was committed for one partition since the members were released. ``usual``: the longest that a batch usually
    takes, in seconds.

    ``kept``: a member claims to have kept the partition, so it may go on from its own position. ``continues``: its owner
    was seen to make progress. ``why`` it is undecidable.
    """

    def __init__(self, rewound: Rewound, usual: float) -> None:
        self.rewound = rewound
        self._usual = usual
        self.commits: list[tuple[float, int | None]] = []
        self.horizon = rewound.end  # previous owners have read nothing beyond
        self.end = rewound.end
        self.covered = rewound.new  # read again up to here: starting below skips nothing
        self.read_since: float | None = None  # when it was first assigned after the release
        self.kept = False
        self.continues = False
        self.fate, self.why = Fate.OPEN, ""
        self.first, self.last = First.NONE, Last.NONE

    def add_commit(
        self, at: float, offset: int | None, in_progress_until: float, carried: float, *, blind: bool
    ) -> None:
        """``offset`` is committed now. ``carried``: for this many seconds after the assignment members may send commits
        that they kept while the group was held. ``blind``: earlier commits may have been missed.
        """
        if offset == self._committed:
            return
        is_first = not self.commits
        self.commits.append((at, offset))
        new, old = self.rewound.new, self.rewound.old
        if offset is None or offset < (new if old is None else min(new, old)):
            self.fate, self.why = Fate.OVERWRITTEN, ""
            return
        since_read = at - (self.read_since if self.read_since is not None else at)
        may_carry = is_first and not self.rewound.idle
        in_progress, early = at <= in_progress_until, may_carry and since_read <= carried
        covered = new < offset <= self.covered
        self.last = Last.FROM_NEW if covered else self._kind(offset, old_possible=in_progress or early)
        self.continues = self.continues or self.last is Last.FROM_NEW or not is_first
        if self.last is Last.FROM_NEW:
            self.covered = max(self.covered, offset)
        if self._between(offset):
            self.first, self.kept = First.CLEAR, False
        elif self.last is not Last.AT_NEW:
            if is_first:
                missed = may_carry and since_read <= carried + BLIND_SECONDS
                self.first = self._first(missed=missed, carried=early and not in_progress, blind=blind)
                if self.last is Last.FROM_NEW and not blind and self._silent(at):
                    self.last = Last.MAYBE_OLD  # an owner busy for that long may have committed exactly this
            elif self.first is First.CARRIED:
                self.first = First.MAYBE_OLD
            if blind:
                self._mark_undecidable(_BLIND)

    def _first(self, *, missed: bool, carried: bool, blind: bool) -> First:
        """The state after the first commit, which is ``last``, at or beyond the old offset."""
        if self.last is Last.FROM_NEW:
            return First.MAYBE_MISSED if missed else First.CLEAR
        if self.last is Last.OLD:
            self._mark_undecidable(_FROM_FIRST)
        elif not self.kept and not blind:
            return First.CARRIED if carried else First.MAYBE_OLD
        return First.CLEAR

    @property
    def unconfirmed(self) -> bool:
        """Whether the history of commits is needed: for a first one of an old batch that may have been missed."""
        return self.first in (First.MAYBE_MISSED, First.MAYBE_OLD, First.CARRIED)

    @property
    def awaits_history(self) -> bool:
        """Whether nothing is decided before that: the first commit itself may be of an old batch."""
        return self.first in (First.MAYBE_OLD, First.CARRIED)

    def confirm(self, commits: Sequence[int | None] | None) -> None:
        """See ``Judge.confirm``: the first conclusive commit decides."""
        first, self.first = self.first, First.CLEAR
        if commits is None:
            self._mark_undecidable(_MISSED if first is First.MAYBE_MISSED else _FROM_FIRST)
            return
        old_first = False
        for offset in self._after_ours(commits):
            if offset is None or offset == self.rewound.new:
                continue
            seen = first is First.MAYBE_MISSED and offset == self.commits[0][1]
            old_first = old_first or (not seen and self._kind(offset, old_possible=True) is not Last.FROM_NEW)
            if self._between(offset) or not old_first:
                break
        else:
            if old_first:
                self._mark_undecidable(_FROM_FIRST)
                return
        if first is First.CARRIED:
            self.last = Last.FROM_NEW

    def _after_ours(self, commits: Sequence[int | None]) -> Sequence[int | None]:
        """The commits after our last one, which corrected earlier ones; by offset, since clocks differ."""
        ours = [number for number, offset in enumerate(commits) if offset == self.rewound.new]
        return commits[ours[-1] + 1 :] if ours else commits

    def record_first_owner(self, at: float) -> None:
        """The partition is assigned for the first time since the release."""
        if self.read_since is None:
            self.read_since = at
            self.record_reassignment()

    def record_reassignment(self) -> None:
        """A new owner may have started from what is committed now."""
        if self.read_since is None:
            return
        if self.last is Last.OLD:
            self.fate, self.why = Fate.OVERWRITTEN, ""
        elif self.last is Last.MAYBE_OLD:
            self._mark_undecidable(_REASSIGNED)

    @property
    def drained(self) -> bool:
        """Whether nothing is left to read from the committed offset on."""
        committed = self._committed
        return self.end is not None and committed is not None and self.end <= committed

    @property
    def _committed(self) -> int | None:
        return self.commits[-1][1] if self.commits else self.rewound.new

    def _kind(self, offset: int, *, old_possible: bool) -> Last:
        if offset == self.rewound.new:
            return Last.AT_NEW
        if offset < self.rewound.new:
            return Last.OLD
        if self._between(offset):
            return Last.FROM_NEW
        if self.kept:
            return Last.MAYBE_OLD
        beyond = self.horizon is not None and offset > self.horizon
        return Last.FROM_NEW if beyond or not old_possible else Last.MAYBE_OLD

    def _silent(self, at: float) -> bool:
        """Whether a first commit would have been expected earlier."""
        late = self.read_since is not None and at > self.read_since + self._usual
        return late and not self.rewound.idle

    def _between(self, offset: int) -> bool:
        """Between the new and the old offset; a member that began at the old one commits nothing below it."""
        return self.rewound.old is not None and self.rewound.new < offset < self.rewound.old

    def _mark_undecidable(self, why: str) -> None:
        if self.fate is not Fate.OVERWRITTEN:
            self.fate, self.why = Fate.UNDECIDABLE, why
