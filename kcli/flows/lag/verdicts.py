"""One word for each partition of a group, and for the group the worst of them. Pure.

The words, the worst first: ``loss risk``: retention has deleted unread records, or soon will; ``stalled``: members, but
no commit; ``stopped``: no members but unread records; ``slow``: it falls behind; ``held``: an open transaction keeps
readers back; ``rewound``: its commits moved back; ``unread``: it could not be read; ``rebalancing``; ``ok``; ``empty``:
no members and nothing to read. ``partition_life`` has the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from heapq import nlargest

from kcli.core.classes import NamedTuple
from kcli.core.types import TopicPartition
from kcli.flows.groups.description import SHARE, WITHOUT_MEMBERS
from kcli.flows.lag.lag_columns import LagColumns
from kcli.flows.lag.pace import WINDOW_MS, Offsets, Pace, Trend, unstarted
from kcli.flows.lag.partition_lag import PartitionLag
from kcli.flows.lag.partition_life import PartitionLife
from kcli.output.progress import counted, duration_text
from kcli.output.tables import Column

OK, SLOW, STALLED, STOPPED, EMPTY = "ok", "slow", "stalled", "stopped", "empty"
REBALANCING, REWOUND, LOSS_RISK = "rebalancing", "rewound", "loss risk"
HELD, UNREAD = "held", "unread"
WORDS = (OK, SLOW, STALLED, STOPPED, EMPTY, REBALANCING, REWOUND, LOSS_RISK, HELD, UNREAD)
WORST_FIRST = (LOSS_RISK, STALLED, STOPPED, SLOW, HELD, REWOUND, UNREAD)
"""Those that are explained."""
_ALL_WORST_FIRST = (*WORST_FIRST, REBALANCING, None, OK, EMPTY)
VERDICT = Column(
    "verdict",
    values=(*WORDS, None),
    meaning="The state of the partition, or the worst of the partitions, in a word; null while it is not known.",
)
_MOVING = frozenset(("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"))
_NAMED = 2  # partitions in a reason


class Verdict(NamedTuple):
    """``word`` is None while it is not known: one sample shows no progress. ``partitions``: the words of the rows, in
    their order, or one for all of them. ``why``: which partitions have the word, and why; empty where nothing is to be
    said. ``since_ms``: when the group got the word. ``shares``: milliseconds in each word since it was seen first.
    """

    word: str | None
    partitions: Sequence[str | None] | str | None = None
    why: str = ""
    since_ms: int = 0
    shares: Mapping[str, int] = {}

    def of(self, rows: Collection[PartitionLag]) -> Sequence[str | None]:
        """The words of the rows."""
        words = self.partitions
        return [words] * len(rows) if words is None or isinstance(words, str) else words


NO_VERDICT = Verdict(None)


def worst(words: Iterable[str | None]) -> str | None:
    """The worst of them; what is not known is worse than ``ok``. None without any."""
    found = set(words)
    return next((one for one in _ALL_WORST_FIRST if one in found), None)


def worst_of(rows: Iterable[PartitionLag], words: Iterable[str | None]) -> str | None:
    """The worst word of rows; those that nobody reads, and that have no commit, say nothing of the group."""
    return worst(
        word
        for row, word in zip(rows, words, strict=True)
        if not (row.without_commit and row.member is None and word is None)
    )


class _Group:
    """What is known of a group since it was seen first."""

    __slots__ = ("_pace", "_window_ms", "at_ms", "lives", "offsets", "shares", "since_ms", "word")

    def __init__(self, at_ms: int, first: Offsets, window_ms: int) -> None:
        self.at_ms = self.since_ms = at_ms
        self.offsets = first
        self._window_ms = window_ms
        self._pace: Pace | None = None
        self.lives: dict[TopicPartition, PartitionLife] = {}
        self.word: str | None = None
        self.shares: dict[str, int] = {}

    @property
    def pace(self) -> Pace:
        """Of the first sample on; a single one has none."""
        if self._pace is None:
            self._pace = Pace(self.at_ms, self.offsets, self._window_ms)
        return self._pace


class History:
    """The samples of groups, evaluated group by group; of offsets only the last ones are kept."""

    def __init__(self, window_ms: int = WINDOW_MS) -> None:
        self._window_ms = window_ms
        self._groups: dict[str, _Group] = {}

    def add_rows(self, at_ms: int, group: str, rows: Collection[PartitionLag], state: str) -> None:
        """Adds a group's rows of one sample."""
        now = Offsets(rows, state)
        known = self._groups.get(group)
        if known is None:  # nothing to compare with
            self._groups[group] = _Group(at_ms, now, self._window_ms)
            return
        commits, ends = now.steps_from(known.offsets)
        alone = known.offsets.deserted and now.deserted
        _live(known, at_ms, now, commits, ends)
        if known.offsets.deserted != now.deserted or state in _MOVING:
            for life in known.lives.values():
                life.rest(at_ms)
        known.pace.add(at_ms, now, commits, ends, alone=alone)
        if known.word is not None:
            known.shares[known.word] = known.shares.get(known.word, 0) + at_ms - known.at_ms
        known.offsets, known.at_ms = now, at_ms

    def keep(self, groups: Collection[str]) -> None:
        """Forgets all other groups: they no longer exist."""
        for group in self._groups.keys() - groups:
            del self._groups[group]

    def exclude(self, group: str, since_ms: int, until_ms: int) -> None:
        """Its commits were set by hand between these times: no step of that time shows what it reads."""
        known = self._groups.get(group)
        if known is not None:
            known.pace.exclude(since_ms, until_ms)
            for life in known.lives.values():
                life.rest(known.at_ms)

    def resume(self, at_ms: int, group: str) -> None:
        """After a time in which it could not be read: if that was long, what comes is not compared with what was, and
        nobody can have committed; who had not done so before has not done so yet.
        """
        known = self._groups.get(group)
        if known is not None and known.pace.resume(at_ms):
            known.at_ms = at_ms
            for life in known.lives.values():
                if not life.stalled:
                    life.rest(at_ms)

    def trend(self, group: str) -> Trend:
        """See ``Pace.trend``."""
        known = self._groups.get(group)
        return Trend() if known is None else known.pace.trend

    def verdict(
        self, group: str, state: str, rows: Collection[PartitionLag], *, explain: bool = True
    ) -> Verdict:
        """The verdict on a group whose rows were added last; ``explain``: say why."""
        known = self._groups[group]
        words, why = _words(known, state, rows), ""
        word = worst_of(rows, words) if isinstance(words, list) else words
        if explain and word in _REASONS:
            why = _reason(word, words, rows, known.lives, known.at_ms)
        if word != known.word:
            known.word, known.since_ms = word, known.at_ms
        return Verdict(word, words, why, known.since_ms, dict(known.shares))

    def reason(self, group: str, row: PartitionLag, word: str | None) -> str:
        """Why a partition has its word, in the rows that were added last; empty where nothing is to be said."""
        known, of = self._groups[group], _REASONS.get(word)
        return "" if of is None else of(row, known.lives.get(row.tp), known.at_ms)


