"""Members of groups and the faults around them, in both protocols (cases G2 to G14, O1, O3, O4, O6)."""

import re
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

from kcli.core import Consumer
from kcli.core.cluster.offsets import EARLIEST
from kcli.core.errors import (
    BrokerError,
    CommitFailedError,
    ConfigError,
    KcliError,
    MembershipError,
    TimedOutError,
    UnsupportedError,
)
from kcli.core.group.consumer_protocol import Subscription, decode_assignment, encode_subscription
from kcli.core.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kcli.core.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcli.core.protocol.messages.heartbeat import HeartbeatRequest
from kcli.core.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kcli.core.protocol.messages.leave_group import LeaveGroupRequest
from kcli.core.protocol.messages.list_offsets import ListOffsetsRequest
from kcli.core.protocol.messages.offset_commit import OffsetCommitRequest
from kcli.core.protocol.messages.offset_fetch import OffsetFetchRequest
from kcli.core.protocol.messages.sync_group import SyncGroupRequest
from kcli.core.types import OffsetAndMetadata, TopicPartition
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.raw_client import RawClient
from tests.fake.script import FOREVER
from tests.fault.consuming import (
    GROUP,
    PATIENCE,
    Member,
    fill,
    member,
    offsets,
    options,
    raised_by,
    settle,
    tp,
    turns,
)
from tests.lasting import Moment, lasted
from tests.run import environment

BOTH = pytest.mark.parametrize("protocol", ["classic", "consumer"])
BEATS = (HeartbeatRequest, ConsumerGroupHeartbeatRequest)


def cluster_of(partitions: int = 2, nodes: int = 1, **settings: Any) -> FakeCluster:
    return FakeCluster(nodes, topics={"t": partitions}, **settings)


# --- what a group is for -------------------------------------------------------------------------------


@pytest.mark.case("S0-4", "S0-30", "S0-45", "S0-47", "S4-15")
@pytest.mark.parametrize("strategy", ["range", "roundrobin", "sticky", "cooperative-sticky", "848"])
def test_members_share_partitions_and_take_over_from_a_member_that_leaves(strategy: str) -> None:
    wishes: dict[str, Any] = {"group_protocol": "consumer"}
    if strategy != "848":
        wishes = {"partition_assignment_strategy": strategy}
    with cluster_of(4) as cluster:
        fill(cluster, 4)
        with member(cluster, **wishes) as a, member(cluster, **wishes) as b:
            settle(a, b, partitions=4)
            assert len(a.partitions) == len(b.partitions) == 2
            turns(lambda: len(a.read) + len(b.read) >= 40, a, b)
            assert sorted({*a.values, *b.values}) == sorted(
                f"{p}:{o}".encode() for p in range(4) for o in range(10)
            )
            given = a.partitions
            a.consumer.close()
            assert a.told("revoked")[-1] == given
            settle(b, partitions=4)
            assert list(cluster.group_members(GROUP)) == [b.consumer.group_metadata.member_id]


@pytest.mark.case("S2-10")
@BOTH
def test_a_member_that_dies_is_missed_after_its_session(protocol: str) -> None:
    with cluster_of(2, groups={"consumer_session_timeout": 0.5}) as cluster:
        wishes = {"group_protocol": protocol, "session_timeout_ms": 500}
        with member(cluster, **wishes) as a, member(cluster, **wishes) as b:
            settle(a, b, partitions=2)
            dead = a.consumer.group_metadata.member_id
            began = Moment.now()
            cluster.drop(BEATS, "skip", times=FOREVER, when=lambda request: request.member_id == dead)
            settle(b, partitions=2)
            assert time.monotonic() - began > 0.3
            assert lasted(began) < 3
            cluster.heal()


@pytest.mark.case("S0-46", "S4-16")
@BOTH
def test_a_commit_inside_on_revoked_is_what_the_next_owner_begins_at(protocol: str) -> None:
    with cluster_of(2) as cluster:
        fill(cluster, 2)
        with (
            member(cluster, group_protocol=protocol) as a,
            member(cluster, None, group_protocol=protocol) as b,
        ):

            def during(what: str, _places: list[TopicPartition]) -> None:
                if what == "revoked":
                    a.consumer.commit(timeout=PATIENCE)

            a.during = during  # type: ignore[method-assign]
            turns(lambda: len(a.read) == 20, a)
            b.subscribe("t")
            settle(a, b, partitions=2)
            for tp in b.partitions:
                assert b.consumer.position(tp, PATIENCE) == 10
            assert b.read == []
            assert set(offsets(cluster).values()) == {10}


@pytest.mark.case("S0-51")
@BOTH
def test_a_seek_inside_on_assigned_decides_where_reading_begins(protocol: str) -> None:
    with cluster_of(2) as cluster:
        fill(cluster, 2)
        with member(cluster, group_protocol=protocol) as a:

            def during(what: str, partitions: list[TopicPartition]) -> None:
                for tp in partitions if what == "assigned" else ():
                    a.consumer.seek(tp, 7)

            a.during = during  # type: ignore[method-assign]
            turns(lambda: len(a.read) >= 6, a)
            assert sorted(a.values) == [f"{p}:{o}".encode() for p in range(2) for o in (7, 8, 9)]


@BOTH
@pytest.mark.parametrize("which", ["assigned", "revoked"])
def test_after_a_callback_that_raises_every_partition_has_a_reader(protocol: str, which: str) -> None:
    with cluster_of(4) as cluster:
        fill(cluster, 4)
        wishes = {"group_protocol": protocol, "partition_assignment_strategy": "cooperative-sticky"}
        with member(cluster, **wishes) as a, member(cluster, None, **wishes) as b:
            if which == "revoked":
                settle(a, partitions=4)
            b.subscribe("t")
            left = {"a": 2, "b": 2}

            def raising(name: str) -> Any:
                def during(what: str, _places: list[TopicPartition]) -> None:
                    if what == which and left[name]:
                        left[name] -= 1
                        raise ZeroDivisionError(name)

                return during

            a.during, b.during = raising("a"), raising("b")  # type: ignore[method-assign]
            raised = 0
            end = time.monotonic() + PATIENCE
            while not (len(a.partitions) == len(b.partitions) == 2 and not a.partitions & b.partitions):
                assert time.monotonic() < end
                for one in (a, b):
                    try:
                        one.poll()
                    except ZeroDivisionError:
                        raised += 1
            assert raised
            left.update(a=0, b=0)
            settle(a, b, partitions=4)
            turns(lambda: {*a.values, *b.values} >= {f"{p}:9".encode() for p in range(4)}, a, b)


@BOTH
def test_unsubscribe_leaves_and_subscribe_joins_again(protocol: str) -> None:
    with cluster_of(2) as cluster, member(cluster, group_protocol=protocol) as a:
        settle(a, partitions=2)
        a.consumer.unsubscribe()
        assert cluster.group_members(GROUP) == {}
        assert a.partitions == frozenset()
        assert a.poll(0.05) == []
        a.subscribe("t")
        settle(a, partitions=2)
        a.consumer.unsubscribe()
        a.consumer.assign([tp(0)])
        a.consumer.commit({tp(0): 3}, timeout=PATIENCE)
        assert offsets(cluster) == {tp(0): 3}


