"""Digests of partitions: equal for equal records however they are batched, different for any difference."""

import random
from collections.abc import Callable, Iterable

import pytest

from kcli.core.kernels.active import decode_headers, encode_headers
from kcli.core.kernels.shapes import Row
from kcli.core.types import Header, Record
from kcli.flows.mirror.copy.offset_map import OffsetMap, Piece
from kcli.flows.mirror.proof import digest as module
from kcli.flows.mirror.proof.digest import (
    AlignedDigest,
    PartitionDigest,
    plain_digester,
    row_digester,
    source_pieces,
)
from tests.batches import batch_of, run_of

NAMES: list[Header] = [("a", b"1"), ("a", None), ("", b""), ("b", b"\xff")]


def records(rng: random.Random, count: int, start: int = 0) -> list[Record]:
    """Records with consecutive offsets."""
    return [
        Record(
            topic="t",
            partition=0,
            offset=start + index,
            timestamp=rng.randrange(10**12),
            timestamp_type=0,
            key=rng.choice((None, b"", b"k", b"key")),
            value=rng.choice((None, b"", b"v" * rng.randrange(300))),
            headers=tuple(rng.sample(NAMES, rng.randrange(4))),
        )
        for index in range(count)
    ]


def digest_of(given: list[Record], rng: random.Random, **how: bool) -> PartitionDigest:
    """The digest of these records, in batches of any size, some of them joined."""
    made, at = PartitionDigest(plain_digester(**how)), 0
    while at < len(given):
        some = given[at : at + rng.randrange(1, 40)]
        batch = run_of(some) if len(some) > 1 and rng.random() < 0.3 else batch_of(some)
        made.update(batch, batch.base_offset, batch.next_offset)
        at += len(some)
    made.finish()
    return made


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK_RECORDS", 64)


def moved(given: list[Record], rng: random.Random) -> list[Record]:
    """The same records at later offsets, with holes between them."""
    offset, found = 1000, []
    for one in given:
        offset += rng.choice((1, 1, 1, 5))
        found.append(one._replace(offset=offset))
    return found


@pytest.mark.parametrize("seed", range(10))
def test_batches_and_offsets_do_not_matter(seed: int) -> None:
    rng = random.Random(seed)
    given = records(rng, 300)
    one, two = digest_of(given, rng), digest_of(moved(given, rng), rng)
    assert one.hexdigest == two.hexdigest
    assert [chunk.digest for chunk in one.chunks] == [chunk.digest for chunk in two.chunks]
    assert [chunk.records for chunk in one.chunks] == [64, 64, 64, 64, 44]
    assert one.chunks[1].first == 64
    assert one.chunks[1].last == 127


def test_only_the_wanted_offsets_count() -> None:
    rng = random.Random(1)
    given = records(rng, 30)
    made = PartitionDigest()
    made.update(batch_of(given), 10, 20)
    made.finish()
    assert made.hexdigest == digest_of(given[10:20], rng).hexdigest
    assert made.records == 10


