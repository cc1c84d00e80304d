"""Faults of brokers and of what they tell, on a cluster that fails on command (cases B4 to B6 and B12 to B16)."""

import itertools
import random
import re
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import confluent_kafka
import pytest

from kcli.core import Admin, Consumer
from kcli.core.cluster import retry as troubles
from kcli.core.consumer.subscription import Span
from kcli.core.errors import (
    BrokerError,
    KcliError,
    NotFoundError,
    OutcomeUnknownError,
    TimedOutError,
    UnsupportedError,
)
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.api_versions import ApiVersionsRequest
from kcli.core.protocol.messages.create_topics import CreateTopicsRequest
from kcli.core.protocol.messages.delete_topics import DeleteTopicsRequest
from kcli.core.protocol.messages.describe_configs import DescribeConfigsRequest
from kcli.core.protocol.messages.end_txn import EndTxnRequest
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest
from kcli.core.protocol.messages.list_offsets import ListOffsetsRequest
from kcli.core.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.types import TopicPartition, TopicSpec
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.peers import Conversation, Peer
from tests.fake.script import FOREVER
from tests.fault.producing import (
    DEADLINE,
    PATIENCE,
    ids_asked_for,
    numbers,
    quick,
    send,
    sent_batches,
    values,
)
from tests.fault.watching import Heard, soon
from tests.lasting import Moment, lasted
from tests.run import kcli_process

T0 = TopicPartition("t", 0)
QUICK = {"retry_backoff_ms": 1, "retry_backoff_max_ms": 1}
LEADER_CODES = [
    Code.NOT_LEADER_OR_FOLLOWER,
    Code.FENCED_LEADER_EPOCH,
    Code.UNKNOWN_LEADER_EPOCH,
    Code.LEADER_NOT_AVAILABLE,
    Code.KAFKA_STORAGE_ERROR,
    Code.REPLICA_NOT_AVAILABLE,
]
EPOCH_OF_OTHERS = Code.UNKNOWN_LEADER_EPOCH
"""We know more than the broker: another look at metadata helps nobody, only time does."""


@contextmanager
def reading(cluster: FakeCluster, end: int, heard: Heard | None = None) -> Iterator[Consumer]:
    """A consumer of t-0, from its start to ``end``."""
    hooks = (heard or Heard()).hooks
    with Consumer(
        bootstrap_servers=cluster.bootstrap, fetch_max_wait_ms=50, hooks=hooks, **QUICK
    ) as consumer:
        consumer.assign({T0: Span(0, end)})
        yield consumer


def read_all(consumer: Consumer) -> list[bytes | None]:
    found: list[bytes | None] = []
    end = time.monotonic() + PATIENCE
    while not consumer.done:
        assert time.monotonic() < end, f"only {found}"
        found += [record.value for record in consumer.records(1)]
    return found


def fill(cluster: FakeCluster, count: int) -> None:
    with quick(cluster) as producer:
        send(producer, "t", 0, *numbers(count))
        assert producer.flush(PATIENCE)


# --- the leader is elsewhere, or not yet there ---------------------------------------------------------------------


@pytest.mark.case("B4")
@pytest.mark.parametrize("depth", [1, 50])
@pytest.mark.parametrize("code", LEADER_CODES)
def test_produce_finds_the_new_leader_and_retries(code: int, depth: int) -> None:
    """Under the same numbers, and the partitions of other brokers do not wait for it."""
    patient = {
        **QUICK,
        "request_timeout_ms": 20_000,
    }  # every request is answered, however busy the machine is
    with FakeCluster(3, topics={"t": 3}) as cluster, quick(cluster, **patient) as producer:
        producer.connect(["t"], PATIENCE)
        looked = len(cluster.seen(MetadataRequest))
        refused = cluster.fail(ProduceRequest, code, times=depth, node=cluster.leader("t", 0))
        for partition in range(3):
            send(producer, "t", partition, *numbers(5))
        assert producer.flush(PATIENCE)
        assert producer.totals.failed == 0
        assert refused.count == depth
        assert [values(cluster, "t", p) for p in range(3)] == [numbers(5)] * 3
        assert ids_asked_for(cluster) == 1
        assert len({b.raw for b in sent_batches(cluster, T0)}) == 5, "sent under other numbers"
        if code != EPOCH_OF_OTHERS:
            assert len(cluster.seen(MetadataRequest)) > looked


@pytest.mark.case("B4")
@pytest.mark.parametrize("depth", [1, 50])
@pytest.mark.parametrize("code", LEADER_CODES)
def test_a_reader_finds_the_new_leader_and_retries(code: int, depth: int) -> None:
    """From the same position; nothing is left out, nothing comes twice."""
    with FakeCluster(3, topics={"t": 1}) as cluster:
        fill(cluster, 5)
        refused = cluster.fail(FetchRequest, code, times=depth)
        with reading(cluster, 5) as consumer:
            consumer.connect(PATIENCE)
            assert read_all(consumer) == numbers(5)
            # It may come before `connect` returns, so a refresh may be in flight: even when everything is read.
            first = cluster.seen(FetchRequest)[0]
            soon(
                lambda: any((seen.answered_at or 0.0) > first.at for seen in cluster.seen(MetadataRequest)),
                "a refresh of metadata",
            )
        assert refused.count == depth


@pytest.mark.case("B4")
@pytest.mark.parametrize("depth", [1, 50])
@pytest.mark.parametrize("code", LEADER_CODES)
def test_a_list_offsets_request_is_repeated_at_the_new_leader(code: int, depth: int) -> None:
    """For the partition that was refused; the others keep their answers."""
    with FakeCluster(3, topics={"t": 3}) as cluster:
        fill(cluster, 5)
        refused = cluster.fail(ListOffsetsRequest, code, times=depth, node=cluster.leader("t", 0))
        with Admin(bootstrap_servers=cluster.bootstrap, timeout=PATIENCE, **QUICK) as admin:
            found = admin.list_offsets({TopicPartition("t", p): -1 for p in range(3)})
        ends = [getattr(found[TopicPartition("t", p)], "offset", None) for p in range(3)]
        assert ends == [5, 0, 0]
        assert refused.count == depth
        asked = [seen.node for seen in cluster.seen(ListOffsetsRequest)]
        assert sorted(asked) == sorted([*[cluster.leader("t", 0)] * (depth + 1), 2, 3])


