"""DescribeProducers, ListTransactions, DescribeTransactions, WriteTxnMarkers (KIP-664)."""

import re
from typing import TYPE_CHECKING

from kcli.core.names import java_hash
from kcli.core.protocol.messages import describe_producers as producers
from kcli.core.protocol.messages import describe_transactions as described
from kcli.core.protocol.messages import list_transactions as listed
from kcli.core.protocol.messages import write_txn_markers as markers
from tests.fake.codes import Code, RefusedError
from tests.fake.coordinators import TRANSACTION
from tests.fake.topics import Partition
from tests.fake.transactions import PREPARING, Transaction, TxnState

if TYPE_CHECKING:
    from tests.fake.state import Context

OFFSETS_TOPIC = "__consumer_offsets"
_STATES = {state.value for state in TxnState} | {"Dead", "PrepareEpochFence"}


async def describe_producers(
    ctx: "Context", request: producers.DescribeProducersRequest
) -> producers.DescribeProducersResponse:
    """Only the leader answers."""
    return producers.DescribeProducersResponse(
        throttle_time_ms=0,
        topics=[
            producers.TopicResponse(
                name=topic.name,
                partitions=[_partition(ctx, topic.name, number) for number in topic.partition_indexes],
            )
            for topic in request.topics
        ],
    )


def _partition(ctx: "Context", topic: str, number: int) -> producers.PartitionResponse:
    try:
        place = ctx.state.topics.partition(topic, b"", number)
        if place.leader != ctx.node:
            raise RefusedError(Code.NOT_LEADER_OR_FOLLOWER)
    except RefusedError as refused:
        return producers.PartitionResponse(
            partition_index=number, error_code=refused.code, active_producers=[]
        )
    known = [
        producers.ProducerState(
            producer_id=number,
            producer_epoch=state.epoch,
            last_sequence=state.last_sequence,
            last_timestamp=_last_timestamp(place, number),
            coordinator_epoch=-1,
            current_txn_start_offset=place.log.open_transactions.get(number, -1),
        )
        for number, state in place.log.producers.by_id.items()
    ]
    if topic == OFFSETS_TOPIC:
        known += _committing(ctx, number)
    return producers.PartitionResponse(partition_index=number, error_code=0, active_producers=known)


def _last_timestamp(place: Partition, producer_id: int) -> int:
    return max((b.max_timestamp for b in place.log.batches if b.producer_id == producer_id), default=-1)


def _committing(ctx: "Context", number: int) -> list[producers.ProducerState]:
    """Those with offsets of a group of that partition in their open transaction; nothing is written to the topic here."""
    partitions = len(ctx.state.topics.by_name[OFFSETS_TOPIC].partitions)
    return [
        producers.ProducerState(
            producer_id=txn.producer_id,
            producer_epoch=txn.epoch,
            last_sequence=-1,
            last_timestamp=-1,
            coordinator_epoch=0,
            current_txn_start_offset=0,
        )
        for txn in ctx.state.transactions.by_id.values()
        if txn.state is TxnState.ONGOING
        and any(java_hash(group.encode()) % partitions == number for group in txn.groups)
    ]


async def list_transactions(
    ctx: "Context", request: listed.ListTransactionsRequest
) -> listed.ListTransactionsResponse:
    """Those that this node coordinates."""
    rows = [txn for txn in ctx.state.transactions.by_id.values() if _is_listed(ctx, request, txn)]
    return listed.ListTransactionsResponse(
        throttle_time_ms=0,
        error_code=0,
        unknown_state_filters=[state for state in request.state_filters if state not in _STATES],
        transaction_states=[
            listed.TransactionState(
                transactional_id=txn.transactional_id,
                producer_id=txn.producer_id,
                transaction_state=txn.state.value,
            )
            for txn in rows
        ],
    )


def _is_listed(ctx: "Context", request: listed.ListTransactionsRequest, txn: Transaction) -> bool:
    if ctx.state.coordinators.of(TRANSACTION, txn.transactional_id) != ctx.node:
        return False
    if request.state_filters and txn.state.value not in request.state_filters:
        return False
    if request.producer_id_filters and txn.producer_id not in request.producer_id_filters:
        return False
    if request.duration_filter >= 0 and ctx.state.now_ms - _start(txn) <= request.duration_filter:
        return False
    pattern = request.transactional_id_pattern
    return not pattern or re.fullmatch(pattern, txn.transactional_id) is not None


