"""Digests of partitions: equal for equal records however they are batched, different for any difference."""

import random

import pytest

from kcli.core.types import Header, Record
from kcli.flows.mirror import digest as module
from kcli.flows.mirror.digest import PartitionDigest, plain_digester
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
