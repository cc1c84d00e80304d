"""How far the input is settled, whatever the order in which deliveries are told of."""

import random

import pytest

from kcli.core.producer.origins import listed_rows
from kcli.flows.inputs.item import InputPosition, TextChunk
from kcli.flows.produce.ack_tracker import AckTracker


def chunks(*sizes: int) -> list[TextChunk]:
    found, first = [], 0
    for size in sizes:
        found.append(
            TextChunk(InputPosition(0, first, first, first), size, "stdin", (first + size, first + size))
        )
        first += size
    return found


def test_nothing_sent_is_where_it_began() -> None:
    tracker = AckTracker()
    tracker.start_at(InputPosition(1, 5))
    assert tracker.position() == InputPosition(1, 5)


def test_the_input_position_is_the_lowest_uncompleted_row() -> None:
    tracker, (one, two) = AckTracker(), chunks(10, 10)
    tracker.add_chunk(one)
    tracker.add_chunk(two)
    assert tracker.position() == InputPosition(0, 0, 0, 0)
    tracker.complete_rows(two, range(10))
    tracker.complete_rows(one, listed_rows([0, 1, 3, 9]))
    assert tracker.position() == InputPosition(0, 2, 0, 0)  # the checksum is of what stands before the chunk
    tracker.complete_rows(one, listed_rows([2, 4, 5, 6, 7, 8]))
    assert tracker.position() == InputPosition(0, 20, 20, 20)


def test_deliveries_may_be_reported_before_the_chunk_is_noted() -> None:
    tracker, (one,) = AckTracker(), chunks(3)
    tracker.complete_rows(one, range(1, 3))
    assert tracker.position() == InputPosition()
    tracker.add_chunk(one)
    assert tracker.position().unit == 0
    tracker.complete_rows(one, range(1))
    assert tracker.position().unit == 3


def test_a_held_unit_is_never_passed() -> None:
    tracker, (one, two) = AckTracker(), chunks(5, 5)
    tracker.hold_unit(one, 3)
    tracker.add_chunk(one)
    tracker.add_chunk(two)
    tracker.complete_rows(one, range(5))
    tracker.complete_rows(two, range(5))
    assert tracker.position().unit == 3
    tracker.hold_unit(one, 1)
    assert tracker.position().unit == 1


@pytest.mark.parametrize("seed", range(20))
def test_any_order_gives_the_first_gap(seed: int) -> None:
    rng = random.Random(seed)
    own = chunks(*(rng.randrange(1, 30) for _ in range(5)))
    tracker = AckTracker()
    for chunk in own:
        tracker.add_chunk(chunk)
    left = [(chunk, row) for chunk in own for row in range(chunk.units)]
    rng.shuffle(left)
    while left:
        taken = {}
        for _ in range(rng.randrange(1, 9)):
            if left:
                chunk, row = left.pop()
                taken.setdefault(chunk, []).append(row)
        for chunk, rows in taken.items():
            tracker.complete_rows(chunk, listed_rows(sorted(rows)))
        total = sum(chunk.units for chunk in own)
        assert tracker.position().unit == min((chunk.unit(row) for chunk, row in left), default=total)
