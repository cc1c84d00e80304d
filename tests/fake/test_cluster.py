"""The cluster as a whole: several at once, its own bugs, its end."""

import threading

import pytest

from kcli.core.protocol.messages.metadata import MetadataRequest
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import RawClient

EVERYTHING = MetadataRequest(topics=None)


def test_a_bug_of_the_fake_is_raised_at_the_end():
    def broken(_request):
        raise LookupError("a bug")

    cluster = FakeCluster(1)
    cluster.intercept(MetadataRequest, broken)
    with RawClient(cluster.address(1)) as client, pytest.raises(ConnectionError):
        client.ask(EVERYTHING, 9)
    with pytest.raises(LookupError, match="a bug"):
        cluster.__exit__(None)


def test_two_clusters_side_by_side():
    with FakeCluster(1, topics={"a": 1}) as one, FakeCluster(1, topics={"b": 1}, cluster_id="other") as two:
        with RawClient(one.address(1)) as client:
            assert [t.name for t in client.ask(EVERYTHING, 9).topics] == ["a"]
        with RawClient(two.address(1)) as client:
            answer = client.ask(EVERYTHING, 9)
        assert (answer.cluster_id, [t.name for t in answer.topics]) == ("other", ["b"])


def test_closing_leaves_no_thread_and_frees_held_requests():
    before = threading.active_count()
    with FakeCluster(2) as cluster:
        hold = cluster.hold(MetadataRequest)
        client = RawClient(cluster.address(1))
        client.send(EVERYTHING, 9)
        hold.wait()
        cluster.pause(2)
    with pytest.raises(ConnectionError):
        client.receive()
    client.close()
    assert threading.active_count() == before


def test_callbacks_may_stop_nodes():
    with FakeCluster(2) as cluster:
        cluster.intercept(MetadataRequest, lambda _request: cluster.stop(1), times=1)
        with RawClient(cluster.address(1)) as client, pytest.raises(ConnectionError):
            client.ask(EVERYTHING, 9)
        with pytest.raises(ConnectionRefusedError):
            RawClient(cluster.address(1))
