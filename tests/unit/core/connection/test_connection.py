"""One conversation, without a socket: order, waiting for the handshake, deadlines, ends."""

import copy
import struct
from typing import Any

import pytest

from kcli.core.connection.ahead import OLDEST, Expected
from kcli.core.connection.plan import Broker, Plan
from kcli.core.connection.state import State
from kcli.core.errors import (
    BrokerError,
    ConnectError,
    KcliError,
    NotValidatedError,
    OutcomeUnknownError,
    ProtocolError,
    RequestTimeoutError,
    UnsupportedError,
)
from kcli.core.future import Future
from kcli.core.hooks import Hooks
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from kcli.core.protocol.messages.create_partitions import CreatePartitionsRequest
from kcli.core.protocol.messages.create_topics import CreateTopicsRequest
from kcli.core.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kcli.core.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from kcli.core.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kcli.core.state_cell import IllegalEventError
from tests.unit.core.connection.wire import NODE, OFFER, Peer, answer_frame, framed, metadata, offers


def produce(acks: int, size: int = 10) -> ProduceRequest:
    data = PartitionProduceData(index=0, records=[b"r" * size])
    return ProduceRequest(
        acks=acks, timeout_ms=1, topic_data=[TopicProduceData(name="t", partition_data=[data])]
    )


# --- handshake --------------------------------------------------------------------------------------------


def test_requests_wait_for_the_handshake_and_go_in_order() -> None:
    peer = Peer()
    futures = [peer.ask() for _ in range(3)]
    assert peer.take() == b""
    peer.connection.connected(0.0, 10.0)
    assert peer.sent() == [(18, 3, 0)]
    assert peer.connection.state is State.HANDSHAKE
    peer.feed(offers())
    assert peer.connection.state is State.READY
    assert peer.sent() == [(3, 12, 1), (3, 12, 2), (3, 12, 3)]
    peer.feed(metadata(1, "one") + metadata(2, "two") + metadata(3, "three"))
    assert [f.value.cluster_id for f in futures] == ["one", "two", "three"]


def test_a_plan_is_given_the_shortest_round_trip_of_its_connection() -> None:
    peer = Peer()
    peer.connection.connected(0.0, 10.0)
    peer.feed(offers(), now=0.3)
    for number, (sent_at, answered_at) in enumerate(((1.0, 1.2), (2.0, 2.5)), 1):
        peer.ask(now=sent_at)
        peer.feed(metadata(number), now=answered_at)
    seen: list[float] = []

    def write(broker: Broker) -> list[Request]:
        seen.append(broker.round_trip)
        return []

    peer.connection.request(Plan(write), Future(), 3.0, 10.0)
    assert seen == [pytest.approx(0.2)]


@pytest.mark.case("S3-5")
def test_the_version_is_the_newest_that_this_broker_offers() -> None:
    peer = Peer()
    peer.connection.connected(0.0, 10.0)
    peer.take()
    peer.feed(offers(offer={**OFFER, 3: (0, 7)}))
    peer.ask()
    assert peer.sent() == [(3, 7, 1)]


def test_the_cap_of_one_request_concerns_no_other() -> None:
    peer = Peer().ready()
    capped = MetadataRequest(topics=[])
    capped.cap_version(9)
    for request in (None, capped, None):
        peer.ask(request)
    assert peer.sent() == [(3, 12, 1), (3, 9, 2), (3, 12, 3)]


def test_a_refusal_is_read_as_version_0_and_the_request_repeated() -> None:
    peer = Peer()
    peer.connection.connected(0.0, 10.0)
    peer.take()
    peer.feed(offers(version=0, error=35, offer={18: (0, 2)}))
    assert peer.sent() == [(18, 2, 1)]
    peer.feed(offers(1, version=2))
    assert peer.connection.state is State.READY


REFUSALS = {
    "the code alone": b"",
    "cut": b"\0\0",
    "of version 1": struct.pack(">ihhhi", 1, 18, 0, 2, 0),
    "of version 3": b"\2\0\x12\0\0\0\2\0" + bytes(4) + b"\0",
    "an array that claims more": struct.pack(">i", 1000),
    "noise": b"\xff" * 40,
}
"""What may follow the code 35 of a broker that does not know KIP-511."""