@pytest.mark.case("B4")
@pytest.mark.parametrize("code", LEADER_CODES)
def test_at_the_deadline_produce_names_the_last_error_and_how_long_it_tried(code: int) -> None:
    """Exit 3; the records of the other brokers are stored."""
    with FakeCluster(2, topics={"t": 2}) as cluster:
        cluster.fail(ProduceRequest, code, times=FOREVER, node=cluster.leader("t", 0))
        with quick(cluster, delivery_timeout_ms=1_000) as producer:
            lost, stored = (send(producer, "t", partition, b"x")[0] for partition in range(2))
            assert producer.flush(PATIENCE)
        assert stored.error is None
        assert isinstance(lost.error, TimedOutError)
        assert lost.error.exit_code == 3
        assert "t-0: not confirmed" in lost.error.what
        assert "within 1 s" in lost.error.what
        assert f"{Code(code).name} ({code:d})" in lost.error.why


@pytest.mark.case("B4")
@pytest.mark.parametrize("code", LEADER_CODES)
def test_at_the_deadline_a_request_names_the_last_error_and_how_long_it_tried(code: int) -> None:
    """Exit 3; the other partition is answered."""
    with FakeCluster(2, topics={"t": 2}) as cluster:
        cluster.fail(ListOffsetsRequest, code, times=FOREVER, node=cluster.leader("t", 0))
        with Admin(bootstrap_servers=cluster.bootstrap, timeout=DEADLINE, **QUICK) as admin:
            found = admin.list_offsets({TopicPartition("t", p): -1 for p in range(2)})
        assert not isinstance(found[TopicPartition("t", 1)], KcliError)
        error = found[T0]
        assert isinstance(error, TimedOutError)
        assert error.exit_code == 3
        assert re.search(r"t-0: gave up after \d\.\d s", error.what)
        assert f"{Code(code).name} ({code:d})" in error.why


@pytest.mark.case("B4")
def test_commands_name_a_lasting_leader_error_and_its_duration() -> None:
    """Exit 3, three lines with the code and the time."""
    with FakeCluster(1, topics={"t": 1}) as cluster:
        cluster.fail((ProduceRequest, ListOffsetsRequest), Code.NOT_LEADER_OR_FOLLOWER, times=FOREVER)
        limit = "delivery.timeout.ms=700"
        sent = kcli_process("produce", "t", "-X", limit, bootstrap=cluster.bootstrap, stdin=b"x\n")
        asked = kcli_process("topics", "offsets", "t", "--timeout", "1s", bootstrap=cluster.bootstrap)
    for done, how_long in ((sent, "0.7 s"), (asked, "gave up after 1.0 s")):
        said = done.stderr.decode()
        assert done.returncode == 3, said
        assert "NOT_LEADER_OR_FOLLOWER (6)" in said
        assert how_long in said


@pytest.mark.case("B4")
@pytest.mark.parametrize("who", ["producer", "reader"])
def test_what_lasts_is_reported_while_it_lasts(monkeypatch: pytest.MonkeyPatch, who: str) -> None:
    """A stream has no deadline, so its user hears of the error and for how long: once, and when it is over."""
    monkeypatch.setattr(troubles, "REPORT_AFTER", 0.3)
    heard = Heard()
    with FakeCluster(1, topics={"t": 1}) as cluster:
        fill(cluster, 3)
        cluster.fail((ProduceRequest, FetchRequest), Code.KAFKA_STORAGE_ERROR, times=FOREVER)
        with reading(cluster, 3, heard) as consumer, quick(cluster, hooks=heard.hooks) as producer:
            if who == "producer":
                send(producer, "t", 0, b"more")
                soon(lambda: heard.said("warning"), "the warning")
                producer.flush(0.2)
                cluster.heal()
                assert producer.flush(PATIENCE)
            else:
                assert consumer.poll(0.6) == []
                assert heard.said("warning")
                cluster.heal()
                assert read_all(consumer) == numbers(3)
    [warning] = heard.said("warning")
    assert "t-0: KAFKA_STORAGE_ERROR (56)" in warning
    assert re.search(r"; tried for \d s, and trying on$", warning)
    assert any("no retries any more" in text for text in heard.said("info"))


# --- stale metadata ------------------------------------------------------------------------------------------------


def _no_leader(answer: MetadataResponse) -> None:
    for topic in answer.topics:
        for part in topic.partitions:
            part.leader_id, part.error_code = -1, Code.LEADER_NOT_AVAILABLE


def _no_leader_and_no_word_of_it(answer: MetadataResponse) -> None:
    for topic in answer.topics:
        for part in topic.partitions:
            part.leader_id = -1


def _topic_unknown(answer: MetadataResponse) -> None:
    for topic in answer.topics:
        topic.error_code, topic.partitions = Code.UNKNOWN_TOPIC_OR_PARTITION, []


def _topic_left_out(answer: MetadataResponse) -> None:
    answer.topics = []


def _partitions_left_out(answer: MetadataResponse) -> None:
    for topic in answer.topics:
        topic.partitions = []


def _leader_not_among_the_brokers(answer: MetadataResponse) -> None:
    leaders = {part.leader_id for topic in answer.topics for part in topic.partitions}
    answer.brokers = [broker for broker in answer.brokers if broker.node_id not in leaders]


def _nothing_at_all(answer: MetadataResponse) -> None:
    answer.brokers, answer.topics, answer.controller_id = [], [], -1


GAPS = [
    _no_leader,
    _no_leader_and_no_word_of_it,
    _topic_unknown,
    _topic_left_out,
    _partitions_left_out,
    _leader_not_among_the_brokers,
    _nothing_at_all,
]


def assert_never_renumbered(cluster: FakeCluster, count: int) -> None:
    """One id, one epoch, and each batch under one number, from 0 to the last without a gap."""
    sent = sent_batches(cluster, T0)
    assert ids_asked_for(cluster) == 1
    assert {(b.producer_id, b.producer_epoch) for b in sent} == {(sent[0].producer_id, 0)}
    assert {b.base_sequence for b in sent} == set(range(count))
    assert len({b.raw for b in sent}) == count


