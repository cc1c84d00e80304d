"""``--key``: exactly that key, and where Java's producers put it."""

import pytest

from kcli.core.producer.partitioner import partitioner
from kcli.core.types import Record
from kcli.flows.filters.selection import KeyFilter, Selection, owner
from tests.batches import fetched_of, wanted_by

ROWS = [
    Record("t", 0, n, 0, 0, key, value)
    for n, (key, value) in enumerate(
        [(b"a", b"b"), (b"b", b"a"), (b"aa", b"a"), (None, b"a"), (b"", b"a"), (b"a", None)]
    )
]


@pytest.mark.parametrize(
    ("key", "offsets"), [(b"a", [0, 5]), (b"aa", [2]), (b"", [4]), (None, [3]), (b"c", []), (b"\xff", [])]
)
def test_exactly_that_key(key: bytes | None, offsets: list[int]) -> None:
    assert wanted_by(Selection([KeyFilter(key)]), fetched_of(ROWS)) == offsets


@pytest.mark.parametrize("partitions", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("key", [b"", b"a", b"21", b"foobar", b"\xff" * 9])
def test_the_owner_is_where_our_producer_puts_it(key: bytes, partitions: int) -> None:
    assert [owner(key, partitions)] == partitioner("murmur2")([key], partitions)


def test_the_owner_as_java_has_it() -> None:
    """Utils.toPositive(murmur2("21")) % 10: the hash is −973932308."""
    assert owner(b"21", 10) == (-973932308 & 0x7FFFFFFF) % 10
