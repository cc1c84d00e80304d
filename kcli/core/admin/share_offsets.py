"""Where share groups are in their partitions (DescribeShareGroupOffsets, KIP-932), and their lag (KIP-1226).

The start offset is that of the first record which may still be delivered, as it was last stored. Records after it may
have been acknowledged already: only the lag, which the broker makes of what it has stored, excludes them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from kcli.core.admin.group_description import on_describing
from kcli.core.admin.other_groups import NEWER, unserved
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.coordinators import Coordinators, ToCoordinator
from kcli.core.cluster.fanout import Items, Part, fan_out, verdict
from kcli.core.connection.plan import Broker
from kcli.core.error_codes import GROUP_ID_NOT_FOUND
from kcli.core.errors import BrokerError, KcliError, UnsupportedError
from kcli.core.names import unknown_group
from kcli.core.permissions import on_topic
from kcli.core.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
)
from kcli.core.types import GroupPartition, TopicPartition


class ShareOffset(NamedTuple):
    """``start`` None: there is none yet, since nothing has been read. ``lag`` None: the broker does not report it, which
    takes Kafka 4.2.
    """

    start: int | None
    leader_epoch: int = -1
    lag: int | None = None


ShareOffsets = Mapping[TopicPartition, ShareOffset | KcliError]


def share_offsets(
    cluster: Cluster, coordinators: Coordinators, names: Collection[str], deadline: float
) -> dict[str, ShareOffsets | KcliError]:
    """The offsets of each share group in all its partitions, sorted, with a result for each; or the group's error.

    UnsupportedError where the coordinator does not serve the request. A partition's error is not retried here.
    """

    def ask(broker: Broker, items: Items[str, None]) -> list[Part[str]]:
        groups = [group for group, _ in items]
        if why := unserved(broker, DescribeShareGroupOffsetsRequest):
            return [
                Part(
                    UnsupportedError(f"the offsets of share group {group} are unknown", why=why, do=NEWER),
                    [group],
                )
                for group in groups
            ]
        rows = [DescribeShareGroupOffsetsRequestGroup(group_id=group, topics=None) for group in groups]
        return [Part(DescribeShareGroupOffsetsRequest(groups=rows), groups)]

    def read(
        response: DescribeShareGroupOffsetsResponse, _part: Part[str]
    ) -> Iterator[tuple[str, int | KcliError, ShareOffsets]]:
        for row in response.groups:
            what = f"reading the offsets of share group {row.group_id}"
            outcome = verdict(row.error_code, what, row.error_message, on_describing(row.group_id))
            if row.error_code == GROUP_ID_NOT_FOUND:
                outcome = unknown_group(row.group_id)
            yield row.group_id, outcome, _offsets(row)

    route = ToCoordinator[str](cluster, coordinators, str)
    what = "reading the offsets of share group"
    return fan_out(cluster, dict.fromkeys(names), route, ask, read, deadline, what, needs=on_describing)


def _offsets(group: DescribeShareGroupOffsetsResponseGroup) -> ShareOffsets:
    found: dict[TopicPartition, ShareOffset | KcliError] = {}
    for topic in group.topics:
        for row in topic.partitions:
            tp = TopicPartition(topic.topic_name, row.partition_index)
            if row.error_code:
                found[tp] = BrokerError(
                    row.error_code,
                    f"reading the start offset of {GroupPartition(group.group_id, tp)}",
                    message=row.error_message or "",
                    needs=[on_topic("DESCRIBE", tp.topic), *on_describing(group.group_id)],
                )
            elif row.start_offset < 0:
                found[tp] = ShareOffset(None)
            else:
                lag = row.lag if row.lag >= 0 else None
                found[tp] = ShareOffset(row.start_offset, row.leader_epoch, lag)
    return dict(sorted(found.items()))
