"""What the mirror has stored beside its map is told apart from the records of others."""

import random

import pytest

from kcli.flows.mirror.proof.repetition import Told, not_removed, tell_apart
from tests.each import each


def told(surplus: str, source: str) -> Told:
    return tell_apart(
        [(100 + at, one.encode()) for at, one in enumerate(surplus)], [s.encode() for s in source]
    )


@pytest.mark.parametrize(
    ("surplus", "source", "own", "reach", "foreign"),
    [
        ("", "abc", 0, 0, []),
        ("ab", "abc", 2, 2, []),
        ("ababc", "abcd", 5, 3, []),
        ("aab", "abc", 3, 2, []),
        ("b", "abc", 0, 0, [100]),
        ("aXb", "abc", 2, 2, [101]),
        ("abX", "abc", 2, 2, [102]),
        ("aaaaab", "aaab", 6, 4, []),
        ("aabaaab", "aaab", 6, 4, [102]),
        ("a", "", 0, 0, [100]),
        ("abcd", "abc", 3, 3, [103]),
    ],
)
def test_what_is_a_sequence_of_beginnings_is_of_the_mirror(
    surplus: str, source: str, own: int, reach: int, foreign: list[int]
) -> None:
    assert told(surplus, source) == Told(own, reach, foreign)


@each("seed", range(200))
def test_any_number_of_kills_leaves_no_foreign_record(seed: int) -> None:
    """Few values, so that the source repeats itself: where one beginning ends and the next begins is not plain."""
    rng = random.Random(seed)
    source = "".join(rng.choice("ab") for _ in range(rng.randrange(1, 12)))
    kills = [source[: rng.randrange(len(source) + 1)] for _ in range(rng.randrange(1, 6))]
    found = told("".join(kills), source)
    assert found.foreign == []
    assert found.own == sum(map(len, kills))
    assert found.reach >= max(map(len, kills))


@each("seed", range(50))
def test_records_of_others_between_are_found(seed: int) -> None:
    rng = random.Random(seed)
    source = [b"%d" % number for number in range(20)]
    surplus: list[bytes] = []
    for _ in range(3):
        surplus += source[: rng.randrange(20)]
    foreign = sorted(rng.sample(range(len(surplus) + 3), 3))
    for at in foreign:
        surplus.insert(at, b"other")
    assert tell_apart(enumerate(surplus), source).foreign == foreign


@pytest.mark.parametrize(
    ("text", "removed", "others"),
    [
        ("", 3, []),
        ("abc", 0, [0, 1, 2]),
        ("abc", 3, []),
        ("ab abc", 3, []),
        ("abcab", 3, []),
        ("abcx", 3, [3]),
    ],
)
def test_what_the_source_has_removed_may_be_of_the_mirror(text: str, removed: int, others: list[int]) -> None:
    rows = [(at, letter.encode()) for at, letter in enumerate(text) if letter != " "]
    assert not_removed(rows, removed) == others