@pytest.mark.case("S0-30")
@BOTH
def test_a_changed_subscription_changes_the_assignment(protocol: str) -> None:
    with (
        FakeCluster(1, topics={"t": 2, "u": 1, "v": 1}) as cluster,
        member(cluster, ["t", "u"], group_protocol=protocol) as a,
    ):
        settle(a, partitions=3)
        a.subscribe(["u", "v"])
        turns(lambda: a.partitions == {tp(0, "u"), tp(0, "v")}, a)
        assert frozenset({tp(0), tp(1)}) <= frozenset().union(*a.told("revoked"))
        with pytest.raises(ConfigError, match="subscribed"):
            a.consumer.assign([tp(0)])


@pytest.mark.case("S4-15")
@BOTH
def test_a_pattern_follows_topics_that_come_and_go(protocol: str) -> None:
    with (
        FakeCluster(1, topics={"log-a": 1, "other": 1}) as cluster,
        member(cluster, re.compile("log-"), group_protocol=protocol) as a,
    ):
        turns(lambda: a.partitions == {tp(0, "log-a")}, a)
        cluster.create_topic("log-b", 2)
        turns(lambda: a.partitions == {tp(0, "log-a"), tp(0, "log-b"), tp(1, "log-b")}, a)
        cluster.delete_topic("log-a")
        turns(lambda: a.partitions == {tp(0, "log-b"), tp(1, "log-b")}, a)
        cluster.delete_topic("log-b")
        turns(lambda: not a.partitions, a)
        assert len(cluster.group_members(GROUP)) == 1
        cluster.create_topic("log-c", 1)
        turns(lambda: a.partitions == {tp(0, "log-c")}, a)


@BOTH
def test_commits_of_everything_a_topic_a_partition_or_given_offsets(protocol: str) -> None:
    with FakeCluster(1, topics={"t": 2, "u": 1}) as cluster:
        fill(cluster, 2)
        fill(cluster, 1, topic="u")
        with member(cluster, ["t", "u"], group_protocol=protocol) as a:
            turns(lambda: len(a.read) == 30, a)
            a.consumer.commit("u", timeout=PATIENCE)
            assert offsets(cluster) == {tp(0, "u"): 10}
            a.consumer.commit(tp(1), timeout=PATIENCE)
            assert offsets(cluster) == {tp(0, "u"): 10, tp(1): 10}
            future = a.consumer.commit_async({tp(1): OffsetAndMetadata(4, "note", 0)})
            turns(lambda: future.done, a)
            assert future.error is None
            assert a.consumer.committed([tp(1)], PATIENCE) == {tp(1): OffsetAndMetadata(4, "note", 0)}
            a.consumer.commit(timeout=PATIENCE)
            assert offsets(cluster) == {tp(0, "u"): 10, tp(0): 10, tp(1): 10}
            sent: Any = cluster.seen(OffsetCommitRequest)[-1].request
            epochs = {p.committed_leader_epoch for topic in sent.topics for p in topic.partitions}
            assert epochs == {0}
            with pytest.raises(CommitFailedError) as failed:
                a.consumer.commit({tp(0): OffsetAndMetadata(1, "x" * 5000)}, timeout=PATIENCE)
            assert "METADATA_TOO_LARGE" in str(failed.value.errors[tp(0)])


@pytest.mark.case("S1-2", "S4-16")
@BOTH
def test_automatic_commits_cover_what_the_poll_before_handed_out(protocol: str) -> None:
    with cluster_of(1) as cluster:
        fill(cluster, 1)
        wishes = {"group_protocol": protocol, "enable_auto_commit": True, "auto_commit_interval_ms": 0}
        with member(cluster, max_poll_records=1, **wishes) as a:
            for count in range(1, 6):
                turns(lambda count=count: len(a.read) == count, a)
                assert offsets(cluster).get(tp(0), 0) < count, "what the last poll gave is not done with"
            turns(lambda: offsets(cluster).get(tp(0), 0) >= 4, a)
            handed = len(a.read)
            a.consumer.close()
            assert offsets(cluster) == {tp(0): handed}


def test_a_with_block_that_ends_by_an_error_commits_nothing_more() -> None:
    with cluster_of(1) as cluster:
        fill(cluster, 1)

        def fails() -> None:
            with Consumer(**options(cluster, enable_auto_commit=True)) as consumer:
                consumer.subscribe("t")
                while not list(consumer.records(0.1)):
                    pass
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fails()
        assert offsets(cluster) == {}
        assert cluster.group_members(GROUP) == {}


@BOTH
def test_reading_the_position_discards_nothing(protocol: str) -> None:
    """What the last poll handed out may be in work still: only the next poll says that it is done with."""
    with cluster_of(2) as cluster:
        fill(cluster, 2)
        wishes = {"group_protocol": protocol, "enable_auto_commit": True, "auto_commit_interval_ms": 100_000}
        with member(cluster, **wishes) as a:
            turns(lambda: len(a.read) == 20, a)
            cluster.force_rebalance(GROUP)
            time.sleep(0.3)
            before = len(a.events)
            commits = len(cluster.seen(OffsetCommitRequest))
            a.consumer.seek(tp(0), EARLIEST)
            assert a.consumer.position(tp(0), PATIENCE) == 0
            assert len(a.events) == before
            assert len(cluster.seen(OffsetCommitRequest)) == commits


# --- liveness ------------------------------------------------------------------------------------------


@pytest.mark.case("S0-53", "S2-2", "S2-3", "G2")
@BOTH
@pytest.mark.parametrize("auto", [False, True])
def test_a_late_poll_leaves_says_so_and_joins_again(protocol: str, auto: bool) -> None:
    """Others take over at once and continue; what was read before is not committed over theirs."""
    wishes = {"group_protocol": protocol, "session_timeout_ms": 400}
    with cluster_of(1) as cluster:
        fill(cluster, 1)
        late = {"max_poll_interval_ms": 400, "max_poll_records": 3}
        with (
            member(cluster, enable_auto_commit=auto, auto_commit_interval_ms=0, **wishes, **late) as a,
            member(cluster, **wishes) as b,
        ):
            turns(lambda: len(a.read) == 3, a)
            began = Moment.now()
            cluster.wait_until(lambda: not cluster.group_members(GROUP))
            assert time.monotonic() - began > 0.2
            assert lasted(began) < 2
            assert [text for text in a.heard.said("warning") if "max.poll.interval.ms" in text]
            if protocol == "classic":
                assert cluster.seen(LeaveGroupRequest), "it left, nobody had to miss it"
            turns(lambda: len(b.read) == 10, b)
            b.consumer.commit(timeout=PATIENCE)
            sent = len(cluster.seen(OffsetCommitRequest))
            with pytest.raises(CommitFailedError, match="not a member"):
                a.consumer.commit(timeout=PATIENCE)
            turns(lambda: a.told("lost"), a, b)
            assert len(cluster.seen(OffsetCommitRequest)) == sent, "a zombie commits"
            assert offsets(cluster) == {tp(0): 10}
            b.consumer.close()
            settle(a, partitions=1)
            turns(lambda: a.consumer.position(tp(0), PATIENCE) == 10, a)
            assert a.told("lost") == [{tp(0)}]
            assert len(a.read) == 3


@pytest.mark.case("G2")
@BOTH
def test_a_member_waiting_in_a_poll_is_not_late(protocol: str) -> None:
    """A poll may be longer than max.poll.interval.ms, also of a member that has nothing to read."""
    wishes = {"group_protocol": protocol, "session_timeout_ms": 300, "max_poll_interval_ms": 300}
    with (
        cluster_of(1, groups={"consumer_heartbeat_interval": 5.0}) as cluster,
        member(cluster, heartbeat_interval_ms=5_000, **wishes) as a,
    ):
        settle(a, partitions=1)
        assert a.consumer.poll(1.2) == []
        assert a.events == [("assigned", {tp(0)})]
        assert [text for text in a.heard.said("warning") if "max.poll" in text] == []


