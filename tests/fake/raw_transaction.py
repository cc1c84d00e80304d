"""A transactional producer by hand, over a raw connection: each method is one request and returns its error code."""

from typing import Any

from kcli.core.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kcli.core.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from kcli.core.protocol.messages.end_txn import EndTxnRequest
from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest
from kcli.core.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from kcli.core.protocol.schema import NO_UUID
from tests.fake.raw_client import RawClient, batch, produce_request

_FIRST_EPOCH_BUMP = 5


class RawTransaction:
    """``id`` and ``epoch`` are those that ``init`` got, or ``end`` in v5."""

    def __init__(
        self,
        client: RawClient,
        name: str = "id",
        *,
        topic: str = "t",
        group: str = "g",
        timeout: int = 60_000,
    ) -> None:
        self.client = client
        self.name, self.topic, self.group, self.timeout = name, topic, group, timeout
        self.id, self.epoch = -1, -1

    def init(self, producer_id: int = -1, epoch: int = -1, version: int = 5) -> int:
        ask = InitProducerIdRequest(
            transactional_id=self.name,
            transaction_timeout_ms=self.timeout,
            producer_id=producer_id,
            producer_epoch=epoch,
        )
        answer = self.client.ask(ask, version)
        if not answer.error_code:
            self.id, self.epoch = answer.producer_id, answer.producer_epoch
        return int(answer.error_code)

    def produce(
        self,
        sequence: int,
        *values: bytes,
        partition: int = 0,
        version: int = 12,
        epoch: int | None = None,
        bit: bool = True,
    ) -> int:
        """One batch; ``bit`` False leaves the transactional bit out."""
        raw = batch(
            *values or [b"x"],
            producer_id=self.id,
            epoch=self.epoch if epoch is None else epoch,
            sequence=sequence,
            transactional=bit,
        )
        ask = produce_request(self.topic, {partition: raw}, transactional_id=self.name)
        return int(self.client.ask(ask, version).responses[0].partition_responses[0].error_code)

    def add(self, *partitions: int, version: int = 3) -> list[int]:
        ask = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.name,
            v3_and_below_producer_id=self.id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=self.topic, partitions=list(partitions))],
        )
        rows = self.client.ask(ask, version).results_by_topic_v3_and_below[0].results_by_partition
        return [r.partition_error_code for r in sorted(rows, key=lambda r: r.partition_index)]

    def add_group(self, version: int = 3) -> int:
        ask = AddOffsetsToTxnRequest(
            transactional_id=self.name,
            producer_id=self.id,
            producer_epoch=self.epoch,
            group_id=self.group,
        )
        return int(self.client.ask(ask, version).error_code)

    def commit_offsets(
        self, offset: int, version: int = 5, topic_id: bytes = NO_UUID, partition: int = 0, **member: Any
    ) -> int:
        """TxnOffsetCommit for one partition, whose topic is named by ``topic_id`` from v6 on."""
        part = TxnOffsetCommitRequestPartition(
            partition_index=partition, committed_offset=offset, committed_metadata=None
        )
        ask = TxnOffsetCommitRequest(
            transactional_id=self.name,
            group_id=self.group,
            producer_id=self.id,
            producer_epoch=self.epoch,
            topics=[TxnOffsetCommitRequestTopic(name=self.topic, topic_id=topic_id, partitions=[part])],
            **member,
        )
        return int(self.client.ask(ask, version).topics[0].partitions[0].error_code)

    def end(self, commit: bool = True, version: int = 5, epoch: int | None = None) -> int:
        ask = EndTxnRequest(
            transactional_id=self.name,
            producer_id=self.id,
            producer_epoch=self.epoch if epoch is None else epoch,
            committed=commit,
        )
        answer = self.client.ask(ask, version)
        if version >= _FIRST_EPOCH_BUMP and not answer.error_code:
            self.id, self.epoch = answer.producer_id, answer.producer_epoch
        return int(answer.error_code)
