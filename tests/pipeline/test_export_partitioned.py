"""``kcli pipeline export --partition-by``: what readers find in its folders, restoring, nights of appending, kills."""

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import kcli
from kcli.core.errors import ConfigError
from kcli.pipeline.drivers import export as driver
from kcli.pipeline.kernels import import_ as import_kernel
from kcli.pipeline.manifest import Documents
from kcli.pipeline.partition_by import NO_TIME
from kcli.pipeline.spark.runner import SparkRunner
from kcli.pipeline.store import s3
from kcli.pipeline.store.urls import open_store
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import batch
from tests.pipeline.exporting import ROWS, Row, contents, export, files, fill, import_, manifest
from tests.pipeline.object_stores import BUCKET, environment, s3_server
from tests.pipeline.test_export import _Kept
from tests.pipeline.test_export_append import chain, named
from tests.pipeline.test_export_kills import killed

HOUR = 3_600_000
START = 1_779_667_200_000  # 2026-05-25T00:00Z
BY = ("--partition-by", "hour=Europe/Berlin")
DAYS = ("--partition-by", "date")


def hours(count: int, begin: int = 0) -> list[Row]:
    """Records of which every third is late by two hours."""
    return [
        (b"%d" % n, b"v" * (n % 9), (), START + n * HOUR // 4 - (2 * HOUR if n % 3 == 0 else 0))
        for n in range(begin, begin + count)
    ]


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, cluster_id="here", topics={"t": 2}) as made:
        fill(made, hours(90))
        fill(made, ROWS, 1)
        made.append("t", 1, batch(b"no time", timestamp=-1))
        yield made


def rows(folder: Path | str) -> list[tuple[int, int]]:
    """Partition and offset of all rows that the manifest names."""
    table = pa.table(kcli.read_export(str(folder), columns=["partition", "offset"]))
    return sorted(zip(table["partition"].to_pylist(), table["offset"].to_pylist(), strict=True))


def expected(cluster: FakeCluster) -> list[tuple[int, int]]:
    return [(p, n) for p in (0, 1) for n in range(len(contents(cluster.bootstrap, "t", p)))]


def committed(folder: Path) -> dict[str, Any]:
    """What the manifest says but for its time, and all files."""
    found: dict[str, Any] = dict(files(folder))
    text = json.loads(found.pop("_kcli_manifest.json"))
    del text["created"]
    return {**found, "manifest": text}


def test_readers_see_days_and_hours_as_columns(cluster: FakeCluster, tmp_path: Path) -> None:
    done, report = export(cluster, tmp_path / "x", *BY)
    assert done.code == 0, done.err
    found = manifest(tmp_path / "x")
    assert found["request"]["partition_by"] == "hour=Europe/Berlin"
    paths = [file["path"] for one in found["topics"][0]["partitions"] for file in one["files"]]
    assert set(files(tmp_path / "x")) == {"_kcli_manifest.json", *paths}
    assert f"topic=t/date=2026-05-25/hour=02/partition=0/{0:020}-{90:020}.parquet" in paths
    assert f"topic=t/date={NO_TIME}/hour={NO_TIME}/partition=1/{0:020}-{6:020}.parquet" in paths
    assert [item["records"] for item in report["items"]] == [90, 6]
    assert [item["files"] for item in report["items"]] == [
        [file["path"] for file in one["files"]] for one in found["topics"][0]["partitions"]
    ]
    glob = f"{tmp_path}/x/**/*.parquet"
    by_duckdb = duckdb.sql(
        f"""select date::varchar, hour::int, partition::int, "offset", timestamp
        from read_parquet('{glob}', hive_partitioning=true) order by 3, 4"""
    ).fetchall()
    frame = pl.scan_parquet(glob, hive_partitioning=True).sort("partition", "offset").collect()
    by_polars = list(
        zip(
            [None if one is None else str(one) for one in frame["date"]],
            [None if one is None else int(one) for one in frame["hour"]],
            frame["partition"], frame["offset"], frame["timestamp"], strict=True,
        )
    )  # fmt: skip
    dataset = ds.dataset(
        str(tmp_path / "x"), format="parquet", exclude_invalid_files=True,
        partitioning=ds.HivePartitioning(
            pa.schema([("topic", pa.string()), ("date", pa.date32()), ("hour", pa.int32()), ("partition", pa.int32())]),
            null_fallback=NO_TIME,
        ),
    )  # fmt: skip
    table = dataset.to_table().sort_by([("partition", "ascending"), ("offset", "ascending")])
    by_pyarrow = [
        (
            None if row["date"] is None else str(row["date"]),
            row["hour"],
            row["partition"],
            row["offset"],
            row["timestamp"],
        )
        for row in table.select(["date", "hour", "partition", "offset", "timestamp"]).to_pylist()
    ]
    assert by_pyarrow == by_polars == by_duckdb
    assert len(by_pyarrow) == 96
    assert by_pyarrow[4][:2] == (str(date(2026, 5, 25)), 3)  # 01:00Z in May
    assert by_pyarrow[-1][:2] == (None, None)