@pytest.mark.case("S2-4", "G2")
def test_the_session_timeout_counts_when_it_is_the_longer_one() -> None:
    """As KIP-62 has it, for those who set session.timeout.ms high for slow processing."""
    with cluster_of(1) as cluster, member(cluster, session_timeout_ms=1_500, max_poll_interval_ms=200) as a:
        settle(a, partitions=1)
        time.sleep(0.6)
        assert len(cluster.group_members(GROUP)) == 1
        asked: Any = cluster.seen(JoinGroupRequest)[-1].request
        assert (asked.session_timeout_ms, asked.rebalance_timeout_ms) == (1_500, 1_500)
        cluster.wait_until(lambda: not cluster.group_members(GROUP))


@pytest.mark.case("S2-1", "G3")
@BOTH
def test_a_member_that_blocks_for_three_sessions_stays_a_member(protocol: str) -> None:
    """Processing, or C code that lets the interpreter's lock go (sleep, hashing, compression of large data)."""
    with (
        cluster_of(1, groups={"consumer_session_timeout": 0.5}) as cluster,
        member(cluster, group_protocol=protocol, session_timeout_ms=500) as a,
    ):
        settle(a, partitions=1)
        generation = cluster.group_generation(GROUP)
        time.sleep(1.5)
        a.poll(0.1)
        assert a.events == [("assigned", {tp(0)})]
        assert cluster.group_generation(GROUP) == generation
        a.consumer.commit({tp(0): 0}, timeout=PATIENCE)


_HOLDS_THE_LOCK = """
import sys, time
from kcli.core import Consumer
from kcli.core.errors import CommitFailedError
from kcli.core.types import TopicPartition
servers, protocol = sys.argv[1:]
lost = []
consumer = Consumer(bootstrap_servers=servers, group_id="g", group_protocol=protocol, session_timeout_ms=500,
                    heartbeat_interval_ms=50, enable_auto_commit=False, retry_backoff_ms=20)
consumer.subscribe("t", on_lost=lost.append)
while not consumer.assignment:
    consumer.poll(0.05)
began = time.perf_counter()
sum(range(3_000_000))
rate = 3_000_000 / (time.perf_counter() - began)
print("holding", flush=True)
sum(range(int(rate * 2.0)))  # one call into C, during which no other thread of Python runs
print("held", flush=True)
refused = False
try:
    consumer.commit({TopicPartition("t", 0): 1}, timeout=15)
except CommitFailedError:
    refused = True
done = False
while not done:
    consumer.poll(0.05)
    if lost and consumer.assignment:
        try:
            consumer.commit({TopicPartition("t", 0): 2}, timeout=15)
            done = True
        except CommitFailedError:  # on a busy machine half a second may be over once more
            pass
consumer.close()
print("refused" if refused else "accepted", flush=True)
"""


