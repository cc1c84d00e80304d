"""Where groups stand in the list: who needs a person comes first, and who recovers stays there for a minute. Pure."""

from __future__ import annotations

from kcli.core.classes import NamedTuple
from kcli.flows.lag.summary import Summary
from kcli.flows.lag.verdicts import (
    EMPTY,
    HELD,
    LOSS_RISK,
    OK,
    REBALANCING,
    REWOUND,
    SLOW,
    STALLED,
    STOPPED,
    UNREAD,
)
from kcli.flows.monitor.snapshot import GroupLine, Snapshot

MEANINGS = {
    OK: "ok", EMPTY: "ok", REBALANCING: "warn", REWOUND: "warn", SLOW: "warn", STOPPED: "warn", HELD: "warn",
    STALLED: "bad", LOSS_RISK: "bad", UNREAD: "unread",
}  # fmt: skip
"""The meaning of each verdict: see ``look.SIGNS``."""
_RANKS = {"bad": 0, "warn": 1, "unread": 2, "ok": 3}
STAYS_MS = 60_000


def meaning(verdict: str | None) -> str:
    """Of what is not known yet: that of something without a colour."""
    return MEANINGS.get(verdict or "", "dim")


class GroupRow(NamedTuple):
    """A group in the list. ``rank``: 0 is first. ``faded``: it has recovered, and stays where it was.

    Of a group that cannot be read, ``seen`` is what was read last, ``age`` seconds ago; None: it has never been read.
    """

    line: GroupLine
    rank: int
    faded: bool = False

    @property
    def seen(self) -> Summary:
        """What is shown: data has only what is known now."""
        return self.line.last or self.line.summary

    @property
    def age(self) -> float | None:
        """See above."""
        return self.line.age


def rows_of(snapshot: Snapshot) -> list[GroupRow]:
    """As they stand at this moment, whatever was before."""
    return [
        GroupRow(line, _RANKS.get(meaning(line.verdict), _RANKS["ok"]))
        for line in (*snapshot.groups, *snapshot.unread)
    ]


class Standing:
    """``rows`` of one snapshot after the other. The same one twice changes nothing."""

    def __init__(self) -> None:
        self._ranks: dict[
            str, tuple[int, int | None]
        ] = {}  # and since when the group stands better than that

    def rows(self, snapshot: Snapshot) -> list[GroupRow]:
        """With what is remembered of those before."""
        now = snapshot.reading.sample.at_ms
        rows = [self._row(row, now) for row in rows_of(snapshot)]
        for name in self._ranks.keys() - {row.line.group for row in rows}:
            del self._ranks[name]
        return rows

    def _row(self, row: GroupRow, now: int) -> GroupRow:
        name = row.line.group
        held, since = self._ranks.get(name, (row.rank, None))
        if row.rank > held:
            since = now if since is None else since
            if now - since < STAYS_MS:
                self._ranks[name] = held, since
                return row._replace(rank=held, faded=row.rank == _RANKS["ok"])
        self._ranks[name] = row.rank, None
        return row
