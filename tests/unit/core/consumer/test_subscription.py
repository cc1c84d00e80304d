"""Which partitions are read and from where; answers to older questions are told from new ones."""

from kcli.core.consumer.subscription import Span, Subscription
from kcli.core.types import TopicPartition

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)


def subscribed(**spans: Span) -> Subscription:
    found = Subscription()
    found.assign({P0: spans.get("p0", Span(10)), P1: spans.get("p1", Span(0, 5))})
    return found


def test_an_assignment_begins_at_the_starts() -> None:
    found = subscribed()
    state = found.get(P0)
    assert state is not None
    assert (state.position, state.fetch_from, state.stop) == (10, 10, None)
    assert [where for where, _ in found.items()] == [P0, P1]


def test_a_new_assignment_replaces_the_old_one() -> None:
    found = subscribed()
    found.assign({P1: Span(3)})
    assert found.get(P0) is None
    assert [where for where, _ in found.items()] == [P1]


def version(found: Subscription) -> int:
    state = found.get(P0)
    assert state is not None
    return state.version


def test_no_version_of_a_partition_is_ever_used_twice() -> None:
    found = subscribed()
    seen = [version(found)]
    found.seek(P0, 3)
    seen.append(version(found))
    found.assign({P0: Span(10)})
    seen.append(version(found))
    found.assign({})
    found.assign({P0: Span(10)})
    seen.append(version(found))
    assert len(set(seen)) == len(seen)


def test_a_seek_moves_what_is_read_and_what_is_fetched() -> None:
    found = subscribed()
    found.seek(P0, 99)
    state = found.get(P0)
    assert state is not None
    assert (state.position, state.fetch_from) == (99, 99)


def test_done_is_what_was_handed_out_and_not_what_was_fetched() -> None:
    found = subscribed(p0=Span(0, 5), p1=Span(5, 5))
    state = found.get(P0)
    assert state is not None
    state.fetch_from = 5
    assert state.fetched_all
    assert not state.done
    assert not found.done
    state.position = 5
    assert found.done


def test_without_a_stop_nothing_is_ever_done() -> None:
    found = subscribed(p0=Span(0), p1=Span(0, 0))
    assert not found.done


def test_nothing_assigned_is_done() -> None:
    assert Subscription().done
