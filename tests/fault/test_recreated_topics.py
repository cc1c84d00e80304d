"""A topic is deleted and created again: no offset of the one that is gone is committed for the new one (case B8).

By every path on which a consumer commits, with brokers that check topic ids (OffsetCommit 10) and with those that know
names only. What is asked is what the coordinator has in the end.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from kcli.core import Consumer
from kcli.core.consumer.partition_recovery import TopicRecreatedError
from kcli.core.consumer.subscription import Span
from kcli.core.errors import CommitFailedError, DataLossError, TransactionAbortableError
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kcli.core.protocol.messages.offset_commit import OffsetCommitRequest
from kcli.core.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from kcli.core.types import OffsetAndMetadata
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import batch
from tests.fake.script import FOREVER
from tests.fault.consuming import PATIENCE, Member, fill, member, offsets, options, raised_by, tp, turns
from tests.fault.producing import quick
from tests.run import start

pytestmark = pytest.mark.case("B8")

BY_NAME, BY_ID = 9, 10
VERSIONS = pytest.mark.parametrize("version", [BY_NAME, BY_ID], ids=["by name", "by id"])
BOTH = pytest.mark.parametrize("protocol", ["classic", "consumer"])
AT_THE_END: dict[str, Any] = {"enable_auto_commit": True, "auto_commit_interval_ms": 3_600_000}
UNNOTICED = {"metadata_max_age_ms": 60_000}
"""Metadata is requested for a reason only."""


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": 2, "u": 1}) as running:
        fill(running, 2)
        fill(running, 1, topic="u")
        yield running


def offer(cluster: FakeCluster, version: int) -> None:
    cluster.cap_versions({OffsetCommitRequest: version})


def recreate(cluster: FakeCluster, count: int = 20) -> None:
    """The new topic has more records than the old one: by offsets alone nothing shows it."""
    cluster.recreate_topic("t")
    for partition in range(2):
        cluster.append("t", partition, batch(*[b"new"] * count))


def recreate_unnoticed(cluster: FakeCluster) -> None:
    """No fetch is answered, so nothing tells the consumer."""
    cluster.hold(FetchRequest, times=FOREVER)
    recreate(cluster)


# --- kcli consume ----------------------------------------------------------------------------------------


@VERSIONS
@BOTH
@pytest.mark.parametrize("more", [(), ("-X", "group.instance.id=one")], ids=["member", "static member"])
def test_a_run_that_ends_because_of_it_commits_the_other_topics_only(
    cluster: FakeCluster, version: int, protocol: str, more: tuple[str, ...]
) -> None:
    offer(cluster, version)
    with start(
        "consume", "t", "-t", "u", "-g", "g", "-X", f"group.protocol={protocol}", "-X", "fetch.max.wait.ms=50", *more,
        bootstrap=cluster.bootstrap, bufsize=0,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        for _ in range(30):
            assert process.stdout.readline()
        cluster.append("u", 0, batch(b"last"))
        assert process.stdout.readline() == b"last\n"
        recreate(cluster)
        _, err = process.communicate(timeout=40)
    assert process.returncode == 5
    assert b"topic t was deleted and recreated" in err
    assert offsets(cluster) == {tp(0, "u"): 11}
    assert err.count(b"kcli:") == 1, err


@VERSIONS
@pytest.mark.parametrize(("ends", "code"), [("signal", 130), ("limit", 5)])
def test_a_run_whose_last_commit_finds_out_says_so_and_commits_the_other_topics(
    cluster: FakeCluster, version: int, ends: str, code: int
) -> None:
    """By name it asks for metadata before, by id the broker refuses."""
    offer(cluster, version)
    with start(
        "consume", "t", "-t", "u", "-g", "g", *("-n", "31") if ends == "limit" else (),
        "-X", "fetch.max.wait.ms=50", "-X", "auto.commit.interval.ms=3600000",
        bootstrap=cluster.bootstrap, bufsize=0,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        for _ in range(30):
            assert process.stdout.readline()
        fetches = cluster.hold(FetchRequest, times=FOREVER)
        held = cluster.hold(MetadataRequest if version == BY_NAME else OffsetCommitRequest)
        if ends == "limit":
            cluster.append("u", 0, batch(b"last"))
            fetches.release()
            assert process.stdout.readline() == b"last\n"
        else:
            process.send_signal(signal.SIGINT)
        held.wait()
        recreate(cluster)
        held.release()
        _, err = process.communicate(timeout=40)
    assert process.returncode == code, err
    assert b"topic t was deleted and created again" in err
    assert offsets(cluster) == {tp(0, "u"): 11 if ends == "limit" else 10}


# --- the consumer of the API ----------------------------------------------------------------------------


def read_all(one: Member, count: int = 20) -> None:
    """And until the automatic commit, which a member makes when it first can, is over."""
    turns(lambda: len(one.read) >= count, one)
    one.poll()
    assert one.consumer._group is not None
    turns(lambda: one.consumer._group.commits.idle, one)  # type: ignore[union-attr]


def by_commit(one: Member) -> None:
    one.consumer.commit(timeout=5)


def by_offsets(one: Member) -> None:
    """What an application counted itself: it knows of no topic ids."""
    one.consumer.commit({tp(0): 10, tp(1): OffsetAndMetadata(10, "mine")}, timeout=5)


def by_async(one: Member) -> None:
    commit = one.consumer.commit_async()
    turns(lambda: commit.done, one)


def by_close(one: Member) -> None:
    one.consumer.close()


def by_unsubscribe(one: Member) -> None:
    one.consumer.unsubscribe()


def by_revocation(one: Member) -> None:
    with member(one.fake, group_protocol=one.consumer.options.group_protocol) as other:
        turns(lambda: bool(other.partitions), one, other)


Path = Callable[[Member], object]
LAST: list[Path] = [by_close, by_unsubscribe, by_revocation]
ANY: list[Path] = [by_commit, by_offsets, by_async, *LAST]


def named(path: Path) -> str:
    return path.__name__


@BOTH
@pytest.mark.parametrize("path", ANY, ids=named)
def test_brokers_that_check_ids_get_them_even_if_the_consumer_has_not_noticed(
    cluster: FakeCluster, protocol: str, path: Path
) -> None:
    with member(cluster, group_protocol=protocol, **AT_THE_END, **UNNOTICED) as one:
        read_all(one)
        recreate_unnoticed(cluster)
        with suppress(DataLossError, CommitFailedError):
            path(one)
        assert offsets(cluster) == {}


@BOTH
@pytest.mark.parametrize("path", LAST, ids=named)
def test_a_last_commit_by_name_asks_for_the_id_before(
    cluster: FakeCluster, protocol: str, path: Path
) -> None:
    offer(cluster, BY_NAME)
    with member(cluster, group_protocol=protocol, **AT_THE_END, **UNNOTICED) as one:
        read_all(one)
        recreate_unnoticed(cluster)
        with suppress(DataLossError, CommitFailedError):
            path(one)
        assert offsets(cluster) == {}


@VERSIONS
@BOTH
@pytest.mark.parametrize("path", ANY, ids=named)
def test_once_it_was_noticed_nothing_of_the_old_topic_is_committed(
    cluster: FakeCluster, version: int, protocol: str, path: Path
) -> None:
    offer(cluster, version)
    with member(cluster, group_protocol=protocol, **AT_THE_END) as one:
        read_all(one)
        recreate(cluster)
        assert isinstance(raised_by(one), TopicRecreatedError)
        with suppress(DataLossError, CommitFailedError):
            path(one)
        assert offsets(cluster) == {}


@VERSIONS
def test_partitions_assigned_by_hand_have_the_same_protection(cluster: FakeCluster, version: int) -> None:
    offer(cluster, version)
    with Consumer(**options(cluster, **AT_THE_END, **UNNOTICED)) as one:
        one.assign({tp(0): Span(0), tp(0, "u"): Span(0)})
        while sum(one.position(each, 5) for each in one.assignment) < 20 or not one.metrics().commits:
            list(one.records(0.05))  # until it has committed where it began, too
        recreate_unnoticed(cluster)
        one.close()
    assert offsets(cluster) == {tp(0, "u"): 10}


@VERSIONS
def test_the_error_names_the_topic_and_the_other_topics_are_committed(
    cluster: FakeCluster, version: int
) -> None:
    offer(cluster, version)
    with member(cluster, ["t", "u"], **UNNOTICED) as one:
        read_all(one, 30)
        recreate_unnoticed(cluster)
        with pytest.raises(CommitFailedError) as caught:
            one.consumer.commit(timeout=5, last=True)
    assert caught.value.errors.keys() == {tp(0), tp(1)}
    assert all(
        "topic t was deleted and created again" in str(error) for error in caught.value.errors.values()
    )
    assert caught.value.exit_code == 5
    assert offsets(cluster) == {tp(0, "u"): 10}


@VERSIONS
def test_an_offset_after_a_seek_is_one_of_the_new_topic(cluster: FakeCluster, version: int) -> None:
    """Even the one that the group had committed in the old topic."""
    offer(cluster, version)
    with member(cluster, **UNNOTICED) as one:
        read_all(one)
        one.consumer.commit(timeout=5)
        recreate(cluster)
        assert isinstance(raised_by(one), TopicRecreatedError)
        one.consumer.seek(tp(0), 10)
        one.consumer.commit({tp(0): 10}, timeout=5)
        assert offsets(cluster) == {tp(0): 10}


@VERSIONS
def test_a_broker_that_lags_delays_a_commit_and_refuses_none(cluster: FakeCluster, version: int) -> None:
    """One response names another id, the next one the right one."""
    offer(cluster, version)
    with member(cluster, **UNNOTICED) as one:
        read_all(one)

        def another(answer: MetadataResponse) -> None:
            for topic in answer.topics:
                topic.topic_id = b"o" * 16

        rule = cluster.lie(another, times=1)
        one.consumer.cluster.wait_refreshed(one.consumer.cluster.deadline(5))
        one.consumer.commit(timeout=5, last=True)
        assert rule.count == 1
        assert set(offsets(cluster).values()) == {10}


def test_a_commit_by_name_that_is_sent_again_is_not_stored_in_a_topic_that_came_meanwhile(
    cluster: FakeCluster,
) -> None:
    """The topic is gone, the commit waits for it, and a topic of its name comes."""
    offer(cluster, BY_NAME)
    with member(cluster, **UNNOTICED) as one:
        read_all(one)
        cluster.hold(FetchRequest, times=FOREVER)
        cluster.delete_topic("t")
        waiting = one.consumer.commit_async()
        one.consumer.poll(0.1)
        assert not waiting.done
        cluster.create_topic("t", 2)
        with pytest.raises(CommitFailedError, match="topic t was deleted and created again"):
            waiting.result(120)
        assert offsets(cluster) == {}


def test_a_commit_by_name_is_not_sent_again_while_brokers_do_not_know_the_topic(cluster: FakeCluster) -> None:
    """Between two attempts it may be created again; the second one would then be stored for it."""
    offer(cluster, BY_NAME)
    with member(cluster, **UNNOTICED) as one:
        read_all(one)
        cluster.hold(FetchRequest, times=FOREVER)
        cluster.delete_topic("t")
        before = len(cluster.seen(OffsetCommitRequest))
        waiting = one.consumer.commit_async()
        one.consumer.poll(1)
        assert len(cluster.seen(OffsetCommitRequest)) - before <= 1
        assert not waiting.done


@pytest.mark.parametrize(("version", "more"), [(BY_NAME, 1), (BY_ID, 0)])
def test_only_a_last_commit_by_name_costs_a_request_for_metadata(
    cluster: FakeCluster, version: int, more: int
) -> None:
    offer(cluster, version)
    with member(cluster, **UNNOTICED) as one:
        read_all(one)
        before = len(cluster.seen(MetadataRequest))
        for offset in range(5):
            one.consumer.commit({tp(0): offset}, timeout=5)
        assert len(cluster.seen(MetadataRequest)) == before
        one.consumer.commit(timeout=5, last=True)
        assert len(cluster.seen(MetadataRequest)) == before + more


def test_brokers_without_topic_ids_are_asked_for_nothing(cluster: FakeCluster) -> None:
    cluster.cap_versions({OffsetCommitRequest: 8, MetadataRequest: 9, FetchRequest: 12})
    with member(cluster, **UNNOTICED) as one:
        read_all(one)
        before = len(cluster.seen(MetadataRequest))
        one.consumer.commit(timeout=5, last=True)
        assert len(cluster.seen(MetadataRequest)) == before
        assert set(offsets(cluster).values()) == {10}


# --- offsets in transactions -----------------------------------------------------------------------------


def test_offsets_of_a_recreated_topic_are_not_committed_in_a_transaction(cluster: FakeCluster) -> None:
    """Those that have topic ids, which the positions of a consumer have."""
    with member(cluster, **UNNOTICED) as one, quick(cluster, transactional_id="x") as producer:
        read_all(one)
        places = {each: one.consumer.state(each).to_commit for each in one.partitions}
        producer.init_transactions(PATIENCE)
        with producer.transaction():
            producer.send_offsets_to_transaction(places, "g2", PATIENCE)
        assert set(offsets(cluster, "g2").values()) == {10}
        recreate(cluster)
        assert offsets(cluster, "g2") == {}
        with (
            pytest.raises(TransactionAbortableError, match="topic t was deleted and created again"),
            producer.transaction(),
        ):
            producer.send_offsets_to_transaction(places, "g2", PATIENCE)
        assert offsets(cluster, "g2") == {}
        with producer.transaction():
            producer.send_offsets_to_transaction({tp(0): 3}, "g2", PATIENCE)
        cluster.wait_until(lambda: offsets(cluster, "g2") == {tp(0): 3})


@pytest.mark.parametrize("by_id", [True, False], ids=["by id", "by name"])
def test_a_topic_recreated_just_before_its_offsets_are_committed_in_a_transaction(
    cluster: FakeCluster, by_id: bool
) -> None:
    """After the metadata that was asked for: only TxnOffsetCommit by topic id (KIP-1319) notices it."""
    if not by_id:
        cluster.cap_versions({TxnOffsetCommitRequest: 5})
    with quick(cluster, transactional_id="x") as producer:
        producer.init_transactions(PATIENCE)
        producer.begin_transaction()
        offset = OffsetAndMetadata(5, topic_id=cluster.topic_id("t"))
        cluster.intercept(TxnOffsetCommitRequest, lambda _request: recreate(cluster), times=1)
        if by_id:
            with pytest.raises(TransactionAbortableError, match="topic t was deleted and created again"):
                producer.send_offsets_to_transaction({tp(0): offset}, "g2", PATIENCE)
            producer.abort_transaction(PATIENCE)
            assert offsets(cluster, "g2") == {}
        else:
            producer.send_offsets_to_transaction({tp(0): offset}, "g2", PATIENCE)
            producer.commit_transaction(PATIENCE)
            assert offsets(cluster, "g2") == {tp(0): 5}
        versions = {seen.version for seen in cluster.seen(TxnOffsetCommitRequest)}
        assert versions == {6 if by_id else 5}


def test_offsets_that_wait_for_their_topic_are_not_committed_in_one_that_comes_meanwhile(
    cluster: FakeCluster,
) -> None:
    with quick(cluster, transactional_id="x") as producer:
        producer.init_transactions(PATIENCE)
        producer.begin_transaction()
        held = cluster.hold(TxnOffsetCommitRequest)
        failed: list[BaseException] = []

        def send() -> None:
            offset = OffsetAndMetadata(5, topic_id=was)
            try:
                producer.send_offsets_to_transaction({tp(0): offset}, "g2", PATIENCE)
            except TransactionAbortableError as error:
                failed.append(error)

        was = cluster.topic_id("t")
        thread = threading.Thread(target=send)
        thread.start()
        held.wait()
        cluster.delete_topic("t")
        held.release()
        cluster.wait_for(TxnOffsetCommitRequest, 2)
        cluster.create_topic("t", 2)
        thread.join(PATIENCE)
        assert failed
        producer.abort_transaction(PATIENCE)
        assert offsets(cluster, "g2") == {}


@pytest.mark.parametrize("count", [2, 1, 3], ids=["as many", "fewer", "more"])
def test_partitions_that_come_back_are_those_of_another_topic(cluster: FakeCluster, count: int) -> None:
    """A coordinator of KIP-848 takes away those of a topic that is deleted, and assigns those of the new one."""
    with member(cluster, group_protocol="consumer") as one:
        turns(lambda: len(one.read) == 20, one)
        cluster.delete_topic("t")
        turns(lambda: not one.partitions, one)
        cluster.create_topic("t", count)
        cluster.append("t", 0, batch(*[b"new"] * 20))
        assert isinstance(raised_by(one), TopicRecreatedError)
        assert b"new" not in one.values
        assert one.consumer.metrics().rebalances > 2


def test_a_rebalance_hides_no_other_topic(cluster: FakeCluster) -> None:
    """The partitions are revoked and assigned again before any fetch has shown it."""
    with (
        member(cluster, partition_assignment_strategy="range", **UNNOTICED) as one,
        member(cluster, None, partition_assignment_strategy="range") as other,
    ):
        turns(lambda: len(one.read) == 20, one)
        recreate_unnoticed(cluster)
        other.subscribe("u")
        assert isinstance(raised_by(one, other), TopicRecreatedError)
        assert b"new" not in one.values


def test_a_seek_in_the_new_topic_is_remembered_when_its_partitions_come_back(cluster: FakeCluster) -> None:
    """The application has been told once."""
    with (
        member(cluster, partition_assignment_strategy="range") as one,
        member(cluster, None, partition_assignment_strategy="range") as other,
    ):
        turns(lambda: len(one.read) == 20, one)
        recreate(cluster)
        assert isinstance(raised_by(one), TopicRecreatedError)
        for partition in one.partitions:
            one.consumer.seek(partition, 0)
        turns(lambda: one.values.count(b"new") == 40, one)
        other.subscribe("u")
        turns(lambda: other.partitions and one.values.count(b"new") == 80, one, other)
