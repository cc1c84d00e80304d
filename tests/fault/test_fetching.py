"""Faults while reading: sessions, replicas, topics that change their identity, logs that are cut (cases F1, F8 to F16,
B7 to B11, N12, O5, O6), on a cluster that fails on command.
"""

import time
from collections.abc import Iterator
from copy import copy
from typing import Any

import pytest

from kcli.core import Consumer
from kcli.core.cluster import cluster as cluster_module
from kcli.core.consumer.subscription import UNKNOWN, Span
from kcli.core.errors import BrokerError, DataLossError, KcliError, NotFoundError, TimedOutError
from kcli.core.protocol.messages.fetch import FetchRequest, FetchResponse, PartitionData
from kcli.core.protocol.messages.list_offsets import ListOffsetsRequest
from kcli.core.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kcli.core.protocol.messages.offset_fetch import OffsetFetchRequest
from kcli.core.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from kcli.core.types import OffsetAndMetadata, TopicPartition
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.raw_client import batch
from tests.fake.script import FOREVER
from tests.fault.fetching import (
    T0,
    T1,
    T2,
    answer_with,
    expected,
    fetches,
    filled,
    forgotten,
    places,
    put,
    quick_reader,
    read,
    read_all,
    read_until,
    refuse,
    to_the_end,
    watch,
)
from tests.fault.producing import PATIENCE, numbers, quick, send
from tests.fault.watching import Heard
from tests.lasting import Moment, lasted

SESSION_CODES = [
    Code.FETCH_SESSION_ID_NOT_FOUND,
    Code.INVALID_FETCH_SESSION_EPOCH,
    Code.FETCH_SESSION_TOPIC_ID_ERROR,
]
TOPIC_ID_CODES = [Code.UNKNOWN_TOPIC_ID, Code.INCONSISTENT_TOPIC_ID]


@pytest.fixture(params=[True, False], ids=["sessions", "no sessions"])
def cluster(request: pytest.FixtureRequest) -> Iterator[FakeCluster]:
    with FakeCluster(3, topics={"t": 3}, fetch_sessions=request.param) as made:
        yield made


@pytest.fixture
def alone() -> Iterator[FakeCluster]:
    """One node with sessions."""
    with FakeCluster(1, topics={"t": 3}, fetch_sessions=True) as made:
        yield made


# --- fetch sessions ------------------------------------------------------------------------------------------------


@pytest.mark.case("F13")
def test_in_a_session_only_changes_are_named() -> None:
    """Of many partitions a request names those that gave records; all is read, nothing twice."""
    busy = [TopicPartition("t", number) for number in (3, 17)]
    with FakeCluster(1, topics={"t": 40}, fetch_sessions=True) as cluster, quick_reader(cluster) as consumer:
        consumer.assign({TopicPartition("t", number): Span(0) for number in range(40)})
        watch(consumer, 0.2)
        for tp in busy:
            put(cluster, tp, *numbers(20, f"{tp.partition}-"))
        assert sorted(v or b"" for v in read(consumer, 40)) == sorted(
            value for tp in busy for value in numbers(20, f"{tp.partition}-")
        )
        watch(consumer, 0.1)
        first, *later = fetches(cluster)
        assert len(places(first)) == 40
        assert {number for seen in later for number in places(seen)} == {3, 17}
        assert max(len(places(seen)) for seen in later) <= 2
        epochs = [seen.request.session_epoch for seen in [first, *later]]  # type: ignore[attr-defined]
        assert epochs == list(range(len(epochs)))


@pytest.mark.case("F13")
def test_paused_and_unassigned_partitions_are_forgotten(alone: FakeCluster) -> None:
    """A broker continues giving what it was told of; and what is resumed continues where it was left."""
    filled(alone, 3, T0, T1)
    with quick_reader(alone) as consumer:
        consumer.assign({T0: Span(0), T1: Span(0)})
        read(consumer, 6)
        watch(consumer, 0.1)
        consumer.pause(T1)
        put(alone, T1, b"1-3")
        put(alone, T0, b"0-3")
        assert read(consumer, 1) == [b"0-3"]
        assert watch(consumer, 0.2) == []
        assert forgotten(fetches(alone)) == [1]
        consumer.resume(T1)
        assert read(consumer, 1) == [b"1-3"]
        consumer.assign({T1: Span(4)})
        put(alone, T1, b"1-4")
        put(alone, T0, b"0-4")
        assert watch(consumer, 0.3) == [b"1-4"]
        assert 0 in forgotten(fetches(alone))
        assert {seen.request.session_epoch for seen in fetches(alone)[1:]}.isdisjoint({0})  # type: ignore[attr-defined]


@pytest.mark.case("F13")
def test_a_partition_that_is_refused_is_forgotten_until_it_is_requested_again(alone: FakeCluster) -> None:
    """A broker repeats an error in every answer of a session, at once."""
    filled(alone, 3, T0, T1)
    refused = answer_with(alone, lambda _r, row: row.partition_index == 1 and refuse(row, 6))
    with quick_reader(alone, retry_backoff_ms=100, retry_backoff_max_ms=100) as consumer:
        consumer.assign({T0: Span(0), T1: Span(0)})
        assert read(consumer, 3) == expected(T0, 3)
        assert watch(consumer, 0.5) == []
        assert len(fetches(alone)) < 40
        assert 1 in forgotten(fetches(alone))
        refused.remove()
        assert read(consumer, 3) == expected(T1, 3)


@pytest.mark.case("F13")
@pytest.mark.parametrize("code", SESSION_CODES)
def test_a_session_that_is_gone_begins_anew(alone: FakeCluster, code: int) -> None:
    """At once, with a fetch that names everything; nothing is lost, nothing comes twice."""
    filled(alone, 10, T0, T1, T2)
    with quick_reader(alone, max_partition_fetch_bytes=200, retry_backoff_ms=5_000) as consumer:
        consumer.assign(to_the_end(alone, T0, T1, T2))
        gone = alone.fail(FetchRequest, code, top=True, after=2)
        start = Moment.now()
        assert read_all(consumer) == {tp: expected(tp, 10) for tp in (T0, T1, T2)}
        assert lasted(start) < 4, "one lost session is no reason to wait"
    assert gone.count == 1
    after: Any = next(seen.request for seen in fetches(alone) if seen.number > gone.requests[0].number)
    before: Any = gone.requests[0].request
    assert after.session_epoch == 0
    assert len(after.topics[0].partitions) == 3
    # an id that the broker has not got is not named, one that it may have is freed
    assert after.session_id == (0 if code == Code.FETCH_SESSION_ID_NOT_FOUND else before.session_id)


