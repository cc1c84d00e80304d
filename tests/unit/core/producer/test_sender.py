"""The sender's decisions, turned step by step with brokers that answer as a test says (N5, B6, P1 to P10)."""

from collections.abc import Callable
from typing import Any

import pytest

from kcli.core.cluster.cluster import Cluster
from kcli.core.error_codes import (
    DUPLICATE_SEQUENCE_NUMBER,
    MESSAGE_TOO_LARGE,
    NOT_LEADER_OR_FOLLOWER,
    OUT_OF_ORDER_SEQUENCE_NUMBER,
)
from kcli.core.errors import (
    AuthError,
    BrokerError,
    ConnectError,
    KcliError,
    OutcomeUnknownError,
    TimedOutError,
)
from kcli.core.options import ProducerOptions
from kcli.core.producer.accumulator import Accumulator
from kcli.core.producer.batch import BatchState, ProducerBatch
from kcli.core.producer.sender import Sender
from kcli.core.producer.serialization import RecordTooLargeError
from kcli.core.protocol.messages.describe_configs import DescribeConfigsRequest
from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kcli.core.protocol.messages.metadata import MetadataRequest
from kcli.core.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from kcli.core.types import Node, TopicPartition
from tests.unit.core.cluster.scripted import ScriptedBrokers, cluster_on, metadata_of, partition, topic
from tests.unit.core.net.fakes import Clock
from tests.unit.core.producer.batches import P0, P1, accumulator, put, values_of

T = topic("t", partition(0, 1), partition(1, 2))
Sent = tuple[TopicPartition, int, int]
"""Partition, epoch and base sequence of a batch on the wire."""


