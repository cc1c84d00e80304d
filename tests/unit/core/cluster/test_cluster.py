"""The low-level client's decisions: whom to ask, when to ask again, when to give up."""

from typing import Any

import pytest

from kcli.core.cluster.cluster import ANY, CONTROLLER, Cluster
from kcli.core.errors import (
    AuthError,
    BrokerError,
    ClosedError,
    ConnectError,
    KcliError,
    NotKafkaError,
    OutcomeUnknownError,
    TimedOutError,
    UnsupportedError,
)
from kcli.core.future import Future
from kcli.core.protocol.messages.create_topics import CreateTopicsRequest
from kcli.core.protocol.messages.list_offsets import ListOffsetsRequest
from kcli.core.protocol.messages.metadata import MetadataRequest
from tests.unit.core.cluster.scripted import (
    ScriptedBrokers,
    answer,
    cluster_on,
    metadata_of,
    partition,
    topic,
)
from tests.unit.core.net.fakes import Clock

T = topic("t", partition(0), partition(1, leader=2))
Rig = tuple[Cluster, ScriptedBrokers, Clock]


def connected(monkeypatch: pytest.MonkeyPatch, **values: Any) -> Rig:
    rig = cluster_on(monkeypatch, metadata_of(T), **values)
    rig[0].connect(5)
    rig[1].sent.clear()
    return rig


# --- first contact ------------------------------------------------------------------------------------------