@pytest.mark.case("B5")
@pytest.mark.parametrize("gap", GAPS)
def test_numbers_survive_an_answer_that_leaves_things_out(gap: Callable[[MetadataResponse], None]) -> None:
    """With batches in flight and more in the queue; nothing lost, nothing twice, nothing numbered anew."""
    with FakeCluster(3, topics={"t": 1}) as cluster, quick(cluster, request_timeout_ms=5_000) as producer:
        send(producer, "t", 0, b"first")
        assert producer.flush(PATIENCE)
        held = cluster.hold(ProduceRequest)
        send(producer, "t", 0, *numbers(12))
        held.wait(timeout=PATIENCE)
        stale = cluster.lie(gap)
        cluster.fail(ProduceRequest, Code.NOT_LEADER_OR_FOLLOWER)
        held.release()
        stale.wait(1, PATIENCE)
        send(producer, "t", 0, b"last")
        producer.flush(0.05)
        stale.remove()
        assert producer.flush(PATIENCE)
        assert producer.totals.failed == 0
        assert values(cluster, "t") == [b"first", *numbers(12), b"last"]
        assert_never_renumbered(cluster, 14)


@pytest.mark.case("B5")
@pytest.mark.parametrize("gap", GAPS)
def test_a_reader_keeps_its_position(gap: Callable[[MetadataResponse], None]) -> None:
    """What is left out of one answer is no reason to stop, or to begin again."""
    with FakeCluster(3, topics={"t": 1}) as cluster:
        fill(cluster, 3)
        with reading(cluster, 6) as consumer:
            found = [r.value for r in consumer.records(PATIENCE)]
            stale = cluster.lie(gap)
            cluster.fail(FetchRequest, Code.NOT_LEADER_OR_FOLLOWER)
            end = time.monotonic() + PATIENCE
            while not stale.count:
                assert time.monotonic() < end
                found += [r.value for r in consumer.records(0.05)]
            stale.remove()
            fill(cluster, 3)
            assert found + read_all(consumer) == numbers(3) * 2


@pytest.mark.case("B5")
def test_a_leader_of_an_older_epoch_is_not_believed() -> None:
    """Brokers that lag tell who led before; records continue to the leader of the newest epoch."""
    with FakeCluster(2, topics={"t": 1}) as cluster, quick(cluster, metadata_max_age_ms=30) as producer:
        old = cluster.leader("t", 0)
        new = 3 - old
        send(producer, "t", 0, b"first")
        assert producer.flush(PATIENCE)
        cluster.move_leader("t", 0, new)
        send(producer, "t", 0, b"second")
        assert producer.flush(PATIENCE)

        def go_back(answer: MetadataResponse) -> None:
            for topic in answer.topics:
                for part in topic.partitions:
                    part.leader_id, part.leader_epoch = old, part.leader_epoch - 1

        stale = cluster.lie(go_back)
        asked_the_old_one = len(cluster.seen(ProduceRequest, node=old))
        for value in numbers(5):
            time.sleep(0.04)  # longer than metadata.max.age.ms
            send(producer, "t", 0, value)
            assert producer.flush(PATIENCE)
        assert stale.count >= 3
        assert len(cluster.seen(ProduceRequest, node=old)) == asked_the_old_one
        assert values(cluster, "t") == [b"first", b"second", *numbers(5)]
        assert_never_renumbered(cluster, 7)


# --- too few replicas in sync --------------------------------------------------------------------------------------

FIGURES = "min.insync.replicas=2, 1 of 3 in sync"


@contextmanager
def too_few() -> Iterator[FakeCluster]:
    """A cluster whose only topic wants two replicas in sync, and has one."""
    with FakeCluster(3) as cluster:
        cluster.create_topic("t", 1, configs={"min.insync.replicas": "2"})
        cluster.set_isr("t", 0, [cluster.leader("t", 0)])
        yield cluster


@pytest.mark.case("B6")
def test_records_wait_for_replicas_which_is_reported_and_recovers(monkeypatch: pytest.MonkeyPatch) -> None:
    """With how many there are, and how many the topic wants."""
    monkeypatch.setattr(troubles, "REPORT_AFTER", 0.3)
    heard = Heard()
    with too_few() as cluster, quick(cluster, hooks=heard.hooks) as producer:
        cluster.set_isr("t", 0, [1, 2, 3])
        send(producer, "t", 0, b"first")
        assert producer.flush(PATIENCE)
        cluster.set_isr("t", 0, [cluster.leader("t", 0)])
        futures = send(producer, "t", 0, *numbers(5))
        soon(lambda: heard.said("warning"), "the warning")
        assert not any(future.done for future in futures)
        assert values(cluster, "t") == [b"first"]
        cluster.set_isr("t", 0, [1, 2, 3])
        assert producer.flush(PATIENCE)
        assert [future.result().offset for future in futures] == list(range(1, 6))
        assert values(cluster, "t") == [b"first", *numbers(5)]
        assert ids_asked_for(cluster) == 1
        assert len(cluster.seen(DescribeConfigsRequest)) == 1
    [warning] = heard.said("warning")
    assert "NOT_ENOUGH_REPLICAS (19)" in warning
    assert FIGURES in warning


@pytest.mark.case("B6")
@pytest.mark.parametrize("times", [1, 20])
def test_what_was_written_to_too_few_is_not_written_twice(times: int) -> None:
    """After the append; the repeat is known by its number."""
    with FakeCluster(3, topics={"t": 1}) as cluster, quick(cluster, **QUICK) as producer:
        code = Code.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        refused = cluster.fail(ProduceRequest, code, applied=True, times=times)
        futures = send(producer, "t", 0, *numbers(5))
        assert producer.flush(PATIENCE)
        assert [future.result().offset for future in futures] == list(range(5))
        assert values(cluster, "t") == numbers(5)
        assert refused.count == times


