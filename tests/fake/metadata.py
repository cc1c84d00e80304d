"""Metadata, as all nodes tell it, and DescribeTopicPartitions. What a single node should tell otherwise is a matter of
``lie``.
"""

from typing import TYPE_CHECKING

from kcli.core.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from kcli.core.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tests.fake.codes import Code, RefusedError
from tests.fake.topics import Partition, Topic

if TYPE_CHECKING:
    from tests.fake.state import Context, State

INTERNAL = frozenset({"__consumer_offsets", "__transaction_state"})


async def metadata(ctx: "Context", request: MetadataRequest) -> MetadataResponse:
    """Topics null means all; in v0 the empty list does."""
    state = ctx.state
    asked = request.topics
    if asked is None or (ctx.version == 0 and not asked):
        hidden = state.settings.hidden_topics
        rows = [_known(state, topic) for topic in state.topics.by_name.values() if topic.name not in hidden]
    else:
        rows = [_row(ctx, request, row) for row in asked]
    if request.include_topic_authorized_operations:
        for row in rows:
            row.topic_authorized_operations = state.settings.topic_operations
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id=n.id, host=n.host, port=n.port, rack=n.rack)
            for n in state.listed()
        ],
        cluster_id=state.settings.cluster_id,
        controller_id=state.controller,
        topics=rows,
    )


def _row(ctx: "Context", request: MetadataRequest, row: MetadataRequestTopic) -> MetadataResponseTopic:
    topics = ctx.state.topics
    if row.name in ctx.state.settings.hidden_topics:
        return MetadataResponseTopic(
            error_code=int(Code.TOPIC_AUTHORIZATION_FAILED), name=row.name, topic_id=bytes(16), partitions=[]
        )
    try:
        return _known(ctx.state, topics.find(row.name, row.topic_id))
    except RefusedError as refused:
        code = refused.code
        if row.name and code == Code.UNKNOWN_TOPIC_OR_PARTITION and _creates(ctx, request):
            try:
                topics.create(row.name)
                code = int(Code.LEADER_NOT_AVAILABLE)  # as a real broker: the next question finds it
            except RefusedError as illegal:
                code = illegal.code
        elif row.name and not topics.is_legal(row.name):
            code = int(Code.INVALID_TOPIC_EXCEPTION)
    by_id = row.name is None
    return MetadataResponseTopic(
        error_code=code, name=row.name, topic_id=row.topic_id if by_id else bytes(16), partitions=[]
    )


def _creates(ctx: "Context", request: MetadataRequest) -> bool:
    return ctx.state.settings.auto_create_topics and request.allow_auto_topic_creation


def _known(state: "State", topic: Topic) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=0,
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.name in INTERNAL,
        partitions=[_partition(state, place) for place in topic.partitions],
    )


def _partition(state: "State", place: Partition) -> MetadataResponsePartition:
    return MetadataResponsePartition(
        error_code=Code.LEADER_NOT_AVAILABLE if place.leader < 0 else 0,
        partition_index=place.index,
        leader_id=place.leader,
        leader_epoch=place.leader_epoch,
        replica_nodes=list(place.replicas),
        isr_nodes=list(place.isr),
        offline_replicas=[number for number in place.replicas if number in state.hidden_nodes],
    )


async def describe_topic_partitions(
    ctx: "Context", request: DescribeTopicPartitionsRequest
) -> DescribeTopicPartitionsResponse:
    """A page of the topics that are asked for, or of all, by name; begins at the cursor (KIP-966)."""
    topics, hidden = ctx.state.topics.by_name, ctx.state.settings.hidden_topics
    names = sorted({row.name for row in request.topics}) or sorted(set(topics) - hidden)
    left = max(1, min(request.response_partition_limit, ctx.state.settings.partitions_of_a_page))
    begin = request.cursor
    found, following = [], None
    for name in names:
        first = begin.partition_index if begin is not None and begin.topic_name == name else 0
        if begin is not None and name < begin.topic_name:
            continue
        if not left:
            following = Cursor(topic_name=name, partition_index=0)
            break
        topic = topics.get(name)
        if topic is None or name in hidden:
            code = Code.TOPIC_AUTHORIZATION_FAILED if name in hidden else Code.UNKNOWN_TOPIC_OR_PARTITION
            if name not in hidden and not ctx.state.topics.is_legal(name):
                code = Code.INVALID_TOPIC_EXCEPTION
            found.append(
                DescribeTopicPartitionsResponseTopic(
                    error_code=int(code), name=name, topic_id=bytes(16), partitions=[]
                )
            )
            continue
        some = topic.partitions[first : first + left]
        left -= len(some)
        found.append(
            DescribeTopicPartitionsResponseTopic(
                error_code=0,
                name=name,
                topic_id=topic.topic_id,
                is_internal=name in INTERNAL,
                partitions=[_described(ctx.state, place) for place in some],
            )
        )
        if first + len(some) < len(topic.partitions):
            following = Cursor(topic_name=name, partition_index=first + len(some))
            break
    return DescribeTopicPartitionsResponse(throttle_time_ms=0, topics=found, next_cursor=following)


def _described(state: "State", place: Partition) -> DescribeTopicPartitionsResponsePartition:
    known = _partition(state, place)
    return DescribeTopicPartitionsResponsePartition(
        error_code=known.error_code,
        partition_index=known.partition_index,
        leader_id=known.leader_id,
        leader_epoch=known.leader_epoch,
        replica_nodes=known.replica_nodes,
        isr_nodes=known.isr_nodes,
        offline_replicas=known.offline_replicas,
        eligible_leader_replicas=list(place.elr),
        last_known_elr=list(place.last_known_elr),
    )
