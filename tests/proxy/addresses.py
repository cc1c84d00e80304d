"""Brokers' addresses inside answers: which there are, and ours put in their places. Pure."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from kcli.core.protocol.api import Response
from kcli.core.protocol.messages.describe_cluster import DescribeClusterResponse
from kcli.core.protocol.messages.fetch import FetchResponse
from kcli.core.protocol.messages.find_coordinator import FindCoordinatorResponse
from kcli.core.protocol.messages.metadata import MetadataResponse
from kcli.core.protocol.messages.produce import ProduceResponse

Address = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Place:
    """A part of an answer that says where a node is."""

    node: int
    part: Any

    @property
    def address(self) -> Address:
        return self.part.host, self.part.port

    def put(self, address: Address) -> None:
        self.part.host, self.part.port = address


def places(answer: Response) -> Iterator[Place]:
    """Every address in the answer that belongs to a node; refusals name node −1 and are left out."""
    found: list[Place] = []
    match answer:
        case MetadataResponse():
            found = [Place(broker.node_id, broker) for broker in answer.brokers]
        case DescribeClusterResponse():
            found = [Place(broker.broker_id, broker) for broker in answer.brokers]
        case FindCoordinatorResponse():
            found = [Place(answer.node_id, answer), *(Place(one.node_id, one) for one in answer.coordinators)]
        case ProduceResponse() | FetchResponse():
            found = [Place(one.node_id, one) for one in answer.node_endpoints]
    return (place for place in found if place.node >= 0 and place.address[0])


def rewrite(answer: Response, ours: Callable[[int, Address], Address]) -> bool:
    """Puts ``ours(node, its address)`` in every place; whether there was any."""
    found = list(places(answer))
    for place in found:
        place.put(ours(place.node, place.address))
    return bool(found)


def topic_names(answer: MetadataResponse) -> dict[bytes, str]:
    """Names of topics by their ids."""
    return {topic.topic_id: topic.name for topic in answer.topics if topic.name and any(topic.topic_id)}