class Rig:
    """A sender, its accumulator and its brokers; ``answers`` judges each batch that arrives."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answers: Any = None, **values: Any) -> None:
        self.answers: Callable[[TopicPartition, int, int], Any] = answers or (lambda *_: 0)
        self.options = ProducerOptions(bootstrap_servers="boot", linger_ms=0, **values)
        cluster, brokers, clock = cluster_on(monkeypatch, self._script)
        self.cluster: Cluster = cluster
        self.brokers: ScriptedBrokers = brokers
        self.clock: Clock = clock
        self.metadata = metadata_of(T)
        self.epoch, self.ids = -1, 0
        self.arrived: list[Sent] = []
        self.log: dict[TopicPartition, list[bytes]] = {}
        self.settled: list[ProducerBatch] = []
        self.acc: Accumulator = accumulator(
            clock, linger=0.0, batch_size=80, delivery_timeout=self.options.delivery_timeout_ms / 1000
        )
        self.sender = Sender(cluster, self.options, self.acc, self.settled.append)

    def _script(self, node: Node, request: Any) -> Any:
        if isinstance(request, MetadataRequest):
            return self.metadata(node, request)
        if isinstance(request, InitProducerIdRequest):
            self.ids += 1
            self.epoch = self.epoch + 1 if request.producer_id >= 0 else 0
            return InitProducerIdResponse(error_code=0, producer_id=7, producer_epoch=self.epoch)
        if isinstance(request, DescribeConfigsRequest):
            return BrokerError(29, "not for everybody's eyes")
        assert isinstance(request, ProduceRequest)
        parts, whole = [], None
        for one in request.topic_data:
            for data in one.partition_data:
                tp = TopicPartition("t", data.index)
                epoch, sequence = _numbers(b"".join(data.records or ()))
                self.arrived.append((tp, epoch, sequence))
                code = self.answers(tp, epoch, sequence)
                if isinstance(code, PartitionProduceResponse):
                    parts.append(code)
                elif isinstance(code, int):
                    parts.append(
                        PartitionProduceResponse(index=data.index, error_code=code, base_offset=sequence)
                    )
                elif code != "omit":
                    whole = code
        if whole is not None:
            return whole
        return ProduceResponse(responses=[TopicProduceResponse(name="t", partition_responses=parts)])

    def run(self, seconds: float) -> "Rig":
        """Turns as the thread would, until the time is over."""
        end = self.clock() + seconds
        while self.clock() < end:
            self.sender.turn(self.clock())
            self.cluster.loop.poll(max(0.0, min(self.sender._wake_at, end) - self.clock()))
        return self

    def states(self) -> list[str]:
        return [batch.state.value for batch in self.settled]

    def confirmed(self, tp: TopicPartition = P0) -> list[bytes]:
        """Values in the order of their confirmation."""
        done = [b for b in self.settled if b.tp == tp and b.state is BatchState.DONE]
        return [value for batch in done for value in values_of(batch)]


def _numbers(batch: bytes) -> tuple[int, int]:
    """Producer epoch and base sequence from the header of a batch."""
    return int.from_bytes(batch[51:53], "big", signed=True), int.from_bytes(batch[53:57], "big", signed=True)


def values(count: int) -> list[bytes]:
    return [b"%d" % n * 12 for n in range(count)]


@pytest.fixture
def rig(monkeypatch: pytest.MonkeyPatch) -> Rig:
    return Rig(monkeypatch)


@pytest.mark.case("S0-16")
def test_records_are_sent_numbered_and_confirmed_in_order(rig: Rig) -> None:
    put(rig.acc, P0, *values(6))
    put(rig.acc, P1, *values(3))
    rig.run(2)
    assert rig.confirmed(P0) == values(6)
    assert rig.confirmed(P1) == values(3)
    for tp in (P0, P1):
        sequences = [sequence for of, _, sequence in rig.arrived if of == tp]
        assert sequences == sorted(set(sequences))
    assert rig.sender.idle
    assert rig.ids == 1


@pytest.mark.case("S0-16")
def test_at_most_so_many_requests_wait_at_a_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(monkeypatch, max_in_flight_requests_per_connection=3)
    rig.brokers.delay = 0.5
    put(rig.acc, P0, *values(10))
    rig.run(0.9)
    assert len(rig.arrived) <= 3
    rig.run(10)
    assert rig.confirmed() == values(10)


def most_in_flight(rig: Rig, count: int) -> tuple[int, int]:
    """The most requests in flight, and the most batches of one partition, while so many records of P0 and P1 are sent."""
    requests = batches = 0
    for one in values(count):
        put(rig.acc, P0, one)
        put(rig.acc, P1, one)
    for _ in range(4_000):
        rig.run(0.005)
        requests = max(requests, rig.sender.requests_in_flight)
        batches = max([batches, *map(len, rig.sender._in_flight.values())])
        if rig.sender.idle:
            break
    assert rig.confirmed(P0) == rig.confirmed(P1) == values(count)
    return requests, batches


T4 = topic("t", *(partition(number) for number in range(2)))


def far_rig(monkeypatch: pytest.MonkeyPatch, shortest: float, **values: Any) -> Rig:
    """Both partitions at one broker, which answers after 0.2 s; requests of one batch."""
    monkeypatch.setattr("kcli.core.producer.sender.MOST_BYTES", 1)
    rig = Rig(monkeypatch, **values)
    rig.metadata = metadata_of(T4)
    rig.brokers.delay, rig.brokers.shortest = 0.2, shortest
    return rig


def test_requests_in_flight_grow_with_the_distance_never_five_batches_of_a_partition(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A broker remembers the last five batches of a producer (KIP-98)."""
    assert most_in_flight(far_rig(monkeypatch, 0.2), 200) == (10, 5)


def test_near_by_and_where_it_was_set_requests_in_flight_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    assert most_in_flight(far_rig(monkeypatch, 0.001), 60)[0] == 5
    limited = far_rig(monkeypatch, 0.2, max_in_flight_requests_per_connection=3)
    assert most_in_flight(limited, 60)[0] == 3


