"""Whom a partition is read from: its leader, or a replica that the leader has named (KIP-392). No I/O.

A source is one broker as the fetcher sees it: the session with it, what it owes, and when it may be asked again.

After a replica has failed, the leader is asked without the rack for a while: it would otherwise name the same
replica again, and return no records (``tests/fault/test_fetching.py``, F12).
"""

from __future__ import annotations

from kcli.core.cluster.metadata import ClusterView
from kcli.core.cluster.retry import Backoff
from kcli.core.consumer.fetch_session import FetchSession
from kcli.core.consumer.subscription import PartitionState
from kcli.core.dataclass import dataclass

DISTRUST = 30.0
"""Seconds for which a leader is not asked for nearer replicas, after one of those it named did not answer well."""


@dataclass(slots=True, eq=False)
class Source:
    """One broker. ``held`` are the bytes of its answers that were not given back yet.

    ``not_before``: when it may be asked again after ``backoff.failures`` failures. ``no_rack_until``: to that time it
    is not told where we are, so that it gives records instead of the name of a nearer replica.
    """

    node_id: int
    session: FetchSession
    backoff: Backoff
    in_flight: bool = False
    sent_at: float = 0.0
    not_before: float = 0.0
    held: int = 0
    fruitless: int = 0
    no_rack_until: float = 0.0

    def give_back(self, size: int) -> None:
        """An answer was handed out."""
        self.held -= size

    def room(self, share: int, most: int) -> int:
        """The most that its next answer may carry: half its share of the memory, so that one can come while another
        is handed out; 0 when there is no room at present.
        """
        wish = min(most, max(1, share // 2))
        return wish if not self.held or self.held + wish <= share else 0

    def worked(self) -> None:
        """It gave a good answer."""
        self.backoff.reset()
        self.not_before = 0.0

    def distrust(self, now: float) -> None:
        """A replica that it named is of no use: it is not told where we are for a while."""
        self.no_rack_until = now + DISTRUST

    def failed(self, now: float) -> None:
        """It did not: it is left alone for a while."""
        self.not_before = now + self.backoff.next()


def source_of(state: PartitionState, view: ClusterView, now: float) -> int | None:
    """The id of the broker to read from; None while there is no leader. Forgets a replica whose time is over."""
    leader = view.leader(state.tp)
    if leader is None:
        return None
    replica = state.read_replica
    if replica < 0:
        return leader.id
    partition = view.topics[state.tp.topic].partition(state.tp.partition)
    assert partition is not None
    known = replica in view.nodes and replica in partition.replicas and replica not in partition.offline
    if known and now < state.replica_until:
        return replica
    state.read_replica = -1
    return leader.id
