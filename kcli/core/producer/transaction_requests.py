"""The requests of a transaction to its coordinators, and the evaluation of their responses. Pure.

An InitProducerId of our own may fence us. With (id, epoch) on an open transaction it is answered with
CONCURRENT_TRANSACTIONS and aborts that transaction; up to transaction version 1 this bumps the epoch, and the
repeated request is answered with PRODUCER_FENCED. Then (id, epoch + 1) belongs to this producer only; (-1, -1) would
fence a successor (``EpochClaim``). Seen on 2.8.2 and 3.9.2. Tested in ``tests/fault/test_transactions.py`` (P11 to P14).
"""

from collections.abc import Mapping
from enum import Enum
from itertools import groupby
from operator import attrgetter
from typing import Any

from kcli.core.error_codes import (
    CONCURRENT_TRANSACTIONS,
    INVALID_PRODUCER_EPOCH,
    NONE,
    OPERATION_NOT_ATTEMPTED,
    PRODUCER_FENCED,
)
from kcli.core.producer.idempotence import Idempotence
from kcli.core.producer.transactions import GroupOffsets, Phase, Step, Transaction
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kcli.core.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from kcli.core.protocol.messages.end_txn import EndTxnRequest
from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest
from kcli.core.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from kcli.core.protocol.schema import NO_UUID
from kcli.core.types import GroupMetadata, OffsetAndMetadata, TopicPartition

FENCING = frozenset({INVALID_PRODUCER_EPOCH, PRODUCER_FENCED})


class _Fencing(Enum):
    """What happened to our own epoch while a new one was requested."""

    SUSPECTED = "suspected"
    CONFIRMED = "confirmed"


class EpochClaim:
    """``take_over``: the application initializes the transactional id, which another producer may have used before."""

    def __init__(self, *, take_over: bool = False) -> None:
        self._take_over = take_over
        self._fencing: _Fencing | None = None

    def ids(self, numbers: Idempotence) -> tuple[int, int]:
        """Producer id and epoch for the request."""
        if self._take_over:
            return -1, -1
        return numbers.producer_id, numbers.epoch + (self._fencing is _Fencing.CONFIRMED)

    def fenced_itself(self, code: int) -> bool:
        """Whether the coordinator's own abort of our transaction caused the error: then the next epoch is ours."""
        if code == CONCURRENT_TRANSACTIONS and not self._take_over and self._fencing is None:
            self._fencing = _Fencing.SUSPECTED
        elif code in FENCING and self._fencing is _Fencing.SUSPECTED:
            self._fencing = _Fencing.CONFIRMED
            return True
        return False


_TOPIC = attrgetter("topic")
_LAST_CLIENT_VERSION = 3  # AddPartitionsToTxn v4 and later are for brokers only
_FIRST_WITH_MEMBERS = 3  # TxnOffsetCommit before KIP-447 would commit without checking the membership
_LAST_BY_NAME = 5  # TxnOffsetCommit: v6 names topics by their ids only (KIP-1319)
_LAST_VERSION_1 = 4  # TxnOffsetCommit and EndTxn: v5 is the protocol of transaction version 2


def build_request(
    step: Step,
    transaction: Transaction,
    transactional_id: str,
    timeout_ms: int,
    numbers: Idempotence,
    claim: EpochClaim,
) -> Request:
    """The request of a step. ``timeout_ms`` is ``transaction.timeout.ms``."""
    producer: dict[str, Any] = {
        "transactional_id": transactional_id,
        "producer_id": numbers.producer_id,
        "producer_epoch": numbers.epoch,
    }
    match step:
        case Step.INIT:
            producer_id, epoch = claim.ids(numbers)
            producer |= {"producer_id": producer_id, "producer_epoch": epoch}
            return InitProducerIdRequest(**producer, transaction_timeout_ms=timeout_ms)
        case Step.ADD_PARTITIONS:
            topics = [
                AddPartitionsToTxnTopic(name=topic, partitions=[tp.partition for tp in group])
                for topic, group in groupby(sorted(transaction.wanted), _TOPIC)
            ]
            old = {f"v3_and_below_{name}": value for name, value in producer.items()}
            request: Request = AddPartitionsToTxnRequest(**old, v3_and_below_topics=topics)
            request.cap_version(_LAST_CLIENT_VERSION)
            return request
        case Step.ADD_GROUP:
            return AddOffsetsToTxnRequest(**producer, group_id=transaction.offsets[0].group.group_id)
        case Step.COMMIT_OFFSETS:
            request = _commit_offsets(producer, transaction.offsets[0])
        case _:
            request = EndTxnRequest(**producer, committed=transaction.phase is Phase.COMMITTING)
    if not transaction.version_2:
        request.cap_version(_LAST_VERSION_1)
    return request


def added(answer: AddPartitionsToTxnResponse) -> dict[TopicPartition, int]:
    """The code of each partition, except those not attempted because of other partitions."""
    return {
        TopicPartition(topic.name, row.partition_index): row.partition_error_code
        for topic in answer.results_by_topic_v3_and_below
        for row in topic.results_by_partition
        if row.partition_error_code != OPERATION_NOT_ATTEMPTED
    }


def refused(
    answer: TxnOffsetCommitResponse, offsets: Mapping[TopicPartition, OffsetAndMetadata]
) -> dict[TopicPartition, int | None]:
    """The partitions whose offset was rejected, with the code; None where the response omits a partition."""
    codes: dict[TopicPartition, int | None] = dict.fromkeys(offsets)
    names = {offset.topic_id: tp.topic for tp, offset in offsets.items()}
    for topic in answer.topics:
        name = topic.name or names.get(topic.topic_id, "")
        for row in topic.partitions:
            tp = TopicPartition(name, row.partition_index)
            if tp in codes:
                codes[tp] = row.error_code
    return {tp: code for tp, code in codes.items() if code != NONE}


def _commit_offsets(producer: Mapping[str, Any], waiting: GroupOffsets) -> TxnOffsetCommitRequest:
    """Offsets to be committed with the transaction, checked against the membership (KIP-447), and by topic id if every
    offset has one.
    """
    group, offsets = waiting.group, waiting.offsets

    def topic(tp: TopicPartition) -> tuple[str, bytes]:
        return tp.topic, offsets[tp].topic_id

    topics = [
        TxnOffsetCommitRequestTopic(
            name=name,
            topic_id=topic_id,
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
        for (name, topic_id), partitions in groupby(
            sorted(offsets, key=lambda tp: (*topic(tp), tp.partition)), topic
        )
    ]
    request = TxnOffsetCommitRequest(
        **producer,
        group_id=group.group_id,
        generation_id_or_member_epoch=group.generation_id,
        member_id=group.member_id,
        group_instance_id=group.group_instance_id,
        topics=topics,
    )
    if any(offset.topic_id == NO_UUID for offset in offsets.values()):
        request.cap_version(_LAST_BY_NAME)
    if group != GroupMetadata(group.group_id):
        request.require_version(_FIRST_WITH_MEMBERS)
    return request