def _start(txn: Transaction) -> int:
    """In ms since the epoch; −1 while there is no open transaction."""
    return txn.started_ms if txn.state in (TxnState.ONGOING, *PREPARING) else -1


async def describe_transactions(
    ctx: "Context", request: described.DescribeTransactionsRequest
) -> described.DescribeTransactionsResponse:
    """Only the coordinator answers."""
    rows = [_describe(ctx, name) for name in request.transactional_ids]
    return described.DescribeTransactionsResponse(throttle_time_ms=0, transaction_states=rows)


def _describe(ctx: "Context", name: str) -> described.TransactionState:
    txn = ctx.state.transactions.by_id.get(name)
    if ctx.state.coordinators.of(TRANSACTION, name) != ctx.node:
        return _refused(name, Code.NOT_COORDINATOR)
    if txn is None:
        return _refused(name, Code.TRANSACTIONAL_ID_NOT_FOUND)
    numbers: dict[str, list[int]] = {}
    offsets = ctx.state.topics.by_name.get(OFFSETS_TOPIC)
    if offsets is not None and txn.groups:
        count = len(offsets.partitions)
        numbers[OFFSETS_TOPIC] = sorted({java_hash(group.encode()) % count for group in txn.groups})
    for tp in sorted(txn.partitions):
        numbers.setdefault(tp.topic, []).append(tp.partition)
    return described.TransactionState(
        error_code=0,
        transactional_id=name,
        transaction_state=txn.state.value,
        transaction_timeout_ms=txn.timeout_ms,
        transaction_start_time_ms=_start(txn),
        producer_id=txn.producer_id,
        producer_epoch=txn.epoch,
        topics=[described.TopicData(topic=topic, partitions=rows) for topic, rows in numbers.items()],
    )


def _refused(name: str, code: int) -> described.TransactionState:
    return described.TransactionState(
        error_code=code,
        transactional_id=name,
        transaction_state="",
        transaction_timeout_ms=0,
        transaction_start_time_ms=0,
        producer_id=0,
        producer_epoch=0,
        topics=[],
    )


async def write_txn_markers(
    ctx: "Context", request: markers.WriteTxnMarkersRequest
) -> markers.WriteTxnMarkersResponse:
    """Written by the leader, whatever the coordinator says: that is what the request is for."""
    answer = no_markers(request, 0)
    for marker, result in zip(request.markers, answer.markers, strict=True):
        for topic in result.topics:
            for row in topic.partitions:
                row.error_code = _mark(ctx, marker, topic.name, row.partition_index)
    ctx.state.changed()
    return answer


def no_markers(request: markers.WriteTxnMarkersRequest, code: int) -> markers.WriteTxnMarkersResponse:
    """The answer with one code for all partitions."""
    return markers.WriteTxnMarkersResponse(
        markers=[
            markers.WritableTxnMarkerResult(
                producer_id=marker.producer_id,
                topics=[
                    markers.WritableTxnMarkerTopicResult(
                        name=topic.name,
                        partitions=[
                            markers.WritableTxnMarkerPartitionResult(partition_index=number, error_code=code)
                            for number in topic.partition_indexes
                        ],
                    )
                    for topic in marker.topics
                ],
            )
            for marker in request.markers
        ]
    )


def mark_all(answer: markers.WriteTxnMarkersResponse, code: int) -> None:
    """Puts the code into all partitions of an answer."""
    for marker in answer.markers:
        for topic in marker.topics:
            for row in topic.partitions:
                row.error_code = code


def _mark(ctx: "Context", marker: markers.WritableTxnMarker, topic: str, number: int) -> int:
    try:
        place = ctx.state.topics.partition(topic, b"", number)
    except RefusedError as refused:
        return refused.code
    if place.leader != ctx.node:
        return int(Code.NOT_LEADER_OR_FOLLOWER)
    state = place.log.producers.by_id.get(marker.producer_id)
    if state is not None and marker.producer_epoch < state.epoch:
        return int(Code.INVALID_PRODUCER_EPOCH)
    place.log.mark(
        marker.producer_id,
        marker.producer_epoch,
        committed=marker.transaction_result,
        leader_epoch=place.leader_epoch,
        now_ms=ctx.state.now_ms,
    )
    return 0
