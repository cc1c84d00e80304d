"""Suggestions for a mistyped name. ``difflib`` is imported only when they are needed.

``difflib`` finds candidates fast, but considers ``limit`` and ``delimiter`` similar, since one has the letters of the
other in their order. For a typing error it counts how few letters were mistyped.
"""

from collections.abc import Iterable

_CANDIDATES = 12
_MISTYPED = 0.4  # of the letters of the longer name: two of five, three of eight
_BEGINNING = 3  # letters from which on the beginning of a name stands for it


def near_names(name: str, known: Iterable[str], most: int = 1) -> list[str]:
    """The most similar names, nearest first; empty if none is similar.

    Similar are names with few letters mistyped, left out, added or swapped, and names of which one begins the other.
    """
    from difflib import get_close_matches  # noqa: TID251 - the only use, for mistyped names

    known = list(known)
    alike = get_close_matches(name, known, max(most, _CANDIDATES))
    near = [one for one in alike if is_near(name, one)]
    begun = sorted((one for one in known if one not in near and _begins(name, one)), key=len)
    return [*near, *begun][:most]


def is_near(one: str, other: str) -> bool:
    """Whether one of two names may be the other, mistyped or cut short."""
    longer = max(len(one), len(other))
    return _begins(one, other) or typing_errors(one, other) <= min(max(1.0, _MISTYPED * longer), longer - 1)


def _begins(one: str, other: str) -> bool:
    return min(len(one), len(other)) >= _BEGINNING and (one.startswith(other) or other.startswith(one))


def typing_errors(one: str, other: str) -> int:
    """How many letters are replaced, left out, added, or swapped with their neighbour."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        earlier, before, row = before, row, [i]
        for j, b in enumerate(other, 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                best = min(best, earlier[j - 2] + 1)
            row.append(best)
    return row[-1]
