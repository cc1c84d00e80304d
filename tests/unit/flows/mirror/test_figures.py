"""What a mirror hands over to those who watch it: taken by its own thread, and only if anybody asks."""

from threading import Thread

import pytest

from kcli.core import clock
from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy.offset_map import OffsetMap
from kcli.flows.mirror.copy.partition_copy import PartitionCopy
from kcli.flows.mirror.copy.partition_state import State
from kcli.flows.mirror.figures import Figures, Handover, Role, partition_figures

TP = TopicPartition("t", 0)
FIGURES = Figures(0.0, "j", "from", "to", Role.HOLDER)


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Milliseconds since the epoch."""
    made = [1_000_000]
    monkeypatch.setattr(clock, "wall_ms", lambda: made[0])
    monkeypatch.setattr("kcli.flows.mirror.figures.wall_ms", lambda: made[0])
    return made


def copy_of(position: int = 0) -> PartitionCopy:
    return PartitionCopy(TP, TopicPartition("copy", 0), OffsetMap(position, 0), position=position)


def age(copy: PartitionCopy) -> float | None:
    return partition_figures([copy], {})[0].seconds


def copied(copy: PartitionCopy, stop: int, time_ms: int = -1) -> None:
    offsets = range(copy.sent_to, stop)
    copy.confirm(copy.send(offsets, stop, 0, 1, time_ms), range(len(offsets)), copy.position)


def test_nothing_is_taken_while_nobody_asks() -> None:
    handover = Handover()
    for _ in range(3):
        handover.turned(lambda: pytest.fail("nobody has asked"))


def test_who_asks_gets_those_of_the_next_turn_once() -> None:
    handover = Handover()
    handover.turned(lambda: FIGURES)
    found: list[Figures | None] = []
    thread = Thread(target=lambda: found.append(handover.figures(20)))
    thread.start()
    while thread.is_alive():
        handover.turned(lambda: FIGURES)
    assert found == [FIGURES]
    handover.turned(lambda: pytest.fail("nobody has asked again"))


def test_without_turns_nobody_waits() -> None:
    handover = Handover()
    assert (handover.rests, handover.figures(1_000)) == ("the mirror starts", None)


def test_a_partition_that_is_caught_up_has_no_age(now: list[int]) -> None:
    copy = copy_of()
    assert age(copy) is None  # its end is not known
    copy.see_end(0, now[0])
    assert age(copy) == 0
    copied(copy, 5)
    copy.see_end(5, now[0])
    now[0] += 60_000
    assert age(copy) == 0


def test_the_age_is_that_of_the_first_record_that_is_not_confirmed(now: list[int]) -> None:
    copy = copy_of()
    first = copy.send(range(5), 5, 0, 1, now[0] - 30_000)
    copy.send(range(5, 9), 9, 0, 1, now[0] - 10_000)
    copy.see_end(9, now[0])
    assert age(copy) == 30
    copy.confirm(first, range(5), 0)
    assert age(copy) == 10


def test_the_age_of_what_is_not_read_is_since_the_last_end_that_is_reached_was_seen(now: list[int]) -> None:
    """A partition that is always a second behind has an age of seconds, however long it goes on."""
    copy = copy_of()
    copy.see_end(0, now[0])
    copy.see_end(10, now[0])
    for end in range(20, 1_000, 10):
        now[0] += 1_000
        copied(copy, end - 10)
        copy.see_end(end, now[0])
    assert copy.lag == 10
    assert age(copy) == 1
    now[0] += 7_000
    assert age(copy) == 8


def test_the_age_after_a_rest_begins_when_the_records_come(now: list[int]) -> None:
    copy = copy_of()
    copy.see_end(0, now[0])
    now[0] += 3_600_000
    copy.end_seen_ms = now[0]  # as the watch notes it where nothing has moved
    now[0] += 1_000
    copy.see_end(4, now[0])
    assert age(copy) == 1


def test_a_copy_that_begins_behind_knows_no_age_before_its_first_record(now: list[int]) -> None:
    copy = copy_of()
    copy.see_end(100, now[0])
    now[0] += 5_000
    copy.see_end(120, now[0])
    assert (copy.lag, age(copy)) == (120, None)
    copied(copy, 100)
    copy.see_end(130, now[0])
    assert age(copy) == 5  # what was there at the beginning is copied


def test_what_is_not_read_has_neither_lag_nor_age(now: list[int]) -> None:
    copy = copy_of()
    copy.see_end(0, now[0])
    copy.see_end(-1, now[0])
    copy.change_state(State.WAITING, "away")
    (found,) = partition_figures([copy], {TP: 2})
    assert (found.state, found.lag, found.seconds, found.gaps) == (State.WAITING, None, None, 2)


def test_a_topic_that_was_created_anew_has_no_old_age(now: list[int]) -> None:
    copy = copy_of()
    copied(copy, 5)
    copy.see_end(5, now[0])
    copy.see_end(5, now[0])
    copy.restart("id", None)
    now[0] += 60_000
    copy.see_end(3, now[0])
    assert age(copy) is None
