"""The last record of each key, in as many buckets as memory asks for."""

import random

import pytest

from kcli.core.types import Record
from kcli.flows.mirror.proof.last_values import Last, LastValues, NoKeyError, key_differences, key_digest
from tests.batches import batch_of


def records(*given: tuple[bytes | None, bytes | None]) -> list[Record]:
    return [Record("t", 0, at, 1_000, 0, key, value, ()) for at, (key, value) in enumerate(given)]


def last_of(given: list[Record], values: LastValues) -> LastValues:
    batch = batch_of(given)
    values.update(batch, batch.base_offset, batch.next_offset)
    return values


@pytest.mark.parametrize("seed", range(10))
def test_each_key_is_in_one_bucket_however_often_it_is_divided(seed: int) -> None:
    rng = random.Random(seed)
    given = records(*((b"%d" % rng.randrange(40), b"%d" % rng.randrange(3)) for _ in range(200)))
    whole = last_of(given, LastValues()).by_key
    found: dict[bytes, Last] = {}
    left = [(0, 1)]
    while left:
        number, of = left.pop()
        one = last_of(given, LastValues(number, of, most=5))
        assert len(one.by_key) <= 5
        assert not found.keys() & one.by_key
        found |= one.by_key
        while of < one.buckets:
            left.append((number + of, 2 * of))
            of *= 2
    assert found == whole


def test_a_change_of_the_rows_is_compared_as_the_records_would_be() -> None:
    given = records((b"a", b"1"), (b"b", None), (b"c", b""))
    changed = last_of(given, LastValues(change=lambda row: row if row[0] != b"c" else None))
    assert changed.by_key.keys() == {key_digest(b"a"), key_digest(b"b")}
    assert changed.by_key[key_digest(b"a")] == last_of(given, LastValues()).by_key[key_digest(b"a")]


def test_records_without_a_key_are_refused_unless_they_are_asked_for() -> None:
    given = records((None, b"1"), (None, None), (b"a", b"1"))
    with pytest.raises(NoKeyError, match="offset 0 has no key"):
        last_of(given, LastValues())
    one = last_of(given, LastValues(keyless=True))
    two = last_of(records((None, b"1"), (None, b""), (b"a", b"1")), LastValues(keyless=True))
    assert (one.without_key, len(one.by_key)) == (2, 1)
    assert one.digest_without_key != two.digest_without_key


def test_a_tombstone_that_is_gone_is_no_difference() -> None:
    one = last_of(records((b"a", b"1"), (b"b", b"1"), (b"b", None)), LastValues()).by_key
    two = last_of(records((b"a", b"1")), LastValues()).by_key
    assert list(key_differences(one, two)) == list(key_differences(two, one)) == []