@pytest.mark.case("F13")
@pytest.mark.parametrize("code", [*SESSION_CODES, Code.NOT_LEADER_OR_FOLLOWER])
def test_an_error_on_every_fetch_is_no_hot_loop(alone: FakeCluster, code: int) -> None:
    """Asked again with growing pauses; when it is over, reading continues."""
    filled(alone, 3, T0)
    rule = alone.fail(FetchRequest, code, top=True, times=FOREVER)
    with quick_reader(alone, retry_backoff_ms=20, retry_backoff_max_ms=200) as consumer:
        consumer.assign({T0: Span(0)})
        assert watch(consumer, 1.0) == []
        assert 3 <= rule.count <= 14
        rule.remove()
        assert read(consumer, 3) == expected(T0, 3)


@pytest.mark.case("F13")
@pytest.mark.parametrize("code", [-1, 9_999])
def test_an_unknown_error_on_every_fetch_is_reported_each_time_and_no_hot_loop(
    alone: FakeCluster, code: int
) -> None:
    """Its number is in the message; whoever continues polling does not flood the broker."""
    filled(alone, 3, T0)
    rule = alone.fail(FetchRequest, code, top=True, times=FOREVER)
    with quick_reader(alone, retry_backoff_ms=20, retry_backoff_max_ms=200) as consumer:
        consumer.assign({T0: Span(0)})
        end, told = time.monotonic() + 1.0, 0
        while time.monotonic() < end:
            try:
                consumer.poll(0.1)
            except BrokerError as error:
                told += error.code == code
        assert 2 <= told <= rule.count <= 14
        rule.remove()
        assert read(consumer, 3) == expected(T0, 3)


@pytest.mark.case("F13")
def test_a_lost_connection_ends_the_session(alone: FakeCluster) -> None:
    """The broker may have been started anew; the answer that was lost is asked for again."""
    filled(alone, 3, T0, T1)
    with quick_reader(alone) as consumer:
        consumer.assign({T0: Span(0), T1: Span(0)})
        read(consumer, 6)
        alone.swallow(FetchRequest, then="reset")
        put(alone, T0, b"0-3")
        assert read(consumer, 1) == [b"0-3"]
        alone.stop(1)
        alone.start(1)  # it has forgotten all sessions
        put(alone, T1, b"1-3")
        assert read(consumer, 1) == [b"1-3"]
        assert watch(consumer, 0.1) == []


@pytest.mark.case("F13")
@pytest.mark.parametrize("version", [4, 6, 7, 11, 12, 13, 17])
def test_every_version_reads_the_same(alone: FakeCluster, version: int) -> None:
    """Sessions from v7 on, names up to v12."""
    alone.cap_versions({FetchRequest: version})
    filled(alone, 20, T0, T1, T2)
    with quick_reader(alone, max_partition_fetch_bytes=300) as consumer:
        consumer.assign(to_the_end(alone, T0, T1, T2))
        assert read_all(consumer) == {tp: expected(tp, 20) for tp in (T0, T1, T2)}
    asked: list[Any] = [seen.request for seen in fetches(alone)]
    assert {seen.version for seen in fetches(alone)} == {version}
    assert [r.session_id > 0 for r in asked] == [False, *[version >= 7] * (len(asked) - 1)]


@pytest.mark.case("F13")
def test_a_broker_downgraded_to_an_old_version_gets_a_full_fetch_request(alone: FakeCluster) -> None:
    """Below v7 a request that names changes is all there is, so everything is named again. No fetch has failed."""
    filled(alone, 3, T0, T1)
    with quick_reader(alone) as consumer:
        consumer.assign({T0: Span(0), T1: Span(0)})
        read(consumer, 6)
        consumer.pause(T0, T1)
        watch(consumer, 0.2)
        asked = len(fetches(alone))
        alone.cap_versions({FetchRequest: 6})
        alone.reset_connections()
        put(alone, T0, b"0-3")
        put(alone, T1, b"1-3")
        consumer.resume(T0, T1)
        assert sorted(v or b"" for v in read(consumer, 2)) == [b"0-3", b"1-3"]
        assert {seen.version for seen in fetches(alone)[asked:]} == {6}


@pytest.mark.case("F13")
@pytest.mark.parametrize("idle", [True, False], ids=["idle", "under way"])
def test_an_unneeded_fetch_session_is_closed(alone: FakeCluster, idle: bool) -> None:
    """Brokers have room for a thousand, and keep one for minutes."""
    filled(alone, 3, T0)
    with quick_reader(alone, fetch_max_wait_ms=40 if idle else 5_000) as consumer:
        consumer.assign({T0: Span(0, 3 if idle else None)})
        assert read(consumer, 3) == expected(T0, 3)
        watch(consumer, 0.1)  # the second fetch connects first
        alone.wait_for(FetchRequest, 1 if idle else 2)
    last: Any = alone.wait_for(lambda seen: getattr(seen.request, "session_epoch", 0) == -1)[0].request
    assert last.session_id > 0


# --- odd answers ---------------------------------------------------------------------------------------------------


@pytest.mark.case("F14")
def test_a_partition_that_comes_twice_is_taken_once(cluster: FakeCluster) -> None:
    """In one answer, in two entries of its topic."""
    filled(cluster, 5, T0)

    def twice(_request: FetchRequest, answer: FetchResponse) -> None:
        answer.responses += [copy(topic) for topic in answer.responses]
        for topic in answer.responses:
            topic.partitions = topic.partitions * 2

    cluster.replace(FetchRequest, twice)
    with quick_reader(cluster) as consumer:
        consumer.assign(to_the_end(cluster, T0))
        assert read_all(consumer) == {T0: expected(T0, 5)}