@pytest.mark.case("G3")
@BOTH
def test_a_member_lost_while_c_code_holds_the_gil_is_reported(protocol: str) -> None:
    """No thread of the process can heartbeat then. The loss is stated: lost callback, commit refused, joined again.

    Measured: one C call of 2 s with a session of 0.5 s is always a loss; the member is back within one poll.
    """
    with cluster_of(1, groups={"consumer_session_timeout": 0.5}) as cluster:
        child = subprocess.Popen(
            [sys.executable, "-c", _HOLDS_THE_LOCK, cluster.bootstrap, protocol],
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        assert child.stdout is not None
        assert child.stdout.readline() == "holding\n"
        cluster.wait_until(lambda: not cluster.group_members(GROUP))
        assert child.stdout.readline() == "held\n"
        out, _ = child.communicate(timeout=PATIENCE)
        assert out == "refused\n"
        assert offsets(cluster) == {tp(0): 2}


# --- what coordinators say -----------------------------------------------------------------------------

REBALANCE, ILLEGAL, UNKNOWN, FENCED, ID_REQUIRED = (
    Code.REBALANCE_IN_PROGRESS,
    Code.ILLEGAL_GENERATION,
    Code.UNKNOWN_MEMBER_ID,
    Code.FENCED_INSTANCE_ID,
    Code.MEMBER_ID_REQUIRED,
)
FIVE = pytest.mark.parametrize(
    "code", [REBALANCE, ILLEGAL, UNKNOWN, FENCED, ID_REQUIRED], ids=lambda c: c.name
)


def check_fenced(cluster: FakeCluster, a: Member) -> None:
    error = raised_by(a)
    assert isinstance(error, MembershipError)
    assert error.exit_code == 7
    before = len(cluster.seen(OffsetCommitRequest))
    with pytest.raises(CommitFailedError):
        a.consumer.commit({tp(0): 5}, timeout=PATIENCE)
    assert len(cluster.seen(OffsetCommitRequest)) == before, "a fenced member commits"


@pytest.mark.case("S4-17", "G5")
@FIVE
@pytest.mark.parametrize("api", [JoinGroupRequest, SyncGroupRequest], ids=lambda a: a.api_name)
def test_error_codes_of_classic_joins(api: Any, code: Code) -> None:
    """Asked again until the member is in; fenced is for good."""
    with cluster_of(2) as cluster, member(cluster, group_instance_id="i") as a:
        rule = cluster.fail(api, code)
        if code == FENCED:
            assert isinstance(raised_by(a), MembershipError)
            return
        settle(a, partitions=2)
        assert rule.count == 1
        assert a.events == [("assigned", {tp(0), tp(1)})]
        a.consumer.commit({tp(0): 1}, timeout=PATIENCE)


@pytest.mark.case("S0-46", "G5")
@FIVE
def test_error_codes_of_classic_heartbeats(code: Code) -> None:
    """A rebalance gives partitions up in order; a member that is none any more has lost them."""
    with cluster_of(2) as cluster, member(cluster, session_timeout_ms=1_000) as a:
        settle(a, partitions=2)
        rule = cluster.fail(HeartbeatRequest, code)
        if code == FENCED:
            check_fenced(cluster, a)
            return
        rule.wait()
        turns(lambda: len(a.told("assigned")) == 2, a)
        settle(a, partitions=2)
        gone = "revoked" if code == REBALANCE else "lost"
        assert [what for what, _ in a.events] == ["assigned", gone, "assigned"]
        a.consumer.commit({tp(0): 1}, timeout=PATIENCE)


@pytest.mark.case("G5")
@FIVE
@pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
def test_error_codes_of_classic_commits(code: Code, sync: bool) -> None:
    """A commit of a member that is none any more fails, and is not made later under another generation."""
    with cluster_of(2) as cluster, member(cluster, session_timeout_ms=1_000) as a:
        settle(a, partitions=2)
        cluster.fail(OffsetCommitRequest, code)
        if sync:
            with pytest.raises(CommitFailedError) as failed:
                a.consumer.commit({tp(0): 5, tp(1): 6}, timeout=PATIENCE)
            assert set(failed.value.errors) == {tp(0), tp(1)}
        else:
            future = a.consumer.commit_async({tp(0): 5, tp(1): 6})
            while not future.done:
                try:
                    a.poll()
                except MembershipError:
                    assert code == FENCED
            assert (future.error is None) == (code == REBALANCE)
        assert offsets(cluster) == ({tp(0): 5, tp(1): 6} if code == REBALANCE and not sync else {})
        if code == FENCED:
            check_fenced(cluster, a)
            return
        turns(lambda: len(a.told("assigned")) == 2, a)
        settle(a, partitions=2)
        assert a.events[1][0] == ("revoked" if code == REBALANCE else "lost")
        a.consumer.commit({tp(0): 7}, timeout=PATIENCE)
        assert offsets(cluster)[tp(0)] == 7


@pytest.mark.case("G5")
@FIVE
def test_error_codes_of_classic_leaves(code: Code) -> None:
    """A failed leave is no error."""
    with cluster_of(2) as cluster, member(cluster) as a:
        settle(a, partitions=2)
        cluster.fail(LeaveGroupRequest, code)
        began = Moment.now()
        a.consumer.close()
        assert lasted(began) < 2


@pytest.mark.case("G5")
@pytest.mark.parametrize("then", ["skip", "answer"])
def test_a_heartbeat_of_the_old_generation_costs_no_second_rebalance(then: str) -> None:
    """Its answer comes while the member joins, or even when it has joined."""
    with cluster_of(2) as cluster, member(cluster) as a, member(cluster, None) as b:
        settle(a, partitions=2)
        held = cluster.hold(HeartbeatRequest, at="answer" if then == "answer" else "request")
        held.wait()
        joining = cluster.hold(JoinGroupRequest, at="answer", when=lambda r: bool(r.member_id))
        b.subscribe("t")
        a.during = lambda *_: None  # type: ignore[method-assign]
        cluster.fail(OffsetCommitRequest, REBALANCE)
        future = a.consumer.commit_async({tp(0): 0})
        turns(lambda: joining.count, a, b)
        held.release()
        time.sleep(0.1)
        joining.release()
        settle(a, b, partitions=2)
        turns(lambda: future.done, a, b)
        generation = cluster.group_generation(GROUP)
        for _ in range(20):
            a.poll()
            b.poll()
        assert cluster.group_generation(GROUP) == generation <= 3


THREE = pytest.mark.parametrize(
    "code",
    [Code.UNKNOWN_MEMBER_ID, Code.FENCED_MEMBER_EPOCH, Code.STALE_MEMBER_EPOCH, Code.FENCED_INSTANCE_ID],
    ids=lambda c: c.name,
)


@pytest.mark.case("G5", "G13")
@THREE
@pytest.mark.parametrize("joined", [False, True], ids=["join", "heartbeat"])
def test_error_codes_of_consumer_group_heartbeats(code: Code, joined: bool) -> None:
    """The member abandons its partitions and joins anew with epoch 0; fenced by another instance is for good."""
    with cluster_of(2) as cluster, member(cluster, group_protocol="consumer") as a:
        if joined:
            settle(a, partitions=2)
        rule = cluster.fail(ConsumerGroupHeartbeatRequest, code)
        if code == FENCED:
            check_fenced(cluster, a)
            return
        turns(lambda: rule.count, a)
        if joined:
            turns(lambda: a.told("lost"), a)
        settle(a, partitions=2)
        a.consumer.commit({tp(0): 1}, timeout=PATIENCE)
        assert offsets(cluster) == {tp(0): 1}


@pytest.mark.case("G5", "G13")
@THREE
def test_error_codes_of_commits_of_a_consumer_group_member(code: Code) -> None:
    """A stale epoch is about to be a new one, and the commit is made under that."""
    with cluster_of(2) as cluster, member(cluster, group_protocol="consumer") as a:
        settle(a, partitions=2)
        cluster.fail(OffsetCommitRequest, code)
        if code == Code.STALE_MEMBER_EPOCH:
            a.consumer.commit({tp(0): 5}, timeout=PATIENCE)
            assert offsets(cluster) == {tp(0): 5}
            return
        with pytest.raises(CommitFailedError):
            a.consumer.commit({tp(0): 5}, timeout=PATIENCE)
        assert offsets(cluster) == {}
        if code == FENCED:
            check_fenced(cluster, a)
            return
        turns(lambda: a.told("lost"), a)
        settle(a, partitions=2)
        a.consumer.commit({tp(0): 6}, timeout=PATIENCE)
        assert offsets(cluster) == {tp(0): 6}


@pytest.mark.case("G5")
@THREE
def test_error_codes_of_leaving_a_consumer_group(code: Code) -> None:
    """A failed leave is no error."""
    with cluster_of(2) as cluster, member(cluster, group_protocol="consumer") as a:
        settle(a, partitions=2)
        cluster.fail(ConsumerGroupHeartbeatRequest, code, when=lambda request: request.member_epoch < 0)
        began = Moment.now()
        a.consumer.close()
        assert lasted(began) < 2


# --- coordinators that move, or are not ready ----------------------------------------------------------

CLASSIC_STEPS = [
    FindCoordinatorRequest,
    JoinGroupRequest,
    SyncGroupRequest,
    HeartbeatRequest,
    OffsetFetchRequest,
    OffsetCommitRequest,
    LeaveGroupRequest,
]
NEW_STEPS = [
    FindCoordinatorRequest,
    ConsumerGroupHeartbeatRequest,
    OffsetFetchRequest,
    OffsetCommitRequest,
]
STEPS = [("classic", step) for step in CLASSIC_STEPS] + [("consumer", step) for step in NEW_STEPS]
AT_EACH_STEP = pytest.mark.parametrize(
    ("protocol", "step"), STEPS, ids=[f"{protocol}-{step.api_name}" for protocol, step in STEPS]
)


def journey(cluster: FakeCluster, protocol: str) -> None:
    """A member's life: joins, reads all, commits, heartbeats, leaves."""
    with member(cluster, group_protocol=protocol) as a:
        settle(a, partitions=2)
        turns(lambda: len(a.read) >= 20, a)
        a.consumer.commit(timeout=PATIENCE)
        beats = len(cluster.seen(BEATS))
        cluster.wait_for(BEATS, beats + 3)
        a.poll()
        settle(a, partitions=2)
        began = Moment.now()
        a.consumer.close()
        assert lasted(began) < 3
        assert sorted(set(a.values)) == sorted(f"{p}:{o}".encode() for p in range(2) for o in range(10))
    assert offsets(cluster) == {tp(0): 10, tp(1): 10}
    cluster.wait_until(lambda: cluster.group_members(GROUP) == {})


@pytest.mark.case("S0-48", "G6")
@AT_EACH_STEP
@pytest.mark.parametrize(
    "code",
    [Code.NOT_COORDINATOR, Code.COORDINATOR_LOAD_IN_PROGRESS, Code.COORDINATOR_NOT_AVAILABLE],
    ids=lambda c: c.name,
)
def test_the_coordinator_has_moved_or_is_not_ready(protocol: str, step: Any, code: Code) -> None:
    """Three times in a row, at each step; nothing is lost, nobody has to be told."""
    with cluster_of(2, nodes=2) as cluster:
        fill(cluster, 2)
        cluster.fail(step, code, code, code)
        journey(cluster, protocol)


@pytest.mark.case("S0-48", "S0-52", "S4-17", "G6")
@AT_EACH_STEP
@pytest.mark.parametrize("how", ["moves", "dies", "is away"])
def test_the_coordinator_changes_at_each_step(protocol: str, step: Any, how: str) -> None:
    """Found again with backoff; when there is one again, everything continues."""
    with cluster_of(2, nodes=3) as cluster:
        fill(cluster, 2)
        for partition in range(2):
            cluster.move_leader("t", partition, 3)
        cluster.move_coordinator("group", GROUP, 1)
        happened = threading.Event()

        def change(_request: Any) -> None:
            if happened.is_set():
                return
            happened.set()
            cluster.move_coordinator("group", GROUP, -1 if how == "is away" else 2)
            if how == "dies":
                cluster.reset_connections(1)

        def come_back() -> None:
            happened.wait(PATIENCE)
            time.sleep(0.3)
            cluster.move_coordinator("group", GROUP, 2)

        cluster.intercept(step, change)
        healer = threading.Thread(target=come_back)
        healer.start()
        try:
            journey(cluster, protocol)
        finally:
            happened.set()
            healer.join()


@pytest.mark.case("G6")
def test_a_heartbeat_thread_reports_a_final_error_and_starts_again() -> None:
    """No permission for the group is raised by poll, and is not the end when it was granted later."""
    with cluster_of(2) as cluster, member(cluster) as a:
        settle(a, partitions=2)
        cluster.fail(HeartbeatRequest, Code.NOT_COORDINATOR)
        cluster.fail(FindCoordinatorRequest, Code.GROUP_AUTHORIZATION_FAILED)
        error = raised_by(a)
        assert isinstance(error, BrokerError)
        assert error.exit_code == 4
        turns(lambda: len(a.told("assigned")) == 2, a)
        assert a.told("lost") == [{tp(0), tp(1)}]
        settle(a, partitions=2)
        generation = cluster.group_generation(GROUP)
        beats = len(cluster.seen(HeartbeatRequest))
        cluster.wait_for(HeartbeatRequest, beats + 3)
        assert cluster.group_generation(GROUP) == generation


# --- others in the group -------------------------------------------------------------------------------


class Stranger:
    """Another member, by hand: joins with any bytes, and shows what it was assigned."""

    def __init__(self, cluster: FakeCluster, metadata: bytes, protocol: str = "range") -> None:
        self.client = RawClient(cluster.address(1), timeout=PATIENCE)
        self.protocol, self.metadata = protocol, metadata
        self.member_id = self.client.ask(self._join(""), 5).member_id

    def _join(self, member_id: str) -> JoinGroupRequest:
        return JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=10_000,
            rebalance_timeout_ms=10_000,
            member_id=member_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name=self.protocol, metadata=self.metadata)],
        )

    def join(self) -> None:
        """The answer comes when all have joined."""
        self.client.send(self._join(self.member_id), 5)

    def assigned(self, others: Member) -> list[TopicPartition]:
        """In the generation in which all came to rest."""
        while True:
            joined = self._received(others)
            assert joined.error_code == 0
            sync = SyncGroupRequest(
                group_id=GROUP, generation_id=joined.generation_id, member_id=self.member_id
            )
            self.client.send(sync, 3)
            answer = self._received(others)
            if answer.error_code != Code.REBALANCE_IN_PROGRESS:
                assert answer.error_code == 0
                return list(decode_assignment(answer.assignment, "stranger").partitions)
            self.join()

    def _received(self, others: Member) -> Any:
        while self.client.is_silent(0.02):
            others.poll()
        return self.client.receive()


