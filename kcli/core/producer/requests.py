"""Builds Produce requests from batches and reads their responses. Pure.

By topic id (v13) where the id is known; a topic without one caps the request at v12.

Fetch follows the same rule (``consumer/fetch_session.py``).
"""

from collections.abc import Iterator, Sequence

from kcli.core.cluster.metadata import ClusterView
from kcli.core.producer.batch import ProducerBatch
from kcli.core.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kcli.core.protocol.schema import NO_UUID

_LAST_VERSION_BY_NAME = 12


def produce_request(
    batches: Sequence[ProducerBatch], view: ClusterView, acks: int, timeout_ms: int
) -> ProduceRequest:
    """One request with one batch per partition."""
    topics: dict[str, TopicProduceData] = {}
    request = ProduceRequest(acks=acks, timeout_ms=timeout_ms, topic_data=[])
    for batch in batches:
        name, partition = batch.tp
        if name not in topics:
            topic_id = view.topics[name].id
            topics[name] = TopicProduceData(name=name, topic_id=topic_id, partition_data=[])
            request.topic_data.append(topics[name])
            if topic_id == NO_UUID:
                request.cap_version(_LAST_VERSION_BY_NAME)
        topics[name].partition_data.append(PartitionProduceData(index=partition, records=batch.wire()))
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