def _live(
    known: _Group, at_ms: int, now: Offsets, commits: Sequence[int | None], ends: Sequence[int | None]
) -> None:
    """A sample more of each partition; ``commits`` and ``ends`` have moved so far since the one before. A partition of
    which all was read so far has no life of its own.
    """
    lives, alone, drained, excluded = known.lives, now.deserted, now.drained, known.pace.excluded
    for tp, step, grown, committed, stable, end in zip(
        now.partitions, commits, ends, now.committed, now.stable, now.ends, strict=True
    ):
        life = lives.get(tp)
        if life is None:
            if step is None or grown is None:
                continue
            before, before_end = committed - step, end - grown
            if committed >= end and before >= before_end and step >= 0:
                continue
            before_stable = min(stable, before_end)
            unread = 0 if tp in drained else max(0, before_stable - before)
            life = lives[tp] = PartitionLife(
                known.at_ms, unread, before_stable, before_end, known=before >= before_end
            )
        unread = (stable if committed <= stable else end) - committed
        if unread < 0 or tp in drained:
            unread = 0
        own = 0 if step is None or (excluded and step > 0) else step
        life.add(at_ms, own, unread, stable, end, alone=alone)
    if len(lives) > len(now.partitions):
        for tp in lives.keys() - set(now.partitions):
            del lives[tp]


def _words(known: _Group, state: str, rows: Collection[PartitionLag]) -> list[str | None] | str | None:
    """Of each row, or one for all."""
    if state in _MOVING:
        return REBALANCING
    lives, deserted = known.lives, state in WITHOUT_MEMBERS
    if isinstance(rows, LagColumns):
        if not lives:
            unread, read = (STOPPED, EMPTY) if deserted else (None, OK)
            if all(rows.lag):
                return unread
            return [unread if lag else read for lag in rows.lag] if any(rows.lag) else read
        if not deserted and state and all(life.calm for life in lives.values()):
            return OK
        get = lives.get
        return [_of_life(get(tp), lag, deserted, state) for tp, lag in zip(rows.tp, rows.lag, strict=True)]
    if not rows:
        return EMPTY if deserted else None
    return [_of_row(row, lives.get(row.tp), deserted, state) for row in rows]