@pytest.mark.case("G7")
@pytest.mark.parametrize(
    "metadata",
    [
        b"",
        b"\0",
        b"\xff" * 40,
        b"\0\3\x7f\xff\xff\xff",
        encode_subscription(Subscription(("t", "no-such-topic", "t"))),
        encode_subscription(
            Subscription(("t",), tuple(TopicPartition("t", p) for p in (-1, 0, 1, 2, 3, 99)), 1)
        ),
        encode_subscription(Subscription(("t",), (tp(0), tp(0), tp(1)), 2**31 - 1, user_data=b"\xff\xff")),
    ],
    ids=["nothing", "short", "noise", "bomb", "unknown-topic", "claims-all", "false-generation"],
)
@pytest.mark.parametrize("strategy", ["range", "sticky", "cooperative-sticky"])
def test_a_leader_assigns_to_any_members(metadata: bytes, strategy: str) -> None:
    """Bytes that are no subscription, false claims, negative partitions: nothing assigned twice, no crash."""
    with cluster_of(4) as cluster:
        fill(cluster, 4)
        with member(cluster, partition_assignment_strategy=strategy) as a:
            settle(a, partitions=4)
            stranger = Stranger(cluster, metadata, strategy)
            stranger.join()
            theirs = stranger.assigned(a)
            turns(lambda: len(a.told("assigned")) >= 2, a)
            assert len(theirs) == len(set(theirs))
            assert not a.partitions & set(theirs)
            assert set(theirs) <= {tp(p) for p in range(4)}
            stranger.client.close()
            a.consumer.commit(timeout=PATIENCE)


@pytest.mark.case("G7")
def test_a_leader_assigns_partitions_to_a_member_of_kafka_go() -> None:
    """Its subscription says version 1 and ends before the field that version 1 added."""
    metadata = bytes.fromhex("0001000000010001" + b"t".hex() + "ffffffff")
    with cluster_of(4) as cluster, member(cluster, partition_assignment_strategy="range") as a:
        settle(a, partitions=4)
        stranger = Stranger(cluster, metadata)
        stranger.join()
        assert len(stranger.assigned(a)) == 2
        stranger.client.close()


@pytest.mark.case("G9")
def test_new_partitions_cost_one_rebalance_even_when_members_see_them_at_different_times() -> None:
    """The leader's metadata counts."""
    with (
        cluster_of(2) as cluster,
        member(cluster, metadata_max_age_ms=100) as a,
        member(cluster, metadata_max_age_ms=1_000) as b,
    ):
        settle(a, b, partitions=2)
        generation = cluster.group_generation(GROUP)
        cluster.add_partitions("t", 4)
        settle(a, b, partitions=4)
        end = time.monotonic() + 1.5
        turns(lambda: time.monotonic() > end, a, b)
        assert cluster.group_generation(GROUP) <= generation + 2
        settle(a, b, partitions=4)


@pytest.mark.case("G9")
def test_a_topic_that_metadata_omits_for_a_moment_is_no_reason_for_a_rebalance() -> None:
    """As when brokers come back one after the other."""
    with cluster_of(2) as cluster, member(cluster, metadata_max_age_ms=50) as a:
        settle(a, partitions=2)
        generation = cluster.group_generation(GROUP)
        lie = cluster.lie(lambda answer: answer.topics.clear())
        turns(lambda: lie.count >= 5, a)
        cluster.heal()
        for _ in range(20):
            a.poll()
        assert cluster.group_generation(GROUP) == generation
        assert a.partitions == {tp(0), tp(1)}


# --- committed offsets ---------------------------------------------------------------------------------


def omit(_request: Any, answer: Any) -> None:
    for group in answer.groups:
        for topic in group.topics:
            topic.partitions = [row for row in topic.partitions if row.partition_index != 0]


@pytest.mark.case("S1-6", "S1-12", "G8", "O6")
@BOTH
@pytest.mark.parametrize("how", ["omitted", "unstable", "lost", "loading"])
def test_a_committed_offset_that_cannot_be_read_is_requested_again(protocol: str, how: str) -> None:
    """It is not taken for "nothing is committed"."""
    with cluster_of(1) as cluster:
        fill(cluster, 1)
        with member(cluster, group_protocol=protocol) as a:
            settle(a, partitions=1)
            a.consumer.commit({tp(0): 5}, timeout=PATIENCE)
        resets = len(cluster.seen(ListOffsetsRequest))
        begin_failing(cluster, how, times=4)
        with member(cluster, group_protocol=protocol, request_timeout_ms=200) as a:
            turns(lambda: len(a.read) == 5, a)
            assert a.values == [f"0:{o}".encode() for o in range(5, 10)]
            assert len(cluster.seen(OffsetFetchRequest)) > 4
        assert len(cluster.seen(ListOffsetsRequest)) == resets


