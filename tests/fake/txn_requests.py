"""The requests of transactional producers: who coordinates, in which version, with which code (KIP-98, KIP-890)."""

from typing import TYPE_CHECKING, Any

from kcli.core.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from kcli.core.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
)
from kcli.core.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from kcli.core.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from kcli.core.types import TopicPartition
from tests.fake.codes import Code, RefusedError
from tests.fake.coordinators import GROUP, TRANSACTION

if TYPE_CHECKING:
    from tests.fake.state import Context

FIRST_EPOCH_BUMP = 5
"""EndTxn and TxnOffsetCommit of KIP-890."""
_FIRST_WITH_MANY = 4
_KNOWS_FENCED = 2
_KNOWS_ABORTABLE = 4
_FIRST_WITH_TOPIC_IDS = 6
Place = tuple[str, bytes, int]
"""A partition as TxnOffsetCommit names it: by name, or since v6 by id."""


async def add_partitions_to_txn(
    ctx: "Context", request: AddPartitionsToTxnRequest
) -> AddPartitionsToTxnResponse:
    """One transaction; several since v4, which is meant for brokers but answered to clients too."""
    if ctx.version < _FIRST_WITH_MANY:
        who = (
            request.v3_and_below_transactional_id,
            request.v3_and_below_producer_id,
            request.v3_and_below_producer_epoch,
        )
        rows = _add(ctx, who, request.v3_and_below_topics)
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=rows)
    return AddPartitionsToTxnResponse(
        results_by_transaction=[
            AddPartitionsToTxnResult(
                transactional_id=t.transactional_id,
                topic_results=_add(
                    ctx, (t.transactional_id, t.producer_id, t.producer_epoch), t.topics, dry=t.verify_only
                ),
            )
            for t in request.transactions
        ]
    )


def _add(
    ctx: "Context", who: tuple[str, int, int], topics: list[AddPartitionsToTxnTopic], *, dry: bool = False
) -> list[AddPartitionsToTxnTopicResult]:
    """A missing partition refuses the others too (OPERATION_NOT_ATTEMPTED)."""
    wanted = {TopicPartition(t.name, p) for t in topics for p in t.partitions}
    infos = ctx.state.topics.infos()
    missing = {tp for tp in wanted if tp.topic not in infos or tp.partition >= infos[tp.topic].partitions}
    code = int(Code.OPERATION_NOT_ATTEMPTED) if missing else 0
    try:
        _own(ctx, who[0])
        if dry:
            for tp in wanted:
                ctx.state.transactions.verify(*who, tp)
        elif not missing:
            ctx.state.transactions.add(*who, partitions=wanted)
    except RefusedError as refused:
        code, missing = _for_old(refused.code, ctx.version), set()
    lost = int(Code.UNKNOWN_TOPIC_OR_PARTITION)
    return [
        AddPartitionsToTxnTopicResult(
            name=t.name,
            results_by_partition=[
                AddPartitionsToTxnPartitionResult(
                    partition_index=p,
                    partition_error_code=lost if TopicPartition(t.name, p) in missing else code,
                )
                for p in t.partitions
            ],
        )
        for t in topics
    ]


async def add_offsets_to_txn(ctx: "Context", request: AddOffsetsToTxnRequest) -> AddOffsetsToTxnResponse:
    """A group whose offsets the transaction will commit."""
    code = 0
    try:
        _own(ctx, request.transactional_id)
        ctx.state.transactions.add(
            request.transactional_id,
            request.producer_id,
            request.producer_epoch,
            groups={request.group_id},
        )
    except RefusedError as refused:
        code = _for_old(refused.code, ctx.version)
    return AddOffsetsToTxnResponse(error_code=code)


async def end_txn(ctx: "Context", request: EndTxnRequest) -> EndTxnResponse:
    """Since v5 the answer carries the producer id and the epoch of the next transaction."""
    bump = ctx.version >= FIRST_EPOCH_BUMP
    try:
        _own(ctx, request.transactional_id)
        granted = ctx.state.transactions.end(
            request.transactional_id,
            request.producer_id,
            request.producer_epoch,
            commit=request.committed,
            bump=bump,
        )
    except RefusedError as refused:
        return EndTxnResponse(error_code=_for_old(refused.code, ctx.version))
    if not bump:
        return EndTxnResponse()
    return EndTxnResponse(producer_id=granted[0], producer_epoch=granted[1])


