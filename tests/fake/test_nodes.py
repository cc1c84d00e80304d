"""Nodes that stop, start, hang and reset; leaders and coordinators that move; versions that are not offered."""

import socket
import struct
import threading

import pytest

from kcli.core.protocol.messages.api_versions import ApiVersionsRequest
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest
from kcli.core.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kcli.core.protocol.messages.produce import ProduceRequest
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import RawClient, batch, produce_request

EVERYTHING = MetadataRequest(topics=None)


@pytest.fixture
def cluster():
    with FakeCluster(3, topics={"t": 3}) as made:
        yield made


def produce(client, partition=0, version=12):
    return client.ask(produce_request("t", {partition: batch(b"x")}), version)


def test_a_stopped_node_refuses_and_comes_back_on_its_port(cluster):
    with RawClient(cluster.address(2)) as client:
        assert len(client.ask(EVERYTHING, 9).brokers) == 3
        cluster.stop(2)
        with pytest.raises(ConnectionError):
            client.ask(EVERYTHING, 9)
    for _ in range(3):
        with pytest.raises(ConnectionRefusedError):
            RawClient(cluster.address(2))
    cluster.start(2)
    with RawClient(cluster.address(2)) as client:
        assert [b.node_id for b in client.ask(EVERYTHING, 9).brokers] == [1, 2, 3]
    assert [c.node for c in cluster.connections] == [2, 2]


def test_what_a_stopped_node_was_about_to_do_is_not_done(cluster):
    hold = cluster.hold(ProduceRequest)
    with RawClient(cluster.address(1)) as client:
        client.send(produce_request("t", batch(b"x")), 9)
        hold.wait()
        cluster.stop(1)
        hold.release()
    cluster.start(1)
    assert cluster.log("t").values() == []


def test_fail_over_moves_leaders_and_coordinators_and_metadata_forgets_the_node(cluster):
    group = next(f"g{i}" for i in range(99) if cluster.coordinator("group", f"g{i}") == 1)
    cluster.stop(1, fail_over=True)
    with RawClient(cluster.address(2)) as client:
        answer = client.ask(EVERYTHING, 12)
        found = client.ask(FindCoordinatorRequest(coordinator_keys=[group]), 4).coordinators[0]
    assert [b.node_id for b in answer.brokers] == [2, 3]
    moved = answer.topics[0].partitions[0]
    assert (moved.leader_id, moved.leader_epoch, sorted(moved.isr_nodes)) == (2, 1, [2, 3])
    assert found.node_id == 2
    cluster.start(1)
    with RawClient(cluster.address(1)) as client:
        back = client.ask(EVERYTHING, 12)
    assert len(back.brokers) == 3
    assert sorted(back.topics[0].partitions[0].isr_nodes) == [1, 2, 3]


def test_a_paused_node_accepts_and_answers_when_it_is_resumed(cluster):
    with RawClient(cluster.address(1)) as client:
        client.ask(EVERYTHING, 9)
        cluster.pause(1)
        client.send(EVERYTHING, 9)
        with RawClient(cluster.address(1)) as second:
            second.send(EVERYTHING, 9)
            assert second.is_silent()
            assert client.is_silent()
            assert len(cluster.seen(MetadataRequest)) == 1
            cluster.resume(1)
            assert second.receive().brokers
            assert client.receive().brokers


def test_a_small_receive_buffer_stops_clients_in_the_middle_of_a_request():
    with (
        FakeCluster(1, topics={"t": 1}, receive_buffer=4096, max_message_bytes=1 << 24) as cluster,
        RawClient(cluster.address(1)) as client,
    ):
        client.ask(EVERYTHING, 9)
        cluster.pause(1)
        half = threading.Thread(target=client.send, args=(produce_request("t", batch(b"x" * 8_000_000)), 9))
        half.start()
        half.join(0.1)
        assert half.is_alive()
        cluster.resume(1)
        half.join(120)
        assert client.receive().responses[0].partition_responses[0].error_code == 0


def test_reset_connections(cluster):
    with RawClient(cluster.address(1)) as one, RawClient(cluster.address(2)) as two:
        one.ask(EVERYTHING, 9)
        two.ask(EVERYTHING, 9)
        cluster.reset_connections(1)
        with pytest.raises(ConnectionError):
            one.ask(EVERYTHING, 9)
        assert two.ask(EVERYTHING, 9).brokers
        (open_one,) = [c for c in cluster.connections if c.closed is None]
        cluster.close_connection(open_one.number, how="close")
        with pytest.raises(EOFError):
            two.ask(EVERYTHING, 9)


def test_connections_live_for_the_configured_time():
    with FakeCluster(1, idle_timeout=0.1) as cluster, RawClient(cluster.address(1)) as client:
        client.ask(EVERYTHING, 9)
        with pytest.raises(EOFError):
            client.read(1)
    with FakeCluster(1, max_connection_age=0.1) as cluster, RawClient(cluster.address(1)) as client:
        with pytest.raises(EOFError):
            client.read(1)
        assert cluster.connections[0].how == "close"


