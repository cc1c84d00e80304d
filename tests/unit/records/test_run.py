"""A run of batches answers as its batches do, one by one."""

import pytest

from kcli.core.errors import CorruptRecordsError
from kcli.core.records.batch import HEADER_SIZE
from kcli.core.records.run import plain_run
from tests.unit.core.consumer.test_transactions import batch, marker


def joined(*parts: bytes) -> memoryview:
    return memoryview(b"".join(parts))


def test_neighbours_are_one() -> None:
    data = joined(batch(0, count=3).raw, batch(3, count=2).raw, marker(5, 7, abort=False).raw)
    run = plain_run(data, 0, transactional=True, verify=False)
    assert run is not None
    assert (run.base_offset, run.next_offset, run.count, run.size) == (
        0,
        5,
        5,
        len(data) - len(data[run.size :]),
    )
    assert run.values(1, 3, b"\n", b"") == (b"v\nv\nv\n", 3)
    assert [record.offset for record in run.records("t", 0)] == [0, 1, 2, 3, 4]
    assert [one.base_offset for one in run.batches()] == [0, 3]
    assert plain_run(data, run.size, transactional=True, verify=False) is None


def test_damage_inside_is_told_with_the_offsets_of_its_batch() -> None:
    raw = bytearray(joined(batch(0, count=3).raw, batch(3, count=2).raw))
    second = len(batch(0, count=3).raw)
    raw[second + HEADER_SIZE] = 0x7E  # the first record's length
    run = plain_run(memoryview(raw), 0, transactional=True, verify=False)
    assert run is not None
    with pytest.raises(CorruptRecordsError, match="offsets 3 to 4"):
        run.values(0, 9, b"\n", b"")


def test_it_is_no_longer_than_about_a_megabyte() -> None:
    one = bytes(batch(0, count=900).raw)
    data = bytearray()
    for index in range(2 * (1 << 20) // len(one)):
        data += (index * 900).to_bytes(8, "big") + one[8:]
    run = plain_run(memoryview(data), 0, transactional=True, verify=True)
    assert run is not None
    assert 1 << 20 <= run.size < (1 << 20) + len(one)