@pytest.mark.case("B14")
@pytest.mark.parametrize("body", REFUSALS)
def test_a_refusal_whose_body_cannot_be_read_is_followed_by_version_0(body: str) -> None:
    peer = Peer()
    peer.connection.connected(0.0, 10.0)
    peer.take()
    peer.feed(framed(struct.pack(">ih", 0, 35) + REFUSALS[body]))
    assert peer.sent() == [(18, 0, 1)]
    peer.feed(offers(1, version=0))
    assert peer.connection.state is State.READY


@pytest.mark.parametrize("body", REFUSALS)
def test_of_another_error_in_the_handshake_the_code_alone_counts(body: str) -> None:
    peer = Peer()
    peer.connection.connected(0.0, 10.0)
    peer.take()
    with pytest.raises(BrokerError, match="refused ApiVersions") as caught:
        peer.feed(framed(struct.pack(">ih", 0, 31) + REFUSALS[body]))
    assert caught.value.code == 31


@pytest.mark.parametrize("code", [0, 0x4854, -7])
def test_a_response_that_cannot_be_read_and_has_no_code_of_kafkas_is_malformed(code: int) -> None:
    peer = Peer()
    peer.connection.connected(0.0, 10.0)
    peer.take()
    with pytest.raises(ProtocolError, match="broker:9092"):
        peer.feed(framed(struct.pack(">ih", 0, code) + b"\xff" * 40))


def test_another_error_in_the_handshake_leaves_as_an_error() -> None:
    peer = Peer()
    peer.connection.connected(0.0, 10.0)
    peer.take()
    with pytest.raises(BrokerError, match="refused ApiVersions"):
        peer.feed(offers(error=42))


def test_connecting_twice_is_a_mistake() -> None:
    peer = Peer()
    peer.connection.connected(0.0, 10.0)
    with pytest.raises(IllegalEventError):
        peer.connection.connected(0.0, 10.0)


# --- pipelining -------------------------------------------------------------------------------------------


@pytest.mark.case("N8")
@pytest.mark.parametrize("step", [1, 3, 1 << 20])
def test_answers_complete_in_the_order_of_the_requests_however_they_are_cut(step: int) -> None:
    peer = Peer().ready()
    futures = [peer.ask() for _ in range(5)]
    peer.feed(b"".join(metadata(n, f"c{n}") for n in range(1, 6)), step=step)
    assert [c[0] for c in peer.completed] == futures
    assert [f.value.cluster_id for f in futures] == [f"c{n}" for n in range(1, 6)]


@pytest.mark.case("S0-17")
def test_requests_are_on_the_wire_before_the_first_answer() -> None:
    peer = Peer().ready()
    for _ in range(3):
        peer.ask()
    assert [s[2] for s in peer.sent()] == [1, 2, 3]
    assert peer.connection.pending == 3


@pytest.mark.case("N9")
def test_an_answer_out_of_order_is_refused() -> None:
    peer = Peer().ready()
    peer.ask()
    peer.ask()
    with pytest.raises(ProtocolError, match="correlation id 2, expected 1"):
        peer.feed(metadata(2))


def test_an_unrequested_response_is_refused() -> None:
    with pytest.raises(ProtocolError, match="correlation id 77, expected none"):
        Peer().ready().feed(metadata(77))


def test_an_unreadable_answer_fails_its_request_and_names_the_broker() -> None:
    peer = Peer().ready()
    future = peer.ask()
    with pytest.raises(ProtocolError, match="broker:9092"):
        peer.feed(framed(struct.pack(">i", 1) + b"\0\xff\xff"))
    assert isinstance(future.error, ProtocolError)


@pytest.mark.case("N9")
def test_bytes_behind_an_answer_are_refused() -> None:
    peer = Peer().ready()
    peer.ask()
    with pytest.raises(ProtocolError, match="extra bytes"):
        peer.feed(framed(metadata(1)[4:] + b"more"))


def test_an_answer_that_ends_in_its_header_is_refused() -> None:
    peer = Peer().ready()
    peer.ask()
    with pytest.raises(ProtocolError):
        peer.feed(framed(struct.pack(">i", 1)))


def test_an_answer_of_the_longest_allowed_size_goes_through_and_one_more_byte_not() -> None:
    whole = metadata(1, "c" * 70_000)
    peer = Peer(max_frame=len(whole) - 4).ready()
    future = peer.ask()
    peer.feed(whole, step=1000)
    assert len(future.value.cluster_id) == 70_000
    peer = Peer(max_frame=len(whole) - 5).ready()
    peer.ask()
    with pytest.raises(ProtocolError, match=r"receive\.message\.max\.bytes"):
        peer.feed(whole)


