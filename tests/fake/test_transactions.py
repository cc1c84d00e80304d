"""The transaction coordinator by hand: kafka-facts, section 8, step by step."""

import math

import pytest

from kcli.core.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kcli.core.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kcli.core.records.batch import split_batches
from kcli.core.types import TopicPartition
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import RawClient, batch, produce_request
from tests.fake.raw_transaction import RawTransaction


@pytest.fixture
def cluster():
    with FakeCluster(1, topics={"t": 2}) as made:
        yield made


@pytest.fixture
def client(cluster):
    with RawClient(cluster.address(1)) as made:
        yield made


@pytest.fixture
def txn(client):
    made = RawTransaction(client)
    assert made.init() == 0
    return made


def test_produce_adds_the_partition_by_itself_and_end_bumps_the_epoch(cluster, txn):
    assert (txn.epoch, txn.produce(0, b"a"), txn.produce(1, b"b")) == (0, 0, 0)
    log = cluster.log("t")
    assert (log.last_stable_offset, log.high_watermark) == (0, 2)
    assert [r.committed for r in log.records()] == [None, None]
    assert txn.end() == 0
    assert txn.epoch == 1
    log = cluster.log("t")
    assert log.values(committed=True) == [b"a", b"b"]
    assert log.markers() == [(2, txn.id, 1, True)]  # the marker carries the bumped epoch
    assert log.batches[-1].attributes == 0x30
    assert log.last_stable_offset == 3
    assert txn.produce(2) == 45  # sequences start again
    assert txn.produce(0) == 0
    assert txn.produce(1, epoch=0) == 47


def test_abort(cluster, txn):
    txn.produce(0, b"gone")
    assert txn.end(commit=False) == 0
    txn.produce(0, b"kept", partition=0)
    txn.end()
    log = cluster.log("t")
    assert [r.committed for r in log.records()] == [False, True]
    assert log.values(committed=True) == [b"kept"]


def test_read_committed_stops_at_open_transactions_and_gets_the_aborted_ones(cluster, client, txn):
    txn.produce(0, b"gone")
    txn.end(commit=False)
    txn.produce(0, b"open")

    def read(isolation, offset=0):
        part = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
        ask = FetchRequest(
            replica_id=-1, max_wait_ms=0, min_bytes=1, isolation_level=isolation,
            topics=[FetchTopic(topic="t", partitions=[part])],
        )  # fmt: skip
        row = client.ask(ask, 12).responses[0].partitions[0]
        aborted = row.aborted_transactions
        return (
            [b.base_offset for b in split_batches(row.records)],
            aborted and [(a.producer_id, a.first_offset) for a in aborted],
            row.last_stable_offset,
        )

    assert read(1) == ([0, 1], [(txn.id, 0)], 2)
    assert read(0) == ([0, 1, 2], None, 2)
    assert read(1, offset=2) == ([], [], 2)


def test_end_is_idempotent(txn):
    txn.produce(0)
    assert txn.end(epoch=0) == 0
    assert txn.end(epoch=0) == 0  # the answer was lost
    assert txn.epoch == 1
    assert txn.end(commit=False, epoch=0) == 48


def test_end_of_nothing(txn):
    assert txn.end() == 48
    assert txn.end(commit=False) == 0
    assert txn.epoch == 1


def test_while_markers_are_outstanding(cluster, txn):
    cluster.settings.completion_delay = math.inf
    txn.produce(0)
    assert txn.end() == 0
    assert cluster.transactions["id"].state.value == "PrepareCommit"
    assert cluster.log("t").last_stable_offset == 0
    assert txn.end(epoch=0) == 51
    assert txn.end(commit=False, epoch=0) == 48
    assert txn.produce(0) == 51
    assert txn.init() == 51
    cluster.complete_transaction("id")
    assert cluster.log("t").last_stable_offset == 2
    assert txn.produce(0) == 0


def test_markers_come_after_the_delay(cluster, txn):
    cluster.settings.completion_delay = 0.05
    txn.produce(0)
    assert txn.end() == 0
    cluster.wait_until(lambda: cluster.log("t").markers())


def test_the_old_protocol_needs_add_partitions(cluster, txn):
    assert txn.produce(0, version=9) == 48
    assert txn.produce(0, version=11) == 120
    assert txn.add(0) == [0]
    assert txn.produce(0, version=9) == 0
    assert txn.produce(0, version=9, partition=1) == 48
    assert txn.end(version=3) == 0
    assert txn.end(version=3) == 0
    assert txn.end(version=3, commit=False) == 48
    assert txn.epoch == 0
    assert cluster.log("t").markers() == [(1, txn.id, 0, True)]
    assert txn.add(0, 1) == [0, 0]
    assert txn.produce(1, version=9) == 0  # the sequence goes on


def test_old_and_new_mixed(txn):
    txn.add(0)
    assert txn.produce(0, version=9) == 0
    assert txn.end() == 0
    assert txn.epoch == 1


def test_add_partitions_of_an_unknown_topic_adds_none(txn):
    assert txn.add(0, 7) == [55, 3]
    assert txn.produce(0, version=9) == 48


