"""murmur2 as Java has it: its own published vectors, and the plain twin on anything."""

from types import ModuleType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.parity import plain


@pytest.mark.parametrize(
    ("key", "signed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_vectors_of_javas_tests(kernels: ModuleType, key: bytes, signed: int) -> None:
    assert kernels.murmur2(key) == signed & 0xFFFFFFFF


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.binary(max_size=30)), st.integers(1, 500))
def test_any_key(kernels: ModuleType, keys: list[bytes], partitions: int) -> None:
    assert [kernels.murmur2(key) for key in keys] == [plain.murmur2(key) for key in keys]
    assert kernels.partition_keys(keys, partitions) == [
        (plain.murmur2(key) & 0x7FFFFFFF) % partitions for key in keys
    ]
