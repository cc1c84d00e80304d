"""Faults of a transactional producer (cases P4 and P11 to P17), in both protocol versions."""

import itertools
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from kcli.core import Producer
from kcli.core.errors import (
    BrokerError,
    ClosedError,
    ConfigError,
    KcliError,
    ProducerFencedError,
    TimedOutError,
    TransactionAbortableError,
    TransactionStateError,
    TransactionUnknownError,
    UnsupportedError,
)
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kcli.core.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from kcli.core.protocol.messages.end_txn import EndTxnRequest
from kcli.core.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from kcli.core.types import GroupMetadata, OffsetAndMetadata, ProducerRecord, TopicPartition
from kcli.flows.stop import Stop
from kcli.flows.transactions.ends import commit_transaction
from tests.fake.cluster import FakeCluster
from tests.fake.script import FOREVER
from tests.fault.producing import PATIENCE, in_flight_when, numbers, quick, send, sent_batches, values

P0 = TopicPartition("t", 0)
STEPS_OF: dict[int, tuple[type[Request], ...]] = {
    0: (
        AddPartitionsToTxnRequest,
        ProduceRequest,
        AddOffsetsToTxnRequest,
        TxnOffsetCommitRequest,
        EndTxnRequest,
    ),
    2: (ProduceRequest, TxnOffsetCommitRequest, EndTxnRequest),
}
EVERY_STEP = [(version, api) for version, apis in STEPS_OF.items() for api in apis]


def names(value: object) -> str:
    return getattr(value, "__name__", str(value)).removesuffix("Request")


@pytest.fixture(params=[0, 2], ids=["old protocol", "version 2"])
def cluster(request: pytest.FixtureRequest) -> Iterator[FakeCluster]:
    with FakeCluster(3, topics={"t": 3}, transaction_version=request.param) as made:
        yield made


def transactional(cluster: FakeCluster, **options: Any) -> Producer:
    return quick(cluster, transactional_id="id", batch_size=16_384, **options)


@pytest.fixture
def producer(cluster: FakeCluster) -> Iterator[Producer]:
    with transactional(cluster) as made:
        made.init_transactions()
        yield made


def whole_transaction(producer: Producer, value: bytes, offset: int) -> None:
    """Two records on two partitions and a position, committed."""
    with producer.transaction():
        send(producer, "t", 0, value)
        send(producer, "t", 1, value)
        producer.send_offsets_to_transaction({P0: offset}, "g")


def committed(cluster: FakeCluster, partition: int = 0) -> list[bytes | None]:
    return values(cluster, "t", partition, committed=True)


def position(cluster: FakeCluster) -> int:
    return cluster.committed_offsets("g").get(P0, -1)


def nothing_is_open(cluster: FakeCluster) -> bool:
    return all(not cluster.log("t", p).open_transactions for p in range(3))


# --- the plain way --------------------------------------------------------------------------------------


@pytest.mark.case("S1-10")
def test_records_and_positions_are_seen_together_or_not_at_all(
    cluster: FakeCluster, producer: Producer
) -> None:
    whole_transaction(producer, b"a", 10)
    producer.begin_transaction()
    send(producer, "t", 0, b"never")
    producer.send_offsets_to_transaction({P0: OffsetAndMetadata(99, "note")}, GroupMetadata("g"))
    assert producer.flush(PATIENCE)
    assert committed(cluster) == [b"a"]
    assert position(cluster) == 10
    producer.abort_transaction()
    whole_transaction(producer, b"b", 11)
    assert [committed(cluster, p) for p in range(3)] == [[b"a", b"b"], [b"a", b"b"], []]
    assert position(cluster) == 11
    metrics = producer.metrics()
    assert (metrics.transactions_committed, metrics.transactions_aborted) == (2, 1)


def test_only_the_requests_of_the_agreed_protocol_are_sent(cluster: FakeCluster, producer: Producer) -> None:
    whole_transaction(producer, b"a", 1)
    version = cluster.settings.transaction_version
    asked = {seen.kind for seen in cluster.requests}
    adds = {AddPartitionsToTxnRequest, AddOffsetsToTxnRequest}
    assert asked & adds == (set() if version == 2 else adds)
    for api, newest in ((ProduceRequest, 11), (TxnOffsetCommitRequest, 4), (EndTxnRequest, 4)):
        versions = {seen.version for seen in cluster.seen(api)}
        assert all(v > newest for v in versions) if version == 2 else all(v <= newest for v in versions)
    assert all(b.batch.is_transactional for b in sent_batches(cluster))