@pytest.mark.case("O5")
@pytest.mark.parametrize("trouble", ["silence", "refused", "sought elsewhere"])
def test_a_poll_does_not_wait_for_the_bounds(cluster: FakeCluster, trouble: str) -> None:
    """The error comes with a later poll: without the bounds if they cannot be had in time."""
    filled(cluster, 10, T0, T1)
    answers = {
        "silence": lambda: cluster.drop(ListOffsetsRequest, "silence"),
        "refused": lambda: cluster.fail(ListOffsetsRequest, Code.NOT_LEADER_OR_FOLLOWER),
        "sought elsewhere": lambda: cluster.delay(ListOffsetsRequest, 0.3, times=2),
    }
    with quick_reader(cluster, request_timeout_ms=1_500) as consumer:
        consumer.assign({T0: Span(99)})
        answers[trouble]()
        until, raised = time.monotonic() + PATIENCE, None
        while raised is None and time.monotonic() < until:
            began = Moment.now()
            try:
                consumer.poll(0.05)
            except DataLossError as error:
                raised = error
            assert lasted(began) < 1.0
            if trouble == "sought elsewhere" and cluster.seen(ListOffsetsRequest):
                consumer.seek(T0, 0)
                break
        if trouble == "sought elsewhere":
            assert read(consumer, 10) == expected(T0, 10)
            assert watch(consumer, 0.5) == []
            return
        assert raised is not None
        assert "offset 99 is out of range" in str(raised)
        if trouble == "refused":
            assert "the log goes from 0 to 10" in str(raised)
        assert watch(consumer, 0.2) == []
        consumer.seek(T0, 8)
        assert read(consumer, 2) == expected(T0, 10, 8)


@pytest.mark.case("F14")
def test_an_error_that_comes_twice_is_reported_once(cluster: FakeCluster) -> None:
    """As above, with a partition that is refused."""

    def twice(_request: FetchRequest, answer: FetchResponse) -> None:
        for topic in answer.responses:
            topic.partitions = topic.partitions * 2

    cluster.replace(FetchRequest, twice)
    with quick_reader(cluster) as consumer:
        consumer.assign({T0: Span(99)})
        with pytest.raises(DataLossError, match="offset 99 is out of range"):
            watch(consumer, 5)
        assert watch(consumer, 0.3) == []


@pytest.mark.case("F14")
def test_unrequested_entries_are_ignored(cluster: FakeCluster) -> None:
    """Another partition, another topic; the answer's rest counts."""
    filled(cluster, 5, T0, T1)
    raw = b"".join(bytes(b.raw) for b in cluster.log("t", 1).batches)

    def more(_request: FetchRequest, answer: FetchResponse) -> None:
        for topic in list(answer.responses):
            row = copy(topic.partitions[0])
            row.partition_index, row.records = 1, [raw]
            foreign = copy(topic)
            foreign.topic_id, foreign.partitions = b"?" * 16, [row]
            topic.partitions = [row, *topic.partitions]
            answer.responses.append(foreign)

    cluster.replace(FetchRequest, more)
    with quick_reader(cluster) as consumer:
        consumer.assign(to_the_end(cluster, T0))
        assert read_all(consumer) == {T0: expected(T0, 5)}


@pytest.mark.case("F14")
def test_answers_without_anything_at_once_do_not_keep_us_busy(cluster: FakeCluster) -> None:
    """A broker that does not wait is asked with growing pauses."""
    cluster.intercept(FetchRequest, lambda request: setattr(request, "max_wait_ms", 0))
    with quick_reader(
        cluster, fetch_max_wait_ms=500, retry_backoff_ms=20, retry_backoff_max_ms=200
    ) as consumer:
        consumer.assign({T0: Span(0)})
        assert watch(consumer, 1.0) == []
        assert len(fetches(cluster)) < 20
        put(cluster, T0, b"late")
        assert read(consumer, 1) == [b"late"]


@pytest.mark.case("F15")
def test_a_late_answer_for_an_old_position_is_dropped(cluster: FakeCluster) -> None:
    """Sought elsewhere while a fetch was under way; and back again."""
    filled(cluster, 10, T0)
    with quick_reader(cluster) as consumer:
        consumer.assign({T0: Span(0, 10)})
        held = cluster.hold(FetchRequest, at="answer")
        end = time.monotonic() + PATIENCE
        while not held.count:
            assert time.monotonic() < end
            consumer.poll(0.05)
        consumer.seek(T0, 7)
        held.release()
        assert read_all(consumer) == {T0: expected(T0, 10, 7)}


@pytest.mark.case("F15")
def test_records_that_wait_are_dropped_by_a_seek(cluster: FakeCluster) -> None:
    """What was fetched ahead is of the old position; a seek to the very same offset reads it once."""
    filled(cluster, 10, T0)
    with quick_reader(cluster, max_poll_records=2) as consumer:
        consumer.assign({T0: Span(0, 10)})
        assert [r.value for r in consumer.records(PATIENCE)] == expected(T0, 2)
        for _ in range(3):
            consumer.seek(T0, 2)
            assert [r.value for r in consumer.records(PATIENCE)] == expected(T0, 4, 2)
        assert read_all(consumer) == {T0: expected(T0, 10, 4)}


@pytest.mark.case("F15")
def test_an_error_of_an_old_position_is_not_reported(cluster: FakeCluster) -> None:
    """Out of range there, sought elsewhere before anybody heard of it."""
    filled(cluster, 5, T0, T1)
    with quick_reader(cluster) as consumer:
        consumer.assign({T0: Span(99), T1: Span(0)})
        end = time.monotonic() + PATIENCE
        while consumer.state(T0).phase.name != "FAILED":
            assert time.monotonic() < end
            consumer.cluster.poll(0.05)
            consumer._fetcher.pump(consumer.cluster.loop.now())
        consumer.seek(T0, 3)
        found = read_until(consumer, lambda found: len(found.get(T0, [])) == 2)
        assert found[T0] == expected(T0, 5, 3)


@pytest.mark.case("F15")
def test_a_seek_while_the_log_is_checked(cluster: FakeCluster) -> None:
    """The late answer to the check is of the old position."""
    filled(cluster, 10, T0)
    with quick_reader(cluster) as consumer:
        consumer.assign({T0: Span(0)})
        read(consumer, 10)
        held = cluster.hold(OffsetForLeaderEpochRequest, at="answer")
        cluster.truncate("t", 0, 5, leader=2)
        end = time.monotonic() + PATIENCE
        while not held.count:
            assert time.monotonic() < end
            consumer.poll(0.05)
        consumer.seek(T0, 2)
        held.release()
        assert read(consumer, 3) == expected(T0, 5, 2)


@pytest.mark.case("F16")
def test_an_offset_that_is_not_available_yet_is_requested_again(cluster: FakeCluster) -> None:
    """A new leader that does not know its high watermark yet."""
    filled(cluster, 5, T0)
    refused = cluster.fail(FetchRequest, Code.OFFSET_NOT_AVAILABLE, times=5, where=T0)
    with quick_reader(cluster) as consumer:
        consumer.assign(to_the_end(cluster, T0))
        assert read_all(consumer) == {T0: expected(T0, 5)}
    assert refused.count == 5


