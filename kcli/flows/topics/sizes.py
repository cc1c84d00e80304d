"""Disk usage of topics, from the log directories of all brokers (KIP-113). Prints nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kcli.account.survey import Missing, Survey
from kcli.core.admin.admin import Admin
from kcli.core.admin.topics import TopicInfo
from kcli.core.classes import NamedTuple
from kcli.core.cluster.metadata import PartitionView
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition
from kcli.flows.partition_failures import partition_names

if TYPE_CHECKING:
    from kcli.core.admin.brokers import LogDir


class TopicSize(NamedTuple):
    """Bytes: of the leaders' logs, and of all replicas. None where a broker did not report one of them.

    ``partitions``: bytes of the leaders' logs one by one, in the order of the topic's partitions.
    """

    leaders: int | None
    replicas: int | None
    partitions: Sequence[int | None] = ()


def topic_sizes(admin: Admin, topics: Sequence[TopicInfo]) -> Survey[dict[str, TopicSize]]:
    """The size of each topic by name; brokers, directories or replicas are missing.

    For a partition without a leader the largest replica counts. Future replicas, which are being moved to another
    directory, are ignored.
    """
    partitions = [TopicPartition(topic.name, part.partition) for topic in topics for part in topic.partitions]
    responses = admin.describe_log_dirs(partitions=partitions) if partitions else {}
    errors = [found for found in responses.values() if isinstance(found, KcliError)]
    errors += [
        directory.error
        for directories in responses.values()
        if not isinstance(directories, KcliError)
        for directory in directories
        if directory.error is not None
    ]
    sizes = _by_replica(responses)
    missing = [*map(Missing.of, errors), *_unreported(topics, responses, sizes)]
    return Survey({topic.name: _size(topic, sizes) for topic in topics}, missing)


def _unreported(
    topics: Sequence[TopicInfo],
    responses: Mapping[int, list[LogDir] | KcliError],
    sizes: Mapping[TopicPartition, Mapping[int, int]],
) -> Iterator[Missing]:
    """The replicas that no error above stands for: of brokers that are down, or that do not have them (yet)."""
    told = {
        broker
        for broker, found in responses.items()
        if isinstance(found, KcliError) or any(directory.error is not None for directory in found)
    }
    unreported: dict[int, list[TopicPartition]] = {}
    for topic in topics:
        for part in topic.partitions:
            tp = TopicPartition(topic.name, part.partition)
            for broker in part.replicas:
                if broker not in told and broker not in sizes.get(tp, ()):
                    unreported.setdefault(broker, []).append(tp)
    for broker, partitions in sorted(unreported.items()):
        named = partition_names(partitions)
        error = (
            KcliError(
                f"the log directories of broker {broker} do not have {named}",
                why="their replicas are being created or deleted there",
                do="run this again",
            )
            if broker in responses
            else KcliError(
                f"the sizes of {named} on broker {broker} are unknown",
                why=f"broker {broker} is down",
                do="bring it back, and run this again",
            )
        )
        yield Missing(f"the sizes of {named} on broker {broker}", f"broker {broker}", error)


def _by_replica(
    responses: Mapping[int, list[LogDir] | KcliError],
) -> dict[TopicPartition, dict[int, int]]:
    """Partition → broker → bytes."""
    found: dict[TopicPartition, dict[int, int]] = {}
    for broker, directories in responses.items():
        for directory in directories if not isinstance(directories, KcliError) else ():
            for tp, replica in directory.replicas.items():
                if not replica.is_future:
                    found.setdefault(tp, {})[broker] = replica.size
    return found


def _size(topic: TopicInfo, sizes: Mapping[TopicPartition, Mapping[int, int]]) -> TopicSize:
    leaders: list[int | None] = []
    replicas: list[int | None] = []
    for part in topic.partitions:
        known = sizes.get(TopicPartition(topic.name, part.partition), {})
        leaders.append(_of_leader(part, known))
        replicas += [known.get(broker) for broker in part.replicas]
    return TopicSize(_sum(leaders), _sum(replicas), leaders)


def _of_leader(part: PartitionView, known: Mapping[int, int]) -> int | None:
    return known.get(part.leader) if part.leader >= 0 else max(known.values(), default=None)


def _sum(sizes: Sequence[int | None]) -> int | None:
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None
