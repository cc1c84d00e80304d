"""A member rewinds its group from its own loop (the client proposal's ``rewind_offsets``), on the fake cluster."""

import itertools
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from kcli.core import Consumer
from kcli.core.errors import ConfigError, KcliError, MembershipError
from kcli.core.group.barrier.arrivals import ListedMember
from kcli.core.group.barrier.classic import ClassicBarrier
from kcli.core.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kcli.core.protocol.messages.describe_groups import DescribeGroupsRequest
from kcli.core.protocol.messages.join_group import JoinGroupRequest
from kcli.core.protocol.messages.leave_group import LeaveGroupRequest
from kcli.core.protocol.messages.offset_commit import OffsetCommitRequest
from kcli.core.protocol.messages.sync_group import SyncGroupRequest
from kcli.core.types import OffsetAndMetadata, TopicPartition
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fault.producing import PATIENCE
from tests.lasting import Moment, lasted
from tests.rewinding import QUICK, filled_cluster, others

PARTITIONS = 4
TARGETS = {TopicPartition("t", partition): 3 + partition for partition in range(PARTITIONS)}
PROTOCOLS = pytest.mark.parametrize(
    "options",
    [
        {"partition_assignment_strategy": "range"},
        {"partition_assignment_strategy": "cooperative-sticky"},
        {"group_protocol": "consumer"},
    ],
    ids=["eager", "cooperative", "consumer"],
)


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with filled_cluster(PARTITIONS) as made:
        yield made


def read_until(consumer: Consumer, done: Any) -> None:
    give_up = time.monotonic() + PATIENCE
    while not done() and time.monotonic() < give_up:
        list(consumer.records(0.05))
    assert done()


@pytest.mark.case("S0-56")
@PROTOCOLS
def test_all_members_continue_where_the_rewind_says(cluster: FakeCluster, options: dict[str, Any]) -> None:
    told: list[tuple[str, list[TopicPartition]]] = []
    with others(cluster.bootstrap, "t", "g", 2, **QUICK, **options) as group:  # noqa: SIM117 - the group is there first
        with Consumer(bootstrap_servers=cluster.bootstrap, group_id="g", **QUICK, **options) as consumer:
            consumer.subscribe(
                "t",
                on_assigned=lambda partitions: told.append(("assigned", partitions)),
                on_revoked=lambda partitions: told.append(("revoked", partitions)),
            )
            read_until(consumer, lambda: 1 <= len(consumer.assignment) <= 2)
            read_until(consumer, lambda: list(cluster.committed_offsets("g").values()) == [50] * PARTITIONS)
            group.watch()
            found = consumer.rewind_offsets(TARGETS, PATIENCE)
            assert found == {tp: OffsetAndMetadata(offset) for tp, offset in TARGETS.items()}
            give_up = time.monotonic() + PATIENCE
            while len(group.first) < PARTITIONS and time.monotonic() < give_up:
                for record in consumer.records(0.05):
                    group.note(record.partition, record.offset)
            assert group.first == {tp.partition: offset for tp, offset in TARGETS.items()}
    assert "revoked" in [what for what, _ in told[1:]]


@PROTOCOLS
def test_alone_in_its_group_it_rewinds_too(cluster: FakeCluster, options: dict[str, Any]) -> None:
    with Consumer(bootstrap_servers=cluster.bootstrap, group_id="g", **QUICK, **options) as consumer:
        consumer.subscribe("t")
        read_until(consumer, lambda: len(consumer.assignment) == PARTITIONS)
        consumer.rewind_offsets({TopicPartition("t", 0): 7}, PATIENCE)
        read_until(consumer, lambda: consumer.assignment and consumer.position(TopicPartition("t", 0)) == 50)
        assert cluster.group_state("g") == "Stable"


