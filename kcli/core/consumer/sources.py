"""The broker a partition is read from: its leader, or the preferred read replica (KIP-392). No I/O.

A source is one broker from the fetcher's view: its unreleased bytes, and how much may be on its way
(``cluster/window.py``).

A fetch session has one request in flight (KIP-227), and where the next one begins is not known before the response. So
the partitions of a broker that is far away are divided among several sessions, its lanes, each with a connection of its
own: a broker handles the requests of a connection one after another, and a long poll would delay the others.

After a replica has failed, the leader is asked without the rack for a while: it would otherwise name the same
replica again, and return no records (``tests/fault/test_fetching.py``, F12).
"""

from __future__ import annotations

from kcli.core.classes import dataclass
from kcli.core.cluster.brokers import FETCH
from kcli.core.cluster.metadata import ClusterView
from kcli.core.cluster.retry import Backoff
from kcli.core.cluster.window import Window
from kcli.core.consumer.fetch_session import FetchSession
from kcli.core.consumer.subscription import PartitionState
from kcli.core.options import AROUND_RECORDS, ConsumerOptions, is_default

MOST_LANES = 4

DISTRUST = 30.0
"""Seconds a leader is not asked for closer replicas after a replica it named failed."""

FAR_BUFFER_BYTES = 100_663_296
"""Bytes of fetch responses that are buffered or asked for while a broker is far away, unless ``fetch.buffer.bytes`` is
set.
"""

_OF_A_RESPONSE = 16
"""The part by which a response may use more memory than was asked for: objects describe it."""


@dataclass(slots=True, eq=False, repr=False)
class Lane:
    """A session with a broker. ``asked``: the most bytes of the response in flight, 0 while there is none.

    ``not_before``: when it may be asked again after ``backoff.failures`` failures.
    """

    source: Source
    purpose: str
    session: FetchSession
    backoff: Backoff
    asked: int = 0
    sent_at: float = 0.0
    not_before: float = 0.0
    fruitless: int = 0

    def worked(self) -> None:
        """The broker returned a useful response."""
        self.backoff.reset()
        self.not_before = 0.0

    def failed(self, now: float) -> None:
        """The broker failed or returned nothing useful: waits before the next request."""
        self.not_before = now + self.backoff.next()


class Source:
    """A broker. ``held``: bytes of its responses that were not released yet; ``asked``: of those in flight, at most.

    ``no_rack_until``: until then our rack is not sent, so that the leader returns records instead of naming a closer
    replica.
    """

    def __init__(self, node_id: int, options: ConsumerOptions) -> None:
        self.node_id = node_id
        self.lanes: list[Lane] = []
        self.window = Window()
        self.held = self.asked = 0
        self.no_rack_until = 0.0
        self._options = options
        self._fetch_bytes = self._most = options.fetch_max_bytes
        if is_default(options, "fetch_max_bytes"):
            self._most = max(self._most, options.largest_response - AROUND_RECORDS)
        self._of_partition = options.max_partition_fetch_bytes
        self._adapts_partitions = is_default(options, "max_partition_fetch_bytes")

    @property
    def is_far(self) -> bool:
        """Whether a fetch of the usual size is less than its window."""
        return self.window.size > self._fetch_bytes

    def lane_of(self, current: Lane | None) -> Lane:
        """The lane for a partition that is read in ``current``: the same one, unless others have fewer partitions."""
        lanes = self.lanes
        # Not while its fetch is in flight: the response would come, and be fetched again in the other lane.
        if current is not None and current.source is self:
            if current.asked or (len(lanes) == 1 and self.window.size <= self._fetch_bytes):
                return current
        else:
            current = None
        width = self._width
        while len(lanes) < width:
            purpose = f"{FETCH}-{len(lanes) + 1}" if lanes else FETCH
            lanes.append(Lane(self, purpose, FetchSession(), Backoff.of_requests(self._options)))
        least = min(lanes[:width], key=lambda lane: len(lane.session.wanted))
        if current is None or current not in lanes[:width]:
            return least
        return current if len(current.session.wanted) <= len(least.session.wanted) + 1 else least

    def is_left(self, lane: Lane) -> bool:
        """Whether the partitions of the lane are to be read in another one: the window has become smaller."""
        return lane not in self.lanes[: self._width]

    def release(self, size: int) -> None:
        """A response was released."""
        self.held -= size

    def room(self, share: int) -> int:
        """The size limit of the next response of a lane: its part of the broker's share of the memory, of which one
        part more is for the response that is being returned; 0 when there is no room at present.
        """
        taken, window = self.held + self.asked, self.window.size
        if not window:
            part, wish = share // 2, self._fetch_bytes
        else:
            lanes = self._busy_lanes
            part = share // (lanes + 1)
            part -= part // _OF_A_RESPONSE  # or the next fetch would wait until that response is released
            wish = min(self._most, max(self._fetch_bytes, window // lanes))
        if part < wish:
            wish = part or 1
        return wish if not taken or taken + wish <= share else 0

    def partition_bytes(self, lane: Lane) -> int:
        """The size limit of a partition in the response of a lane."""
        if not (self.window.size and self._adapts_partitions):
            return self._of_partition
        return max(
            self._of_partition, self.window.size // self._busy_lanes // max(1, len(lane.session.wanted))
        )

    @property
    def _width(self) -> int:
        """How many lanes it is to be read in: one near by."""
        return max(1, min(MOST_LANES, -(-self.window.size // self._fetch_bytes)))

    @property
    def _busy_lanes(self) -> int:
        return max(1, sum(1 for lane in self.lanes if lane.session.wanted))

    def distrust(self, now: float) -> None:
        """A replica named by this leader failed: hides our rack from it for a while."""
        self.no_rack_until = now + DISTRUST


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
