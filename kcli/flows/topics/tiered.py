"""Where the records of tiered topics are: in remote storage or on brokers (KIP-405, KIP-1005). Prints nothing."""

from __future__ import annotations

from collections.abc import Sequence

from kcli.account.survey import Missing, Survey
from kcli.core.admin.admin import Admin
from kcli.core.admin.topics import TopicInfo
from kcli.core.classes import NamedTuple
from kcli.core.cluster.offsets import EARLIEST_LOCAL, LATEST_TIERED, OffsetInfo
from kcli.core.errors import KcliError, NoLeaderError, UnsupportedError
from kcli.core.types import TopicPartition
from kcli.flows.groups.offsets import list_offsets
from kcli.flows.topics.sizes import topic_sizes

ENABLED = "remote.storage.enable"
"""The configuration of a topic that is tiered."""


class TieredLog(NamedTuple):
    """``earliest_local``: the first offset on the leader's own disk. ``latest_tiered``: the last one in remote storage,
    −1 if there is none. ``local_bytes``: the size of the leader's log. None is unknown; brokers before Kafka 3.9 do not
    return ``latest_tiered``.
    """

    earliest_local: int | None = None
    latest_tiered: int | None = None
    local_bytes: int | None = None


def tiered_logs(admin: Admin, topics: Sequence[TopicInfo]) -> Survey[dict[TopicPartition, TieredLog]]:
    """The log of each partition of these topics, which are tiered. A partition without a leader is unknown."""
    if not topics:
        return Survey({}, [])
    led = [
        TopicPartition(topic.name, part.partition)
        for topic in topics
        for part in topic.partitions
        if part.leader >= 0
    ]
    local, tiered = (list_offsets(admin, led, special) for special in (EARLIEST_LOCAL, LATEST_TIERED))
    sizes = topic_sizes(admin, topics)
    found = {
        tp: TieredLog(_offset(local.get(tp)), _offset(tiered.get(tp)), size)
        for topic in topics
        for part, size in zip(topic.partitions, sizes.items[topic.name].partitions, strict=True)
        for tp in [TopicPartition(topic.name, part.partition)]
    }
    errors = [one for one in (*local.values(), *tiered.values()) if isinstance(one, KcliError)]
    lost = [one for one in errors if not isinstance(one, (UnsupportedError, NoLeaderError))]
    return Survey(found, [*map(Missing.of, lost), *sizes.missing])


def _offset(found: OffsetInfo | KcliError | None) -> int | None:
    return found.offset if isinstance(found, OffsetInfo) else None
