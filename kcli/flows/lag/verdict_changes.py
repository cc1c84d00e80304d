"""What has changed in the verdicts on groups and their partitions since the sample before. Pure.

A change is one of words: a verdict that is not known yet, or not for a moment, is none. The first verdict counts unless
it is ``ok`` or ``empty``. While a group rebalances all its partitions have that word: it is a change of the group, and
its partitions are compared with what they were before.

A group of a thousand partitions that stall at once is one incident. So a partition is reported by itself only while less
than ten of its group are reported and not well again, those with the most lag first; the end of each is reported. The
others are counted in the change of the group, which is made for them even where the group's own word stays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from kcli.core.classes import NamedTuple
from kcli.core.types import TopicPartition
from kcli.flows.lag.partition_lag import PartitionLag
from kcli.flows.lag.verdicts import EMPTY, OK, REBALANCING, UNREAD, Verdict
from kcli.output.progress import counted
from kcli.output.tables import time_text

AT_MOST = 10
"""Partitions of a group that are reported by themselves at a time."""
ABSENT_MS = 10_000
"""For how long a group has to be missing: while a coordinator moves, no broker lists its groups."""
_WELL = (OK, EMPTY)

WhyOf = Callable[[PartitionLag, str | None], str]


class VerdictChange(NamedTuple):
    """``partition`` None: of the group. ``word`` None: the group, or the partition, is gone. ``since_ms``: the sample in
    which it was seen so first.
    """

    group: str
    partition: TopicPartition | None
    was: str | None
    word: str | None
    since_ms: int
    why: str
    at_ms: int

    def document(self, cluster: str | None) -> dict[str, Any]:
        """The document ``VerdictChange``."""
        return {
            "kind": "VerdictChange",
            "api": "kcli/v1",
            "cluster": cluster,
            "group": self.group,
            "topic": None if self.partition is None else self.partition.topic,
            "partition": None if self.partition is None else self.partition.partition,
            "from": self.was,
            "to": self.word,
            "since": time_text(self.since_ms),
            "why": self.why or None,
            "at": time_text(self.at_ms),
        }

    def __str__(self) -> str:
        what = f"group {self.group}" + ("" if self.partition is None else f", {self.partition}")
        return f"{what}: {self.was or 'not known'} to {self.word or 'gone'}"


class _Group:
    """What was seen of a group last. ``words``: of its partitions, those that are known; ``reported``: the partitions
    that were reported by themselves and are not well again.
    """

    __slots__ = ("absent_ms", "reported", "word", "words")

    def __init__(self) -> None:
        self.word: str | None = None
        self.words: dict[TopicPartition, str] = {}
        self.reported: set[TopicPartition] = set()
        self.absent_ms: int | None = None


class VerdictChanges:
    """Compares each verdict with the one before: ``of`` for the groups of a sample, then ``absent`` for the others."""

    def __init__(self) -> None:
        self._groups: dict[str, _Group] = {}

    def of(
        self, at_ms: int, group: str, verdict: Verdict, rows: Collection[PartitionLag], why_of: WhyOf
    ) -> list[VerdictChange]:
        """The changes of a group, its own first. ``why_of``: see ``History.reason``."""
        known = self._groups.setdefault(group, _Group())
        known.absent_ms = None
        own: list[VerdictChange] = []
        others = ""
        if verdict.word != REBALANCING:
            own, others = _of_partitions(at_ms, group, known, verdict, rows, why_of)
        was, word = known.word, verdict.word or known.word
        known.word = word
        if not others and (word == was or (was is None and word in _WELL)):
            return own
        why = "; ".join(filter(None, (verdict.why, others)))
        return [VerdictChange(group, None, was, word, at_ms, why, at_ms), *own]

    def absent(
        self, at_ms: int, present: Collection[str], failed: Mapping[str, str], others: str = ""
    ) -> list[VerdictChange]:
        """The changes of groups that are not in a sample: unread if ``failed`` says why or, for groups that were not
        named, ``others`` does, and else gone.
        """
        for name in failed:
            self._groups.setdefault(name, _Group())
        found: list[VerdictChange] = []
        for name in [name for name in self._groups if name not in present]:
            known = self._groups[name]
            if known.absent_ms is None:
                known.absent_ms = at_ms
            if at_ms - known.absent_ms < ABSENT_MS:
                continue
            if why := failed.get(name, others):
                if known.word != UNREAD:
                    found.append(VerdictChange(name, None, known.word, UNREAD, known.absent_ms, why, at_ms))
                    known.word = UNREAD
            else:
                found += _gone(at_ms, name, known)
                del self._groups[name]
        return found


def in_order(changes: Sequence[VerdictChange]) -> list[VerdictChange]:
    """Of one sample: groups first, so that those of partitions do not delay them."""
    return sorted(changes, key=lambda one: one.partition is not None)


def _of_partitions(
    at_ms: int, group: str, known: _Group, verdict: Verdict, rows: Collection[PartitionLag], why_of: WhyOf
) -> tuple[list[VerdictChange], str]:
    """The changes of partitions that are reported by themselves, and how many others there are."""
    words: dict[TopicPartition, str] = {}
    changed: list[tuple[PartitionLag, str | None, str]] = []
    for row, word in zip(rows, verdict.of(rows), strict=True):
        was = known.words.get(row.tp)
        if word is None and was is None:
            continue
        words[row.tp] = now = word or was or ""
        if now != was and not (now in _WELL and (was is None or was in _WELL)):
            changed.append((row, was, now))
    found = [
        VerdictChange(group, tp, known.words[tp], None, at_ms, "", at_ms)
        for tp in sorted(known.reported - {row.tp for row in rows})
    ]
    known.reported -= {one.partition for one in found if one.partition is not None}
    own = [one for one in changed if one[0].tp in known.reported]
    known.reported -= {row.tp for row, _was, now in own if now in _WELL}
    told = {row.tp for row, _was, _now in own}
    new = [one for one in changed if one[0].tp not in told and one[2] not in _WELL]
    new.sort(key=lambda one: -(one[0].lag or 0))
    own += new[: max(0, AT_MOST - len(known.reported))]
    known.reported |= {row.tp for row, _was, now in own if now not in _WELL}
    known.words = words
    found += [VerdictChange(group, row.tp, was, now, at_ms, why_of(row, now), at_ms) for row, was, now in own]
    told = {one[0].tp for one in own}
    others = Counter((was, now) for row, was, now in changed if row.tp not in told)
    return found, "; ".join(_counted(others))


def _counted(others: Mapping[tuple[str | None, str], int]) -> Iterator[str]:
    for (was, now), count in others.items():
        yield f"{counted(count, 'other partition')}: {was or 'not known'} to {now}"


def _gone(at_ms: int, group: str, known: _Group) -> Iterator[VerdictChange]:
    """Of a group that no broker lists any more: the end of what was reported."""
    since = known.absent_ms or at_ms
    why = "no broker lists the group any more"
    if known.word is not None and known.word not in _WELL:
        yield VerdictChange(group, None, known.word, None, since, why, at_ms)
    for tp in sorted(known.reported):
        yield VerdictChange(group, tp, known.words[tp], None, since, why, at_ms)
