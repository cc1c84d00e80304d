"""Whether the voters of a quorum can commit anything: a majority of them has to be caught up. Pure."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from kcli.core.classes import NamedTuple
from kcli.flows.quorum.standings import FOLLOWING, LEADER, standings

if TYPE_CHECKING:
    from kcli.core.admin.quorum import QuorumDescription


class Majority(NamedTuple):
    """``caught_up``: those of the ``voters`` that are not behind the leader."""

    voters: frozenset[int]
    caught_up: frozenset[int]

    @property
    def needed(self) -> int:
        """How many make a majority."""
        return len(self.voters) // 2 + 1

    @property
    def spare(self) -> int:
        """How many of those that are caught up may fail; negative where too few are."""
        return len(self.caught_up) - self.needed

    def with_voter(self, node: int) -> Majority:
        """After one that is caught up was added."""
        return Majority(self.voters | {node}, self.caught_up | {node})

    def without(self, node: int) -> Majority:
        """After one was removed."""
        return Majority(self.voters - {node}, self.caught_up - {node})

    def if_stopped(self, nodes: Collection[int]) -> Majority:
        """While these do not run; they stay voters."""
        return Majority(self.voters, self.caught_up.difference(nodes))


def majority_of(quorum: QuorumDescription) -> Majority:
    """That of the voters now. Without a leader none is known to be caught up."""
    up = {one.node for one in standings(quorum) if one.state in (LEADER, FOLLOWING)}
    voters = frozenset(quorum.voters)
    return Majority(voters, voters & up)
