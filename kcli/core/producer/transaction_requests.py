"""The requests of a transaction to its coordinators, and the evaluation of their responses. Pure."""

from collections.abc import Iterable, Mapping
from itertools import groupby
from operator import attrgetter

from kcli.core.error_codes import NONE, OPERATION_NOT_ATTEMPTED
from kcli.core.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kcli.core.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from kcli.core.protocol.messages.end_txn import EndTxnRequest
from kcli.core.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from kcli.core.types import GroupMetadata, OffsetAndMetadata, TopicPartition

_TOPIC = attrgetter("topic")
_LAST_CLIENT_VERSION = 3  # AddPartitionsToTxn v4 and later are for brokers only
_FIRST_WITH_MEMBERS = 3  # TxnOffsetCommit before KIP-447 would commit without checking the membership
_LAST_VERSION_1 = 4  # TxnOffsetCommit and EndTxn: v5 is the protocol of transaction version 2


def add_partitions(
    transactional_id: str, producer_id: int, epoch: int, partitions: Iterable[TopicPartition]
) -> AddPartitionsToTxnRequest:
    """Adds partitions before they are written to (up to transaction version 1)."""
    topics = [
        AddPartitionsToTxnTopic(name=topic, partitions=[tp.partition for tp in group])
        for topic, group in groupby(sorted(partitions), _TOPIC)
    ]
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=transactional_id,
        v3_and_below_producer_id=producer_id,
        v3_and_below_producer_epoch=epoch,
        v3_and_below_topics=topics,
    )
    request.cap_version(_LAST_CLIENT_VERSION)
    return request


def added(answer: AddPartitionsToTxnResponse) -> dict[TopicPartition, int]:
    """The code of each partition, except those not attempted because of other partitions."""
    return {
        TopicPartition(topic.name, row.partition_index): row.partition_error_code
        for topic in answer.results_by_topic_v3_and_below
        for row in topic.results_by_partition
        if row.partition_error_code != OPERATION_NOT_ATTEMPTED
    }


def add_group(transactional_id: str, producer_id: int, epoch: int, group_id: str) -> AddOffsetsToTxnRequest:
    """Adds a group before its offsets are committed (up to transaction version 1)."""
    return AddOffsetsToTxnRequest(
        transactional_id=transactional_id, producer_id=producer_id, producer_epoch=epoch, group_id=group_id
    )


def commit_offsets(
    transactional_id: str,
    producer_id: int,
    epoch: int,
    group: GroupMetadata,
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
    *,
    version_2: bool,
) -> TxnOffsetCommitRequest:
    """Offsets to be committed with the transaction, checked against the membership (KIP-447)."""
    topics = [
        TxnOffsetCommitRequestTopic(
            name=topic,
            partitions=[
                TxnOffsetCommitRequestPartition(
                    partition_index=tp.partition,
                    committed_offset=offsets[tp].offset,
                    committed_leader_epoch=offsets[tp].leader_epoch,
                    committed_metadata=offsets[tp].metadata,
                )
                for tp in partitions
            ],
        )
        for topic, partitions in groupby(sorted(offsets), _TOPIC)
    ]
    request = TxnOffsetCommitRequest(
        transactional_id=transactional_id,
        group_id=group.group_id,
        producer_id=producer_id,
        producer_epoch=epoch,
        generation_id=group.generation_id,
        member_id=group.member_id,
        group_instance_id=group.group_instance_id,
        topics=topics,
    )
    if not version_2:
        request.cap_version(_LAST_VERSION_1)
    if group != GroupMetadata(group.group_id):
        request.require_version(_FIRST_WITH_MEMBERS)
    return request


def refused(
    answer: TxnOffsetCommitResponse, offsets: Mapping[TopicPartition, OffsetAndMetadata]
) -> dict[TopicPartition, int | None]:
    """The partitions whose offset was rejected, with the code; None where the response omits a partition."""
    codes: dict[TopicPartition, int | None] = dict.fromkeys(offsets)
    for topic in answer.topics:
        for row in topic.partitions:
            tp = TopicPartition(topic.name, row.partition_index)
            if tp in codes:
                codes[tp] = row.error_code
    return {tp: code for tp, code in codes.items() if code != NONE}


def end(
    transactional_id: str, producer_id: int, epoch: int, *, committed: bool, version_2: bool
) -> EndTxnRequest:
    """Commit or abort."""
    request = EndTxnRequest(
        transactional_id=transactional_id, producer_id=producer_id, producer_epoch=epoch, committed=committed
    )
    if not version_2:
        request.cap_version(_LAST_VERSION_1)
    return request