def test_what_this_member_read_elsewhere_is_committed_first(cluster: FakeCluster) -> None:
    slow = {**QUICK, "auto_commit_interval_ms": 60_000}
    with Consumer(bootstrap_servers=cluster.bootstrap, group_id="g", **slow) as consumer:
        consumer.subscribe("t")
        read_until(
            consumer,
            lambda: (
                len(consumer.assignment) == PARTITIONS and all(consumer.position(tp) == 50 for tp in TARGETS)
            ),
        )
        consumer.rewind_offsets({TopicPartition("t", 0): 7}, PATIENCE)
        offsets = {tp.partition: offset for tp, offset in cluster.committed_offsets("g").items()}
        assert offsets == {0: 7, 1: 50, 2: 50, 3: 50}


@pytest.mark.case("S0-56")
def test_a_rewind_that_fails_before_its_commit_changes_nothing_and_the_group_continues(
    cluster: FakeCluster,
) -> None:
    with others(cluster.bootstrap, "t", "g", 1, **QUICK) as group:  # noqa: SIM117 - the group is there first
        with Consumer(bootstrap_servers=cluster.bootstrap, group_id="g", **QUICK) as consumer:
            consumer.subscribe("t")
            read_until(consumer, lambda: len(consumer.assignment) == PARTITIONS // 2)
            read_until(consumer, lambda: list(cluster.committed_offsets("g").values()) == [50] * PARTITIONS)
            cluster.fail(LeaveGroupRequest, 30)  # GROUP_AUTHORIZATION_FAILED
            with pytest.raises(KcliError, match="GROUP_AUTHORIZATION_FAILED"):
                consumer.rewind_offsets(TARGETS, PATIENCE)
            read_until(consumer, lambda: len(consumer.assignment) == PARTITIONS // 2)
    assert set(cluster.committed_offsets("g").values()) == {50}
    assert group.failures == []


def test_a_client_that_is_no_member_is_refused(cluster: FakeCluster) -> None:
    with Consumer(bootstrap_servers=cluster.bootstrap, group_id="g") as consumer:
        consumer.assign([TopicPartition("t", 0)])
        with pytest.raises(ConfigError, match="for members"):
            consumer.rewind_offsets(TARGETS)
    assert cluster.seen(OffsetCommitRequest) == []


# --- two at once ---------------------------------------------------------------------------------------

THEIRS = {tp: OffsetAndMetadata(20 + tp.partition) for tp in TARGETS}
OURS = {tp: OffsetAndMetadata(offset) for tp, offset in TARGETS.items()}


class Rewinder:
    """A member in a thread of its own that rewinds when told to, and polls before and after."""

    def __init__(
        self, cluster: FakeCluster, offsets: dict[TopicPartition, OffsetAndMetadata], **options: Any
    ):
        self.consumer = Consumer(
            bootstrap_servers=cluster.bootstrap,
            group_id="g",
            **{**QUICK, "enable_auto_commit": False, "max_poll_records": 1, **options},
        )
        self.consumer.subscribe("t")
        self.offsets = offsets
        self.ready, self.done, self.stop = threading.Event(), threading.Event(), threading.Event()
        self.found: Any = None
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        try:
            while not self.ready.is_set():
                self.consumer.poll(0.01)
            try:
                self.found = self.consumer.rewind_offsets(self.offsets, PATIENCE)
            except KcliError as error:
                self.error = error
            self.done.set()
            while not self.stop.is_set():
                self.consumer.poll(0.01)
        except BaseException as error:  # noqa: BLE001 - told by the test
            self.error = error
        finally:
            self.done.set()
            self.consumer.close(commit=False)


@contextmanager
def rewinders(cluster: FakeCluster, **options: Any) -> Iterator[tuple[Rewinder, Rewinder]]:
    """Two members that share the topic."""
    both = Rewinder(cluster, OURS, **options), Rewinder(cluster, THEIRS, **options)
    try:
        give_up = time.monotonic() + PATIENCE
        while not all(len(one.consumer.assignment) == PARTITIONS // 2 for one in both):
            assert time.monotonic() < give_up
            time.sleep(0.01)
        yield both
    finally:
        for one in both:
            one.ready.set()
            one.stop.set()
        for one in both:
            one.thread.join(2 * PATIENCE)


@pytest.mark.case("S0-56")
@PROTOCOLS
@pytest.mark.parametrize("crossing", [True, False], ids=["crossing", "at once"])
@pytest.mark.parametrize("_again", range(3))
def test_of_two_rewinds_at_once_each_is_whole_and_the_last_one_stays(
    cluster: FakeCluster, options: dict[str, Any], crossing: bool, _again: int
) -> None:
    """Also when both have sent each other out before either had committed."""
    with rewinders(cluster, **options) as both:
        first_two = threading.Barrier(2)
        orders = itertools.count()

        def wait_for_the_other(_request: Any) -> None:
            if next(orders) < 2:
                with suppress(threading.BrokenBarrierError):
                    first_two.wait(1.0)

        if crossing:
            for one in both:
                looked_at_the_group_before_sending(one, wait_for_the_other)
        for one in both:
            one.ready.set()
        for one in both:
            assert one.done.wait(2 * PATIENCE)
        assert [one.error for one in both] == [None, None]
        assert [one.found for one in both] == [OURS, THEIRS]
        committed = cluster.committed_offsets("g")
        assert committed in [{tp: place.offset for tp, place in one.items()} for one in (OURS, THEIRS)]
        last = cluster.seen(OffsetCommitRequest)[-1].request.topics[0].partitions
        assert {p.committed_offset for p in last} == set(committed.values())


def looked_at_the_group_before_sending(one: Rewinder, wait: Any) -> None:
    """Both know who is in the group, and only then send each other out."""
    brokers = one.consumer.cluster.brokers
    send = brokers.send

    def sending(node: Any, purpose: str, request: Any, future: Any, now: float, deadline: float) -> None:
        if isinstance(request, LeaveGroupRequest):
            wait(request)
        send(node, purpose, request, future, now, deadline)

    brokers.send = sending  # type: ignore[method-assign]


@PROTOCOLS
def test_a_barrier_that_lost_its_membership_evicts_no_member(
    cluster: FakeCluster, options: dict[str, Any]
) -> None:
    """It was sent out and has not heard of it yet. Whoever did that may be holding the group right now."""

    def without_members(_request: Any, response: Any) -> None:
        response.groups[0].members = []

    with Consumer(bootstrap_servers=cluster.bootstrap, group_id="g", **QUICK, **options) as consumer:
        consumer.subscribe("t")
        read_until(consumer, lambda: len(consumer.assignment) == PARTITIONS)
        cluster.replace((DescribeGroupsRequest, ConsumerGroupDescribeRequest), without_members)
        with pytest.raises(MembershipError, match=r"another rewind .* nothing was committed"):
            consumer.rewind_offsets(TARGETS, 1.0)
        assert cluster.seen(LeaveGroupRequest) == []
        cluster.heal()
        assert consumer.rewind_offsets(TARGETS, PATIENCE) == OURS


@pytest.mark.parametrize(
    "api", [JoinGroupRequest, SyncGroupRequest, DescribeGroupsRequest, LeaveGroupRequest]
)
@pytest.mark.parametrize(
    "code", [Code.COORDINATOR_LOAD_IN_PROGRESS, Code.NOT_COORDINATOR], ids=lambda c: c.name
)
def test_a_coordinator_that_is_not_ready_is_retried_at_each_step(
    cluster: FakeCluster, api: Any, code: Code
) -> None:
    with (
        others(cluster.bootstrap, "t", "g", 1, **QUICK),
        Consumer(bootstrap_servers=cluster.bootstrap, group_id="g", **QUICK) as consumer,
    ):
        consumer.subscribe("t")
        read_until(consumer, lambda: len(consumer.assignment) == PARTITIONS // 2)
        own_id = consumer.group_metadata.member_id
        mine = (
            {}
            if api in (DescribeGroupsRequest, LeaveGroupRequest)
            else {"when": lambda r: r.member_id == own_id}
        )
        rule = cluster.fail(api, code, code, **mine)
        assert consumer.rewind_offsets(TARGETS, PATIENCE) == OURS
        assert rule.count == 2


def test_an_evicted_barrier_does_not_ask_for_offsets_it_would_not_use(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The coordinator would promise it a new member id, and the whole group would wait for that member to come."""
    evict = ClassicBarrier._evict
    asked: list[int] = []

    def evict_and_be_evicted(barrier: Any, members: Any, deadline: float) -> None:
        evict(barrier, members, deadline)
        if not asked:
            own_id = barrier._membership.member_id
            evict(barrier, [ListedMember(own_id, None, "", "")], deadline)
            while barrier._membership.member_id:  # the heartbeats tell
                barrier._cluster.sleep(0.01)
            asked.append(len(cluster.seen(JoinGroupRequest)))

    monkeypatch.setattr(ClassicBarrier, "_evict", evict_and_be_evicted)
    with Consumer(bootstrap_servers=cluster.bootstrap, group_id="g", **QUICK) as consumer:
        consumer.subscribe("t")
        read_until(consumer, lambda: len(consumer.assignment) == PARTITIONS)
        began = Moment.now()
        assert consumer.rewind_offsets(TARGETS, PATIENCE) == OURS
        assert lasted(began) < 5
        given = [s.request.member_id for s in cluster.seen(JoinGroupRequest)[asked[0] :]]
        assert given.count("") == 1


def test_a_barrier_evicted_after_its_commit_does_not_report_that_nothing_was_committed(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does the one after it, which did not come so far."""

    def leave(barrier: Any, _offsets: Any, deadline: float) -> int:
        cluster.evict("g", barrier._membership.member_id)
        cluster.replace(DescribeGroupsRequest, lambda _request, response: response.groups[0].members.clear())
        return len(barrier._others(deadline))

    monkeypatch.setattr(ClassicBarrier, "hold", leave)
    with Consumer(bootstrap_servers=cluster.bootstrap, group_id="g", **QUICK) as consumer:
        consumer.subscribe("t")
        read_until(consumer, lambda: len(consumer.assignment) == PARTITIONS)
        with pytest.raises(MembershipError, match=r"another rewind .* may have been committed"):
            consumer.rewind_offsets(TARGETS, 2.0)
        assert cluster.committed_offsets("g") == TARGETS


@PROTOCOLS
def test_a_callback_that_raises_ends_the_rewind_and_the_member_has_its_partitions_again(
    cluster: FakeCluster, options: dict[str, Any]
) -> None:
    """What it let go for the rewind is nobody else's: without it nobody would read it any more."""
    told: list[str] = []

    def revoked(_places: Any) -> None:
        told.append("revoked")
        if len(told) == 1:
            raise ValueError("mine")

    with Consumer(bootstrap_servers=cluster.bootstrap, group_id="g", **QUICK, **options) as consumer:
        consumer.subscribe("t", on_revoked=revoked)
        read_until(consumer, lambda: len(consumer.assignment) == PARTITIONS)
        read_until(consumer, lambda: list(cluster.committed_offsets("g").values()) == [50] * PARTITIONS)
        with pytest.raises(ValueError, match="mine"):
            consumer.rewind_offsets(TARGETS, PATIENCE)
        assert list(cluster.committed_offsets("g").values()) == [50] * PARTITIONS
        read_until(consumer, lambda: len(consumer.assignment) == PARTITIONS)
        assert consumer.rewind_offsets(TARGETS, PATIENCE) == OURS


def test_an_offset_that_kafka_cannot_store_is_refused_before_any_eviction(cluster: FakeCluster) -> None:
    with (
        others(cluster.bootstrap, "t", "g", 1, **QUICK),
        Consumer(bootstrap_servers=cluster.bootstrap, group_id="g", **QUICK) as consumer,
    ):
        consumer.subscribe("t")
        read_until(consumer, lambda: len(consumer.assignment) == PARTITIONS // 2)
        for place in (
            OffsetAndMetadata(1, "x" * 32_768),
            OffsetAndMetadata(1, "\ud800"),
            OffsetAndMetadata(1, "", 1 << 31),
        ):
            with pytest.raises(ConfigError, match=r"t-0: .* cannot be sent"):
                consumer.rewind_offsets({**OURS, TopicPartition("t", 0): place}, PATIENCE)
        assert cluster.seen(LeaveGroupRequest) == []
