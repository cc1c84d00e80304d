"""Faults of an idempotent producer, on a cluster that fails on command (cases P1 to P10 and P18)."""

import itertools
import math
import subprocess
import sys
import threading
from typing import Any

import pytest

from kcli.core import Producer
from kcli.core.codecs import compression
from kcli.core.errors import (
    BrokerError,
    BufferFullError,
    ClosedError,
    ConfigError,
    KcliError,
    OutcomeUnknownError,
    UnknownPartitionError,
)
from kcli.core.hooks import Hooks
from kcli.core.kernels.shapes import NO_HEADERS
from kcli.core.options import ProducerOptions
from kcli.core.producer.batch import RecordFuture
from kcli.core.producer.parked import Parked
from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest
from kcli.core.protocol.messages.metadata import MetadataRequest
from kcli.core.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from kcli.core.types import ProducerRecord, TopicPartition
from tests.fake.cluster import FakeCluster
from tests.fake.script import FOREVER
from tests.fault.producing import (
    PATIENCE,
    ids_asked_for,
    in_flight_when,
    numbers,
    quick,
    send,
    sent_batches,
    values,
)
from tests.lasting import Moment, lasted

NOT_LEADER, TOO_FEW_REPLICAS, OUT_OF_ORDER, DUPLICATE = 6, 19, 45, 46
BAD_EPOCH, UNKNOWN_PRODUCER = 47, 59


@pytest.mark.case("P1")
def test_when_the_first_of_five_fails_all_come_again_in_order_under_the_same_epoch() -> None:
    """On 12 partitions at once; R2 to R5 are refused because R1 is missing, and nobody bumps the epoch."""
    with FakeCluster(1, topics={"t": 12}) as cluster, quick(cluster, request_timeout_ms=5_000) as producer:
        for partition in range(12):
            send(producer, "t", partition, b"first")
        assert producer.flush(PATIENCE)
        held = cluster.hold(ProduceRequest)
        for value in numbers(30):
            for partition in range(12):
                send(producer, "t", partition, value)
        held.wait(timeout=PATIENCE)
        cluster.fail(ProduceRequest, TOO_FEW_REPLICAS)
        assert in_flight_when(cluster, cluster.seen(ProduceRequest)[-1]) != []
        held.release()
        assert producer.flush(PATIENCE)
        assert producer.totals.failed == 0
        for partition in range(12):
            assert values(cluster, "t", partition) == [b"first", *numbers(30)]
        refused = [s for s in cluster.seen(ProduceRequest) if OUT_OF_ORDER in s.codes]
        assert refused, "nothing was in flight behind the one that failed"
        assert ids_asked_for(cluster) == 1
        assert {b.producer_epoch for b in sent_batches(cluster)} == {0}


@pytest.mark.case("P1")
def test_a_leader_that_does_not_know_the_producer_gets_one_batch_at_a_time() -> None:
    """Such a leader takes any number as the first one, also that of R2 when R1 has failed."""
    with FakeCluster(1, topics={"t": 3}) as cluster, quick(cluster) as producer:
        cluster.fail(ProduceRequest, TOO_FEW_REPLICAS)
        for value in numbers(20):
            for partition in range(3):
                send(producer, "t", partition, value)
        assert producer.flush(PATIENCE)
        assert [values(cluster, "t", p) for p in range(3)] == [numbers(20)] * 3


@pytest.mark.case("P2")
def test_after_a_batch_timed_out_all_drain_and_the_numbers_start_over_once() -> None:
    """The bump comes when nothing is in flight on any partition, and only once."""
    with (
        FakeCluster(1, topics={"t": 3}) as cluster,
        quick(cluster, delivery_timeout_ms=2_000, request_timeout_ms=300) as producer,
    ):
        for partition in range(3):
            send(producer, "t", partition, b"before")
        assert producer.flush(PATIENCE)
        stalled = cluster.drop(ProduceRequest, "silence", times=FOREVER)
        lost = send(producer, "t", 0, b"lost")[0]
        with pytest.raises(OutcomeUnknownError, match=r"delivery\.timeout\.ms"):
            lost.result(PATIENCE)
        cluster.heal()
        assert stalled
        cluster.wait_until(lambda: ids_asked_for(cluster) == 2, PATIENCE)
        later = [send(producer, "t", p, b"after")[0] for p in range(3)]
        assert producer.flush(PATIENCE)
        assert [future.error for future in later] == [None] * 3
        assert [values(cluster, "t", p) for p in range(3)] == [[b"before", b"after"]] * 3
        assert ids_asked_for(cluster) == 2
        last = {b.tp: b for b in sent_batches(cluster)}
        assert {b.base_sequence for b in last.values()} == {0}
        assert len({(b.producer_id, b.producer_epoch) for b in last.values()}) == 1
        assert in_flight_when(cluster, cluster.seen(InitProducerIdRequest)[-1]) == []


