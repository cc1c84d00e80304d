"""Who coordinates what: asked for many keys at once, remembered, refuted."""

from typing import Any

import pytest

from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.coordinators import Coordinators, KeyType, ToCoordinator
from kcli.core.errors import BrokerError, ConnectError, KcliError, TimedOutError, UnsupportedError
from kcli.core.protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kcli.core.protocol.messages.metadata import MetadataRequest
from tests.unit.core.cluster.scripted import ScriptedBrokers, answer, cluster_on
from tests.unit.core.net.fakes import Clock

GROUP, TRANSACTION = KeyType.GROUP, KeyType.TRANSACTION
WHERE = {"a": 1, "b": 2, "c": 1}


def many(request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    rows = [
        Coordinator(key=k, node_id=WHERE[k], host=f"b{WHERE[k]}", port=9092) for k in request.coordinator_keys
    ]
    return FindCoordinatorResponse(coordinators=rows)


def one(request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    node = WHERE[request.key]
    return FindCoordinatorResponse(error_message="NONE", node_id=node, host=f"b{node}", port=9092)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Any:
    """``asked(reply, newest)`` is a cluster of that version, its coordinators, and what was sent to it."""

    def make(reply: Any = many, newest: int = 6) -> tuple[Cluster, Coordinators, ScriptedBrokers, Clock]:
        def script(_node: Any, request: Any) -> Any:
            return answer() if isinstance(request, MetadataRequest) else reply(request)

        cluster, brokers, clock = cluster_on(monkeypatch, script)
        brokers.versions[FindCoordinatorRequest.api_key] = (0, newest)
        cluster.connect(5)
        return cluster, Coordinators(cluster), brokers, clock

    return make


def found(cluster: Cluster, lookup: Any) -> Any:
    cluster.poll(5, lookup)
    return lookup.value


@pytest.mark.case("S3-1")
@pytest.mark.parametrize(
    ("newest", "reply", "requests"), [(6, many, 1), (4, many, 1), (3, one, 3), (0, one, 3)]
)
def test_one_request_for_all_keys_or_one_for_each(asked: Any, newest: int, reply: Any, requests: int) -> None:
    cluster, coordinators, brokers, _ = asked(reply, newest)
    assert found(cluster, coordinators.find_many(GROUP, ["a", "b", "a", "c"])) == WHERE
    sent = brokers.asked(FindCoordinatorRequest)
    assert len(sent) == requests
    assert len({at for at, _, _ in sent}) == 1, "they went out together"
    assert {node.id for _, node, _ in sent} in ({1}, {2}), "to one broker"
    assert [coordinators.known(GROUP, key) for key in "abcd"] == [1, 2, 1, None]
    assert coordinators.known(TRANSACTION, "a") is None


@pytest.mark.case("S3-3")
@pytest.mark.parametrize(("newest", "reply"), [(6, many), (3, one)])
def test_a_single_key_is_looked_up_the_same_way(asked: Any, newest: int, reply: Any) -> None:
    cluster, coordinators, _, _ = asked(reply, newest)
    assert found(cluster, coordinators.find(TRANSACTION, "b")) == 2
    assert coordinators.known(TRANSACTION, "b") == 2
    coordinators.forget(TRANSACTION, "b")
    assert coordinators.known(TRANSACTION, "b") is None
    coordinators.learn(TRANSACTION, {"b": 1})
    assert coordinators.known(TRANSACTION, "b") == 1


@pytest.mark.case("S3-2")
def test_each_key_has_its_own_error(asked: Any) -> None:
    def reply(request: FindCoordinatorRequest) -> FindCoordinatorResponse:
        rows = many(request).coordinators[:2]
        for row in rows:
            row.error_code = 30 if row.key == "b" else 0
        return FindCoordinatorResponse(coordinators=rows)

    cluster, coordinators, _, _ = asked(reply)
    got = found(cluster, coordinators.find_many(GROUP, WHERE))
    assert got["a"] == 1
    assert (got["b"].code, got["c"].code) == (30, 15)
    assert "group b" in str(got["b"])
    assert "does not name it" in str(got["c"])
    single = coordinators.find(GROUP, "b")
    cluster.poll(5, single)
    assert isinstance(single.error, BrokerError)


def test_an_empty_response_to_one_key_names_no_coordinator(asked: Any) -> None:
    """Also where the answer is of the form that has no keys."""
    for newest in (6, 3):
        cluster, coordinators, _, _ = asked(lambda _request: FindCoordinatorResponse(), newest)
        (error,) = found(cluster, coordinators.find_many(GROUP, ["a"])).values()
        assert isinstance(error, BrokerError)
        assert error.code == 15


def test_when_the_broker_is_gone_every_key_says_so(asked: Any) -> None:
    cluster, coordinators, _, _ = asked(lambda _request: ConnectError("b1 is gone"))
    got = found(cluster, coordinators.find_many(GROUP, WHERE))
    assert [str(error) for error in got.values()] == ["b1 is gone"] * 3


def test_a_transactional_id_is_not_looked_up_in_version_0(asked: Any) -> None:
    """It would be taken for a group's name. (The scripted broker sends nothing, so the floor is checked.)"""
    cluster, coordinators, brokers, _ = asked(one, 3)
    found(cluster, coordinators.find_many(TRANSACTION, ["a"]))
    ((_, _, request),) = brokers.asked(FindCoordinatorRequest)
    assert request.version_floor == 1
    cluster, coordinators, brokers, _ = asked()
    del brokers.versions[FindCoordinatorRequest.api_key]
    (error,) = found(cluster, coordinators.find_many(TRANSACTION, ["a"])).values()
    assert isinstance(error, UnsupportedError)


def test_the_route_looks_up_unknown_keys_and_forgets_refuted_ones(asked: Any) -> None:
    cluster, coordinators, brokers, clock = asked()
    route = ToCoordinator[str](cluster, coordinators, str)
    assert route.find_nodes(["a", "b"], clock() + 5) == {"a": 1, "b": 2}
    assert route.find_nodes(["b", "c"], clock() + 5) == {"b": 2, "c": 1}
    keys = [r.coordinator_keys for _, _, r in brokers.asked(FindCoordinatorRequest)]
    assert keys == [["a", "b"], ["c"]]
    errors: dict[str, KcliError] = {
        "a": BrokerError(16, "a"),
        "b": BrokerError(14, "b"),
        "c": ConnectError("c"),
    }
    route.renew(errors, clock() + 5)
    assert [coordinators.known(GROUP, key) for key in "abc"] == [None, 2, None]


def test_a_look_up_that_is_not_answered_in_time_is_an_error_of_its_keys(asked: Any) -> None:
    cluster, coordinators, _, clock = asked(lambda _request: None)
    route = ToCoordinator[str](cluster, coordinators, str)
    places = route.find_nodes(["a", "b"], clock() + 1)
    assert all(isinstance(error, TimedOutError) for error in places.values())