def test_an_empty_transaction_costs_no_request(cluster: FakeCluster, producer: Producer) -> None:
    before = len(cluster.seen(EndTxnRequest))
    producer.begin_transaction()
    producer.commit_transaction()
    producer.begin_transaction()
    producer.abort_transaction()
    assert len(cluster.seen(EndTxnRequest)) == before


def test_calls_out_of_turn_are_refused_with_the_reason(cluster: FakeCluster) -> None:
    with transactional(cluster) as producer:
        with pytest.raises(TransactionStateError, match="uninitialized"):
            producer.send(ProducerRecord("t", b"x"))
        with pytest.raises(TransactionStateError, match="uninitialized"):
            producer.begin_transaction()
        producer.init_transactions()
        for call in (producer.commit_transaction, producer.abort_transaction):
            with pytest.raises(TransactionStateError, match="ready") as caught:
                call()
            assert caught.value.exit_code == 7
        producer.begin_transaction()
        with pytest.raises(TransactionStateError):
            producer.begin_transaction()
    with quick(cluster) as plain, pytest.raises(ConfigError, match=r"transactional\.id"):
        plain.begin_transaction()
    with pytest.raises(ConfigError, match="acks=all"):
        quick(cluster, transactional_id="x", acks="1")


def test_a_block_that_raises_is_aborted_and_so_is_what_is_open_at_the_end(cluster: FakeCluster) -> None:
    with transactional(cluster) as producer:
        producer.init_transactions()
        with pytest.raises(ZeroDivisionError), producer.transaction():  # noqa: PT012 - the block is tested
            send(producer, "t", 0, b"never")
            assert producer.flush(PATIENCE)
            raise ZeroDivisionError
        producer.begin_transaction()
        send(producer, "t", 0, b"neither")
        assert producer.flush(PATIENCE)
    assert committed(cluster) == []
    assert nothing_is_open(cluster)


@pytest.mark.parametrize("stops", [False, True])
def test_a_commit_waits_for_a_late_response_and_a_stop_ends_the_wait(
    cluster: FakeCluster, stops: bool
) -> None:
    """It is asked for once: a second request needs a new connection, whose responses are no quicker."""
    with transactional(cluster, request_timeout_ms=30_000) as producer:
        producer.init_transactions()
        held = cluster.hold(EndTxnRequest, "answer")
        producer.begin_transaction()
        send(producer, "t", 0, b"a")
        stop = Stop()
        timer = threading.Timer(0.5, stop.request if stops else held.release)
        timer.start()
        if stops:
            with pytest.raises(TransactionUnknownError):
                commit_transaction(producer, stop, patience=PATIENCE, grace=0.1)
            held.release()
        else:
            commit_transaction(producer, stop, patience=PATIENCE, grace=0.1)
        timer.join()
    assert len(cluster.seen(EndTxnRequest)) == 1
    assert committed(cluster) == [b"a"]


# --- fenced ---------------------------------------------------------------------------------------------


@pytest.mark.case("P4")
def test_a_fenced_producer_stops_and_reports_its_id(cluster: FakeCluster, producer: Producer) -> None:
    """Another producer took the id over; exit 7, nothing of the zombie is seen, all its calls tell why."""
    producer.begin_transaction()
    send(producer, "t", 0, b"zombie")
    assert producer.flush(PATIENCE)
    with transactional(cluster) as heir:
        heir.init_transactions()
        late = send(producer, "t", 0, b"late")[0]
        with pytest.raises(ProducerFencedError, match="id: this producer was fenced") as caught:
            producer.commit_transaction()
        assert caught.value.exit_code == 7
        assert "another producer" in caught.value.why
        assert late.error is not None
        for call in (producer.begin_transaction, producer.abort_transaction):
            with pytest.raises(ProducerFencedError):
                call()
        with pytest.raises(ProducerFencedError):
            send(producer, "t", 0, b"later")
        whole_transaction(heir, b"heir", 1)
    assert committed(cluster) == [b"heir"]


