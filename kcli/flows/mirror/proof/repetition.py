"""What of the target's surplus records the mirror itself has stored, and what somebody else. Pure.

A mirror that is killed leaves records that no saved position covers. At least once, the next run begins at that position
and stores them again:

1. saved: source offset 100 is the next one, the target ends at offset 40;
2. source offsets 100 to 129 are stored at 40 to 69, and the mirror is killed before it saves that;
3. the next run begins at 100: its records are at 70 and after, and the map has nothing at 40 to 69.

So what the mirror has stored beside its map begins with the source's record that follows the map's end there, and goes on
in order; after several kills it does so again and again. Anything else was written by somebody else.
"""

from array import array
from collections.abc import Iterable, Sequence

from kcli.core.classes import NamedTuple


class Told(NamedTuple):
    """``own``: how many records the mirror has stored; ``reach``: how many of the source's records these were at most;
    ``foreign``: the offsets of the others.
    """

    own: int
    reach: int
    foreign: list[int]


def tell_apart(surplus: Iterable[tuple[int, bytes]], source: Sequence[bytes]) -> Told:
    """Of ``surplus`` (offsets and digests of the target's records, in order), what repeats the beginning of ``source``
    (digests of the source's records, in order), once or several times. Records of others may be between its records.

    The longest beginning of ``source`` that ends at a record is tracked as in the algorithm of Knuth, Morris and Pratt: a
    sequence consists of such beginnings if and only if at each of its records one of at least one record ends.
    """
    shorter = _borders(source)
    own = reach = matched = 0
    foreign: list[int] = []
    for offset, digest in surplus:
        length = matched
        while True:
            if length < len(source) and source[length] == digest:
                length += 1
                break
            if not length:
                break
            length = shorter[length]
        if not length:
            foreign.append(offset)
            continue
        own, matched, reach = own + 1, length, max(reach, length)
    return Told(own, reach, foreign)


def not_removed(foreign: Iterable[tuple[int, bytes]], removed: int) -> list[int]:
    """Of the ``foreign`` records (offsets and digests, in order) the offsets of those that are not the mirror's, where
    the source does not have the first ``removed`` offsets of what follows any more.

    Adjacent ones may be the copies of so many records, and their repetitions.
    """
    runs: list[list[tuple[int, bytes]]] = []
    for offset, digest in foreign:
        if not runs or runs[-1][-1][0] != offset - 1:
            runs.append([])
        runs[-1].append((offset, digest))
    return [at for run in runs for at in tell_apart(run, [digest for _, digest in run[:removed]]).foreign]


def _borders(source: Sequence[bytes]) -> "array[int]":
    """For each length of a beginning: the longest shorter one that it ends with."""
    found = array("i", [0, 0])
    length = 0
    for digest in source[1:]:
        while length and source[length] != digest:
            length = found[length]
        if source[length] == digest:
            length += 1
        found.append(length)
    return found
