"""What is left to be asked of groups after each answer. What was left out is never taken for none."""

from typing import Any

import pytest

from kcli.core.admin.committed import OffsetFetch
from kcli.core.cluster.fanout import LeftOutError, Part
from kcli.core.connection.handshake import BrokerApiVersions
from kcli.core.connection.plan import Broker
from kcli.core.error_codes import TOPIC_AUTHORIZATION_FAILED, UNSTABLE_OFFSET_COMMIT
from kcli.core.errors import BrokerError, TimedOutError, UnsupportedError
from kcli.core.protocol.messages import offset_fetch as wire
from kcli.core.types import OffsetAndMetadata, TopicPartition

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


def broker(newest: int) -> Broker:
    return Broker("b1", BrokerApiVersions({wire.OffsetFetchRequest.api_key: (0, newest)}, {}))


def ask(fetch: OffsetFetch, newest: int) -> list[Part[str]]:
    return fetch.ask(broker(newest), [(group, None) for group in fetch.left])


def rows(offsets: dict[TopicPartition, tuple[int, int]], kind: Any, topic: Any) -> list[Any]:
    names = {tp.topic for tp in offsets}
    return [
        topic(
            name=name,
            partitions=[
                kind(partition_index=w.partition, committed_offset=offset, error_code=code, metadata="m")
                for w, (offset, code) in offsets.items()
                if w.topic == name
            ],
        )
        for name in sorted(names)
    ]


def grouped(**groups: dict[TopicPartition, tuple[int, int]] | int) -> wire.OffsetFetchResponse:
    """Of v8 and later; a number is the error of a whole group."""
    made = []
    for name, told in groups.items():
        code = told if isinstance(told, int) else 0
        topics = [] if isinstance(told, int) else rows(
            told, wire.OffsetFetchResponsePartitions, wire.OffsetFetchResponseTopics
        )  # fmt: skip
        made.append(wire.OffsetFetchResponseGroup(group_id=name, topics=topics, error_code=code))
    return wire.OffsetFetchResponse(groups=made)


def single(told: dict[TopicPartition, tuple[int, int]], code: int = 0) -> wire.OffsetFetchResponse:
    """Of the versions before."""
    topics = rows(told, wire.OffsetFetchResponsePartition, wire.OffsetFetchResponseTopic)
    return wire.OffsetFetchResponse(topics=topics, error_code=code)


def test_many_groups_share_a_request_from_version_8_on() -> None:
    fetch = OffsetFetch({"g": None, "h": [T0, U0, T1]}, require_stable=True)
    (part,) = ask(fetch, 10)
    request = part.request
    assert isinstance(request, wire.OffsetFetchRequest)
    assert (request.version_cap, request.require_stable) == (9, True)
    told = {
        g.group_id: g.topics and [(t.name, t.partition_indexes) for t in g.topics] for g in request.groups
    }
    assert told == {"g": None, "h": [("t", [0, 1]), ("u", [0])]}
    singles = ask(fetch, 7)
    assert [(p.request.group_id, list(p.keys)) for p in singles] == [("g", ["g"]), ("h", ["h"])]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("newest", "stable", "refused"), [(1, False, ["g"]), (6, True, ["g", "h"]), (2, False, [])]
)
def test_what_an_old_version_cannot_say_is_refused(newest: int, stable: bool, refused: list[str]) -> None:
    fetch = OffsetFetch({"g": None, "h": [T0]}, require_stable=stable)
    found = [key for p in ask(fetch, newest) if isinstance(p.request, UnsupportedError) for key in p.keys]
    assert found == refused


def test_no_commit_an_offset_an_error_and_what_was_left_out_are_four_things() -> None:
    fetch = OffsetFetch({"g": [T0, T1, U0, TopicPartition("u", 1)]}, require_stable=False)
    (part,) = ask(fetch, 9)
    told = {T0: (5, 0), T1: (-1, 0), U0: (-1, TOPIC_AUTHORIZATION_FAILED), TopicPartition("x", 0): (1, 0)}
    ((group, verdict, _),) = fetch.read(grouped(g=told), part)
    assert group == "g"
    assert isinstance(verdict, LeftOutError)
    assert fetch.left == {"g": [TopicPartition("u", 1)]}
    found = fetch.outcome("g", TimedOutError("too late"), 1.0)
    assert isinstance(found, dict)
    assert list(found) == [T0, T1, U0, TopicPartition("u", 1)]
    assert (found[T0], found[T1]) == (OffsetAndMetadata(5, "m"), None)
    assert isinstance(found[U0], BrokerError)
    assert "does not contain it" in str(found[TopicPartition("u", 1)])


def test_of_all_there_is_only_the_unstable_ones_are_requested_again() -> None:
    fetch = OffsetFetch({"g": None}, require_stable=True)
    (part,) = ask(fetch, 9)
    ((_, verdict, _),) = fetch.read(grouped(g={T0: (5, 0), T1: (-1, UNSTABLE_OFFSET_COMMIT)}), part)
    assert isinstance(verdict, BrokerError)
    assert fetch.left == {"g": [T1]}
    (part,) = ask(fetch, 9)
    assert [verdict for _, verdict, _ in fetch.read(grouped(g={T1: (6, 0)}), part)] == [0]
    assert fetch.outcome("g", None, 1.0) == {T0: OffsetAndMetadata(5, "m"), T1: OffsetAndMetadata(6, "m")}


def test_an_empty_answer_to_one_group_of_many_is_not_an_old_brokers_answer() -> None:
    """It once was: the group, asked for alone after it had been left out, seemed to have no commits."""
    fetch = OffsetFetch({"g": None}, require_stable=False)
    (part,) = ask(fetch, 9)
    assert list(fetch.read(wire.OffsetFetchResponse(), part)) == []
    (part,) = ask(fetch, 7)
    assert [verdict for _, verdict, _ in fetch.read(single({}), part)] == [0]


def test_an_old_answer_is_read_with_its_own_error() -> None:
    fetch = OffsetFetch({"g": [T0]}, require_stable=False)
    (part,) = ask(fetch, 7)
    assert list(fetch.read(single({}, 16), part)) == [("g", 16, None)]
    assert [verdict for _, verdict, _ in fetch.read(single({T0: (3, 0)}), part)] == [0]
    assert fetch.outcome("g", None, 0.0) == {T0: OffsetAndMetadata(3, "m")}


def test_a_group_without_a_response_has_one_error_for_all() -> None:
    for asked in (None, [T0]):
        fetch = OffsetFetch({"g": asked}, require_stable=False)
        error = TimedOutError("too late")
        assert fetch.outcome("g", error, 1.0) is error
