"""The checksum of every implementation, whole and patched, against the package ``crc32c`` and a full recompute."""

from types import ModuleType

import pytest
from crc32c import crc32c as reference
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.parity.damage import GuardedMemory

shared = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)

TEXT = bytes(range(256)) * 1300
# Around the sizes at which lanes are put side by side, words end, and the GIL is released.
SIZES = sorted(
    {
        size + more
        for size in (0, 8, 64, 1536, 2048, 12_288, 98_304, 110_592, 300_000)
        for more in (-1, 0, 1, 7)
    }
    - {-1}
)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("start", [0, 1, 5])
def test_any_size_and_alignment(kernels: ModuleType, native: ModuleType, size: int, start: int) -> None:
    data = memoryview(TEXT)[start : start + size]
    for before in (0, 1, 0xFFFFFFFF, 0x12345678):
        assert kernels.crc32c(data, before) == reference(data, before)
        assert native.crc32c_tables(data, before) == reference(data, before)


def test_nothing_behind_the_data_is_read(native: ModuleType) -> None:
    memory = GuardedMemory(20_000)
    for size in (*range(70), 1536, 1537, 12_300):
        data = memory.hold(TEXT[:size])
        assert native.crc32c(data) == native.crc32c_tables(data) == reference(bytes(data))


@shared
@given(
    st.binary(max_size=50), st.data(), st.one_of(st.binary(max_size=300), st.integers(0, 200_000).map(bytes))
)
def test_a_patched_checksum_is_that_of_the_patched_message(
    kernels: ModuleType, head: bytes, data: st.DataObject, tail: bytes
) -> None:
    old = data.draw(st.binary(max_size=60))
    new = data.draw(st.binary(min_size=len(old), max_size=len(old)))

    patched = kernels.crc32c_patch(reference(head + old + tail), old, new, len(tail))

    assert patched == reference(head + new + tail)


@pytest.mark.parametrize("tail", [0, 1, 1 << 31, (1 << 40) + 5, (1 << 63) - 1])
def test_tails_of_any_length(twins: tuple[ModuleType, ModuleType], tail: int) -> None:
    pure, native = twins
    assert pure.crc32c_patch(7, b"old", b"new", tail) == native.crc32c_patch(7, b"old", b"new", tail)


def test_patching_twice_undoes_it(kernels: ModuleType) -> None:
    there = kernels.crc32c_patch(0xCAFEBABE, b"one", memoryview(b"two"), 1000)
    assert there != 0xCAFEBABE
    assert kernels.crc32c_patch(there, b"two", b"one", 1000) == 0xCAFEBABE


@pytest.mark.parametrize(
    ("old", "new", "tail", "words"),
    [(b"ab", b"abc", 0, "3 bytes cannot replace 2"), (b"a", b"b", -1, "-1 bytes cannot follow")],
)
def test_other_releases_are_no_patch(
    kernels: ModuleType, old: bytes, new: bytes, tail: int, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        kernels.crc32c_patch(0, old, new, tail)
