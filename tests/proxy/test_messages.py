"""Answers that name brokers, in every version: ours instead, and not a byte else. No sockets."""

import pytest

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.messages import describe_cluster, fetch, find_coordinator, metadata, produce
from tests.proxy import tables
from tests.proxy.addresses import Address, places, rewrite, topic_names
from tests.proxy.messages import read_answer, write_answer

UP, OURS = ("broker.example", 9092), ("127.0.0.1", 4_000)


def ours(node: int, address: Address) -> Address:
    assert address == UP
    return OURS[0], OURS[1] + node


def naming(api: type[Request], version: int) -> Response:
    """An answer that names node 1 at UP."""
    host, port = UP
    if api is metadata.MetadataRequest:
        broker = metadata.MetadataResponseBroker(node_id=1, host=host, port=port)
        return metadata.MetadataResponse(brokers=[broker], topics=[])
    if api is describe_cluster.DescribeClusterRequest:
        member = describe_cluster.DescribeClusterBroker(broker_id=1, host=host, port=port)
        return describe_cluster.DescribeClusterResponse(
            brokers=[member], cluster_id="c", error_code=0, throttle_time_ms=0
        )
    if api is find_coordinator.FindCoordinatorRequest:
        if version < 4:
            return find_coordinator.FindCoordinatorResponse(node_id=1, host=host, port=port)
        one = find_coordinator.Coordinator(key="g", node_id=1, host=host, port=port)
        return find_coordinator.FindCoordinatorResponse(coordinators=[one])
    if api is produce.ProduceRequest:
        return produce.ProduceResponse(
            responses=[], node_endpoints=[produce.NodeEndpoint(node_id=1, host=host, port=port)]
        )
    part = fetch.PartitionData(
        partition_index=0,
        error_code=6,
        high_watermark=5,
        records=[b"some", b"records"],
        aborted_transactions=[],
    )
    return fetch.FetchResponse(
        responses=[fetch.FetchableTopicResponse(topic_id=b"i" * 16, partitions=[part])],
        node_endpoints=[fetch.NodeEndpoint(node_id=1, host=host, port=port)],
    )


NAMING = [
    (api, version)
    for api, first in (
        (metadata.MetadataRequest, 0),
        (describe_cluster.DescribeClusterRequest, 0),
        (find_coordinator.FindCoordinatorRequest, 0),
        (produce.ProduceRequest, 10),
        (fetch.FetchRequest, tables.FETCH_NAMES_NODES),
    )
    for version in range(first, api.versions[1] + 1)
]


@pytest.mark.parametrize(("api", "version"), NAMING, ids=str)
def test_an_address_is_replaced_and_nothing_else(api: type[Request], version: int) -> None:
    assert tables.reads_answer(api.api_key, version)
    before = naming(api, version)
    if isinstance(before, fetch.FetchResponse):
        before.responses[0].partitions[0].records = memoryview(b"somerecords")
    frame = write_answer(api.api_key, version, 77, before)
    answer = read_answer(api.api_key, version, frame)
    assert [place.address for place in places(answer)] == [UP]
    assert rewrite(answer, ours)
    again = write_answer(api.api_key, version, 77, answer)
    told = read_answer(api.api_key, version, again)
    assert [place.address for place in places(told)] == [(OURS[0], OURS[1] + 1)]
    rewrite(told, lambda *_: UP)
    assert write_answer(api.api_key, version, 77, told) == frame


def test_an_answer_without_addresses_is_left_alone() -> None:
    assert not rewrite(produce.ProduceResponse(responses=[]), ours)
    refusal = find_coordinator.FindCoordinatorResponse(node_id=-1, host="", port=-1, error_code=15)
    assert not rewrite(refusal, ours)


def test_versions_without_a_table_are_named() -> None:
    with pytest.raises(LookupError, match="no table of Metadata v99"):
        read_answer(metadata.MetadataRequest.api_key, 99, bytearray(20))


def test_topics_are_known_by_their_ids() -> None:
    topics = [
        metadata.MetadataResponseTopic(error_code=0, name="t", topic_id=b"1" * 16, partitions=[]),
        metadata.MetadataResponseTopic(error_code=0, name="old", partitions=[]),
        metadata.MetadataResponseTopic(error_code=100, name=None, topic_id=b"2" * 16, partitions=[]),
    ]
    assert topic_names(metadata.MetadataResponse(brokers=[], topics=topics)) == {b"1" * 16: "t"}
