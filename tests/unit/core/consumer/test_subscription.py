"""Which partitions are read and from where; answers to older questions are told from new ones."""

import pytest

from kcli.core.consumer import subscription as subscription_module
from kcli.core.consumer.subscription import UNKNOWN, Phase, Span, Subscription
from kcli.core.errors import NotFoundError
from kcli.core.types import TopicPartition

GONE = NotFoundError("topic t does not exist")
P0, P1, P2 = (TopicPartition("t", number) for number in range(3))


def subscribed(**spans: Span) -> Subscription:
    found = Subscription()
    found.assign({P0: spans.get("p0", Span(10)), P1: spans.get("p1", Span(0, 5))})
    return found


def test_an_assignment_begins_at_the_starts() -> None:
    found = subscribed()
    state = found.get(P0)
    assert state is not None
    assert (state.position, state.fetch_from, state.stop) == (10, 10, None)
    assert [tp for tp, _ in found.items()] == [P0, P1]


def test_a_new_assignment_replaces_the_old_one() -> None:
    found = subscribed()
    found.assign({P1: Span(3)})
    assert found.get(P0) is None
    assert [tp for tp, _ in found.items()] == [P1]


def test_partitions_that_stay_assigned_continue_at_their_position() -> None:
    """As in Java: another partition that comes or goes is no reason to read again what was read."""
    found = subscribed()
    state = found.get(P0)
    assert state is not None
    found.seek(P0, 7, epoch=3)
    state.paused, before = True, state.version
    found.assign({P0: Span(), P2: Span()})
    assert found.get(P0) is state
    assert (state.position, state.epoch, state.paused, state.version) == (7, 3, True, before)
    assert [tp for tp, _ in found.items()] == [P0, P2]


def test_a_start_of_its_own_is_where_it_continues() -> None:
    found = subscribed()
    found.assign({P0: Span(3)})
    state = found.get(P0)
    assert state is not None
    assert state.position == 3


def test_what_stays_assigned_up_to_another_stop_is_cut_anew() -> None:
    found = subscribed()
    state = found.get(P1)
    assert state is not None
    state.position, state.fetch_from = 2, 5
    before = state.version
    found.assign({P1: Span(None, 9)})
    assert (state.stop, state.position, state.fetch_from) == (9, 2, 2)
    assert state.version != before


@pytest.mark.parametrize(
    ("position", "phase", "then"), [(7, Phase.READING, 7), (UNKNOWN, Phase.COMMITTED, UNKNOWN)]
)
def test_what_has_failed_and_is_assigned_again_is_tried_again(position: int, phase: Phase, then: int) -> None:
    found = subscribed()
    state = found.get(P0)
    assert state is not None
    state.position = position
    state.phase = Phase.FAILED
    found.assign({P0: Span()})
    state = found.get(P0)
    assert state is not None
    assert (state.phase, state.position) == (phase, then)


def version(found: Subscription) -> int:
    state = found.get(P0)
    assert state is not None
    return state.version


@pytest.mark.case("S0-37", "F15")
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


@pytest.mark.case("S0-37")
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
    assert not state.reached_stop
    assert not found.done
    state.position = 5
    assert found.done


def test_without_a_stop_nothing_is_ever_done() -> None:
    found = subscribed(p0=Span(0), p1=Span(0, 0))
    assert not found.done


def test_nothing_assigned_is_done() -> None:
    assert Subscription().done


def test_watchers_are_notified_of_changes() -> None:
    found = Subscription()
    first = found.watch_changes()
    found.assign({P0: Span(1), P1: Span(2)})
    second = found.watch_changes()
    assert list(first) == list(second) == [P0, P1]
    for change in (
        lambda: found.seek(P1, 3),
        lambda: found.step_back(P1),
        lambda: found.reset_position(P1, -1),
        lambda: found.forget_position(P1, b"n" * 16),
        lambda: setattr(found.get(P1), "paused", True),
        lambda: setattr(found.get(P1), "phase", Phase.FAILED),
        lambda: found.add_partition(P1, Span(7)),
        lambda: found.remove_partition(P1),
    ):
        first.clear()
        change()
        assert list(first) == [P1]
    assert list(second) == [P0, P1]


