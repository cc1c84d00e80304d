"""The admin client moves replicas and elects leaders: refusals per partition, lost responses, old brokers."""

import pytest

from kcli.core import Reassignment
from kcli.core.errors import BrokerError, KcliError, NotFoundError, UnsupportedError
from kcli.core.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from kcli.core.protocol.messages.elect_leaders import ElectLeadersRequest
from kcli.core.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from kcli.core.types import TopicPartition
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.script import FOREVER
from tests.fault.administering import T0, T1, T2, administrator

NONE, BEYOND = TopicPartition("none", 0), TopicPartition("t", 9)


def code(error: KcliError | None) -> int:
    assert isinstance(error, BrokerError), error
    return error.code


@pytest.fixture
def held() -> FakeCluster:
    return FakeCluster(4, topics={"t": 3}, hold_reassignments=True)


def test_each_partition_is_moved_or_says_why_not(held: FakeCluster) -> None:
    with held as cluster, administrator(cluster) as admin:
        outcome = admin.alter_reassignments({T0: [1, 2, 4], T1: [2, 77, 1], NONE: [1], BEYOND: [1]})
        assert outcome[T0] is None
        assert code(outcome[T1]) == Code.INVALID_REPLICA_ASSIGNMENT
        assert isinstance(outcome[NONE], NotFoundError)
        assert isinstance(outcome[BEYOND], NotFoundError)
        (found,) = admin.list_reassignments().values()
        assert found == Reassignment((1, 2, 4, 3), (4,), (3,))
        assert (found.target, found.before) == ((1, 2, 4), (1, 2, 3))
        assert admin.list_reassignments([T1]) == {}
        cluster.finish_reassignment("t", 0)
        assert cluster.reassignment("t", 0) == ([1, 2, 4], [], [])


def test_a_cancelled_move_goes_back_and_another_is_none(held: FakeCluster) -> None:
    with held as cluster, administrator(cluster) as admin:
        assert admin.alter_reassignments({T0: [1, 2, 4]}) == {T0: None}
        outcome = admin.alter_reassignments({T0: None, T1: None})
        assert (outcome[T0], code(outcome[T1])) == (None, Code.NO_REASSIGNMENT_IN_PROGRESS)
        assert cluster.reassignment("t", 0) == ([1, 2, 3], [], [])


def test_a_cancellation_whose_response_was_lost_is_done(held: FakeCluster) -> None:
    with held as cluster, administrator(cluster) as admin:
        admin.alter_reassignments({T0: [1, 2, 4]})
        cluster.swallow(AlterPartitionReassignmentsRequest, "reset")
        assert admin.alter_reassignments({T0: None}) == {T0: None}
        assert len(cluster.seen(AlterPartitionReassignmentsRequest)) == 3


def test_the_controller_that_moved_is_found(held: FakeCluster) -> None:
    with held as cluster, administrator(cluster) as admin:
        cluster.fail(AlterPartitionReassignmentsRequest, Code.NOT_CONTROLLER, top=True)
        cluster.fail(ListPartitionReassignmentsRequest, Code.NOT_CONTROLLER, top=True)
        cluster.fail(ElectLeadersRequest, Code.NOT_CONTROLLER, top=True)
        assert admin.alter_reassignments({T0: [1, 2, 4]}) == {T0: None}
        assert set(admin.list_reassignments()) == {T0}
        assert admin.elect_leaders([T1]) == {T1: None}


def test_a_missing_right_is_named(held: FakeCluster) -> None:
    with held as cluster, administrator(cluster) as admin:
        for kind in (
            AlterPartitionReassignmentsRequest,
            ListPartitionReassignmentsRequest,
            ElectLeadersRequest,
        ):
            cluster.fail(kind, Code.CLUSTER_AUTHORIZATION_FAILED, top=True, times=FOREVER)
        for error in (admin.alter_reassignments({T0: [1]})[T0], admin.elect_leaders([T0])[T0]):
            assert isinstance(error, BrokerError)
            assert (error.exit_code, "--operation alter --cluster" in error.do) == (4, True)
        with pytest.raises(BrokerError) as refused:
            admin.list_reassignments()
        assert (refused.value.exit_code, "--operation describe --cluster" in refused.value.do) == (4, True)


def test_brokers_without_the_requests_are_named() -> None:
    with FakeCluster(1, topics={"t": 1}) as cluster, administrator(cluster) as admin:
        cluster.hide(
            AlterPartitionReassignmentsRequest, ListPartitionReassignmentsRequest, ElectLeadersRequest
        )
        for error in (admin.alter_reassignments({T0: [1]})[T0], admin.elect_leaders([T0])[T0]):
            assert isinstance(error, UnsupportedError)
        with pytest.raises(UnsupportedError):
            admin.list_reassignments()
    with FakeCluster(1, topics={"t": 1}) as cluster, administrator(cluster) as admin:
        cluster.cap_versions({ElectLeadersRequest: 0})
        assert isinstance(admin.elect_leaders([T0], unclean=True)[T0], UnsupportedError)
        assert admin.elect_leaders([T0]) == {T0: None}


def test_preferred_leaders_are_elected_where_they_are_in_sync() -> None:
    with FakeCluster(3, topics={"t": 3}) as cluster, administrator(cluster) as admin:
        cluster.move_leader("t", 0, 2)
        cluster.move_leader("t", 1, 3)
        cluster.set_isr("t", 1, [1, 3])
        outcome = admin.elect_leaders([T0, T1, T2, NONE])
        assert (outcome[T0], outcome[T2]) == (None, None)  # T2 needs none
        assert code(outcome[T1]) == Code.PREFERRED_LEADER_NOT_AVAILABLE
        assert isinstance(outcome[NONE], NotFoundError)
        assert [cluster.leader("t", number) for number in range(3)] == [1, 3, 3]
        assert len(cluster.seen(ElectLeadersRequest)) <= 5  # NONE is retried for a second, T1 is not


def test_an_unclean_election_needs_a_replica_that_is_alive() -> None:
    with FakeCluster(3) as cluster, administrator(cluster) as admin:
        cluster.create_topic("t", replicas={0: [3], 1: [3, 2], 2: [1, 2]})
        cluster.set_isr("t", 1, [3])
        cluster.stop(3, fail_over=True)
        outcome = admin.elect_leaders([T0, T1, T2], unclean=True)
        assert code(outcome[T0]) == Code.ELIGIBLE_LEADERS_NOT_AVAILABLE
        assert (outcome[T1], outcome[T2]) == (None, None)
        assert [cluster.leader("t", number) for number in range(3)] == [-1, 2, 1]
