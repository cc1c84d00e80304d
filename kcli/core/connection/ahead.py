"""What may follow ApiVersions before the broker has answered it: reads, in versions that it is expected to have.

A broker that was contacted before is expected to offer what it, or another broker of the cluster, offered then; one that
is not known yet, what every broker has since 2.8. Where that turns out to be wrong the connection is made anew, and
everything is sent again; so only what may be repeated goes ahead. Pure.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kcli.core.classes import NamedTuple
from kcli.core.connection.handshake import BrokerApiVersions
from kcli.core.protocol.api import Request

if TYPE_CHECKING:
    from kcli.core.connection.plan import Plan

_METADATA, _FIND_COORDINATOR, _INIT_PRODUCER_ID = 3, 10, 22
_READS = frozenset(
    {
        1,  # Fetch
        2,  # ListOffsets
        _METADATA,
        9,  # OffsetFetch
        _FIND_COORDINATOR,
        15,  # DescribeGroups
        16,  # ListGroups
        23,  # OffsetForLeaderEpoch
        32,  # DescribeConfigs
        35,  # DescribeLogDirs
        55,  # DescribeQuorum
        60,  # DescribeCluster
        61,  # DescribeProducers
        65,  # DescribeTransactions
        66,  # ListTransactions
        69,  # ConsumerGroupDescribe
        75,  # DescribeTopicPartitions
    }
)


class Expected(NamedTuple):
    """``exactly``: as a broker has reported it, so that decisions about versions can rest on it."""

    offer: BrokerApiVersions
    exactly: bool

    def suits(self, request: "Request | Plan") -> bool:
        """Whether a plan may be made from it; a request of its own always may."""
        return self.exactly or getattr(request, "any_version", True)


OLDEST = Expected(
    BrokerApiVersions({_METADATA: (0, 11), _FIND_COORDINATOR: (0, 3), _INIT_PRODUCER_ID: (0, 4)}, {}),
    exactly=False,
)
"""What every broker of 2.8 and later has, of what a client begins with."""


def may_go_ahead(requests: Sequence[Request]) -> bool:
    """Whether they may be sent a second time, and before it is known to whom."""
    return bool(requests) and all(
        (one.api_key in _READS and not _creates_topics(one))
        # Without a transaction it is but a number, of which there are enough.
        or (one.api_key == _INIT_PRODUCER_ID and getattr(one, "transactional_id", "") is None)
        for one in requests
    )


def _creates_topics(request: Request) -> bool:
    return bool(getattr(request, "allow_auto_topic_creation", False) and getattr(request, "topics", None))