# --- the coordinator dies ---------------------------------------------------------------------------------


@pytest.mark.case("P11")
@pytest.mark.parametrize(("version", "api"), EVERY_STEP, ids=names)
@pytest.mark.parametrize("at", ["request", "answer"])
def test_the_broker_that_was_asked_dies_at_this_step(version: int, api: type[Request], at: str) -> None:
    """Before the request is applied, or after; another broker continues, and the transaction with it."""
    with FakeCluster(3, topics={"t": 3}, transaction_version=version) as cluster:
        with transactional(cluster, request_timeout_ms=5_000) as producer:
            producer.init_transactions()
            whole_transaction(producer, b"before", 1)
            held = cluster.hold(api, at=at)
            producer.begin_transaction()
            send(producer, "t", 0, b"x")
            send(producer, "t", 1, b"x")
            done: list[KcliError | None] = []
            ender = _in_background(lambda: _end(producer, 2), done)
            victim = held.wait(timeout=PATIENCE)[0].node
            cluster.stop(victim, fail_over=True)
            held.lose()
            ender.join(PATIENCE)
            assert done == [None]
            cluster.start(victim)
            whole_transaction(producer, b"after", 3)
        assert [committed(cluster, p) for p in (0, 1)] == [[b"before", b"x", b"after"]] * 2
        assert position(cluster) == 3
        assert nothing_is_open(cluster)


@pytest.mark.case("P11")
@pytest.mark.parametrize("at", ["request", "answer"])
def test_the_coordinator_dies_during_init_producer_id(cluster: FakeCluster, at: str) -> None:
    """P11, at InitProducerId."""
    held = cluster.hold(InitProducerIdRequest, at=at)
    with transactional(cluster, request_timeout_ms=5_000) as producer:
        done: list[KcliError | None] = []
        caller = _in_background(producer.init_transactions, done)
        cluster.stop(held.wait(timeout=PATIENCE)[0].node, fail_over=True)
        held.lose()
        caller.join(PATIENCE)
        assert done == [None]
        whole_transaction(producer, b"a", 1)
    assert committed(cluster) == [b"a"]


@pytest.mark.case("P11", "P14")
@pytest.mark.parametrize("code", [14, 15, 16, 51])
@pytest.mark.parametrize("api", [InitProducerIdRequest, TxnOffsetCommitRequest, EndTxnRequest], ids=names)
def test_a_coordinator_that_moves_or_loads_is_retried(
    cluster: FakeCluster, api: type[Request], code: int
) -> None:
    """NOT_COORDINATOR and its like are no errors of the application; CONCURRENT_TRANSACTIONS neither."""
    cluster.fail(api, code, code)
    if code in (15, 16):
        cluster.fail(FindCoordinatorRequest, 15, after=1)
    with transactional(cluster) as producer:
        producer.init_transactions()
        whole_transaction(producer, b"a", 5)
    assert committed(cluster) == [b"a"]
    assert position(cluster) == 5


@pytest.mark.case("S3-6")
def test_brokers_that_are_too_old_for_transactions_are_refused_by_name(cluster: FakeCluster) -> None:
    """Version 0 of FindCoordinator would take the id for a group's."""
    cluster.cap_versions({FindCoordinatorRequest: 0})
    with (
        transactional(cluster) as producer,
        pytest.raises(UnsupportedError, match="FindCoordinator") as caught,
    ):
        producer.init_transactions()
    assert caught.value.exit_code == 7
    cluster.cap_versions({FindCoordinatorRequest: 6, TxnOffsetCommitRequest: 2})
    with transactional(cluster) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        with pytest.raises(TransactionAbortableError, match="must be aborted") as aborted:
            producer.send_offsets_to_transaction({P0: 1}, GroupMetadata("g", 5, "member"))
        assert "the broker offers 0 to 2" in aborted.value.why


# --- nobody knows how it ended ----------------------------------------------------------------------------


