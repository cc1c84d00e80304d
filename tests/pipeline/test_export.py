"""``kcli pipeline export`` on a fake cluster: what it writes, what it refuses, and what becomes of a second run."""

import errno
import hashlib
import json
import os
import signal
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from kcli.core.error_codes import LEADER_NOT_AVAILABLE
from kcli.core.producer.producer import Producer
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.protocol.messages.list_offsets import ListOffsetsRequest
from kcli.core.types import Header, ProducerRecord
from kcli.flows.stop import Stop
from kcli.pipeline.drivers import export as driver
from kcli.pipeline.parquet_files import SCHEMA
from kcli.pipeline.spark.runner import SparkRunner
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import batch
from tests.pipeline.exporting import ROWS, Row, contents, export, files, fill, import_, manifest
from tests.run import kcli_as_set_up as command

FIRST = "topic=t/partition=0/00000000000000000000-00000000000000000005"
FORMATS = ("parquet", "ndjson", "csv", "raw")


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, cluster_id="here", topics={"t": 2, "u": 1}) as made:
        fill(made, ROWS)
        fill(made, [(b"%d" % n, b"v" * n, (), n) for n in range(40)], 1)
        yield made


def item(topic: str, partition: int, records: int, file: str, size: int) -> dict[str, object]:
    """Of a partition that begins at 0 and has no gaps."""
    place = {"item": "partition", "topic": topic, "partition": partition, "start": 0, "end": records}
    return {**place, "records": records, "skipped_records": 0, "bytes": size, "files": [file]}


