"""A rolling restart, broker by broker: when one may be stopped, was stopped, and is back. Pure: it is given what is seen.

It stops and starts nothing itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from kcli.core.classes import NamedTuple
from kcli.flows.cluster_state import ONLINE
from kcli.flows.health.observed import Observed
from kcli.flows.quorum.standings import FOLLOWING, LEADER, standings

WAITING, SAFE, UNSAFE, STOPPED, BACK = "waiting", "safe", "unsafe", "stopped", "back"
STATES = (WAITING, SAFE, UNSAFE, STOPPED, BACK)
_FETCHES_WITHIN = 2.0
"""Seconds: a follower of the metadata log fetches twice a second."""


class Presence(Enum):
    """Whether a node is there; ``UNKNOWN``: it is connected, and does not answer."""

    UP = "up"
    DOWN = "down"
    UNKNOWN = "unknown"


class Step(NamedTuple):
    """What has become of a node."""

    node: int
    state: str
    reason: str = ""


class Seen(NamedTuple):
    """One look. ``problems``: why the node cannot be stopped, or is not yet back in sync; ``others_away``: other brokers
    that are not there.
    """

    presence: Presence
    problems: Sequence[str] = ()
    others_away: Sequence[int] = ()


class _Phase(Enum):
    BEFORE = "before"  # not known to be safe
    OFFERED = "offered"  # safe: somebody stops it now
    DOWN = "down"


class Rolling:
    """The restart of ``nodes``, in this order."""

    def __init__(self, nodes: Sequence[int]) -> None:
        self._left = list(nodes)
        self._phase = _Phase.BEFORE
        self._was_offered = False
        self.reason = ""
        """Why it waits, as it was said last."""

    @property
    def node(self) -> int | None:
        """The one that is next, or being restarted; None at the end."""
        return self._left[0] if self._left else None

    @property
    def is_offered(self) -> bool:
        """Whether it may be stopped at this moment: what counts is whether it still is there."""
        return self._phase is _Phase.OFFERED

    @property
    def waits(self) -> bool:
        """Whether the cluster is waited for, and not whoever stops the node."""
        return not self.is_offered

    @property
    def demands_stop(self) -> bool:
        """Whether the outlook without the node counts."""
        return self._phase is _Phase.BEFORE

    def look(self, seen: Seen) -> list[Step]:
        """What has changed by this look, in order."""
        node = self.node
        assert node is not None, "nothing is left to be restarted"
        gone = seen.presence is Presence.DOWN
        if gone and (self._phase is _Phase.OFFERED or (self._phase is _Phase.BEFORE and self._was_offered)):
            return [self._enter(_Phase.DOWN, STOPPED)]
        if self._phase is _Phase.OFFERED:
            if not seen.others_away:
                return []
            away = ", ".join(map(str, seen.others_away))
            return [self._enter(_Phase.BEFORE, UNSAFE, f"broker {away} is not online")]
        if seen.problems or seen.presence is not Presence.UP:
            return self._waiting(seen)
        if self._phase is _Phase.BEFORE:
            self._was_offered = True
            return [self._enter(_Phase.OFFERED, SAFE)]
        step = self._enter(_Phase.BEFORE, BACK)
        self._left.pop(0)
        self._was_offered = False
        return [step]

    def _waiting(self, seen: Seen) -> list[Step]:
        """Said again where other checks fail; not for each partition that gets in sync."""
        assert self.node is not None
        reason = "; ".join(seen.problems) or f"{self.node} is not there"
        before, self.reason = self.reason, reason
        if about(reason) == about(before):
            return []
        return [Step(self.node, WAITING, reason)]

    def _enter(self, phase: _Phase, state: str, reason: str = "") -> Step:
        assert self.node is not None
        self._phase, self.reason = phase, ""
        return Step(self.node, state, reason)


def about(reason: str) -> list[str]:
    """The checks that a reason names, each before its colon."""
    return [part.partition(":")[0] for part in reason.split("; ")]


def presence(found: Observed, node: int, *, is_broker: bool = True) -> Presence:
    """Of a broker, or of a controller that is none, by how long ago it fetched."""
    if is_broker:
        states = {one.number: one.state for one in found.brokers}
        if states.get(node) != ONLINE or node in found.unreachable:
            return Presence.DOWN
        return Presence.UNKNOWN if node in found.silent else Presence.UP
    if found.quorum is None:
        return Presence.UNKNOWN
    for one in standings(found.quorum):
        if one.node == node and one.state in (LEADER, FOLLOWING):
            quick = one.state == LEADER or one.fetched is None or one.fetched <= _FETCHES_WITHIN
            return Presence.UP if quick else Presence.DOWN
    return Presence.DOWN
