"""A run of batches answers as its batches do, one by one."""

import pytest

from kcli.core.errors import CorruptRecordsError
from kcli.core.kernels import render_ops as op
from kcli.core.kernels.active import decode_headers
from kcli.core.records.batch import HEADER_SIZE, RecordBatch
from kcli.core.records.builder import BatchBuilder
from kcli.core.records.run import plain_run
from tests.unit.records.test_isolation import batch, marker


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
    assert plain_run(data, run.size, transactional=True, verify=False) is None  # a marker


def test_damage_inside_is_reported_with_the_offsets_of_its_batch() -> None:
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


def test_a_batch_alone_is_itself_and_another_leader_epoch_ends_a_run() -> None:
    one, two = bytearray(batch(0, count=3).raw), bytearray(batch(3, count=2).raw)
    alone = plain_run(memoryview(one), 0, transactional=True, verify=True)
    assert isinstance(alone, RecordBatch)
    two[15] = 9  # the leader epoch, which the checksum does not cover
    first = plain_run(memoryview(one + two), 0, transactional=True, verify=True)
    assert isinstance(first, RecordBatch)
    assert first.next_offset == 3


def test_columns_are_those_of_all_batches_in_one_payload() -> None:
    builder = BatchBuilder(room=10_000)
    builder.append(b"key", b"value", (("h", b"x"),), 1_000)
    builder.append(None, None, (), 1_005)
    late = bytearray(b"".join(builder.wire()))
    late[:8] = (3).to_bytes(8, "big")
    data = memoryview(bytes(batch(0, count=3).raw) + bytes(late))
    run = plain_run(data, 0, transactional=True, verify=True)
    assert run is not None
    columns, payload = run.columns(), run.payload()
    assert columns.offset_deltas == [0, 1, 2, 3, 4]
    assert [run.base_timestamp + delta for delta in columns.timestamp_deltas] == [0, 0, 0, 1_000, 1_005]
    values = [
        None if start < 0 else bytes(payload[start:end])
        for start, end in zip(columns.value_starts, columns.value_ends, strict=True)
    ]
    assert values == [b"v", b"v", b"v", b"value", None]
    assert decode_headers(payload, columns.header_starts[3], columns.header_ends[3]) == (("h", b"x"),)


def test_it_renders_as_its_batches_do() -> None:
    data = joined(batch(0, count=3).raw, batch(3, count=2).raw)
    run = plain_run(data, 0, transactional=True, verify=True)
    assert run is not None
    program = ((op.NUMBER, op.OFFSET), (op.LITERAL, b" "))
    assert run.render(program, 1, 4) == (b"1 2 3 4 ", 4, 4)
    assert run.render(program, 0, 9, limit=4) == (b"0 1 2 3 ", 4, 3)
    assert run.render(program, 0, 9, selected=bytes([1, 0, 0, 0, 1])) == (b"0 4 ", 2, 4)
    column = [b"a", None, b"c", b"d", b"e"]
    extra = ((op.EXTRA, 0, (op.LITERAL, b"-")),)
    assert run.render(extra, 1, 3, extras=[column]) == (b"-cd", 3, 3)
