"""Each knob that breaks a single request is seen to do so, on a raw connection."""

import time

import pytest

from kcli.core.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kcli.core.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.types import TopicPartition
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.raw_client import RawClient, batch, produce_request
from tests.fake.script import FOREVER


@pytest.fixture
def cluster():
    with FakeCluster(1, topics={"t": 3, "u": 1}) as made:
        yield made


@pytest.fixture
def client(cluster):
    with RawClient(cluster.address(1)) as made:
        yield made


def produce(client, *values, topic="t", partition=0, version=9):
    answer = client.ask(produce_request(topic, {partition: batch(*values)}), version)
    return answer.responses[0].partition_responses[0]


def test_fail_answers_with_the_codes_in_turn_and_applies_nothing(cluster, client):
    rule = cluster.fail(ProduceRequest, Code.NOT_LEADER_OR_FOLLOWER, Code.REQUEST_TIMED_OUT)
    codes = [produce(client, b"x").error_code for _ in range(3)]
    assert codes == [6, 7, 0]
    assert cluster.log("t").values() == [b"x"]
    assert rule.count == 2
    assert [s.codes for s in cluster.seen(ProduceRequest)] == [{6}, {7}, set()]
    assert [s.applied for s in cluster.seen(ProduceRequest)] == [False, False, True]


def test_fail_in_one_partition_applies_the_rest(cluster, client):
    cluster.fail(ProduceRequest, Code.NOT_LEADER_OR_FOLLOWER, where=TopicPartition("t", 1))
    answer = client.ask(produce_request("t", {0: batch(b"a"), 1: batch(b"b"), 2: batch(b"c")}), 9)
    assert {p.index: p.error_code for p in answer.responses[0].partition_responses} == {0: 0, 1: 6, 2: 0}
    assert [cluster.log("t", p).values() for p in range(3)] == [[b"a"], [], [b"c"]]
    assert [b.partition for b in cluster.requests[0].batches()] == [0, 1, 2]


def test_fail_applied_stores_and_says_the_error(cluster, client):
    cluster.fail(ProduceRequest, Code.NOT_ENOUGH_REPLICAS_AFTER_APPEND, applied=True)
    row = produce(client, b"x")
    assert (row.error_code, row.base_offset) == (20, -1)
    assert cluster.log("t").values() == [b"x"]


def test_fail_by_topic_id_finds_its_partition(cluster, client):
    cluster.fail(ProduceRequest, 6, where=TopicPartition("t", 0))
    answer = client.ask(produce_request(cluster.topic_id("t"), batch(b"x")), 13)
    assert answer.responses[0].partition_responses[0].error_code == 6


def test_fail_with_conditions(cluster, client):
    cluster.fail(ProduceRequest, 6, times=FOREVER, after=1, when=lambda r: r.topic_data[0].name == "t")
    assert produce(client, b"x", topic="u").error_code == 0
    assert [produce(client, b"x").error_code for _ in range(3)] == [0, 6, 6]
    cluster.heal()
    assert produce(client, b"x").error_code == 0


def test_fail_one_topic_of_metadata(cluster, client):
    cluster.fail(MetadataRequest, Code.TOPIC_AUTHORIZATION_FAILED, where="u")
    wanted = [MetadataRequestTopic(name="t"), MetadataRequestTopic(name="u")]
    answer = client.ask(MetadataRequest(topics=wanted), 9)
    assert {t.name: (t.error_code, len(t.partitions)) for t in answer.topics} == {"t": (0, 3), "u": (29, 0)}


def test_fail_on_top(cluster, client):
    cluster.fail(InitProducerIdRequest, Code.COORDINATOR_LOAD_IN_PROGRESS)
    answer = client.ask(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1), 4)
    assert (answer.error_code, answer.producer_id) == (14, -1)


@pytest.mark.parametrize("version", [2, 4])
def test_fail_coordinator_look_up(cluster, client, version):
    cluster.fail(FindCoordinatorRequest, Code.COORDINATOR_NOT_AVAILABLE)
    answer = client.ask(FindCoordinatorRequest(key="g", coordinator_keys=["g"]), version)
    row = answer.coordinators[0] if version == 4 else answer
    assert (row.error_code, row.node_id, row.port) == (15, -1, -1)


