"""Adds partitions to existing topics (CreatePartitions, KIP-195), through the controller."""

from collections.abc import Mapping, Sequence

from kcli.core.admin.topics import Codes, Outcome, order_of_controller
from kcli.core.cluster.cluster import Cluster
from kcli.core.error_codes import INVALID_PARTITIONS
from kcli.core.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)


def create_partitions(
    cluster: Cluster, counts: Mapping[str, int], deadline: float, *, validate_only: bool
) -> Outcome:
    """Sets each topic's total number of partitions, or only validates.

    INVALID_PARTITIONS if a topic has as many already, or more. After a lost response it may also mean that the
    partitions were created; then it counts as success.
    """

    def request(left: Sequence[str], timeout_ms: int) -> CreatePartitionsRequest:
        topics = [CreatePartitionsTopic(name=name, count=counts[name], assignments=None) for name in left]
        return CreatePartitionsRequest(topics=topics, timeout_ms=timeout_ms, validate_only=validate_only)

    def codes(response: CreatePartitionsResponse) -> Codes:
        return {row.name: (row.error_code, row.error_message or "") for row in response.results}

    already = 0 if validate_only else INVALID_PARTITIONS
    return order_of_controller(
        cluster,
        list(counts),
        request,
        codes,
        "could not add partitions to topic",
        already,
        deadline,
        operation="ALTER",
    )