@pytest.mark.case("F16")
def test_an_offset_in_tiered_storage_is_named(cluster: FakeCluster) -> None:
    """A code that only followers should see; the partition stops, others continue."""
    filled(cluster, 5, T0, T1)
    answer_with(cluster, lambda _r, row: row.partition_index == 0 and refuse(row, 109))
    with quick_reader(cluster) as consumer:
        consumer.assign(to_the_end(cluster, T0, T1))
        found: list[bytes | None] = []
        told = ""
        end = time.monotonic() + PATIENCE
        while not told or len(found) < 5:
            assert time.monotonic() < end
            try:
                found += [r.value for r in consumer.records(0.2)]
            except BrokerError as error:
                told = str(error)
        assert "fetch of t-0: OFFSET_MOVED_TO_TIERED_STORAGE (109)" in told
        assert found == expected(T1, 5)


# --- what records look like ----------------------------------------------------------------------------------------


@pytest.mark.case("F1")
def test_a_batch_above_every_limit_is_read_and_cut_ones_are_passed_over(cluster: FakeCluster) -> None:
    """Brokers give the first batch whole, and cut the last one."""
    values = [b"x" * 9_000, b"y" * 100, b"z" * 30_000, b"y"]
    put(cluster, T0, *values)
    with quick_reader(cluster, fetch_max_bytes=1_000, max_partition_fetch_bytes=500) as consumer:
        consumer.assign(to_the_end(cluster, T0))
        assert read_all(consumer) == {T0: values}


@pytest.mark.case("F1")
def test_a_batch_that_never_comes_whole_is_no_hot_loop(alone: FakeCluster) -> None:
    """A broker that cuts the only batch (they should not); read when it comes."""
    put(alone, T0, b"x" * 1_000)

    def half(_request: FetchRequest, row: PartitionData) -> None:
        row.records = [b"".join(map(bytes, row.records or []))[:300]]

    rule = answer_with(alone, half)
    with quick_reader(alone, retry_backoff_ms=50) as consumer:
        consumer.assign({T0: Span(0)})
        assert watch(consumer, 0.6) == []
        assert len(fetches(alone)) <= 15
        rule.remove()
        assert read(consumer, 1) == [b"x" * 1_000]


def transactions(cluster: FakeCluster, *outcomes: bool) -> list[bytes]:
    """Transactions of one record each in t-0; the values of those that were committed."""
    with quick(cluster, transactional_id="x") as producer:
        producer.init_transactions()
        for number, commit in enumerate(outcomes):
            producer.begin_transaction()
            send(producer, "t", 0, b"%d" % number)
            assert producer.flush(PATIENCE)
            producer.commit_transaction() if commit else producer.abort_transaction()
    return [b"%d" % number for number, commit in enumerate(outcomes) if commit]


@pytest.mark.case("F1")
def test_answers_with_aborted_records_alone_are_progress(cluster: FakeCluster) -> None:
    """Nothing of them is shown, and the position is behind them."""
    transactions(cluster, *[False] * 6)
    with quick_reader(cluster, max_partition_fetch_bytes=150) as consumer:
        spans = to_the_end(cluster, T0)
        consumer.assign(spans)
        assert read_all(consumer) == {}
        assert consumer.position(T0) == spans[T0].stop == 12


@pytest.mark.case("F9")
def test_odd_transaction_markers_and_lists(cluster: FakeCluster) -> None:
    """An abort marker of which the list says nothing hides nothing; a marker is never shown."""
    kept = transactions(cluster, True, False, True, False, True)

    def nothing_aborted(_request: FetchRequest, row: PartitionData) -> None:
        row.aborted_transactions = []

    with quick_reader(cluster) as consumer:
        consumer.assign(to_the_end(cluster, T0))
        assert read_all(consumer) == {T0: kept}
        answer_with(cluster, nothing_aborted)
        consumer.assign(to_the_end(cluster, T0))
        assert read_all(consumer) == {T0: numbers(5)}


@pytest.mark.case("F10")
@pytest.mark.parametrize("order", ["reversed", "doubled", "both"])
def test_the_list_of_aborted_transactions_in_any_order(cluster: FakeCluster, order: str) -> None:
    """Unsorted, with entries twice: exact all the same."""
    kept = transactions(cluster, True, False, False, True, False, True)

    def edit(_request: FetchRequest, row: PartitionData) -> None:
        rows = list(row.aborted_transactions or [])
        rows = rows[::-1] if order != "doubled" else rows
        row.aborted_transactions = rows * 2 if order != "reversed" else rows

    answer_with(cluster, edit)
    with quick_reader(cluster) as consumer:
        consumer.assign(to_the_end(cluster, T0))
        assert read_all(consumer) == {T0: kept}


@pytest.mark.case("F10")
def test_a_missing_list_of_aborted_transactions(cluster: FakeCluster) -> None:
    """Null, as with read_uncommitted."""
    kept = transactions(cluster, True, True)
    answer_with(cluster, lambda _request, row: setattr(row, "aborted_transactions", None))
    with quick_reader(cluster) as consumer:
        consumer.assign(to_the_end(cluster, T0))
        assert read_all(consumer) == {T0: kept}


@pytest.mark.case("F11")
def test_a_reader_of_committed_records_waits_before_an_open_transaction(cluster: FakeCluster) -> None:
    """ "the end" is the last stable offset; when the transaction ends, reading continues. No hot loop meanwhile."""
    put(cluster, T0, b"plain")
    with quick(cluster, transactional_id="x") as producer, quick_reader(cluster) as consumer:
        producer.init_transactions()
        producer.begin_transaction()
        send(producer, "t", 0, b"open")
        assert producer.flush(PATIENCE)
        put(cluster, T0, b"behind")
        found = consumer.list_offsets({T0: -1}, PATIENCE)[T0]
        assert getattr(found, "offset", None) == 1
        consumer.assign({T0: Span(0)})
        assert read(consumer, 1) == [b"plain"]
        before = len(fetches(cluster))
        assert watch(consumer, 0.4) == []
        assert len(fetches(cluster)) - before <= 14
        assert (consumer.state(T0).last_stable, consumer.state(T0).high_watermark) == (1, 3)
        producer.commit_transaction()
        assert read(consumer, 2) == [b"open", b"behind"]


@pytest.mark.case("F11")
def test_a_reader_of_everything_does_not_wait(cluster: FakeCluster) -> None:
    """Read_uncommitted goes to the high watermark."""
    with quick(cluster, transactional_id="x") as producer:
        producer.init_transactions()
        producer.begin_transaction()
        send(producer, "t", 0, b"open")
        assert producer.flush(PATIENCE)
        with quick_reader(cluster, isolation_level="read_uncommitted") as consumer:
            consumer.assign({T0: Span(0)})
            assert read(consumer, 1) == [b"open"]
        producer.abort_transaction()


