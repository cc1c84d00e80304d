"""A ``.log`` file: batches with their positions, what is at its end, and damage with its place."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kcli.core.errors import (
    ClosedError,
    CorruptRecordsError,
    DamagedFileError,
    FileGoneError,
    UnreadableFileError,
)
from kcli.core.records import segment as module
from kcli.core.records.segment import Segment, base_offset_of
from kcli.core.types import Codec
from tests.segments import batch, name
from tests.unit.records.test_legacy import message, wrapper

shared = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50)
THREE = (batch(10, [b"a", b"b"]), batch(12), batch(20, [b"c"] * 3, codec=Codec.ZSTD))
LOG = b"".join(THREE)


def opened(folder: Path, data: bytes, base: int = 10) -> Segment:
    path = folder / name(base)
    path.write_bytes(data)
    return Segment.open(path)


def test_batches_have_their_positions(tmp_path: Path) -> None:
    with opened(tmp_path, LOG) as segment:
        found = list(segment.batches(verify=True))
    assert [one.position for one in found] == [0, len(THREE[0]), len(THREE[0] + THREE[1])]
    assert [bytes(one.batch.raw) for one in found] == list(THREE)  # after it was closed
    assert segment.base_offset == 10
    assert sum(len(list(one.batch.records())) for one in found) == 6


@shared
@given(st.data(), st.lists(st.integers(1, 200), max_size=12), st.sampled_from((64, 300, 4096)))
def test_all_ways_to_read_agree(tmp_path: Path, data: st.DataObject, sizes: list[int], piece: int) -> None:
    batches, offset = [], 10
    for size in sizes:
        codec = data.draw(st.sampled_from(tuple(Codec)))
        batches.append(batch(offset, [os.urandom(size)] * 2, codec=codec, epoch=offset // 20))
        offset += 2
    with pytest.MonkeyPatch.context() as patch, opened(tmp_path, b"".join(batches)) as segment:
        patch.setattr(module, "PIECE", piece)
        one_by_one = list(segment.batches(verify=True))
        assert [bytes(one.batch.raw) for one in one_by_one] == batches
        assert b"".join(bytes(one.batch.raw) for one in segment.runs(verify=True, enough=500)) == b"".join(
            batches
        )
        stretches = list(segment.scan(verify=True))
        assert sum(one.records for one in stretches) == 2 * len(batches)
        assert sum(one.batches for one in stretches) == len(batches)
        if batches:
            assert (stretches[-1].end, stretches[-1].next_offset) == (segment.size, offset)
        middle = one_by_one[len(one_by_one) // 2].position if one_by_one else 0
        assert [one.position for one in segment.batches(middle)] == [
            one.position for one in one_by_one if one.position >= middle
        ]
        assert [one.position for one in segment.batches(0, middle)] == [
            one.position for one in one_by_one if one.position < middle
        ]


@pytest.mark.parametrize(
    ("bytes_at_end", "kind"),
    [
        (b"", None),
        (bytes(3), "zeros"),
        (bytes(5_000), "zeros"),
        (batch(23, [b"x" * 90])[:9], "cut"),
        (batch(23, [b"x" * 90])[:60], "cut"),
        (batch(23, [b"x" * 90])[:-1], "cut"),
        (batch(23, [b"x" * 90])[:-1] + b"?", "checksum"),
        (batch(23, [b"x" * 90])[:70] + bytes(300), "foreign"),
        (b"what is this? " * 10, "foreign"),
    ],
)
def test_the_end_of_a_file(tmp_path: Path, bytes_at_end: bytes, kind: str | None) -> None:
    with opened(tmp_path, LOG + bytes_at_end) as segment:
        assert len(list(segment.batches(verify=True))) == 3
        assert [one.end for one in segment.scan(verify=True)] == [len(LOG)]
        tail = segment.tail(len(LOG), 23)
    assert (tail.kind if tail else None) == kind
    if tail:
        assert (tail.position, tail.size, tail.offset) == (len(LOG), len(bytes_at_end), 23)


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize(
    ("change", "next_offset"),
    [
        (lambda data: data.__setitem__(len(THREE[0]) + 16, 9), 20),  # the magic
        (lambda data: data.__setitem__(len(THREE[0]) + 8, 0x7F), 20),  # the length
        (lambda data: data.__setitem__(len(THREE[0]) + 7, 5), 20),  # the offset: below what is before it
        (lambda data: data.__setitem__(slice(len(THREE[0]), len(THREE[0]) + 8), bytes(8)), 20),
        (lambda data: data.__setitem__(slice(len(THREE[0]) + 30, len(THREE[0]) + 30), b"more"), 20),
    ],
)
def test_damage_in_the_middle_has_its_place(tmp_path: Path, change, next_offset: int, verify: bool) -> None:  # type: ignore[no-untyped-def]
    data = bytearray(LOG)
    change(data)
    with opened(tmp_path, bytes(data)) as segment:
        for read in (segment.batches, segment.scan, segment.runs):
            with pytest.raises(DamagedFileError) as caught:
                list(read(verify=True if read != segment.scan else verify))
            error = caught.value
            assert (error.path, error.position) == (segment.path, len(THREE[0]))
            assert (error.offset, error.next_offset) == (12, next_offset)
        follows = segment.resync(error.position + 1, error.offset)
        assert follows is not None
        assert bytes(follows.batch.raw) == THREE[2]


def test_a_flipped_bit_is_found_by_the_checksum_only(tmp_path: Path) -> None:
    data = bytearray(LOG)
    data[len(THREE[0]) + 65] ^= 1
    with opened(tmp_path, bytes(data)) as segment:
        assert len(list(segment.batches())) == 3
        for read in (segment.batches, segment.scan):
            with pytest.raises(DamagedFileError, match="checksum") as caught:
                list(read(verify=True))
            assert caught.value.position == len(THREE[0])


def test_a_whole_batch_with_an_offset_that_was_before_is_no_tail(tmp_path: Path) -> None:
    with opened(tmp_path, THREE[0] + THREE[2] + THREE[1]) as segment:
        with pytest.raises(DamagedFileError, match="begins at offset 12") as caught:
            list(segment.batches())
        assert caught.value.position == len(THREE[0] + THREE[2])


@pytest.mark.parametrize("magic", [0, 1])
def test_old_formats(tmp_path: Path, magic: int) -> None:
    plain = b"".join(message(offset, b"v%d" % offset, magic=magic) for offset in (10, 11))
    inner = b"".join(message((0 if magic else 12) + n, b"w", magic=magic) for n in range(3))
    data = plain + bytes(wrapper(14, inner, magic=magic).raw) + batch(15)
    with opened(tmp_path, data) as segment:
        found = list(segment.batches(verify=True))
        assert [(one.batch.base_offset, one.batch.next_offset) for one in found] == [
            (10, 11), (11, 12), (12, 15), (15, 16),
        ]  # fmt: skip
        assert sum(one.records for one in segment.scan(verify=True)) == 6
        assert segment.batch_at(0) is not None
        again = segment.resync(1, 0)
        assert again is not None
        assert again.position == found[1].position


def test_whatever_is_there_has_an_answer(tmp_path: Path) -> None:
    with pytest.raises(FileGoneError, match="No such file"):
        Segment.open(tmp_path / name(1))
    (tmp_path / name(2)).mkdir()
    with pytest.raises(UnreadableFileError):
        Segment.open(tmp_path / name(2))
    os.mkfifo(tmp_path / name(3))
    with pytest.raises(UnreadableFileError, match="no regular file"):
        Segment.open(tmp_path / name(3))
    with opened(tmp_path, b"", 4) as segment:
        assert (list(segment.batches()), list(segment.scan()), segment.tail(0)) == ([], [], None)
        assert segment.batch_at(0) is None
    with opened(tmp_path, LOG, 5) as segment:
        pass
    with pytest.raises(ClosedError):
        segment.view(0, 1)
    odd = tmp_path / os.fsdecode(b"\xff.log")
    with pytest.raises(FileGoneError) as caught:
        Segment.open(odd)
    assert str(caught.value).encode().endswith(b"\\xff.log: No such file or directory")


def test_a_file_that_was_cut_while_it_is_read_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / name(10)
    path.write_bytes(LOG + bytes(1 << 20))
    with Segment.open(path) as segment:
        os.truncate(path, 4096)
        assert segment.view(0, 4096)
        with pytest.raises(UnreadableFileError, match="was cut"):
            segment.view(1 << 16, 1 << 17)


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        (name(7), 7),
        (name(7) + ".swap", 7),
        ("00000000000000000007-oAtiIQ95REujbuzNd_lkLQ.log", 7),
        ("7.log", -1),
        (name(7, ".index"), -1),
        ("9" * 20 + ".log", -1),
        ("٠" * 20 + ".log", -1),
    ],
)
def test_names_of_segments(text: str, offset: int) -> None:
    assert base_offset_of(text) == offset


def test_memory_stays_bounded(tmp_path: Path) -> None:
    """A sparse file: what is mapped in is given back, in a scan and batch by batch."""
    path = tmp_path / name(0)
    one = batch(0, [bytes(1 << 20)])
    with path.open("wb") as file:
        for offset in range(64):
            file.write(offset.to_bytes(8, "big") + one[8:])

    def mapped() -> int:
        text = Path("/proc/self/status").read_text()
        return int(text.split("RssFile:")[1].split()[0])

    with Segment.open(path) as segment:
        before = mapped()
        highest = 0
        for _ in segment.scan(verify=True):
            highest = max(highest, mapped())
        for placed in segment.batches(verify=True):
            assert placed.batch.count == 1
            highest = max(highest, mapped())
    assert highest - before < 20 << 10


def test_errors_say_where(tmp_path: Path) -> None:
    error = DamagedFileError("/data/orders-3/x.log", 77, why="no", offset=5, next_offset=9)
    assert isinstance(error, CorruptRecordsError)
    assert str(error) == "/data/orders-3/x.log at byte 77 (offset 5): no"
    with opened(tmp_path, LOG) as segment:
        assert segment.batch_at(1) is None
        assert segment.batch_at(-1) is None
        assert segment.batch_at(10**9) is None
