"""The replicas of the metadata log (KRaft) beside its leader: how far each is behind, by the leader's clock. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcli.core.classes import NamedTuple

if TYPE_CHECKING:
    from kcli.core.admin.quorum import QuorumDescription, QuorumReplica

VOTER, OBSERVER = "voter", "observer"
LEADER, FOLLOWING, BEHIND, UNKNOWN = "leader", "following", "behind", "unknown"
"""What a replica does; ``unknown`` during an election, which has no leader to compare with."""
_SECONDS, _RECORDS = 5.0, 1_000
"""From which on a replica is behind; records count where the leader tells no times (before Kafka 3.4). The active
controller appends a record every half second (``metadata.max.idle.interval.ms``), so a replica that does not fetch is
behind soon, and one that does is up to two records behind all the time.
"""


class Standing(NamedTuple):
    """A replica. ``lag`` is in records, ``behind`` the seconds since it had all that the leader has, ``fetched`` those
    since it fetched last; None where that is not known. ``endpoint`` is ``host:port``, empty where that is not known.
    """

    node: int
    role: str
    leads: bool
    log_end: int | None
    lag: int | None
    behind: float | None
    fetched: float | None
    endpoint: str = ""

    @property
    def state(self) -> str:
        """One of the words above."""
        if self.leads:
            return LEADER
        if self.lag is None:
            return UNKNOWN
        late = self.lag >= _RECORDS if self.behind is None else self.behind >= _SECONDS
        return BEHIND if late else FOLLOWING


def standings(quorum: QuorumDescription) -> list[Standing]:
    """The voters, then the observers. The leader may know less of itself than of others, as at its start."""
    leader = next((one for one in quorum.replicas if one.node == quorum.leader), None)
    return [
        Standing(
            one.node,
            VOTER if one.is_voter else OBSERVER,
            one is leader,
            known(one.log_end),
            _less(leader, one, "log_end"),
            _seconds(leader, one, "caught_up_ms"),
            _seconds(leader, one, "fetched_ms"),
            quorum.endpoints.get(one.node, ""),
        )
        for one in quorum.replicas
    ]


def known(value: int) -> int | None:
    """None for −1."""
    return value if value >= 0 else None


def _less(leader: QuorumReplica | None, one: QuorumReplica, what: str) -> int | None:
    theirs, own = -1 if leader is None else getattr(leader, what), getattr(one, what)
    return None if theirs < 0 or own < 0 else max(0, theirs - own)


def _seconds(leader: QuorumReplica | None, one: QuorumReplica, what: str) -> float | None:
    less = _less(leader, one, what)
    return None if less is None else less / 1000
