"""What a broker is told, fetch by fetch: changes only, once it has a session (KIP-227)."""

import random

import pytest

from kcli.core.consumer.fetch_session import LAST_EPOCH, Ask, FetchSession
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.types import TopicPartition

pytestmark = pytest.mark.case("F13")

ID, OTHER_ID = b"i" * 16, b"j" * 16
P0, P1, P2 = (TopicPartition("t", number) for number in range(3))
Told = dict[int, int]


def ask(offset: int, version: int = 0, topic_id: bytes = ID) -> Ask:
    return Ask(version, offset, 0, topic_id)


def session(**wanted: int) -> FetchSession:
    """One that wants ``p0=…``, ``p1=…``."""
    found = FetchSession()
    for name, offset in wanted.items():
        found.want(TopicPartition("t", int(name[1:])), ask(offset))
    return found


def fill(found: FetchSession) -> FetchRequest:
    request = FetchRequest(max_wait_ms=0, min_bytes=0, topics=[])
    found.fill(request, 1_000)
    return request


def told(request: FetchRequest) -> Told:
    return {p.partition: p.fetch_offset for topic in request.topics for p in topic.partitions}


def forgotten(request: FetchRequest) -> list[int]:
    return [number for topic in request.forgotten_topics_data for number in topic.partitions]


def place(request: FetchRequest) -> tuple[int, int]:
    return request.session_id, request.session_epoch


def established(**wanted: int) -> FetchSession:
    """One whose first fetch was answered: session 7."""
    found = session(**wanted)
    fill(found)
    found.answered(7)
    return found


def test_the_first_fetch_names_everything_and_asks_for_a_session() -> None:
    request = fill(session(p0=5, p1=6))
    assert place(request) == (0, 0)
    assert told(request) == {0: 5, 1: 6}
    assert request.topics[0].partitions[0].partition_max_bytes == 1_000


def test_then_only_changes_are_named() -> None:
    found = established(p0=5, p1=6, p2=7)
    found.want(P1, ask(9))
    request = fill(found)
    assert place(request) == (7, 1)
    assert told(request) == {1: 9}
    assert forgotten(request) == []


def test_nothing_new_is_an_empty_request() -> None:
    found = established(p0=5)
    found.want(P0, ask(5))
    request = fill(found)
    assert (told(request), forgotten(request)) == ({}, [])
    found.answered(7)
    assert place(fill(found)) == (7, 2)


def test_what_is_not_read_any_more_is_forgotten_once() -> None:
    found = established(p0=5, p1=6)
    found.drop(P0)
    request = fill(found)
    assert forgotten(request) == [0]
    assert request.forgotten_topics_data[0].topic_id == ID
    assert found.asked(P0) is None
    found.answered(7)
    assert forgotten(fill(found)) == []


def test_what_came_and_went_between_two_fetches_is_not_mentioned() -> None:
    found = established(p0=5)
    found.want(P1, ask(1))
    found.drop(P1)
    found.drop(P0)
    found.want(P0, ask(5))
    request = fill(found)
    assert (told(request), forgotten(request)) == ({}, [])


def test_the_same_offset_is_named_again_for_another_state() -> None:
    """The answer under way is for the old one; a broker that is told again answers for the new one."""
    found = established(p0=5)
    found.want(P0, ask(5, version=1))
    assert told(fill(found)) == {0: 5}


def test_a_response_is_matched_to_its_request_and_not_to_later_wishes() -> None:
    found = established(p0=5)
    found.want(P0, ask(99, version=1))
    found.drop(P0)
    assert found.asked(P0) == ask(5)
    assert found.asked(P1) is None


def test_the_epoch_after_the_last_is_1() -> None:
    found = established(p0=5)
    found.epoch = LAST_EPOCH
    assert place(fill(found)) == (7, LAST_EPOCH)
    found.answered(7)
    assert place(fill(found)) == (7, 1)