# --- writing ----------------------------------------------------------------------------------------------


def test_partial_writes_continue_where_they_stopped() -> None:
    peer = Peer().ready()
    peer.ask(produce(-1, 1000))
    peer.ask(produce(-1, 1000))
    whole = b"".join(peer.connection.outgoing)
    pieces = []
    while peer.connection.outgoing:
        pieces.append(peer.take(limit=7))
    assert b"".join(pieces) == whole


def test_without_acks_a_request_is_complete_when_its_last_byte_is_written() -> None:
    peer = Peer().ready()
    first, second = peer.ask(produce(0)), peer.ask(produce(0))
    size = sum(map(len, peer.connection.outgoing)) // 2
    peer.take(size - 1)
    assert not first.done
    peer.take(1)
    assert first.done
    assert first.value is None
    assert not second.done
    peer.take()
    assert second.done


def test_a_request_without_a_response_does_not_disturb_the_order_of_the_rest() -> None:
    peer = Peer().ready()
    peer.ask(produce(0))
    future = peer.ask()
    peer.take()
    peer.feed(metadata(2, "second"))
    assert future.value.cluster_id == "second"


# --- what cannot be sent ------------------------------------------------------------------------------------


def test_an_api_that_is_not_offered_fails_that_request_alone() -> None:
    peer = Peer().ready()
    refused, fine = peer.ask(CreateTopicsRequest(topics=[])), peer.ask()
    assert isinstance(refused.error, UnsupportedError)
    assert "broker:9092 (node 1)" in str(refused.error)
    peer.feed(metadata(1))
    assert fine.done
    assert fine.error is None


@pytest.mark.parametrize("name", ["x" * 40_000, "\udcff"])
@pytest.mark.parametrize("early", [False, True])
def test_a_request_that_cannot_be_encoded_fails_alone(name: str, *, early: bool) -> None:
    peer = Peer()
    offered = offers(offer={**OFFER, 3: (0, 8)})
    if not early:
        peer.connection.connected(0.0, 10.0)
        peer.feed(offered)
    bad = peer.ask(MetadataRequest(topics=[MetadataRequestTopic(name=name)]))
    good = peer.ask()
    if early:
        peer.connection.connected(0.0, 10.0)
        peer.feed(offered)
    assert isinstance(bad.error, KcliError)
    peer.feed(metadata(1, version=8))
    assert good.done
    assert good.error is None


def test_a_closed_connection_refuses_requests() -> None:
    peer = Peer().ready()
    peer.connection.close()
    future = peer.ask()
    assert type(future.error) is ConnectError


# --- deadlines ----------------------------------------------------------------------------------------------


@pytest.mark.case("N3")
def test_an_overdue_answer_names_the_api_the_broker_and_the_time() -> None:
    peer = Peer().ready()
    peer.ask(now=1.0, deadline=5.0)
    assert peer.connection.next_deadline() <= 5.0
    peer.connection.check_deadlines(4.9)
    with pytest.raises(RequestTimeoutError, match=r"Metadata from broker:9092 \(node 1\) in 4.5 s"):
        peer.connection.check_deadlines(5.5)


def test_a_request_that_waited_too_long_for_the_handshake_was_not_sent() -> None:
    peer = Peer()
    future = peer.ask(deadline=5.0)
    peer.connection.check_deadlines(5.0)
    assert type(future.error) is ConnectError
    assert peer.connection.pending == 0


def test_a_request_that_waited_for_the_setup_reports_what_the_setup_waited_for() -> None:
    peer = Peer()
    future = peer.ask(deadline=5.0)
    peer.connection.check_deadlines(
        5.0, lambda: ConnectError("no reply to ApiVersions from broker:9092 in 5 s")
    )
    assert str(future.error).startswith("no reply to ApiVersions")


def test_after_the_check_no_deadline_is_in_the_past() -> None:
    """A loop waits until next_deadline: one in the past that is never dropped makes it spin."""
    peer = Peer()
    patient, hasty = peer.ask(deadline=30.0), peer.ask(deadline=5.0)
    peer.connection.check_deadlines(6.0)
    assert peer.connection.next_deadline() > 6.0
    assert hasty.done
    assert not patient.done


