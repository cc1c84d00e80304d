"""Plans: requests that are made from what the broker offers, on the connection that offered it."""

import pytest

from kcli.core.connection.plan import Broker, Plan
from kcli.core.errors import ConnectError, OutcomeUnknownError, UnsupportedError
from kcli.core.future import Future
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.metadata import MetadataRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from tests.unit.core.connection.wire import OFFER, Peer, metadata, offers


def planned(peer: Peer, plan: Plan) -> "Future[list[Future[object]]]":
    future: Future[list[Future[object]]] = Future()
    peer.connection.request(plan, future, 0.0, 30.0)
    return future


def several(count: int) -> Plan:
    return Plan(lambda _broker: [MetadataRequest(topics=[]) for _ in range(count)])


@pytest.mark.case("S3-4")
def test_a_plan_is_made_after_the_handshake_and_keeps_its_position() -> None:
    seen: list[int] = []

    def write(broker: Broker) -> list[Request]:
        seen.append(broker.version(MetadataRequest))
        assert broker.name == "broker:9092 (node 1)"
        assert broker.offers(MetadataRequest)
        return [MetadataRequest(topics=[]), MetadataRequest(topics=[])]

    peer = Peer()
    before = peer.ask()
    plan = Plan(write)
    future = planned(peer, plan)
    after = peer.ask()
    assert (seen, plan.responses) == ([], [])
    peer.connection.connected(0.0, 10.0)
    peer.take()
    peer.feed(offers(offer={**OFFER, 3: (0, 7)}))
    assert seen == [7]
    assert peer.sent() == [(3, 7, n) for n in (1, 2, 3, 4)]
    peer.feed(metadata(1, version=7) + metadata(2, "two", version=7))
    assert before.done
    assert not future.done
    assert [answer.done for answer in plan.responses] == [True, False]
    peer.feed(metadata(3, "three", version=7) + metadata(4, version=7))
    assert future.value is plan.responses
    assert [answer.value.cluster_id for answer in future.value] == ["two", "three"]  # type: ignore[attr-defined]
    assert after.done


def test_a_ready_connection_writes_at_once_and_pipelines() -> None:
    peer = Peer().ready()
    planned(peer, several(3))
    assert [number for _, _, number in peer.sent()] == [1, 2, 3]


def test_a_plan_that_refuses_fails_as_a_whole_and_writes_nothing() -> None:
    def write(broker: Broker) -> list[Request]:
        raise UnsupportedError(f"{broker.name} is too old")

    peer = Peer().ready()
    future = planned(peer, Plan(write))
    assert isinstance(future.error, UnsupportedError)
    assert peer.sent() == []


def test_a_plan_of_nothing_is_done() -> None:
    peer = Peer().ready()
    assert planned(peer, several(0)).value == []


def test_one_request_that_cannot_be_written_leaves_the_rest() -> None:
    peer = Peer()
    peer.connection.connected(0.0, 10.0)
    peer.take()
    peer.feed(offers(offer={3: (0, 12), 18: (0, 4)}))
    future = planned(
        peer, Plan(lambda _b: [ProduceRequest(acks=1, timeout_ms=1), MetadataRequest(topics=[])])
    )
    peer.feed(metadata(1))
    first, second = future.value
    assert isinstance(first.error, UnsupportedError)
    assert second.error is None


@pytest.mark.parametrize("answered", [0, 1])
def test_when_the_connection_ends_what_was_answered_stays_answered(answered: int) -> None:
    peer = Peer().ready()
    future = planned(peer, several(2))
    peer.take()
    for number in range(answered):
        peer.feed(metadata(number + 1))
    peer.connection.close(ConnectError("gone"))
    assert [answer.error is None for answer in future.value] == [n < answered for n in range(2)]
    assert isinstance(future.value[1].error, OutcomeUnknownError)


def test_a_plan_that_was_never_made_fails_when_the_connection_ends() -> None:
    peer = Peer()
    plan = several(2)
    future = planned(peer, plan)
    peer.connection.close(ConnectError("gone"))
    assert isinstance(future.error, ConnectError)
    assert plan.responses == []


def test_a_broker_without_an_api_says_so() -> None:
    peer = Peer().ready()

    def write(broker: Broker) -> list[Request]:
        assert not broker.offers(Unknown)
        broker.version(Unknown)
        return []

    class Unknown(Request, key=999, versions=(0, 1)):
        pass

    assert isinstance(planned(peer, Plan(write)).error, UnsupportedError)
