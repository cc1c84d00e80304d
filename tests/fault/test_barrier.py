"""A group that is rewound from outside while its members read (``core/group/barrier``), on the fake cluster."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from kcli.core import Admin, Consumer
from kcli.core.errors import KcliError, MembershipError
from kcli.core.group.barrier.barrier import HoldTimes
from kcli.core.group.barrier.external import ExternalBarrier
from kcli.core.options import ConsumerOptions
from kcli.core.protocol.messages.join_group import JoinGroupRequest
from kcli.core.protocol.messages.leave_group import LeaveGroupRequest
from kcli.core.types import GroupMetadata, OffsetAndMetadata, TopicPartition
from tests.fake.cluster import FakeCluster
from tests.fault.producing import PATIENCE, numbers, quick, send
from tests.rewinding import QUICK, Others, filled_cluster, others, wait_for

PARTITIONS = 4
TPS = [TopicPartition("t", partition) for partition in range(PARTITIONS)]
TARGETS = {tp: OffsetAndMetadata(3 + tp.partition, "kept") for tp in TPS}
KINDS = pytest.mark.parametrize(
    ("options", "assignor"),
    [
        ({"partition_assignment_strategy": "range"}, "range"),
        ({"partition_assignment_strategy": "cooperative-sticky"}, "cooperative-sticky"),
        ({"group_protocol": "consumer"}, ""),
    ],
    ids=["eager", "cooperative", "consumer"],
)


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with filled_cluster(PARTITIONS) as made:
        yield made


def hold(cluster: FakeCluster, options: dict[str, Any], assignor: str, **more: Any) -> ExternalBarrier:
    protocol = options.get("group_protocol", "classic")
    made = ConsumerOptions(
        bootstrap_servers=cluster.bootstrap,
        group_id="g",
        group_protocol=protocol,
        session_timeout_ms=6_000,
        heartbeat_interval_ms=200,
        **more,
    )
    return ExternalBarrier(made, assignor=assignor, topics=["t"] if protocol == "consumer" else [])


@contextmanager
def reading(cluster: FakeCluster, options: dict[str, Any]) -> Iterator[Others]:
    """Two members that have read and committed everything."""
    with others(cluster.bootstrap, "t", "g", 2, **QUICK, **options) as group:
        wait_for(lambda: list(cluster.committed_offsets("g").values()) == [50] * PARTITIONS)
        wait_for(lambda: len(cluster.group_members("g")) == 2 and cluster.group_state("g") == "Stable")
        yield group


@pytest.mark.case("O11", "O12", "O13")
@KINDS
def test_members_begin_at_the_offsets_that_were_set(
    cluster: FakeCluster, options: dict[str, Any], assignor: str
) -> None:
    with reading(cluster, options) as group:
        with hold(cluster, options, assignor) as barrier:
            barrier.seize(PATIENCE)
            assert len(barrier.arrival_log.evicted) == 2
            before = barrier.committed(TPS, PATIENCE)
            assert [place.offset for place in before.values() if place] == [50] * PARTITIONS
            group.watch()
            assert barrier.commit(TARGETS, PATIENCE) == dict.fromkeys(TPS)
            assert barrier.hold(TARGETS, PATIENCE, HoldTimes(members=PATIENCE)) == 2
            assert group.first == {}, "nobody reads while the group is held"
            assert barrier.commit(TARGETS, PATIENCE) == dict.fromkeys(TPS)
            assert barrier.committed(TPS, PATIENCE) == TARGETS
        wait_for(lambda: len(group.first) == PARTITIONS)
        assert group.first == {tp.partition: place.offset for tp, place in TARGETS.items()}
        wait_for(lambda: list(cluster.committed_offsets("g").values()) == [50] * PARTITIONS)
        assert len(cluster.group_members("g")) == 2


@KINDS
def test_a_dry_run_leaves_the_group_where_it_was(
    cluster: FakeCluster, options: dict[str, Any], assignor: str
) -> None:
    with reading(cluster, options) as group:
        group.watch()
        with hold(cluster, options, assignor) as barrier:
            barrier.seize(PATIENCE)
        wait_for(lambda: len(cluster.group_members("g")) == 2 and cluster.group_state("g") == "Stable")
        assert not barrier.may_have_committed
        with quick(cluster) as producer:
            for partition in range(PARTITIONS):
                send(producer, "t", partition, *numbers(1))
        wait_for(lambda: group.first == dict.fromkeys(range(PARTITIONS), 50))


@KINDS
def test_a_barrier_that_dies_lets_the_group_continue_at_the_new_offsets(
    cluster: FakeCluster, options: dict[str, Any], assignor: str
) -> None:
    """As SIGKILL would have it: no heartbeat any more, and no word of leaving."""
    with reading(cluster, options) as group:
        group.watch()
        barrier = hold(cluster, options, assignor)
        barrier.seize(PATIENCE)
        barrier.commit(TARGETS, PATIENCE)
        barrier._heartbeat._must_end = True
        barrier._heartbeat.wake()
        cluster.evict("g", barrier._membership.member_id)  # what its session timeout does
        wait_for(lambda: len(group.first) == PARTITIONS)
        assert group.first == {tp.partition: place.offset for tp, place in TARGETS.items()}
        barrier.release()


def test_the_group_is_never_empty(cluster: FakeCluster) -> None:
    """An empty group accepts commits from any client: the barrier waits before it evicts the other members."""
    with reading(cluster, {}), hold(cluster, {}, "range") as barrier:
        before = len(cluster.group_members("g"))
        counts: list[int] = []

        def look(_request: Any) -> bool:
            counts.append(len(cluster.group_members("g")))
            return False

        cluster.fail(LeaveGroupRequest, 0, when=look)
        barrier.seize(PATIENCE)
        assert counts[0] == before + 1


def test_no_permission_is_reported_and_changes_nothing(cluster: FakeCluster) -> None:
    with reading(cluster, {}) as group:
        cluster.fail(JoinGroupRequest, 30, when=lambda r: not r.member_id)  # GROUP_AUTHORIZATION_FAILED
        with (
            hold(cluster, {}, "range") as barrier,
            pytest.raises(KcliError, match="GROUP_AUTHORIZATION_FAILED"),
        ):
            barrier.seize(PATIENCE)
        assert group.failures == []
        assert set(cluster.committed_offsets("g").values()) == {50}


def test_an_assignor_that_the_members_do_not_have_is_refused(cluster: FakeCluster) -> None:
    with (
        reading(cluster, {"partition_assignment_strategy": "range"}),
        hold(cluster, {}, "nobodys") as barrier,
        pytest.raises(MembershipError, match="cannot join"),
    ):
        barrier.seize(PATIENCE)


@KINDS
def test_another_guard_is_noticed_before_anything_is_committed(
    cluster: FakeCluster, options: dict[str, Any], assignor: str
) -> None:
    with reading(cluster, options), hold(cluster, options, assignor) as barrier:
        barrier.seize(PATIENCE)
        cluster.evict("g", barrier._membership.member_id)
        with pytest.raises(MembershipError, match=r"another rewind .* nothing was committed"):
            barrier.commit(TARGETS, PATIENCE)
        assert set(cluster.committed_offsets("g").values()) == {50}


@KINDS
def test_late_commits_of_members_are_accepted_and_corrected_before_the_release(
    cluster: FakeCluster, options: dict[str, Any], assignor: str
) -> None:
    """aiokafka sends a worker's commit when it has joined again, and applications commit again what was refused."""
    with reading(cluster, options) as group, hold(cluster, options, assignor) as barrier:
        barrier.seize(PATIENCE)
        barrier.commit(TARGETS, PATIENCE)
        group.watch()
        assert barrier.hold(TARGETS, PATIENCE) == 2
        own_id, told = barrier._membership.member_id, []

        def commit_what_was_kept() -> None:
            wait_for(
                lambda: all(one.unassigned_since is not None for one in barrier.arrival_log.present.values())
            )
            one = next(view for name, view in cluster.group_members("g").items() if name != own_id)
            who = GroupMetadata("g", one.epoch, one.id)
            with Admin(bootstrap_servers=cluster.bootstrap) as admin:
                told.append(admin.commit_offsets({who: {TPS[0]: OffsetAndMetadata(49)}})["g"])

        member = threading.Thread(target=commit_what_was_kept)
        member.start()
        assert barrier.hold(TARGETS, PATIENCE, HoldTimes(0.0, 1.0)) == 2
        member.join(PATIENCE)
        assert told == [{TPS[0]: None}], "a member may commit"
        assert cluster.committed_offsets("g") == {tp: place.offset for tp, place in TARGETS.items()}
        owned = [view.partitions for name, view in cluster.group_members("g").items() if name != own_id]
        assert not any(owned), "and owns nothing"
        assert group.first == {}
        barrier.release()
        wait_for(lambda: len(group.first) == PARTITIONS)
        assert group.first == {tp.partition: place.offset for tp, place in TARGETS.items()}