def test_the_report_the_folders_and_the_manifest_are_as_documented(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    cluster.configure("t", **{"retention.ms": "-1"})
    done, report = export(cluster, tmp_path / "x", "t", "u")
    assert done.code == 0, done.err
    data = {name: data for name, data in files(tmp_path / "x").items() if name.endswith(".parquet")}
    second = "topic=t/partition=1/00000000000000000000-00000000000000000040.parquet"
    first = f"{FIRST}.parquet"
    assert sorted(data) == [first, second]
    assert set(files(tmp_path / "x")) == {first, second, "_kcli_manifest.json"}
    assert report == {
        "kind": "PipelineReport",
        "api": "kcli/v1",
        "cluster": "here",
        "at": report["at"],
        "command": "export",
        "runner": "inline",
        "totals": {
            "records": 45,
            "bytes": len(data[first]) + len(data[second]),
            "seconds": report["totals"]["seconds"],
            "tasks": 2,
            "task_retries": 0,
        },
        "items": [
            item("t", 0, 5, first, len(data[first])),
            item("t", 1, 40, second, len(data[second])),
            {**item("u", 0, 0, "", 0), "files": []},
        ],
        "warnings": [],
        "complete": True,
        "missing": [],
    }
    found = manifest(tmp_path / "x")
    assert list(found) == ["api", "kind", "cluster", "format", "created", "complete", "request", "topics"]
    assert {name: found[name] for name in ("api", "kind", "cluster", "format", "complete")} == {
        "api": "kcli/v1",
        "kind": "ExportManifest",
        "cluster": "here",
        "format": "parquet",
        "complete": True,
    }
    topic = found["topics"][0]
    assert topic["config"]["retention.ms"] == "-1"
    assert topic["partitions"][0] == {
        "partition": 0,
        "start": 0,
        "end": 5,
        "records": 5,
        "files": [
            {
                "path": first,
                "start": 0,
                "end": 5,
                "records": 5,
                "bytes": len(data[first]),
                "sha256": hashlib.sha256(data[first]).hexdigest(),
            }
        ],
    }
    assert found["topics"][1]["partitions"] == [
        {"partition": 0, "start": 0, "end": 0, "records": 0, "files": []}
    ]


def test_parquet_has_every_attribute_of_a_record(cluster: FakeCluster, tmp_path: Path) -> None:
    cluster.append("t", 0, batch(b"no time", timestamp=-1))
    done, _ = export(cluster, tmp_path / "x", "-p", "0")
    assert done.code == 0, done.err
    path = tmp_path / "x" / f"topic=t/partition=0/{0:020}-{6:020}.parquet"
    table = pq.read_table(path, partitioning=None)
    assert table.schema.remove_metadata().equals(
        SCHEMA.set(5, pq.read_schema(path).field("headers")).remove_metadata()
    )
    assert table.schema.names == [
        "offset",
        "timestamp",
        "timestamp_type",
        "key",
        "value",
        "headers",
        "leader_epoch",
    ]
    assert str(table.schema.field("headers").type) == "list<element: struct<key: string, value: binary>>"
    rows: list[Row] = [
        (row["key"], row["value"], tuple((h["key"], h["value"]) for h in row["headers"]), row["timestamp"])
        for row in table.to_pylist()
    ]
    assert rows == [*ROWS, (None, b"no time", (), None)]
    assert set(table["timestamp_type"].to_pylist()) == {"CreateTime"}
    metadata = pq.read_metadata(path)
    assert metadata.row_group(0).column(0).compression == "ZSTD"
    facts = {
        name: metadata.metadata[f"kcli.{name}".encode()].decode() for name in ("start", "end", "records")
    }
    assert facts == {"start": "0", "end": "6", "records": "6"}


def test_other_tools_read_the_folder_as_one_table(cluster: FakeCluster, tmp_path: Path) -> None:
    duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    assert export(cluster, tmp_path / "x")[0].code == 0
    table = ds.dataset(tmp_path / "x", partitioning="hive").to_table()
    assert table.num_rows == 45
    assert set(zip(table["topic"].to_pylist(), table["partition"].to_pylist(), strict=True)) == {
        ("t", 0),
        ("t", 1),
    }
    where = f"{tmp_path}/x/**/*.parquet"
    rows = duckdb.sql(
        f"select partition, count(*), count(value) from read_parquet('{where}', hive_partitioning=true) "
        "group by all order by all"
    )
    assert rows.fetchall() == [(0, 5, 4), (1, 40, 40)]
    assert polars.scan_parquet(where, hive_partitioning=True).select("topic", "value").collect().height == 45


@pytest.mark.parametrize("form", ["ndjson", "csv"])
def test_text_is_what_consume_prints(cluster: FakeCluster, tmp_path: Path, form: str) -> None:
    assert export(cluster, tmp_path / "x", "--format", form, "-p", "0")[0].code == 0
    printed = command("-b", cluster.bootstrap, "consume", "t", "-p", "0", "-e", "-o", form)
    assert files(tmp_path / "x")[f"{FIRST}.{form}"] == printed.out.encode()
    assert manifest(tmp_path / "x")["topics"][0]["partitions"][0]["records"] == 5


def test_raw_is_lengths_and_values(cluster: FakeCluster, tmp_path: Path) -> None:
    assert export(cluster, tmp_path / "x", "--format", "raw", "-p", "0")[0].code == 0
    expected = b"".join(
        (-1 if value is None else len(value)).to_bytes(4, "big", signed=True) + (value or b"")
        for _key, value, _headers, _timestamp in ROWS
    )
    assert files(tmp_path / "x")[f"{FIRST}.raw"] == expected


@pytest.mark.parametrize("form", FORMATS)
def test_a_second_run_reads_nothing(cluster: FakeCluster, tmp_path: Path, form: str) -> None:
    _, first = export(cluster, tmp_path / "x", "--format", form)
    before, reads = files(tmp_path / "x"), len(cluster.seen(FetchRequest))
    fill(cluster, ROWS)
    done, second = export(cluster, tmp_path / "x", "--format", form)
    assert done.code == 0, done.err
    assert "is complete" in done.err
    assert len(cluster.seen(FetchRequest)) == reads
    assert files(tmp_path / "x") == before
    assert second["items"] == first["items"]
    assert second["totals"]["tasks"] == 0


@pytest.mark.parametrize("form", FORMATS)
def test_what_is_missing_is_written_again_and_nothing_else(
    cluster: FakeCluster, tmp_path: Path, form: str
) -> None:
    export(cluster, tmp_path / "x", "--format", form)
    before = files(tmp_path / "x")
    (tmp_path / "x" / f"{FIRST}.{form}").unlink()
    kept = tmp_path / "x" / f"topic=t/partition=1/{0:020}-{40:020}.{form}"
    inode = kept.stat().st_ino
    done, report = export(cluster, tmp_path / "x", "--format", form)
    assert done.code == 0, done.err
    assert (report["totals"]["tasks"], report["totals"]["records"]) == (1, 45)
    assert [(one["partition"], one["end"], one["records"]) for one in report["items"]] == [
        (0, 5, 5),
        (1, 40, 40),
    ]
    assert files(tmp_path / "x") == before
    assert kept.stat().st_ino == inode


@pytest.mark.case("K8")
@pytest.mark.parametrize(
    ("more", "why"),
    [
        (("--format", "csv"), "its format is parquet, not csv"),
        (("--offset", "2"), "not with t --offset 2"),
        (("--since", "1h"), "not with t --since 1h"),
        (("-p", "0"), "not with t --partitions 0"),
        (("t", "u"), "not with t u"),
    ],
)
def test_another_export_in_the_folder_is_refused(
    cluster: FakeCluster, tmp_path: Path, more: tuple[str, ...], why: str
) -> None:
    export(cluster, tmp_path / "x")
    before = files(tmp_path / "x")
    done, _ = export(cluster, tmp_path / "x", *more)
    assert done.code == 7
    assert why in done.err
    assert files(tmp_path / "x") == before


@pytest.mark.case("K8")
def test_another_cluster_or_topic_of_the_same_name_is_refused(cluster: FakeCluster, tmp_path: Path) -> None:
    export(cluster, tmp_path / "x")
    with FakeCluster(1, cluster_id="there", topics={"t": 1}) as other:
        done, _ = export(other, tmp_path / "x")
    assert (done.code, "cluster here, and this is cluster there" in done.err) == (7, True)
    cluster.recreate_topic("t")
    done, _ = export(cluster, tmp_path / "x")
    assert (done.code, "was deleted; the one of this name now has id" in done.err) == (7, True)


@pytest.mark.case("K8")
@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("notes.txt", "", "is not empty"),
        ("_kcli_manifest.json", '{"kind":"ExportManifest","api":"kcli/v1","clus', "is not valid"),
        ("_kcli_manifest.json", '{"kind":"Other"}', "it is no ExportManifest of kcli"),
        ("_kcli_plan.json", '{"kind":"ExportPlan","api":"kcli/v9"}', "it is of kcli/v9"),
    ],
)
def test_a_folder_with_something_else_is_refused(
    cluster: FakeCluster, tmp_path: Path, name: str, text: str, why: str
) -> None:
    (tmp_path / name).write_text(text)
    done, _ = export(cluster, tmp_path)
    assert done.code == 7
    assert why in done.err
    assert files(tmp_path) == {name: text.encode()}