def test_a_removed_state_is_no_longer_notified() -> None:
    found = subscribed()
    gone = found.get(P0)
    assert gone is not None
    found.remove_partition(P0)
    changes = found.watch_changes()
    changes.clear()
    gone.phase = Phase.RESET
    assert changes == {}
    assert found.in_phase(Phase.RESET) == []


def test_partitions_are_found_by_what_they_wait_for() -> None:
    found = subscribed()
    found.reset_position(P0, -1)
    assert [tp for tp, _ in found.in_phase(Phase.RESET)] == [P0]
    assert [tp for tp, _ in found.in_phase(Phase.READING)] == [P1]
    found.assign({})
    found.assign({P1: Span()})
    assert found.in_phase(Phase.READING) == found.in_phase(Phase.RESET) == []
    assert [tp for tp, _ in found.in_phase(Phase.COMMITTED)] == [P1]


def test_a_topic_fails_as_a_whole_and_once() -> None:
    found = subscribed()
    assert [state.tp for state in found.fail_topic("t", GONE)] == [P0, P1]
    assert found.fail_topic("t", GONE) == []
    assert found.fail_topic("other", GONE) == []
    assert [state.error for _, state in found.items()] == [GONE, GONE]


def test_a_seek_forgets_the_error() -> None:
    found = subscribed()
    found.fail_topic("t", GONE)
    found.seek(P0, 3)
    assert [state.error for _, state in found.items()] == [None, GONE]


def test_a_forgotten_position_is_neither_read_nor_committed() -> None:
    found = subscribed()
    before = version(found)
    found.forget_position(P0, b"n" * 16)
    state = found.get(P0)
    assert state is not None
    assert (state.position, state.fetch_from) == (UNKNOWN, UNKNOWN)
    assert not state.reads(b"o" * 16)
    assert state.version != before


def test_a_topic_is_known_again_when_its_partitions_come_back() -> None:
    """But not where a start is given, or the whole assignment is chosen anew: that is about the topic there is now."""
    found = subscribed()

    def topic_id(span: Span) -> bytes | None:
        found.add_partition(P0, span)
        state = found.get(P0)
        assert state is not None
        return state.topic_id

    state = found.get(P0)
    assert state is not None
    found.identify(state, b"o" * 16)
    assert topic_id(Span()) == b"o" * 16
    assert topic_id(Span(0)) is None
    found.forget_position(P0, b"n" * 16)
    found.seek(P0, 0)
    assert topic_id(Span()) == b"n" * 16
    assert topic_id(Span(0, topic_id=b"p" * 16)) == b"p" * 16
    found.assign({})
    assert topic_id(Span()) is None


def test_whether_all_is_done_costs_the_same_for_thousands_that_end_one_by_one() -> None:
    """It is asked in every poll; a look at all those that are done already would be quadratic."""
    looks = 0

    class Counting(subscription_module.PartitionState):
        __slots__ = ()

        @property
        def reached_stop(self) -> bool:
            nonlocal looks
            looks += 1
            return super().reached_stop

    partitions, found = [TopicPartition("t", number) for number in range(1_000)], Subscription()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subscription_module, "PartitionState", Counting)
        found.assign(dict.fromkeys(partitions, Span(0, 1)))
    for tp in partitions:
        assert not found.done
        state = found.get(tp)
        assert state is not None
        state.position = 1
    assert found.done
    assert looks < 10 * len(partitions)
    found.seek(partitions[3], 0)
    assert not found.done
    found.remove_partition(partitions[3])
    assert found.done
    found.add_partition(partitions[3], Span(0, 1))
    assert not found.done


def test_only_partitions_that_have_moved_are_noted() -> None:
    found = subscribed()
    moved = found.watch_positions()
    assert list(moved) == [P0, P1], "what is assigned when the watch begins"
    moved.clear()
    found.note_moved(P1)
    assert list(moved) == [P1]
    moved.clear()
    found.seek(P0, 7)
    found.add_partition(P2, Span(0))
    assert set(moved) == {P0, P2}


def test_the_last_watcher_of_positions_is_the_only_one() -> None:
    found = subscribed()
    before = found.watch_positions()
    before.clear()
    after = found.watch_positions()
    after.clear()
    found.note_moved(P0)
    assert (list(before), list(after)) == ([], [P0])