@pytest.mark.case("B6")
def test_what_may_be_written_is_never_sent_under_another_epoch() -> None:
    """The batch before it is given up, which calls for a new epoch; that would store this one a second time."""
    with FakeCluster(3, topics={"t": 1}) as cluster, quick(cluster, delivery_timeout_ms=600) as producer:
        send(producer, "t", 0, b"first")
        assert producer.flush(PATIENCE)
        held = cluster.hold(ProduceRequest)
        cluster.fail(ProduceRequest, Code.NOT_ENOUGH_REPLICAS_AFTER_APPEND, applied=True, times=FOREVER)
        early = send(producer, "t", 0, b"early")[0]
        held.wait(timeout=PATIENCE)
        time.sleep(0.3)
        late = send(producer, "t", 0, b"late")[0]
        producer.flush(0.05)
        held.release()
        soon(lambda: early.done, "the end of the first one's time")
        cluster.heal()
        assert producer.flush(PATIENCE)
        assert isinstance(early.error, OutcomeUnknownError)
        assert late.error is None
        assert values(cluster, "t") == [b"first", b"early", b"late"]


@pytest.mark.case("B6")
@pytest.mark.parametrize("after", [False, True])
def test_at_the_deadline_the_figures_are_reported(after: bool) -> None:
    """Exit 3, by the library and by the command line; after the append it may be stored, and that is said."""
    code = Code.NOT_ENOUGH_REPLICAS_AFTER_APPEND if after else Code.NOT_ENOUGH_REPLICAS
    with too_few() as cluster:
        cluster.fail(ProduceRequest, code, times=FOREVER)
        with quick(cluster, delivery_timeout_ms=800) as producer:
            future = send(producer, "t", 0, b"x")[0]
            assert producer.flush(PATIENCE)
        done = kcli_process(
            "produce", "t", "-X", "delivery.timeout.ms=900", bootstrap=cluster.bootstrap, stdin=b"x\n"
        )
    assert future.error is not None
    assert future.error.exit_code == done.returncode == 3
    for said, seconds in ((str(future.error), "0.8 s"), (done.stderr.decode(), "0.9 s")):
        assert "not confirmed within" in said
        assert seconds in said
        assert f"{code.name} ({code:d})" in said
        assert FIGURES in said
        assert ("the broker may have stored it nevertheless" in said) is after


@pytest.mark.case("B6")
def test_without_permission_to_see_topic_limits_the_rest_is_reported() -> None:
    """DescribeConfigs needs a permission that producers need not have."""
    with too_few() as cluster, quick(cluster, delivery_timeout_ms=1_000) as producer:
        cluster.fail(DescribeConfigsRequest, Code.TOPIC_AUTHORIZATION_FAILED, times=FOREVER)
        future = send(producer, "t", 0, b"x")[0]
        assert producer.flush(PATIENCE)
        assert len(cluster.seen(DescribeConfigsRequest)) == 1
    assert "than min.insync.replicas requires (1 of 3 in sync)" in str(future.error)


# --- too large -----------------------------------------------------------------------------------------------------


def noise(size: int) -> bytes:
    """What no codec makes smaller."""
    return random.Random(size).randbytes(size)


@contextmanager
def narrow(limit: int = 2_000) -> Iterator[FakeCluster]:
    with FakeCluster(1) as cluster:
        cluster.create_topic("t", 1, configs={"max.message.bytes": str(limit)})
        yield cluster


@pytest.mark.case("B12")
@pytest.mark.parametrize("codec", ["none", "gzip", "lz4", "zstd", "snappy"])
def test_a_batch_that_is_too_large_as_it_was_compressed_is_split(codec: str) -> None:
    """Each record keeps its future and its place; batches that compress well enough are left whole."""
    records = [noise(300 + n) for n in range(40)]
    with (
        narrow() as cluster,
        quick(cluster, batch_size=100_000, linger_ms=60_000, compression_type=codec) as producer,
    ):
        futures = send(producer, "t", 0, *records)
        assert producer.flush(PATIENCE)
        assert [future.result().offset for future in futures] == list(range(40))
        assert values(cluster, "t") == records
        assert producer.metrics().batches_split >= 1
        assert ids_asked_for(cluster) == 1
        split = producer.metrics().batches_split
        if codec != "none":
            producer._accumulator._rooms.clear()  # as if nothing had ever been too large
            send(producer, "t", 0, *[b"x" * 300] * 40)
            assert producer.flush(PATIENCE)
            assert producer.metrics().batches_split == split


@pytest.mark.case("B12")
def test_a_record_that_is_too_large_is_reported_with_limit_size_and_position() -> None:
    """The third of seven, whether it was alone in its batch or not."""
    for batch_size in (1, 100_000):
        with narrow() as cluster, quick(cluster, batch_size=batch_size, linger_ms=50) as producer:
            large = noise(5_000)
            futures = send(producer, "t", 0, b"0", b"1", large, *numbers(4, "later "))
            assert producer.flush(PATIENCE)
            assert [future.error is None for future in futures] == [True, True, False, True, True, True, True]
            assert values(cluster, "t") == [b"0", b"1", *numbers(4, "later ")]
        error = futures[2].error
        assert isinstance(error, BrokerError)
        assert error.code == Code.MESSAGE_TOO_LARGE
        assert error.what == "record 3 for t-0 is too large"
        assert "MESSAGE_TOO_LARGE (10): it makes a batch of 5,0" in error.why
        assert "the topic accepts max.message.bytes=2000" in error.why
        assert "max.message.bytes" in error.do


@pytest.mark.case("B12")
def test_without_permission_to_see_the_limit_the_rest_is_reported() -> None:
    """One more try at most."""
    with narrow() as cluster, quick(cluster) as producer:
        cluster.hide(DescribeConfigsRequest)
        future = send(producer, "t", 0, noise(5_000))[0]
        assert producer.flush(PATIENCE)
        assert len(cluster.seen(ProduceRequest)) <= 3
    assert future.error is not None
    assert "record 1 for t-0 is too large: MESSAGE_TOO_LARGE (10): " in str(future.error)


@pytest.mark.case("B12")
def test_produce_reports_a_record_that_is_too_large_and_stores_the_rest() -> None:
    """Exit 6; the line is reported, the others are stored."""
    lines = [b"before", b"x" * 5_000, b"after"]
    with narrow() as cluster:
        done = kcli_process("produce", "t", bootstrap=cluster.bootstrap, stdin=b"\n".join(lines))
        assert values(cluster, "t") == [b"before", b"after"]
    said = done.stderr.decode()
    assert done.returncode == 6, said
    assert "2 records confirmed" in said
    assert "1 of 3 records for t was not stored" in said
    assert "record 2 for t-0 is too large: MESSAGE_TOO_LARGE (10)" in said
    assert "max.message.bytes=2000" in said


