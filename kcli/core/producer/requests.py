"""Builds Produce requests from batches and reads their responses. Pure.

By topic id (v13) where the id is known; a topic without one caps the request at v12.

Fetch follows the same rule (``consumer/fetch_session.py``).
"""

from collections.abc import Iterator, Mapping

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
from kcli.core.types import TopicPartition

Batches = Mapping[TopicPartition, ProducerBatch]

_LAST_VERSION_BY_NAME = 12


def produce_request(batches: Batches, view: ClusterView, acks: int, timeout_ms: int) -> ProduceRequest:
    """One request with one batch per partition."""
    topics: dict[str, TopicProduceData] = {}
    for tp, batch in batches.items():
        if tp.topic not in topics:
            topic_id = view.topics[tp.topic].id
            topics[tp.topic] = TopicProduceData(name=tp.topic, topic_id=topic_id, partition_data=[])
        data = PartitionProduceData(index=tp.partition, records=batch.wire())
        topics[tp.topic].partition_data.append(data)
    request = ProduceRequest(acks=acks, timeout_ms=timeout_ms, topic_data=list(topics.values()))
    if any(topic.topic_id == NO_UUID for topic in topics.values()):
        request.cap_version(_LAST_VERSION_BY_NAME)
    return request


def answers(
    request: ProduceRequest, answer: ProduceResponse
) -> Iterator[tuple[TopicPartition, PartitionProduceResponse]]:
    """The response for each partition it names."""
    names = {topic.topic_id: topic.name for topic in request.topic_data}
    for topic in answer.responses:
        name = topic.name or names.get(topic.topic_id, "")
        for part in topic.partition_responses:
            yield TopicPartition(name, part.index), part