@pytest.mark.case("N5")
def test_a_lost_answer_is_sent_again_under_the_same_number(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = [OutcomeUnknownError("the connection broke")]
    rig = Rig(monkeypatch, lambda *_: lost.pop() if lost else DUPLICATE_SEQUENCE_NUMBER)
    put(rig.acc, P0, b"v")
    rig.run(3)
    assert rig.arrived[0] == rig.arrived[1]
    assert rig.states() == ["done"]
    assert rig.ids == 1


@pytest.mark.case("S0-19", "S0-29")
def test_order_survives_a_moved_leader_with_several_in_flight(monkeypatch: pytest.MonkeyPatch) -> None:
    expected: dict[int, int] = {}

    def answers(tp: TopicPartition, epoch: int, sequence: int) -> int:
        """A broker that refuses the first three, then takes numbers in order only."""
        if len(rig.arrived) <= 3:
            return NOT_LEADER_OR_FOLLOWER
        due = expected.setdefault(epoch, 0)
        if sequence != due:
            return OUT_OF_ORDER_SEQUENCE_NUMBER
        expected[epoch] = due + 1
        return 0

    rig = Rig(monkeypatch, answers)
    put(rig.acc, P0, *[b"%d" % n * 70 for n in range(6)])
    rig.run(20)
    assert rig.confirmed() == [b"%d" % n * 70 for n in range(6)]
    assert rig.epoch == 0


@pytest.mark.case("P1")
def test_a_gap_bumps_the_epoch_once_and_only_when_nothing_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first batch of P0 fails for good; those behind it cannot be accepted, those of P1 can."""

    def answers(tp: TopicPartition, epoch: int, sequence: int) -> int:
        if tp == P0 and epoch == 0:
            return 87 if sequence == 0 else OUT_OF_ORDER_SEQUENCE_NUMBER
        return 0

    rig = Rig(monkeypatch, answers)
    records = [b"%d" % n * 70 for n in range(4)]
    put(rig.acc, P0, *records)
    put(rig.acc, P1, *records)
    rig.run(20)
    assert rig.confirmed(P0) == records[1:]
    assert rig.confirmed(P1) == records
    assert rig.states().count("failed") == 1
    assert rig.epoch == 1
    old = [place for place, (tp, epoch, _) in enumerate(rig.arrived) if epoch == 0]
    new = [place for place, (tp, epoch, _) in enumerate(rig.arrived) if epoch == 1]
    assert max(old) < min(new)
    assert [s for w, e, s in rig.arrived if (w, e) == (P0, 1)] == [0, 1, 2]


@pytest.mark.case("S0-16", "S0-29", "B6")
@pytest.mark.parametrize("code", [6, 7, 19, 20, 2])
def test_retriable_errors_are_retried_with_growing_pauses(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    left = [code] * 4
    rig = Rig(monkeypatch, lambda *_: left.pop() if left else 0)
    put(rig.acc, P0, b"v")
    rig.run(10)
    assert rig.states() == ["done"]
    assert len(rig.arrived) == 5


def test_a_batch_keeps_the_time_of_its_first_request(monkeypatch: pytest.MonkeyPatch) -> None:
    arrived: list[float] = []

    def answer(*_: object) -> int:
        arrived.append(rig.clock())
        return 7 if len(arrived) < 5 else 0

    rig = Rig(monkeypatch, answer)
    put(rig.acc, P0, b"v")
    rig.run(10)
    (batch,) = rig.settled
    assert len(set(arrived)) == 5
    assert len(set(arrived)) == 5
    assert batch.sent_at == arrived[0]


def test_a_broker_that_is_away_for_long_does_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    away = ConnectError("refused")
    rig = Rig(
        monkeypatch, lambda *_: away if rig.clock() < 1000 + 3000 else 0, delivery_timeout_ms=10_000_000
    )
    put(rig.acc, P0, b"v")
    rig.run(3010)
    assert rig.states() == ["done"]
    assert 1500 < len(rig.arrived) < 5000


@pytest.mark.parametrize(
    ("code", "kind"), [(29, BrokerError), (87, BrokerError), (-1, BrokerError), (9999, BrokerError)]
)
def test_errors_that_are_not_retriable_fail_at_once(
    monkeypatch: pytest.MonkeyPatch, code: int, kind: type
) -> None:
    rig = Rig(monkeypatch, lambda *_: code)
    put(rig.acc, P0, b"v")
    rig.run(1)
    assert rig.states() == ["failed"]
    assert isinstance(rig.settled[0].delivery.error, kind)


def test_a_refused_certificate_fails_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(monkeypatch, lambda *_: AuthError("certificate"))
    put(rig.acc, P0, b"v")
    rig.run(1)
    assert isinstance(rig.settled[0].delivery.error, AuthError)


@pytest.mark.case("P7")
@pytest.mark.parametrize("known", [False, True])
def test_after_the_delivery_timeout_it_has_failed_and_says_whether_it_may_be_there(
    monkeypatch: pytest.MonkeyPatch, *, known: bool
) -> None:
    error = BrokerError(19, "x") if known else OutcomeUnknownError("the connection broke")
    rig = Rig(monkeypatch, lambda *_: 19 if known else error, delivery_timeout_ms=5_000)
    put(rig.acc, P0, b"v")
    rig.run(8)
    failure = rig.settled[0].delivery.error
    assert isinstance(failure, TimedOutError if known else OutcomeUnknownError)
    assert ("NOT_ENOUGH_REPLICAS" if known else "may have stored it nevertheless") in str(failure)


def test_a_batch_that_is_too_large_is_split_until_its_parts_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(monkeypatch)
    rig.acc._batch_size = 10_000
    sizes: list[int] = []

    def answers(tp: TopicPartition, epoch: int, sequence: int) -> int:
        sizes.append(sequence)
        return MESSAGE_TOO_LARGE if len(sizes) <= 1 else 0

    rig.answers = answers
    put(rig.acc, P0, *values(8))
    rig.run(5)
    assert rig.confirmed() == values(8)
    assert len(rig.settled) >= 2
    assert rig.acc.memory.used == 0
    assert rig.epoch == 0


def test_a_batch_that_is_larger_than_a_request_is_split_before_it_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As of a mirror, or one that has grown when it was compressed; what follows it keeps its place."""
    rig = Rig(monkeypatch, max_request_size=400)
    rig.acc._batch_size = 600
    written = [b"%03d" % n + b"x" * 60 for n in range(30)]
    put(rig.acc, P0, *written[:9], written[9] * 7, *written[10:])
    rig.run(5)
    large = written[9] * 7
    failed = [batch for batch in rig.settled if batch.state is BatchState.FAILED]
    assert [values_of(batch) for batch in failed] == [[large]]
    assert isinstance(failed[0].delivery.error, RecordTooLargeError)
    assert rig.confirmed() == [value for value in written if value != written[9]]
    assert all(batch.builder.wire_size < 400 for batch in rig.settled if batch not in failed)
    assert rig.acc.memory.used == 0
    assert rig.epoch == 0


def test_one_record_that_is_too_large_fails_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    big = b"x" * 500

    def answers(tp: TopicPartition, epoch: int, sequence: int) -> int:
        flying = rig.sender._in_flight.get(tp, [])
        return MESSAGE_TOO_LARGE if any(big in values_of(b) for b in flying) else 0

    rig = Rig(monkeypatch, answers, max_in_flight_requests_per_connection=1)
    rig.acc._batch_size = 10_000
    put(rig.acc, P0, b"1", b"2", big, b"4")
    rig.run(20)
    failed = [values_of(b) for b in rig.settled if b.state is BatchState.FAILED]
    assert failed == [[big]]
    assert rig.confirmed() == [b"1", b"2", b"4"]


def test_what_is_left_of_a_refused_batch_goes_before_one_in_flight_whose_response_is_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """1. Two batches are in flight, of the first a record is refused. 2. The connection ends before the second response.

    Whether the second is stored only its number can show, and the rest of the first has to go before it.
    """
    rig = Rig(monkeypatch, retry_backoff_ms=10)
    rig.acc._batch_size = 10_000
    put(rig.acc, P0, b"known")
    rig.run(1)
    due = {0: 1}
    refused = BatchIndexAndErrorMessage(batch_index=1, batch_index_error_message="no")

    def answers(tp: TopicPartition, epoch: int, sequence: int) -> Any:
        if len(rig.arrived) == 2:
            return PartitionProduceResponse(index=0, error_code=87, base_offset=-1, record_errors=[refused])
        if len(rig.arrived) == 3:
            return OutcomeUnknownError("the connection broke")
        if sequence != due.setdefault(epoch, 0):
            return OUT_OF_ORDER_SEQUENCE_NUMBER
        due[epoch] += 2
        return 0

    rig.answers, rig.brokers.delay = answers, 0.5
    put(rig.acc, P0, b"1", b"refused", b"3")
    rig.run(0.1)
    put(rig.acc, P0, b"4", b"5")
    rig.run(20)
    assert [(epoch, sequence) for _, epoch, sequence in rig.arrived[1:3]] == [(0, 1), (0, 4)]
    assert rig.confirmed() == [b"known", b"1", b"3", b"4", b"5"]
    assert [values_of(b) for b in rig.settled if b.state is BatchState.FAILED] == [[b"refused"]]
    assert (rig.acc.memory.used, rig.epoch) == (0, 1)


@pytest.mark.case("P10")
def test_a_partition_that_the_answer_leaves_out_is_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[Any] = ["omit"]
    rig = Rig(monkeypatch, lambda *_: left.pop() if left else 0)
    put(rig.acc, P0, b"v")
    rig.run(3)
    assert rig.states() == ["done"]
    assert rig.arrived[0] == rig.arrived[1]


@pytest.mark.case("S0-22", "S4-10", "B4")
def test_without_a_leader_it_waits_and_refreshes_with_pauses(rig: Rig) -> None:
    rig.metadata = metadata_of(topic("t", partition(0, -1)))
    put(rig.acc, P0, b"v")
    rig.run(5)
    assert rig.arrived == []
    assert 4 <= len(rig.brokers.asked(MetadataRequest)) <= 25
    rig.metadata = metadata_of(T)
    rig.run(3)
    assert rig.states() == ["done"]


def test_without_idempotence_one_batch_of_a_partition_is_in_flight(monkeypatch: pytest.MonkeyPatch) -> None:
    left = [7]
    rig = Rig(monkeypatch, lambda *_: left.pop() if left else 0, enable_idempotence=False)
    records = [b"%d" % n * 70 for n in range(4)]
    put(rig.acc, P0, *records)
    rig.run(5)
    assert rig.confirmed() == records
    assert rig.ids == 0


def test_the_end_completes_everything_once_and_leaves_nothing_open(rig: Rig) -> None:
    put(rig.acc, P0, b"first")
    rig.run(1)
    rig.settled.clear()
    rig.brokers.delay = 60
    put(rig.acc, P0, *values(3))
    rig.run(0.5)
    put(rig.acc, P1, *values(2))
    rig.sender.stop_now = True
    rig.sender.run()
    assert all(batch.delivery.done for batch in rig.settled)
    assert sum(batch.count for batch in rig.settled) == 5
    assert rig.acc.empty
    flown = [b.delivery.error for b in rig.settled if b.tp == P0]
    assert any(isinstance(error, OutcomeUnknownError) for error in flown)
    assert all(isinstance(error, KcliError) for error in flown)


def test_a_close_waits_until_everything_is_completed(rig: Rig) -> None:
    put(rig.acc, P0, *values(5))
    rig.sender.stop_when_idle = True
    rig.sender.run()
    assert rig.confirmed() == values(5)


def test_an_idle_sender_wakes_once_a_second(rig: Rig) -> None:
    rig.run(1)
    turns = 0
    end = rig.clock() + 20
    while rig.clock() < end:
        turns += 1
        rig.sender.turn(rig.clock())
        rig.cluster.loop.poll(max(0.0, rig.sender._wake_at - rig.clock()))
    assert turns <= 25
