"""Which topic an offset belongs to: the offsets of a topic that is gone mean nothing in the next one of its name.

Blocks in the loop's poll. Not the checks of a consumer's own commits, which never wait (``group/commits.py``).
"""

from collections.abc import Iterable, Mapping

from kcli.core.cluster.brokers import CONTROL
from kcli.core.cluster.cluster import Cluster
from kcli.core.error_codes import UNKNOWN_TOPIC_ID
from kcli.core.errors import BrokerError, DataLossError, KcliError
from kcli.core.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from kcli.core.protocol.messages.offset_commit import OffsetCommitRequest
from kcli.core.protocol.schema import NO_UUID
from kcli.core.types import Node, OffsetAndMetadata, TopicPartition

FIRST_BY_ID = 10
"""OffsetCommit: the first version that identifies topics by id (Kafka 4.1)."""


def checks_ids(cluster: Cluster, node: Node) -> bool:
    """Whether the broker is known to check the topic ids of commits; False until it is connected."""
    offer = cluster.brokers.offer(node, CONTROL)
    return offer is not None and offer.apis.get(OffsetCommitRequest.api_key, (0, 0))[1] >= FIRST_BY_ID


def is_other(topic_id: bytes, wanted: bytes) -> bool:
    """Whether two ids are those of different topics. All zeros is not known."""
    return topic_id != wanted and NO_UUID not in (topic_id, wanted)


def replaced_topic(tp: TopicPartition, offset: int) -> DataLossError:
    """The error for an offset of a topic whose name belongs to another topic now."""
    return DataLossError(
        f"{tp}: topic {tp.topic} was deleted and created again",
        why=f"offset {offset} is one of the topic that is gone",
        do="start again: the new topic has offsets of its own",
    )


def explained(error: KcliError | None, tp: TopicPartition, offset: OffsetAndMetadata) -> KcliError | None:
    """The result of a commit; in plain words if the broker has no topic of that id."""
    unknown = isinstance(error, BrokerError) and error.code == UNKNOWN_TOPIC_ID
    return replaced_topic(tp, offset.offset) if unknown else error


def fetch_ids(cluster: Cluster, names: Iterable[str], deadline: float) -> dict[str, bytes]:
    """The ids that belong to these names now; all zeros for a topic that is not there, and from brokers before 2.8."""
    wanted = [MetadataRequestTopic(name=name) for name in sorted(set(names))]
    request = MetadataRequest(topics=wanted, allow_auto_topic_creation=False)

    def check(response: MetadataResponse) -> dict[str, bytes]:
        return {row.name or "": bytes(row.topic_id) for row in response.topics}

    return cluster.call(lambda: cluster.send(request), check, deadline, "looking up topic ids")


def replaced(
    cluster: Cluster, offsets: Mapping[TopicPartition, OffsetAndMetadata], deadline: float
) -> dict[TopicPartition, KcliError]:
    """The offsets of topics that were replaced, each with its error; asks for metadata if any of them has a topic id.

    If there is no metadata they all have that error: they must not be committed either.
    """
    known = {tp: offset for tp, offset in offsets.items() if offset.topic_id != NO_UUID}
    try:
        ids = fetch_ids(cluster, (tp.topic for tp in known), deadline) if known else {}
    except KcliError as error:
        return dict.fromkeys(known, error)
    return {
        tp: replaced_topic(tp, offset.offset)
        for tp, offset in known.items()
        if is_other(ids.get(tp.topic, NO_UUID), offset.topic_id)
    }
