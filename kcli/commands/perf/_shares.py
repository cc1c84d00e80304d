"""How the records of a test are divided among its processes. Pure."""

from itertools import pairwise


def shares(total: int | None, count: int) -> list[int | None]:
    """``count`` numbers that differ by one at most, and whose sum is ``total``; None for each: no limit."""
    if total is None:
        return [None] * count
    bounds = [total * number // count for number in range(count + 1)]
    return [stop - start for start, stop in pairwise(bounds)]