@pytest.mark.case("P3")
@pytest.mark.parametrize("then", ["silence", "reset"])
def test_a_batch_whose_response_is_lost_keeps_the_offset_of_its_first_write(then: str) -> None:
    """The broker knows its last five batches and answers the repeat with the original offset."""
    with FakeCluster(1, topics={"t": 1}) as cluster, quick(cluster) as producer:
        cluster.swallow(ProduceRequest, then, nth=2)
        futures = send(producer, "t", 0, *numbers(6))
        assert producer.flush(PATIENCE)
        assert [future.result().offset for future in futures] == list(range(6))
        assert values(cluster, "t") == numbers(6)
        assert ids_asked_for(cluster) == 1


@pytest.mark.case("P3")
def test_duplicate_sequence_is_success_at_an_offset_that_is_not_known() -> None:
    """The code itself, which brokers no longer send."""
    with FakeCluster(1, topics={"t": 1}) as cluster, quick(cluster) as producer:
        cluster.fail(ProduceRequest, DUPLICATE, applied=True)
        future = send(producer, "t", 0, b"x")[0]
        assert future.result(PATIENCE).offset == -1
        assert values(cluster, "t") == [b"x"]


@pytest.mark.case("P4")
@pytest.mark.parametrize("code", [UNKNOWN_PRODUCER, BAD_EPOCH])
def test_a_producer_id_that_the_broker_does_not_want_is_renewed(code: int) -> None:
    """Without a transaction it is safe to continue under a new id; the batch was not stored."""
    with FakeCluster(1, topics={"t": 2}) as cluster, quick(cluster) as producer:
        send(producer, "t", 0, b"a")
        assert producer.flush(PATIENCE)
        cluster.fail(ProduceRequest, code)
        send(producer, "t", 0, b"b", b"c")
        send(producer, "t", 1, b"d")
        assert producer.flush(PATIENCE)
        assert producer.totals.failed == 0
        assert (values(cluster, "t", 0), values(cluster, "t", 1)) == ([b"a", b"b", b"c"], [b"d"])
        assert ids_asked_for(cluster) == 2


@pytest.mark.case("P4")
def test_an_id_that_is_refused_permanently_fails_the_records_and_says_why() -> None:
    """E.g. no permission to write at all."""
    with FakeCluster(1, topics={"t": 1}) as cluster, quick(cluster) as producer:
        cluster.fail(InitProducerIdRequest, 31, times=FOREVER)
        future = send(producer, "t", 0, b"a")[0]
        with pytest.raises(
            BrokerError, match="requesting a producer id: CLUSTER_AUTHORIZATION_FAILED"
        ) as caught:
            future.result(PATIENCE)
        assert caught.value.exit_code == 4


@pytest.mark.case("P5")
def test_after_the_last_epoch_comes_a_new_id() -> None:
    """The epoch is an int16; 32,767 is never passed."""
    with FakeCluster(1, topics={"t": 1}) as cluster, quick(cluster) as producer:
        cluster.next_producer_id(7, epoch=32_760)
        for value in numbers(12):
            future = send(producer, "t", 0, value)[0]
            future.result(PATIENCE)
            cluster.fail(ProduceRequest, UNKNOWN_PRODUCER)
        send(producer, "t", 0, b"last")
        assert producer.flush(PATIENCE)
        assert values(cluster, "t") == [*numbers(12), b"last"]
        used = [(b.producer_id, b.producer_epoch) for b in sent_batches(cluster)]
        assert len({producer_id for producer_id, _ in used}) > 1
        assert all(0 <= epoch <= 32_767 for _, epoch in used)