# --- nearer replicas (KIP-392) -------------------------------------------------------------------------------------


class Nearby:
    """Leaders name ``replica`` to whoever says where he is, and give him no records, as Kafka's do."""

    def __init__(self, cluster: FakeCluster, replica: int) -> None:
        self.replica, self.named = replica, 0
        self._leader = cluster.leader("t", 0)
        cluster.replace(FetchRequest, self._edit, node=self._leader)

    def _edit(self, request: FetchRequest, answer: FetchResponse) -> None:
        for topic in answer.responses:
            for row in topic.partitions:
                if request.rack_id and not row.error_code:
                    row.preferred_read_replica, row.records = self.replica, [b""]
                    self.named += 1


@pytest.mark.case("F12")
def test_the_named_replica_is_read_from() -> None:
    """And the leader is asked again when the metadata is too old."""
    with (
        FakeCluster(3, topics={"t": 1}, fetch_sessions=True) as cluster,
        quick_reader(cluster, client_rack="here", metadata_max_age_ms=400) as consumer,
    ):
        nearby = Nearby(cluster, 2)
        filled(cluster, 3, T0)
        consumer.assign({T0: Span(0)})
        assert read(consumer, 3) == expected(T0, 3)
        assert nearby.named == 1
        put(cluster, T0, b"0-3")
        assert read(consumer, 1) == [b"0-3"]
        assert len(fetches(cluster, 1)) == 1
        watch(consumer, 0.6)
        assert nearby.named >= 2
        assert len(fetches(cluster, 1)) < len(fetches(cluster, 2))


@pytest.mark.case("F12")
def test_without_a_rack_no_replica_is_followed() -> None:
    """A broker that names replicas all the same is not obeyed, and is no hot loop."""
    with FakeCluster(3, topics={"t": 1}) as cluster, quick_reader(cluster) as consumer:
        filled(cluster, 3, T0)
        answer_with(cluster, lambda _r, row: setattr(row, "preferred_read_replica", 2))
        consumer.assign({T0: Span(0)})
        assert read(consumer, 3) == expected(T0, 3)
        assert fetches(cluster, 2) == []


@pytest.mark.case("F12")
@pytest.mark.parametrize("replica", [1, 99])
def test_a_replica_that_cannot_be_is_not_followed(replica: int) -> None:
    """An unknown broker, or the leader itself: the leader gives the records when it is not told where we are."""
    with (
        FakeCluster(3, topics={"t": 1}, fetch_sessions=True) as cluster,
        quick_reader(cluster, client_rack="here") as consumer,
    ):
        Nearby(cluster, replica)
        filled(cluster, 3, T0)
        consumer.assign({T0: Span(0)})
        assert read(consumer, 3) == expected(T0, 3)
        put(cluster, T0, b"0-3")
        assert read(consumer, 1) == [b"0-3"]


@pytest.mark.case("F12")
@pytest.mark.parametrize("how", ["stopped", "silent"])
def test_a_replica_that_vanishes_is_replaced_by_the_leader(how: str) -> None:
    """Back to the leader, which would name it again: it gives the records all the same."""
    with (
        FakeCluster(3, topics={"t": 1}, fetch_sessions=True) as cluster,
        quick_reader(cluster, client_rack="here", request_timeout_ms=300) as consumer,
    ):
        Nearby(cluster, 2)
        filled(cluster, 3, T0)
        consumer.assign({T0: Span(0)})
        assert read(consumer, 3) == expected(T0, 3)
        cluster.stop(2) if how == "stopped" else cluster.pause(2)
        put(cluster, T0, b"0-3")
        assert read(consumer, 1) == [b"0-3"]
        put(cluster, T0, b"0-4")
        assert read(consumer, 1) == [b"0-4"]
        cluster.resume(2)


@pytest.mark.case("F12")
@pytest.mark.parametrize(
    "code",
    [
        Code.OFFSET_OUT_OF_RANGE,
        Code.NOT_LEADER_OR_FOLLOWER,
        Code.UNKNOWN_LEADER_EPOCH,
        Code.UNKNOWN_TOPIC_ID,
        Code.KAFKA_STORAGE_ERROR,
        Code.UNKNOWN_SERVER_ERROR,
        Code.OFFSET_NOT_AVAILABLE,
        109,
    ],
)
def test_a_replica_that_refuses_is_left_for_the_leader(code: int) -> None:
    """A follower that lags or lies: only the leader's word counts."""
    with (
        FakeCluster(3, topics={"t": 1}, fetch_sessions=True) as cluster,
        quick_reader(cluster, client_rack="here") as consumer,
    ):
        Nearby(cluster, 2)
        filled(cluster, 3, T0)
        rule = answer_with(cluster, lambda _r, row: refuse(row, code), node=2)
        consumer.assign({T0: Span(0)})
        assert read(consumer, 3) == expected(T0, 3)
        assert rule.count == 1