def test_a_request_without_an_answer_has_a_deadline_too() -> None:
    """The peer stops reading: without a deadline its future would never complete."""
    peer = Peer().ready()
    peer.ask(produce(0, 1000), deadline=5.0)
    peer.take(limit=100)
    assert peer.connection.next_deadline() <= 5.0
    with pytest.raises(KcliError):
        peer.connection.check_deadlines(5.0)


def test_an_answered_request_is_not_overdue() -> None:
    peer = Peer().ready()
    peer.ask(deadline=5.0)
    peer.feed(metadata(1))
    peer.connection.check_deadlines(100.0)


# --- ends ---------------------------------------------------------------------------------------------------


def test_what_was_sent_is_of_unknown_outcome_and_names_its_api() -> None:
    peer = Peer().ready()
    futures = [peer.ask(), peer.ask(produce(0))]
    peer.connection.close(ConnectError("the network went"))
    assert all(isinstance(f.error, OutcomeUnknownError) for f in futures)
    assert "Metadata" in str(futures[0].error)
    assert "the network went" in str(futures[0].error)
    assert peer.connection.state is State.CLOSED
    assert not peer.connection.outgoing


@pytest.mark.parametrize("error", [ConnectError("refused"), OutcomeUnknownError("reset"), None])
@pytest.mark.parametrize("connected", [False, True])
def test_what_was_never_sent_has_failed_for_sure(error: Any, *, connected: bool) -> None:
    peer = Peer()
    future = peer.ask()
    if connected:
        peer.connection.connected(0.0, 10.0)
    peer.connection.close(error)
    assert isinstance(future.error, ConnectError)
    assert not isinstance(future.error, OutcomeUnknownError)


def test_a_timeout_is_reported_to_all_that_were_in_flight() -> None:
    peer = Peer().ready()
    futures = [peer.ask(), peer.ask()]
    peer.connection.close(RequestTimeoutError("no reply"))
    assert all(isinstance(f.error, RequestTimeoutError) for f in futures)


def test_closing_twice_completes_once() -> None:
    peer = Peer().ready()
    peer.ask()
    peer.connection.close()
    peer.connection.close()
    assert len(peer.completed) == 1


def test_after_the_end_no_deadline_is_left() -> None:
    peer = Peer().ready()
    peer.ask()
    peer.connection.close()
    assert peer.connection.next_deadline() == float("inf")
    assert peer.connection.pending == 0


# --- hooks --------------------------------------------------------------------------------------------------


@pytest.mark.case("S0-67")
def test_the_wire_hook_receives_every_request_and_response() -> None:
    seen: list[tuple[Any, ...]] = []
    peer = Peer(Hooks(wire=lambda *event: seen.append(event)))
    peer.connection.connected(0.0, 10.0)
    request_size = len(peer.take()) - 4
    peer.feed(offers())
    assert seen == [
        ("→", NODE, 0, "ApiVersions", 3, request_size),
        ("←", NODE, 0, "ApiVersions", 3, len(offers()) - 4),
    ]


@pytest.mark.case("S0-67")
def test_changes_of_state_are_logged() -> None:
    seen: list[tuple[Any, ...]] = []
    peer = Peer(Hooks(log=lambda *event: seen.append(event)))
    peer.connection.connected(0.0, 10.0)
    assert seen[0][:2] == ("debug", "proto")
    assert "connecting → handshake" in seen[0][2]


# --- quotas -----------------------------------------------------------------------------------------------


def throttled(correlation_id: int, pause_ms: int) -> bytes:
    answer = MetadataResponse(throttle_time_ms=pause_ms, brokers=[], topics=[], cluster_id="c")
    return answer_frame(MetadataRequest, 12, correlation_id, answer)


@pytest.mark.case("B13")
def test_a_throttle_time_is_obeyed_and_reported() -> None:
    """B13 (KIP-219)."""
    told: list[str] = []
    peer = Peer(Hooks(log=lambda _level, _area, message: told.append(message))).ready()
    peer.ask()
    peer.take()
    peer.feed(throttled(1, 2_000), now=10.0)
    assert "pause of 2000 ms" in told[-1]
    peer.ask(now=10.5, deadline=40.5)
    peer.ask(now=11.0, deadline=41.0)
    assert peer.sent() == []
    assert peer.connection.next_deadline() == 12.0
    peer.connection.check_deadlines(11.9)
    assert peer.sent() == []
    peer.connection.check_deadlines(12.0)
    assert peer.sent() == [(3, 12, 2), (3, 12, 3)]
    peer.ask(now=12.1)
    assert peer.sent() == [(3, 12, 4)]