@pytest.mark.case("P12")
@pytest.mark.parametrize("then", ["reset", "silence"])
@pytest.mark.parametrize("knob", ["swallow", "drop"])
def test_an_end_of_a_transaction_whose_response_is_lost_is_sent_again(
    cluster: FakeCluster, producer: Producer, knob: str, then: str
) -> None:
    """The repeat tells; applied or not, the transaction is committed once."""
    getattr(cluster, knob)(EndTxnRequest, then)
    whole_transaction(producer, b"a", 1)
    whole_transaction(producer, b"b", 2)
    assert committed(cluster) == [b"a", b"b"]
    assert len(cluster.log("t", 0).markers()) == 2


@pytest.mark.case("P12")
@pytest.mark.parametrize("applied", [True, False])
def test_unknown_server_error_is_not_success(
    cluster: FakeCluster, producer: Producer, *, applied: bool
) -> None:
    """It is asked until somebody knows."""
    cluster.fail(EndTxnRequest, -1, -1, applied=applied)
    whole_transaction(producer, b"a", 1)
    assert committed(cluster) == [b"a"]
    assert len(cluster.seen(EndTxnRequest)) == 3


@pytest.mark.case("P12")
@pytest.mark.parametrize("knob", ["swallow", "drop"])
def test_without_a_response_the_outcome_is_unknown_until_it_is_requested_again(
    cluster: FakeCluster, producer: Producer, knob: str
) -> None:
    """Commit again asks again, and then it is known."""
    getattr(cluster, knob)(EndTxnRequest, "silence", times=FOREVER)
    producer.begin_transaction()
    send(producer, "t", 0, b"a")
    with pytest.raises(TransactionUnknownError, match="is not known") as caught:
        producer.commit_transaction(timeout=1)
    assert caught.value.exit_code == 3
    assert producer.metrics().transactions_committed == 0
    with pytest.raises(TransactionStateError, match="unknown"):
        send(producer, "t", 0, b"too early")
    cluster.heal()
    producer.commit_transaction()
    assert committed(cluster) == [b"a"]
    assert producer.metrics().transactions_committed == 1


@pytest.mark.case("P12")
@pytest.mark.parametrize(("knob", "seen"), [("swallow", [b"a", b"b"]), ("drop", [b"b"])])
def test_the_next_transaction_makes_an_end_of_one_of_unknown_outcome(
    cluster: FakeCluster, producer: Producer, knob: str, seen: list[bytes]
) -> None:
    """It is initialised anew first, which aborts what is still open and leaves alone what is committed."""
    getattr(cluster, knob)(EndTxnRequest, "silence", times=FOREVER)
    producer.begin_transaction()
    send(producer, "t", 0, b"a")
    with pytest.raises(TransactionUnknownError):
        producer.commit_transaction(timeout=1)
    cluster.heal()
    before = len(cluster.seen(InitProducerIdRequest))
    whole_transaction(producer, b"b", 1)
    assert len(cluster.seen(InitProducerIdRequest)) > before
    assert committed(cluster) == seen
    assert nothing_is_open(cluster)


@pytest.mark.case("P12")
def test_records_that_are_not_confirmed_in_time_leave_the_transaction_open(
    cluster: FakeCluster, producer: Producer
) -> None:
    """Before its end was asked for, nothing is unknown; committing again continues where it was."""
    held = cluster.hold(ProduceRequest)
    producer.begin_transaction()
    send(producer, "t", 0, b"a")
    with pytest.raises(TimedOutError) as caught:
        producer.commit_transaction(timeout=0.3)
    assert not isinstance(caught.value, TransactionUnknownError)
    assert cluster.seen(EndTxnRequest) == []
    held.release()
    producer.commit_transaction()
    assert committed(cluster) == [b"a"]


# --- late requests ------------------------------------------------------------------------------------------


@pytest.mark.case("P13")
@pytest.mark.parametrize("late_commit", [True, False])
def test_a_late_end_of_one_transaction_does_not_end_the_next(
    cluster: FakeCluster, producer: Producer, *, late_commit: bool
) -> None:
    """EndTxn of A is held, the client gives up and begins B, then A's end arrives; B is intact."""
    producer.begin_transaction()
    send(producer, "t", 0, b"A")
    assert producer.flush(PATIENCE)
    held = cluster.hold(EndTxnRequest)
    with pytest.raises(KcliError):
        (producer.commit_transaction if late_commit else producer.abort_transaction)(timeout=0.2)
    cluster.heal()
    producer.begin_transaction()
    send(producer, "t", 0, b"B")
    assert producer.flush(PATIENCE)
    held.release()
    cluster.wait_until(lambda: all(s.outcome for s in cluster.seen(EndTxnRequest)))
    assert committed(cluster) in ([], [b"A"])
    assert cluster.log("t", 0).open_transactions, "the late end of A ended B"
    producer.commit_transaction()
    assert committed(cluster)[-1:] == [b"B"]


