"""Topics with what groups read of them. Pure."""

from collections.abc import Collection, Mapping

from kcli.core.admin.topics import TopicInfo
from kcli.core.names import is_own_topic
from kcli.core.types import TopicPartition
from kcli.flows.cluster_state import is_offline, is_under_replicated
from kcli.flows.lag.lag_columns import LagColumns
from kcli.flows.lag.partition_lag import PartitionLag
from kcli.flows.monitor.cluster_reading import Reading
from kcli.flows.monitor.snapshot import TopicLine


def topic_lines(
    reading: Reading, rows: Mapping[str, Collection[PartitionLag]], rates: Mapping[str, float]
) -> list[TopicLine]:
    """All topics but kcli's own, where they were wanted. ``rates``: records per second."""
    if reading.cluster.topics is None:
        return []
    readers = _readers(rows)
    return [
        _line(topic, reading, readers.get(topic.name, {}), rates)
        for topic in reading.cluster.topics
        if not is_own_topic(topic.name)
    ]


def _line(
    topic: TopicInfo, reading: Reading, readers: Mapping[str, int], rates: Mapping[str, float]
) -> TopicLine:
    logs = [reading.ends.get(TopicPartition(topic.name, part.partition)) for part in topic.partitions]
    kept = [
        log.end - log.start
        for log in logs
        if log is not None and log.end is not None and log.start is not None
    ]
    size = reading.cluster.sizes.get(topic.name)
    worst = max(readers, key=readers.__getitem__, default=None)
    return TopicLine(
        topic.name,
        len(topic.partitions),
        sum(map(is_under_replicated, topic.partitions)),
        sum(map(is_offline, topic.partitions)),
        sum(kept) if kept else None,
        None if size is None else size.leaders,
        rates.get(topic.name),
        len(readers),
        worst,
        None if worst is None else readers[worst],
        bool(reading.sample.failed or reading.sample.partial),
    )


def _readers(rows: Mapping[str, Collection[PartitionLag]]) -> dict[str, dict[str, int]]:
    """Topic → group → its lag there; a partition of which the lag is not known counts as none."""
    found: dict[str, dict[str, int]] = {}
    for name, some in rows.items():
        if isinstance(some, LagColumns):
            pairs = zip(some.logs.topics, some.lag, strict=True)
        else:
            pairs = zip((row.tp.topic for row in some), (row.lag or 0 for row in some), strict=True)
        for topic, lag in pairs:
            groups = found.setdefault(topic, {})
            groups[name] = groups.get(name, 0) + lag
    return found