def test_fencing(cluster, client, txn):
    txn.produce(0, b"zombie")
    other = RawTransaction(client)
    assert other.init() == 51
    assert other.init() == 0
    assert (other.id, other.epoch) == (txn.id, 2)
    assert cluster.log("t").markers() == [(1, txn.id, 1, False)]
    assert txn.produce(1) == 47
    assert txn.end() == 90
    assert txn.end(version=1) == 47
    assert txn.add(0) == [90]
    assert txn.add(0, version=1) == [47]
    assert txn.init(txn.id, txn.epoch) == 90
    assert txn.init(txn.id, txn.epoch, version=3) == 47
    ask = AddOffsetsToTxnRequest(transactional_id="id", producer_id=txn.id, producer_epoch=0, group_id="g")
    assert client.ask(ask, 3).error_code == 90
    assert other.produce(0) == 0


def test_own_epoch_bump(txn):
    assert txn.init(txn.id, 0) == 0
    assert txn.epoch == 1
    assert txn.init(txn.id, 0) == 0  # asked again
    assert txn.epoch == 1
    assert txn.init(txn.id, 1) == 0
    assert txn.epoch == 2


def test_init_refuses(client):
    assert RawTransaction(client, name="").init() == 42
    assert RawTransaction(client, timeout=900_001).init() == 50


def test_epochs_run_out(cluster, client):
    cluster.next_producer_id(500, epoch=32_765)
    txn = RawTransaction(client)
    txn.init()
    assert (txn.id, txn.epoch) == (500, 32_765)
    txn.produce(0)
    txn.end()
    assert (txn.id, txn.epoch) == (500, 32_766)
    txn.produce(0)
    txn.end()
    assert (txn.id, txn.epoch) == (501, 0)
    assert txn.produce(0) == 0
    assert [m[1:3] for m in cluster.log("t").markers()] == [(500, 32_766), (500, 32_767)]


def test_end_that_overflowed_may_be_asked_again(cluster, client):
    cluster.next_producer_id(500, epoch=32_766)
    txn = RawTransaction(client)
    txn.init()
    txn.produce(0)
    txn.end()
    txn.id = 500
    assert txn.end(epoch=32_766) == 0
    assert (txn.id, txn.epoch) == (501, 0)


def test_init_at_the_last_epoch_gives_a_new_id(cluster, client):
    cluster.next_producer_id(500, epoch=32_766)
    txn = RawTransaction(client)
    txn.init()
    assert txn.init() == 0
    assert (txn.id, txn.epoch) == (501, 0)


def test_a_transaction_that_expires_is_aborted(cluster, txn):
    txn.produce(0)
    cluster.expire_transaction("id")
    assert cluster.log("t").markers() == [(1, txn.id, 1, False)]
    assert txn.end() == 48
    assert txn.produce(1) == 47


def test_the_timer_of_a_transaction(cluster, client):
    txn = RawTransaction(client, timeout=50)
    txn.init()
    txn.produce(0)
    cluster.wait_until(lambda: cluster.log("t").markers())


def test_a_batch_without_the_bit_is_stored_at_once(cluster, client, txn):
    raw = batch(b"loose", producer_id=txn.id, epoch=0, sequence=0)
    ask = produce_request("t", raw, transactional_id="id")
    assert client.ask(ask, 12).responses[0].partition_responses[0].error_code == 0
    assert cluster.log("t").values(committed=True) == [b"loose"]
    assert cluster.log("t").last_stable_offset == 1


def test_offsets_are_added_by_themselves_and_committed_with_the_transaction(cluster, txn):
    assert txn.commit_offsets(5) == 0
    assert cluster.committed_offsets("g") == {}
    assert txn.end() == 0
    assert cluster.committed_offsets("g") == {TopicPartition("t", 0): 5}
    assert txn.commit_offsets(9) == 0
    assert txn.end(commit=False) == 0
    assert cluster.committed_offsets("g") == {TopicPartition("t", 0): 5}


def test_the_old_protocol_needs_add_offsets(cluster, txn):
    assert [txn.commit_offsets(1, version=v) for v in (0, 3, 4)] == [48, 48, 120]
    assert txn.add_group() == 0
    assert txn.commit_offsets(1, version=3) == 0
    assert txn.commit_offsets(2, version=3, generation_id_or_member_epoch=7, member_id="unknown") == 25
    assert txn.end(version=3) == 0
    assert cluster.committed_offsets("g") == {TopicPartition("t", 0): 1}


def test_a_zombie_commits_no_offsets(cluster, client, txn):
    txn.commit_offsets(5)
    other = RawTransaction(client)
    assert [other.init(), other.init()] == [51, 0]
    assert txn.commit_offsets(6) == 47
    assert cluster.committed_offsets("g") == {}


def test_the_wrong_node_is_no_coordinator():
    with FakeCluster(2, topics={"t": 1}) as cluster:
        cluster.move_coordinator("transaction", "id", 1)
        cluster.move_coordinator("group", "g", 2)
        with RawClient(cluster.address(1)) as right, RawClient(cluster.address(2)) as wrong:
            txn = RawTransaction(right)
            assert txn.init() == 0
            assert txn.commit_offsets(1) == 16
            txn.client = wrong
            assert (txn.init(), txn.end(), txn.add(0)) == (16, 16, [16])
            assert txn.add_group() == 16
            assert txn.commit_offsets(1) == 0
