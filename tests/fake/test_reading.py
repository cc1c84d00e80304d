"""Fetch, ListOffsets and OffsetForLeaderEpoch: kafka-facts, section 9, row by row."""

import time

import pytest

from kcli.core.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from kcli.core.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kcli.core.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kcli.core.records.batch import split_batches
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import RawClient, batch, produce_request
from tests.lasting import Moment, lasted


@pytest.fixture
def cluster():
    with FakeCluster(3, topics={"t": 1}) as made:
        yield made


@pytest.fixture
def client(cluster):
    with RawClient(cluster.address(1)) as made:
        yield made


def fill(cluster, count=5, size=1, topic="t"):
    """One record a batch."""
    for number in range(count):
        cluster.append(topic, 0, batch(b"%d" % number * size))


def fetch(topic, offset, *, max_bytes=1 << 20, part_bytes=1 << 20, wait=0, minimum=1, committed=0, **fields):
    named = {"topic_id": topic} if isinstance(topic, bytes) else {"topic": topic}
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=part_bytes, **fields)
    return FetchRequest(
        replica_id=-1,
        max_wait_ms=wait,
        min_bytes=minimum,
        max_bytes=max_bytes,
        isolation_level=committed,
        topics=[FetchTopic(**named, partitions=[partition])],
    )


def read(client, request, version=12):
    return client.ask(request, version).responses[0].partitions[0]


def offsets(row):
    return [b.base_offset for b in split_batches(row.records)]


@pytest.mark.parametrize("version", range(4, 19))
def test_all_versions(cluster, client, version):
    fill(cluster, 3)
    row = read(client, fetch("t" if version < 13 else cluster.topic_id("t"), 1), version)
    assert (row.error_code, offsets(row), row.high_watermark) == (0, [1, 2], 3)


def test_positions_in_and_out_of_the_log(cluster, client):
    cluster.append("t", 0, batch(b"a", b"b", b"c"))
    cluster.append("t", 0, batch(b"d"))
    assert offsets(read(client, fetch("t", 1))) == [0, 3]  # the batch that holds it
    assert offsets(read(client, fetch("t", 4))) == []
    for wrong in (5, -1):
        row = read(client, fetch("t", wrong))
        assert (row.error_code, row.high_watermark, row.log_start_offset) == (1, -1, -1)
    cluster.delete_records("t", 0, 2)
    assert read(client, fetch("t", 1)).error_code == 1
    row = read(client, fetch("t", 2))
    assert (offsets(row), row.log_start_offset) == ([0, 3], 2)
    assert cluster.log("t").values() == [b"c", b"d"]


def test_limits_give_one_whole_batch_and_cut_the_last_one(cluster, client):
    fill(cluster, 5, size=1000)
    assert offsets(read(client, fetch("t", 0, part_bytes=1))) == [0]
    row = read(client, fetch("t", 0, part_bytes=2500))
    assert offsets(row) == [0, 1]
    assert len(row.records) == 2500
    cluster.settings.partial_batches = False
    assert len(read(client, fetch("t", 0, part_bytes=2500)).records) < 2500
    assert offsets(read(client, fetch("t", 0, max_bytes=1))) == [0]


def test_a_fetch_waits_for_records(cluster, client):
    start = Moment.now()
    assert not offsets(read(client, fetch("t", 0, wait=100)))
    assert time.monotonic() - start >= 0.1
    client.send(fetch("t", 0, wait=10_000), 12)
    cluster.wait_for(FetchRequest, 2)
    fill(cluster, 1)
    assert offsets(client.receive().responses[0].partitions[0]) == [0]
    client.send(fetch("t", 1, wait=10_000), 12)
    cluster.wait_for(FetchRequest, 3)
    cluster.delete_topic("t")
    assert client.receive().responses[0].partitions[0].error_code == 3
    assert lasted(start) < 5


def test_topic_ids_reveal_a_recreated_topic(cluster, client):
    old = cluster.topic_id("t")
    fill(cluster)
    cluster.recreate_topic("t")
    assert read(client, fetch(old, 0), 13).error_code == 100
    row = read(client, fetch(cluster.topic_id("t"), 0), 13)
    assert (row.error_code, row.high_watermark) == (0, 0)
    assert cluster.log("t").leader_epoch == 0


def test_leader_epochs(cluster, client):
    cluster.move_leader("t", 0, 1)
    assert read(client, fetch("t", 0, current_leader_epoch=1)).error_code == 0
    assert read(client, fetch("t", 0, current_leader_epoch=2)).error_code == 75
    row = read(client, fetch("t", 0, current_leader_epoch=0))
    assert (row.error_code, row.current_leader.leader_id, row.current_leader.leader_epoch) == (74, 1, 1)


def test_followers_answer_readers_since_v11(cluster):
    fill(cluster, 1)
    with RawClient(cluster.address(2)) as client:
        assert read(client, fetch("t", 0), 10).error_code == 6
        assert offsets(read(client, fetch("t", 0), 11)) == [0]
    cluster.create_topic("lonely", replication=1)
    with RawClient(cluster.address(2)) as client:
        assert read(client, fetch("lonely", 0), 11).error_code == 6


def test_truncation_is_returned_as_a_diverging_epoch(cluster, client):
    fill(cluster, 5)
    cluster.truncate("t", 0, 3)
    row = read(client, fetch("t", 5, last_fetched_epoch=0, current_leader_epoch=1))
    assert (row.error_code, row.diverging_epoch.epoch, row.diverging_epoch.end_offset) == (0, 0, 3)
    assert read(client, fetch("t", 5)).error_code == 1
    fill(cluster, 1)
    assert [b.leader_epoch for b in cluster.log("t").batches] == [0, 0, 0, 1]


