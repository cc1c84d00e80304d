"""One partition: places by offset and time, whatever its indexes say; transactions, epochs and the end of the log."""

import os
import struct
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kcli.core
from kcli.core.errors import ConfigError, DamagedFileError, FileGoneError, KcliError, NotFoundError
from kcli.core.kernels.varint import INT64_MAX
from kcli.core.logdir.aborted_index import Aborted
from kcli.core.logdir.folders import LogDirectory, PartitionFolder
from kcli.core.logdir.leader_epochs import EpochStart
from kcli.core.logdir.partition_log import OpenTransaction, PartitionLog, TimedOffset
from kcli.core.types import TopicPartition
from tests.segments import (
    ABORT,
    BASE,
    COMMIT,
    aborted_index,
    batch,
    epochs,
    header,
    marker,
    name,
    snapshot,
    write,
)

shared = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
TP = TopicPartition("orders", 3)


def opened(path: Path, *, start: int = -1, high_watermark: int = -1) -> PartitionLog:
    log_dir = LogDirectory(
        str(path.parent),
        log_starts={TP: start} if start >= 0 else {},
        high_watermarks={TP: high_watermark} if high_watermark >= 0 else {},
    )
    return PartitionLog(PartitionFolder(str(path), TP, log_dir=log_dir))


def offsets(log: PartitionLog, start: int = 0, stop: int = INT64_MAX) -> list[int]:
    return [placed.batch.base_offset for _, placed in log.batches(start, stop, verify=True)]


