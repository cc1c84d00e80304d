"""What follows ApiVersions before it is answered, and what becomes of it."""

from typing import Any

import pytest

from kcli.core.connection.ahead import OLDEST, Expected, may_go_ahead
from kcli.core.connection.handshake import BrokerApiVersions, TooFarAheadError
from kcli.core.connection.plan import Broker, Plan
from kcli.core.connection.sasl.registry import login_of
from kcli.core.connection.state import State
from kcli.core.errors import ConnectError
from kcli.core.options import ClientOptions
from kcli.core.protocol.messages.create_topics import CreateTopicsRequest
from kcli.core.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest
from kcli.core.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kcli.core.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kcli.core.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kcli.core.secret import Secret
from tests.unit.core.connection.wire import OFFER, Peer, answer_frame, metadata, offers

EXACTLY = Expected(BrokerApiVersions(OFFER, {}), exactly=True)
METADATA, VERSIONS, HANDSHAKE, AUTHENTICATE = 3, 18, 17, 36


def connected(expected: Expected | None = OLDEST, **more: Any) -> Peer:
    peer = Peer(expected=expected, **more)
    peer.connection.connected(0.0, 10.0)
    return peer


def find(any_version: bool) -> Plan:
    def write(broker: Broker) -> list[FindCoordinatorRequest]:
        return [
            FindCoordinatorRequest(key=str(broker.version(FindCoordinatorRequest)), coordinator_keys=["g"])
        ]

    return Plan(write, any_version=any_version)


def test_reads_follow_the_versions_and_are_answered_as_usual() -> None:
    peer = Peer(expected=OLDEST)
    early = peer.ask()
    peer.connection.connected(0.0, 10.0)
    later = peer.ask()
    assert peer.sent() == [(VERSIONS, 3, 0), (METADATA, 11, 1), (METADATA, 11, 2)]
    peer.feed(offers() + metadata(1, "one", 11) + metadata(2, "two", 11))
    assert (early.value.cluster_id, later.value.cluster_id) == ("one", "two")
    peer.ask()
    assert peer.sent() == [(METADATA, 12, 3)]


def test_nothing_follows_a_connection_that_is_careful() -> None:
    peer = connected(None)
    peer.ask()
    assert peer.sent() == [(VERSIONS, 3, 0)]


def test_what_changes_something_waits_and_nothing_overtakes_it() -> None:
    peer = connected()
    peer.ask(CreateTopicsRequest(topics=[], timeout_ms=1, validate_only=False))
    peer.ask()
    assert peer.sent() == [(VERSIONS, 3, 0)]
    assert not may_go_ahead([InitProducerIdRequest(transactional_id="mine", transaction_timeout_ms=1)])
    assert may_go_ahead([InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1)])
    assert not may_go_ahead([])
    topics = [MetadataRequestTopic(name="t")]
    for named, creates, may in (
        (topics, True, False),
        (topics, False, True),
        ([], True, True),
        (None, True, True),
    ):
        assert may_go_ahead([MetadataRequest(topics=named, allow_auto_topic_creation=creates)]) is may


@pytest.mark.parametrize(
    ("expected", "any_version", "sent"),
    [(OLDEST, False, 1), (OLDEST, True, 2), (Expected(BrokerApiVersions({10: (0, 6)}, {}), exactly=True), False, 2)],
)  # fmt: skip
def test_a_plan_is_made_from_what_is_known_or_says_the_same_in_all_versions(
    expected: Expected, any_version: bool, sent: int
) -> None:
    peer = connected(expected)
    peer.ask(find(any_version))
    assert len(peer.sent()) == sent


@pytest.mark.parametrize("offer", [{3: (0, 8), 18: (0, 4)}, {18: (0, 4)}, {3: (12, 13), 18: (0, 4)}])
def test_where_the_versions_do_not_suit_the_connection_is_made_anew(
    offer: dict[int, tuple[int, int]],
) -> None:
    peer = connected()
    asked = peer.ask()
    peer.take()
    with pytest.raises(TooFarAheadError):
        peer.feed(offers(offer=offer))
    peer.connection.begin_again()
    assert peer.connection.state is State.CONNECTING
    assert not asked.done
    peer.connection.connected(1.0, 10.0)
    sent = peer.sent()  # what the broker has just reported is expected now
    if 3 in offer:
        assert sent == [(VERSIONS, 3, 2), (METADATA, min(offer[3][1], 13), 3)]
        peer.feed(offers(2, offer=offer) + metadata(3, "c", sent[1][1]))
        assert asked.value.cluster_id == "c"
    else:
        assert sent == [(VERSIONS, 3, 2)]
        peer.feed(offers(2, offer=offer))
        assert asked.error is not None


def test_another_offer_than_was_reported_before_counts_as_a_whole() -> None:
    """A plan may have decided by what is not offered any more."""
    peer = connected(EXACTLY)
    peer.ask()
    peer.take()
    with pytest.raises(TooFarAheadError):
        peer.feed(offers(offer=OFFER | {75: (0, 0)}))


def test_brokers_of_several_versions_behind_one_address_are_asked_first() -> None:
    """Each connection may be to another one."""
    peer = connected()
    asked = peer.ask()
    peer.take()
    for number, highest in enumerate((8, 9)):
        with pytest.raises(TooFarAheadError):
            peer.feed(offers(2 * number, offer={3: (0, highest), 18: (0, 4)}))
        peer.connection.begin_again()
        peer.connection.connected(1.0, 10.0)
        assert len(peer.sent()) == 2 - number
    peer.feed(offers(4, offer={3: (0, 8), 18: (0, 4)}))
    assert peer.sent() == [(METADATA, 8, 5)]
    assert not asked.done