# --- quotas --------------------------------------------------------------------------------------------------------

PAUSE = 0.5


@pytest.mark.case("B13")
def test_a_producer_obeys_the_pause_reports_it_and_times_nothing_out() -> None:
    """The pause is longer than request.timeout.ms; what is in flight and what waits have more time by it."""
    heard = Heard()
    with (
        FakeCluster(1, topics={"t": 1}) as cluster,
        quick(cluster, hooks=heard.hooks, request_timeout_ms=300) as producer,
    ):
        send(producer, "t", 0, b"first")
        assert producer.flush(PATIENCE)
        cluster.throttle(int(PAUSE * 1000), ProduceRequest, times=2)
        for value in numbers(3):
            send(producer, "t", 0, value)[0].result(PATIENCE)
        assert values(cluster, "t") == [b"first", *numbers(3)]
        metrics = producer.metrics()
        assert metrics.throttle_time_max == PAUSE
        assert (metrics.records_failed, metrics.batches_retried) == (0, 0)
        times = [(seen.at, seen.answered_at or 0.0) for seen in cluster.seen(ProduceRequest)]
        assert len(times) == 4
        for (_, answered), (asked, _) in itertools.pairwise(times[1:]):
            assert asked - answered >= PAUSE - 0.02
        assert len({seen.connection for seen in cluster.seen(ProduceRequest)[1:]}) == 1
    told = [text for text in heard.said("info") if "asks for a pause of 500 ms after Produce" in text]
    assert len(told) == 2
    assert heard.said("warning") == []


@pytest.mark.case("B13")
def test_requests_in_flight_when_a_pause_begins_get_more_time() -> None:
    """A broker that throttles does not read, so it answers after the pause (KIP-219)."""
    longer = 1.6  # than the timeout, which is longer than a busy machine holds the requests
    with FakeCluster(1, topics={"t": 1}) as cluster, quick(cluster, request_timeout_ms=1_500) as producer:
        send(producer, "t", 0, b"first")
        assert producer.flush(PATIENCE)
        held = cluster.hold(ProduceRequest)
        cluster.throttle(int(longer * 1000), ProduceRequest, times=1)
        cluster.delay(ProduceRequest, longer, times=1, after=1)
        send(producer, "t", 0, *numbers(2))
        held.wait(timeout=PATIENCE)
        soon(lambda: producer.metrics().requests_in_flight == 2, "both requests")
        held.release()
        assert producer.flush(PATIENCE)
        assert producer.metrics().batches_retried == 0
        assert values(cluster, "t") == [b"first", *numbers(2)]


@pytest.mark.case("B13")
def test_readers_and_requests_obey_it_too() -> None:
    """On their own connections."""
    with FakeCluster(1, topics={"t": 1}) as cluster:
        fill(cluster, 2)
        cluster.throttle(int(PAUSE * 1000), (FetchRequest, ListOffsetsRequest), times=2)
        with reading(cluster, 4) as consumer:
            found = [record.value for record in consumer.records(PATIENCE)]
            fill(cluster, 2)
            assert found + read_all(consumer) == numbers(2) * 2
        with Admin(bootstrap_servers=cluster.bootstrap, timeout=PATIENCE, request_timeout_ms=300) as admin:
            ends = [admin.list_offsets({T0: -1})[T0] for _ in range(2)]
        assert [getattr(end, "offset", None) for end in ends] == [4, 4]
        fetched = cluster.seen(FetchRequest)
        assert fetched[1].at - (fetched[0].answered_at or 0.0) >= PAUSE - 0.02


@pytest.mark.case("B13")
def test_produce_reports_the_throttle_time_with_verbose() -> None:
    """With -v it is said; nothing fails."""
    with FakeCluster(1, topics={"t": 1}) as cluster:
        cluster.throttle(300, ProduceRequest)
        settings = ("-X", "request.timeout.ms=200", "-X", "batch.size=1", "-v")
        done = kcli_process("produce", "t", *settings, bootstrap=cluster.bootstrap, stdin=b"1\n2\n3\n")
        assert values(cluster, "t") == numbers(4)[1:]
    assert done.returncode == 0
    assert "asks for a pause of 300 ms after Produce: a quota is exceeded" in done.stderr.decode()


# --- brokers that are too old, too new, or lack something ----------------------------------------------------------

TOO_OLD, TOO_NEW = (0, 2), (90, 95)


@pytest.mark.case("B14")
@pytest.mark.parametrize("offered", [TOO_OLD, TOO_NEW])
def test_produce_names_the_versions_of_both_sides_at_once(offered: tuple[int, int]) -> None:
    """Exit 7; the partitions of the other broker are not affected."""
    with FakeCluster(2, topics={"t": 2}) as cluster, quick(cluster) as producer:
        node = cluster.leader("t", 0)
        cluster.cap_versions({ProduceRequest: offered}, node=node)
        began = Moment.now()
        refused, stored = (send(producer, "t", partition, b"x")[0] for partition in range(2))
        assert producer.flush(PATIENCE)
        assert lasted(began) < 5
        address = cluster.address(node)
    assert stored.error is None
    assert isinstance(refused.error, UnsupportedError)
    assert refused.error.exit_code == 7
    assert refused.error.what == f"{address} (node {node}) and kcli share no version of Produce"
    ours = ProduceRequest.versions
    low, high = offered
    assert refused.error.why == f"the broker offers {low} to {high}, kcli knows {ours[0]} to {ours[1]}"


@pytest.mark.case("B14")
@pytest.mark.parametrize(
    ("missing", "name"),
    [
        (InitProducerIdRequest, "InitProducerId"),
        (ProduceRequest, "Produce"),
        (FetchRequest, "Fetch"),
        (ListOffsetsRequest, "ListOffsets"),
        (CreateTopicsRequest, "CreateTopics"),
        (DeleteTopicsRequest, "DeleteTopics"),
        (DescribeConfigsRequest, "DescribeConfigs"),
        (MetadataRequest, "Metadata"),
    ],
)
def test_an_api_that_is_missing_is_named_at_once(missing: type[Request], name: str) -> None:
    """Whoever needs it; exit 7, and no second try."""
    with FakeCluster(1, topics={"t": 1}) as cluster:
        fill(cluster, 1)
        cluster.hide(missing)
        began = Moment.now()
        error = _first_error(cluster, missing)
        assert lasted(began) < 5
        address = cluster.bootstrap
    assert isinstance(error, UnsupportedError)
    assert error.exit_code == 7
    assert address in error.what
    assert f"does not offer {name}" in error.what
    assert "too old" in error.why