@pytest.mark.case("P6")
def test_the_numbers_go_from_the_last_one_to_zero() -> None:
    """2³¹ − 1 is followed by 0, and a broker takes it so."""
    tp = TopicPartition("t", 0)
    with FakeCluster(1, topics={"t": 1}) as cluster, quick(cluster) as producer:
        send(producer, "t", 0, b"first")
        assert producer.flush(PATIENCE)
        first = sent_batches(cluster)[0]
        numbering = producer._sender._numbers
        assert numbering is not None
        last = 2**31 - 4
        numbering._next[tp] = last + 1  # as after two thousand million records
        cluster.set_sequence("t", 0, first.producer_id, first.producer_epoch, last)
        send(producer, "t", 0, *numbers(6))
        assert producer.flush(PATIENCE)
        assert [b.base_sequence for b in sent_batches(cluster)][1:] == [
            2**31 - 3,
            2**31 - 2,
            2**31 - 1,
            0,
            1,
            2,
        ]
        assert values(cluster, "t") == [b"first", *numbers(6)]


@pytest.mark.case("P7")
def test_a_batch_that_times_out_keeps_its_bytes_until_the_socket_is_closed() -> None:
    """P7 (CVE-2026-35554): two topics, tiny timeouts, a broker that stops reading in the middle of a batch."""
    size = 400_000  # more than the socket's buffers take in
    with (
        FakeCluster(1, topics={"a": 1, "b": 1}) as cluster,
        quick(
            cluster, delivery_timeout_ms=1_500, request_timeout_ms=300, buffer_memory=3_000_000
        ) as producer,
    ):
        for topic in "ab":
            send(producer, topic, 0, topic.encode() * 10)
        assert producer.flush(PATIENCE)
        for _round in range(4):
            cluster.pause(1)
            futures = [send(producer, topic, 0, topic.encode() * size)[0] for topic in "ab" * 3]
            assert producer.flush(PATIENCE)
            assert all(f.error for f in futures)
            cluster.resume(1)
            for topic in "ab":
                send(producer, topic, 0, topic.encode() * 20)
            assert producer.flush(PATIENCE)
        for topic in "ab":
            stored = values(cluster, topic)
            assert all(value and set(value) == set(topic.encode()) for value in stored), "misrouted or mixed"
            assert sum(1 for value in stored if value and len(value) == 20) == 4


@pytest.mark.case("P8")
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_a_retry_sends_the_same_bytes_to_the_same_partition(codec: str) -> None:
    """Compressed once, partitioned once, also without a key."""
    with (
        FakeCluster(3, topics={"t": 6}) as cluster,
        quick(cluster, compression_type=codec, batch_size=10_000, linger_ms=60_000) as producer,
    ):
        cluster.fail(ProduceRequest, NOT_LEADER, TOO_FEW_REPLICAS)
        for value in numbers(50):
            producer.send(ProducerRecord("t", value * 20))
        assert producer.flush(PATIENCE)  # which sends the one batch that they all are
        batches = sent_batches(cluster)
        by_place = {
            where: [b.raw for b in group] for where, group in itertools.groupby(batches, lambda b: b.tp)
        }
        tries = next(raws for raws in by_place.values() if len(raws) > 1)
        assert len(tries) == 3
        assert len(set(tries)) == 1
        stored = [v for p in range(6) for v in values(cluster, "t", p)]
        assert stored == [value * 20 for value in numbers(50)]


@pytest.mark.case("P9")
@pytest.mark.parametrize(("acks", "offset"), [("0", -1), ("1", 0)])
def test_with_fewer_acks_no_numbers_are_used(acks: str, offset: int) -> None:
    """The broker gets no producer id; with acks=0 no offset is known. The command line says so in its summary."""
    with FakeCluster(1, topics={"t": 1}) as cluster, quick(cluster, acks=acks) as producer:
        future = send(producer, "t", 0, b"x")[0]
        assert future.result(PATIENCE).offset == offset
        cluster.wait_for(ProduceRequest)
        assert [b.producer_id for b in sent_batches(cluster)] == [-1]
        assert ids_asked_for(cluster) == 0


def _omit(_request: ProduceRequest, answer: ProduceResponse) -> None:
    answer.responses = []


