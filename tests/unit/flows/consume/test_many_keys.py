"""Counts, latest records and different values of more keys than memory may hold: as with all of them in memory."""

import random
from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest

from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.types import Codec, Record, TopicPartition
from kcli.files.scratch import ScratchFile
from kcli.flows.consume import buckets, counting, distinct, latest
from kcli.flows.filters.field_paths import FieldReader, parse_fields
from kcli.flows.filters.selection import BatchFields, Mask, wanted_mask
from tests.batches import batch_of

KEYS = [None, b"", b"a", b"\xff", *(b"key-%d" % n for n in range(200))]


@cache  # nobody changes them
def some_batches(count: int = 60, each: int = 20, partitions: int = 2) -> list[FetchedBatch]:
    """Records with random keys; every fifth batch has gaps between its offsets."""
    chosen = random.Random(7)
    found, ends = [], [0] * partitions
    for number in range(count):
        tp = TopicPartition("t", number % partitions)
        rows = []
        for _ in range(each):
            ends[tp.partition] += 1 if number % 5 else chosen.randint(1, 9)
            value = None if chosen.random() < 0.1 else b'{"n":%d}' % chosen.randrange(50)
            rows.append(Record(*tp, ends[tp.partition], 0, 0, chosen.choice(KEYS), value, ()))
        found.append(FetchedBatch(tp, batch_of(rows), 0, 1 << 60, 1 << 60))
    return found


def records(found: list[FetchedBatch]) -> list[Record]:
    return [record for one in found for record in one.batch.records(*one.tp)]