def end_of(client, epoch, current=-1):
    part = OffsetForLeaderPartition(partition=0, leader_epoch=epoch, current_leader_epoch=current)
    topics = [OffsetForLeaderTopic(topic="t", partitions=[part])]
    row = client.ask(OffsetForLeaderEpochRequest(topics=topics), 4).topics[0].partitions[0]
    return row.error_code, row.leader_epoch, row.end_offset


def test_where_epochs_end(cluster, client):
    fill(cluster, 2)
    for _ in range(3):
        cluster.move_leader("t", 0, 1)
    fill(cluster, 1)
    assert end_of(client, 0) == (0, 0, 2)
    assert end_of(client, 3) == (0, 3, 3)
    assert end_of(client, 4) == (0, -1, -1)
    assert end_of(client, -1) == (0, -1, -1)
    assert end_of(client, 0, current=9) == (75, -1, -1)
    cluster.move_leader("t", 0, 2)
    assert end_of(client, 0)[0] == 6


def find(client, timestamp, version=11, committed=0):
    part = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    ask = ListOffsetsRequest(
        replica_id=-1, isolation_level=committed, topics=[ListOffsetsTopic(name="t", partitions=[part])]
    )
    row = client.ask(ask, version).topics[0].partitions[0]
    return row.error_code, row.timestamp, row.offset


def test_list_offsets(cluster, client):
    assert find(client, -1) == (0, -1, 0)
    assert find(client, -3) == find(client, 1) == (0, -1, -1)
    for number in range(1, 21):
        stamp = 99_000 if number in (11, 12) else number * 1000
        cluster.append("t", 0, batch(b"x", timestamp=stamp))
    assert find(client, -1) == (0, -1, 20)
    assert find(client, -2) == find(client, -4) == (0, -1, 0)
    assert find(client, -3) == (0, 99_000, 10)
    assert find(client, 6001) == (0, 7000, 6)
    assert find(client, 10_001) == (0, 99_000, 10)
    assert find(client, 99_001) == (0, -1, -1)
    assert find(client, -5) == find(client, -6) == (0, -1, -1)
    assert find(client, -7)[0] == 35
    assert find(client, -3, version=6)[0] == find(client, -4, version=7)[0] == 35


def test_list_offsets_refuses(cluster, client):
    part = ListOffsetsPartition(partition_index=0, timestamp=-1)
    twice = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="t", partitions=[part, part])])
    assert {p.error_code for p in client.ask(twice, 7).topics[0].partitions} == {42}
    cluster.move_leader("t", 0, 2)
    assert find(client, -1)[0] == 6


def test_the_high_watermark_may_lag(cluster, client):
    fill(cluster, 4)
    cluster.cap_high_watermark("t", 0, 2)
    row = read(client, fetch("t", 0))
    assert (offsets(row), row.high_watermark) == ([0, 1], 2)
    assert find(client, -1) == (0, -1, 2)


def test_fail_one_partition_of_a_fetch_at_once(cluster, client):
    fill(cluster, 1)
    cluster.fail(FetchRequest, 9)
    start = Moment.now()
    row = read(client, fetch("t", 0, wait=5000))
    assert (row.error_code, len(row.records)) == (9, 0)
    assert lasted(start) < 2
    cluster.fail(FetchRequest, 70, top=True)
    assert client.ask(fetch("t", 0), 12).error_code == 70


def in_session(number, epoch, *, forget=False, topics=()):
    gone = [ForgottenTopic(topic="t", partitions=[0])] if forget else []
    return FetchRequest(
        replica_id=-1, max_wait_ms=0, min_bytes=1, session_id=number, session_epoch=epoch,
        topics=list(topics), forgotten_topics_data=gone,
    )  # fmt: skip


def test_sessions_name_changes_only():
    with (
        FakeCluster(1, topics={"t": 1}, fetch_sessions=True) as cluster,
        RawClient(cluster.address(1)) as client,
    ):
        first = fetch("t", 0)
        first.session_epoch = 0
        answer = client.ask(first, 12)
        number = answer.session_id
        assert number > 0
        assert len(answer.responses) == 1
        assert client.ask(in_session(number, 1), 12).responses == []
        fill(cluster, 1)
        assert offsets(client.ask(in_session(number, 2), 12).responses[0].partitions[0]) == [0]
        assert client.ask(in_session(number, 2), 12).error_code == 71
        assert client.ask(in_session(number + 1, 3), 12).error_code == 70
        moved = fetch("t", 1).topics
        assert client.ask(in_session(number, 3, topics=moved), 12).responses == []
        fill(cluster, 1)
        assert client.ask(in_session(number, 4, forget=True), 12).responses == []
        assert client.ask(in_session(number, -1), 12).session_id == 0
        assert client.ask(in_session(number, 5), 12).error_code == 70


def test_without_sessions_every_answer_says_session_0(cluster, client):
    first = fetch("t", 0)
    first.session_epoch = 0
    assert client.ask(first, 12).session_id == 0
    assert client.ask(in_session(5, 1), 12).error_code == 70


def test_produced_bytes_are_stored_as_they_came_but_for_offset_and_epoch(cluster, client):
    raw = batch(b"one", b"two", codec=3)
    client.ask(produce_request("t", raw), 12)
    stored = read(client, fetch("t", 0)).records
    assert bytes(stored)[16:] == raw[16:]