def _of_row(row: PartitionLag, life: PartitionLife | None, deserted: bool, state: str) -> str | None:
    if row.at_risk:
        return LOSS_RISK
    if row.lag is None:
        return None if unstarted(row) or not row.judged else UNREAD
    return _of_life(life, 0 if row.drained else row.lag, deserted, state)


def _of_life(life: PartitionLife | None, lag: int, deserted: bool, state: str) -> str | None:
    if life is None:
        return (STOPPED if lag else EMPTY) if deserted else None if lag else OK
    if life.rewound:
        return REWOUND
    if deserted and not life.reads:
        return STOPPED if lag else EMPTY
    if not lag:
        return OK
    if life.held:
        return HELD
    if not state:
        return None
    return STALLED if life.stalled else SLOW if life.slow else OK if life.known else None


def _reason(
    word: str | None,
    words: Sequence[str | None] | str | None,
    rows: Collection[PartitionLag],
    lives: Mapping[TopicPartition, PartitionLife],
    at_ms: int,
) -> str:
    """``3 of 40: orders-7 no commit for 4m while 12,000 arrived; orders-1 …; and 1 more``."""
    of = _REASONS[word]
    places: Sequence[int] = range(len(rows))
    if isinstance(words, list):
        places = [place for place in places if words[place] == word]
    lags = rows.lag if isinstance(rows, LagColumns) else [row.lag or 0 for row in rows]
    some = rows.row if isinstance(rows, LagColumns) else list(rows).__getitem__
    worst = map(some, nlargest(_NAMED, places, key=lags.__getitem__))
    texts = "; ".join([f"{row.tp} {of(row, lives.get(row.tp), at_ms)}" for row in worst])
    if len(places) > _NAMED:
        texts += f"; and {len(places) - _NAMED:,} more"
    return f"{len(places)} of {len(rows)}: {texts}" if len(rows) > 1 else texts


def _stalled(row: PartitionLag, life: PartitionLife | None, at_ms: int) -> str:
    if life is None or life.still_ms is None:
        return "no commit"
    since = duration_text((at_ms - life.still_ms) / 1_000)
    arrived = max(0, (row.end or 0) - life.still_end)
    if row.type == SHARE:
        return f"nothing acknowledged for {since} while {arrived:,} arrived"
    return f"no commit for {since} while {arrived:,} arrived"


def _slow(row: PartitionLag, life: PartitionLife | None, _at_ms: int) -> str:
    rate = "" if life is None else f", {life.rate:,.0f} a second arrive"
    return f"falls behind by {counted(row.lag or 0, 'record')}{rate}"


def _held(_row: PartitionLag, life: PartitionLife | None, at_ms: int) -> str:
    since = (
        ""
        if life is None or life.held_ms is None
        else f" for {duration_text((at_ms - life.held_ms) / 1_000)}"
    )
    return f"held by an open transaction{since}"


def _rewound(_row: PartitionLag, life: PartitionLife | None, _at_ms: int) -> str:
    return "went back" if life is None else f"went back by {counted(life.back, 'offset')}"


def _at_risk(row: PartitionLag, _life: PartitionLife | None, _at_ms: int) -> str:
    if row.lost and row.type == SHARE:
        return f"has lost at least {counted(row.lost, 'offset')}"
    if row.lost:
        return f"has lost {counted(row.lost, 'offset')}"
    return (
        "has a commit past the end" if row.margin is None else f"is kept for {duration_text(row.margin)} more"
    )


def _stopped(row: PartitionLag, _life: PartitionLife | None, _at_ms: int) -> str:
    return f"{row.lag or 0:,} unread"


def _unread(row: PartitionLag, _life: PartitionLife | None, _at_ms: int) -> str:
    return row.note or "unknown"


_REASONS: Mapping[str | None, Callable[[PartitionLag, PartitionLife | None, int], str]] = {
    STALLED: _stalled,
    SLOW: _slow,
    HELD: _held,
    REWOUND: _rewound,
    LOSS_RISK: _at_risk,
    STOPPED: _stopped,
    UNREAD: _unread,
}