def _invent(_request: ProduceRequest, answer: ProduceResponse) -> None:
    part = PartitionProduceResponse(index=99, error_code=0, base_offset=5)
    answer.responses.append(TopicProduceResponse(name="nobody-asked", partition_responses=[part]))
    answer.responses[0].partition_responses.append(part)


def _repeat(_request: ProduceRequest, answer: ProduceResponse) -> None:
    first = answer.responses[0].partition_responses[0]
    again = PartitionProduceResponse(index=first.index, error_code=TOO_FEW_REPLICAS, base_offset=-1)
    answer.responses[0].partition_responses.append(again)


@pytest.mark.case("P10")
@pytest.mark.parametrize("change", [_omit, _invent, _repeat])
def test_omitted_partitions_are_unknown_and_added_ones_ignored(change: object) -> None:
    """Never success by default; the repeat of the request finds out."""
    with FakeCluster(1, topics={"t": 1}) as cluster, quick(cluster) as producer:
        cluster.replace(ProduceRequest, change, times=1)  # type: ignore[arg-type]
        futures = send(producer, "t", 0, *numbers(3))
        assert producer.flush(PATIENCE)
        assert [future.result().offset for future in futures] == [0, 1, 2]
        assert values(cluster, "t") == numbers(3)
        tries = [b for b in sent_batches(cluster) if b.base_sequence == 0]
        assert len(tries) == (2 if change is _omit else 1)


@pytest.mark.case("P18")
def test_a_cluster_that_accepts_nothing_stops_the_sender_at_its_memory_and_loses_nothing() -> None:
    """The wait ends after ``max.block.ms``, and continues once the broker is back."""
    with (
        FakeCluster(1, topics={"t": 1}) as cluster,
        quick(
            cluster, buffer_memory=100_000, max_block_ms=300, batch_size=10_000, request_timeout_ms=60_000
        ) as producer,
    ):
        send(producer, "t", 0, b"first")
        assert producer.flush(PATIENCE)
        cluster.pause(1)
        send(producer, "t", 0, *(b"%06d" % i + b"x" * 994 for i in range(90)))
        with pytest.raises(BufferFullError, match=r"after 0\.3 s"):
            send(producer, "t", 0, *(b"%06d" % i + b"x" * 994 for i in range(90, 1_000)))
        taken = producer.outstanding
        assert 90 <= taken <= 110
        assert producer.metrics().buffer_used <= 102_000
        cluster.resume(1)
        assert producer.flush(PATIENCE)
        assert [int((v or b"")[:6]) for v in values(cluster, "t")[1:]] == list(range(taken))


@pytest.mark.case("S0-26", "S0-27")
def test_one_request_carries_all_partitions_of_a_broker_that_are_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Batch size counts per partition; and a batch is compressed once, in the sender's thread."""
    compressed: list[str] = []
    real = compression.compress

    def noted(*args: Any) -> Any:
        compressed.append(threading.current_thread().name)
        return real(*args)

    monkeypatch.setattr(compression, "compress", noted)
    with (
        FakeCluster(1, topics={"t": 6}) as cluster,
        quick(cluster, batch_size=1_000, linger_ms=60_000, compression_type="lz4") as producer,
    ):
        producer.connect(["t"], PATIENCE, 5)
        cluster.fail(ProduceRequest, TOO_FEW_REPLICAS)
        for partition in range(6):
            send(producer, "t", partition, *numbers(20))
        assert producer.flush(PATIENCE)
        first = next(s for s in cluster.seen(ProduceRequest))
        assert sorted(b.partition for b in first.batches()) == list(range(6))
        assert [b.count for b in first.batches()] == [20] * 6
    assert compressed == ["kcli-sender"] * 6