@pytest.mark.case("K8")
def test_files_whose_manifest_and_plan_are_lost_are_not_continued(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    export(cluster, tmp_path / "x")
    (tmp_path / "x/_kcli_manifest.json").unlink()
    done, _ = export(cluster, tmp_path / "x")
    assert (done.code, "neither _kcli_manifest.json nor _kcli_plan.json" in done.err) == (7, True)


def test_a_file_that_was_changed_is_refused(cluster: FakeCluster, tmp_path: Path) -> None:
    export(cluster, tmp_path / "x")
    with (tmp_path / "x" / f"{FIRST}.parquet").open("ab") as file:
        file.write(b"more")
    done, _ = export(cluster, tmp_path / "x")
    assert (done.code, "was changed" in done.err) == (7, True)


@pytest.mark.case("K5")
def test_a_range_that_retention_ate_is_an_error_with_its_offsets(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    hold = cluster.hold(FetchRequest)

    def act() -> None:
        hold.wait(timeout=120)
        cluster.delete_records("t", 1, 7)
        hold.release()

    thread = threading.Thread(target=act)
    thread.start()
    done, report = export(cluster, tmp_path / "x")
    thread.join()
    assert done.code == 5, done.err
    assert "t-1" in done.err
    assert "7" in report["items"][1]["error"]
    assert not (tmp_path / "x/_kcli_manifest.json").exists()
    done, report = export(cluster, tmp_path / "x")
    assert done.code == 5
    assert report["items"][0]["records"] == 5


@pytest.mark.case("K7")
def test_a_corrupt_batch_fails_its_task_and_a_later_run_does_the_rest(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    whole = batch(b"whole", timestamp=1)
    damaged = bytearray(whole)
    damaged[-1] ^= 1
    cluster.append("u", 0, batch(b"a", timestamp=1))
    cluster.append("u", 0, bytes(damaged))
    done, report = export(cluster, tmp_path / "x", "t", "u")
    assert done.code == 5, done.err
    assert "u-0" in done.err
    assert [item["records"] for item in report["items"]] == [5, 40, 0]
    assert "u-0" in report["items"][2]["error"]
    assert "1" in report["items"][2]["error"]
    assert sorted(name for name in files(tmp_path / "x") if not name.startswith("topic=t")) == [
        "_kcli_plan.json"
    ]


@pytest.mark.case("K6")
def test_offsets_without_a_record_are_no_loss(cluster: FakeCluster, tmp_path: Path) -> None:
    with Producer(bootstrap_servers=cluster.bootstrap, transactional_id="x") as producer:
        producer.init_transactions()
        for number in range(4):
            producer.begin_transaction()
            producer.send(ProducerRecord("u", b"%d" % number, timestamp=1)).result(120)
            producer.commit_transaction() if number % 2 else producer.abort_transaction()
    done, report = export(cluster, tmp_path / "x", "u")
    assert done.code == 0, done.err
    (found,) = report["items"]
    assert [found[name] for name in ("start", "end", "records", "skipped_records")] == [0, 8, 2, 6]
    table = ds.dataset(tmp_path / "x").to_table()
    assert table["value"].to_pylist() == [b"1", b"3"]
    assert table["offset"].to_pylist() == [2, 6]


def test_runners_write_the_same_bytes(cluster: FakeCluster, tmp_path: Path) -> None:
    found = []
    for number, runner in enumerate((("--runner", "inline"), ("--runner", "processes", "--local", "2"))):
        done, _ = export(cluster, tmp_path / str(number), *runner)
        assert done.code == 0, done.err
        every = files(tmp_path / str(number))
        text = json.loads(every.pop("_kcli_manifest.json"))
        del text["created"]
        found.append((text, every))
    assert found[0] == found[1]


@pytest.mark.case("K11")
def test_row_groups_end_by_size_and_not_by_fetches(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kcli.pipeline.parquet_files.ROW_GROUP_BYTES", 300)
    headers: tuple[Header, ...] = (("h", b"x" * 10),)
    rows: list[Row] = [(b"k", b"v" * (zlib.crc32(b"%d" % n) % 90), headers, n) for n in range(60)]
    fill(cluster, [*rows[:30], (None, b"large" * 200, (), 1), *rows[30:]], topic="u")
    export(cluster, tmp_path / "1", "u")
    path = f"topic=u/partition=0/{0:020}-{61:020}.parquet"
    groups = pq.ParquetFile(tmp_path / "1" / path)
    counts = [groups.metadata.row_group(n).num_rows for n in range(groups.num_row_groups)]
    assert sum(counts) == 61
    for n in range(groups.num_row_groups):
        table = groups.read_row_group(n)
        size = sum(
            len(row["key"] or b"") + len(row["value"]) + 11 * len(row["headers"]) + 24
            for row in table.to_pylist()
        )
        assert size <= 300 or table.num_rows == 1
    # Small fetches are other batches of Arrow, and the same bytes.
    export(cluster, tmp_path / "2", "u", "-X", "max.partition.fetch.bytes=200")
    assert files(tmp_path / "2")[path] == files(tmp_path / "1")[path]


def test_a_range_of_times_and_offsets(cluster: FakeCluster, tmp_path: Path) -> None:
    done, report = export(cluster, tmp_path / "a", "--offset", "2:4")
    assert done.code == 0, done.err
    assert [(item["start"], item["end"]) for item in report["items"]] == [(2, 4), (2, 4)]
    times = ("--since", "1970-01-01T00:00:00.010Z", "--until", "1970-01-01T00:00:00.020Z")
    done, report = export(cluster, tmp_path / "b", "-p", "1", *times)
    assert done.code == 0, done.err
    assert [(item["start"], item["end"], item["records"]) for item in report["items"]] == [(10, 20, 10)]


def test_a_dry_run_writes_nothing(cluster: FakeCluster, tmp_path: Path) -> None:
    done, _ = export(cluster, tmp_path / "x", "--dry-run")
    assert done.code == 0
    assert "t: 2 partitions, at most 45 records" in done.err
    assert not os.path.exists(tmp_path / "x")


@pytest.mark.parametrize(
    ("more", "what"),
    [
        (("--offset", "2", "--since", "1h"), "--since with --offset"),
        (("--offset", "stored"), "--offset stored"),
        (("--since", "1h", "--until", "2h"), "--until is before --since"),
        (("--since", "+1h"), "--since is in the future"),
        (("--offset", "@+1h"), "--offset is in the future"),
        (("--offset", "@-1h", "--until", "2h"), "--until is before --offset"),
        (("--since", "17321800000"), "--since is not valid"),
        (("--continuous", "--until", "now"), "--continuous with an end"),
        (("--slice", "1s"), "--slice without --continuous"),
        (("-X", "isolation.level=read_uncommitted"), "-X isolation.level has no effect"),
    ],
)
def test_what_contradicts_is_a_usage_error(tmp_path: Path, more: tuple[str, ...], what: str) -> None:
    with FakeCluster(1, topics={"t": 1}) as cluster:
        done, _ = export(cluster, tmp_path / "x", *more)
    assert done.code == 2
    assert what in done.err


def test_an_unknown_topic_and_a_file_in_place_of_the_folder(cluster: FakeCluster, tmp_path: Path) -> None:
    done, _ = export(cluster, tmp_path / "x", "order")
    assert (done.code, "order" in done.err) == (1, True)
    assert not (tmp_path / "x").exists()
    (tmp_path / "file").write_text("")
    done, _ = export(cluster, tmp_path / "file")
    assert (done.code, "is not a folder" in done.err) == (2, True)


def test_a_header_name_that_is_no_text_needs_ndjson(cluster: FakeCluster, tmp_path: Path) -> None:
    fill(cluster, [(None, b"v", ((b"\xff", b"1"),), 1)], topic="u")  # type: ignore[list-item]
    done, _ = export(cluster, tmp_path / "x", "u")
    assert done.code == 1
    assert "--format ndjson" in done.err
    assert export(cluster, tmp_path / "y", "u", "--format", "ndjson")[0].code == 0


class _Kept:
    """The session of all tests, which a command does not end."""

    def __init__(self, runner: SparkRunner) -> None:
        self._runner = runner
        self.name, self.slots, self.run = runner.name, runner.slots, runner.run

    def close(self) -> None:
        """Leaves it as it is."""


@pytest.mark.integration
def test_spark_writes_the_same_bytes_and_restores_them(
    cluster: FakeCluster, spark: SparkRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kcli.pipeline.spark.runner.open_runner", lambda **_settings: _Kept(spark))
    assert export(cluster, tmp_path / "inline")[0].code == 0
    done, report = export(cluster, tmp_path / "spark", "--runner", "spark")
    assert done.code == 0, done.err
    assert report["runner"] == "spark"
    one, other = files(tmp_path / "inline"), files(tmp_path / "spark")
    texts = [json.loads(each.pop("_kcli_manifest.json")) for each in (one, other)]
    assert one == other
    assert [text["topics"] for text in texts] == [texts[0]["topics"]] * 2
    with FakeCluster(1, cluster_id="target") as target:
        done, _ = import_(target, tmp_path / "spark", "--runner", "spark")
        assert done.code == 0, done.err
        assert contents(target.bootstrap, "t") == ROWS


def test_what_an_attempt_that_was_killed_has_left_is_removed_when_the_export_is_complete(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_tasks = driver.run_tasks

    def leaving(*arguments: Any, **named: Any) -> Any:
        results = run_tasks(*arguments, **named)
        (tmp_path / "x" / "topic=t" / "partition=0" / ".0-1.ndjson.4711.tmp").touch()
        return results

    monkeypatch.setattr(driver, "run_tasks", leaving)
    done, _ = export(cluster, tmp_path / "x", "--format", "ndjson", "-p", "0")
    assert done.code == 0, done.err
    (file,) = manifest(tmp_path / "x")["topics"][0]["partitions"][0]["files"]
    assert set(files(tmp_path / "x")) == {"_kcli_manifest.json", file["path"]}


@pytest.mark.case("K9")
def test_a_continuous_export_outlasts_brokers_that_are_away(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds: list[int] = []

    def between(_seconds: float, stop: Stop) -> None:
        rounds.append(1)
        if len(rounds) == 1:
            fill(cluster, ROWS)
            cluster.fail(ListOffsetsRequest, LEADER_NOT_AVAILABLE, times=10_000)
        elif len(rounds) == 2:
            cluster.heal()
        else:
            stop.request()

    monkeypatch.setattr("kcli.pipeline.drivers.export.wait", between)
    done, report = export(cluster, tmp_path / "x", "--continuous", "--timeout", "1s")
    assert done.code == 130, done.err
    assert "trying again" in done.err
    assert [(item["end"], item["records"]) for item in report["items"]] == [(10, 10), (40, 40)]
    assert [one["end"] for one in manifest(tmp_path / "x")["topics"][0]["partitions"]] == [10, 40]


@pytest.mark.case("K9")
def test_a_round_of_a_continuous_export_that_fails_for_now_is_repeated(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds: list[int] = []

    def between(_seconds: float, stop: Stop) -> None:
        rounds.append(1)
        cluster.heal()
        if len(rounds) == 2:
            stop.request()

    monkeypatch.setattr("kcli.pipeline.drivers.export.wait", between)
    monkeypatch.setattr("kcli.pipeline.kernels.export._PATIENCE", 0.0)
    cluster.fail(FetchRequest, LEADER_NOT_AVAILABLE, times=10_000)
    done, report = export(cluster, tmp_path / "x", "--continuous", "--format", "ndjson", "-p", "0")
    assert done.code == 130, done.err
    assert "no record of t-0 arrived" in done.err
    assert [(item["records"], item.get("error")) for item in report["items"]] == [(5, None)]
    assert report["totals"]["records"] == 5


def test_the_rounds_before_one_that_cannot_be_planned_are_in_the_report(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds: list[int] = []

    def between(_seconds: float, stop: Stop) -> None:
        rounds.append(1)
        if len(rounds) > 1:
            stop.request()
        fill(cluster, ROWS[:2])
        cluster.delete_records("t", 0, 6)

    monkeypatch.setattr("kcli.pipeline.drivers.export.wait", between)
    done, report = export(cluster, tmp_path / "x", "t", "u", "--continuous")
    assert (done.code, len(rounds)) == (5, 1), done.err
    assert "t-0" in done.err
    assert [(one["topic"], one["records"]) for one in report["items"]] == [("t", 5), ("t", 40), ("u", 0)]
    assert report["totals"]["records"] == 45


def test_the_report_of_a_run_that_was_stopped_is_not_complete(cluster: FakeCluster, tmp_path: Path) -> None:
    cluster.intercept(FetchRequest, lambda _request: os.kill(os.getpid(), signal.SIGINT), times=1)
    done, report = export(cluster, tmp_path / "x", "--format", "ndjson")
    assert done.code == 130, done.err
    assert (report["complete"], [one["what"] for one in report["missing"]]) == (False, ["the rest"])
    done, report = export(cluster, tmp_path / "x", "--format", "ndjson")
    assert (done.code, report["complete"], report["missing"]) == (0, True, [])


def test_without_pyarrow_the_line_to_install_it_is_shown(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kcli.pipeline.arrow_library.find_spec", lambda _name: None)
    for done in (export(cluster, tmp_path / "x")[0], import_(cluster, tmp_path / "x")[0]):
        assert done.code == 2
        assert "pip install 'kcli-kafka[spark]'" in done.err
    assert export(cluster, tmp_path / "x", "--format", "ndjson")[0].code == 0


def test_a_file_system_that_is_full_is_named_and_not_read_for_again(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.write

    def full(descriptor: int, data: bytes) -> int:
        if bytes(data[:4]) == b"PAR1":  # the beginning of a file
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(descriptor, data)

    monkeypatch.setattr("kcli.pipeline.store.folder.os.write", full)
    done, report = export(cluster, tmp_path / "x")
    assert done.code == 1
    what = f"{tmp_path}/x/{FIRST}.parquet: No space left on device"
    assert f'"what": "{what}", "why": "", "do": "free space there, then run it again"' in done.err
    assert (report["items"][0]["error"], report["totals"]["task_retries"]) == (what, 0)
    assert "stdout" not in done.err