def test_a_broker_that_refuses_the_version_of_the_versions_is_asked_first() -> None:
    peer = connected()
    asked = peer.ask()
    peer.take()
    with pytest.raises(TooFarAheadError):
        peer.feed(offers(0, 0, 35, {18: (0, 2)}))
    peer.connection.begin_again()
    peer.connection.connected(1.0, 10.0)
    assert peer.sent() == [(VERSIONS, 3, 2)]
    peer.feed(offers(2, 0, 35, {18: (0, 2)}))
    assert peer.sent() == [(VERSIONS, 2, 3)]
    peer.feed(offers(3, 2))
    assert peer.sent() == [(METADATA, 12, 4)]
    assert not asked.done


def test_the_end_of_the_connection_is_that_of_a_request_that_was_never_sent() -> None:
    peer = connected()
    asked = peer.ask()
    peer.take()
    assert not peer.connection.lost_ahead
    peer.connection.close(ConnectError("gone"))
    assert type(asked.error) is ConnectError
    assert peer.connection.lost_ahead


def test_a_request_that_is_late_fails_and_the_connection_goes_on() -> None:
    peer = connected()
    late, asked = peer.ask(deadline=2.0), peer.ask(deadline=20.0)
    peer.take()
    assert peer.connection.next_deadline() == 2.0
    peer.connection.check_deadlines(2.0)
    assert isinstance(late.error, ConnectError)
    peer.feed(offers() + metadata(1, "one", 11) + metadata(2, "two", 11))
    assert asked.value.cluster_id == "two"
    assert isinstance(late.error, ConnectError)


def test_a_request_that_is_late_is_not_sent_again_on_the_next_connection() -> None:
    peer = connected()
    peer.ask(deadline=2.0)
    peer.take()
    peer.connection.check_deadlines(2.0)
    with pytest.raises(TooFarAheadError):
        peer.feed(offers(offer={METADATA: (0, 3), VERSIONS: (0, 3)}))
    peer.connection.begin_again()
    assert peer.connection.pending == 0


def test_from_the_end_of_the_handshake_on_their_deadlines_are_those_of_requests() -> None:
    peer = connected()
    peer.ask(deadline=5.0)
    peer.take()
    peer.feed(offers())
    assert peer.connection.next_deadline() == 5.0


def login(mechanism: str, protocol: str = "SASL_PLAINTEXT") -> Any:
    given = {"sasl_username": "me", "sasl_password": Secret("hunter2"), "allow_plaintext_secrets": True}
    return login_of(ClientOptions(security_protocol=protocol, sasl_mechanism=mechanism, **given))


WITH_SASL = OFFER | {HANDSHAKE: (0, 1), AUTHENTICATE: (0, 2)}


def test_scram_begins_together_with_the_versions() -> None:
    peer = connected(login=login("SCRAM-SHA-256"))
    peer.ask()
    assert peer.sent() == [(VERSIONS, 3, 0), (HANDSHAKE, 1, 1), (AUTHENTICATE, 0, 2)]


def test_with_tls_one_request_follows_the_other_while_the_client_is_authenticated() -> None:
    peer = connected(login=login("PLAIN", "SASL_SSL"))
    peer.ask()
    assert peer.sent() == [(VERSIONS, 3, 0)]
    peer.feed(offers(offer=WITH_SASL))
    assert peer.sent() == [(HANDSHAKE, 1, 1)]
    peer.feed(answer_frame(SaslHandshakeRequest, 1, 1, SaslHandshakeResponse(mechanisms=["PLAIN"])))
    assert peer.sent() == [(AUTHENTICATE, 2, 2), (METADATA, 11, 3)]


def test_a_password_waits_until_the_mechanism_is_accepted_and_reads_follow_it() -> None:
    peer = connected(login=login("PLAIN"))
    asked = peer.ask()
    assert peer.sent() == [(VERSIONS, 3, 0), (HANDSHAKE, 1, 1)]
    peer.feed(offers(offer=WITH_SASL))
    assert peer.sent() == []
    assert peer.connection.is_authenticating
    peer.feed(answer_frame(SaslHandshakeRequest, 1, 1, SaslHandshakeResponse(mechanisms=["PLAIN"])))
    assert peer.sent() == [(AUTHENTICATE, 2, 2), (METADATA, 11, 3)]
    accepted = SaslAuthenticateResponse(auth_bytes=b"", error_message=None)
    peer.feed(answer_frame(SaslAuthenticateRequest, 2, 2, accepted) + metadata(3, "c", 11))
    assert asked.value.cluster_id == "c"


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_a_refused_version_ends_what_went_ahead_with_sasl(mechanism: str) -> None:
    peer = connected(login=login(mechanism))
    peer.take()
    with pytest.raises(TooFarAheadError):
        peer.feed(offers(0, 0, 35, {18: (0, 2)}))
    peer.connection.begin_again()
    peer.connection.connected(1.0, 10.0)
    assert [key for key, _, _ in peer.sent()] == [VERSIONS]


def test_requests_are_decided_by_classes_that_only_read() -> None:
    request = MetadataRequest(topics=[])
    assert may_go_ahead([request])
    assert not may_go_ahead([request, CreateTopicsRequest(topics=[], timeout_ms=1, validate_only=True)])