@pytest.mark.case("P1")
def test_what_may_be_stored_at_the_old_leader_is_not_overtaken_at_the_new_one() -> None:
    """Brokers remember five batches of a producer; more than that must never be open."""
    with (
        FakeCluster(2, topics={"t": 2}) as cluster,
        quick(cluster, request_timeout_ms=1_500) as producer,
    ):
        old = cluster.leader("t", 0)
        new = 3 - old
        for partition in range(2):
            send(producer, "t", partition, b"first")
        assert producer.flush(PATIENCE)
        cluster.swallow(ProduceRequest, "skip", node=old, times=5)
        send(producer, "t", 0, *numbers(5, "a"))
        cluster.wait_until(lambda: len(values(cluster, "t")) == 6, PATIENCE)
        cluster.move_leader("t", 0, new)
        cluster.move_leader("t", 1, old)
        send(producer, "t", 1, b"second")  # its old leader sends the producer to look for leaders
        send(producer, "t", 0, *numbers(10, "b"))
        assert producer.flush(PATIENCE)
        assert producer.totals.failed == 0
        assert values(cluster, "t") == [b"first", *numbers(5, "a"), *numbers(10, "b")]
        assert values(cluster, "t", 1) == [b"first", b"second"]


@pytest.mark.case("P1")
def test_more_than_five_in_flight_are_refused_with_idempotence() -> None:
    """The sixth could not be told from a new one."""
    with pytest.raises(ConfigError, match=r"enable\.idempotence=false"):
        Producer(bootstrap_servers="localhost:1", max_in_flight_requests_per_connection=6)
    with Producer(
        bootstrap_servers="localhost:1", max_in_flight_requests_per_connection=6, enable_idempotence=False
    ):
        pass


@pytest.mark.case("P7")
def test_the_deadline_of_a_record_is_kept_while_its_batch_is_in_flight() -> None:
    """Nobody waits for the request's timeout; the late answer changes nothing, the numbers continue."""
    with (
        FakeCluster(1, topics={"t": 1}) as cluster,
        quick(cluster, delivery_timeout_ms=1_500, request_timeout_ms=30_000) as producer,
    ):
        send(producer, "t", 0, b"first")
        assert producer.flush(PATIENCE)
        held = cluster.hold(ProduceRequest, "answer")
        began = Moment.now()
        with pytest.raises(OutcomeUnknownError, match="may have stored it nevertheless"):
            send(producer, "t", 0, b"held")[0].result(PATIENCE)
        assert lasted(began) < 5
        assert producer.flush(PATIENCE)
        held.release()
        send(producer, "t", 0, b"last")
        assert producer.flush(PATIENCE)
        assert values(cluster, "t") == [b"first", b"held", b"last"]
        assert ids_asked_for(cluster) == 1
        assert producer.metrics().buffer_used == 0


def test_a_flush_waits_for_what_was_sent_before_it_alone() -> None:
    with (
        FakeCluster(1, topics={"t": 1}) as cluster,
        quick(cluster, linger_ms=60_000, batch_size=100_000) as producer,
    ):
        send(producer, "t", 0, b"the partitions are known from here on")
        assert producer.flush(PATIENCE)
        held = cluster.hold(ProduceRequest, "request")
        first = send(producer, "t", 0, b"first")[0]
        flushing = threading.Thread(target=producer.flush, args=(PATIENCE,))
        flushing.start()
        cluster.wait_until(lambda: len(cluster.seen(ProduceRequest)) == 2, PATIENCE)
        second = send(producer, "t", 0, b"second")[0]
        held.release()
        flushing.join(PATIENCE)
        assert not flushing.is_alive()
        assert (first.done, second.done) == (True, False)
        assert producer.outstanding == 1