@pytest.mark.parametrize("seed", range(40))
def test_any_change_of_a_record_changes_the_chunk_it_is_in(seed: int) -> None:
    rng = random.Random(seed)
    given = records(rng, 300)
    at = rng.randrange(300)
    changed = list(given)
    old = given[at]
    changed[at] = rng.choice(
        [
            old._replace(timestamp=old.timestamp + 1),
            old._replace(key=b"" if old.key is None else None),
            old._replace(value=b"" if old.value is None else None),
            old._replace(headers=(*old.headers, ("x", None))),
            old._replace(key=(old.key or b"") + b"x"),
        ]
    )
    one, two = digest_of(given, rng), digest_of(changed, rng)
    assert one.hexdigest != two.hexdigest
    differing = [
        i for i, (a, b) in enumerate(zip(one.chunks, two.chunks, strict=True)) if a.digest != b.digest
    ]
    assert differing == [at // 64]


def test_order_matters() -> None:
    rng = random.Random(3)
    given = records(rng, 50)
    assert digest_of(given, rng).hexdigest != digest_of(moved(given[::-1], rng), rng).hexdigest


def test_timestamps_can_be_left_out() -> None:
    rng = random.Random(4)
    given = records(rng, 50)
    later = [record._replace(timestamp=record.timestamp + 5) for record in given]
    assert digest_of(given, rng).hexdigest != digest_of(later, rng).hexdigest
    assert (
        digest_of(given, rng, timestamps=False).hexdigest == digest_of(later, rng, timestamps=False).hexdigest
    )


def test_the_boundary_between_key_and_value_matters() -> None:
    rng = random.Random(5)
    one, two = (
        records(rng, 1)[0]._replace(timestamp=0, key=key, value=value, headers=())
        for key, value in ((b"ab", b"c"), (b"a", b"bc"))
    )
    assert digest_of([one], rng).hexdigest != digest_of([two], rng).hexdigest


@pytest.mark.parametrize("seed", range(10))
def test_a_record_that_the_target_lacks_or_has_beside_the_map_changes_one_chunk(seed: int) -> None:
    """Chunks are those of the source's offsets: what is behind the lost record is not moved."""
    rng = random.Random(seed)
    given = records(rng, 300)
    offsets = OffsetMap(0, 1_000)
    offsets.append(0, 1_000, 100)
    offsets.append(100, 1_107, 200)
    copies = [one._replace(offset=one.offset + (1_000 if one.offset < 100 else 1_007)) for one in given]
    beside = [one._replace(offset=1_100 + at) for at, one in enumerate(given[100:107])]
    lost = rng.randrange(300)
    stored = [*copies[:100], *beside, *copies[100:]]
    stored = [one for one in stored if one.offset != copies[lost].offset]
    here = digest_by(source_pieces(300), given, rng)
    there = digest_by(lambda first, stop: offsets.pieces(first, stop, 64), stored, rng)
    assert [chunk.number for chunk in here.chunks] == [0, 1, 2, 3, 4]
    differing = [a.number for a, b in zip(here.chunks, there.chunks, strict=True) if a.digest != b.digest]
    assert differing == [lost // 64]
    assert sum(one.records for one in there.surplus) == 7
    assert (there.surplus[0].first, there.surplus[-1].last) == (1_100, 1_106)


def digest_by(
    cut: Callable[[int, int], Iterable[Piece]], given: list[Record], rng: random.Random
) -> AlignedDigest:
    made, at = AlignedDigest(cut), 0
    while at < len(given):
        batch = batch_of(given[at : at + rng.randrange(1, 40)])
        made.update(batch, batch.base_offset, batch.next_offset)
        at += batch.count
    made.finish()
    return made


def test_rows_that_were_changed_have_digests_of_their_own_kind() -> None:
    rng = random.Random(1)
    given = records(rng, 100)
    with_header = [one._replace(headers=(*one.headers, ("x", b"1"))) for one in given]

    def strip(row: Row) -> Row:
        headers = [*decode_headers(row[2], 0, len(row[2]))][:-1]
        return row[0], row[1], encode_headers(headers), row[3]

    one, two = PartitionDigest(row_digester(lambda row: row)), PartitionDigest(row_digester(strip))
    for side, some in ((one, given), (two, with_header)):
        for first in range(0, 100, 30):
            batch = batch_of(some[first : first + 30])
            side.update(batch, batch.base_offset, batch.next_offset)
        side.finish()
    assert one.hexdigest == two.hexdigest
    assert [(chunk.first, chunk.last, chunk.records) for chunk in one.chunks] == [(0, 63, 64), (64, 99, 36)]
    dropped = PartitionDigest(row_digester(lambda row: None if row[1] is None else row))
    dropped.update(batch_of(given), 0, 100)
    assert dropped.records == sum(one.value is not None for one in given)
