"""Sequences aligned: what is missing is found, and not what follows it."""

import random

import pytest

from kcli.flows.mirror.proof.alignment import gaps


def found(source: str, target: str) -> list[tuple[str, str]]:
    return [
        (source[gap.source.start : gap.source.stop], target[gap.target.start : gap.target.stop])
        for gap in gaps([one.encode() for one in source], [one.encode() for one in target])
    ]


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("", "", []),
        ("abc", "abc", []),
        ("abcdef", "abdef", [("c", "")]),
        ("abdef", "abcdef", [("", "c")]),
        ("abcdef", "abXdef", [("c", "X")]),
        ("abcdef", "abXYef", [("cd", "XY")]),
        ("abc", "", [("abc", "")]),
        ("abc", "abcd", [("", "d")]),
        ("abcd", "abc", [("d", "")]),
        ("abcdefg", "bcdefga", [("a", ""), ("", "a")]),
        ("aaaa", "aaa", [("a", "")]),
        ("abcdefgh", "acdeXfh", [("b", ""), ("", "X"), ("g", "")]),
    ],
)
def test_what_differs(source: str, target: str, expected: list[tuple[str, str]]) -> None:
    assert found(source, target) == expected


def test_without_the_gaps_both_are_the_same() -> None:
    chance = random.Random(7)
    for _ in range(300):
        source = [bytes([chance.randrange(12)]) for _ in range(chance.randrange(30))]
        target = [one for one in source if chance.random() < 0.9]
        for _ in range(chance.randrange(4)):
            target.insert(chance.randrange(len(target) + 1), bytes([chance.randrange(14)]))
        differ = list(gaps(source, target))
        kept = [
            [one for at, one in enumerate(side) if not any(at in gap[number] for gap in differ)]
            for number, side in enumerate((source, target))
        ]
        assert kept[0] == kept[1]
        assert bool(differ) == (source != target)