# --- topics that change their identity -----------------------------------------------------------------------------


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A topic may be missing for a moment only."""
    monkeypatch.setattr(cluster_module, "TOPIC_PATIENCE", 0.3)


@pytest.mark.case("B7")
@pytest.mark.usefixtures("impatient")
def test_a_topic_that_is_deleted_is_reported_once_and_others_continue(cluster: FakeCluster) -> None:
    """One error for all of its partitions; nobody creates it again."""
    cluster.create_topic("gone", 4)
    filled(cluster, 3, T0)
    cluster.append("gone", 1, batch(b"x"))
    with quick_reader(cluster) as consumer:
        consumer.assign({T0: Span(0), **{TopicPartition("gone", n): Span(0) for n in range(4)}})
        read(consumer, 4)
        cluster.delete_topic("gone")
        told: list[str] = []
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            put(cluster, T0, b"more")
            try:
                consumer.poll(0.1)
            except NotFoundError as error:
                told.append(str(error))
                end = time.monotonic() + 1.0  # for a second one
            time.sleep(0.01)  # not as many records as fit into that time
        assert len(told) == 1
        assert "topic gone does not exist" in told[0]
        put(cluster, T0, b"last")
        read_until(consumer, lambda found: b"last" in found.get(T0, []))
    asked: list[Any] = [seen.request for seen in cluster.seen(MetadataRequest)]
    assert not any(request.allow_auto_topic_creation for request in asked)


@pytest.mark.case("B8")
@pytest.mark.parametrize("count", [1, 3, 5])
@pytest.mark.parametrize("version", [12, 17])
def test_a_topic_that_is_created_anew_is_not_read_on(cluster: FakeCluster, version: int, count: int) -> None:
    """By name (v12) or by id: old positions mean nothing in it. One error; a seek continues in the new topic."""
    cluster.cap_versions({FetchRequest: version})
    filled(cluster, 3, T0, T1)
    with quick_reader(cluster, metadata_max_age_ms=200) as consumer:
        consumer.assign({T0: Span(0), T1: Span(0), T2: Span(0)})
        read(consumer, 6)
        # held: by name a broker would answer from the new topic before anybody can know
        held = cluster.hold(FetchRequest, times=FOREVER)
        watch(consumer, 0.1)
        cluster.recreate_topic("t", count)
        cluster.append("t", 0, batch(*[b"new"] * 9))
        consumer.cluster.request_refresh()
        held.lose() if version == 12 else held.release()
        with pytest.raises(DataLossError, match="deleted and recreated") as raised:
            watch(consumer, 5)
        assert raised.value.exit_code == 5
        held.release()
        assert watch(consumer, 0.3) == []
        assert {consumer.state(tp).position for tp in (T0, T1, T2)} == {UNKNOWN}
        consumer.seek(T0, 7)
        assert read(consumer, 2) == [b"new"] * 2


@pytest.mark.case("B8")
def test_stale_metadata_of_a_broker_that_lags_is_no_new_topic(cluster: FakeCluster) -> None:
    """Two metadata answers must say so, one after the other."""
    filled(cluster, 3, T0)
    with quick_reader(cluster) as consumer:
        consumer.assign({T0: Span(0)})
        read(consumer, 3)

        def another(answer: MetadataResponse) -> None:
            for topic in answer.topics:
                topic.topic_id = b"o" * 16

        rule = cluster.lie(another, times=1)
        consumer.cluster.request_refresh()
        assert watch(consumer, 0.3) == []
        assert rule.count == 1
        put(cluster, T0, b"0-3")
        assert read(consumer, 1) == [b"0-3"]


@pytest.mark.case("B9")
@pytest.mark.parametrize("top", [False, True], ids=["partition", "answer"])
@pytest.mark.parametrize("code", TOPIC_ID_CODES)
def test_an_unknown_topic_id_begins_a_new_session_and_is_asked_again(
    alone: FakeCluster, code: int, top: bool
) -> None:
    """The metadata says that nothing has changed: a broker that lags."""
    filled(alone, 3, T0)
    if top:
        rule = alone.fail(FetchRequest, code, top=True, times=4)
    else:
        rule = answer_with(alone, lambda _r, row: refuse(row, code), times=4)
    with quick_reader(alone) as consumer:
        consumer.connect(PATIENCE)
        looked = len(alone.seen(MetadataRequest))
        consumer.assign({T0: Span(0)})
        assert read(consumer, 3) == expected(T0, 3)
    assert rule.count == 4
    last = rule.requests[-1].number
    after: Any = next(seen.request for seen in fetches(alone) if seen.number > last)
    assert after.session_epoch == 0
    assert len(alone.seen(MetadataRequest)) > looked


@pytest.mark.case("B9")
@pytest.mark.parametrize("top", [False, True], ids=["partition", "answer"])
@pytest.mark.parametrize("code", TOPIC_ID_CODES)
def test_it_is_not_requested_indefinitely(alone: FakeCluster, code: int, top: bool) -> None:
    """After default.api.timeout.ms an error that names the code; no spin before."""
    filled(alone, 3, T0, T1)
    if top:
        rule = alone.fail(FetchRequest, code, top=True, times=FOREVER)
    else:
        rule = answer_with(alone, lambda _r, row: refuse(row, code))
    with quick_reader(alone, default_api_timeout_ms=500, retry_backoff_ms=50) as consumer:
        consumer.assign({T0: Span(0), T1: Span(0)})
        start = Moment.now()
        with pytest.raises(TimedOutError, match=rf"fetch of t-\d: gave up .*{Code(code).name}"):
            watch(consumer, 10)
        assert time.monotonic() - start > 0.4
        assert lasted(start) < 5
        assert rule.count <= 30


@pytest.mark.case("B10")
def test_added_partitions_change_nothing_for_those_that_are_read(cluster: FakeCluster) -> None:
    """For partitions assigned by hand: order and content stay, the new ones are not read."""
    with quick_reader(cluster, metadata_max_age_ms=50) as consumer:
        consumer.assign({T0: Span(0), T1: Span(0)})
        found: dict[TopicPartition, list[bytes | None]] = {T0: [], T1: []}
        for step in range(10):
            put(cluster, T0, b"0-%d" % step)
            put(cluster, T1, b"1-%d" % step)
            if step == 3:
                cluster.add_partitions("t", 6)
            if step > 3:
                cluster.append("t", 5, batch(b"new"))
            for record in consumer.records(0.2):
                found[TopicPartition(record.topic, record.partition)].append(record.value)
        for tp, values in read_until(
            consumer, lambda more: sum(map(len, [*more.values(), *found.values()])) >= 20
        ).items():
            found[tp] += values
        assert found == {T0: numbers(10, "0-"), T1: numbers(10, "1-")}
        consumer.assign({TopicPartition("t", 5): Span(0)})
        assert read(consumer, 6) == [b"new"] * 6


@pytest.mark.case("B10")
def test_a_partition_that_is_not_there_is_named(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After some seconds, in which it may be added."""
    monkeypatch.setattr("kcli.core.consumer.partition_recovery.TOPIC_PATIENCE", 0.3)
    with quick_reader(cluster) as consumer:
        consumer.assign({TopicPartition("t", 7): Span(0)})
        with pytest.raises(NotFoundError, match="topic t has no partition 7: the topic has 3 partitions"):
            watch(consumer, 5)


# --- logs that are cut ---------------------------------------------------------------------------------------------


@pytest.mark.case("B11")
def test_a_truncated_log_is_reported_and_not_read_on(cluster: FakeCluster) -> None:
    """Which offsets are lost, exit 5; a seek continues with what is there."""
    filled(cluster, 10, T0)
    with quick_reader(cluster) as consumer:
        consumer.assign({T0: Span(0)})
        read(consumer, 10)
        cluster.truncate("t", 0, 6, leader=2)
        put(cluster, T0, *[b"other"] * 8)  # the new log is longer: only epochs tell
        with pytest.raises(DataLossError, match="truncated: offsets 6 to 9 are lost") as raised:
            watch(consumer, 5)
        assert raised.value.exit_code == 5
        assert watch(consumer, 0.2) == []
        consumer.seek(T0, 6)
        assert read(consumer, 8) == [b"other"] * 8