@pytest.fixture(params=[1 << 30, 30])
def in_memory(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many keys memory holds: all of them, or few."""
    for module in (counting, latest, distinct):
        monkeypatch.setattr(module, "IN_MEMORY", request.param)
    return int(request.param)


@pytest.fixture
def on_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[ScratchFile]]:
    """The files that were made; none of them has a name."""
    made: list[ScratchFile] = []

    class Noted(ScratchFile):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

    for module in (buckets, distinct):
        monkeypatch.setattr(module, "ScratchFile", Noted)
    yield made
    for one in made:
        with pytest.raises(ValueError, match="closed"):
            one.read(0, 1)


@pytest.mark.parametrize("top", [None, 3, 1000])
def test_counts_by_key(in_memory: int, top: int | None, on_disk: list[ScratchFile]) -> None:
    found = some_batches()
    one = counting.Counting(FieldReader(parse_fields("key")))
    assert sum(one.batch(batch)[0] for batch in found) == one.total == 1200
    counted = [(cells[0], count) for cells, count in one.groups(top)]
    wanted = Counter(record.key for record in records(found))
    assert dict(counted) == {key: wanted[key] for key, _ in counted}
    assert [count for _, count in counted] == sorted(wanted.values(), reverse=True)[:top]
    assert len({key for key, _ in counted}) == min(len(wanted), top or 1 << 30)
    assert bool(on_disk) == (in_memory < 1000)
    one.close()


def test_few_large_keys_are_written_too(on_disk: list[ScratchFile], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "MOST_BYTES", 1_000)
    monkeypatch.setattr(latest, "MOST_BYTES", 1_000)
    tp = TopicPartition("t", 0)
    rows = [Record("t", 0, n, 0, 0, b"%d" % (n % 20) * 100, b"v", ()) for n in range(100)]
    one, first = counting.Counting(FieldReader(parse_fields("key"))), latest.LatestOffsets()
    for at in range(0, 100, 10):
        batch = FetchedBatch(tp, batch_of(rows[at : at + 10]), 0, 100, 100)
        one.batch(batch)
        first.batch(batch)
    assert len(on_disk) == 2
    assert sorted(one.groups(None)) == sorted(([b"%d" % n * 100], 5) for n in range(20))
    assert first.offsets().count == 20
    one.close()
    first.close()


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_of_a_whole_batch_only_the_header_is_read(codec: Codec, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [Record("t", 0, n, 0, 0, b"k", b"v", ()) for n in range(7, 17)]
    batch = batch_of(rows, flags=codec)
    monkeypatch.setattr(type(batch), "payload", None)
    tp = TopicPartition("t", 0)
    one = counting.Counting(None)
    assert one.batch(FetchedBatch(tp, batch, 7, 17, 17)) == (10, -1)
    assert one.batch(FetchedBatch(tp, batch, 0, 99, 99)) == (10, -1)
    # Where a range begins or ends in it, its offsets say enough unless compaction has left gaps.
    assert one.batch(FetchedBatch(tp, batch, 8, 16, 16)) == (8, -1)
    assert one.total == 28


def test_a_range_that_begins_and_ends_within_a_batch_with_gaps() -> None:
    rows = [Record("t", 0, n, 0, 0, b"k", b"v", ()) for n in (7, 9, 10, 20)]
    one = counting.Counting(None)
    assert one.batch(FetchedBatch(TopicPartition("t", 0), batch_of(rows), 8, 20, 20)) == (2, -1)


@pytest.mark.parametrize(("by", "columns"), [("topic,partition", 2), ("partition", 1), ("leader_epoch", 1)])
def test_fields_that_a_batch_has_in_common_need_no_records(
    by: str, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = some_batches()
    monkeypatch.setattr(type(found[0].batch), "payload", None)
    one = counting.Counting(FieldReader(parse_fields(by)))
    for batch in found:
        one.batch(batch)
    groups = list(one.groups(None))
    assert {len(cells) for cells, _ in groups} == {columns}
    assert sum(count for _, count in groups) == one.total == 1200


def test_values_of_json_are_not_confused(in_memory: int) -> None:
    values = [
        b'{"a":%b}' % text
        for text in (b"1", b"true", b'"1"', b"null", b"[1]", b"1.0", b"[true]", b'"[1]"', b"1")
    ]
    rows = [Record("t", 0, n, 0, 0, None, value, ()) for n, value in enumerate(values)]
    one = counting.Counting(FieldReader(parse_fields("value.a")))
    for row in rows:
        one.batch(FetchedBatch(TopicPartition("t", 0), batch_of([row]), 0, 99, 99))
    found = [(repr(cells[0]), count) for cells, count in one.groups(None)]
    assert found[0] == ("1", 2)
    assert sorted(found[1:]) == sorted(
        (text, 1) for text in ("True", "'1'", "None", "[1]", "1.0", "[True]", "'[1]'")
    )


@pytest.mark.parametrize("tombstones", [False, True])
def test_the_last_record_of_each_key_in_each_partition(
    in_memory: int, tombstones: bool, on_disk: list[ScratchFile]
) -> None:
    found = some_batches()
    first = latest.LatestOffsets()
    for batch in found:
        first.batch(batch)
    wanted = {(record.partition, record.key): record for record in records(found) if record.key is not None}
    assert first.without_key == sum(record.key is None for record in records(found))
    chosen = latest.LatestFilter(first.offsets(), tombstones=tombstones)
    first.close()
    assert bool(on_disk) == (in_memory < 1000)
    kept = []
    for batch in found:
        mask, _ = wanted_mask(batch, None, b"")
        if chosen.keep(BatchFields(batch), mask):
            kept += [
                record for record, wants in zip(batch.batch.records(*batch.tp), mask, strict=True) if wants
            ]
    assert {(r.partition, r.offset) for r in kept} == {
        (r.partition, r.offset) for r in wanted.values() if tombstones or r.value is not None
    }
    assert (chosen.wanted, chosen.found) == (len(wanted), len(wanted))
    assert chosen.tombstones == (0 if tombstones else sum(r.value is None for r in wanted.values()))


def test_a_record_that_is_gone_at_the_second_reading_is_not_found() -> None:
    offsets = latest.Offsets()
    offsets.add(TopicPartition("t", 0), [3, 9])
    chosen = latest.LatestFilter(offsets, tombstones=False)
    rows = [Record("t", 0, n, 0, 0, b"k", b"v", ()) for n in (2, 3, 4)]
    mask = Mask(b"\1\1\1")
    assert chosen.keep(BatchFields(FetchedBatch(TopicPartition("t", 0), batch_of(rows), 0, 99, 99)), mask)
    assert (mask, chosen.wanted, chosen.found) == (Mask(b"\0\1\0"), 2, 1)


def test_each_different_value_once(in_memory: int, on_disk: list[ScratchFile]) -> None:
    found = some_batches()
    one = distinct.DistinctFilter(FieldReader(parse_fields("key,value")))
    kept = []
    for batch in found:
        mask, _ = wanted_mask(batch, None, b"")
        if one.keep(BatchFields(batch), mask):
            kept += [
                record for record, wants in zip(batch.batch.records(*batch.tp), mask, strict=True) if wants
            ]
    firsts: dict[tuple[bytes | None, bytes | None], Record] = {}
    for record in records(found):
        firsts.setdefault((record.key, record.value), record)
    assert [(r.partition, r.offset) for r in kept] == [(r.partition, r.offset) for r in firsts.values()]
    assert one.count == len(firsts)
    assert bool(on_disk) == (in_memory < 1000)
    one.close()


def test_entries_come_back_in_order(on_disk: list[ScratchFile]) -> None:
    kept = buckets.Buckets()
    assert not kept
    for _ in range(3):
        kept.add({n: n for n in range(5000)})
    assert kept
    assert list(kept.ordered(buckets.add_counts, lambda entry: -entry[1])) == [
        (n, 3 * n) for n in range(4999, -1, -1)
    ]
    kept.close()
    assert len(on_disk) == 1


@pytest.mark.parametrize("first", [0, 65_530, 200_000, 1 << 40])
def test_offsets_of_batches_that_cross_blocks(first: int) -> None:
    tp, other = TopicPartition("t", 0), TopicPartition("t", 1)
    wanted = {first, first + 5, first + 6, first + 70_000}
    offsets = latest.Offsets()
    offsets.add(tp, wanted)
    offsets.add(other, {first + 1})
    assert offsets.count == 5
    for step in (1, 7):
        rows = [Record("t", 0, offset, 0, 0, b"k", b"v", ()) for offset in range(first, first + 70_010, step)]
        fields = BatchFields(FetchedBatch(tp, batch_of(rows), 0, 1 << 60, 1 << 60))
        assert fields.is_dense == (step == 1)
        assert [row.offset for row, hit in zip(rows, offsets.among(fields), strict=True) if hit] == sorted(
            wanted.intersection(range(first, first + 70_010, step))
        )


def test_few_blocks_are_expanded_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(latest, "_MASKS", 2)
    offsets = latest.Offsets()
    partitions = [TopicPartition("t", n) for n in range(5)]
    for tp in partitions:
        offsets.add(tp, [tp.partition, 9])
    row = [Record("t", 0, n, 0, 0, b"k", b"v", ()) for n in range(5)]
    for tp in partitions * 3:
        fields = BatchFields(FetchedBatch(tp, batch_of(row), 0, 1 << 60, 1 << 60))
        assert offsets.among(fields).index(1) == tp.partition


def test_a_digest_is_found_where_it_is_not_across_two(on_disk: list[ScratchFile]) -> None:
    """Two digests of a bucket, of which the end and the beginning are those of a third."""
    one, two = b"\0\0" + b"a" * 6 + b"\0\0" + b"b" * 6, b"\0\0" + b"b" * 6 + b"c" * 8
    stored = distinct._Stored([one], distinct._Stored([two], None))
    across = b"\0\0" + b"b" * 6 + b"\0\0" + b"a" * 6
    assert [digest in stored for digest in (one, two, across, b"\1" * 16)] == [True, True, False, False]
    stored.close()
