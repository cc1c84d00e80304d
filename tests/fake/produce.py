"""Produce: checks in the order of a broker, append, answer."""

from typing import TYPE_CHECKING

from kcli.core.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from kcli.core.records.batch import RecordBatch
from kcli.core.types import TopicPartition
from tests.fake.batch_check import FIRST_WITH_RECORD_ERRORS, check_batch, check_records, only_batch
from tests.fake.codes import Code, RefusedError
from tests.fake.topics import Partition, Topic

if TYPE_CHECKING:
    from tests.fake.state import Context

FIRST_IMPLICIT_ADD = 12
"""Produce of KIP-890: the partition joins the transaction by itself."""
_KNOWS_ABORTABLE = 11
_CAPPED = 10
"""Produce of Kafka 3.7."""
_MOVED = (Code.NOT_LEADER_OR_FOLLOWER, Code.FENCED_LEADER_EPOCH)
_ALL = -1
_RETRIED_LATER = (
    Code.CONCURRENT_TRANSACTIONS,
    Code.NOT_COORDINATOR,
    Code.COORDINATOR_LOAD_IN_PROGRESS,
    Code.COORDINATOR_NOT_AVAILABLE,
)


async def produce(ctx: "Context", request: ProduceRequest) -> ProduceResponse:
    """Each partition on its own; one that is refused does not touch the others."""
    refusal = _request_refusal(ctx, request)
    answer = ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[
                    _partition(ctx, request, topic.name, topic.topic_id, data, refusal)
                    for data in topic.partition_data
                ],
            )
            for topic in request.topic_data
        ]
    )
    _add_endpoints(ctx, answer)
    ctx.state.changed()
    return answer


def _request_refusal(ctx: "Context", request: ProduceRequest) -> RefusedError | None:
    """What is wrong with the request as a whole."""
    if request.acks not in (_ALL, 0, 1):
        return RefusedError(Code.INVALID_REQUIRED_ACKS)
    if request.transactional_id:
        return None
    for topic in request.topic_data:
        for data in topic.partition_data:
            try:
                if only_batch(data.records, ctx.version).is_transactional:
                    return RefusedError(Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
            except RefusedError:
                continue  # told for this partition only, later
    return None


def _partition(
    ctx: "Context",
    request: ProduceRequest,
    name: str,
    topic_id: bytes,
    data: PartitionProduceData,
    refusal: RefusedError | None,
) -> PartitionProduceResponse:
    try:
        if refusal is not None:
            raise refusal
        return _append(ctx, request, name, topic_id, data)
    except RefusedError as refused:
        answer = PartitionProduceResponse(
            index=data.index,
            error_code=refused.code,
            base_offset=-1,
            error_message=refused.message,
            record_errors=[
                BatchIndexAndErrorMessage(batch_index=index, batch_index_error_message=reason)
                for index, reason in sorted(refused.records.items())
                if ctx.version >= FIRST_WITH_RECORD_ERRORS
            ],
        )
        if refused.code in _MOVED:
            place = ctx.state.topics.partition(name, topic_id, data.index)
            answer.current_leader = LeaderIdAndEpoch(leader_id=place.leader, leader_epoch=place.leader_epoch)
        return answer


def _required(ctx: "Context", topic: Topic, place: Partition) -> int:
    """How many replicas have to be in sync: since Kafka 3.7 no more than there are."""
    least = ctx.state.topics.min_insync(topic)
    capped = ctx.state.nodes[ctx.node].offered()[ProduceRequest.api_key][1] >= _CAPPED
    return min(least, len(place.replicas)) if capped else least


def _append(
    ctx: "Context", request: ProduceRequest, name: str, topic_id: bytes, data: PartitionProduceData
) -> PartitionProduceResponse:
    topics = ctx.state.topics
    topic = topics.find(name, topic_id)
    place = topics.partition(name, topic_id, data.index)
    batch = only_batch(data.records, ctx.version)
    if place.leader != ctx.node:
        raise RefusedError(Code.NOT_LEADER_OR_FOLLOWER)
    _verify_transaction(ctx, request, batch, TopicPartition(topic.name, data.index), place)
    if request.acks == _ALL and len(place.isr) < _required(ctx, topic, place):
        raise RefusedError(Code.NOT_ENOUGH_REPLICAS)
    check_batch(batch, topics.max_message_bytes(topic))
    if ctx.state.settings.deep_check:
        check_records(batch, ctx.version, TopicPartition(topic.name, data.index), topic.config)
    append_time = _append_time(ctx, topic)
    base, known = _store(place, batch, append_time)
    if known and append_time is None:
        append_time = batch.max_timestamp  # as brokers respond to what they have already (UnifiedLog.append)
    return PartitionProduceResponse(
        index=data.index,
        error_code=0,
        base_offset=base,
        log_append_time_ms=-1 if append_time is None else append_time,
        log_start_offset=place.log.start_offset,
    )


def _store(place: Partition, batch: RecordBatch, append_time: int | None) -> tuple[int, bool]:
    """Appends, unless it is there already; the base offset either way, and whether it was."""
    log = place.log
    if batch.producer_id >= 0:
        known = log.producers.duplicate(batch)
        if known is not None:
            return known.base_offset, True
        log.producers.check(batch)
    return log.append(batch.raw, place.leader_epoch, append_time).base_offset, False


def _append_time(ctx: "Context", topic: Topic) -> int | None:
    kind = topic.config("message.timestamp.type", "CreateTime")
    return ctx.state.now_ms if kind == "LogAppendTime" else None


def _verify_transaction(
    ctx: "Context", request: ProduceRequest, batch: RecordBatch, tp: TopicPartition, place: Partition
) -> None:
    """Is the partition in the producer's transaction? Asked once per transaction, then the log knows (KIP-890)."""
    if not batch.is_transactional or not request.transactional_id:
        return
    if not ctx.state.settings.verify_transactions and ctx.version < FIRST_IMPLICIT_ADD:
        return
    state = place.log.producers.by_id.get(batch.producer_id)
    open_here = batch.producer_id in place.log.open_transactions
    if open_here and state is not None and state.epoch == batch.producer_epoch:
        return
    who = request.transactional_id, batch.producer_id, batch.producer_epoch
    try:
        if ctx.version >= FIRST_IMPLICIT_ADD:
            ctx.state.transactions.add(*who, partitions={tp})
        else:
            ctx.state.transactions.verify(*who, tp)
    except RefusedError as refused:
        raise RefusedError(_produce_code(refused.code, ctx.version), refused.message) from None


def _produce_code(code: int, version: int) -> int:
    """The coordinator's refusal in the words of Produce."""
    if code == Code.PRODUCER_FENCED:
        return int(Code.INVALID_PRODUCER_EPOCH)
    if code == Code.INVALID_TXN_STATE and version >= _KNOWS_ABORTABLE:
        return int(Code.TRANSACTION_ABORTABLE)
    if code in _RETRIED_LATER and version < FIRST_IMPLICIT_ADD:
        return int(Code.NOT_ENOUGH_REPLICAS)
    return code


def _add_endpoints(ctx: "Context", answer: ProduceResponse) -> None:
    """Addresses of the leaders that the answer names (KIP-951)."""
    partitions = [p for t in answer.responses for p in t.partition_responses]
    leaders = {p.current_leader.leader_id for p in partitions} - {-1}
    nodes = [ctx.state.nodes[number] for number in sorted(leaders) if number in ctx.state.nodes]
    answer.node_endpoints = [NodeEndpoint(node_id=n.id, host=n.host, port=n.port) for n in nodes]
