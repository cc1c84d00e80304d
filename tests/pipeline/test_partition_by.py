"""Folders of days and hours: their names, the clocks of zones, and how files of a range are begun and ended."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from kcli.core.errors import ConfigError
from kcli.pipeline import partitioned_files
from kcli.pipeline.exported_records import in_units, read_in_order
from kcli.pipeline.job import TaskContext
from kcli.pipeline.manifest import ExportedFile, ForeignFileError, PlannedSlice, file_path, place_of
from kcli.pipeline.parquet_files import SCHEMA
from kcli.pipeline.partition_by import NO_TIME, PartitionBy, parse_partition_by
from kcli.pipeline.partitioned_files import partition_columns, partition_keys, write_partitioned
from kcli.pipeline.store.urls import open_store

HOUR = 3_600_000
START = 1_779_667_200_000  # 2026-05-25T00:00Z
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia")
CHANGES = (
    datetime(2026, 3, 29, 1, tzinfo=UTC),
    datetime(2026, 10, 25, 1, tzinfo=UTC),
    datetime(2026, 11, 1, 6, tzinfo=UTC),
    datetime(2011, 12, 30, 10, tzinfo=UTC),  # Apia has no such day
    datetime(1970, 1, 1, tzinfo=UTC),
)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("change", CHANGES)
def test_folders_are_what_clocks_of_the_zone_show(zone: str, change: datetime) -> None:
    around = int(change.timestamp() * 1000)
    times = [time for n in range(-200, 200) if (time := around + n * HOUR // 4 - 1) >= 0]
    by = PartitionBy("hour", zone)
    column = pa.array(times, pa.int64())
    shown = [datetime.fromtimestamp(time / 1000, ZoneInfo(zone)) for time in times]
    keys = partition_keys(column, by).to_pylist()
    assert [by.folder(key) for key in keys] == [f"date={one:%Y-%m-%d}/hour={one:%H}" for one in shown]
    columns = partition_columns(column, by)
    assert columns["date"].to_pylist() == [one.date() for one in shown]
    assert columns["hour"].to_pylist() == [one.hour for one in shown]
    days = PartitionBy("date", zone)
    assert partition_columns(column, days)["date"] == columns["date"]
    assert [days.folder(key) for key in partition_keys(column, days).to_pylist()] == [
        f"date={one:%Y-%m-%d}" for one in shown
    ]


@pytest.mark.parametrize("time", [None, -1, 253_402_300_800_000, (1 << 63) - 1])
def test_what_has_no_time_that_is_a_date_is_in_a_folder_of_its_own(time: int | None) -> None:
    by = PartitionBy("hour", "Europe/Berlin")
    column = pa.array([time], pa.int64())
    (key,) = partition_keys(column, by).to_pylist()
    assert by.folder(key) == f"date={NO_TIME}/hour={NO_TIME}"
    assert {name: one.to_pylist() for name, one in partition_columns(column, by).items()} == {
        "date": [None], "hour": [None],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "found"),
    [("date", "date=UTC"), ("hour", "hour=UTC"), ("hour=Europe/Berlin", "hour=Europe/Berlin")],
)
def test_a_unit_has_a_zone(text: str, found: str) -> None:
    assert str(parse_partition_by(text)) == found
    assert parse_partition_by(found) == parse_partition_by(text)


@pytest.mark.parametrize(
    "text", ["", "day", "date=", "hour=Berlin", "hour=../etc/passwd", "hour=/etc", "week=UTC"]
)
def test_other_words_are_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_partition_by(text)


@pytest.mark.parametrize(
    "folder", ["", "date=2026-11-29/", f"date={NO_TIME}/hour={NO_TIME}/", "date=2026-11-29/hour=05/"]
)
@pytest.mark.parametrize("number", [1, 2, 999])
def test_a_path_says_what_it_was_made_of(folder: str, number: int) -> None:
    path = file_path("a.b-c", 3, 10, 1 << 40, "parquet", folder, number)
    assert place_of(path) == ("a.b-c", folder, 3, 10, 1 << 40, number, "parquet")


@pytest.mark.parametrize(
    "path",
    [
        f"topic=t/date=../partition=0/{0:020}-{1:020}.parquet",
        f"topic=../t/partition=0/{0:020}-{1:020}.parquet",
        f"topic=t/hour=05/date=2026-11-29/partition=0/{0:020}-{1:020}.parquet",
        f"topic=t/partition=00/{0:020}-{1:020}.parquet",
        f"topic=t/partition=0/{0:020}-{1:020}-1.parquet",
        f"topic=t/partition=0/{0:020}-{1:020}.parquet/x",
    ],
)
def test_other_paths_are_none(path: str) -> None:
    assert place_of(path) is None


# --- the files of a range -------------------------------------------------------------------------------


def records(times: Sequence[int | None], cuts: Sequence[int] = ()) -> Iterator[pa.RecordBatch]:
    """Records at offsets from 0 on, in batches that end at ``cuts``."""
    rows = [
        {
            "offset": n,
            "timestamp": time,
            "timestamp_type": "CreateTime",
            "key": b"%d" % n,
            "value": b"v" * (n % 7),
            "headers": [],
        }
        for n, time in enumerate(times)
    ]
    whole = pa.RecordBatch.from_pylist(rows, SCHEMA)
    for begin, end in zip([0, *cuts], [*cuts, len(times)], strict=True):
        yield whole.slice(begin, end - begin)


def written(
    folder: Path, times: Sequence[int | None], cuts: Sequence[int] = (), by: str = "hour"
) -> list[ExportedFile]:
    task = PlannedSlice("t", "id", 0, 0, len(times) + 5)
    store = open_store(str(folder))
    return write_partitioned(
        store, records(times, cuts), task, parse_partition_by(by), TaskContext(0), SCHEMA
    )


def read_back(folder: Path, files: Sequence[ExportedFile], start: int = 0) -> list[int]:
    store = open_store(str(folder))
    found = []
    for unit in in_units(files):
        for part in read_in_order(store, unit, "parquet", start):
            assert list(part.offsets) == [int(key) for key in part.table["key"].to_pylist()]
            found += part.offsets
    return found


ALTERNATING = [START + (n * 7 % 20) * HOUR for n in range(300)]
INTERLEAVED = [START + n * HOUR // 10 - (2 * HOUR if n % 2 else 0) for n in range(300)]
RISING = [START + n * HOUR // 10 for n in range(300)]
MIXED = [None if n % 11 == 0 else START + (n // 10 - (n % 3 == 0)) * HOUR for n in range(300)]


@pytest.mark.parametrize("times", [ALTERNATING, RISING, INTERLEAVED, MIXED])
def test_each_record_is_once_in_the_folder_of_its_hour(tmp_path: Path, times: list[int | None]) -> None:
    files = written(tmp_path, times)
    by = parse_partition_by("hour")
    expected: dict[str, list[int]] = {}
    for offset, key in enumerate(partition_keys(pa.array(times, pa.int64()), by).to_pylist()):
        expected.setdefault(f"{by.folder(key)}/", []).append(offset)
    found: dict[str, list[int]] = {}
    for file in files:
        place = place_of(file.path)
        assert place is not None
        offsets = read_back(tmp_path, [file])
        assert (offsets[0], offsets[-1], len(offsets)) == (file.first, file.last, file.records)
        found.setdefault(place.folder, []).extend(offsets)
    assert found == expected
    assert read_back(tmp_path, files) == list(range(300))
    assert read_back(tmp_path, files, 123) == list(range(123, 300))


@pytest.mark.parametrize("times", [ALTERNATING, RISING, INTERLEAVED, MIXED])
@pytest.mark.parametrize("cuts", [(1, 2, 3), (50, 100, 150), tuple(range(1, 300, 7)), (299,)])
def test_files_do_not_depend_on_how_records_arrive(
    tmp_path: Path, times: list[int], cuts: tuple[int, ...]
) -> None:
    assert written(tmp_path / "whole", times) == written(tmp_path / "cut", times, cuts)


def test_few_files_are_open_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, most = [0], [0]
    new, commit = open_store(str(tmp_path)).__class__.new, partitioned_files._Files._end

    def counted(self: Any, path: str) -> Any:
        begun[0] += 1
        most[0] = max(most[0], begun[0])
        return new(self, path)

    def ended(self: Any, key: int | None) -> None:
        begun[0] -= 1
        commit(self, key)

    monkeypatch.setattr("kcli.pipeline.store.folder.FolderStore.new", counted)
    monkeypatch.setattr(partitioned_files._Files, "_end", ended)
    files = written(tmp_path, ALTERNATING)
    assert most[0] == partitioned_files.MOST_OPEN < 20
    assert len(files) > 20


def test_times_all_over_the_place_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitioned_files, "MOST_FILES", 25)
    with pytest.raises(ConfigError, match="more than 25 files"):
        written(tmp_path, ALTERNATING)
    assert len(written(tmp_path / "days", ALTERNATING, by="date")) == 1
    assert not list(tmp_path.rglob(".*.tmp"))


def test_files_of_an_attempt_that_was_killed_are_kept(tmp_path: Path) -> None:
    files = written(tmp_path, MIXED)
    stamps = {file.path: (tmp_path / file.path).stat().st_ino for file in files}
    (tmp_path / files[1].path).unlink()
    assert written(tmp_path, MIXED) == files
    kept = {file.path for file in files if (tmp_path / file.path).stat().st_ino == stamps[file.path]}
    assert kept >= {file.path for file in files} - {files[1].path}


def test_a_file_of_other_records_is_refused(tmp_path: Path) -> None:
    written(tmp_path, MIXED)
    with pytest.raises(ForeignFileError, match="is another file"):
        written(tmp_path, [*MIXED[:-3], *MIXED[-1:], None, None])
