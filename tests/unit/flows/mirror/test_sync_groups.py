"""Translated commits: exact or unknown, never past the end, never backwards."""

import random

import pytest

from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.mirror.offset_map import OffsetMap
from kcli.flows.mirror.sync_groups import KEPT, SAME, SET, UNKNOWN, Mapped, translate_group

TP, COPY = TopicPartition("t", 0), TopicPartition("copy", 0)


def mapped() -> dict[TopicPartition, Mapped]:
    offsets = OffsetMap(10, 100)
    offsets.append(10, 100, 10)
    offsets.append(25, 111, 5)
    offsets.advance(40)
    return {TP: Mapped(COPY, offsets)}


@pytest.mark.parametrize(
    ("offset", "there", "target", "status"),
    [
        (10, None, 100, SET),
        (15, None, 105, SET),
        (22, None, 111, SET),
        (40, None, 116, SET),
        (9, None, None, UNKNOWN),
        (41, None, None, UNKNOWN),
        (15, 105, 105, SAME),
        (15, 104, 105, SET),
        (15, 106, 105, KEPT),
    ],
)
def test_one_committed_offset(offset: int, there: int | None, target: int | None, status: str) -> None:
    already = {COPY: None if there is None else OffsetAndMetadata(there)}
    (row,) = translate_group("g", {TP: OffsetAndMetadata(offset)}, already, mapped())
    assert (row.target, row.source_offset, row.target_offset, row.status) == (COPY, offset, target, status)
    assert bool(row.why) == (status != SET)


def test_partitions_that_are_not_mirrored_are_left_out() -> None:
    assert translate_group("g", {TopicPartition("u", 0): OffsetAndMetadata(1)}, {}, mapped()) == []


def test_by_key_nothing_is_known() -> None:
    (row,) = translate_group("g", {TP: OffsetAndMetadata(15)}, {}, {TP: Mapped(COPY, None)})
    assert (row.status, row.why) == (UNKNOWN, "its records went to partitions by key")


def test_a_thousand_offsets_over_holes_on_both_sides_are_exact_or_unknown() -> None:
    rng = random.Random(7)
    offsets, pairs = OffsetMap(50, 7), []
    source, target = 50, 7
    for _ in range(400):
        source, target = source + rng.choice((0, 0, 1, 9)), target + rng.choice((0, 0, 1, 2))
        length = rng.randrange(1, 6)
        offsets.append(source, target, length)
        pairs += [(source + index, target + index) for index in range(length)]
        source, target = source + length, target + length
    maps = {TP: Mapped(COPY, offsets)}
    for _ in range(1000):
        offset = rng.randrange(0, source + 50)
        (row,) = translate_group("g", {TP: OffsetAndMetadata(offset)}, {}, maps)
        following = [t for s, t in pairs if s >= offset]
        if 50 <= offset <= source:
            assert row.target_offset == (following[0] if following else target)
        else:
            assert (row.status, row.target_offset) == (UNKNOWN, None)
