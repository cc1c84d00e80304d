"""Two sequences of records aligned: what one side lacks, rather than all that is shifted by it. Pure.

Records are their digests. Where the sequences differ, a record that the other side does not have later is a difference,
and one that it has is where both go on together; of two such records the nearer one. So the time is that of both lengths,
and records in another order are found to be missing at one place, and too many at the other.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence

from kcli.core.classes import NamedTuple


class Gap(NamedTuple):
    """The records from one index up to, not including, another on each side, which the other side does not have there."""

    source: range
    target: range

    @property
    def records(self) -> int:
        """How many records differ at least."""
        return max(len(self.source), len(self.target))


def gaps(source: Sequence[bytes], target: Sequence[bytes]) -> Iterator[Gap]:
    """What differs, in order."""
    ours, theirs = _places(source), _places(target)
    i = j = first = other = 0
    while i < len(source) and j < len(target):
        if source[i] == target[j]:
            if i > first or j > other:
                yield Gap(range(first, i), range(other, j))
            i, j = i + 1, j + 1
            first, other = i, j
            continue
        there, here = _next(theirs, source[i], j), _next(ours, target[j], i)
        if there is None or here is None:
            i, j = i + (there is None), j + (here is None)
        elif there - j <= here - i:
            j = there
        else:
            i = here
    if first < len(source) or other < len(target):
        yield Gap(range(first, len(source)), range(other, len(target)))


def _places(digests: Sequence[bytes]) -> dict[bytes, list[int]]:
    found: defaultdict[bytes, list[int]] = defaultdict(list)
    for place, digest in enumerate(digests):
        found[digest].append(place)
    return dict(found)


def _next(places: dict[bytes, list[int]], digest: bytes, first: int) -> int | None:
    found = places.get(digest, [])
    at = bisect_left(found, first)
    return found[at] if at < len(found) else None
