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
