"""Builds Produce requests from batches and reads their responses; what a producer needs of a broker. Pure.

By topic id (v13) where the id is known; a topic without one caps the request at v12.

Fetch follows the same rule (``consumer/fetch_session.py``).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kcli.core.cluster.metadata import ClusterView
from kcli.core.errors import UnsupportedError
from kcli.core.options import ProducerOptions, is_set
from kcli.core.producer.batch import ProducerBatch
from kcli.core.protocol import messages
from kcli.core.protocol.api import Request, choose_version
from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest
from kcli.core.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kcli.core.protocol.schema import NO_UUID

if TYPE_CHECKING:
    from kcli.core.protocol.messages import add_partitions_to_txn, end_txn  # noqa: F401 - imported on use

_LAST_VERSION_BY_NAME = 12
_FIRST_WITH_ZSTD = 7
_HEAD = 32
"""The most bytes of a request without its batches, and without the names of the client and of the transaction."""
MOST_BYTES = 4_000_000
"""Of batches in a request."""
_LONGEST_NAME = 249  # of a topic
BESIDE_BATCH = 40
"""The most bytes that a batch needs beside itself, without the name of its topic."""
NOT_IDEMPOTENT = (
    "-X enable.idempotence=false (produce: --no-idempotent) sends without producer ids; a retry may then store a record "
    "twice"
)
"""The remedy where brokers have no producer ids."""


def check_offer(options: ProducerOptions, apis: Mapping[int, tuple[int, int]], where: object) -> None:
    """UnsupportedError for what the options need and a broker does not offer."""
    newer = "use brokers of Kafka 0.11 or later: before, they do not know the record batches that kcli writes"
    version = _needed(ProduceRequest, apis, where, newer)
    if options.transactional_id:
        of_transactions = (
            messages.add_partitions_to_txn.AddPartitionsToTxnRequest,
            messages.end_txn.EndTxnRequest,
        )
        for api in (InitProducerIdRequest, *of_transactions):
            _needed(api, apis, where, "transactions need brokers of Kafka 0.11 or later")
    elif options.enable_idempotence and options.acks in ("all", "-1"):
        _needed(InitProducerIdRequest, apis, where, NOT_IDEMPOTENT)
    if options.compression_type == "zstd" and version < _FIRST_WITH_ZSTD:
        raise UnsupportedError(
            f"{where} does not take zstd",
            why=f"it offers Produce up to version {version}, zstd needs version {_FIRST_WITH_ZSTD} (Kafka 2.1)",
            do="choose another codec, such as -z lz4 (-X compression.type=lz4)",
        )


def _needed(api: type[Request], apis: Mapping[int, tuple[int, int]], where: object, do: str) -> int:
    try:
        return choose_version(api, apis, where)
    except UnsupportedError as error:
        error.do = error.do or do
        raise


def room_for_batches(options: ProducerOptions) -> int:
    """The bytes of a request that its batches may have, with what is beside each of them: as ``max.request.size`` says
    where it is set. Else four batches of the usual size go together (a tenth less CPU time than one by one).
    """
    if not is_set(options, "max_request_size"):
        return MOST_BYTES
    names = len(options.client_id.encode()) + len(options.transactional_id.encode())
    return options.max_request_size - _HEAD - names


def full_batch(options: ProducerOptions) -> int:
    """The bytes that make a batch full: ``batch.size``, or less so that a request has room for it."""
    return max(1, min(options.batch_size, room_for_batches(options) - BESIDE_BATCH - _LONGEST_NAME))


def produce_request(
    batches: Sequence[ProducerBatch], view: ClusterView, acks: int, timeout_ms: int
) -> ProduceRequest:
    """One request with one batch per partition."""
    topics: dict[str, TopicProduceData] = {}
    by_id = True
    for batch in batches:
        name, partition = batch.tp
        part = PartitionProduceData(index=partition, records=batch.wire())
        if name in topics:
            topics[name].partition_data.append(part)
        else:
            topic_id = view.topics[name].id
            by_id = by_id and topic_id != NO_UUID
            topics[name] = TopicProduceData(name=name, topic_id=topic_id, partition_data=[part])
    request = ProduceRequest(acks=acks, timeout_ms=timeout_ms, topic_data=list(topics.values()))
    if not by_id:
        request.cap_version(_LAST_VERSION_BY_NAME)
    return request


def answers(
    request: ProduceRequest, answer: ProduceResponse
) -> Iterator[tuple[tuple[str, int], PartitionProduceResponse]]:
    """The response for each partition it names; the name of the topic and the number equal a TopicPartition."""
    for topic in answer.responses:
        name = topic.name or _name(request, topic.topic_id)
        for part in topic.partition_responses:
            yield (name, part.index), part


def _name(request: ProduceRequest, topic_id: bytes) -> str:
    for topic in request.topic_data:
        if topic.topic_id == topic_id:
            return topic.name
    return ""
