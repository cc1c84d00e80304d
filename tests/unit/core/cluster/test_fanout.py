"""Questions about many partitions: split by leader, merged, asked again where a leader had moved."""

from typing import Any

import pytest

from kcli.core.cluster.fanout import Part, by_leader, fan_out
from kcli.core.error_codes import NOT_LEADER_OR_FOLLOWER, TOPIC_AUTHORIZATION_FAILED
from kcli.core.errors import (
    BrokerError,
    ConnectError,
    KcliError,
    NotFoundError,
    OutcomeUnknownError,
    TimedOutError,
    UnsupportedError,
)
from kcli.core.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kcli.core.protocol.messages.metadata import MetadataRequest
from kcli.core.types import TopicPartition
from tests.unit.core.cluster.scripted import (
    ScriptedBrokers,
    answer,
    cluster_on,
    metadata_of,
    partition,
    topic,
)
from tests.unit.core.net.fakes import Clock

THREE = topic("t", partition(0, 1), partition(1, 2), partition(2, 1))


def ask(group: list[tuple[TopicPartition, int]]) -> ListOffsetsRequest:
    partitions = [ListOffsetsPartition(partition_index=w.partition, timestamp=v) for w, v in group]
    return ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="t", partitions=partitions)])


def asked_about(request: ListOffsetsRequest) -> list[int]:
    return [p.partition_index for p in request.topics[0].partitions]


def results(
    monkeypatch: pytest.MonkeyPatch,
    script: Any,
    numbers: tuple[int, ...],
    metadata: Any = None,
    seconds: float = 5.0,
) -> tuple[dict[int, Any], ScriptedBrokers, Clock]:
    """``script(node, numbers)`` gives the answer as a list of (number, code, value), or an error."""
    known = metadata or metadata_of(THREE)

    def all_of(node: Any, request: Any) -> Any:
        return (
            known(node, request)
            if isinstance(request, MetadataRequest)
            else script(node, asked_about(request))
        )

    cluster, brokers, clock = cluster_on(monkeypatch, all_of)
    cluster.connect(5)

    def read(found: Any) -> Any:
        return [(TopicPartition("t", number), code, value) for number, code, value in found]

    wanted = {TopicPartition("t", number): -1 for number in numbers}
    got = by_leader(cluster, wanted, ask, read, clock() + seconds, "asking")
    return {tp.partition: value for tp, value in got.items()}, brokers, clock


def test_each_leader_is_asked_once_for_all_its_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    got, brokers, _ = results(monkeypatch, lambda node, ns: [(n, 0, (node.id, n)) for n in ns], (0, 1, 2))
    assert got == {0: (1, 0), 1: (2, 1), 2: (1, 2)}
    asked = {node.id: asked_about(r) for _, node, r in brokers.asked(ListOffsetsRequest)}  # type: ignore[arg-type]
    assert asked == {1: [0, 2], 2: [1]}


@pytest.mark.case("B4")
def test_a_partition_whose_leader_moved_is_asked_again_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    moved: list[int] = []

    def metadata(node: Any, request: Any) -> Any:
        leader = 2 if moved else 1
        return answer(topic("t", partition(0, leader, 5 + len(moved)), partition(1, 2)))

    def script(node: Any, numbers: list[int]) -> Any:
        if node.id == 1:
            moved.append(1)
            return [(n, NOT_LEADER_OR_FOLLOWER, None) for n in numbers]
        return [(n, 0, node.id) for n in numbers]

    got, brokers, _ = results(monkeypatch, script, (0, 1), metadata)
    assert got == {0: 2, 1: 2}
    asked = [asked_about(r) for _, _, r in brokers.asked(ListOffsetsRequest)]  # type: ignore[arg-type]
    assert asked[:2] == [[0], [1]]
    assert asked[2:] in ([[0]], [[0], [0]])  # once more at the old leader, when the news are a moment late


def test_an_error_of_one_partition_leaves_the_rest_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def script(node: Any, numbers: list[int]) -> Any:
        return [(n, TOPIC_AUTHORIZATION_FAILED if n == 2 else 0, n) for n in numbers]

    got, brokers, _ = results(monkeypatch, script, (0, 1, 2))
    assert (got[0], got[1]) == (0, 1)
    assert isinstance(got[2], BrokerError)
    assert len(brokers.asked(ListOffsetsRequest)) == 2


def test_a_broker_that_is_gone_fails_its_partitions_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    def script(node: Any, numbers: list[int]) -> Any:
        return ConnectError("b2 is gone") if node.id == 2 else [(n, 0, n) for n in numbers]

    got, _, clock = results(monkeypatch, script, (0, 1), seconds=3)
    assert got[0] == 0
    assert "b2 is gone" in str(got[1])
    assert clock() < 1004