def test_a_flush_looks_once_at_each_record_that_waits_for_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each that is placed wakes the flush: looking at all of them each time took minutes for 100,000."""
    looked, over = [], Parked.over

    def look(parked: Parked) -> bool:
        looked.append(parked)
        return bool(over.__get__(parked))  # type: ignore[attr-defined]

    monkeypatch.setattr(Parked, "over", property(look, over.__set__))  # type: ignore[attr-defined]
    with FakeCluster(1, topics={"t": 1}) as cluster, quick(cluster, batch_size=16_384) as producer:
        held = cluster.hold(MetadataRequest)
        send(producer, "t", 0, *numbers(200))
        threading.Timer(0.2, held.release).start()
        assert producer.flush(PATIENCE)
        assert values(cluster, "t") == numbers(200)
    assert len(looked) <= 3 * 200


@pytest.mark.parametrize("timeout", [1e10, math.inf])
def test_timeouts_may_be_longer_than_the_system_can_wait(timeout: float) -> None:
    with FakeCluster(1, topics={"t": 1}) as cluster:
        producer = quick(cluster, linger_ms=50)
        (future,) = send(producer, "t", 0, b"v")
        assert future.result(timeout).offset == 0
        send(producer, "t", 0, b"v")
        assert producer.flush(timeout)
        send(producer, "t", 0, b"v")
        producer.close(timeout)
        assert values(cluster, "t") == [b"v"] * 3


@pytest.mark.parametrize("warm", [True, False])
def test_a_bulk_call_queues_all_or_nothing(warm: bool) -> None:
    with FakeCluster(1, topics={"t": 2}) as cluster, quick(cluster) as producer:
        if warm:
            producer.connect(["t"], PATIENCE)
        good = (b"k", b"v", NO_HEADERS, 1)
        for wrong in (
            (b"k", "v", NO_HEADERS, 1),
            (b"k", b"v", NO_HEADERS, 1.5),
            (b"k", b"v", NO_HEADERS, -2),
        ):
            with pytest.raises(KcliError):
                producer.send_rows("t", [good] * 10 + [wrong])  # type: ignore[list-item]
        with pytest.raises(KcliError):
            producer.send_text("t", b"v\nv", timestamp=-2)
        assert producer.outstanding == 0
        assert producer.flush(PATIENCE)
        assert cluster.seen(ProduceRequest) == []


@pytest.mark.parametrize(
    "record",
    [
        ProducerRecord("t", b"v", timestamp=1.5),  # type: ignore[arg-type]
        ProducerRecord("t", b"v", timestamp=-2),
        ProducerRecord("t", "text"),
        ProducerRecord("t", b"v", key=5),
        ProducerRecord("no/topic", b"v"),
        ProducerRecord(b"t", b"v"),  # type: ignore[arg-type]
        ProducerRecord("x" * 250, b"v"),
    ],
    ids=lambda record: f"{record.topic!r:.20} {record.value!r} {record.key!r} {record.timestamp!r}",
)
def test_what_cannot_be_a_record_is_refused_at_once_and_spoils_nothing(record: ProducerRecord) -> None:
    with FakeCluster(1, topics={"t": 1}) as cluster, quick(cluster) as producer:
        with pytest.raises(KcliError):
            producer.send(record)
        send(producer, "t", 0, b"good")
        assert producer.flush(PATIENCE)
        assert values(cluster, "t") == [b"good"]


def test_errors_of_the_application_end_nothing() -> None:
    """Callbacks, the delivery report, a partitioner, the hooks: whatever they raise, even SystemExit."""

    def leave(*_: object, **__: object) -> None:
        raise SystemExit(3)

    def fail(*_: object, **__: object) -> Any:
        raise LookupError("mine")

    called: list[RecordFuture] = []
    with FakeCluster(1, topics={"t": 1, "u": 1}) as cluster:
        with quick(
            cluster, on_delivery=leave, hooks=Hooks(log=fail, wire=fail), partitioner=fail
        ) as producer:
            parked = send(producer, "u", None, b"x")[0]
            future = producer.send(ProducerRecord("t", b"v", partition=0), leave)
            future.on_completion(fail)
            future.on_completion(called.append)
            assert producer.flush(PATIENCE)
            assert future.result(PATIENCE).offset == 0
            assert "LookupError: mine" in str(parked.error)
            send(producer, "t", 0, b"after")
            assert producer.flush(PATIENCE)
        assert called == [future]
        assert values(cluster, "t") == [b"v", b"after"]


def test_a_close_in_a_callback_does_not_wait_for_itself() -> None:
    with FakeCluster(1, topics={"t": 1}) as cluster:
        producer = quick(cluster)
        future = producer.send(ProducerRecord("t", b"v", partition=0), lambda _: producer.close())
        assert future.result(PATIENCE).offset == 0
        producer.close(PATIENCE)
        with pytest.raises(ClosedError):
            send(producer, "t", 0, b"late")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"linger": 5}, "did you mean 'linger_ms'"),
        ({"enable_idempotance": False}, "did you mean 'enable_idempotence'"),
        ({"compression_type": "zip"}, "one of none"),
        ({"linger_ms": -1}, "at least 0"),
        ({"batch_size": "many"}, "whole number"),
        ({"buffer_memory": True}, "whole number"),
        ({"enable_idempotence": 7}, "true or false"),
        ({"compression_type": "zstd", "compression_level": 99}, "99"),
        ({"options": ProducerOptions(), "linger_ms": 1}, "both"),
    ],
)
def test_unknown_options_are_refused(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as error:
        Producer(**values)
    assert said in f"{error.value} {error.value.do}"


def test_options_may_be_given_as_files_spell_them() -> None:
    with Producer(
        bootstrap_servers=["a:1", "b:2"], acks=1, enable_idempotence="false", linger_ms=5
    ) as producer:
        options = producer.options
    assert (options.bootstrap_servers, options.acks, options.linger_ms) == ("a:1,b:2", "1", 5.0)
    assert options.enable_idempotence is False


def test_a_bulk_call_of_more_than_the_memory_waits_in_between() -> None:
    with (
        FakeCluster(1, topics={"t": 1}) as cluster,
        quick(cluster, buffer_memory=40_000, batch_size=10_000) as producer,
    ):
        most = 0
        held = cluster.hold(ProduceRequest, "request")
        sending = threading.Thread(
            target=producer.send_rows, args=("t", [(None, b"x" * 1_000, NO_HEADERS, 1)] * 500)
        )
        sending.start()
        cluster.wait_until(lambda: producer.metrics().threads_waiting == 1, PATIENCE)
        most = producer.metrics().buffer_used
        held.release()
        sending.join(PATIENCE)
        assert producer.flush(PATIENCE)
        assert 40_000 <= most < 60_000
        assert len(values(cluster, "t")) == 500


QUIETLY = [sys.executable, "-W", "ignore::DeprecationWarning"]
"""Python from 3.12 on warns of a fork beside threads."""
FORGETFUL = """
import os, sys
from kcli.core import Producer
from kcli.core.types import ProducerRecord
producer = Producer(bootstrap_servers=sys.argv[1], linger_ms=5_000)
futures = [producer.send(ProducerRecord("t", b"%d" % n)) for n in range(100)]
"""
FORKING = """
if os.fork() == 0:
    try:
        producer.send(ProducerRecord("t", b"child"))
    except Exception as error:
        os.write(1, str(error).encode())
    os._exit(0)
