"""Groups, committed offsets and transactions, replayed as coordinators load them."""

from kcli.core.offline.coordinator_log import CoordinatorLog
from kcli.core.offline.group_state import _TYPES, GroupState
from kcli.core.offline.share_state import SharePartition, ShareStart, ShareState
from kcli.core.offline.transaction_state import StoredTransactions, state_name
from kcli.core.protocol.stored import group_records as stored
from kcli.core.protocol.stored import share_records as shares
from kcli.core.protocol.stored import transaction_records as txn
from kcli.core.records.batch import RecordBatch
from kcli.core.types import TopicPartition
from tests.unit.core.offline.stored import TRANSACTIONAL, Pair, batch, keyed, marker

T0 = TopicPartition("t", 0)


def commit(group: str, offset: int | None, tp: TopicPartition = T0, version: int | None = None) -> Pair:
    key = stored.OffsetCommitKey(group=group, topic=tp.topic, partition=tp.partition)
    if offset is None:
        return keyed(key, None)
    value = stored.OffsetCommitValue(
        offset=offset, leader_epoch=4, metadata="m", commit_timestamp=5, expire_timestamp=-1
    )
    return keyed(key, value, version)


def in_transaction(offset: int, producer: int, *pairs: Pair) -> RecordBatch:
    return batch(offset, pairs, producer=producer, flags=TRANSACTIONAL)


def state_of(*batches: RecordBatch) -> GroupState:
    log, state = CoordinatorLog(), GroupState()
    log.replay(batches)
    state.add(log)
    return state


def offsets(state: GroupState) -> dict[str, dict[TopicPartition, int]]:
    return {
        name: {tp: one.offset for tp, one in group.offsets.items()} for name, group in state.groups.items()
    }


def test_the_newest_commit_counts_and_a_tombstone_deletes() -> None:
    state = state_of(batch(0, [commit("a", 1), commit("b", 1), commit("a", 2), commit("b", None)]))
    assert offsets(state) == {"a": {T0: 2}}
    found = state.groups["a"]
    assert (found.group_type, found.protocol_type, found.epoch) == ("classic", "", -1)
    assert found.offsets[T0][1:4] == (4, "m", 5)


def test_commits_of_old_versions_are_read() -> None:
    for version in (0, 1, 2, 3, 4):
        state = state_of(batch(0, [commit("a", 7, version=version)]))
        assert offsets(state) == {"a": {T0: 7}}
    key, value = commit("a", 9)
    assert key is not None
    state = state_of(batch(0, [commit("a", 7), (b"\0\0" + key[2:], value)]))
    assert offsets(state) == {"a": {T0: 9}}, "a key of version 0 is the same commit"


def test_offsets_of_transactions_wait_for_their_end() -> None:
    state = state_of(
        in_transaction(0, 5, commit("committed", 1)),
        in_transaction(1, 6, commit("aborted", 1)),
        in_transaction(2, 7, commit("open", 1)),
        marker(3, 5, committed=True),
        marker(4, 6, committed=False),
    )
    assert offsets(state) == {"committed": {T0: 1}, "open": {}}
    assert state.groups["open"].pending == {T0}
    assert not state.groups["committed"].pending


def test_a_transaction_does_not_replace_what_was_committed_after_it_wrote() -> None:
    state = state_of(
        in_transaction(0, 5, commit("a", 1)), batch(1, [commit("a", 2)]), marker(2, 5, committed=True)
    )
    assert offsets(state) == {"a": {T0: 2}}


def test_a_deleted_offset_stays_deleted_when_an_older_transaction_commits() -> None:
    state = state_of(
        in_transaction(0, 5, commit("a", 1)), batch(1, [commit("a", None)]), marker(2, 5, committed=True)
    )
    assert offsets(state) == {}


