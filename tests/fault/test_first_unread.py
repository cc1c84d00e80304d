"""The first record that a group has not read, on the fake cluster."""

from collections.abc import Iterator

import pytest

from kcli.core import Admin
from kcli.core.admin.first_records import FirstRecord
from kcli.core.error_codes import TOPIC_AUTHORIZATION_FAILED
from kcli.core.errors import BrokerError, KcliError
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.types import Record, TopicPartition
from kcli.flows.groups.first_records import PartitionOffset
from kcli.flows.transfer.exporting import DRAINED, Unread, first_unread
from tests.batches import batch_of
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import RawClient
from tests.fake.raw_transaction import RawTransaction
from tests.fault.producing import DEADLINE

STAMP = 1_700_000_000_000


def put(cluster: FakeCluster, partition: int, *offsets: int, base: int) -> None:
    """A batch that begins at ``base``, with records at these offsets: others were compacted away."""
    rows = [Record("t", partition, offset, STAMP + offset, 0, None, b"v") for offset in offsets]
    assert offsets[0] == base
    cluster.append("t", partition, bytes(batch_of(rows).raw))


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(2, topics={"t": 3}) as found:
        for base in (0, 4):
            put(found, 0, *range(base, base + 4), base=base)
        put(found, 1, 0, 5, base=0)
        yield found


def look(cluster: FakeCluster, *places: PartitionOffset, timeout: float = 5.0) -> list[Unread | KcliError]:
    with Admin(bootstrap_servers=cluster.bootstrap, timeout=timeout) as admin:
        found = first_unread(admin, places)
    return [found[place] for place in places]


def at(partition: int, offset: int) -> PartitionOffset:
    return TopicPartition("t", partition), offset


def test_many_partitions_and_several_positions_in_one(cluster: FakeCluster) -> None:
    assert look(cluster, at(0, 5), at(0, 0), at(0, 8), at(1, 1), at(1, 6), at(2, 0), at(2, 99)) == [
        Unread(STAMP + 5, drained=False),
        Unread(STAMP, drained=False),
        DRAINED,
        Unread(STAMP + 5, drained=False),
        DRAINED,
        DRAINED,
        DRAINED,
    ]


def test_many_positions_in_one_partition_are_a_request_each() -> None:
    with FakeCluster(1, topics={"t": 1}) as cluster:
        for base in range(0, 100, 4):
            put(cluster, 0, *range(base, base + 4), base=base)
        places = [at(0, offset) for offset in range(100)]
        assert look(cluster, *places) == [Unread(STAMP + offset, drained=False) for offset in range(100)]
        assert len(cluster.seen(FetchRequest)) == 100


def test_one_refused_position_does_not_affect_the_rest(cluster: FakeCluster) -> None:
    with Admin(bootstrap_servers=cluster.bootstrap, timeout=5) as admin:
        found = admin.first_records([at(0, 3), at(0, 99), at(0, 3), at(0, 6)])
    assert list(found) == [at(0, 3), at(0, 99), at(0, 6)]
    assert found[at(0, 3)] == FirstRecord(3, STAMP + 3)
    assert found[at(0, 6)] == FirstRecord(6, STAMP + 6)
    error = found[at(0, 99)]
    assert isinstance(error, BrokerError)
    assert "reading the first record of t-0@99" in str(error)


def test_what_was_deleted_under_a_commit_is_passed_over(cluster: FakeCluster) -> None:
    cluster.delete_records("t", 0, 6)
    assert look(cluster, at(0, 2)) == [Unread(STAMP + 6, drained=False)]


def test_a_missing_partition_does_not_affect_the_rest(cluster: FakeCluster) -> None:
    first, second = look(cluster, at(7, 0), at(0, 1), timeout=DEADLINE)
    assert isinstance(first, KcliError)
    assert second == Unread(STAMP + 1, drained=False)


def test_aborted_transactions_and_markers_are_passed_over() -> None:
    place = TopicPartition("txn", 0), 0
    with FakeCluster(1, topics={"txn": 1}) as cluster, RawClient(cluster.address(1)) as client:
        transaction = RawTransaction(client, topic="txn")
        assert transaction.init() == 0
        assert transaction.produce(0, b"gone") == 0
        assert transaction.end(commit=False) == 0
        assert look(cluster, place) == [DRAINED]
        assert transaction.produce(0, b"kept") == 0
        (waited_for,) = look(cluster, place)  # nobody may read it yet, and nothing is drained
        assert isinstance(waited_for, Unread)
        assert not waited_for.drained
        assert waited_for.timestamp is not None
        assert transaction.end(commit=True) == 0
        (found,) = look(cluster, place)
    assert isinstance(found, Unread)
    assert not found.drained


def test_an_unauthorized_partition_does_not_affect_the_rest(cluster: FakeCluster) -> None:
    cluster.fail(FetchRequest, TOPIC_AUTHORIZATION_FAILED, where=TopicPartition("t", 1), times=50)
    first, second = look(cluster, at(1, 0), at(0, 3))
    assert isinstance(first, KcliError)
    assert first.exit_code == 4
    assert second == Unread(STAMP + 3, drained=False)