def test_a_broker_without_fetch_sessions_gets_every_partition_each_time_in_rotation() -> None:
    found = session(p0=5, p1=6, p2=7)
    orders = []
    for _ in range(3):
        request = fill(found)
        assert place(request) == (0, 0)
        orders.append(list(told(request)))
        found.answered(0)
    assert {order[0] for order in orders} == {0, 1, 2}
    assert all(sorted(order) == [0, 1, 2] for order in orders)


def test_a_lost_session_begins_with_a_new_one() -> None:
    found = established(p0=5)
    found.lost()
    request = fill(found)
    assert place(request) == (0, 0)
    assert told(request) == {0: 5}


def test_a_reset_names_the_session_that_ends() -> None:
    """Epoch 0 with an id: the broker frees that one for the new one."""
    found = established(p0=5, p1=6)
    found.drop(P1)
    found.reset()
    request = fill(found)
    assert place(request) == (7, 0)
    assert (told(request), forgotten(request)) == ({0: 5}, [])
    assert found.asked(P1) is None


@pytest.mark.parametrize("number", [0, 8])
def test_an_answer_of_another_session_ends_ours(number: int) -> None:
    found = established(p0=5)
    fill(found)
    found.answered(number)
    assert place(fill(found)) == (0, 0)


def test_the_last_fetch_request_closes_the_session_and_requests_nothing() -> None:
    request = established(p0=5).farewell()
    assert place(request) == (7, -1)
    assert told(request) == {}


def test_a_topic_without_an_id_makes_all_of_it_go_by_name_in_a_new_session() -> None:
    found = established(p0=5)
    found.want(TopicPartition("old", 0), ask(1, topic_id=bytes(16)))
    request = fill(found)
    assert request.version_cap == 12
    assert place(request) == (7, 0)
    assert len(request.topics) == 2
    found.answered(8)
    found.want(TopicPartition("old", 0), ask(1, topic_id=OTHER_ID))
    assert place(fill(found)) == (8, 0)
    found.answered(9)
    found.want(P0, ask(6))
    assert place(fill(found)) == (9, 1)


def test_another_topic_of_the_same_name_begins_a_new_session() -> None:
    """By name, a broker would add the partition and then forget it: the two are one to it."""
    found = established(p0=5, p1=6)
    found.want(P0, ask(0, topic_id=OTHER_ID))
    request = fill(found)
    assert place(request) == (7, 0)
    assert {(t.topic_id, p.partition) for t in request.topics for p in t.partitions} == {
        (OTHER_ID, 0),
        (ID, 1),
    }


def test_topics_are_found_by_name_or_by_id() -> None:
    found = established(p0=5)
    assert found.topic("x", bytes(16)) == "x"
    assert found.topic("", ID) == "t"
    assert found.topic("", OTHER_ID) == ""


class Model:
    """What a broker knows after each request, as KIP-227 says."""

    def __init__(self) -> None:
        self.number, self.epoch, self.known = 0, 0, dict[int, int]()

    def take(self, request: FetchRequest) -> int:
        """The session id of the answer."""
        if request.session_epoch == 0:
            assert not request.forgotten_topics_data
            self.number, self.epoch, self.known = self.number + 1, 1, told(request)
            return self.number
        assert place(request) == (self.number, self.epoch)
        self.epoch += 1
        self.known.update(told(request))
        for number in forgotten(request):
            del self.known[number]
        return self.number


@pytest.mark.parametrize("seed", range(20))
def test_the_fetch_session_always_matches_the_wanted_partitions(seed: int) -> None:
    chance, found, broker = random.Random(seed), FetchSession(), Model()
    wanted: Told = {}
    for step in range(300):
        for _ in range(chance.randrange(4)):
            number = chance.randrange(6)
            if chance.random() < 0.4:
                wanted.pop(number, None)
                found.drop(TopicPartition("t", number))
            else:
                wanted[number] = chance.randrange(9)
                found.want(TopicPartition("t", number), ask(wanted[number], version=chance.randrange(2)))
        number = broker.take(fill(found))
        assert broker.known == wanted, step
        if chance.random() < 0.1:
            found.reset() if chance.random() < 0.5 else found.lost()
        else:
            found.answered(number)