def _first_error(cluster: FakeCluster, missing: type[Request]) -> object:
    """What comes of the call that needs this API."""
    if missing in (ProduceRequest, InitProducerIdRequest):
        with quick(cluster) as producer:
            future = send(producer, "t", 0, b"x")[0]
            assert producer.flush(PATIENCE)
            return future.error
    if missing is FetchRequest:
        with reading(cluster, 1) as consumer, pytest.raises(KcliError) as caught:
            read_all(consumer)
        return caught.value
    with Admin(bootstrap_servers=cluster.bootstrap, timeout=PATIENCE) as admin:
        calls: dict[type[Request], Callable[[], object]] = {
            ListOffsetsRequest: lambda: admin.list_offsets({T0: -1})[T0],
            CreateTopicsRequest: lambda: admin.create_topics([TopicSpec("u", 1, 1, {})]),
            DeleteTopicsRequest: lambda: admin.delete_topics(["t"]),
            DescribeConfigsRequest: lambda: admin.describe_topic_configs(["t"]),
            MetadataRequest: admin.connect,
        }
        try:
            told = calls[missing]()
        except KcliError as error:
            return error
        return next(iter(told.values())) if isinstance(told, dict) else told  # by name


@pytest.mark.case("B14")
@pytest.mark.parametrize(
    ("arguments", "lacks"),
    [
        (("topics", "create", "new", "--timeout", "60s"), "does not offer CreateTopics"),
        (("produce", "t"), "share no version of Produce"),
        (("consume", "t", "-e"), "share no version of Fetch"),
    ],
)
def test_commands_refuse_an_unsuitable_broker_at_once(arguments: tuple[str, ...], lacks: str) -> None:
    """Exit 7, a feature the broker lacks, long before any timeout."""
    with FakeCluster(1, topics={"t": 1}) as cluster:
        fill(cluster, 1)
        cluster.hide(CreateTopicsRequest)
        cluster.cap_versions({ProduceRequest: TOO_OLD, FetchRequest: TOO_NEW})
        began = Moment.now()
        done = kcli_process(*arguments, bootstrap=cluster.bootstrap, stdin=b"x\n")
        assert lasted(began) < 15
    said = done.stderr.decode()
    assert done.returncode == 7, said
    assert lacks in said
    assert "the broker offers" in said or "the broker is too old" in said


def refuses_every_version(hint: tuple[int, int] | None, asked: list[int]) -> Callable[[Conversation], None]:
    """UNSUPPORTED_VERSION to each ApiVersions, with the range that it claims to know."""

    def serve(peer: Conversation) -> None:
        while True:
            frame = peer.request()
            key, version = struct.unpack_from(">hh", frame, 4)
            if key == ApiVersionsRequest.api_key:
                asked.append(version)
            rows = struct.pack(">ihhh", 1, 18, *hint) if hint else struct.pack(">i", 0)
            body = frame[8:12] + struct.pack(">h", Code.UNSUPPORTED_VERSION) + rows
            peer.send(struct.pack(">i", len(body)) + body)

    return serve


@pytest.mark.case("B14")
@pytest.mark.parametrize(
    ("hint", "versions"), [((0, 3), [3, 3]), ((0, 2), [3, 2]), (None, [3, 0]), ((4, 9), [3, 3])]
)
def test_a_broker_that_refuses_every_version_is_asked_twice_and_no_more(
    hint: tuple[int, int] | None, versions: list[int]
) -> None:
    """Also when it hints at the version that it has just refused; exit 7."""
    asked: list[int] = []
    with (
        Peer(refuses_every_version(hint, asked)) as peer,
        Admin(bootstrap_servers=peer.address, timeout=60) as admin,
    ):
        began = Moment.now()
        with pytest.raises(UnsupportedError) as caught:
            admin.connect()
        assert lasted(began) < 5
        assert len(peer.connects) == 2  # on the first one metadata was asked for at the same time
    assert asked == [versions[0], *versions]
    assert caught.value.exit_code == 7
    assert caught.value.what == f"{peer.address} and kcli share no version of ApiVersions"
    assert f"refuses version {versions[0]}, and then version {versions[1]}" in caught.value.why


@pytest.mark.case("B14")
def test_librdkafkas_mock_cluster_is_a_cluster() -> None:
    """It refuses ApiVersions v3 with a body of no version, and ends Metadata v13 with a byte too many."""
    mock = confluent_kafka.Producer({"test.mock.num.brokers": 2, "bootstrap.servers": "mock"})
    brokers = mock.list_topics(timeout=PATIENCE).brokers.values()
    bootstrap = ",".join(f"{one.host}:{one.port}" for one in brokers)
    done = kcli_process("produce", "t", "--allow-auto-topic-creation", bootstrap=bootstrap, stdin=b"a\nb\n")
    assert done.returncode == 0, done.stderr
    done = kcli_process("consume", "t", "-e", bootstrap=bootstrap)
    assert (done.returncode, sorted(done.stdout.split())) == (0, [b"a", b"b"]), done.stderr
    done = kcli_process("topics", "list", "-o", "name", bootstrap=bootstrap)
    assert (done.returncode, done.stdout) == (0, b"t\n"), done.stderr


# --- the controller moves, answers are partial ---------------------------------------------------------------------


def specs(*names: str) -> list[TopicSpec]:
    return [TopicSpec(name, 1, 1, {}) for name in names]


@pytest.mark.case("B15")
def test_when_the_controller_moves_the_rest_is_sent_to_the_new_one() -> None:
    """What was done is not done again."""
    with FakeCluster(3) as cluster, Admin(bootstrap_servers=cluster.bootstrap, timeout=PATIENCE) as admin:
        old = admin.connect().controller
        new = next(node for node in cluster.node_ids if node != old)

        def moved(answer: MetadataResponse) -> None:
            answer.controller_id = new

        for api, order in (
            (CreateTopicsRequest, lambda: admin.create_topics(specs("a", "b", "c"))),
            (DeleteTopicsRequest, lambda: admin.delete_topics(["a", "b", "c"])),
        ):
            cluster.heal()
            admin.cluster.wait_refreshed(admin.cluster.deadline())
            cluster.fail(api, Code.NOT_CONTROLLER, where="b", node=old)
            cluster.lie(moved)
            assert order() == {"a": None, "b": None, "c": None}
            first, second = cluster.seen(api)
            assert (first.node, second.node) == (old, new)
            names = getattr(second.request, "topic_names", None) or [t.name for t in second.request.topics]  # type: ignore[attr-defined]
            assert names == ["b"]
        assert admin.list_topics() == []