@contextmanager
def polled(cluster: FakeCluster) -> Iterator[threading.Lock]:
    """One more member, which is polled except by whoever holds the lock; its heartbeats continue."""
    ended, polling = threading.Event(), threading.Lock()

    def run() -> None:
        with Consumer(bootstrap_servers=cluster.bootstrap, group_id="g", **QUICK) as consumer:
            consumer.subscribe("t")
            while not ended.is_set():
                with polling:
                    consumer.poll(0.05)
                ended.wait(0.01)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield polling
    finally:
        ended.set()
        thread.join(PATIENCE)


def test_a_member_that_does_not_join_again_is_not_waited_for_until_its_rebalance_timeout(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All are sent out once more, which ends the rebalance that waits for it."""
    monkeypatch.setattr("kcli.core.group.barrier.classic.HOLD_SECONDS", 0.5)
    with reading(cluster, {}) as group, polled(cluster) as polling, ExitStack() as still:
        wait_for(lambda: len(cluster.group_members("g")) == 3 and cluster.group_state("g") == "Stable")
        with hold(cluster, {}, "range") as barrier:
            barrier.seize(PATIENCE)
            barrier.commit(TARGETS, PATIENCE)
            assert barrier.hold(TARGETS, PATIENCE) == 3
            barrier.hold(TARGETS, PATIENCE, HoldTimes(0.0, 0.2))
            still.enter_context(polling)  # from here on it is in no poll
            generation = cluster.group_generation("g")
            cluster.force_rebalance("g")
            assert barrier.hold(TARGETS, PATIENCE, HoldTimes(quiet=0.2)) == 2
            assert cluster.group_generation("g") > generation
            group.watch()
        wait_for(lambda: len(group.first) == PARTITIONS)
        assert group.first == {tp.partition: place.offset for tp, place in TARGETS.items()}


def test_a_group_without_members_is_held_as_well(cluster: FakeCluster) -> None:
    """They may have left since it was looked at."""
    with Consumer(bootstrap_servers=cluster.bootstrap, group_id="g", **QUICK) as consumer:
        consumer.commit({TPS[0]: OffsetAndMetadata(9)})
    with hold(cluster, {}, "range") as barrier:
        barrier.seize(PATIENCE)
        assert barrier.arrival_log.evicted == ()
        assert barrier.commit(TARGETS, PATIENCE) == dict.fromkeys(TPS)
    assert threading.active_count() < 20