@pytest.mark.case("P13")
def test_a_late_record_of_an_aborted_transaction_is_not_in_the_next(
    cluster: FakeCluster, producer: Producer
) -> None:
    """Produce of A is held beyond the client's patience, A is aborted, B begins, then it arrives."""
    producer.begin_transaction()
    held = cluster.hold(ProduceRequest, times=FOREVER)
    send(producer, "t", 0, b"A")
    held.wait()
    with pytest.raises(KcliError):
        producer.commit_transaction(timeout=0.2)
    producer.abort_transaction()
    cluster.heal()
    with producer.transaction():
        send(producer, "t", 1, b"B")
        assert producer.flush(PATIENCE)
        held.release()
        cluster.wait_until(lambda: all(s.outcome for s in cluster.seen(ProduceRequest)))
        send(producer, "t", 0, b"B")
    assert (committed(cluster, 0), committed(cluster, 1)) == ([b"B"], [b"B"])
    assert nothing_is_open(cluster)


# --- 5 ------------------------------------------------------------------------------------------------------


@pytest.mark.case("P14")
def test_a_successor_waits_until_the_last_transaction_has_ended(cluster: FakeCluster) -> None:
    """CONCURRENT_TRANSACTIONS while the markers of a crashed producer's transaction are written."""
    with transactional(cluster) as crashed:
        crashed.init_transactions()
        crashed.begin_transaction()
        send(crashed, "t", 0, b"crashed")
        assert crashed.flush(PATIENCE)
        cluster.settings.completion_delay = 0.2
        with transactional(cluster) as heir:
            heir.init_transactions()
            assert any(51 in s.codes for s in cluster.seen(InitProducerIdRequest))
            for value in numbers(5):
                whole_transaction(heir, value, 1)
        cluster.wait_until(lambda: nothing_is_open(cluster))
    assert committed(cluster) == numbers(5)


@pytest.mark.case("P14")
def test_version_2_is_used_only_where_it_was_agreed_on() -> None:
    """A cluster whose brokers could do it but have not agreed gets the old protocol."""
    with (
        FakeCluster(1, topics={"t": 3}, transaction_version=1) as cluster,
        transactional(cluster) as producer,
    ):
        producer.init_transactions()
        whole_transaction(producer, b"a", 1)
        assert max(s.version for s in cluster.seen(EndTxnRequest)) == 4
        assert cluster.seen(AddPartitionsToTxnRequest)


@pytest.mark.case("P14")
@pytest.mark.parametrize("code", [48, 120])
def test_a_transaction_that_the_coordinator_does_not_know_is_aborted_and_the_next_is_clean(
    cluster: FakeCluster, producer: Producer, code: int
) -> None:
    """INVALID_TXN_STATE or TRANSACTION_ABORTABLE at a write."""
    cluster.fail(ProduceRequest, code)
    producer.begin_transaction()
    future = send(producer, "t", 0, b"a")[0]
    with pytest.raises(TransactionAbortableError, match="must be aborted") as caught:
        producer.commit_transaction()
    assert isinstance(future.error, BrokerError)
    assert future.error.name in caught.value.why
    with pytest.raises(TransactionAbortableError):
        send(producer, "t", 0, b"b")
    producer.abort_transaction()
    whole_transaction(producer, b"c", 1)
    assert committed(cluster) == [b"c"]