def test_a_moved_leader_is_reported_with_its_address(cluster):
    cluster.move_leader("t", 0, 3)
    with RawClient(cluster.address(1)) as client:
        answer = produce(client)
        row = answer.responses[0].partition_responses[0]
        assert (row.error_code, row.current_leader.leader_id, row.current_leader.leader_epoch) == (6, 3, 1)
        assert [f"{n.host}:{n.port}" for n in answer.node_endpoints] == [cluster.address(3)]
    with RawClient(cluster.address(3)) as client:
        assert produce(client).responses[0].partition_responses[0].error_code == 0
    assert cluster.log("t").batches[0].leader_epoch == 1


def test_a_partition_without_a_leader(cluster):
    cluster.move_leader("t", 0, -1)
    with RawClient(cluster.address(1)) as client:
        row = client.ask(EVERYTHING, 9).topics[0].partitions[0]
        assert (row.error_code, row.leader_id) == (5, -1)
        assert produce(client).responses[0].partition_responses[0].error_code == 6


def test_coordinators_are_spread_and_move(cluster):
    owners = {cluster.coordinator("transaction", f"id{i}") for i in range(50)}
    assert owners == {1, 2, 3}
    cluster.move_coordinator("transaction", "id0", 2)
    ask = InitProducerIdRequest(transactional_id="id0", transaction_timeout_ms=1000)
    with RawClient(cluster.address(1)) as client:
        found = client.ask(FindCoordinatorRequest(key="id0", key_type=1), 3)
        assert f"{found.host}:{found.port}" == cluster.address(2)
        assert client.ask(ask, 4).error_code == 16
    with RawClient(cluster.address(2)) as client:
        assert client.ask(ask, 4).error_code == 0


def test_versions_are_offered_as_by_a_real_broker(cluster):
    with RawClient(cluster.address(1)) as client:
        answer = client.ask(ApiVersionsRequest(client_software_name="raw", client_software_version="1"), 4)
        rows = {r.api_key: (r.min_version, r.max_version) for r in answer.api_keys}
        assert (rows[0], rows[1], rows[3], rows[18]) == ((0, 13), (4, 18), (0, 13), (0, 5))
        features = {f.name: f.max_version_level for f in answer.finalized_features}
        assert features["transaction.version"] == 2
    with FakeCluster(1, transaction_version=0) as old, RawClient(old.address(1)) as client:
        answer = client.ask(ApiVersionsRequest(client_software_name="raw", client_software_version="1"), 3)
        assert "transaction.version" not in {f.name for f in answer.finalized_features}


def test_api_versions_too_new_is_answered_in_v0(cluster):
    with RawClient(cluster.address(1)) as client:
        client.write(struct.pack(">ihhihb", 12, 18, 99, 77, -1, 0) + b"\0")
        frame = client.read_frame()
        assert struct.unpack(">ihihhh", frame) == (77, 35, 1, 18, 0, 5)
        assert client.ask(EVERYTHING, 9).brokers


def test_api_versions_with_a_bad_name(cluster):
    with RawClient(cluster.address(1)) as client:
        ask = ApiVersionsRequest(client_software_name="bad name!", client_software_version="1")
        assert client.ask(ask, 3).error_code == 42


def test_a_version_that_is_not_offered_closes_the_connection(cluster):
    cluster.cap_versions({ProduceRequest: 7}, node=1)
    cluster.hide(FetchRequest, node=1)
    with RawClient(cluster.address(1)) as client:
        rows = {r.api_key: r.max_version for r in client.ask(ApiVersionsRequest(), 0).api_keys}
        assert rows[0] == 7
        assert 1 not in rows
        with pytest.raises(EOFError):
            produce(client, version=8)
    with RawClient(cluster.address(2)) as client:
        assert produce(client, 1, version=8).responses[0].partition_responses[0].error_code == 0
    assert cluster.notes == ["node 1: api 0 v8 is not offered"]


@pytest.mark.parametrize(
    "data", [b"\x7f\xff\xff\xff", b"\0\0\0\0", b"\0\0\0\x02xx", b"GET / HTTP/1.1\r\n\r\n"]
)
def test_invalid_request_bytes_close_the_connection(cluster, data):
    with RawClient(cluster.address(1)) as client:
        client.write(data)
        with pytest.raises((EOFError, ConnectionResetError)):
            client.read(1)
    assert cluster.notes


def test_metadata_by_id_and_of_what_is_not_there(cluster):
    known = cluster.topic_id("t")
    ask = [
        MetadataRequestTopic(topic_id=known, name=None),
        MetadataRequestTopic(topic_id=bytes(15) + b"x", name=None),
    ]
    with RawClient(cluster.address(1)) as client:
        rows = client.ask(MetadataRequest(topics=ask), 12).topics
        assert [(r.error_code, r.name) for r in rows] == [(0, "t"), (100, None)]
        names = [MetadataRequestTopic(name=n) for n in ("nope", "a/b")]
        assert [r.error_code for r in client.ask(MetadataRequest(topics=names), 9).topics] == [3, 17]
        assert client.ask(MetadataRequest(topics=[]), 0).topics
        assert not client.ask(MetadataRequest(topics=[]), 1).topics
    assert [r.error_code for r in rows] == [0, 100]


def test_ports_are_not_given_away_while_a_node_is_stopped(cluster):
    cluster.stop(1)
    port = int(cluster.address(1).rsplit(":", 1)[1])
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind(("127.0.0.1", port))