def begin_failing(cluster: FakeCluster, how: str, times: float) -> None:
    if how == "omitted":
        cluster.replace(OffsetFetchRequest, omit, times=times)
    elif how == "lost":
        cluster.drop(OffsetFetchRequest, "silence", times=times)
    elif how == "loading":
        cluster.fail(OffsetFetchRequest, Code.COORDINATOR_LOAD_IN_PROGRESS, times=times)
    else:
        cluster.fail(OffsetFetchRequest, Code.UNSTABLE_OFFSET_COMMIT, where=tp(0), times=times)


@pytest.mark.case("G8")
@BOTH
@pytest.mark.parametrize("how", ["omitted", "unstable", "lost"])
def test_an_offset_that_stays_away_is_an_error_that_names_the_partition(protocol: str, how: str) -> None:
    """At the deadline of an operation; a seek continues."""
    with cluster_of(1) as cluster:
        fill(cluster, 1)
        begin_failing(cluster, how, times=FOREVER)
        wishes = {"default_api_timeout_ms": 700, "request_timeout_ms": 200}
        with member(cluster, group_protocol=protocol, **wishes) as a:
            began = Moment.now()
            error = raised_by(a)
            assert time.monotonic() - began > 0.6
            assert lasted(began) < 5
            assert (
                "t-0" in str(error) or "t:0" in str(error) or "t/0" in str(error) or "partition" in str(error)
            )
            assert isinstance(error, TimedOutError) or error.exit_code == 3
            assert a.read == []
            assert cluster.seen(ListOffsetsRequest) == []
            with pytest.raises(KcliError):
                a.consumer.committed([tp(0)], 0.5)
            a.consumer.seek(tp(0), 8)
            turns(lambda: len(a.read) == 2, a)


# --- closing -------------------------------------------------------------------------------------------


@pytest.mark.case("G11")
@BOTH
@pytest.mark.parametrize("auto", [False, True])
def test_close_while_rebalancing(protocol: str, auto: bool) -> None:
    """The others are waiting; whoever closes is out at once, and they continue."""
    with cluster_of(4) as cluster:
        fill(cluster, 4)
        with (
            member(cluster, group_protocol=protocol, enable_auto_commit=auto) as a,
            member(cluster, None, group_protocol=protocol) as b,
        ):
            settle(a, partitions=4)
            turns(lambda: len(a.read) == 40, a)
            b.subscribe("t")
            join = JoinGroupRequest if protocol == "classic" else ConsumerGroupHeartbeatRequest
            before = len(cluster.seen(join))
            turns(lambda: len(cluster.seen(join)) > before + 1, b)
            began = Moment.now()
            b.consumer.close(2.0)
            assert lasted(began) < 2.5
            a.poll()
            began = Moment.now()
            a.consumer.close(2.0)
            assert lasted(began) < 2.5
            cluster.wait_until(lambda: cluster.group_members(GROUP) == {})
            assert set(offsets(cluster).values()) == ({10} if auto else set())


@pytest.mark.case("G11")
@BOTH
@pytest.mark.parametrize("how", ["refused", "silent"])
@pytest.mark.parametrize("when", ["new", "joined", "rejoining"])
def test_close_with_all_brokers_down(protocol: str, how: str, when: str) -> None:
    """Within its timeout, whether brokers refuse connections or just say nothing."""
    with cluster_of(2, nodes=2) as cluster:
        fill(cluster, 2)
        with member(cluster, group_protocol=protocol, enable_auto_commit=True) as a:
            if when != "new":
                settle(a, partitions=2)
                turns(lambda: len(a.read) == 20, a)
            for node in cluster.node_ids:
                cluster.stop(node) if how == "refused" else cluster.pause(node)
            if when == "rejoining":
                group = a.consumer._group
                assert group is not None
                group.subscribe(frozenset({"t", "u"}))
            for _ in range(5):
                a.poll(0.02)
            began = Moment.now()
            a.consumer.close(1.0)
            assert lasted(began) < 1.5
            assert "kcli-heartbeat" not in {thread.name for thread in threading.enumerate()}
            for node in cluster.node_ids:
                if how == "silent":
                    cluster.resume(node)


@pytest.mark.case("S0-40", "G11")
@BOTH
def test_polls_keep_their_timeout_with_all_brokers_down(protocol: str) -> None:
    """Whatever the member is about to do."""
    with cluster_of(2) as cluster, member(cluster, group_protocol=protocol) as a:
        settle(a, partitions=2)
        cluster.stop(1)
        for _ in range(20):
            began = Moment.now()
            a.poll(0.05)
            assert lasted(began) < 0.5
        cluster.start(1)
        settle(a, partitions=2)
        turns(lambda: a.consumer._group is not None and a.consumer._group.commits.idle, a)
        a.consumer.commit({tp(0): 1}, timeout=PATIENCE)


# --- cooperative rebalances ----------------------------------------------------------------------------


@pytest.mark.case("G12")
@BOTH
def test_buffered_records_of_revoked_partitions_are_dropped(protocol: str) -> None:
    """What was fetched and not handed out is the next owner's; the kept partitions continue without a break."""
    with cluster_of(4) as cluster:
        fill(cluster, 4, 250)
        wishes = {
            "group_protocol": protocol,
            "partition_assignment_strategy": "cooperative-sticky",
            "enable_auto_commit": True,
            "max_poll_records": 1,
        }
        with member(cluster, **wishes) as a, member(cluster, None, **wishes) as b:
            settle(a, partitions=4)
            turns(lambda: len(a.read) >= 8, a)
            after: list[TopicPartition] = []
            gone: set[TopicPartition] = set()

            def during(what: str, partitions: list[TopicPartition]) -> None:
                if what == "revoked":
                    gone.update(partitions)

            a.during = during  # type: ignore[method-assign]
            b.subscribe("t")
            end = time.monotonic() + PATIENCE
            while len(a.read) + len(b.read) < 1000:
                assert time.monotonic() < end
                for record in a.poll():
                    assert tp(record.partition) not in gone
                    after.append(tp(record.partition))
                b.poll()
            assert gone
            assert len(gone) < 4, "cooperative: only what moves is given up"
            assert len(a.read) + len(b.read) == 1000
            assert len({*a.values, *b.values}) == 1000, "nothing twice, nothing lost"


# --- refusals ------------------------------------------------------------------------------------------


@pytest.mark.case("G13")
def test_an_assignor_that_the_coordinator_does_not_have() -> None:
    """Said with the remedy."""
    with (
        cluster_of(2) as cluster,
        member(cluster, group_protocol="consumer", group_remote_assignor="nonsense") as a,
    ):
        error = raised_by(a)
        assert isinstance(error, MembershipError)
        assert error.exit_code == 7
        assert "group.consumer.assignors" in error.do
        assert len(cluster.seen(ConsumerGroupHeartbeatRequest)) == 1