os.wait()
"""


EXITING = """
assert producer.flush(20)
futures = [producer.send(ProducerRecord("t", b"%d" % n)) for n in range(100, 200)]
if os.fork() == 0:
    sys.exit(0)
os.wait()
assert producer.flush(5), "the child has taken the parent's sockets out of the epoll that both share"
"""


def test_a_forked_child_that_exits_leaves_the_connections_of_its_parent_alone() -> None:
    with FakeCluster(1, topics={"t": 1}) as cluster:
        command = [*QUIETLY, "-c", FORGETFUL + EXITING, cluster.bootstrap]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert values(cluster, "t") == numbers(200)


@pytest.mark.parametrize("more", ["", FORKING], ids=["exit", "fork"])
def test_an_unclosed_producer_is_flushed_at_the_end_of_its_process(more: str) -> None:
    with FakeCluster(1, topics={"t": 1}) as cluster:
        command = [*QUIETLY, "-c", FORGETFUL + more, cluster.bootstrap]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert values(cluster, "t") == numbers(100)
    assert ("a fork has no sender thread" in done.stdout) is bool(more)


def test_records_for_a_partition_that_a_recreated_topic_lacks_fail_and_the_others_are_stored() -> None:
    """They do not wait for their delivery timeout, which may be days."""
    with (
        FakeCluster(1, topics={"t": 2}) as cluster,
        quick(cluster, delivery_timeout_ms=0x7FFFFFFF) as producer,
    ):
        for future in send(producer, "t", 0, b"a") + send(producer, "t", 1, b"a"):
            future.result(PATIENCE)
        cluster.recreate_topic("t", 1)
        (kept,), (lost,) = send(producer, "t", 0, b"b"), send(producer, "t", 1, b"b")
        kept.result(PATIENCE)
        with pytest.raises(
            UnknownPartitionError, match="topic t has no partition 1: the topic has 1 partition"
        ):
            lost.result(PATIENCE)
        assert values(cluster, "t") == [b"b"]