@pytest.mark.case("B11")
def test_nothing_is_fetched_from_a_new_leader_before_the_check(cluster: FakeCluster) -> None:
    """The metadata may come in the same turn as a fetch's answer, which sends the next one.

    The loop is turned by hand: the answers of other partitions carry the fetcher on, nobody asks for the check.
    """
    filled(cluster, 10, T0)
    with quick_reader(cluster) as consumer:
        consumer.assign({T0: Span(0), T1: Span(0), T2: Span(0)})
        read(consumer, 10)
        cluster.truncate("t", 0, 6, leader=2)
        put(cluster, T0, *[b"other"] * 8)  # the position is in the new log too
        asked = len(fetches(cluster))
        consumer.cluster.wait_refreshed(consumer.cluster.deadline(PATIENCE))
        assert consumer.cluster.view.topics["t"].partitions[0].leader_epoch == 1
        for _ in range(20):
            put(cluster, T1, b"x")
            put(cluster, T2, b"y")
            consumer.cluster.poll(0.02)
        later: list[Any] = [seen.request for seen in fetches(cluster)[asked:]]
        assert len(later) > 5
        rows = [p for request in later for topic in request.topics for p in topic.partitions]
        assert 1 not in [p.current_leader_epoch for p in rows if p.partition == 0]
        with pytest.raises(DataLossError, match="truncated: offsets 6 to 9 are lost"):
            watch(consumer, 5)


@pytest.mark.case("B11")
def test_an_epoch_that_the_leader_does_not_know_is_no_loss(cluster: FakeCluster) -> None:
    """UNDEFINED (−1) is no news; reading continues."""
    filled(cluster, 5, T0)

    def undefined(_request: OffsetForLeaderEpochRequest, answer: Any) -> None:
        for topic in answer.topics:
            for row in topic.partitions:
                row.leader_epoch = row.end_offset = -1

    rule = cluster.replace(OffsetForLeaderEpochRequest, undefined)
    with quick_reader(cluster) as consumer:
        consumer.assign({T0: Span(0)})
        read(consumer, 5)
        cluster.move_leader("t", 0, 2)
        put(cluster, T0, b"0-5")
        assert read(consumer, 1) == [b"0-5"]
        assert rule.count == 1


@pytest.mark.case("B11")
def test_a_leader_that_has_everything_is_read_on(cluster: FakeCluster) -> None:
    """Several elections, some before the reader notices."""
    filled(cluster, 3, T0)
    with quick_reader(cluster) as consumer:
        consumer.assign({T0: Span(0)})
        found = read(consumer, 3)
        for step in range(3, 9):
            cluster.move_leader("t", 0, step % 3 + 1)
            if step % 2:
                cluster.move_leader("t", 0, (step + 1) % 3 + 1)
            put(cluster, T0, b"0-%d" % step)
            found += read(consumer, 1)
        assert found == expected(T0, 9)


@pytest.mark.case("B11")
def test_a_marker_of_a_later_epoch_is_no_truncation(cluster: FakeCluster) -> None:
    """What is not shown has an epoch too; the position behind it is not in the epoch of the last record shown."""
    with quick(cluster, transactional_id="x") as producer, quick_reader(cluster) as consumer:
        consumer.assign({T0: Span(0)})
        producer.init_transactions()
        producer.begin_transaction()
        send(producer, "t", 0, b"one")
        assert producer.flush(PATIENCE)
        cluster.move_leader("t", 0, 2)
        producer.commit_transaction()  # its marker is of epoch 1
        assert read(consumer, 1) == [b"one"]
        watch(consumer, 0.1)
        state = consumer.state(T0)
        assert (state.position, state.epoch) == (2, 1)
        consumer.seek(T0, 1)
        read_until(consumer, lambda _found: consumer.position(T0) == 2)
        cluster.move_leader("t", 0, 3)
        put(cluster, T0, b"two")
        assert read(consumer, 1) == [b"two"]


@pytest.mark.case("B11")
@pytest.mark.parametrize(
    "code", [Code.NOT_LEADER_OR_FOLLOWER, Code.FENCED_LEADER_EPOCH, Code.UNKNOWN_SERVER_ERROR]
)
def test_a_check_that_fails_for_now_is_made_again(cluster: FakeCluster, code: int) -> None:
    """It is neither skipped nor taken for a loss."""
    filled(cluster, 5, T0)
    with quick_reader(cluster) as consumer:
        consumer.assign({T0: Span(0)})
        read(consumer, 5)
        rule = cluster.fail(OffsetForLeaderEpochRequest, code, times=3)
        cluster.truncate("t", 0, 3, leader=2)
        wanted = BrokerError if code == Code.UNKNOWN_SERVER_ERROR else DataLossError
        with pytest.raises(wanted):
            watch(consumer, 5)
        assert rule.count == (1 if wanted is BrokerError else 3)


# --- other brokers -------------------------------------------------------------------------------------------------


@pytest.mark.case("N12")
@pytest.mark.parametrize("code", [0, 129])
def test_all_known_brokers_are_replaced(code: int) -> None:
    """The names that were given lead to the new ones (KIP-899), also when a broker says so (KIP-1102)."""
    with FakeCluster(3, topics={"t": 1}, fetch_sessions=True) as cluster:
        cluster.move_leader("t", 0, 2)
        present = [2]

        def others_only(answer: MetadataResponse) -> None:
            answer.brokers = [b for b in answer.brokers if b.node_id in present]

        cluster.lie(others_only)
        filled(cluster, 3, T0)
        with quick_reader(cluster, bootstrap_servers=cluster.address(1)) as consumer:
            consumer.assign({T0: Span(0)})
            assert read(consumer, 3) == expected(T0, 3)
            assert set(consumer.cluster.view.nodes) == {2}
            present[:] = [3]
            cluster.move_leader("t", 0, 3)
            if code:  # the old broker is there, but not of this cluster any more
                cluster.replace(
                    MetadataRequest, lambda _r, answer: setattr(answer, "error_code", code), node=2
                )
                cluster.fail(FetchRequest, Code.NOT_LEADER_OR_FOLLOWER, node=2, times=FOREVER)
            else:
                cluster.stop(2)
            put(cluster, T0, b"0-3")
            assert read(consumer, 1) == [b"0-3"]
            assert set(consumer.cluster.view.nodes) == {3}


# --- positions -----------------------------------------------------------------------------------------------------


