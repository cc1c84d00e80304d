"""Describes the partitions of topics in pages (DescribeTopicPartitions, KIP-966), with their eligible leader replicas.

A page has at most 2,000 partitions, of one topic or of several, and a cursor for the next: the memory of a large topic is
that of what is kept, where the metadata of all topics is one response. Brokers before Kafka 3.8, and those with
ZooKeeper, do not offer it; then metadata is requested, which does not have the eligible leader replicas.
"""

from collections.abc import Iterable, Iterator, Sequence

from kcli.core.admin.topics import TopicInfo, describe_topics, topic_info
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.metadata import PartitionView, TopicView, topic_refused, unknown_topic
from kcli.core.error_codes import LEADER_NOT_AVAILABLE, NONE, UNKNOWN_TOPIC_OR_PARTITION
from kcli.core.errors import KcliError, ProtocolError, UnsupportedError
from kcli.core.names import is_own_topic
from kcli.core.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
    TopicRequest,
)

PAGE = 2_000
"""Partitions of a response; brokers have a limit of their own, ``max.request.partition.size.limit``, of as many."""

_WHAT = "describing partitions"


def describe_partitions(
    cluster: Cluster, names: Sequence[str] | None, deadline: float
) -> dict[str, TopicInfo | KcliError]:
    """Each topic, or why it cannot be described; None: all topics that this client may describe, by name."""
    if names is not None and not names:
        return {}
    if cluster.lacks(DescribeTopicPartitionsRequest) is None:
        try:
            return _in_pages(cluster, names, deadline)
        except UnsupportedError:
            pass  # another broker than those that were asked before, during an upgrade
    if names is not None:
        return describe_topics(cluster, names, deadline)
    view = cluster.all_topics(deadline)
    return {name: topic_info(view.topics[name]) for name in sorted(view.topics)}


def _in_pages(
    cluster: Cluster, names: Sequence[str] | None, deadline: float
) -> dict[str, TopicInfo | KcliError]:
    found = {view.name: view for view in _topics(cluster, names, deadline)}
    views = {name: view for name, view in found.items() if view.partitions or view.error == NONE}
    # Requests to the leaders of these partitions then need no metadata; what is known stays, it may be newer.
    cluster.view = cluster.view._replace(topics={**views, **cluster.view.topics})
    if names is None:
        return {name: topic_info(view) for name, view in sorted(views.items())}
    if all(name in views for name in names):
        return {name: topic_info(views[name]) for name in names}
    known = cluster.all_topics(deadline).topics  # for the names that are like those that are wrong
    return {
        name: topic_info(views[name]) if name in views else _error(name, found.get(name), known)
        for name in dict.fromkeys(names)
    }


def _topics(cluster: Cluster, names: Sequence[str] | None, deadline: float) -> Iterator[TopicView]:
    """The topics, each with the partitions of all pages."""
    wanted = sorted(set(names or ()))
    cursor: Cursor | None = None
    last, partitions = None, list[PartitionView]()
    while True:
        page = _page(cluster, wanted, cursor, deadline)
        following = page.next_cursor
        _check_progress(cursor, following)
        for row in page.topics:
            view = _view(row)
            if last is not None and last.name == view.name and last.id != view.id:
                # It was created again between the pages.
                last, following = None, Cursor(topic_name=view.name, partition_index=0)
                break
            if last is not None and last.name != view.name:
                yield _whole(last, partitions)
            if last is None or last.name != view.name:
                last, partitions = view, []
            partitions += map(_partition, row.partitions)
        if following is None:
            break
        cursor = following
        wanted = [name for name in wanted if name >= cursor.topic_name]
    if last is not None:
        yield _whole(last, partitions)


def _page(
    cluster: Cluster, names: Sequence[str], cursor: Cursor | None, deadline: float
) -> DescribeTopicPartitionsResponse:
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in names], response_partition_limit=PAGE, cursor=cursor
    )

    def check(response: DescribeTopicPartitionsResponse) -> DescribeTopicPartitionsResponse:
        return response

    return cluster.call(lambda: cluster.send(request), check, deadline, _WHAT)


def _check_progress(before: Cursor | None, after: Cursor | None) -> None:
    """ProtocolError for a cursor that does not advance: the pages would never end."""
    if before is None or after is None:
        return
    first = before.topic_name, before.partition_index
    then = after.topic_name, after.partition_index
    if then <= first:
        raise ProtocolError(
            _WHAT,
            why=f"after the page from {first[0]}-{first[1]} the broker names {then[0]}-{then[1]} as the next",
        )


def _view(row: DescribeTopicPartitionsResponseTopic) -> TopicView:
    """The topic without its partitions."""
    name = row.name or ""
    return TopicView(name, row.topic_id, row.is_internal or is_own_topic(name), error=row.error_code)


def _whole(view: TopicView, partitions: list[PartitionView]) -> TopicView:
    return view._replace(partitions=tuple(sorted(partitions)))


def _partition(row: DescribeTopicPartitionsResponsePartition) -> PartitionView:
    return PartitionView(
        row.partition_index,
        row.leader_id if row.error_code != LEADER_NOT_AVAILABLE else -1,
        row.leader_epoch,
        tuple(row.replica_nodes),
        tuple(row.isr_nodes),
        tuple(row.offline_replicas),
        row.error_code,
        tuple(row.eligible_leader_replicas or ()),
        tuple(row.last_known_elr or ()),
    )


def _error(name: str, found: TopicView | None, known: Iterable[str]) -> KcliError:
    code = UNKNOWN_TOPIC_OR_PARTITION if found is None else found.error
    if code == UNKNOWN_TOPIC_OR_PARTITION:
        return unknown_topic(name, known)
    return topic_refused(name, code, known)
