"""Which records have some bytes in their key or value: both implementations, and the twins on damaged payloads."""

import random
from array import array
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.core.errors import CorruptRecordsError
from tests.parity import plain
from tests.parity.damage import TRIALS, GuardedMemory, mutations
from tests.parity.test_decode import GOOD, MALFORMED, ROWS, Rows, encode, shared
from tests.parity.test_twins_more import Twins, assert_same

NEEDLES = (b"", b"a", b"ab", b"\0", b"\0\0\0", b"abc" * 30)


@shared
@given(rows=ROWS, seed=st.integers(), in_key=st.booleans())
def test_search_results_are_exact_and_complete(
    kernels: ModuleType, rows: Rows, seed: int, in_key: bool
) -> None:
    payload, seeded = encode(rows), random.Random(seed)
    fields = [row[0] if in_key else row[1] for row in rows]
    some = seeded.choice([field for field in fields if field] or [b"x"])
    at = seeded.randrange(len(some))
    for needle in (*NEEDLES, some[at : at + seeded.randrange(1, 5)], some):
        found, ranges = kernels.find_in_records(payload, len(rows), in_key, needle, 7)
        assert list(found) == [field is not None and needle in field for field in fields]
        places = array("q", ranges)
        cut = [payload[start - 7 : end - 7] for start, end in zip(places[::2], places[1::2], strict=True)]
        assert cut == [field for field, hit in zip(fields, found, strict=True) if hit]


def test_bytes_that_reach_over_the_border_of_a_field_are_not_in_it(kernels: ModuleType) -> None:
    payload = plain.record(b"ab", b"cd", b"\0", 0, 0) + plain.record(None, b"ab", b"\0", 1, 0)
    assert kernels.find_in_records(payload, 2, True, b"b\x04c", 0)[0] == b"\0\0"
    assert kernels.find_in_records(payload, 2, False, b"\x04cd", 0)[0] == b"\0\0"
    assert kernels.find_in_records(payload, 2, False, b"cd\0", 0)[0] == b"\0\0"
    assert kernels.find_in_records(payload, 2, False, b"ab", 0)[0] == b"\0\1"


@pytest.mark.parametrize("bad", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_records_are_refused(kernels: ModuleType, bad: bytes) -> None:
    with pytest.raises(CorruptRecordsError, match=r"byte \d+"):
        kernels.find_in_records(plain.record(None, b"abc", b"\0", 0, 0) + bad, 2, False, b"b", 0)


@pytest.mark.parametrize("count", [-1, 2, 1000, (1 << 31) - 1])
def test_a_count_that_is_not_that_of_the_records_is_refused(kernels: ModuleType, count: int) -> None:
    with pytest.raises(CorruptRecordsError):
        kernels.find_in_records(GOOD, count, False, b"", 0)


def test_a_needle_is_needed(kernels: ModuleType) -> None:
    with pytest.raises(TypeError):
        kernels.find_in_records(GOOD, 1, False, None, 0)


def test_searching_mutated_payloads(twins: Twins) -> None:
    memory, seeded, accepted = GuardedMemory(64_000), random.Random(12), 0
    for payload, count in mutations("find", TRIALS):
        data, needle = memory.hold(payload), seeded.choice(NEEDLES)
        accepted += (
            assert_same(twins, "find_in_records", data, count, seeded.random() < 0.5, needle, 0) is not None
        )
    assert TRIALS // 50 < accepted < TRIALS // 2
