"""Faults of share groups: sessions that are lost, locks that expire, leaders that move, answers that are lost, on a
cluster that fails on command. Every record is delivered at least once, and what was not acknowledged is said.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kcli.core.errors import BrokerError, ConfigError, UnsupportedError
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.share_acknowledge import ShareAcknowledgeRequest
from kcli.core.protocol.messages.share_fetch import ShareFetchRequest
from kcli.core.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kcli.core.share.acquired import Acknowledge, DecisionState
from kcli.core.share.consumer import NOT_FOR_SHARE_GROUPS, ShareConsumer
from kcli.core.share.fetcher import Settled
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.script import FOREVER
from tests.fault.fetching import T0, T1, filled, put
from tests.fault.watching import Heard

PATIENCE = 120.0
GROUP = "g"


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(2, topics={"t": 2}) as made:
        yield made


def member(cluster: FakeCluster, heard: Heard | None = None, **options: Any) -> ShareConsumer:
    """Short waits, explicit acknowledgements."""
    wishes: dict[str, Any] = {
        "bootstrap_servers": cluster.bootstrap,
        "group_id": GROUP,
        "share_acknowledgement_mode": "explicit",
        "fetch_max_wait_ms": 40,
        "retry_backoff_ms": 5,
        "retry_backoff_max_ms": 20,
        "reconnect_backoff_ms": 5,
        "request_timeout_ms": 2_000,
    }
    made = ShareConsumer(hooks=(heard or Heard()).hooks, **{**wishes, **options})
    made.connect(PATIENCE)
    made.subscribe("t")
    return made


Place = tuple[int, int, int]
"""Partition, offset, delivery count."""


def take(
    consumer: ShareConsumer,
    count: int,
    decide: Callable[[int], Acknowledge | None] = lambda _offset: Acknowledge.ACCEPT,
) -> list[Place]:
    """Polls until so many records have come; ``decide`` says what becomes of an offset, None: nothing yet."""
    places: list[Place] = []
    until = time.monotonic() + PATIENCE
    while len(places) < count and time.monotonic() < until:
        for batch in consumer.poll(0.2):
            for record in batch.batch.records(*batch.tp):
                if batch.first <= record.offset < batch.stop:
                    places.append((record.partition, record.offset, batch.deliveries))
                    kind = decide(record.offset)
                    if kind is not None:
                        consumer.acknowledge(record, kind)
    assert len(places) >= count, places
    return places


def take_offset(consumer: ShareConsumer, offset: int) -> None:
    """Accepts what comes until this one has: others may come again before it."""
    until = time.monotonic() + PATIENCE
    while all(found != offset for _, found, _ in take(consumer, 1)):
        assert time.monotonic() < until


def states(cluster: FakeCluster, partition: int = 0) -> dict[int, tuple[str, int]]:
    found: dict[int, tuple[str, int]] = cluster.share_do(cluster.share.states, GROUP, "t", partition)
    return found


def all_are(cluster: FakeCluster, state: str, count: int, partition: int = 0) -> bool:
    found = states(cluster, partition)
    return len(found) == count and all(one == state for one, _ in found.values())


def test_each_kind_of_acknowledgement(cluster: FakeCluster) -> None:
    filled(cluster, 3, T0)
    kinds = (Acknowledge.ACCEPT, Acknowledge.RELEASE, Acknowledge.REJECT)
    with member(cluster) as consumer:
        take(consumer, 3, lambda offset: kinds[offset])
        assert consumer.commit(PATIENCE)
        metrics = consumer.metrics()
        assert (metrics.accepted, metrics.released, metrics.rejected) == (1, 1, 1)
        assert states(cluster) == {0: ("acknowledged", 1), 1: ("available", 1), 2: ("archived", 1)}
        assert take(consumer, 1) == [(0, 1, 2)]
    assert states(cluster)[1] == ("acknowledged", 2)


def test_implicit_polls_accept_and_close_accepts_the_last_one(cluster: FakeCluster) -> None:
    filled(cluster, 2, T0)
    with member(cluster, share_acknowledgement_mode="implicit", max_poll_records=1) as consumer:
        seen: list[int] = []
        until = time.monotonic() + PATIENCE
        while len(seen) < 2 and time.monotonic() < until:
            seen += [record.offset for record in consumer.records(0.1)]
        assert seen == [0, 1]
    assert all_are(cluster, "acknowledged", 2)


def test_a_block_that_fails_releases_what_it_was_handed(cluster: FakeCluster) -> None:
    filled(cluster, 2, T0)
    consumer = member(cluster, share_acknowledgement_mode="implicit")
    while not consumer.poll(0.2):
        pass
    consumer.__exit__(ZeroDivisionError, None, None)
    assert all_are(cluster, "available", 2)


def test_close_releases_what_was_not_decided_and_leaves(cluster: FakeCluster) -> None:
    filled(cluster, 5, T0)
    consumer = member(cluster)
    take(consumer, 5, lambda offset: Acknowledge.ACCEPT if offset < 2 else None)
    consumer.close()
    found = [state for state, _ in states(cluster).values()]
    assert found == ["acknowledged"] * 2 + ["available"] * 3
    assert not cluster.share.members[GROUP]
    assert not cluster.share.sessions


def test_records_that_a_loop_left_are_handed_out_next(cluster: FakeCluster) -> None:
    filled(cluster, 4, T0)
    with member(cluster, share_acknowledgement_mode="implicit") as consumer:
        found: list[int] = []
        until = time.monotonic() + PATIENCE
        while len(found) < 4 and time.monotonic() < until:
            for record in consumer.records(0.2):
                found.append(record.offset)
                break
        assert found == [0, 1, 2, 3]
    assert all_are(cluster, "acknowledged", 4)


@pytest.mark.parametrize("code", [Code.SHARE_SESSION_NOT_FOUND, Code.INVALID_SHARE_SESSION_EPOCH])
def test_a_lost_session_is_opened_again_and_nothing_is_lost(cluster: FakeCluster, code: int) -> None:
    filled(cluster, 3, T0)
    with member(cluster) as consumer:
        take(consumer, 3)
        cluster.fail(ShareFetchRequest, code, top=True)
        put(cluster, T0, b"late")
        take(consumer, 1)
        assert consumer.commit(PATIENCE)
        assert consumer.metrics().unknown == 0
    assert all_are(cluster, "acknowledged", 4)


def test_a_broker_that_forgot_all_sessions(cluster: FakeCluster) -> None:
    """It has released what they held: what was read is refused, and delivered again."""
    filled(cluster, 3, T0)
    with member(cluster) as consumer:
        take(consumer, 3, lambda _offset: None)
        cluster.share_do(cluster.share.forget_sessions)
        found = take(consumer, 3)
        assert [place[2] for place in found] == [2, 2, 2]
        assert consumer.commit(PATIENCE)
    assert all_are(cluster, "acknowledged", 3)


def test_a_lock_that_expired_is_said_and_the_others_count(cluster: FakeCluster) -> None:
    """The broker refuses the whole request; sent again in halves, what is still held is accepted."""
    outcomes: list[Settled] = []
    put(cluster, T0, b"0")
    with member(cluster, on_settled=outcomes.append) as consumer, member(cluster) as other:
        consumer.prefetches = other.prefetches = False
        take(consumer, 1, lambda _offset: None)
        cluster.share_do(cluster.share.expire_locks)
        assert take(other, 1, lambda _offset: None) == [(0, 0, 2)]
        put(cluster, T0, b"1", b"2", b"3")
        take(consumer, 3, lambda _offset: None)
        consumer._fetcher.settle_all(Acknowledge.ACCEPT, delivered=True)
        assert consumer.commit(PATIENCE)
    refused = [one for one in outcomes if one.outcome is DecisionState.REFUSED]
    assert [(one.first, one.last) for one in refused] == [(0, 0)]
    assert "expired" in refused[0].why
    accepted = sum(one.size for one in outcomes if one.outcome is DecisionState.CONFIRMED)
    assert accepted == 3


def acknowledges(request: ShareFetchRequest | ShareAcknowledgeRequest) -> bool:
    """Whether it has acknowledgements: a fetch that was sent before anything was decided has none."""
    return any(row.acknowledgement_batches for topic in request.topics for row in topic.partitions)


@pytest.mark.parametrize("api", [ShareAcknowledgeRequest, ShareFetchRequest])
def test_an_answer_that_was_lost_is_asked_for_again(cluster: FakeCluster, api: type[Request]) -> None:
    """What was done the first time is refused the second time: unknown, and never counted as accepted."""
    filled(cluster, 3, T0)
    with member(cluster) as consumer:
        take(consumer, 3)
        lost = cluster.swallow(api, "reset", when=acknowledges)
        until = time.monotonic() + PATIENCE
        while api is ShareFetchRequest and not lost.count and time.monotonic() < until:
            assert consumer.poll(0.2) == []
        assert consumer.commit(PATIENCE)
        assert lost.count == 1
        metrics = consumer.metrics()
        assert (metrics.accepted, metrics.refused, metrics.unknown) == (0, 0, 3)
    assert states(cluster) == dict.fromkeys(range(3), ("acknowledged", 1))


def test_what_was_decided_before_its_connection_closed_is_not_accepted(cluster: FakeCluster) -> None:
    """The broker has given the records back before it is asked."""
    filled(cluster, 3, T0)
    with member(cluster) as consumer:
        take(consumer, 3)
        cluster.reset_connections()
        assert consumer.commit(PATIENCE)
        metrics = consumer.metrics()
        # Unknown where the request had been sent before the end of its connection was seen.
        assert (metrics.accepted, metrics.refused + metrics.unknown) == (0, 3)
    assert states(cluster) == dict.fromkeys(range(3), ("available", 1))


def test_a_connection_that_closes_gives_everything_back(cluster: FakeCluster) -> None:
    filled(cluster, 3, T0, T1)
    with member(cluster) as consumer:
        take(consumer, 6, lambda _offset: None)
        cluster.reset_connections()
        found = take(consumer, 6)
        assert {place[2] for place in found} == {2}
        assert consumer.commit(PATIENCE)
    assert all_are(cluster, "acknowledged", 3)
    assert all_are(cluster, "acknowledged", 3, 1)


def test_a_leader_that_moved_is_followed(cluster: FakeCluster) -> None:
    filled(cluster, 3, T0)
    outcomes: list[Settled] = []
    with member(cluster, on_settled=outcomes.append) as consumer:
        take(consumer, 3)
        cluster.move_leader("t", 0, 3 - cluster.leader("t", 0))
        put(cluster, T0, b"later")
        take_offset(consumer, 3)
        assert consumer.commit(PATIENCE)
    assert states(cluster)[3] == ("acknowledged", 1)


def test_a_broker_that_stops_and_comes_back(cluster: FakeCluster) -> None:
    filled(cluster, 3, T0)
    leader = cluster.leader("t", 0)
    with member(cluster) as consumer:
        take(consumer, 3)
        cluster.stop(leader)
        consumer.poll(0.2)
        cluster.start(leader)
        put(cluster, T0, b"later")
        take_offset(consumer, 3)
        assert consumer.commit(PATIENCE)
    assert states(cluster)[3][0] == "acknowledged"


def test_one_request_at_a_time_in_a_session(cluster: FakeCluster) -> None:
    """A second one would make the answer to the first be refused, with the records in it."""
    filled(cluster, 50, T0, T1)
    with member(cluster, max_poll_records=5) as consumer:
        take(consumer, 100)
        consumer.commit(PATIENCE)
    seen = cluster.seen(ShareFetchRequest) + cluster.seen(ShareAcknowledgeRequest)
    assert not any(Code.INVALID_SHARE_SESSION_EPOCH in one.codes for one in seen)
    assert all_are(cluster, "acknowledged", 50)


def test_acknowledgements_go_with_the_next_fetch(cluster: FakeCluster) -> None:
    filled(cluster, 20, T0)
    with member(cluster, max_poll_records=5) as consumer:
        take(consumer, 20)
        alone = len(cluster.seen(ShareAcknowledgeRequest))
        consumer.commit(PATIENCE)
    assert alone <= 1


def test_a_limit_of_records_is_kept_over_all_brokers(cluster: FakeCluster) -> None:
    filled(cluster, 10, T0, T1)
    with member(cluster, max_poll_records=3, share_acquire_mode="record_limit") as consumer:
        consumer.prefetches = False
        while not (batches := consumer.poll(0.2)):
            pass
        held = [*states(cluster).values(), *states(cluster, 1).values()]
        assert sum(state == "acquired" for state, _ in held) == 3
        assert sum(batch.stop - batch.first for batch in batches) == 3


def test_locks_are_extended_while_the_application_works(cluster: FakeCluster) -> None:
    filled(cluster, 2, T0)
    with member(cluster, max_poll_records=10) as consumer:
        take(consumer, 2, lambda _offset: None)
        before = cluster.share_do(cluster.share.lock_ends)
        consumer._fetcher.lock_timeout = 10 * cluster.share.lock  # so less than half of it is left
        assert consumer.hold(0.1)
        assert consumer.commit(PATIENCE)
        after = cluster.share_do(cluster.share.lock_ends)
        assert len(after) == 2
        assert min(after) > max(before)
        assert all_are(cluster, "acquired", 2)
        consumer._fetcher.settle_all(Acknowledge.ACCEPT, delivered=True)
        assert consumer.commit(PATIENCE)
        assert consumer.metrics().accepted == 2


def test_brokers_before_4_2_cannot_extend_locks(cluster: FakeCluster) -> None:
    cluster.cap_versions({ShareAcknowledgeRequest: 1, ShareFetchRequest: 1})
    filled(cluster, 1, T0)
    with member(cluster) as consumer:
        take(consumer, 1, lambda _offset: None)
        consumer._fetcher.lock_timeout = 10 * cluster.share.lock  # so less than half of it is left
        assert not consumer.hold(PATIENCE)


def test_a_member_that_was_removed_joins_again(cluster: FakeCluster) -> None:
    with member(cluster) as consumer:
        put(cluster, T0, b"0")
        take(consumer, 1)
        cluster.share_do(cluster.share.members[GROUP].clear)
        put(cluster, T0, b"1")
        assert take(consumer, 1)[0][1] == 1
        until = time.monotonic() + PATIENCE
        while not cluster.share.members[GROUP] and time.monotonic() < until:
            consumer.poll(0.1)
        assert cluster.share.members[GROUP]


def test_a_coordinator_that_moved_is_found(cluster: FakeCluster) -> None:
    with member(cluster) as consumer:
        put(cluster, T0, b"0")
        take(consumer, 1)
        cluster.move_coordinator("group", GROUP, 3 - cluster.coordinator("group", GROUP))
        beats = len(cluster.seen(ShareGroupHeartbeatRequest))
        cluster.wait_for(ShareGroupHeartbeatRequest, beats + 4)
        put(cluster, T0, b"1")
        assert take(consumer, 1)[0][1] == 1


def test_no_permission_for_the_group_ends_it(cluster: FakeCluster) -> None:
    cluster.fail(ShareFetchRequest, Code.GROUP_AUTHORIZATION_FAILED, top=True, times=FOREVER)
    with member(cluster) as consumer, pytest.raises(BrokerError) as caught:
        take(consumer, 1)
    assert caught.value.exit_code == 4


def test_a_state_that_cannot_be_stored_is_tried_again(cluster: FakeCluster) -> None:
    """The share coordinator is not there for a moment: the record stays acquired."""
    filled(cluster, 1, T0)
    with member(cluster) as consumer:
        take(consumer, 1)
        cluster.fail(ShareAcknowledgeRequest, Code.COORDINATOR_NOT_AVAILABLE, times=2)
        assert consumer.commit(PATIENCE)
        assert consumer.metrics().accepted == 1
    assert all_are(cluster, "acknowledged", 1)


@pytest.mark.parametrize("name", sorted(NOT_FOR_SHARE_GROUPS))
def test_options_that_mean_nothing_are_refused(name: str) -> None:
    field: dict[str, Any] = {
        "group_instance_id": "i",
        "group_protocol": "consumer",
        "group_remote_assignor": "uniform",
        "partition_assignment_strategy": "range",
        "session_timeout_ms": 1,
        "heartbeat_interval_ms": 1,
        "enable_auto_commit": False,
        "auto_commit_interval_ms": 1,
        "auto_offset_reset": "earliest",
        "isolation_level": "read_uncommitted",
        "on_out_of_range": "earliest",
        "show_control_batches": True,
        "max_partition_fetch_bytes": 5,
    }
    with pytest.raises(ConfigError) as caught:
        ShareConsumer(bootstrap_servers="127.0.0.1:1", group_id=GROUP, **{name: field[name]})
    assert name.replace("_", ".") in str(caught.value)


def test_brokers_without_share_groups_are_told(cluster: FakeCluster) -> None:
    cluster.hide(ShareGroupHeartbeatRequest)
    with member(cluster) as consumer, pytest.raises(UnsupportedError):
        take(consumer, 1)


def test_a_consumer_without_a_group_is_refused() -> None:
    with pytest.raises(ConfigError):
        ShareConsumer(bootstrap_servers="127.0.0.1:1")