async def txn_offset_commit(ctx: "Context", request: TxnOffsetCommitRequest) -> TxnOffsetCommitResponse:
    """Asked of the group's coordinator, which asks the transaction's (KIP-890) before it stores anything."""
    state, group = ctx.state, request.group_id
    if state.coordinators.of(GROUP, group) != ctx.node:
        return _all_offsets(request, Code.NOT_COORDINATOR)
    who = request.transactional_id, request.producer_id, request.producer_epoch
    try:
        if ctx.version >= FIRST_EPOCH_BUMP:
            state.transactions.add(*who, groups={group})
        else:
            state.transactions.verify(*who, group)
    except RefusedError as refused:
        return _all_offsets(request, _offset_code(refused.code, ctx.version))
    return _stored(request, _store(ctx, request))


def _store(ctx: "Context", request: TxnOffsetCommitRequest) -> dict[Place, int]:
    """The broker turns down the topics that it does not know by their ids; the coordinator is asked about the rest."""
    by_id = ctx.version >= _FIRST_WITH_TOPIC_IDS
    names = {info.topic_id: name for name, info in ctx.state.topics.infos().items()}
    asked: dict[Place, TopicPartition | None] = {}
    offsets: dict[TopicPartition, tuple[int, int, str | None]] = {}
    for topic in request.topics:
        name = names.get(bytes(topic.topic_id)) if by_id else topic.name
        for row in topic.partitions:
            tp = None if name is None else TopicPartition(name, row.partition_index)
            asked[_place(topic, row)] = tp
            if tp is not None:
                offsets[tp] = (row.committed_offset, row.committed_leader_epoch, row.committed_metadata)
    codes: dict[TopicPartition, int] = {}
    if offsets:
        codes = ctx.state.groups.txn_commit(
            request.group_id,
            request.producer_id,
            offsets,
            generation_id=request.generation_id_or_member_epoch,
            member_id=request.member_id,
            group_instance_id=request.group_instance_id,
            version=ctx.version,
        )
    unknown = int(Code.UNKNOWN_TOPIC_ID)
    return {place: unknown if tp is None else codes[tp] for place, tp in asked.items()}


def _place(topic: Any, row: Any) -> Place:
    return topic.name, bytes(topic.topic_id), row.partition_index


def _own(ctx: "Context", transactional_id: str) -> None:
    if ctx.state.coordinators.of(TRANSACTION, transactional_id) != ctx.node:
        raise RefusedError(Code.NOT_COORDINATOR)


def _for_old(code: int, version: int) -> int:
    """PRODUCER_FENCED came with KIP-588; older versions say INVALID_PRODUCER_EPOCH."""
    fenced = code == Code.PRODUCER_FENCED and version < _KNOWS_FENCED
    return int(Code.INVALID_PRODUCER_EPOCH) if fenced else code


def _offset_code(code: int, version: int) -> int:
    if code == Code.PRODUCER_FENCED:
        return int(Code.INVALID_PRODUCER_EPOCH)
    if code == Code.INVALID_TXN_STATE and version >= _KNOWS_ABORTABLE:
        return int(Code.TRANSACTION_ABORTABLE)
    return code


def _all_offsets(request: TxnOffsetCommitRequest, code: int) -> TxnOffsetCommitResponse:
    return _stored(request, {_place(t, row): code for t in request.topics for row in t.partitions})


def _stored(request: TxnOffsetCommitRequest, codes: dict[Place, int]) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(
        throttle_time_ms=0,
        topics=[
            TxnOffsetCommitResponseTopic(
                name=t.name,
                topic_id=bytes(t.topic_id),
                partitions=[
                    TxnOffsetCommitResponsePartition(
                        partition_index=row.partition_index, error_code=codes[_place(t, row)]
                    )
                    for row in t.partitions
                ],
            )
            for t in request.topics
        ],
    )