def test_groups_have_the_type_of_their_records() -> None:
    member = stored.MemberMetadata(
        member_id="m", client_id="c", client_host="h", session_timeout=1, subscription=b"", assignment=b""
    )
    classic = stored.GroupMetadataValue(
        protocol_type="connect", generation=3, protocol="p", leader="m", members=[member]
    )
    metadata = stored.ShareGroupStatePartitionMetadataValue(
        initializing_topics=[], initialized_topics=[], deleting_topics=[]
    )
    state = state_of(
        batch(
            0,
            [
                keyed(stored.GroupMetadataKey(group="k"), classic),
                keyed(
                    stored.ConsumerGroupMetadataKey(group_id="c"), stored.ConsumerGroupMetadataValue(epoch=4)
                ),
                keyed(stored.ShareGroupStatePartitionMetadataKey(group_id="s"), metadata),
                keyed(
                    stored.StreamsGroupMetadataKey(group_id="x"),
                    stored.StreamsGroupMetadataValue(epoch=5, metadata_hash=1),
                ),
            ],
        )
    )
    found = {name: (one.group_type, one.protocol_type, one.epoch) for name, one in state.groups.items()}
    assert found == {
        "k": ("classic", "connect", 3),
        "c": ("consumer", "consumer", 4),
        "s": ("share", "share", -1),
        "x": ("streams", "streams", 5),
    }


def test_a_group_that_changes_its_type_is_what_it_became() -> None:
    value = stored.GroupMetadataValue(
        protocol_type="consumer", generation=3, protocol="p", leader="m", members=[]
    )
    classic, modern = stored.GroupMetadataKey(group="g"), stored.ConsumerGroupMetadataKey(group_id="g")
    upgraded = [
        keyed(classic, value),
        keyed(classic, None),
        keyed(modern, stored.ConsumerGroupMetadataValue(epoch=4)),
    ]
    assert state_of(batch(0, upgraded)).groups["g"].group_type == "consumer"
    downgraded = [*upgraded, keyed(modern, None), keyed(classic, value)]
    assert state_of(batch(0, downgraded)).groups["g"].group_type == "classic"


def test_what_is_from_a_newer_broker_is_named() -> None:
    key, _value = commit("a", 1)
    state = state_of(batch(0, [(b"\0\x63key", b"\0\0"), (key, b"\0\x63")]))
    assert state.unknown == {"type 99 version 0": 1, "OffsetCommit version 99": 1}
    assert not state.groups


def test_transactions_are_as_their_newest_record_says() -> None:
    def of(name: str, status: int | None) -> Pair:
        key = txn.TransactionLogKey(transactional_id=name)
        if status is None:
            return keyed(key, None)
        value = txn.TransactionLogValue(
            producer_id=9, producer_epoch=1, transaction_timeout_ms=60, transaction_status=status,
            transaction_partitions=None, transaction_last_update_timestamp_ms=2, transaction_start_timestamp_ms=1,
        )  # fmt: skip
        return keyed(key, value)

    log, state = CoordinatorLog(), StoredTransactions()
    log.replay([batch(0, [of("a", 0), of("a", 1), of("b", 4), of("b", None), of("c", 5)])])
    state.add(log)
    found = {name: state_name(value) for name, value in state.transactions.items()}
    assert found == {"a": "Ongoing", "c": "CompleteAbort"}


def test_an_update_of_a_share_partition_follows_its_snapshot() -> None:
    key = {"group_id": "s", "topic_id": b"a" * 16, "partition": 0}
    snapshot = shares.ShareSnapshotValue(
        snapshot_epoch=1, state_epoch=1, leader_epoch=2, start_offset=10, delivery_complete_count=1, create_timestamp=1,
        write_timestamp=1, state_batches=[],
    )  # fmt: skip
    update = shares.ShareUpdateValue(
        snapshot_epoch=1, leader_epoch=3, start_offset=-1, delivery_complete_count=4, state_batches=[]
    )
    log, state = CoordinatorLog(), ShareState()
    log.replay(
        [
            batch(
                0,
                [
                    keyed(shares.ShareSnapshotKey(**key), snapshot),
                    keyed(shares.ShareUpdateKey(**key), update),
                ],
            )
        ]
    )
    state.add(log)
    assert state.starts == {SharePartition("s", b"a" * 16, 0): ShareStart(10, 3, 4)}


def test_every_kind_of_record_belongs_to_a_type_of_group() -> None:
    others = [
        value.__name__
        for _key, value in stored.KINDS.values()
        if not value.__name__.startswith(tuple(_TYPES))
    ]
    assert others == ["OffsetCommitValue"]