@pytest.mark.case("B15")
@pytest.mark.parametrize("lost", ["answer", "time"])
def test_what_an_earlier_try_has_done_is_success(lost: str) -> None:
    """The controller goes away with its answer, or says that its time was up; the next one finds it done."""
    with FakeCluster(3) as cluster, Admin(bootstrap_servers=cluster.bootstrap, timeout=PATIENCE) as admin:
        for api, order in (
            (CreateTopicsRequest, lambda: admin.create_topics(specs("a"))),
            (DeleteTopicsRequest, lambda: admin.delete_topics(["a"])),
        ):
            if lost == "answer":
                cluster.swallow(api, "reset")
            else:
                cluster.fail(api, Code.REQUEST_TIMED_OUT, applied=True)
            assert order() == {"a": None}
            assert len(cluster.seen(api)) == 2
        again = admin.delete_topics(["a"])["a"]
        assert isinstance(again, NotFoundError), "what was not there before anybody tried"


@pytest.mark.case("B15")
def test_at_the_deadline_the_done_and_the_rest_are_distinguished() -> None:
    """By the command line too, where exit 3 comes before 6; the last error, and how long it was tried."""
    with FakeCluster(1) as cluster:
        cluster.fail(CreateTopicsRequest, Code.NOT_CONTROLLER, where="b", times=FOREVER)
        with Admin(bootstrap_servers=cluster.bootstrap, timeout=DEADLINE) as admin:
            outcome = admin.create_topics(specs("a", "b"))
            with pytest.raises(TimedOutError, match="NOT_CONTROLLER"):
                admin.create_topics(specs("b"))
        done = kcli_process("topics", "create", "c", "b", "--timeout", "1s", bootstrap=cluster.bootstrap)
        assert cluster.topic_id("a")
        assert cluster.topic_id("c")
    assert outcome["a"] is None
    error = outcome["b"]
    assert isinstance(error, TimedOutError)
    assert re.search(r"gave up after \d\.\d s", error.what)
    assert "NOT_CONTROLLER (41)" in error.why
    said = done.stderr.decode()
    assert done.returncode == 3, said  # above 6 in the order of codes
    assert "created topic c" in said
    assert "NOT_CONTROLLER (41)" in said


@pytest.mark.case("B15")
def test_a_partial_answer_is_requested_again_and_is_no_loss() -> None:
    """Brokers, controller and a leader that one answer leaves out."""

    def partial(answer: MetadataResponse) -> None:
        answer.brokers, answer.controller_id = answer.brokers[:1], -1

    with FakeCluster(3, topics={"t": 3}) as cluster:
        stale = cluster.lie(partial, times=2)
        with Admin(bootstrap_servers=cluster.bootstrap, timeout=PATIENCE) as admin:
            found = admin.list_offsets({TopicPartition("t", p): -1 for p in range(3)})
            assert not any(isinstance(told, KcliError) for told in found.values())
            assert stale.count == 2
            cluster.lie(partial)
            assert admin.create_topics(specs("u")) == {"u": None}, "any broker passes it on"


@pytest.mark.case("B15")
def test_a_topic_returned_with_an_error_is_marked() -> None:
    """Listed all the same, with a warning, in JSON too."""
    with FakeCluster(1, topics={"t": 2, "well": 1}) as cluster:
        cluster.fail(MetadataRequest, Code.UNKNOWN_SERVER_ERROR, where="t", times=FOREVER)
        with Admin(bootstrap_servers=cluster.bootstrap, timeout=PATIENCE) as admin:
            found = {topic.name: topic.error for topic in admin.list_topics()}
        done = kcli_process("topics", "list", "-o", "json", bootstrap=cluster.bootstrap)
    assert found["well"] is None
    assert "UNKNOWN_SERVER_ERROR (-1)" in str(found["t"])
    warning = "the description of topic t is incomplete: looking up topic t: UNKNOWN_SERVER_ERROR (-1)"
    assert warning in done.stderr.decode()
    assert warning in done.stdout.decode()


# --- errors of no name ---------------------------------------------------------------------------------------------

STRANGE = [(-1, "UNKNOWN_SERVER_ERROR (-1)"), (9_999, "UNKNOWN_CODE_9999 (9999)")]


@pytest.mark.case("B16")
@pytest.mark.parametrize(("code", "said"), STRANGE)
def test_an_unknown_error_of_produce(code: int, said: str) -> None:
    """Failed at once, with the number; those behind it are stored."""
    with FakeCluster(1, topics={"t": 1}) as cluster, quick(cluster) as producer:
        cluster.fail(ProduceRequest, code)
        refused = send(producer, "t", 0, b"x")[0]
        assert producer.flush(PATIENCE)
        assert isinstance(refused.error, BrokerError)
        assert said in str(refused.error)
        assert refused.error.exit_code == 1
        assert len(cluster.seen(ProduceRequest)) == 1
        stored = send(producer, "t", 0, b"y")[0]
        assert stored.result(PATIENCE).offset == 0
        assert (producer.totals.confirmed, producer.totals.failed) == (1, 1)


@pytest.mark.case("B16")
@pytest.mark.parametrize(("code", "said"), STRANGE)
def test_an_unknown_error_of_produce_on_the_command_line(code: int, said: str) -> None:
    """Nothing confirmed is exit 1."""
    with FakeCluster(1, topics={"t": 1}) as cluster:
        cluster.fail(ProduceRequest, code, times=FOREVER)
        done = kcli_process("produce", "t", bootstrap=cluster.bootstrap, stdin=b"x\n")
    assert done.returncode == 1
    assert said in done.stderr.decode()
    assert "0 records confirmed" in done.stderr.decode()


