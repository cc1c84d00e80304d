"""Transactions and producers of log directories: filters, open transactions, snapshots."""

import json
from pathlib import Path

from kcli.core import clock
from kcli.core.logdir.producer_snapshot import ProducerState
from kcli.core.offline.directories import Directories
from kcli.core.offline.image import TOPIC
from kcli.core.offline.producers import Producer, replayed
from kcli.core.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from kcli.core.protocol.messages.describe_quorum import DescribeQuorumRequest
from kcli.core.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from kcli.core.protocol.messages.describe_transactions import DescribeTransactionsRequest
from kcli.core.protocol.messages.list_transactions import ListTransactionsRequest
from kcli.core.protocol.stored import group_records as group
from kcli.core.protocol.stored import metadata_records as stored
from kcli.core.protocol.stored import share_records as shares
from kcli.core.protocol.stored import transaction_records as txn
from tests.unit.core.offline.stored import (
    TRANSACTIONAL,
    Pair,
    batch,
    keyed,
    marker,
    metadata_batch,
    write_log,
    write_log_dir,
)
from tests.unit.core.offline.test_states import answer, broker, partition, topic

ONGOING, COMMITTED, DEAD = 1, 4, 6


def state(name: str, producer: int, status: int, start_ms: int = 0) -> Pair:
    partitions = [txn.PartitionsSchema(topic="orders", partition_ids=[0, 2])]
    value = txn.TransactionLogValue(
        producer_id=producer, producer_epoch=1, transaction_timeout_ms=60, transaction_status=status,
        transaction_partitions=partitions, transaction_last_update_timestamp_ms=2,
        transaction_start_timestamp_ms=start_ms,
    )  # fmt: skip
    return keyed(txn.TransactionLogKey(transactional_id=name), value)


def directories_of(folder: Path, topic_name: str, *pairs: Pair) -> Directories:
    """One broker with one partition of this topic."""
    write_log_dir(folder)
    records = [broker(1), topic(topic_name), partition(0)]
    write_log(folder / f"{TOPIC}-0", [metadata_batch(0, *records)])
    write_log(folder / f"{topic_name}-0", [batch(0, pairs)])
    return Directories([str(folder)])


def test_transactions_are_listed_by_state_producer_name_and_age(tmp_path: Path) -> None:
    now = clock.wall_ms()
    directories = directories_of(
        tmp_path,
        "__transaction_state",
        state("pay-1", 1, ONGOING, now - 3_600_000),
        state("pay-2", 2, COMMITTED),
        state("other", 3, ONGOING, now + 3_600_000),
        state("gone", 4, DEAD),
    )

    def names(**wanted: object) -> set[str]:
        given = {"state_filters": [], "producer_id_filters": [], **wanted}
        response = answer(directories, ListTransactionsRequest(**given))
        assert not response.error_code
        return {one.transactional_id for one in response.transaction_states}

    assert names() == {"pay-1", "pay-2", "other"}
    assert names(state_filters=["Ongoing"]) == {"pay-1", "other"}
    assert names(producer_id_filters=[2, 4]) == {"pay-2"}
    assert names(transactional_id_pattern="pay-.*") == {"pay-1", "pay-2"}
    assert names(duration_filter=60_000) == {"pay-1"}
    unknown = answer(directories, ListTransactionsRequest(state_filters=["No"], producer_id_filters=[]))
    assert unknown.unknown_state_filters == ["No"]
    request = DescribeTransactionsRequest(transactional_ids=["pay-1", "gone", "nosuch"])
    found, gone, nosuch = answer(directories, request).transaction_states
    assert (found.transaction_state, found.producer_id, found.topics[0].partitions) == ("Ongoing", 1, [0, 2])
    assert gone.error_code == nosuch.error_code == 105