@pytest.mark.case("G13")
def test_an_answer_with_epoch_minus_one_is_no_epoch() -> None:
    """The member was sent away; it joins anew, and never says -1, which would mean that it leaves."""
    with cluster_of(2) as cluster, member(cluster, group_protocol="consumer") as a:
        settle(a, partitions=2)

        def sent_away(_request: Any, answer: Any) -> None:
            answer.member_epoch, answer.assignment = -1, None

        cluster.replace(ConsumerGroupHeartbeatRequest, sent_away, times=1)
        turns(lambda: a.told("lost"), a)
        settle(a, partitions=2)
        assert [s for s in cluster.seen(ConsumerGroupHeartbeatRequest) if s.request.member_epoch < 0] == []


@pytest.mark.case("G13")
@pytest.mark.parametrize("fault", ["epoch -1", "fenced", "unknown"])
def test_a_coordinator_that_never_accepts_is_not_flooded(fault: str) -> None:
    """Bounded in time, whatever it answers to a join."""
    with cluster_of(2) as cluster, member(cluster, group_protocol="consumer") as a:
        if fault == "epoch -1":

            def sent_away(_request: Any, answer: Any) -> None:
                answer.member_epoch, answer.assignment = -1, None

            cluster.replace(ConsumerGroupHeartbeatRequest, sent_away)
        else:
            code = Code.FENCED_MEMBER_EPOCH if fault == "fenced" else Code.UNKNOWN_MEMBER_ID
            cluster.fail(ConsumerGroupHeartbeatRequest, code, times=FOREVER)
        turns(lambda: len(cluster.seen(ConsumerGroupHeartbeatRequest)) >= 3, a)
        end = time.monotonic() + 1.5
        turns(lambda: time.monotonic() > end, a)
        assert len(cluster.seen(ConsumerGroupHeartbeatRequest)) <= 33
        cluster.heal()
        settle(a, partitions=2)


@pytest.mark.case("G5")
@pytest.mark.parametrize("code", [ID_REQUIRED, UNKNOWN, ILLEGAL, REBALANCE], ids=lambda c: c.name)
def test_a_classic_coordinator_that_never_accepts_is_not_flooded(code: Code) -> None:
    """Bounded in time, whatever it answers to a join."""
    with cluster_of(2) as cluster, member(cluster) as a:
        cluster.fail(JoinGroupRequest, code, times=FOREVER)
        turns(lambda: len(cluster.seen(JoinGroupRequest)) >= 3, a)
        end = time.monotonic() + 1.5
        turns(lambda: time.monotonic() > end, a)
        assert len(cluster.seen(JoinGroupRequest)) <= 63
        cluster.heal()
        settle(a, partitions=2)


@pytest.mark.case("G13")
def test_a_heartbeat_interval_of_zero_is_no_flood() -> None:
    """At most ten a second."""
    with (
        cluster_of(2, groups={"consumer_heartbeat_interval": 0.0}) as cluster,
        member(cluster, group_protocol="consumer") as a,
    ):
        settle(a, partitions=2)
        before = len(cluster.seen(ConsumerGroupHeartbeatRequest))
        time.sleep(1.0)
        assert len(cluster.seen(ConsumerGroupHeartbeatRequest)) - before <= 14


@pytest.mark.case("G13")
def test_brokers_without_the_new_protocol_are_named_and_nothing_else_is_tried() -> None:
    """Falls back only if asked."""
    with cluster_of(2) as cluster:
        cluster.hide(ConsumerGroupHeartbeatRequest)
        with member(cluster, group_protocol="consumer") as a:
            error = raised_by(a)
            assert isinstance(error, UnsupportedError)
            assert "ConsumerGroupHeartbeat" in str(error)
            assert cluster.seen(JoinGroupRequest) == []


@pytest.mark.case("G14")
@BOTH
def test_a_full_group_refuses_the_member(protocol: str) -> None:
    """Says so, with the remedy and exit code 7; there is room again when somebody leaves."""
    with (
        cluster_of(2, groups={"max_size": 1}) as cluster,
        member(cluster, group_protocol=protocol) as a,
        member(cluster, None, group_protocol=protocol) as b,
    ):
        settle(a, partitions=2)
        b.subscribe("t")
        error = raised_by(b)
        assert isinstance(error, MembershipError)
        assert error.exit_code == 7
        assert "group.max.size" in error.do


@pytest.mark.case("G14")
def test_a_group_of_another_protocol_type() -> None:
    """The group of a Connect cluster, say."""
    with cluster_of(2) as cluster, RawClient(cluster.address(1)) as stranger:
        join = JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=10_000,
            rebalance_timeout_ms=10_000,
            protocol_type="connect",
            protocols=[JoinGroupRequestProtocol(name="compatible", metadata=b"x")],
        )
        join.member_id = stranger.ask(join, 5).member_id
        assert stranger.ask(join, 5).error_code == 0
        with member(cluster) as a:
            error = raised_by(a)
            assert isinstance(error, MembershipError)
            assert error.exit_code == 7
            assert "another group.id" in error.do


@pytest.mark.case("G14")
@BOTH
def test_a_live_group_of_the_other_protocol(protocol: str) -> None:
    """Classic members and members of KIP-848 in one group."""
    other = "consumer" if protocol == "classic" else "classic"
    with cluster_of(2) as cluster, member(cluster, group_protocol=other) as a:
        settle(a, partitions=2)
        with member(cluster, group_protocol=protocol) as b:
            error = raised_by(b)
            assert error.exit_code in (1, 7)
            assert GROUP in str(error)


# --- static members ------------------------------------------------------------------------------------


@BOTH
def test_a_static_member_is_back_within_its_session_without_a_rebalance(protocol: str) -> None:
    with cluster_of(4) as cluster, member(cluster, group_protocol=protocol, group_instance_id="one") as a:
        with member(cluster, group_protocol=protocol, group_instance_id="two") as b:
            settle(a, b, partitions=4)
            before, generation = b.partitions, cluster.group_generation(GROUP)
        for _ in range(5):
            a.poll()
        with member(cluster, group_protocol=protocol, group_instance_id="two") as b:
            turns(lambda: b.partitions == before, a, b)
            assert cluster.group_generation(GROUP) == generation
            assert len(a.told("assigned")) <= 2


@pytest.mark.case("G5")
@BOTH
def test_two_members_with_one_instance_id(protocol: str) -> None:
    """Of two classic members the second takes over and the first is fenced; KIP-848 refuses the second."""
    with cluster_of(2) as cluster, member(cluster, group_protocol=protocol, group_instance_id="one") as a:
        settle(a, partitions=2)
        with member(cluster, None, group_protocol=protocol, group_instance_id="one") as b:
            b.subscribe("t")
            if protocol == "classic":
                turns(lambda: b.partitions == {tp(0), tp(1)}, b)
                error = raised_by(a)
                assert a.told("lost") == [{tp(0), tp(1)}]
            else:
                error = raised_by(b)
            assert isinstance(error, MembershipError)
            assert error.exit_code == 7
            assert "instance" in str(error) + error.do


# --- commits -------------------------------------------------------------------------------------------


@pytest.mark.case("O1")
@BOTH
@pytest.mark.parametrize("then", ["reset", "silence"])
def test_a_commit_whose_answer_is_lost_is_made_again(protocol: str, then: str) -> None:
    """It has landed, so it is no failure."""
    with cluster_of(2) as cluster, member(cluster, group_protocol=protocol, request_timeout_ms=300) as a:
        settle(a, partitions=2)
        cluster.swallow(OffsetCommitRequest, then)
        a.consumer.commit({tp(0): 5}, timeout=PATIENCE)
        assert offsets(cluster) == {tp(0): 5}
        assert len(cluster.seen(OffsetCommitRequest)) == 2
        settle(a, partitions=2)