@pytest.mark.case("B16")
@pytest.mark.parametrize(("code", "said"), STRANGE)
def test_an_unknown_error_of_metadata(code: int, said: str) -> None:
    """No contact, and no empty list of topics."""
    with FakeCluster(3, topics={"t": 1}) as cluster:
        cluster.cap_versions({MetadataRequest: (13, 13)})  # the first with such a code
        cluster.fail(MetadataRequest, code, top=True, times=FOREVER)
        for servers in (cluster.address(1), cluster.bootstrap):
            with (
                Admin(bootstrap_servers=servers, timeout=DEADLINE) as admin,
                pytest.raises(KcliError) as error,
            ):
                admin.connect()
            assert said in str(error.value)
        cluster.heal()
        with Admin(bootstrap_servers=cluster.bootstrap, timeout=PATIENCE) as admin:
            admin.connect()
            cluster.fail(MetadataRequest, code, top=True, times=FOREVER)
            with pytest.raises(BrokerError) as error:
                admin.list_topics()
            assert said in str(error.value)


@pytest.mark.case("B16")
@pytest.mark.parametrize(("code", "said"), STRANGE)
def test_an_unknown_error_of_a_topic_in_metadata(code: int, said: str) -> None:
    """Told by whoever waits for its partitions."""
    with FakeCluster(1, topics={"t": 1}) as cluster:
        cluster.fail(MetadataRequest, code, where="t", times=FOREVER)
        with quick(cluster) as producer, pytest.raises(BrokerError) as error:
            producer.connect(["t"], PATIENCE, 0.2)
        assert said in str(error.value)
        with quick(cluster, delivery_timeout_ms=400) as producer:
            future = send(producer, "t", 0, b"x")[0]
            assert producer.flush(PATIENCE)
    assert future.error is not None
    assert "topic t" in future.error.what
    assert said in future.error.why


@pytest.mark.case("B16")
@pytest.mark.parametrize(("code", "said"), STRANGE)
def test_an_unknown_error_of_init_producer_id(code: int, said: str) -> None:
    """No record goes out without a number."""
    with FakeCluster(1, topics={"t": 1}) as cluster, quick(cluster) as producer:
        cluster.fail(InitProducerIdRequest, code, times=FOREVER)
        future = send(producer, "t", 0, b"x")[0]
        assert producer.flush(PATIENCE)
        assert isinstance(future.error, BrokerError)
        assert f"requesting a producer id: {said}" in str(future.error)
        assert cluster.seen(ProduceRequest) == []


@pytest.mark.case("B16")
@pytest.mark.parametrize(("code", "said"), STRANGE)
def test_an_unknown_error_of_list_offsets(code: int, said: str) -> None:
    """For the partition that it was said of."""
    with FakeCluster(1, topics={"t": 2}) as cluster:
        cluster.fail(ListOffsetsRequest, code, where=T0)
        with Admin(bootstrap_servers=cluster.bootstrap, timeout=PATIENCE) as admin:
            found = admin.list_offsets({TopicPartition("t", p): -1 for p in range(2)})
        assert isinstance(found[T0], BrokerError)
        assert said in str(found[T0])
        assert not isinstance(found[TopicPartition("t", 1)], KcliError)
        assert len(cluster.seen(ListOffsetsRequest)) == 1


@pytest.mark.case("B16")
@pytest.mark.parametrize(("code", "said"), STRANGE)
def test_an_unknown_error_of_creating_and_deleting_topics(code: int, said: str) -> None:
    """For the name that it was said of; exit 6, as the other one was done."""
    with FakeCluster(1) as cluster:
        cluster.fail((CreateTopicsRequest, DeleteTopicsRequest), code, where="a", times=FOREVER)
        with Admin(bootstrap_servers=cluster.bootstrap, timeout=PATIENCE) as admin:
            for outcome in (admin.create_topics(specs("a", "b")), admin.delete_topics(["a", "b"])):
                assert outcome["b"] is None
                assert isinstance(outcome["a"], BrokerError)
                assert said in str(outcome["a"])
        done = kcli_process("topics", "create", "a", "b", bootstrap=cluster.bootstrap)
    assert done.returncode == 6
    assert said in done.stderr.decode()


@pytest.mark.case("B16")
@pytest.mark.parametrize("version", [0, 2])
@pytest.mark.parametrize(("code", "said"), STRANGE)
def test_an_unknown_error_of_end_txn(code: int, said: str, version: int) -> None:
    """Not counted as committed, and no reader sees it."""
    with (
        FakeCluster(1, topics={"t": 1}, transaction_version=version) as cluster,
        quick(cluster, transactional_id="tx") as producer,
    ):
        producer.init_transactions()
        producer.begin_transaction()
        send(producer, "t", 0, b"x")
        cluster.fail(EndTxnRequest, code, times=FOREVER)
        with pytest.raises(KcliError) as error:
            producer.commit_transaction(0.4)
        assert said in str(error.value)
        assert producer.metrics().transactions_committed == 0
        assert values(cluster, "t", committed=True) == []
        cluster.heal()


@pytest.mark.case("B16")
@pytest.mark.parametrize(("code", "said"), STRANGE)
def test_an_unknown_error_of_fetch(code: int, said: str) -> None:
    """The reader ends with it, and has not skipped anything."""
    with FakeCluster(1, topics={"t": 1}) as cluster:
        fill(cluster, 1)
        cluster.fail(FetchRequest, code)
        with reading(cluster, 1) as consumer:
            with pytest.raises(BrokerError) as error:
                consumer.poll(PATIENCE)
            assert consumer.position(T0) == 0
    assert said in str(error.value)


@pytest.mark.case("B16")
def test_a_peer_that_refuses_api_versions_is_named() -> None:
    """ApiVersions with a code of no name."""

    def serve(peer: Conversation) -> None:
        while True:
            frame = peer.request()
            body = frame[8:12] + struct.pack(">hbib", -1, 1, 0, 0)
            peer.send(struct.pack(">i", len(body)) + body)

    with (
        Peer(serve) as peer,
        Admin(bootstrap_servers=peer.address, timeout=DEADLINE) as admin,
        pytest.raises(KcliError) as error,
    ):
        admin.connect()
    assert "refused ApiVersions: UNKNOWN_SERVER_ERROR (-1)" in str(error.value)