def test_swallow_applies_and_answers_nothing(cluster, client):
    cluster.swallow(ProduceRequest, nth=2)
    assert produce(client, b"one").error_code == 0
    client.send(produce_request("t", batch(b"two")), 9)
    cluster.wait_for(lambda s: s.outcome == "swallowed")
    client.send(MetadataRequest(topics=[]), 9)
    assert client.is_silent()
    assert cluster.log("t").values() == [b"one", b"two"]
    assert not cluster.seen(MetadataRequest)


@pytest.mark.parametrize(("then", "error"), [("reset", ConnectionResetError), ("close", EOFError)])
def test_swallow_then_end_the_connection(cluster, client, then, error):
    cluster.swallow(ProduceRequest, then)
    client.send(produce_request("t", batch(b"x")), 9)
    with pytest.raises(error):
        client.receive()
    assert cluster.log("t").values() == [b"x"]
    assert cluster.wait_until(lambda: cluster.connections[0].closed)
    assert cluster.connections[0].how == then


def test_swallow_then_skip_lets_the_next_answer_come(cluster, client):
    cluster.swallow(ProduceRequest, "skip")
    client.send(produce_request("t", batch(b"x")), 9)
    second = client.send(MetadataRequest(topics=[]), 9)
    assert int.from_bytes(client.read_frame()[:4], "big") == second


def test_drop_applies_nothing(cluster, client):
    cluster.drop(ProduceRequest, "reset")
    client.send(produce_request("t", batch(b"x")), 9)
    with pytest.raises(ConnectionResetError):
        client.receive()
    assert cluster.log("t").values() == []
    assert cluster.requests[0].outcome == "dropped"


def test_cut_sends_a_part_of_the_frame(cluster, client):
    cluster.cut(ProduceRequest, at=10)
    client.send(produce_request("t", batch(b"x")), 9)
    assert len(client.read(10)) == 10
    with pytest.raises(EOFError):
        client.read(1)
    assert cluster.requests[0].outcome == "cut"


def test_drip_sends_bytes_one_by_one(cluster, client):
    cluster.drip(ProduceRequest, pause=0.001, times=1)
    start = time.monotonic()
    assert produce(client, b"x").error_code == 0
    assert time.monotonic() - start > 0.04  # more than 40 bytes


def test_wrong_correlation_id(cluster, client):
    cluster.wrong_correlation_id(ProduceRequest)
    with pytest.raises(AssertionError, match="correlation id 8, expected 1"):
        produce(client, b"x")
    assert produce(client, b"x").error_code == 0


def test_delay_of_the_answer_and_of_the_request(cluster, client):
    cluster.delay(ProduceRequest, 0.15, times=1)
    client.send(produce_request("t", batch(b"x")), 9)
    cluster.wait_until(lambda: cluster.log("t").end_offset == 1)
    assert client.is_silent(0.05)
    assert client.receive().responses[0].partition_responses[0].error_code == 0
    cluster.delay(ProduceRequest, 0.15, times=1, before=True)
    client.send(produce_request("t", batch(b"y")), 9)
    cluster.wait_for(ProduceRequest, 2)
    assert cluster.log("t").end_offset == 1
    client.receive()
    assert cluster.log("t").end_offset == 2


def test_a_held_request_is_applied_when_it_is_released(cluster, client):
    hold = cluster.hold(ProduceRequest)
    client.send(produce_request("t", batch(b"x")), 9)
    hold.wait()
    assert cluster.log("t").end_offset == 0
    assert client.is_silent(0.05)
    assert hold.release() == 1
    assert client.receive().responses[0].partition_responses[0].base_offset == 0
    assert cluster.log("t").end_offset == 1


def test_a_held_request_is_applied_although_its_client_is_gone(cluster, client):
    hold = cluster.hold(ProduceRequest)
    client.send(produce_request("t", batch(b"zombie")), 9)
    hold.wait()
    client.close()
    with RawClient(cluster.address(1)) as other:
        assert produce(other, b"new").base_offset == 0
    hold.release()
    cluster.wait_until(lambda: cluster.log("t").values() == [b"new", b"zombie"])


