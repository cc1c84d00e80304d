"""The broker a partition is read from: its leader, or the preferred read replica (KIP-392). No I/O.

A source is one broker from the fetcher's view: its fetch session, unreleased bytes and retry time.

After a replica has failed, the leader is asked without the rack for a while: it would otherwise name the same
replica again, and return no records (``tests/fault/test_fetching.py``, F12).
"""

from __future__ import annotations

from dataclasses import dataclass

from kcli.core.cluster.metadata import ClusterView
from kcli.core.cluster.retry import Backoff
from kcli.core.consumer.fetch_session import FetchSession
from kcli.core.consumer.subscription import PartitionState

DISTRUST = 30.0
"""Seconds a leader is not asked for closer replicas after a replica it named failed."""


@dataclass(slots=True, eq=False, repr=False)
class Source:
    """A broker. ``held``: bytes of its responses that were not released yet.

    ``not_before``: when it may be asked again after ``backoff.failures`` failures. ``no_rack_until``: until then our
    rack is not sent, so that the leader returns records instead of naming a closer replica.
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

    def release(self, size: int) -> None:
        """A response was released."""
        self.held -= size

    def room(self, share: int, most: int) -> int:
        """The size limit of its next response: half its share of the memory, so that one can arrive while another is
        being returned; 0 when there is no room at present.
        """
        wish = min(most, max(1, share // 2))
        return wish if not self.held or self.held + wish <= share else 0

    def worked(self) -> None:
        """The broker returned a useful response."""
        self.backoff.reset()
        self.not_before = 0.0

    def distrust(self, now: float) -> None:
        """A replica named by this leader failed: hides our rack from it for a while."""
        self.no_rack_until = now + DISTRUST

    def failed(self, now: float) -> None:
        """The broker failed or returned nothing useful: waits before the next request."""
        self.not_before = now + self.backoff.next()


def source_of(state: PartitionState, view: ClusterView, now: float) -> int | None:
    """The id of the broker to read from; None while there is no leader. Drops an expired or unavailable read replica."""
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
