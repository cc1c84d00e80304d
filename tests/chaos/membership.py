"""The judge of groups: what members told of themselves, and what the coordinator stored, against what must hold.

A *spell* is the time from when a member was given a partition until it gave it up (``revoked``, ``left``), learned
that it had lost it (``lost``), was killed, or the run ended (``open``). The verdicts:

``unread``: an offset that nobody read. ``skipped``: within a spell an offset was left out, or read twice.
``two_owners``: two spells of one partition overlap; one that ends in ``lost`` may, since the group had given the
member up, and it did not know yet. ``two_in_generation``: the leader gave a partition to two members.
``reread``: a partition that was given up in good order begins before where it was left.
``rewound``: a spell begins before what was committed by then: a commit was lost, or not looked up.
``commit_back``: a committed offset went back. ``commit_ahead``: committed before anybody had read it.
``bad``: a record that is not what was sent there. ``slow``: a poll took longer than its timeout and ``SLACK``.
"""

import json
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.chaos.group_member import POLL

SLACK = 2.0  # seconds; two cores have much to do
_CLOCKS = 0.002  # seconds; the coordinator's clock counts milliseconds

OPEN, KILLED, LOST, REVOKED, LEFT = "open", "killed", "lost", "revoked", "left"


@dataclass(slots=True)
class Spell:
    """``first`` and ``to``: what was read of the partition, None and None when nothing was."""

    member: str
    partition: int
    since: float
    until: float = float("inf")
    how: str = OPEN
    first: int | None = None
    to: int | None = None


@dataclass(frozen=True, slots=True)
class Commit:
    """As it is in the coordinator's log; ``at`` by the clock of the members."""

    at: float
    partition: int
    offset: int


@dataclass(slots=True)
class History:
    """All that is known of a run. ``given``: (generation, member) → what it owned then, of classic groups."""

    spells: list[Spell] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)
    reads: list[tuple[float, int, int, int]] = field(default_factory=list)  # at, partition, first, to
    given: dict[tuple[int, str], frozenset[int]] = field(default_factory=dict)
    found: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    refused: int = 0


Events = Sequence[Mapping[str, Any]]


def read_events(text: str) -> list[dict[str, Any]]:
    """The events of a member's log; a last line that was cut off is left out."""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def tell(history: History, member: str, events: Events, killed_at: float | None = None) -> None:
    """Adds what one member told."""
    mine: dict[int, Spell] = {}

    def end(places: Iterable[int], at: float, how: str) -> None:
        for place in places:
            spell = mine.pop(place)
            spell.until, spell.how = at, how

    for event in events:
        at = event["at"]
        match event["event"]:
            case "assigned":
                for place in event["places"]:
                    mine[place] = Spell(member, place, at)
                    history.spells.append(mine[place])
                if event["generation"] >= 0:
                    history.given[event["generation"], member] = frozenset(event["owned"])
            case "revoked":
                end(event["places"], at, REVOKED)
            case "lost":
                end(event["places"], at, LOST)
            case "left":
                end(list(mine), at, LEFT)
            case "leaving":
                history.slowest = max(history.slowest, event["slowest"])
                history.found["slow"] += event["slowest"] > POLL + SLACK
            case "refused":
                history.refused += 1
            case "read":
                _read(history, mine, event)
    if killed_at is not None:
        end(list(mine), killed_at, KILLED)


def _read(history: History, mine: dict[int, Spell], event: Mapping[str, Any]) -> None:
    place, first, to = event["partition"], event["first"], event["to"]
    history.reads.append((event["at"], place, first, to))
    history.found["bad"] += event["bad"]
    spell = mine.get(place)
    if spell is None:  # read of what it does not own
        history.found["skipped"] += 1
        return
    if spell.to is None:
        spell.first = first
    elif first != spell.to:
        history.found["skipped"] += 1
    spell.to = to


def judge(
    history: History, ends: Mapping[int, int], *, strict: bool = True, classic: bool = True
) -> Counter[str]:
    """How often each verdict was reached. ``ends``: partition → what was sent to it.

    Not ``strict``: what was given up may be read again from the committed offset, as when a commit finds no
    coordinator. ``classic``: generations tell who owned what; member epochs are a member's own.
    """
    found = Counter(history.found)
    found["unread"] += _unread(history, ends)
    found["two_owners"] += _two_owners(history)
    if classic:
        found["two_in_generation"] += _two_in_generation(history)
    if strict:
        found["reread"] += _reread(history)
    found["rewound"] += _rewound(history)
    found += _commits(history)
    return +found


def _unread(history: History, ends: Mapping[int, int]) -> int:
    read: dict[int, set[int]] = defaultdict(set)
    for _, place, first, to in history.reads:
        read[place].update(range(first, to))
    return sum(len(set(range(end)) - read[place]) for place, end in ends.items())


def _by_partition(history: History) -> list[list[Spell]]:
    spells: dict[int, list[Spell]] = defaultdict(list)
    for spell in sorted(history.spells, key=lambda spell: spell.since):
        spells[spell.partition].append(spell)
    return list(spells.values())


def _two_owners(history: History) -> int:
    count = 0
    for spells in _by_partition(history):
        until = 0.0
        for spell in spells:
            count += spell.since < until
            if spell.how != LOST:
                until = max(until, spell.until)
    return count


def _two_in_generation(history: History) -> int:
    owners: Counter[tuple[int, int]] = Counter()
    for (generation, _), places in history.given.items():
        owners.update((generation, place) for place in places)
    return sum(1 for count in owners.values() if count > 1)


def _reread(history: History) -> int:
    count = 0
    for spells in _by_partition(history):
        left_at = 0
        for spell in spells:
            if spell.first is None or spell.to is None:
                continue
            count += spell.first < left_at
            if spell.how in (REVOKED, LEFT):
                left_at = spell.to
    return count


class _Heights:
    """The highest offset of a partition that was told of before a time."""

    def __init__(self, told: Iterable[tuple[float, int, int]]) -> None:
        self._times: dict[int, list[float]] = defaultdict(list)
        self._highest: dict[int, list[int]] = defaultdict(lambda: [0])
        for at, place, offset in sorted(told):
            self._times[place].append(at)
            self._highest[place].append(max(self._highest[place][-1], offset))

    def before(self, at: float, place: int) -> int:
        return self._highest[place][bisect_left(self._times[place], at)]


def _rewound(history: History) -> int:
    committed = _Heights((one.at, one.partition, one.offset) for one in history.commits)
    return sum(
        spell.first < committed.before(spell.since - _CLOCKS, spell.partition)
        for spell in history.spells
        if spell.first is not None
    )


def _commits(history: History) -> Counter[str]:
    found: Counter[str] = Counter()
    read = _Heights((at, place, to) for at, place, _, to in history.reads)
    last: dict[int, int] = defaultdict(int)
    for commit in history.commits:
        found["commit_back"] += commit.offset < last[commit.partition]
        found["commit_ahead"] += commit.offset > read.before(commit.at + _CLOCKS, commit.partition)
        last[commit.partition] = commit.offset
    return found