def test_a_held_answer_is_of_a_request_that_was_applied(cluster, client):
    hold = cluster.hold(ProduceRequest, at="answer", times=2)
    client.send(produce_request("t", batch(b"x")), 9)
    hold.wait()
    cluster.wait_until(lambda: cluster.log("t").end_offset == 1)
    hold.release(1)
    assert client.receive().responses[0].partition_responses[0].base_offset == 0
    client.send(produce_request("t", batch(b"y")), 9)
    hold.wait(2)
    cluster.wait_until(lambda: cluster.log("t").end_offset == 2)
    hold.lose()
    with pytest.raises(ConnectionResetError):
        client.receive()


def test_throttle_is_in_answers_that_have_room_for_it(cluster, client):
    cluster.throttle(250)
    assert client.ask(produce_request("t", batch(b"x")), 9).throttle_time_ms == 250
    assert client.ask(MetadataRequest(topics=[]), 1).controller_id == 1


def test_replace_changes_the_answer_or_its_bytes(cluster, client):
    cluster.replace(InitProducerIdRequest, lambda _q, a: setattr(a, "producer_id", 7), times=1)
    cluster.replace(InitProducerIdRequest, lambda _q, _a: InitProducerIdResponse(error_code=-1), times=1)
    cluster.replace(InitProducerIdRequest, lambda _q, _a: b"\0\0", times=1)
    ask = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1)
    assert client.ask(ask, 4).producer_id == 7
    assert client.ask(ask, 4).error_code == -1
    client.send(ask, 4)
    assert client.read_frame()[5:] == b"\0\0"


def test_garble_changes_the_frame(cluster, client):
    cluster.garble(MetadataRequest, lambda frame: b"\xff" * len(frame))
    client.send(MetadataRequest(topics=[]), 9)
    assert client.read(4) == b"\xff" * 4


def test_lie_edits_metadata(cluster, client):
    cluster.lie(lambda answer: answer.topics.clear(), times=1)
    ask = MetadataRequest(topics=[MetadataRequestTopic(name="t")])
    assert [len(client.ask(ask, 9).topics) for _ in range(2)] == [0, 1]


def test_intercept_runs_before_the_request_and_may_use_the_cluster(cluster, client):
    cluster.intercept(ProduceRequest, lambda _q: cluster.move_leader("t", 0, -1), times=1)
    assert produce(client, b"x").error_code == 6
    assert cluster.log("t").leader_epoch == 1


def test_intercept_may_answer_itself(cluster, client):
    async def answer(_request):
        return InitProducerIdResponse(producer_id=9, error_code=0, producer_epoch=3)

    cluster.intercept(InitProducerIdRequest, answer)
    assert (
        client.ask(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1), 4).producer_id == 9
    )


def test_requests_of_one_connection_wait_for_each_other_and_others_do_not(cluster, client):
    hold = cluster.hold(ProduceRequest)
    client.send(produce_request("t", batch(b"x")), 9)
    client.send(MetadataRequest(topics=[]), 9)
    hold.wait()
    with RawClient(cluster.address(1)) as other:
        assert other.ask(MetadataRequest(topics=[]), 9).cluster_id
    assert len(cluster.seen(MetadataRequest)) == 1
    hold.release()
    client.receive()
    assert client.receive().cluster_id


def test_the_log_of_requests_reports_what_was_sent(cluster, client):
    client.ask(produce_request("t", {1: batch(b"a", b"b", producer_id=5, epoch=2, sequence=8)}), 9)
    (seen,) = cluster.wait_for(ProduceRequest, settled=True)
    (sent,) = seen.batches()
    assert (sent.topic, sent.partition, sent.producer_id, sent.producer_epoch) == ("t", 1, 5, 2)
    assert (sent.base_sequence, sent.count) == (8, 2)
    assert (seen.node, seen.version, seen.client_id, seen.outcome) == (1, 9, "raw", "answered")
    assert cluster.connections[seen.connection - 1].port == client.port
    with pytest.raises(TimeoutError, match=r"Produce v9 at node 1: answered"):
        cluster.wait_for(MetadataRequest, timeout=0.01)