@pytest.mark.case("O5")
def test_out_of_range_is_an_error_with_the_gap(cluster: FakeCluster) -> None:
    """Below the start, which says how much is gone, and above the end; never reset silently."""
    filled(cluster, 10, T0)
    cluster.delete_records("t", 0, 6)
    with quick_reader(cluster) as consumer:
        consumer.assign({T0: Span(2)})
        with pytest.raises(
            DataLossError, match=r"offset 2 is out of range.*6 to 10; 4 offsets are gone"
        ) as raised:
            watch(consumer, 5)
        assert raised.value.exit_code == 5
        assert watch(consumer, 0.2) == []
        consumer.seek(T0, 99)
        with pytest.raises(DataLossError, match=r"offset 99 is out of range.*6 to 10"):
            watch(consumer, 5)
        consumer.seek(T0, 6)
        assert read(consumer, 4) == expected(T0, 10, 6)


def committed(cluster: FakeCluster, offset: int, **options: Any) -> Consumer:
    """A consumer of a group that has committed ``offset`` in t-0."""
    with quick_reader(cluster, group_id="g", enable_auto_commit=False) as first:
        first.commit({T0: OffsetAndMetadata(offset)}, timeout=PATIENCE)
    return quick_reader(cluster, group_id="g", enable_auto_commit=False, **options)


@pytest.mark.case("O6")
@pytest.mark.parametrize("how", ["silence", "reset", "code"])
@pytest.mark.parametrize("policy", ["earliest", "latest", "none"])
def test_a_failed_request_for_the_committed_offset_is_repeated(
    cluster: FakeCluster, policy: str, how: str
) -> None:
    """ "not known" is not "nothing committed"."""
    filled(cluster, 10, T0)
    with committed(cluster, 4, auto_offset_reset=policy, request_timeout_ms=300) as consumer:
        if how == "code":
            rule = cluster.fail(
                OffsetFetchRequest, Code.COORDINATOR_LOAD_IN_PROGRESS, Code.NOT_COORDINATOR, top=True
            )
        else:
            rule = cluster.drop(OffsetFetchRequest, then=how)
        consumer.assign([T0])
        assert read(consumer, 6) == expected(T0, 10, 4)
        assert rule.count >= 1
    assert cluster.seen(ListOffsetsRequest) == []


@pytest.mark.case("O6")
def test_a_committed_offset_that_is_never_returned_is_an_error(cluster: FakeCluster) -> None:
    """At the deadline; the policy decides nothing."""
    filled(cluster, 10, T0)
    with committed(cluster, 4, request_timeout_ms=100, default_api_timeout_ms=600) as consumer:
        cluster.drop(OffsetFetchRequest, times=FOREVER)
        consumer.assign([T0])
        with pytest.raises(KcliError, match="looking for its committed offset: t-0: gave up after"):
            watch(consumer, 10)
        assert watch(consumer, 0.2) == []
    assert cluster.seen(ListOffsetsRequest) == []


@pytest.mark.case("O6")
@pytest.mark.parametrize("how", ["silence", "reset", "code", "left out", "negative"])
@pytest.mark.parametrize(("policy", "first"), [("earliest", 2), ("latest", 10)])
def test_a_failed_request_for_the_log_ends_is_repeated(
    cluster: FakeCluster, policy: str, first: int, how: str
) -> None:
    """The policy's place is looked for until it is found; no other one is taken."""
    filled(cluster, 10, T0)
    cluster.delete_records("t", 0, 2)

    def edit(_request: ListOffsetsRequest, answer: Any) -> None:
        for topic in answer.topics:
            for row in topic.partitions:
                row.offset = -1
            topic.partitions = topic.partitions if how == "negative" else []

    with quick_reader(cluster, auto_offset_reset=policy, request_timeout_ms=300) as consumer:
        if how == "code":
            rule = cluster.fail(ListOffsetsRequest, Code.LEADER_NOT_AVAILABLE, Code.OFFSET_NOT_AVAILABLE)
        elif how in ("silence", "reset"):
            rule = cluster.drop(ListOffsetsRequest, then=how)
        else:
            rule = cluster.replace(ListOffsetsRequest, edit, times=2)
        consumer.assign([T0])
        assert consumer.position(T0, PATIENCE) == first
        assert rule.count >= 1


# --- memory and work -----------------------------------------------------------------------------------------------


@pytest.mark.case("S0-71")
def test_answers_that_wait_take_no_more_than_they_may(cluster: FakeCluster) -> None:
    """S0-71: however many brokers and partitions, and however slowly records are taken."""
    for tp in (T0, T1, T2):
        put(cluster, tp, *[b"x" * 5_000] * 60)
    buffer = 120_000
    heard = Heard()
    with quick_reader(cluster, heard, fetch_buffer_bytes=buffer, max_poll_records=1) as consumer:
        consumer.assign(to_the_end(cluster, T0, T1, T2))
        for _ in range(20):
            consumer.poll(1)
            for _ in range(5):
                consumer.cluster.poll(0.01)
            held = sum(source.held for source in consumer._fetcher._sources.values())
            assert held <= buffer
        asked: list[Any] = [seen.request for seen in fetches(cluster)]
        assert max(request.max_bytes for request in asked) <= buffer // 2
        count = 20
        while not consumer.done:
            count += len(list(consumer.records(PATIENCE)))
        assert count == 180


@pytest.mark.case("S0-71")
def test_the_next_fetch_is_on_its_way_while_records_are_handled(cluster: FakeCluster) -> None:
    """S0-71: not only queued: the broker works while the application does."""
    filled(cluster, 10, T0)
    with quick_reader(cluster, max_partition_fetch_bytes=200) as consumer:
        consumer.assign(to_the_end(cluster, T0))
        assert consumer.poll(PATIENCE)
        cluster.wait_for(FetchRequest, 2, 5)


@pytest.mark.case("S0-71")
def test_unchanged_partitions_cost_nothing() -> None:
    """S0-71: a turn checks only partitions with changes, however many are assigned."""
    with FakeCluster(1, topics={"t": 300}, fetch_sessions=True) as cluster, quick_reader(cluster) as consumer:
        consumer.assign({TopicPartition("t", number): Span(0) for number in range(300)})
        watch(consumer, 0.3)
        looked: list[TopicPartition] = []
        place = consumer._fetcher._update_source
        consumer._fetcher._update_source = lambda tp, now: (looked.append(tp), place(tp, now))[1]  # type: ignore[method-assign]
        put(cluster, TopicPartition("t", 200), *numbers(5))
        assert read(consumer, 5) == numbers(5)
        assert set(looked) == {TopicPartition("t", 200)}
