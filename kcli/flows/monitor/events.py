"""What has changed between two readings: rebalances, members, verdicts, rewinds, groups. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from kcli.flows.lag.partition_life import BACK_MS
from kcli.flows.lag.sample import GroupSample
from kcli.flows.lag.verdicts import EMPTY, OK, REBALANCING, REWOUND
from kcli.flows.monitor.snapshot import Event, GroupLine
from kcli.output.progress import counted

if TYPE_CHECKING:
    from kcli.core.admin.group_description import MemberDescription

REBALANCE, JOINED, LEFT, VERDICT, REWIND, NEW, GONE = (
    "rebalance", "joined", "left", "verdict", "rewind", "new group", "group gone",
)  # fmt: skip
KINDS = (REBALANCE, JOINED, LEFT, VERDICT, REWIND, NEW, GONE)
_MOST_NAMES = 3
_GONE_MS = 10_000
"""For how long a group has to be missing."""


class Changes:
    """Compares each group with what was read of it last; the first reading gives no events.

    A group that cannot be read is neither gone nor new. Nor is one that is missing for a moment from the lists of the
    brokers: while a coordinator moves, no broker lists its groups.
    """

    def __init__(self) -> None:
        self._lines: dict[str, GroupLine] = {}
        self._samples: dict[str, GroupSample] = {}
        self._verdicts: dict[str, str] = {}
        self._rewound_ms: dict[str, int] = {}
        self._absent: dict[str, int] = {}  # since when, in ms
        self._unreadable: set[str] = set()
        self._all_listed = False

    @property
    def known(self) -> Collection[str]:
        """The groups that were read and are not gone."""
        return self._lines.keys()

    def of(
        self,
        at_ms: int,
        lines: Mapping[str, GroupLine],
        samples: Mapping[str, GroupSample],
        failed: Collection[str] = (),
        *,
        partial: bool = False,
    ) -> Iterator[Event]:
        """The events of a reading, group by group. ``failed`` could not be read; ``partial``: nor could others, of
        which no name is known.
        """
        for name in self._lines.keys() - lines.keys():
            if name in failed:
                self._absent.pop(name, None)
            elif at_ms - self._absent.setdefault(name, at_ms) >= _GONE_MS:
                del self._lines[name], self._samples[name], self._absent[name]
                self._verdicts.pop(name, None)
                self._rewound_ms.pop(name, None)
                yield Event(at_ms, GONE, name, "no broker lists it any more")
        for name, line in lines.items():
            known, sample = self._lines.get(name), samples[name]
            if known is not None:
                yield from _of_members(at_ms, name, self._samples[name], sample)
                yield from _of_state(at_ms, known, line)
            elif self._all_listed and name not in self._unreadable:
                yield Event(at_ms, NEW, name, f"state {line.state or 'unknown'}")
            yield from self._of_verdict(at_ms, line, first=known is None)
            self._lines[name], self._samples[name] = line, sample
            self._absent.pop(name, None)
        self._unreadable = (self._unreadable | set(failed)) - lines.keys()
        self._all_listed = self._all_listed or not partial

    def _of_verdict(self, at_ms: int, line: GroupLine, *, first: bool) -> Iterator[Event]:
        """Rebalances have events of their own; afterwards the verdict is compared with the last before."""
        verdict = line.verdict
        if verdict is None or verdict == REBALANCING:
            return
        last = self._verdicts.get(line.group)
        self._verdicts[line.group] = verdict
        if verdict == last or (last is None and (first or verdict in (OK, EMPTY))):
            return
        if verdict == REWOUND:
            if at_ms - self._rewound_ms.get(line.group, -BACK_MS) < BACK_MS:
                return  # a risk of loss, say, came and went meanwhile: the verdict is still that of the same rewind
            self._rewound_ms[line.group] = at_ms
            yield Event(at_ms, REWIND, line.group, f"commits moved back; lag {_lag(line)}")
        elif last != REWOUND or verdict not in (OK, EMPTY):
            was = "" if last is None else f", was {last}"
            yield Event(
                at_ms, VERDICT, line.group, f"{verdict}{was}; {line.judged.why or f'lag {_lag(line)}'}"
            )


def _of_members(at_ms: int, name: str, before: GroupSample, now: GroupSample) -> Iterator[Event]:
    old, new = _members(before), _members(now)
    if old is None or new is None:
        return
    for kind, some in (
        (JOINED, [new[one] for one in new.keys() - old.keys()]),
        (LEFT, [old[one] for one in old.keys() - new.keys()]),
    ):
        if some:
            names = sorted(f"{one.client_id} on {one.host}" for one in some)
            more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
            yield Event(
                at_ms,
                kind,
                name,
                f"{', '.join(names[:_MOST_NAMES])}{more}: now {counted(len(new), 'member')}",
            )


def _members(one: GroupSample) -> Mapping[str, MemberDescription] | None:
    """By id. An empty group is not described: it has none."""
    if one.description is None:
        return {} if one.state == "Empty" else None
    return {member.member_id: member for member in one.description.members}


def _of_state(at_ms: int, before: GroupLine, now: GroupLine) -> Iterator[Event]:
    moved = before.verdict == REBALANCING, now.verdict == REBALANCING
    if moved == (False, True):
        yield Event(at_ms, REBALANCE, now.group, f"{before.state} to {now.state}")
    elif moved == (True, False):
        members = "" if now.members is None else f" with {counted(now.members, 'member')}"
        yield Event(at_ms, REBALANCE, now.group, f"over, {now.state}{members}")


def _lag(line: GroupLine) -> str:
    return "unknown" if line.summary.lag is None else f"{line.summary.lag:,}"