@pytest.mark.case("P15")
def test_a_transaction_that_timed_out_at_the_coordinator_is_reported_and_the_next_is_clean(
    cluster: FakeCluster, producer: Producer
) -> None:
    """As after SIGSTOP; the coordinator aborted it and fenced its producer."""
    producer.begin_transaction()
    send(producer, "t", 0, b"slept")
    assert producer.flush(PATIENCE)
    cluster.expire_transaction("id")
    with pytest.raises(
        (ProducerFencedError, TransactionAbortableError), match=r"fenced|not committed"
    ) as caught:
        producer.commit_transaction()
    assert "open for longer" in caught.value.why
    producer.init_transactions()
    whole_transaction(producer, b"next", 1)
    assert committed(cluster) == [b"next"]
    assert nothing_is_open(cluster)


# --- 7 ------------------------------------------------------------------------------------------------------


@pytest.mark.case("P16")
def test_when_every_record_fails_the_transaction_is_still_aborted(
    cluster: FakeCluster, producer: Producer
) -> None:
    """No transaction is left hanging at the coordinator."""
    cluster.fail(ProduceRequest, 87, times=FOREVER)
    producer.begin_transaction()
    futures = [send(producer, "t", p, b"x")[0] for p in range(3)]
    with pytest.raises(TransactionAbortableError):
        producer.commit_transaction()
    producer.abort_transaction()
    assert all(future.error for future in futures)
    cluster.heal()
    ends = [seen.request for seen in cluster.seen((EndTxnRequest, InitProducerIdRequest))][1:]
    assert ends, "nobody told the coordinator"
    assert not any(isinstance(end, EndTxnRequest) and end.committed for end in ends)
    whole_transaction(producer, b"next", 1)
    assert committed(cluster) == [b"next"]
    assert nothing_is_open(cluster)


@pytest.mark.case("P16")
@pytest.mark.parametrize("then", ["reset", "silence"])
def test_an_abort_waits_for_what_is_in_flight(cluster: FakeCluster, producer: Producer, then: str) -> None:
    """A record that is under way must not land behind the abort and hang there."""
    cluster.drop(ProduceRequest, then, times=FOREVER)
    producer.begin_transaction()
    send(producer, "t", 0, b"x")
    cluster.wait_for(ProduceRequest)
    producer.abort_transaction()
    ends = [s for s in cluster.seen((EndTxnRequest, InitProducerIdRequest)) if s.at > cluster.requests[0].at]
    assert in_flight_when(cluster, ends[-1]) == []
    cluster.heal()
    whole_transaction(producer, b"next", 1)
    assert committed(cluster) == [b"next"]


@pytest.mark.case("P17")
def test_what_a_dead_client_left_open_ends_when_its_id_is_used_again(cluster: FakeCluster) -> None:
    """Until then readers of committed records stand at its first record."""
    dead = transactional(cluster)
    dead.init_transactions()
    dead.begin_transaction()
    send(dead, "t", 0, b"left")
    assert dead.flush(PATIENCE)
    dead._sender.stop_now = True  # as SIGKILL: nobody says goodbye
    dead._cluster.loop.wakeup()
    assert cluster.log("t", 0).last_stable_offset == 0
    with transactional(cluster) as heir:
        heir.init_transactions()
        log = cluster.log("t", 0)
        assert log.last_stable_offset == log.high_watermark
        whole_transaction(heir, b"next", 1)
    assert committed(cluster) == [b"next"]


@pytest.mark.case("P5")
def test_epochs_run_out_and_a_new_producer_id_follows(cluster: FakeCluster) -> None:
    """P5 in transactions: version 2 uses an epoch for each; each abort of the old protocol may."""
    cluster.next_producer_id(7, epoch=32_760)
    with transactional(cluster) as producer:
        producer.init_transactions()
        for value, fails in zip(numbers(16), itertools.cycle([False, True]), strict=False):
            if fails:
                cluster.fail(ProduceRequest, 87)
                producer.begin_transaction()
                send(producer, "t", 0, b"never")
                with pytest.raises(TransactionAbortableError):
                    producer.commit_transaction()
                producer.abort_transaction()
            whole_transaction(producer, value, 1)
    assert committed(cluster) == numbers(16)
    assert len({b.producer_id for b in sent_batches(cluster)}) == 2


def _end(producer: Producer, offset: int) -> None:
    producer.send_offsets_to_transaction({P0: offset}, "g")
    producer.commit_transaction()


