"""The offset map against a list of all copied records."""

import random
from itertools import pairwise

import pytest

from kcli.core.errors import CorruptRecordsError, DataLossError
from kcli.flows.mirror.copy.offset_map import RUNS_PER_SEGMENT, ContinuedMap, OffsetMap, Run, Unknown


def copied(rng: random.Random, pieces: int) -> tuple[OffsetMap, list[tuple[int, int]]]:
    """A map made in pieces with holes on both sides, and all its (source, target) pairs."""
    start, target = rng.randrange(1000), rng.randrange(1000)
    made, pairs = OffsetMap(start, target), []
    source = start
    for _ in range(pieces):
        source += rng.choice((0, 0, 1, 7))
        target += rng.choice((0, 0, 0, 1, 3))
        if rng.random() < 0.5:
            offsets = list(range(source, source + rng.randrange(1, 9)))
            made.append(offsets[0], target, len(offsets))
        else:
            offsets = sorted(rng.sample(range(source, source + 30), rng.randrange(1, 12)))
            made.append_offsets(offsets, target)
        pairs += [(offset, target + index) for index, offset in enumerate(offsets)]
        source, target = offsets[-1] + 1, target + len(offsets)
    made.advance(source + rng.choice((0, 2)))
    return made, pairs


@pytest.mark.parametrize("seed", range(30))
def test_every_offset_is_translated_to_the_next_record_that_was_copied(seed: int) -> None:
    made, pairs = copied(random.Random(seed), 40)
    for offset in range(made.start, made.position + 1):
        following = [target for source, target in pairs if source >= offset]
        assert made.translate(offset) == (following[0] if following else pairs[-1][1] + 1)
    assert made.target_end == pairs[-1][1] + 1


def test_what_is_outside_of_the_copied_range_is_unknown() -> None:
    made = OffsetMap(100, 5)
    made.append(100, 5, 10)
    made.advance(120)
    assert made.translate(99) == Unknown("the mirror began at offset 100")
    assert made.translate(121) == Unknown("copied so far: up to offset 120")
    assert made.translate(120) == 15


def test_before_the_first_record_the_translation_is_where_the_copy_began() -> None:
    made = OffsetMap(100, 5)
    assert made.translate(100) == 5
    made.advance(110)
    assert made.translate(104) == 5


def test_adjacent_runs_are_one() -> None:
    made = OffsetMap(0, 0)
    for first in range(0, 1000, 10):
        made.append(first, first, 10)
    assert list(made.runs()) == [Run(0, 0, 1000)]


@pytest.mark.parametrize(("source", "target"), [(9, 10), (10, 9)])
def test_offsets_that_go_backwards_are_data_loss(source: int, target: int) -> None:
    made = OffsetMap(0, 0)
    made.append(0, 0, 10)
    with pytest.raises(DataLossError, match="the target lost records"):
        made.append(source, target, 1)


@pytest.mark.parametrize("seed", range(10))
def test_segments_load_to_the_same_map(seed: int) -> None:
    made, _ = copied(random.Random(seed), 900)
    assert len(made) > 2 * RUNS_PER_SEGMENT
    loaded = OffsetMap(made.start, made.target_start)
    loaded.load(data for _, data in made.segments())
    assert list(loaded.runs()) == list(made.runs())


def test_only_the_last_segment_changes() -> None:
    made, _ = copied(random.Random(1), 900)
    before = dict(made.segments())
    last = made.last_segment
    made.append(made.position + 5, made.target_end + 5, 3)
    after = dict(made.segments())
    assert {number: before[number] for number in range(last)} == {n: after[n] for n in range(last)}
    assert [number for number, _ in made.segments(last)] == list(range(last, made.last_segment + 1))


@pytest.mark.parametrize("data", [b"\x80", b"\x00\x00", b"\x02\x00\x02\x01\x00\x02", b"\xff" * 12])
def test_a_damaged_segment_is_refused(data: bytes) -> None:
    with pytest.raises(CorruptRecordsError, match="segment of an offset map"):
        OffsetMap(0, 0).load([data])


@pytest.mark.parametrize("seed", range(30))
def test_both_directions_lead_to_the_same_records(seed: int) -> None:
    made, pairs = copied(random.Random(seed), 40)
    sources, targets = dict(pairs), {target: source for source, target in pairs}
    for target in range(made.target_start - 1, made.target_end + 2):
        assert made.source_of(target) == targets.get(target)
        before = [source for source, other in pairs if other < target]
        assert made.source_before(target) == (before[-1] + 1 if before else made.start)
        following = [source for source, other in pairs if other >= target]
        assert made.source_from(target) == (following[0] if following else made.position)
    for source in range(made.start, made.position + 1):
        assert made.copy_of(source) == sources.get(source)
        assert made.copied(made.start, source) == sum(one < source for one in sources)
        assert made.copied(source, made.position) == sum(one >= source for one in sources)


@pytest.mark.parametrize("seed", range(30))
def test_pieces_are_cut_where_the_copies_pass_a_multiple_and_where_there_are_none(seed: int) -> None:
    rng = random.Random(seed)
    made, pairs = copied(rng, 40)
    targets = {target: source for source, target in pairs}
    first = rng.randrange(made.target_start - 3, made.target_end)
    stop = rng.randrange(first, made.target_end + 5)
    found = list(made.pieces(first, stop, 16))
    numbers = {at: one.number for one in found for at in range(one.first, one.stop)}
    assert list(numbers) == list(range(first, stop))
    for at, number in numbers.items():
        assert number == (targets[at] // 16 if at in targets else None)
    assert all(a.number != b.number for a, b in pairwise(found))


@pytest.mark.parametrize("seed", range(10))
def test_the_map_of_the_way_back_translates_to_the_next_record_that_was_copied(seed: int) -> None:
    made, pairs = copied(random.Random(seed), 40)
    back = made.inverted(made.target_end)
    for offset in range(made.target_start, made.target_end + 1):
        following = [source for source, target in pairs if target >= offset]
        assert back.translate(offset) == (following[0] if following else pairs[-1][0] + 1)


@pytest.mark.parametrize(("known", "between"), [(True, [41, 41]), (False, [22, None])])
def test_a_continued_map_translates_before_and_after_its_beginning(
    known: bool, between: list[int | None]
) -> None:
    """Offsets 105 and 106 are behind what the first direction has copied, and before the way back begins."""
    forth, later = OffsetMap(10, 100), OffsetMap(110, 40)
    forth.append(10, 100, 3)
    forth.append(20, 103, 2)
    later.append(112, 41, 5)
    whole = ContinuedMap(forth.inverted(forth.target_end), later, known=known)
    assert [whole.translate(at) for at in (100, 104, 110, 112, 113)] == [10, 21, 41, 41, 42]
    found = [whole.translate(at) for at in (105, 106)]
    assert [one if isinstance(one, int) else None for one in found] == between
