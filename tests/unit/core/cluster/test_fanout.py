"""Questions about many partitions: split by leader, merged, asked again where a leader had moved."""

from typing import Any

import pytest

from kcli.core.cluster.fanout import by_leader
from kcli.core.error_codes import NOT_LEADER_OR_FOLLOWER, TOPIC_AUTHORIZATION_FAILED
from kcli.core.errors import BrokerError, ConnectError, KcliError, NotFoundError, TimedOutError
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
    return {where.partition: value for where, value in got.items()}, brokers, clock


def test_each_leader_is_asked_once_for_all_its_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    got, brokers, _ = results(monkeypatch, lambda node, ns: [(n, 0, (node.id, n)) for n in ns], (0, 1, 2))
    assert got == {0: (1, 0), 1: (2, 1), 2: (1, 2)}
    asked = {node.id: asked_about(r) for _, node, r in brokers.asked(ListOffsetsRequest)}  # type: ignore[arg-type]
    assert asked == {1: [0, 2], 2: [1]}


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


def test_an_error_of_one_partition_leaves_the_others_alone(monkeypatch: pytest.MonkeyPatch) -> None:
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