@pytest.mark.case("S4-2")
def test_connect_returns_the_view(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, brokers, clock = cluster_on(monkeypatch, metadata_of(T))
    view = cluster.connect(5)
    assert set(view.nodes) == {1, 2}
    assert [node.host for _, node, _ in brokers.asked(MetadataRequest)] == ["boot"]
    assert clock() < 1001


def test_connect_twice_asks_once(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, brokers, _ = connected(monkeypatch)
    cluster.connect(5)
    assert brokers.sent == []


def test_the_next_address_is_tried_when_one_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def script(node: Any, request: Any) -> Any:
        return answer() if node.host == "alive" else ConnectError(f"cannot connect to {node}")

    for servers in ("alive,dead", "dead,alive", "dead1,dead2,alive"):
        cluster, _, clock = cluster_on(monkeypatch, script, bootstrap_servers=servers)
        assert cluster.connect(5).version == 1
        assert clock() < 1001.5


@pytest.mark.case("N3")
def test_an_address_that_swallows_everything_leaves_time_for_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def script(node: Any, request: Any) -> Any:
        return answer() if node.host == "alive" else None

    for servers in ("alive,silent", "silent,alive"):
        cluster, _, _ = cluster_on(monkeypatch, script, bootstrap_servers=servers)
        assert cluster.connect(10).version == 1


def test_refused_addresses_are_given_up_before_the_timeout_with_their_reasons(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refused = ConnectError("cannot connect to it", why="Connection refused")
    cluster, _, clock = cluster_on(monkeypatch, lambda *_: refused, bootstrap_servers="a:1,b:2")
    with pytest.raises(ConnectError) as error:
        cluster.connect(60)
    assert clock() < 1010
    assert "a:1, b:2" in str(error.value)
    assert "Connection refused" in str(error.value)


@pytest.mark.case("N3")
def test_silence_ends_at_the_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, _, clock = cluster_on(monkeypatch, lambda *_: None)
    with pytest.raises(KcliError) as error:
        cluster.connect(7)
    assert error.value.exit_code == 3
    assert 1007 <= clock() < 1008


@pytest.mark.parametrize(
    "final",
    [
        AuthError("certificate"),
        NotKafkaError("a:1 does not speak Kafka on this port"),
        UnsupportedError("a:1 does not offer Metadata"),
    ],
)
def test_permanent_errors_are_raised_at_once(monkeypatch: pytest.MonkeyPatch, final: KcliError) -> None:
    cluster, brokers, clock = cluster_on(monkeypatch, lambda *_: final)
    brokers.failures[-10] = final
    with pytest.raises(type(final), match=final.what):
        cluster.connect(60)
    assert clock() < 1001


# --- routing --------------------------------------------------------------------------------------------------


@pytest.mark.case("S0-63", "S4-4")
def test_nodes_by_number_controller_and_any(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, _, _ = connected(monkeypatch)
    assert cluster.node(2).host == "b2"
    assert cluster.node(CONTROLLER).id == 1
    assert cluster.node(ANY).id in (1, 2)


def test_an_unknown_broker_is_an_error_in_the_future(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, _, _ = connected(monkeypatch)
    future = cluster.send(MetadataRequest(topics=[]), 99)
    assert isinstance(future.error, ConnectError)
    assert "99" in str(future.error)


def test_any_prefers_a_connected_broker_that_is_not_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, brokers, _ = connected(monkeypatch)
    brokers.ready = {1, 2}
    brokers.waiting = {1: 3}
    assert cluster.node(ANY).id == 2


def test_any_avoids_brokers_in_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, brokers, clock = connected(monkeypatch)
    brokers.down = {1: clock() + 1}
    assert {cluster.node(ANY).id for _ in range(4)} == {2}


def test_a_broker_with_the_number_of_any_does_not_get_every_request(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, brokers, clock = cluster_on(monkeypatch, metadata_of(T, brokers=(ANY, 1, 2)))
    cluster.connect(5)
    brokers.sent.clear()
    brokers.down = {ANY: clock() + 1}
    for _ in range(4):
        cluster.send(MetadataRequest(topics=[]))
    assert {node.id for _, node, _ in brokers.asked(MetadataRequest)} == {1, 2}


def test_any_takes_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, _, _ = connected(monkeypatch)
    assert {cluster.node(ANY).id for _ in range(4)} == {1, 2}


@pytest.mark.case("S4-4", "N12")
def test_when_no_known_broker_answers_it_goes_back_to_where_it_came_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """KIP-899: every broker was replaced; the old ones are in backoff in turn, never all at the same time."""
    cluster, brokers, clock = connected(monkeypatch)

    def script(node: Any, request: Any) -> Any:
        if node.host == "boot":
            return answer(T, brokers=(7, 8))
        brokers.down[node.id] = clock() + 0.5
        return ConnectError(f"cannot connect to {node}")

    brokers.script = script
    cluster.request_refresh()
    cluster.sleep(10)
    assert set(cluster.view.nodes) == {7, 8}


# --- refresh --------------------------------------------------------------------------------------------------


@pytest.mark.case("S0-25")
def test_one_refresh_is_in_flight_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, brokers, _ = connected(monkeypatch)
    cluster.sleep(1)
    for _ in range(100):
        cluster.request_refresh()
    cluster.poll(0)
    assert len(brokers.asked(MetadataRequest)) == 1


@pytest.mark.case("S0-25")
def test_refreshes_keep_their_distance_however_often_they_are_requested(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster, brokers, clock = connected(monkeypatch)
    end = clock() + 2
    while clock() < end:
        cluster.request_refresh()
        cluster.poll(0.01)
    assert 2 <= len(brokers.asked(MetadataRequest)) <= 25


def test_failing_refreshes_back_off(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, brokers, _ = connected(monkeypatch)
    brokers.script = lambda *_: ConnectError("gone")
    cluster.request_refresh()
    cluster.sleep(10)
    assert 5 <= len(brokers.asked(MetadataRequest)) <= 18


def test_a_refresh_that_must_wait_sets_one_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, _, clock = connected(monkeypatch)
    timers = cluster.loop._timers
    before = len(timers.heap)
    for _ in range(1000):
        cluster.request_refresh()
    assert len(timers.heap) <= before + 1
    assert timers.next_deadline() > clock()


@pytest.mark.case("S0-63")
def test_metadata_is_asked_again_after_its_age(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, brokers, _ = connected(monkeypatch, metadata_max_age_ms=60_000)
    cluster.sleep(50)
    assert brokers.asked(MetadataRequest) == []
    cluster.sleep(20)
    cluster.poll(0)
    assert len(brokers.asked(MetadataRequest)) == 1


def test_topics_that_are_wanted_are_requested_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, brokers, clock = connected(monkeypatch)
    cluster.ensure_topics(["t"], clock() + 5)
    [(_, _, request)] = brokers.asked(MetadataRequest)
    assert [t.name for t in request.topics] == ["t"]  # type: ignore[attr-defined]
    assert not request.allow_auto_topic_creation  # type: ignore[attr-defined]


def test_ensure_topics_connects_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, _, clock = cluster_on(monkeypatch, metadata_of(T))
    assert "t" in cluster.ensure_topics(["t"], clock() + 5).topics


def test_a_topic_that_no_answer_mentions_is_requested_with_pauses_until_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster, brokers, clock = connected(monkeypatch)
    with pytest.raises(TimedOutError, match="unknown"):
        cluster.ensure_topics(["unknown"], clock() + 3)
    assert 3 <= len(brokers.asked(MetadataRequest)) <= 40
    assert clock() < 1004


def test_a_topic_without_a_leader_is_requested_again(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, brokers, clock = connected(monkeypatch)
    brokers.script = metadata_of(topic("t", partition(0, leader=-1)))
    cluster.ensure_topics(["t"], clock() + 5)
    cluster.sleep(0.5)
    assert len(brokers.asked(MetadataRequest)) >= 2
    brokers.script = metadata_of(topic("t", partition(0, epoch=6)))
    cluster.sleep(2)
    count = len(brokers.asked(MetadataRequest))
    cluster.sleep(60)
    assert len(brokers.asked(MetadataRequest)) == count


def test_all_topics_are_listed_without_names(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, brokers, clock = connected(monkeypatch)
    assert set(cluster.all_topics(clock() + 5).topics) == {"t"}
    [(_, _, request)] = brokers.asked(MetadataRequest)
    assert request.topics is None  # type: ignore[attr-defined]


# --- calls ----------------------------------------------------------------------------------------------------


def checked(code_of: Any) -> Any:
    def check(value: Any) -> Any:
        if code_of(value):
            raise BrokerError(code_of(value), "asked")
        return value

    return check


def call(cluster: Cluster, clock: Clock, check: Any, seconds: float = 30) -> Any:
    return cluster.call(
        lambda: cluster.send(CreateTopicsRequest(topics=[]), CONTROLLER),
        check,
        clock() + seconds,
        "creating topics",
    )


def answering(metadata: Any, *codes: int) -> Any:
    """Each call that is no Metadata gets the next code; the last one again and again."""
    left = list(codes)

    def script(node: Any, request: Any) -> Any:
        if isinstance(request, MetadataRequest):
            return metadata(node, request)
        return left.pop(0) if len(left) > 1 else left[0]

    return script


@pytest.mark.case("S0-65")
def test_a_retriable_error_is_tried_again_with_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, brokers, clock = connected(monkeypatch)
    brokers.script = answering(metadata_of(T), 7, 7, 0)
    assert call(cluster, clock, checked(int)) == 0
    times = [at for at, _, _ in brokers.asked(CreateTopicsRequest)]
    assert len(times) == 3
    assert times[1] - times[0] >= 0.08
    assert times[2] - times[1] >= 0.16


def test_an_error_that_no_retry_can_help_comes_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, brokers, clock = connected(monkeypatch)
    brokers.script = answering(metadata_of(T), 36)
    with pytest.raises(BrokerError, match="TOPIC_ALREADY_EXISTS"):
        call(cluster, clock, checked(int))
    assert len(brokers.asked(CreateTopicsRequest)) == 1


@pytest.mark.case("B4")
def test_retries_end_at_the_deadline_with_the_last_error(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, brokers, clock = connected(monkeypatch)
    brokers.script = answering(metadata_of(T), 7)
    with pytest.raises(
        TimedOutError, match=r"creating topics: gave up after [45]\.\d s: .*REQUEST_TIMED_OUT \(7\)"
    ):
        call(cluster, clock, checked(int), seconds=5)
    assert 1003 < clock() <= 1005.1
    assert len(brokers.asked(CreateTopicsRequest)) < 15


@pytest.mark.case("B14")
def test_an_api_that_the_broker_lacks_ends_the_first_contact_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection stands, and the next answer would be the same."""
    lacking = UnsupportedError("a:1 does not offer Metadata")
    cluster, brokers, clock = cluster_on(monkeypatch, lambda *_: lacking)
    with pytest.raises(UnsupportedError, match="does not offer Metadata"):
        cluster.connect(60)
    assert len(brokers.sent) == 1
    assert clock() < 1001


def test_giving_up_keeps_the_outcome_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, brokers, clock = connected(monkeypatch)
    brokers.script = answering(metadata_of(T), OutcomeUnknownError("lost"))  # type: ignore[arg-type]
    with pytest.raises(OutcomeUnknownError, match=r"gave up after .*lost"):
        call(cluster, clock, checked(int), seconds=3)


@pytest.mark.case("B15")
def test_a_moved_controller_is_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, brokers, clock = connected(monkeypatch)

    def script(node: Any, request: Any) -> Any:
        if isinstance(request, MetadataRequest):
            return answer(T, controller=2)
        return 0 if node.id == 2 else 41

    brokers.script = script
    assert call(cluster, clock, checked(int), seconds=5) == 0


def test_no_answer_is_a_timeout_that_names_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, brokers, clock = connected(monkeypatch)
    brokers.script = answering(metadata_of(T), None)  # type: ignore[arg-type]
    with pytest.raises(KcliError, match=r"creating topics|no reply"):
        call(cluster, clock, checked(int), seconds=3)
    assert clock() <= 1003.1


def test_a_lost_connection_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, brokers, clock = connected(monkeypatch)
    brokers.script = answering(metadata_of(T), ConnectError("gone"), 0)  # type: ignore[arg-type]
    assert call(cluster, clock, checked(int)) == 0


# --- the rest ---------------------------------------------------------------------------------------------------


def test_sleeping_lasts_as_long_as_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, _, clock = connected(monkeypatch)
    start = clock()
    cluster.loop.at(start + 0.3, lambda: None)
    cluster.sleep(1.0)
    assert clock() - start == pytest.approx(1.0)


@pytest.mark.case("S0-61", "S0-65")
def test_poll_sends_requests_that_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, _, _ = connected(monkeypatch)
    [future] = cluster.poll(5, MetadataRequest(topics=[]))
    assert isinstance(future, Future)
    assert future.value.cluster_id == "c"


def test_a_closed_client_refuses_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, _, _ = connected(monkeypatch)
    cluster.close()
    cluster.close()
    assert isinstance(cluster.send(ListOffsetsRequest(replica_id=-1)).error, ClosedError)
