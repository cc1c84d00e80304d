"""Sequence numbers of performance tests are written where they belong: both implementations."""

from array import array
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.parity.test_decode import shared


@shared
@given(
    sizes=st.lists(st.integers(15, 40), min_size=1, max_size=50),
    sequence=st.integers(0, 16**12 - 50),
    cut=st.tuples(st.integers(0, 50), st.integers(0, 50)),
    at=st.integers(0, 3),
)
def test_numbers_are_written_into_their_lines_and_nowhere_else(
    kernels: ModuleType, sizes: list[int], sequence: int, cut: tuple[int, int], at: int
) -> None:
    first, stop = sorted(min(one, len(sizes)) for one in cut)
    lines = [bytearray(b"." * size) for size in sizes]
    starts = array("i", [sum(size + 1 for size in sizes[:line]) for line in range(len(sizes))])
    text = bytearray(b"\n".join(lines))
    kernels.mark_lines(text, starts.tobytes(), first, stop, at, sequence)
    for number, line in enumerate(lines[first:stop], sequence):
        line[at : at + 12] = f"{number:012x}".encode()
    assert text == b"\n".join(lines)


@pytest.mark.parametrize(
    ("starts", "first", "stop", "at", "sequence", "words"),
    [
        ([0, 20], 1, 3, 0, 0, "lines 1 to 3 of 2"),
        ([0, 20], -1, 1, 0, 0, "lines -1 to 1 of 2"),
        ([0, 20], 2, 1, 0, 0, "lines 2 to 1 of 2"),
        ([0, 20], 0, 2, 0, -1, "12 digits"),
        ([0, 20], 0, 2, 0, 16**12 - 1, "12 digits"),
        ([0, 29], 0, 2, 0, 0, "line 1 has no room"),
        ([0, -1], 0, 2, 0, 0, "line 1 has no room"),
        ([0, 20], 0, 2, 9, 0, "line 1 has no room"),
        ([0, 20], 0, 2, -1, 0, "line 0 has no room"),
        ([0, 20], 0, 2, 1 << 40, 0, "line 0 has no room"),
    ],
)
def test_lines_and_numbers_that_are_not_there_are_refused_and_nothing_is_written(
    kernels: ModuleType, starts: list[int], first: int, stop: int, at: int, sequence: int, words: str
) -> None:
    text = bytearray(b"." * 40)
    with pytest.raises(ValueError, match=words):
        kernels.mark_lines(text, array("i", starts).tobytes(), first, stop, at, sequence)
    assert text == b"." * 40


def test_starts_that_are_cut_off_are_refused(kernels: ModuleType) -> None:
    with pytest.raises(ValueError, match="7 bytes are no whole int32"):
        kernels.mark_lines(bytearray(40), b"1234567", 0, 1, 0, 0)
