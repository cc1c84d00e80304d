"""``mark_runs``: both implementations on marks of all forms, in batches and runs, and on damaged ones."""

import random
from collections.abc import Iterable
from itertools import pairwise
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.core.errors import CorruptRecordsError
from kcli.core.kernels.arrow_ops import ArrowPart
from tests.parity.damage import TRIALS, GuardedMemory, mutations
from tests.parity.parts import EVERYTHING, NOW, Row, framed, mutated_runs, part_of
from tests.parity.test_decode import shared

Twins = tuple[ModuleType, ModuleType]

MAGIC, HEAD = b"mark", 6


def marked(number: int, head: bytes = b"marked", rest: bytes = b"value") -> bytes:
    return b"%s%012x %s" % (head, number, rest)


def values(*several: bytes | None) -> list[Row]:
    return [Row(None, value) for value in several]


def outcome(kernels: ModuleType, *arguments: Any) -> Any:
    try:
        records, size, runs = kernels.mark_runs(*arguments)
        return records, size, [tuple(run) for run in runs]
    except CorruptRecordsError as error:
        return error.what, error.why, error.do
    except (ValueError, OverflowError) as error:
        return type(error), str(error)


def assert_same(twins: Twins, *arguments: Any) -> Any:
    pure, native = (outcome(twin, *arguments) for twin in twins)
    assert native == pure, arguments
    return pure


def numbers_of(runs: Iterable[tuple[bytes, int, int]]) -> list[tuple[bytes, int]]:
    return [(head, first + index) for head, first, count in runs for index in range(count)]


MARKS = st.lists(
    st.one_of(
        st.none(),
        st.sampled_from(
            (b"", b"mark", b"marked", b"other0000000000000 ", b"marked00000000000G ", b"marked" * 9)
        ),
        st.tuples(
            st.integers(0, 5) | st.just((1 << 48) - 1), st.sampled_from((b"marked", b"market")), st.binary()
        ),
    ),
    max_size=30,
)


@shared
@given(chosen=MARKS, cut=st.integers(0, 30), keys=st.booleans())
def test_marks_are_those_that_were_written(kernels: ModuleType, chosen: Any, cut: int, keys: bool) -> None:
    rows = [Row(b"key" if keys else None, marked(*one) if isinstance(one, tuple) else one) for one in chosen]
    split = [rows[:cut], rows[cut:]]
    parts = [part_of(some, 100 + at) for some, at in zip(split, (0, cut), strict=True) if some]
    for part in (part_of(rows), *([framed(parts)] if parts else [])):
        records, size, runs = kernels.mark_runs(part, MAGIC, HEAD)
        assert records == len(rows)
        assert size == sum(len(row.key or b"") + len(row.value or b"") for row in rows)
        wanted = [(one[1], one[0]) for one in chosen if isinstance(one, tuple)]
        assert numbers_of(runs) == wanted
        for (head, first, count), (next_head, next_first, _) in pairwise(runs):
            assert (head, first + count) != (next_head, next_first)  # runs are as long as they can be


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (b"marked00000000000a", "no blank"),
        (b"marked00000000000a\n", "no blank"),
        (b"marked00000000000A ", "upper case"),
        (b"marked 0000000000a ", "no digit"),
        (b"marked0000000000a  ", "too few digits"),
        (b"marked0000000000000a ", "too many digits"),
        (b"narked00000000000a ", "other magic"),
        (b"", "empty"),
        (None, "null"),
    ],
)
def test_what_is_no_mark(twins: Twins, value: bytes | None, why: str) -> None:
    assert why
    rows = values(marked(1), value, marked(2))
    records, size, runs = assert_same(twins, part_of(rows), MAGIC, HEAD)
    assert (records, size) == (3, 2 * len(marked(1)) + len(value or b""))
    assert runs == [(b"marked", 1, 2)]


def test_a_run_ends_at_a_gap_a_repeat_and_another_head(twins: Twins) -> None:
    rows = values(*map(marked, (7, 8, 8, 9, 11)), marked(12, b"market"), marked(12))
    *_, runs = assert_same(twins, part_of(rows), MAGIC, HEAD)
    assert runs == [
        (b"marked", 7, 2), (b"marked", 8, 2), (b"marked", 11, 1), (b"market", 12, 1), (b"marked", 12, 1),
    ]  # fmt: skip


def test_only_records_at_wanted_offsets_count(twins: Twins) -> None:
    rows = values(*map(marked, range(7)))
    for part in (
        part_of(rows, span=(102, 104)),
        framed([part_of(rows[:3]), part_of(rows[3:], 103)], span=(102, 104)),
    ):
        assert assert_same(twins, part, MAGIC, HEAD) == (3, 3 * len(marked(0)), [(b"marked", 2, 3)])
    assert assert_same(twins, part_of(rows, span=(200, 300)), MAGIC, HEAD) == (0, 0, [])
    assert assert_same(twins, part_of([]), MAGIC, HEAD) == (0, 0, [])


def test_a_mark_that_ends_where_the_memory_does(twins: Twins) -> None:
    memory = GuardedMemory(4_000)
    for length in range(len(marked(5, rest=b"")) + 1):
        part = part_of(values(marked(4, rest=b""), marked(5, rest=b"")[:length]))
        held = part._replace(data=memory.hold(bytes(part.data)))
        *_, runs = assert_same(twins, held, MAGIC, HEAD)
        assert runs == [(b"marked", 4, 2 if length == HEAD + 13 else 1)]


@pytest.mark.parametrize(("magic", "head"), [(b"marked", 5), (b"m", 0), (b"", -1), (b"m", -(1 << 40))])
def test_a_head_is_no_shorter_than_its_magic(twins: Twins, magic: bytes, head: int) -> None:
    assert assert_same(twins, part_of(values(marked(1))), magic, head)[0] is ValueError


@pytest.mark.parametrize(
    "change", [{"base_offset": -1}, {"last_offset_delta": -1}, {"timestamp_type": 2}, {"records": 2}], ids=str
)
def test_parts_that_cannot_be(twins: Twins, change: dict[str, Any]) -> None:
    said = assert_same(twins, part_of(values(marked(1)))._replace(**change), MAGIC, HEAD)
    assert not isinstance(said[-1], list)


def test_mutated_payloads(twins: Twins) -> None:
    """Same verdict and words from both, on memory where nothing behind the payload may be read."""
    memory, seeded, accepted = GuardedMemory(64_000), random.Random(31), 0
    for payload, count in mutations("marks", TRIALS // 4):
        part = ArrowPart(memory.hold(payload), count, 5, 9000, NOW, NOW, 0, 3, *EVERYTHING)
        magic = seeded.choice((b"", b"0", b"v", b"\0"))
        found = assert_same(twins, part, magic, seeded.randrange(len(magic), 12))
        accepted += isinstance(found[-1], list)
    assert TRIALS // 200 < accepted < TRIALS // 8


def test_mutated_runs(twins: Twins) -> None:
    accepted = 0
    for part in mutated_runs(32, TRIALS // 8):
        accepted += isinstance(assert_same(twins, part, b"", 0)[-1], list)
    assert TRIALS // 100 < accepted < TRIALS // 8