def three_segments(path: Path) -> list[bytes]:
    """Offsets 10 to 159 in batches of two, with a gap where compaction took some."""
    batches = [
        batch(offset, [b"a", b"b"], epoch=offset // 60)
        for offset in range(10, 160, 2)
        if not 70 <= offset < 80
    ]
    for low, high in ((10, 60), (60, 110), (110, 160)):
        write(path, [one for one in batches if low <= header(one)[0] < high], every=3)
    return batches


def test_a_log_of_several_segments(tmp_path: Path) -> None:
    path = tmp_path / "orders-3"
    batches = three_segments(path)
    with opened(path, high_watermark=100) as log:
        assert (log.tp, log.start_offset, log.end_offset, log.last_epoch, log.tail) == (TP, 10, 160, 2, None)
        assert (log.high_watermark, log.last_stable_offset) == (100, 160)
        assert [file.base_offset for file in log.files] == [10, 60, 110]
        assert b"".join(bytes(placed.batch.raw) for _, placed in log.batches(0, 999)) == b"".join(batches)
        assert offsets(log, 57, 63) == [56, 58, 60, 62]
        assert offsets(log, 71, 85) == [80, 82, 84]
        assert offsets(log, 160, 999) == []
        assert sum(found.records for _, found in log.scan(10, 160)) == 140
        assert sum(found.records for _, found in log.scan(57, 63)) == 8
        assert log.epochs() == (EpochStart(0, 10), EpochStart(1, 60), EpochStart(2, 120))
    assert offsets(opened(path, start=33), 33)[:2] == [32, 34]
    assert opened(path, start=33).start_offset == 33
    assert opened(path, start=999).start_offset == 160
    assert opened(path).high_watermark == 160


INDEX_DAMAGE = {
    "missing": None,
    "empty": lambda _data, _rng: b"",
    "zeros": lambda _data, _rng: bytes(800),
    "preallocated": lambda data, _rng: data + bytes(10_000),
    "cut": lambda data, rng: data[: rng.randrange(len(data))],
    "noise": lambda data, rng: rng.randbytes(len(data)),
    "flipped": lambda data, rng: bytes(byte ^ (rng.random() < 0.2) << rng.randrange(8) for byte in data),
    "of another segment": lambda data, _rng: data[8:] + data[:8],
    "low positions": lambda data, _rng: b"".join(
        struct.pack(">ii", offset, position // 3) for offset, position in struct.iter_unpack(">ii", data)
    ),
    "low offsets": lambda data, _rng: b"".join(
        struct.pack(">ii", offset // 3, position) for offset, position in struct.iter_unpack(">ii", data)
    ),
}


@pytest.mark.parametrize("kind", INDEX_DAMAGE)
def test_an_index_is_only_a_hint(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "orders-3"
    batches = three_segments(path)
    ends = [header(one)[1] for one in batches]
    rng, change = Random(kind), INDEX_DAMAGE[kind]
    for _ in range(1 if change is None else 20):
        for file in path.glob("*.index"):
            data = file.read_bytes()
            file.unlink() if change is None else file.write_bytes(change(data, rng))
        with opened(path) as log:
            assert log.end_offset == 160
            for offset in range(0, 165, 3):
                expected = next(
                    (header(one)[0] for one, end in zip(batches, ends, strict=True) if end >= offset), None
                )
                place = log.locate(offset)
                found = None if place is None else log.segment(place.segment).batch_at(place.position)
                assert (found.base_offset if found else None) == expected
        if change is not None:
            three_segments(path)


@shared
@given(
    st.lists(st.integers(0, 400), min_size=3, max_size=60),
    st.sampled_from((None, "cut", "missing", "noise")),
    st.randoms(),
)
def test_records_by_time(tmp_path: Path, steps: list[int], damage: str | None, rng: Random) -> None:
    path = tmp_path / "orders-3"
    for file in path.glob("*"):
        file.unlink()
    stamps = [BASE + step for step in steps]
    batches = [
        batch(2 * number, [b"a", b"b"], times=(stamp, stamp - 7 * (number % 3)))
        for number, stamp in enumerate(stamps)
    ]
    third = len(batches) // 3 or 1
    for low in range(0, len(batches), third):
        write(path, batches[low : low + third], every=2)
    for file in path.glob("*.timeindex"):
        data = file.read_bytes()
        if damage == "missing":
            file.unlink()
        elif damage:
            file.write_bytes(data[: len(data) // 2] if damage == "cut" else rng.randbytes(len(data)))
    records = [
        (2 * number + which, stamp - which * 7 * (number % 3))
        for number, stamp in enumerate(stamps)
        for which in (0, 1)
    ]
    with opened(path) as log:
        for time in range(BASE - 5, BASE + 410, 23):
            expected = next((TimedOffset(offset, when, 0) for offset, when in records if when >= time), None)
            assert log.offset_for_time(time) == expected
        latest = max(when for _, when in records)
        first = next(offset for offset, when in records if when == latest)
        assert log.latest_time() == TimedOffset(first, latest, 0)
    segments = [records[low : low + 2 * third] for low in range(0, len(records), 2 * third)]
    for start in (3, 2 * len(batches) // 2, 2 * len(batches) - 1):
        with opened(path, start=start) as log:
            later = [row for row in records if row[0] >= log.start_offset]
            for time in range(BASE - 5, BASE + 410, 23):
                # A broker looks only in the first segment with such a time, also if that is of a deleted record.
                first_with = next((rows for rows in segments if any(when >= time for _, when in rows)), [])
                found = (TimedOffset(*row, 0) for row in first_with if row in later and row[1] >= time)
                assert log.offset_for_time(time) == next(found, None)
            latest = max((when for _, when in later), default=None)
            found = (TimedOffset(*row, 0) for row in later if row[1] == latest)
            assert log.latest_time() == next(found, None)


def test_times_of_the_broker(tmp_path: Path) -> None:
    path = tmp_path / "orders-3"
    write(path, [batch(0, [b"a"] * 3, appended=BASE), batch(3, [b"a"] * 3, appended=BASE + 50)])
    with opened(path) as log:
        assert log.offset_for_time(BASE + 1) == TimedOffset(3, BASE + 50, 0)
        assert log.latest_time() == TimedOffset(3, BASE + 50, 0)
        assert log.offset_for_time(BASE + 51) is None


def test_the_end_of_a_log_that_was_killed(tmp_path: Path) -> None:
    path = tmp_path / "orders-3"
    for torn, kind in (
        (batch(160)[:40], "cut"),
        (bytes(4_000), "zeros"),
        (batch(160)[:-1] + b"?", "checksum"),
    ):
        three_segments(path)
        with (path / name(110)).open("ab") as file:
            file.write(torn)
        for suffix in (".index", ".timeindex"):  # of the full size, as they are before a roll
            with (path / name(110, suffix)).open("ab") as file:
                file.write(bytes(5_000))
        with opened(path) as log:
            assert log.end_offset == 160
            assert log.tail is not None
            assert (log.tail.kind, log.tail.offset) == (kind, 160)
            assert offsets(log)[-1] == 158
    (path / name(160)).touch()  # rolled, nothing written
    with opened(path) as log:
        assert (log.end_offset, log.last_epoch, log.tail) == (160, 2, None)
    (path / name(200)).write_bytes(bytes(100))
    with opened(path) as log:
        assert (log.end_offset, log.tail.kind if log.tail else None) == (200, "zeros")


def test_an_empty_log(tmp_path: Path) -> None:
    path = tmp_path / "orders-3"
    path.mkdir()
    (path / "leader-epoch-checkpoint").write_bytes(epochs([(4, 0)]))
    for base in (None, 70):
        if base is not None:
            (path / name(base)).touch()
            (path / "leader-epoch-checkpoint").write_bytes(epochs([(4, 70)]))
        with opened(path) as log:
            end = base or 0
            assert (log.start_offset, log.end_offset, log.last_epoch, log.last_stable_offset) == (
                end,
                end,
                -1,
                end,
            )
            assert (offsets(log), log.locate(end), log.offset_for_time(0), log.latest_time()) == (
                [],
                None,
                None,
                None,
            )
            assert (log.open_transactions(), log.aborted(0, 9)) == ([], [])
            assert log.epochs() == (EpochStart(4, end),)


def test_damage_is_read_past_by_those_who_ask(tmp_path: Path) -> None:
    path = tmp_path / "orders-3"
    batches = three_segments(path)
    at = len(b"".join(one for one in batches if 60 <= header(one)[0] < 90))
    with (path / name(60)).open("r+b") as file:
        file.seek(at + 16)
        file.write(b"\x09")
    with opened(path) as log:
        assert log.end_offset == 160
        with pytest.raises(DamagedFileError) as caught:
            offsets(log, 60)
        error = caught.value
        assert (error.path, error.position, error.offset, error.next_offset) == (
            str(path / name(60)),
            at,
            90,
            92,
        )
        assert offsets(log, error.next_offset)[:2] == [92, 94]
        with pytest.raises(DamagedFileError):
            log.locate(91)
        assert offsets(log, 60, 90)[-1] == 88


def test_a_segment_that_ends_too_early_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "orders-3"
    three_segments(path)
    size = (path / name(60)).stat().st_size
    os.truncate(path / name(60), size - 10)
    with opened(path) as log:
        with pytest.raises(DamagedFileError) as caught:
            offsets(log, 100)
        assert (caught.value.offset, caught.value.next_offset) == (108, 110)
        with pytest.raises(DamagedFileError):
            list(log.scan(100, 160))
        assert offsets(log, 110)[0] == 110


def test_offsets_of_the_next_segment_are_damage(tmp_path: Path) -> None:
    path = tmp_path / "orders-3"
    write(path, [batch(10), batch(70)])
    write(path, [batch(20), batch(21)])
    with opened(path) as log:
        for read in (log.batches, log.scan):
            for stop in (15, 21, 99):
                with pytest.raises(DamagedFileError, match="what follows begins at offset 20") as caught:
                    list(read(10, stop))
                assert (caught.value.offset, caught.value.next_offset) == (11, 20)
        assert offsets(log, 20) == [20, 21]


def test_files_that_vanish(tmp_path: Path) -> None:
    path = tmp_path / "orders-3"
    three_segments(path)
    with opened(path) as log:
        reading = log.batches(10, 160)
        assert next(reading)[1].batch.base_offset == 10
        for file in path.iterdir():
            file.unlink()
        read = []
        with pytest.raises(FileGoneError):
            read.extend(placed.batch.base_offset for _, placed in reading)
        assert read[-1] == 58  # a file that is open stays readable
        log.refresh()
        assert (log.files, log.end_offset) == ((), 0)
    path.rmdir()
    with pytest.raises(FileGoneError):
        opened(path)


def transactional(path: Path) -> tuple[list[Aborted], list[OpenTransaction]]:
    """Producers 5 and 6 over three segments: committed, aborted in one segment, aborted across two, open at the end."""

    def data(offset: int, producer: int) -> bytes:
        return batch(offset, [b"a", b"b"], producer=producer, transactional=True)

    write(
        path,
        [data(0, 5), data(2, 6), marker(4, 6, ABORT), data(5, 6), marker(7, 6, COMMIT), batch(8), data(9, 6)],
    )
    (path / name(0, ".txnindex")).write_bytes(aborted_index([(6, 2, 4, 0)]))
    write(
        path,
        [
            data(20, 5),
            marker(22, 5, ABORT),
            data(23, 5),
            marker(25, 6, COMMIT),
            data(26, 7),
            marker(28, 7, ABORT),
        ],
    )
    (path / name(20, ".txnindex")).write_bytes(aborted_index([(5, 0, 22, 9), (7, 26, 28, 23)]))
    (path / name(20, ".snapshot")).write_bytes(
        snapshot([(5, 0, 0, 1, 1, BASE, 0, 0), (6, 0, 0, 10, 1, BASE, 0, 9), (4, 0, 0, 1, 0, BASE, 0, -1)])
    )
    write(
        path, [marker(40, 5, ABORT), data(41, 6), batch(43), data(44, 5), data(46, 6), marker(48, 5, ABORT)]
    )
    (path / name(40, ".txnindex")).write_bytes(aborted_index([(5, 23, 40, 41), (5, 44, 48, 41)]))
    (path / name(40, ".snapshot")).write_bytes(snapshot([(5, 0, 0, 24, 1, BASE, 0, 23)]))
    aborted = [
        Aborted(6, 2, 4, 0), Aborted(5, 0, 22, 9), Aborted(7, 26, 28, 23), Aborted(5, 23, 40, 41),
        Aborted(5, 44, 48, 41),
    ]  # fmt: skip
    return aborted, [OpenTransaction(6, 41)]


def _nothing(_path: Path) -> None: ...


def _no_indexes(path: Path) -> None:
    for file in path.glob("*.txnindex"):
        file.unlink()


def _no_snapshots(path: Path) -> None:
    for file in path.glob("*.snapshot"):
        file.unlink()


def _only_logs(path: Path) -> None:
    for file in path.iterdir():
        if file.suffix != ".log":
            file.unlink()


def _noise(path: Path) -> None:
    for file in [*path.glob("*.txnindex"), *path.glob("*.snapshot")]:
        file.write_bytes(Random(file.name).randbytes(file.stat().st_size))


def _older_index(path: Path) -> None:
    (path / name(20, ".txnindex")).write_bytes(aborted_index([(5, 0, 22, 9)]))


def _wrong_first_offset(path: Path) -> None:
    (path / name(20, ".txnindex")).write_bytes(aborted_index([(5, 0, 22, 9), (7, 27, 28, 23)]))


def _wrong_producer(path: Path) -> None:
    (path / name(20, ".txnindex")).write_bytes(aborted_index([(8, 0, 22, 9), (7, 26, 28, 23)]))


def _a_commit(path: Path) -> None:
    (path / name(20, ".txnindex")).write_bytes(
        aborted_index([(5, 0, 22, 9), (6, 9, 25, 23), (7, 26, 28, 23)])
    )


@pytest.mark.parametrize(
    "change",
    [
        _nothing,
        _no_indexes,
        _no_snapshots,
        _only_logs,
        _noise,
        _older_index,
        _wrong_first_offset,
        _wrong_producer,
        _a_commit,
    ],
)
def test_transactions_whatever_the_files_beside_say(tmp_path: Path, change) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "orders-3"
    aborted, still = transactional(path)
    change(path)
    with opened(path) as log:
        assert log.aborted(0, 99) == aborted
        assert log.open_transactions() == still
        assert log.last_stable_offset == 41
    for start in range(0, 49, 4):
        for stop in range(start + 1, 50, 5):
            with opened(path) as log:  # nothing is known from the questions before
                expected = [one for one in aborted if one.last_offset >= start and one.first_offset < stop]
                place = log.locate(start)
                assert place is not None
                begins = log.files[place.segment].base_offset
                found = log.aborted(start, stop)
                touched = [one for one in expected if one.last_offset >= begins]
                assert found == touched or (
                    not found and not any(some.events for _, some in log.scan(start, stop))
                )


def test_no_transactions_are_looked_for_where_there_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "orders-3"
    three_segments(path)
    monkeypatch.setattr(PartitionLog, "ended", lambda _log, _number: pytest.fail("a segment is read"))
    with opened(path) as log:
        assert log.aborted(10, 160) == []


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        ([(0, 10), (1, 60), (2, 120)], None),
        ([(0, 0), (1, 60), (2, 120), (5, 160)], None),
        ([(0, 10), (1, 72), (2, 120)], None),  # compacted: the batch that is there is later
        ([(0, 10), (2, 60)], [(0, 10), (1, 60), (2, 120)]),
        ([(0, 10), (1, 60)], [(0, 10), (1, 60), (2, 120)]),
        ([(0, 10), (1, 60), (2, 100), (3, 170)], [(0, 10), (1, 60), (2, 120)]),
        ([], [(0, 10), (1, 60), (2, 120)]),
    ],
)
def test_leader_epochs(
    tmp_path: Path, stored: list[tuple[int, int]], expected: list[tuple[int, int]] | None
) -> None:
    path = tmp_path / "orders-3"
    three_segments(path)
    (path / "leader-epoch-checkpoint").write_bytes(epochs(stored))
    with opened(path) as log:
        assert list(log.epochs()) == [EpochStart(*row) for row in expected or stored]
        assert list(log.stored_epochs()) == [EpochStart(*row) for row in stored]


def test_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "orders-3"
    transactional(path)
    before = {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in path.iterdir()}
    path.chmod(0o500)
    with opened(path) as log:
        offsets(log)
        log.aborted(0, 99)
        log.offset_for_time(BASE)
    path.chmod(0o700)
    assert {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in path.iterdir()} == before


def test_any_damage_has_an_answer(tmp_path: Path) -> None:
    """Of every byte of a small folder."""
    path = tmp_path / "orders-3"
    transactional(path)
    (path / "leader-epoch-checkpoint").write_bytes(epochs([(0, 0)]))
    rng = Random(1)
    for file in sorted(path.iterdir()):
        whole = file.read_bytes()
        for at in range(0, len(whole), 3):
            damaged = bytearray(whole)
            damaged[at] = rng.choice((0, 0xFF, damaged[at] ^ 1))
            file.write_bytes(damaged)
            try:
                with opened(path) as log:
                    log.open_transactions()
                    log.aborted(0, 99)
                    log.offset_for_time(BASE + 9)
                    log.epochs()
                    offsets(log)
            except KcliError:
                pass
        file.write_bytes(whole)


def test_a_partition_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "orders-3"
    three_segments(path)
    with kcli.core.PartitionLog.open(path) as log:
        assert (log.tp, log.end_offset) == (TP, 160)
    with PartitionLog.open(path / name(60), path / name(10)) as log:
        assert (log.tp, log.start_offset, log.end_offset) == (TP, 10, 110)
    with pytest.raises(NotFoundError, match="no such file or folder"):
        PartitionLog.open(tmp_path / "orders-4")
    write(tmp_path / "orders-4", [batch(0)])
    with pytest.raises(ConfigError, match="2 partitions"):
        PartitionLog.open(tmp_path)