def test_producers_are_those_of_the_snapshot_and_of_what_follows_it() -> None:
    record: list[Pair] = [(None, b"v")]
    snapshot = [ProducerState(1, 0, 7, 9, 0, 50, 3, 4), ProducerState(2, 0, 1, 1, 0, 50, -1, -1)]
    batches = [
        batch(10, record, producer=2, flags=TRANSACTIONAL),
        batch(11, record),
        marker(12, 1, committed=True),
        batch(13, record, producer=2, flags=TRANSACTIONAL),
        batch(14, record, producer=5),
    ]
    found = {one.producer_id: one for one in replayed(snapshot, batches)}
    assert found.keys() == {1, 2, 5}
    assert (found[1].first_offset, found[1].last_sequence, found[1].coordinator_epoch) == (-1, 7, 0)
    assert (found[2].first_offset, found[2].coordinator_epoch) == (10, -1)
    assert found[5] == Producer(5, 0, found[5].last_sequence, 1_000, -1, -1)


def test_an_open_transaction_of_a_partition_has_its_first_offset(tmp_path: Path) -> None:
    write_log_dir(tmp_path)
    record: list[Pair] = [(None, b"v")]
    write_log(tmp_path / "orders-0", [batch(0, record), batch(1, record, producer=9, flags=TRANSACTIONAL)])
    request = DescribeProducersRequest(topics=[TopicRequest(name="orders", partition_indexes=[0, 1])])
    here, absent = answer(Directories([str(tmp_path)]), request).topics[0].partitions
    assert [(one.producer_id, one.current_txn_start_offset) for one in here.active_producers] == [(9, 1)]
    assert absent.error_code


def test_the_lag_of_a_share_group_is_what_follows_without_the_complete_ones(tmp_path: Path) -> None:
    topic_id = b"o" * 16
    rows = [group.TopicPartitionsInfo(topic_id=topic_id, topic_name="orders", partitions=[0])]
    metadata = group.ShareGroupStatePartitionMetadataValue(
        initializing_topics=[], initialized_topics=rows, deleting_topics=[]
    )
    key = group.ShareGroupStatePartitionMetadataKey(group_id="work")
    directories_of(tmp_path, "__consumer_offsets", keyed(key, metadata))
    names = ("__consumer_offsets", "__share_group_state", "orders")
    ids = (b"t" * 16, b"s" * 16, topic_id)
    topics = [topic(name, one) for name, one in zip(names, ids, strict=True)]
    partitions = [partition(0) for _ in ids]
    for row, one in zip(partitions, ids, strict=True):
        row.topic_id = one
    write_log(tmp_path / f"{TOPIC}-0", [metadata_batch(0, broker(1), *topics, *partitions)])
    snapshot = shares.ShareSnapshotValue(
        snapshot_epoch=1, state_epoch=1, leader_epoch=2, start_offset=3, delivery_complete_count=2, create_timestamp=1,
        write_timestamp=1, state_batches=[],
    )  # fmt: skip
    share_key = shares.ShareSnapshotKey(group_id="work", topic_id=topic_id, partition=0)
    write_log(tmp_path / "__share_group_state-0", [batch(0, [keyed(share_key, snapshot)])])
    write_log(tmp_path / "orders-0", [batch(0, [(None, b"v")] * 10)])
    asked = DescribeShareGroupOffsetsRequestGroup(group_id="work", topics=None)
    response = answer(Directories([str(tmp_path)]), DescribeShareGroupOffsetsRequest(groups=[asked]))
    (row,) = response.groups[0].topics[0].partitions
    assert (row.start_offset, row.leader_epoch, row.lag, row.error_code) == (3, 2, 10 - 3 - 2, 0)


def test_the_voters_are_those_of_the_file_else_the_registered_controllers(tmp_path: Path) -> None:
    write_log_dir(tmp_path)
    folder = tmp_path / f"{TOPIC}-0"
    controllers = [
        stored.RegisterControllerRecord(controller_id=number, end_points=[], features=[]) for number in (7, 8)
    ]
    write_log(folder, [metadata_batch(0, *controllers, epoch=5)])

    def found() -> tuple[int, int, list[int]]:
        response = answer(Directories([str(tmp_path)]), DescribeQuorumRequest(topics=[]))
        part = response.topics[0].partitions[0]
        return part.leader_id, part.leader_epoch, [one.replica_id for one in part.current_voters]

    assert found() == (-1, 5, [7, 8])
    state_file = {"leaderId": 2, "leaderEpoch": 6, "currentVoters": [{"voterId": 1}, {"voterId": 2}]}
    (folder / "quorum-state").write_text(json.dumps(state_file))
    assert found() == (2, 6, [1, 2])