@pytest.mark.case("B13")
def test_a_throttle_pause_counts_for_no_timeout() -> None:
    """Neither of what waits for the pause to end, nor of what was in flight when it began."""
    peer = Peer().ready()
    for _ in range(2):
        peer.ask(now=0.0, deadline=30.0)
    peer.take()
    peer.feed(throttled(1, 60_000), now=1.0)
    waiting = peer.ask(now=2.0, deadline=32.0)
    peer.connection.check_deadlines(61.5)  # the pause is over: it goes out with all of its time
    assert not waiting.done
    peer.connection.check_deadlines(89.0)  # 30 s and the 60 s of the pause
    with pytest.raises(RequestTimeoutError):
        peer.connection.check_deadlines(90.0)


@pytest.mark.case("B13")
@pytest.mark.parametrize("expected", [None, OLDEST], ids=["waits", "went ahead"])
def test_a_pause_that_the_first_response_asks_for_is_obeyed(expected: Expected | None) -> None:
    """ApiVersions may be throttled too: the broker reads nothing until the pause is over."""
    peer = Peer(expected=expected)
    peer.connection.connected(0.0, 10.0)
    early = peer.ask(deadline=30.0)
    peer.take()
    peer.feed(offers(throttle_ms=60_000), now=1.0)
    late = peer.ask(now=2.0, deadline=32.0)
    assert peer.sent() == []
    peer.connection.check_deadlines(60.9)
    assert (peer.sent(), early.done, late.done) == ([], False, False)
    assert peer.connection.next_deadline() == 61.0
    peer.connection.check_deadlines(61.0)
    assert len(peer.sent()) == (2 if expected is None else 1)
    peer.connection.check_deadlines(89.0)  # 30 s and the 60 s of the pause
    with pytest.raises(RequestTimeoutError):
        peer.connection.check_deadlines(90.0)


@pytest.mark.case("B13")
def test_a_longer_pause_counts_for_what_waits_for_the_first_one() -> None:
    peer = Peer().ready()
    for _ in range(2):
        peer.ask(now=0.0, deadline=30.0)
    peer.take()
    peer.feed(throttled(1, 10_000), now=1.0)
    waiting = peer.ask(now=2.0, deadline=32.0)
    peer.feed(throttled(2, 60_000), now=3.0)
    peer.connection.check_deadlines(62.9)
    assert (peer.sent(), waiting.done) == ([], False)
    peer.connection.check_deadlines(63.0)
    assert (peer.sent(), waiting.done) == ([(3, 12, 3)], False)


CHECKS = [
    CreateTopicsRequest(topics=[], timeout_ms=1, validate_only=True),
    CreatePartitionsRequest(topics=[], timeout_ms=1, validate_only=True),
    IncrementalAlterConfigsRequest(resources=[], validate_only=True),
    AlterClientQuotasRequest(entries=[], validate_only=True),
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda request: request.api_name)
@pytest.mark.parametrize("zookeeper", [True, False])
def test_a_check_is_sent_only_to_a_broker_that_is_known_to_do_no_more(
    check: Request, zookeeper: bool
) -> None:
    """Whether it is asked for before the handshake or after it, alone or in a plan."""
    offer = OFFER | {type(check).api_key: type(check).versions}
    peer = Peer()
    early = peer.ask(check)
    peer.connection.connected(0.0, 10.0)
    peer.take()
    peer.feed(offers(offer=offer | (dict.fromkeys((4, 5, 6, 7), (0, 3)) if zookeeper else {})))
    late, planned = peer.ask(check), Future[Any]()
    peer.connection.request(Plan(lambda _broker: [check]), planned, 0.0, 30.0)
    make = copy.copy(check)
    make.validate_only = False  # type: ignore[attr-defined]
    peer.ask(make)
    assert [key for key, _, _ in peer.sent()] == [type(check).api_key] * (4 if zookeeper else 1)
    refused = [early, late] if zookeeper else [early, late, planned.value[0]]
    assert all(isinstance(future.error, NotValidatedError) is not zookeeper for future in refused)