@pytest.mark.case("O1")
@BOTH
def test_at_its_deadline_a_commit_says_that_it_may_have_been_made(protocol: str) -> None:
    """And whatever is committed next does not overtake it."""
    with cluster_of(2) as cluster, member(cluster, group_protocol=protocol) as a:
        settle(a, partitions=2)
        held = cluster.hold(OffsetCommitRequest, at="answer")
        began = Moment.now()
        with pytest.raises(CommitFailedError) as failed:
            a.consumer.commit({tp(0): 5}, timeout=0.3)
        assert time.monotonic() - began > 0.2
        assert lasted(began) < 1
        assert "no response" in str(failed.value)
        future = a.consumer.commit_async({tp(0): 6})
        for _ in range(10):
            a.poll()
        assert len(cluster.seen(OffsetCommitRequest)) == 1
        held.release()
        turns(lambda: future.done, a)
        assert future.error is None
        assert offsets(cluster) == {tp(0): 6}


@pytest.mark.case("S1-11", "O3")
@BOTH
def test_commits_never_overtake_one_another(protocol: str) -> None:
    """The first is held, then refused for a while, then its answer is lost; the offset goes up only."""
    with cluster_of(2, nodes=2) as cluster, member(cluster, group_protocol=protocol) as a:
        settle(a, partitions=2)
        held = cluster.hold(OffsetCommitRequest)
        cluster.fail(OffsetCommitRequest, Code.COORDINATOR_LOAD_IN_PROGRESS, after=2)
        cluster.swallow(OffsetCommitRequest, "reset", nth=5)
        futures = [a.consumer.commit_async({tp(0): n}) for n in range(1, 9)]
        turns(lambda: held.count, a)
        held.release()
        seen: list[int] = []
        turns(lambda: seen.append(offsets(cluster).get(tp(0), 0)) or futures[-1].done, a)
        assert [future.error for future in futures] == [None] * 8
        assert seen == sorted(seen)
        applied = [
            s.request.topics[0].partitions[0].committed_offset for s in cluster.seen(OffsetCommitRequest)
        ]
        assert applied == sorted(applied)
        assert offsets(cluster) == {tp(0): 8}


@pytest.mark.case("O3")
@BOTH
def test_a_deadline_counts_for_queued_commits(protocol: str) -> None:
    """Nobody waits longer than was said because the one before may take longer."""
    with cluster_of(2) as cluster, member(cluster, group_protocol=protocol) as a:
        settle(a, partitions=2)
        held = cluster.hold(OffsetCommitRequest)
        first = a.consumer.commit_async({tp(0): 1})
        began = Moment.now()
        with pytest.raises(CommitFailedError):
            a.consumer.commit({tp(0): 2}, timeout=0.3)
        assert lasted(began) < 1
        held.release()
        turns(lambda: first.done, a)
        assert offsets(cluster) == {tp(0): 1}


@pytest.mark.case("O3")
@BOTH
def test_a_commit_of_a_lost_membership_is_not_made_in_the_next(protocol: str) -> None:
    """Somebody else has owned the partition in between, and committed more."""
    wishes = {"group_protocol": protocol, "session_timeout_ms": 300}
    with (
        cluster_of(1) as cluster,
        member(cluster, max_poll_interval_ms=300, **wishes) as a,
        member(cluster, **wishes) as b,
    ):
        settle(a, partitions=1)
        lost = cluster.drop(OffsetCommitRequest, "reset")
        old = a.consumer.commit_async({tp(0): 1})
        turns(lambda: lost.count, a)
        cluster.wait_until(lambda: not cluster.group_members(GROUP))
        turns(lambda: b.partitions == {tp(0)}, b)
        b.consumer.commit({tp(0): 9}, timeout=PATIENCE)
        b.consumer.close()
        turns(lambda: old.done and a.partitions == {tp(0)}, a)
        assert isinstance(old.error, CommitFailedError)
        for _ in range(10):
            a.poll()
        assert offsets(cluster) == {tp(0): 9}


@pytest.mark.case("O3")
def test_a_commit_that_a_rebalance_delays_is_made_for_what_is_still_owned() -> None:
    """Under the new generation; what others own now is refused."""
    with cluster_of(2) as cluster, member(cluster) as a, member(cluster, None) as b:
        settle(a, partitions=2)
        cluster.fail(OffsetCommitRequest, Code.COORDINATOR_LOAD_IN_PROGRESS, times=FOREVER)
        future = a.consumer.commit_async({tp(0): 4, tp(1): 5})
        b.subscribe("t")
        settle(a, b, partitions=2)
        cluster.heal()
        turns(lambda: future.done, a, b)
        (kept,), (given,) = a.partitions, b.partitions
        assert isinstance(future.error, CommitFailedError)
        assert set(future.error.errors) == {given}
        assert offsets(cluster) == {kept: 4 if kept == tp(0) else 5}


@pytest.mark.case("O4")
@BOTH
def test_one_partition_that_is_refused_leaves_the_rest_committed(protocol: str) -> None:
    """Each has its own error."""
    with cluster_of(3) as cluster, member(cluster, group_protocol=protocol) as a:
        settle(a, partitions=3)
        cluster.fail(OffsetCommitRequest, Code.TOPIC_AUTHORIZATION_FAILED, where=tp(1))
        with pytest.raises(CommitFailedError) as failed:
            a.consumer.commit({tp(0): 1, tp(1): 2, tp(2): 3}, timeout=PATIENCE)
        assert set(failed.value.errors) == {tp(1)}
        assert "t" in str(failed.value)
        assert offsets(cluster) == {tp(0): 1, tp(2): 3}
        assert a.consumer.metrics().commits_failed == 1


# --- old brokers ---------------------------------------------------------------------------------------


@pytest.mark.case("S2-13")
def test_a_group_of_brokers_from_before_kip_62() -> None:
    """JoinGroup 0: the session timeout bounds a rebalance too; no member id is asked for first."""
    with cluster_of(4) as cluster:
        cluster.cap_versions(
            {
                JoinGroupRequest: 0,
                SyncGroupRequest: 0,
                HeartbeatRequest: 0,
                LeaveGroupRequest: 0,
                OffsetCommitRequest: 2,
                OffsetFetchRequest: 1,
                FindCoordinatorRequest: 0,
            }
        )
        with member(cluster) as a, member(cluster) as b:
            settle(a, b, partitions=4)
            fill(cluster, 4)  # now, so that each has something to read, and to commit
            turns(lambda: len(a.read) + len(b.read) >= 40, a, b)
            turns(
                lambda: a.partitions and all(a.consumer.state(tp).position == 10 for tp in a.partitions), a, b
            )
            share = a.partitions
            a.consumer.commit(timeout=PATIENCE)
            assert offsets(cluster) == dict.fromkeys(share, 10)
            a.consumer.close()
            settle(b, partitions=4)
            assert {s.version for s in cluster.seen(JoinGroupRequest)} == {0}
            assert {s.version for s in cluster.seen(OffsetCommitRequest)} == {2}


def test_a_static_member_needs_brokers_that_know_of_it() -> None:
    """Kafka 2.3 and later; nothing is joined under a name that would be ignored."""
    with cluster_of(2) as cluster:
        cluster.cap_versions({JoinGroupRequest: 4})
        with member(cluster, group_instance_id="one") as a:
            error = raised_by(a)
            assert isinstance(error, UnsupportedError)
