"""Where offsets of an export are on the target: any gaps, batches, transactions, kills and nights."""

import random
from bisect import bisect_left

from kcli.core.producer.origins import OriginRows
from kcli.pipeline.restored_offsets import Pairs, RestoredOffsets, commits_of
from tests.each import each


class Target:
    """A partition: the offsets of the export that its records have, by offset."""

    def __init__(self) -> None:
        self.records: dict[int, int] = {}
        self.end = 0

    def first(self, at: int) -> int | None:
        """What a reader who begins at an offset gets."""
        found = [offset for offset in self.records if offset >= at]
        return self.records[min(found)] if found else None


def import_(rng: random.Random, target: Target, known: Pairs, wanted: list[int], span: tuple[int, int, list[int]],
            *, is_first: bool) -> Pairs:  # fmt: skip
    """Sends what is left in transactions; where one is aborted, the task begins again with what is committed."""
    at, end, source = span
    committed = known
    while True:
        offsets = RestoredOffsets(committed, wanted, at, is_first=is_first)
        while True:
            left = source[bisect_left(source, at) :]
            rows = left[: rng.randint(0, 5)]
            target.end += rng.randint(0, 1)  # a marker of somebody else's transaction
            placed = {}
            for start in range(0, len(rows), 2):
                batch = rows[start : start + 2]
                base = target.end
                origins = [OriginRows(0, [-1, *batch], range(1, len(batch) + 1))]
                if len(batch) == 2 and rng.random() < 0.5:
                    origins = [OriginRows(0, [batch[0]], range(1)), OriginRows(1, [batch[1]], range(1))]
                offsets.delivered(origins, base)
                placed |= dict(zip(range(base, base + len(batch)), batch, strict=True))
                target.end += len(batch)
            is_last = len(rows) == len(left)
            reached = end if is_last else rows[-1] + 1 if rows else at
            if rng.random() < 0.3:
                target.end += 1  # the marker of an abort
                break
            offsets.reached(reached, at_end=is_last)
            target.records |= placed
            target.end += 1
            committed, at = dict(offsets.pairs), reached
            is_first = is_first and not target.records
            if is_last:
                return committed


@each("seed", range(300))
def test_a_reader_at_the_offset_of_the_target_gets_the_same_records(seed: int) -> None:
    rng = random.Random(seed)
    target, known, start = Target(), Pairs(), rng.randint(0, 3)
    target.end = rng.randint(0, 3)
    at, everything = start, list[int]()
    for night in range(3):
        end = at + rng.randint(0, 30)
        source = sorted(rng.sample(range(at, end), rng.randint(0, end - at)))
        everything += source
        wanted = sorted({rng.randint(start, end) for _ in range(rng.randint(0, 6))})
        if source:
            is_first = len(everything) == len(source)
            known = import_(rng, target, known, wanted, (at, end, source), is_first=is_first)
        for offset in wanted:
            if offset not in known:  # restored by an earlier night, which did not look for it
                assert not source or offset < at or not everything, (night, offset)
                continue
            following = [one for one in everything if one >= offset]
            assert target.first(known[offset]) == (following[0] if following else None), (night, offset)
        at = end


def test_pairs_are_divided_among_commits_that_a_broker_accepts() -> None:
    pairs = {n << 40: n << 41 for n in range(1_000)}
    commits = commits_of("g", pairs)
    assert list(commits)[:3] == ["g.offsets", "g.offsets.1", "g.offsets.2"]
    assert all(len(one.metadata) <= 3_100 for one in commits.values())
    assert {one.offset for one in commits.values()} == {len(commits)}
    found = " ".join(one.metadata for one in commits.values()).split(" ")
    assert dict(tuple(map(int, pair.split(":"))) for pair in found) == pairs


def test_nothing_is_kept_of_nothing() -> None:
    (one,) = commits_of("g", {}).values()
    assert one.metadata == ""