def _in_background(call: Any, done: list[KcliError | None]) -> Any:
    import threading

    def run() -> None:
        try:
            call()
            done.append(None)
        except KcliError as error:
            done.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def unserializable(_topic: str, value: Any) -> bytes:
    if value == b"bad":
        raise ValueError("it is bad")
    return bytes(value)


@pytest.mark.case("P16")
@pytest.mark.parametrize("bad", ["serializer", "partition"])
def test_a_record_that_never_found_a_batch_fails_the_transaction_too(cluster: FakeCluster, bad: str) -> None:
    """The records that are stored must not be seen without it."""
    options = {"value_serializer": unserializable} if bad == "serializer" else {}
    with transactional(cluster, **options) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        send(producer, "t", 0, b"good")
        lost = send(producer, "t", 0, b"bad")[0] if options else send(producer, "t", 9, b"good")[0]
        with pytest.raises(TransactionAbortableError):
            producer.commit_transaction(PATIENCE)
        assert lost.error is not None
        producer.abort_transaction(PATIENCE)
        whole_transaction(producer, b"next", 1)
    assert committed(cluster) == [b"next"]


@pytest.mark.case("P12")
def test_an_abort_without_a_response_is_repeated_and_never_becomes_a_commit(
    cluster: FakeCluster, producer: Producer
) -> None:
    """The records of which it was said that they are aborted stay so."""
    producer.begin_transaction()
    send(producer, "t", 0, b"gone")
    assert producer.flush(PATIENCE)
    silent = cluster.drop(EndTxnRequest, times=FOREVER)
    with pytest.raises(TimedOutError):
        producer.abort_transaction(0.3)
    with pytest.raises(TransactionStateError, match="in doubt"):
        producer.commit_transaction(PATIENCE)
    assert silent
    cluster.heal()
    producer.abort_transaction(PATIENCE)
    whole_transaction(producer, b"next", 1)
    assert committed(cluster) == [b"next"]


@pytest.mark.case("P14")
def test_a_commit_that_the_coordinator_refuses_may_be_aborted_as_documented(
    cluster: FakeCluster, producer: Producer
) -> None:
    """TransactionAbortableError means that abort_transaction and another begin get over it."""
    producer.begin_transaction()
    send(producer, "t", 0, b"gone")
    assert producer.flush(PATIENCE)
    cluster.fail(EndTxnRequest, 48)  # INVALID_TXN_STATE
    with pytest.raises(TransactionAbortableError):
        producer.commit_transaction(PATIENCE)
    producer.abort_transaction(PATIENCE)
    whole_transaction(producer, b"next", 1)
    assert committed(cluster) == [b"next"]


def test_a_closed_producer_is_not_waited_for(cluster: FakeCluster) -> None:
    """A commit that runs while another thread closes is told; later calls are refused."""
    with transactional(cluster) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        send(producer, "t", 0, b"x")
        assert producer.flush(PATIENCE)
        cluster.drop(EndTxnRequest, times=FOREVER)
        errors: list[BaseException] = []

        def commit() -> None:
            try:
                producer.commit_transaction(60)
            except KcliError as error:
                errors.append(error)

        committing = threading.Thread(target=commit)
        committing.start()
        cluster.wait_until(lambda: cluster.seen(EndTxnRequest) != [], PATIENCE)
        producer.close(0.1)
        committing.join(PATIENCE)
        assert [type(error) for error in errors] == [TransactionUnknownError]
        for call in (producer.begin_transaction, producer.commit_transaction, producer.init_transactions):
            with pytest.raises(ClosedError):
                call(PATIENCE)


def test_invalid_offsets_are_refused_before_they_are_sent(cluster: FakeCluster, producer: Producer) -> None:
    producer.begin_transaction()
    for wrong in ("1", 1.5, None):
        with pytest.raises(ConfigError):
            producer.send_offsets_to_transaction({P0: wrong}, "g")  # type: ignore[dict-item]
    with pytest.raises(ConfigError):
        producer.send_offsets_to_transaction({P0: 1}, 5)  # type: ignore[arg-type]
    producer.send_offsets_to_transaction({("t", 0): 1}, "g")  # type: ignore[dict-item]
    producer.commit_transaction(PATIENCE)
    assert cluster.committed_offsets("g") == {P0: 1}