@pytest.mark.case("O7")
def test_a_partition_that_the_answer_leaves_out_is_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def script(node: Any, numbers: list[int]) -> Any:
        calls.append(1)
        return [(n, 0, n) for n in numbers if n != 2 or len(calls) > 3]

    got, _, _ = results(monkeypatch, script, (0, 1, 2))
    assert got == {0: 0, 1: 1, 2: 2}


def test_an_answer_that_never_comes_is_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    got, _, _ = results(monkeypatch, lambda *_: [], (0,), seconds=1)
    assert isinstance(got[0], TimedOutError)


@pytest.mark.parametrize("number", [3, -1])
def test_a_partition_that_does_not_exist_says_how_many_there_are(
    monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    got, _, clock = results(monkeypatch, lambda *_: [], (number,), seconds=30)
    assert isinstance(got[number], NotFoundError)
    assert "3" in str(got[number])
    assert clock() < 1003


def test_a_topic_that_does_not_exist_is_waited_for_a_moment_only(monkeypatch: pytest.MonkeyPatch) -> None:
    got, _, clock = results(monkeypatch, lambda *_: [], (0,), metadata_of(topic("t", error=3)), seconds=30)
    assert isinstance(got[0], NotFoundError)
    assert clock() < 1003


def test_a_topic_that_appears_in_time_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    times: list[int] = []

    def metadata(node: Any, request: Any) -> Any:
        times.append(1)
        return answer(THREE if len(times) > 3 else topic("t", error=3, topic_id=bytes(16)))

    got, _, _ = results(monkeypatch, lambda node, ns: [(n, 0, n) for n in ns], (0,), metadata)
    assert got == {0: 0}


def test_a_topic_that_may_not_be_seen_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    got, _, _ = results(monkeypatch, lambda *_: [], (0,), metadata_of(topic("t", error=29)), seconds=2)
    assert isinstance(got[0], KcliError)
    assert "TOPIC_AUTHORIZATION_FAILED" in str(got[0])


# --- any route -----------------------------------------------------------------------------------------------------


class Routed:
    """Keys are names of places: ``1a`` is at node 1. ``moved`` tells the keys that are elsewhere after a renewal."""

    def __init__(self, **moved: int) -> None:
        self.moved = moved
        self.renewed: list[list[str]] = []
        self.errors: dict[str, KcliError] = {}

    def find_nodes(self, keys: Any, deadline: float) -> dict[str, int | KcliError]:
        return {key: self.errors.get(key, self._node(key)) for key in keys}

    def renew(self, errors: Any, deadline: float) -> None:
        self.renewed.append(list(errors))

    def _node(self, key: str) -> int:
        return self.moved[key] if self.renewed and key in self.moved else int(key[0])


def fan(
    monkeypatch: pytest.MonkeyPatch,
    keys: list[str],
    script: Any,
    route: Routed | None = None,
    seconds: float = 5.0,
    parts: Any = list,
    **options: Any,
) -> tuple[dict[str, Any], ScriptedBrokers, Clock]:
    """``script(node, names)`` gives rows of (key, verdict, value), None for no answer, or an error."""

    def all_of(node: Any, request: Any) -> Any:
        if isinstance(request, MetadataRequest):
            return answer(brokers=(1, 2, 3))
        return script(node.id, [topic.name for topic in request.topics])

    cluster, brokers, clock = cluster_on(monkeypatch, all_of)
    cluster.connect(5)

    def one(_broker: Any, items: Any) -> Any:
        names = [key for key, _ in items]
        request = ListOffsetsRequest(
            replica_id=-1, topics=[ListOffsetsTopic(name=n, partitions=[]) for n in names]
        )
        return parts([Part(request, names)])

    got = fan_out(
        cluster,
        dict.fromkeys(keys),
        route or Routed(),
        one,
        lambda found, _part: found,
        clock() + seconds,
        "asking",
        **options,
    )
    return got, brokers, clock


def well(node: int, names: list[str]) -> list[Any]:
    return [(name, 0, node) for name in names]


def test_results_are_in_the_order_of_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    got, _, _ = fan(monkeypatch, ["2b", "1a", "2a", "1b"], well)
    assert list(got.items()) == [("2b", 2), ("1a", 1), ("2a", 2), ("1b", 1)]


def test_refused_keys_are_looked_up_again_and_requested_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    def script(node: int, names: list[str]) -> list[Any]:
        return [(name, 16 if (node, name) == (1, "1a") else 0, node) for name in names]

    route = Routed(**{"1a": 2})
    got, brokers, _ = fan(monkeypatch, ["1a", "1b", "2a"], script, route)
    assert got == {"1a": 2, "1b": 1, "2a": 2}
    assert route.renewed == [["1a"]]
    assert len(brokers.asked(ListOffsetsRequest)) == 3


def test_a_part_that_its_broker_does_not_support_is_refused_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def parts(made: list[Part[str]]) -> list[Part[str]]:
        (whole,) = made
        refused = Part[str](UnsupportedError("too old"), ["1b"])
        return [refused, Part(whole.request, ["1a"])]

    got, _, _ = fan(monkeypatch, ["1a", "1b"], well, parts=parts)
    assert got["1a"] == 1
    assert isinstance(got["1b"], UnsupportedError)


def test_a_broker_that_says_nothing_does_not_keep_another_from_a_retry(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tries: list[int] = []

    def script(node: int, names: list[str]) -> Any:
        if node == 2:
            return None
        tries.append(1)
        return [(name, 14 if len(tries) < 3 else 0, node) for name in names]

    got, _, _ = fan(monkeypatch, ["1a", "2a"], script, seconds=2)
    assert got["1a"] == 1
    assert isinstance(got["2a"], TimedOutError)
    assert len(tries) == 3


def test_codes_may_be_final_or_mean_that_there_is_no_such_thing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def script(node: int, names: list[str]) -> list[Any]:
        asked.extend(names)
        return [(name, 3, None) for name in names]

    got, _, _ = fan(monkeypatch, ["1a"], script, final=[3])
    assert (getattr(got["1a"], "code", None), len(asked)) == (3, 1)
    got, _, clock = fan(monkeypatch, ["1a"], script, unknown=[3], seconds=30)
    assert getattr(got["1a"], "code", None) == 3
    assert len(asked) > 2
    assert clock() < 1003


def test_errors_of_the_route_are_final_unless_they_may_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    route = Routed()
    route.errors = {
        "1a": BrokerError(30, "group"),
        "1b": BrokerError(15, "group"),
        "1c": NotFoundError("gone"),
    }
    got, _, _ = fan(monkeypatch, ["1a", "1b", "1c", "1d"], well, route, seconds=3)
    assert got["1d"] == 1
    assert got["1a"] is route.errors["1a"]
    assert got["1c"] is route.errors["1c"]
    assert "COORDINATOR_NOT_AVAILABLE" in str(got["1b"])
    assert "gave up" in str(got["1b"])
    assert all("1a" not in keys for keys in route.renewed)


def test_duplicate_and_unrequested_entries_of_a_response_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    got, _, _ = fan(monkeypatch, ["1a"], lambda *_: [("x", 0, 9), ("1a", 0, 1), ("1a", 30, 2)])
    assert got == {"1a": 1}


def test_keys_with_a_try_of_unknown_outcome_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []

    def script(node: int, names: list[str]) -> Any:
        tries.append(node)
        lost = node == 1 and tries.count(1) == 1
        return OutcomeUnknownError("b1 is gone") if lost else well(node, names)

    unsure: set[str] = set()
    got, _, _ = fan(monkeypatch, ["1a", "2a"], script, unsure=unsure)
    assert got == {"1a": 1, "2a": 2}
    assert unsure == {"1a"}


class Hashed(str):
    """Counts how often it is looked up."""

    __slots__ = ()
    count = 0

    def __hash__(self) -> int:
        Hashed.count += 1
        return super().__hash__()


def looked_up(monkeypatch: pytest.MonkeyPatch, brokers: int) -> float:
    """How often each of ten keys a broker is looked up, where brokers respond one after the other."""
    wanted = {Hashed(f"{number}:{key}"): None for number in range(1, brokers + 1) for key in range(10)}

    def script(node: Any, request: Any) -> Any:
        if isinstance(request, MetadataRequest):
            return answer(brokers=tuple(range(1, brokers + 1)))
        scripted.delay = node.id / 100
        return well(node.id, request.names)

    cluster, scripted, clock = cluster_on(monkeypatch, script)
    cluster.connect(5)

    class Fixed(Routed):
        def find_nodes(self, keys: Any, _deadline: float) -> Any:
            return {key: int(key.partition(":")[0]) for key in keys}

    def parts(_broker: Any, items: Any) -> list[Part[str]]:
        request = ListOffsetsRequest(replica_id=-1, topics=[])
        request.names = [key for key, _ in items]  # type: ignore[attr-defined]
        return [Part(request, request.names)]  # type: ignore[attr-defined]

    Hashed.count = 0
    got = fan_out(cluster, wanted, Fixed(), parts, lambda found, _part: found, clock() + 60, "asking")
    assert [int(key.partition(":")[0]) for key in got] == list(got.values())
    return Hashed.count / len(wanted)


def test_a_key_costs_the_same_however_many_brokers_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = looked_up(monkeypatch, 5), looked_up(monkeypatch, 50)
    assert few >= 3
    assert many < 1.2 * few