@pytest.mark.integration
@pytest.mark.long
def test_spark_writes_the_same_files_and_reads_them(
    cluster: FakeCluster, spark: SparkRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql import SparkSession

    monkeypatch.setattr("kcli.pipeline.spark.runner.open_runner", lambda **_settings: _Kept(spark))
    assert export(cluster, tmp_path / "inline", *BY)[0].code == 0
    done, report = export(cluster, tmp_path / "spark", *BY, "--runner", "spark")
    assert done.code == 0, done.err
    assert report["runner"] == "spark"
    assert committed(tmp_path / "spark") == committed(tmp_path / "inline")
    session = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
    frame = session.read.parquet(str(tmp_path / "spark"))
    assert dict(frame.dtypes)["date"] == "date"
    found = Counter((row.date, row.hour) for row in frame.select("date", "hour").collect())
    glob = f"{tmp_path}/inline/**/*.parquet"
    by_duckdb = duckdb.sql(
        f"select date, hour::int, count(*) from read_parquet('{glob}', hive_partitioning=true) group by 1, 2"
    ).fetchall()
    assert found == {(day, hour): count for day, hour, count in by_duckdb}


def test_processes_write_the_same_files(cluster: FakeCluster, tmp_path: Path) -> None:
    export(cluster, tmp_path / "inline", *BY)
    done, _ = export(cluster, tmp_path / "x", *BY, "--runner", "processes")
    assert done.code == 0, done.err
    found, there = committed(tmp_path / "x"), committed(tmp_path / "inline")
    # Processes divide ranges: the rows are the same, in more files.
    assert rows(tmp_path / "x") == rows(tmp_path / "inline") == expected(cluster)
    assert found["manifest"]["request"] == there["manifest"]["request"]


@pytest.mark.long
def test_a_store_has_the_same_files(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with s3_server() as server:
        for name, text in environment(server.port).items():
            monkeypatch.setenv(name, text)
        monkeypatch.setattr(s3, "_PART", 700)
        url = f"s3://{BUCKET}/{tmp_path.name}"
        export(cluster, tmp_path / "x", *BY, "--append")
        done, _ = export(cluster, url, *BY, "--append")
        assert done.code == 0, done.err
        found = server.files(tmp_path.name)
        there = files(tmp_path / "x")
        data = {name for name in there if name.endswith(".parquet")}
        assert {name: found[name] for name in data} == {name: there[name] for name in data}
        assert found.keys() == there.keys()
        fill(cluster, hours(20, 90))
        done, _ = export(cluster, url, *BY, "--append", "--compact")
        assert done.code == 0, done.err
        assert server.uploads() == []
        assert rows(url) == expected(cluster)
        with FakeCluster(1, cluster_id="target") as target:
            done, _ = import_(target, url)
            assert done.code == 0, done.err
            assert contents(target.bootstrap, "t") == contents(cluster.bootstrap, "t")


@pytest.mark.parametrize("runner", ["inline", "processes"])
def test_import_restores_the_order_of_offsets(cluster: FakeCluster, tmp_path: Path, runner: str) -> None:
    export(cluster, tmp_path / "x", *BY)
    with FakeCluster(1, cluster_id="target") as target:
        done, report = import_(target, tmp_path / "x", "--runner", runner)
        assert done.code == 0, done.err
        assert report["totals"]["records"] == 96
        for partition in (0, 1):
            assert contents(target.bootstrap, "t", partition) == contents(cluster.bootstrap, "t", partition)
        done, report = import_(target, tmp_path / "x", "--runner", runner)
        assert (done.code, report["totals"]["records"]) == (0, 0)


def test_nights_and_their_compaction_are_one_export(cluster: FakeCluster, tmp_path: Path) -> None:
    x = tmp_path / "x"
    for number in range(4):
        done, _ = export(cluster, x, *DAYS, "--append")
        assert done.code == 0, done.err
        assert rows(x) == expected(cluster)
        fill(cluster, hours(30, 90 + 30 * number))
        fill(cluster, ROWS[:number], 1)
    assert export(cluster, x, *DAYS, "--append")[0].code == 0
    assert set(files(x)) == named(x)
    before = chain(x)
    done, _ = export(cluster, x, *DAYS, "--append", "--compact")
    assert done.code == 0, done.err
    after = chain(x)
    assert len(after.files) < len(before.files)
    assert set(files(x)) == named(x)
    folders = [
        (str(tp), file.path.rpartition("/")[0]) for tp, one in after.partitions() for file in one.files
    ]
    assert len(folders) == len(set(folders))
    assert rows(x) == expected(cluster)
    assert "merged" not in export(cluster, x, *DAYS, "--append", "--compact")[0].err
    fill(cluster, hours(3, 300))
    assert export(cluster, x, *DAYS, "--append")[0].code == 0
    with FakeCluster(1, cluster_id="target") as target:
        done, _ = import_(target, x)
        assert done.code == 0, done.err
        for partition in (0, 1):
            assert contents(target.bootstrap, "t", partition) == contents(cluster.bootstrap, "t", partition)


def test_files_of_one_range_in_a_folder_are_merged(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kcli.pipeline.partitioned_files.MOST_OPEN", 1)
    export(cluster, tmp_path / "x", *BY)
    before = chain(tmp_path / "x")
    assert any(file.path.endswith("-2.parquet") for file in before.files)
    done, _ = export(cluster, tmp_path / "x", *BY, "--compact")
    assert done.code == 0, done.err
    after = chain(tmp_path / "x")
    assert set(files(tmp_path / "x")) == named(tmp_path / "x")
    folders = [file.path.rpartition("/")[0] for file in after.files]
    assert len(folders) == len(set(folders)) < len(before.files)
    assert rows(tmp_path / "x") == expected(cluster)
    assert "merged" not in export(cluster, tmp_path / "x", *BY, "--compact")[0].err


def test_ranges_without_records_are_covered(cluster: FakeCluster, tmp_path: Path) -> None:
    limits = ("--since", "2026-05-25T01:00Z", "--until", "2026-05-25T02:00Z", "--exact-times")
    done, report = export(cluster, tmp_path / "x", *DAYS, *limits)
    assert done.code == 0, done.err
    found = manifest(tmp_path / "x")["topics"][0]["partitions"]
    for one in found:
        ranges = [(file["start"], file["end"]) for file in (*one["files"], *one.get("empty", ()))]
        assert sum(end - start for start, end in set(ranges)) == one["end"] - one["start"]
    assert [item["records"] for item in report["items"]] == [one["records"] for one in found]
    done, again = export(cluster, tmp_path / "x", *DAYS, *limits)
    assert (done.code, again["items"]) == (0, report["items"])


def test_continuous_rounds_add_files(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = []

    def waited(_seconds: float, stop: Any) -> None:
        rounds.append(len(rounds))
        if len(rounds) > 2:
            stop.request()
        else:
            fill(cluster, hours(5, 90 + 5 * len(rounds)))

    monkeypatch.setattr(driver, "wait", waited)
    done, _ = export(cluster, tmp_path / "x", *DAYS, "--continuous")
    assert done.code == 130, done.err
    assert rows(tmp_path / "x") == expected(cluster)
    assert set(files(tmp_path / "x")) == named(tmp_path / "x")


@pytest.mark.long
@pytest.mark.long
@pytest.mark.case("K4")
@pytest.mark.parametrize("flags", [("--append",), ()])
def test_an_export_that_is_killed_anywhere_is_completed(tmp_path: Path, flags: tuple[str, ...]) -> None:
    with FakeCluster(1, cluster_id="here", topics={"t": 2}) as cluster:
        fill(cluster, hours(8))
        fill(cluster, ROWS, 1)
        export(cluster, tmp_path / "whole", *DAYS, *flags)
        whole = set(files(tmp_path / "whole"))
        step = 0
        while killed(cluster, tmp_path / str(step), step, *DAYS, *flags):
            folder = tmp_path / str(step)
            done, _ = export(cluster, folder, *DAYS, *flags)
            assert done.code == 0, (step, done.err)
            assert rows(folder) == expected(cluster)
            assert set(files(folder)) == whole
            step += 1
        assert step > 20


def test_another_layout_is_another_export(cluster: FakeCluster, tmp_path: Path) -> None:
    export(cluster, tmp_path / "x", *DAYS)
    for other in (BY, (), ("--partition-by", "date=Europe/Berlin")):
        done, _ = export(cluster, tmp_path / "x", *other)
        assert (done.code, "holds another export" in done.err) == (7, True), done.err
    assert "--partition-by date=UTC" in done.err
    assert export(cluster, tmp_path / "x", "--partition-by", "date=UTC")[0].code == 0


def test_a_file_that_was_removed_is_named(cluster: FakeCluster, tmp_path: Path) -> None:
    export(cluster, tmp_path / "x", *DAYS)
    gone = chain(tmp_path / "x").files[0].path
    (tmp_path / "x" / gone).unlink()
    done, _ = export(cluster, tmp_path / "x", *DAYS)
    assert (done.code, gone in done.err, "restore" in done.err) == (7, True, True)


@pytest.mark.parametrize("change", ["folder", "first", "twice", "unit"])
def test_a_manifest_that_was_edited_is_refused(cluster: FakeCluster, tmp_path: Path, change: str) -> None:
    export(cluster, tmp_path / "x", *BY)
    text = manifest(tmp_path / "x")
    file = text["topics"][0]["partitions"][0]["files"][0]
    if change == "folder":
        file["path"] = file["path"].replace("hour=", "hour=../")
    elif change == "first":
        file["first"] = 95
    elif change == "twice":
        text["topics"][0]["partitions"][0]["files"].append(
            {**file, "path": file["path"].replace(".parquet", "-2.parquet")}
        )
        text["topics"][0]["partitions"][0]["records"] += file["records"]
    else:
        text["request"]["partition_by"] = "date=UTC"
    (tmp_path / "x/_kcli_manifest.json").write_text(json.dumps(text))
    with pytest.raises(ConfigError, match="is not valid"):
        Documents(open_store(str(tmp_path / "x"))).manifest()


def test_only_parquet_has_folders_of_times(cluster: FakeCluster, tmp_path: Path) -> None:
    done, _ = export(cluster, tmp_path / "x", *DAYS, "--format", "csv")
    assert (done.code, "--partition-by with --format csv" in done.err) == (2, True)


@pytest.mark.case("K4")
@pytest.mark.long
@pytest.mark.parametrize("nights", [1, 3])
def test_a_night_that_is_killed_anywhere_while_it_merges_is_completed(tmp_path: Path, nights: int) -> None:
    flags = (*DAYS, "--append", "--compact")
    with FakeCluster(1, cluster_id="here", topics={"t": 1}) as cluster:
        fill(cluster, hours(150))
        first = tmp_path / "first"
        for number in range(nights):
            export(cluster, first, *DAYS, "--append")
            fill(cluster, hours(50, 150 + 50 * number))
        shutil.copytree(first, tmp_path / "whole")
        assert export(cluster, tmp_path / "whole", *flags)[0].code == 0
        whole = {name for name in files(tmp_path / "whole") if name.startswith("topic=")}
        step = 0
        shutil.copytree(first, tmp_path / str(step))
        while killed(cluster, tmp_path / str(step), step, *flags):
            folder = tmp_path / str(step)
            committed_before = rows(folder)
            assert len(committed_before) == len(set(committed_before)) >= 150 + 50 * (nights - 1)
            done, _ = export(cluster, folder, *flags)
            assert done.code == 0, (step, done.err)
            assert rows(folder) == [(0, n) for n in range(150 + 50 * nights)]
            assert {name for name in files(folder) if name.startswith("topic=")} == whole
            assert set(files(folder)) == named(folder)
            step += 1
            shutil.copytree(first, tmp_path / str(step))
        assert step > 20


@pytest.mark.parametrize("commits", [2, 9])
def test_an_import_that_ends_between_two_files_goes_on(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commits: int
) -> None:
    export(cluster, tmp_path / "x", *BY)
    monkeypatch.setattr("kcli.pipeline.kernels.import_._TRANSACTION_BYTES", 1)
    monkeypatch.setattr("kcli.pipeline.exported_records._BATCH_ROWS", 7)
    monkeypatch.setattr("kcli.pipeline.exported_records._FEWEST_ROWS", 3)
    commit, done = import_kernel._Import._commit, [0]

    def ending(self: Any, *arguments: Any) -> None:
        done[0] += 1
        if done[0] == commits + 1:
            raise ConfigError("ended by the test")
        commit(self, *arguments)

    with FakeCluster(1, cluster_id="target") as target:
        with monkeypatch.context() as patched:
            patched.setattr(import_kernel._Import, "_commit", ending)
            first, _ = import_(target, tmp_path / "x")
            assert "ended by the test" in first.err
        again, _ = import_(target, tmp_path / "x")
        assert again.code == 0, again.err
        for partition in (0, 1):
            assert contents(target.bootstrap, "t", partition) == contents(cluster.bootstrap, "t", partition)
