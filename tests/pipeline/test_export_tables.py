"""``kcli pipeline export --format delta|iceberg`` in folders: appending, what changes between runs, who else writes."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

pytest.importorskip("deltalake", reason="deltalake is not installed")
pytest.importorskip("pyiceberg", reason="pyiceberg is not installed")

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from kcli.pipeline.drivers import table_export as driver
from kcli.pipeline.manifest import Documents
from kcli.pipeline.tables import table as tables
from tests.fake.cluster import FakeCluster
from tests.pipeline.exporting import ROWS, export, files, fill, import_
from tests.pipeline.tables import FORMATS, catalog, content, nothing_left, records, rows

pytestmark = pytest.mark.parametrize("form", FORMATS)


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, cluster_id="here", topics={"t": 2}) as made:
        fill(made, ROWS)
        yield made


def append(cluster: FakeCluster, folder: Path, form: str, *more: str) -> tuple[Any, Any]:
    """One run, of the topics before the options."""
    topics = more[: next((at for at, word in enumerate(more) if word.startswith("-")), len(more))]
    return export(cluster, folder, *topics, "--format", form, *more[len(topics) :])


@pytest.mark.parametrize("runner", ["inline", "processes"])
def test_runs_append_what_has_arrived(cluster: FakeCluster, tmp_path: Path, form: str, runner: str) -> None:
    x = tmp_path / "x"
    starts = [(0, 0), (5, 0), (7, 3)]
    for number, start in enumerate(starts):
        done, report = append(cluster, x, form, "--runner", runner)
        assert done.code == 0, done.err
        assert tuple(item["start"] for item in report["items"]) == start
        assert sum(item["records"] for item in report["items"]) == report["totals"]["records"]
        assert rows(form, x) == records(cluster)
        nothing_left(form, x)
        assert report["tables"][0]["version"] not in ("", "0"), number
        fill(cluster, ROWS[:2])
        fill(cluster, ROWS[2:], 1)


def test_the_columns_are_those_of_the_files_with_topic_and_partition(
    cluster: FakeCluster, tmp_path: Path, form: str
) -> None:
    append(cluster, tmp_path / "x", form)
    found = content(form, tmp_path / "x")
    assert found.schema.names == [
        "topic", "partition", "offset", "timestamp", "timestamp_type", "key", "value", "headers", "leader_epoch",
    ]  # fmt: skip
    assert found.schema.field("partition").type == pa.int32()


def test_polars_reads_the_table_and_skips_files_by_their_limits(
    cluster: FakeCluster, tmp_path: Path, form: str
) -> None:
    x = tmp_path / "x"
    for _ in range(2):
        append(cluster, x, form)
        fill(cluster, ROWS[:2])
    if form == "delta":
        frame = pl.scan_delta(str(x))
        offsets = DeltaTable(x).to_pyarrow_table(filters=[("offset", ">=", 5)])["offset"].to_pylist()
    else:
        table = catalog(x).load_table("kafka.t")
        frame = pl.scan_iceberg(table)
        scan = table.scan(row_filter="offset >= 5")
        assert len(list(scan.plan_files())) == 1
        offsets = scan.to_arrow()["offset"].to_pylist()
    assert sorted(offsets) == [5, 6]
    assert frame.filter(pl.col("offset") < 5).collect().height == 5


def test_a_run_without_anything_new_commits_nothing(cluster: FakeCluster, tmp_path: Path, form: str) -> None:
    x = tmp_path / "x"
    _, first = append(cluster, x, form)
    before = files(x)
    done, report = append(cluster, x, form)
    assert (done.code, report["totals"]["records"], report["totals"]["tasks"]) == (0, 0, 0)
    assert "nothing is appended" in done.err
    assert report["tables"] == first["tables"]
    assert [(one["start"], one["end"]) for one in report["items"]] == [(5, 5), (0, 0)]
    assert files(x) == before


def test_a_dry_run_shows_the_plan_and_makes_nothing(cluster: FakeCluster, tmp_path: Path, form: str) -> None:
    done, _ = append(cluster, tmp_path / "x", form, "--dry-run")
    assert done.code == 0, done.err
    assert "t-0: from offset 0 to 4" in done.err
    assert not (tmp_path / "x").exists()
    append(cluster, tmp_path / "x", form)
    fill(cluster, ROWS[:1])
    before = files(tmp_path / "x")
    done, _ = append(cluster, tmp_path / "x", form, "--dry-run")
    assert "t-0: from offset 5 to 5" in done.err
    assert files(tmp_path / "x") == before


def test_topics_have_tables_of_their_own(cluster: FakeCluster, tmp_path: Path, form: str) -> None:
    cluster.create_topic("u.v-1", 1)
    fill(cluster, ROWS[:2], topic="u.v-1")
    x = tmp_path / "x"
    for _ in range(2):
        done, report = append(cluster, x, form, "t", "u.v-1")
        assert done.code == 0, done.err
        fill(cluster, ROWS[:1], topic="u.v-1")
    assert [one["topic"] for one in report["tables"]] == ["t", "u.v-1"]
    if form == "delta":
        assert sorted(os.listdir(x)) == ["t", "u.v-1"]
        assert content(form, x / "u.v-1").num_rows == 3
        assert rows(form, x / "t") == records(cluster)
        done, _ = append(cluster, x, form)
        assert (done.code, f"{x} is not empty" in done.err) == (7, True)
        done, _ = append(cluster, x / "t", form, "t", "u.v-1")
        assert (done.code, f"{x / 't'} is a table of Delta Lake" in done.err) == (7, True)
    else:
        assert content(form, x, "u_v_1").num_rows == 3
        cluster.create_topic("u_v.1", 1)
        done, _ = append(cluster, x, form, "u_v.1")
        assert (done.code, "is of topic u.v-1" in done.err) == (7, True)
        done, _ = append(cluster, x, form, "u.v-1", "u_v.1")
        assert (done.code, "would have the same table, kafka.u_v_1" in done.err) == (2, True)


@pytest.mark.parametrize("inner", ["delta", "parquet"])
def test_tables_are_not_made_in_a_table_or_in_an_export(
    cluster: FakeCluster, tmp_path: Path, form: str, inner: str
) -> None:
    cluster.create_topic("u", 1)
    x = tmp_path / "x"
    assert export(cluster, x, "--format", inner)[0].code == 0
    before = files(x)
    for topics in [("t", "u")] if form == "delta" else [("t", "u"), ("t",)]:
        done, _ = append(cluster, x, form, *topics)
        what = "a table of Delta Lake" if inner == "delta" else "an export of files"
        assert (done.code, f"{x} is {what}" in done.err) == (7, True), done.err
    assert files(x) == before


def test_one_topic_that_fails_does_not_stop_the_others(
    cluster: FakeCluster, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.create_topic("u", 1)
    fill(cluster, ROWS[:2], topic="u")
    x = tmp_path / "x"
    commit = driver.TableExport._commit

    def failing(self: Any, target: Any, found: Any) -> None:
        if target.table.topic == "t":
            raise tables.overtaken("t", "somebody")
        commit(self, target, found)

    with monkeypatch.context() as patched:
        patched.setattr(driver.TableExport, "_commit", failing)
        done, report = append(cluster, x, form, "t", "u")
    assert done.code == 6, done.err
    assert [(one["topic"], one["records"], "error" in one) for one in report["items"]] == [
        ("t", 0, True), ("t", 0, True), ("u", 2, False),
    ]  # fmt: skip
    done, report = append(cluster, x, form, "t", "u")
    assert (done.code, report["totals"]["records"]) == (0, 5)


def test_a_partition_that_was_added_is_read_from_its_beginning(
    cluster: FakeCluster, tmp_path: Path, form: str
) -> None:
    x = tmp_path / "x"
    append(cluster, x, form)
    cluster.add_partitions("t", 3)
    fill(cluster, ROWS[:2], 2)
    done, report = append(cluster, x, form)
    assert done.code == 0, done.err
    assert report["warnings"] == ["t-2: partition added"]
    assert rows(form, x) == records(cluster, partitions=3)


def test_a_topic_that_was_made_again_and_other_words_are_refused(
    cluster: FakeCluster, tmp_path: Path, form: str
) -> None:
    x = tmp_path / "x"
    append(cluster, x, form)
    before = files(x)
    done, _ = append(cluster, x, form, "--offset", "2")
    assert (done.code, "it was begun with t, not with t --offset 2" in done.err) == (7, True)
    cluster.recreate_topic("t")
    fill(cluster, ROWS)
    done, _ = append(cluster, x, form)
    assert (done.code, "was deleted; the one of this name now has id" in done.err) == (7, True)
    with FakeCluster(1, cluster_id="other", topics={"t": 2}) as other:
        done, _ = append(other, x, form)
    assert (done.code, "it is of cluster here" in done.err) == (7, True)
    assert files(x) == before


def test_a_start_is_that_of_the_first_run(cluster: FakeCluster, tmp_path: Path, form: str) -> None:
    for _ in range(2):
        done, _ = append(cluster, tmp_path / "x", form, "--offset", "3", "--partitions", "0")
        assert done.code == 0, done.err
        fill(cluster, ROWS[:1])
    assert rows(form, tmp_path / "x") == {0: [*ROWS[3:], ROWS[0]]}


def test_a_gap_is_an_error_or_is_recorded(cluster: FakeCluster, tmp_path: Path, form: str) -> None:
    x = tmp_path / "x"
    append(cluster, x, form)
    fill(cluster, ROWS)
    cluster.delete_records("t", 0, 8)
    before = files(x)
    done, _ = append(cluster, x, form)
    assert (done.code, "offsets 5 to 7 were removed before they were exported" in done.err) == (5, True)
    assert files(x) == before
    done, report = append(cluster, x, form, "--on-gap", "record")
    assert (done.code, report["complete"]) == (6, False)
    first = report["items"][0]
    assert [first[name] for name in ("start", "end", "records", "skipped_records", "missing_records")] == [
        5, 10, 2, 0, 3,
    ]  # fmt: skip
    assert rows(form, x)[0] == [*ROWS, *ROWS[3:]]
    if form == "delta":
        last = DeltaTable(x).history(1)[0]["kcli.added"]
    else:
        last = json.loads(catalog(x).load_table("kafka.t").current_snapshot().summary["kcli.added"])
    assert last == [{"partition": 0, "start": 5, "end": 10, "records": 2, "gaps": [[5, 8]]}]
    assert append(cluster, x, form)[0].code == 0


def test_a_range_without_records_moves_the_position(cluster: FakeCluster, tmp_path: Path, form: str) -> None:
    """As of a transaction that was aborted, or of a compacted topic."""
    x = tmp_path / "x"
    append(cluster, x, form)
    fill(cluster, ROWS[:2])
    cluster.delete_records("t", 0, 7)
    done, report = append(cluster, x, form, "--on-gap", "record")
    assert (done.code, report["items"][0]["end"]) == (6, 7)
    done, report = append(cluster, x, form)
    assert (done.code, report["items"][0]["start"]) == (0, 7)
    nothing_left(form, x)


# --- other writers --------------------------------------------------------------------------------------


def test_a_second_run_in_a_folder_is_refused(
    cluster: FakeCluster, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_tasks = driver.run_tasks

    def meanwhile(*arguments: Any, **named: Any) -> Any:
        monkeypatch.setattr(driver, "run_tasks", run_tasks)
        done, report = append(cluster, tmp_path / "x", form)
        assert (done.code, report) == (7, None)
        return run_tasks(*arguments, **named)

    monkeypatch.setattr(driver, "run_tasks", meanwhile)
    assert append(cluster, tmp_path / "x", form)[0].code == 0
    assert rows(form, tmp_path / "x") == records(cluster)


def test_two_runs_that_begin_from_one_position_commit_once(
    cluster: FakeCluster, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No lock and no lease: the commit of the table itself refuses the second one, even after it has looked."""
    x = tmp_path / "x"
    append(cluster, x, form)
    fill(cluster, ROWS)
    monkeypatch.setattr("kcli.pipeline.store.folder.FolderStore.writing", lambda _self: _nothing())
    module = f"kcli.pipeline.tables.{form}"
    check = tables.check_position

    def overtaken(*arguments: Any) -> Any:
        """Between the look at the position and the commit."""
        found = check(*arguments)
        monkeypatch.setattr(f"{module}.check_position", check)
        (x if form == "delta" else x / "kafka" / "t").joinpath("_kcli_plan.json").unlink()
        assert append(cluster, x, form)[0].code == 0
        return found

    monkeypatch.setattr(f"{module}.check_position", overtaken)
    done, _report = append(cluster, x, form)
    assert (done.code, "was changed by another run" in done.err) == (7, True)
    assert rows(form, x) == records(cluster)
    done, _ = append(cluster, x, form)
    assert done.code == 0, done.err
    assert rows(form, x) == records(cluster)
    nothing_left(form, x)


def _nothing() -> Any:
    from contextlib import nullcontext

    return nullcontext()


def test_a_plan_that_another_run_has_overtaken_is_removed(
    cluster: FakeCluster, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = tmp_path / "x"
    root = x if form == "delta" else x / "kafka" / "t"
    append(cluster, x, form)
    fill(cluster, ROWS)

    def killed(*_arguments: Any) -> None:
        raise tables.overtaken("x", "killed")

    with monkeypatch.context() as patched:
        patched.setattr(driver.TableExport, "_commit", killed)
        append(cluster, x, form)
    plan = (root / "_kcli_plan.json").read_bytes()
    (root / "_kcli_plan.json").unlink()
    append(cluster, x, form)
    (root / "_kcli_plan.json").write_bytes(plan)
    fill(cluster, ROWS[:1])
    done, _ = append(cluster, x, form)
    assert (done.code, "a plan that was not carried out is removed" in done.err) == (0, True)
    assert rows(form, x) == records(cluster)
    nothing_left(form, x)


def test_commits_of_others_do_not_matter(
    cluster: FakeCluster, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at the position and the commit somebody else adds a row; before it files are merged."""
    x = tmp_path / "x"
    for _ in range(2):
        append(cluster, x, form)
        fill(cluster, ROWS[:1])
    module, check = f"kcli.pipeline.tables.{form}", tables.check_position
    theirs = content(form, x).slice(0, 1).to_pylist()[0] | {"partition": 99}

    def meanwhile(*arguments: Any) -> Any:
        found = check(*arguments)
        monkeypatch.setattr(f"{module}.check_position", check)
        row = pa.Table.from_pylist([theirs], schema=content(form, x).schema)
        if form == "delta":
            DeltaTable(x).optimize.compact()
            write_deltalake(x, row, mode="append")
        else:
            catalog(x).load_table("kafka.t").append(row)
        return found

    monkeypatch.setattr(f"{module}.check_position", meanwhile)
    done, _ = append(cluster, x, form)
    assert done.code == 0, done.err
    fill(cluster, ROWS[:2])
    assert append(cluster, x, form)[0].code == 0
    found = rows(form, x)
    assert len(found.pop(99)) == 1
    assert found == records(cluster)


def test_an_answer_that_is_lost_is_a_commit(
    cluster: FakeCluster, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = __import__(f"kcli.pipeline.tables.{form}", fromlist=[""])
    table = module.OneDeltaTable if form == "delta" else module.OneIcebergTable
    commit = table.commit

    def losing(*arguments: Any) -> None:
        commit(*arguments)
        raise tables.overtaken("x", "lost")

    monkeypatch.setattr(table, "commit", losing)
    done, report = append(cluster, tmp_path / "x", form)
    assert (done.code, report["totals"]["records"]) == (0, 5)
    assert rows(form, tmp_path / "x") == records(cluster)


def test_a_table_of_somebody_else_is_refused(cluster: FakeCluster, tmp_path: Path, form: str) -> None:
    x, row = tmp_path / "x", pa.table({"a": [1]})
    if form == "delta":
        write_deltalake(x, row)
    else:
        x.mkdir()
        own = catalog(x)
        own.create_namespace("kafka")
        own.create_table("kafka.t", row.schema).append(row)
    before = files(x)
    done, _ = append(cluster, x, form)
    assert (done.code, "is another table" in done.err) == (7, True)
    assert files(x) == before


def test_a_folder_with_something_else_is_refused(cluster: FakeCluster, tmp_path: Path, form: str) -> None:
    root = tmp_path / "x" if form == "delta" else tmp_path / "x" / "kafka" / "t"
    root.mkdir(parents=True)
    (root / "file").write_text("")
    done, _ = append(cluster, tmp_path / "x", form)
    assert (done.code, "is not empty" in done.err) == (7, True)


def test_a_table_is_no_export_to_be_imported(cluster: FakeCluster, tmp_path: Path, form: str) -> None:
    append(cluster, tmp_path / "x", form)
    done, _ = import_(cluster, tmp_path / "x")
    assert (done.code, "is no complete export" in done.err) == (2, True)
    assert f"it has a table of {'Delta Lake' if form == 'delta' else 'Apache Iceberg'}" in done.err
    done, _ = export(cluster, tmp_path / "x")
    assert (done.code, "is not empty" in done.err) == (7, True)


def test_a_version_that_is_restored(cluster: FakeCluster, tmp_path: Path, form: str) -> None:
    """Iceberg's position goes back with the rows; Delta's does not, and the table is refused."""
    x = tmp_path / "x"
    for _ in range(2):
        append(cluster, x, form)
        fill(cluster, ROWS[:1])
    if form == "delta":
        DeltaTable(x).restore(1)
        done, _ = append(cluster, x, form)
        assert (done.code, "was restored to an earlier version" in done.err) == (7, True)
        return
    table = catalog(x).load_table("kafka.t")
    table.manage_snapshots().rollback_to_snapshot(table.snapshots()[0].snapshot_id).commit()
    assert content(form, x).num_rows == 5
    assert append(cluster, x, form)[0].code == 0
    assert rows(form, x) == records(cluster)


def test_a_damaged_log_is_named_without_frames_of_a_stack(
    cluster: FakeCluster, tmp_path: Path, form: str
) -> None:
    x = tmp_path / "x"
    append(cluster, x, form)
    last = max(x.rglob("_delta_log/*.json" if form == "delta" else "*.metadata.json"))
    last.write_bytes(last.read_bytes()[:100])
    done = append(cluster, x, form)[0]
    assert (done.code, "the table failed" in done.err, "<unknown>" in done.err) == (1, True, False), done.err


def test_snapshots_with_a_position_may_expire(cluster: FakeCluster, tmp_path: Path, form: str) -> None:
    """A row of somebody else, and then only its snapshot is left; of Delta, only a checkpoint and what follows it."""
    x = tmp_path / "x"
    append(cluster, x, form)
    theirs = content(form, x).slice(0, 1).to_pylist()[0] | {"partition": 99}
    row = pa.Table.from_pylist([theirs], schema=content(form, x).schema)
    if form == "delta":
        write_deltalake(x, row, mode="append")
        DeltaTable(x).create_checkpoint()
        for number in range(2):
            (x / "_delta_log" / f"{number:020}.json").unlink()
    else:
        table = catalog(x).load_table("kafka.t")
        old = table.current_snapshot().snapshot_id
        table.append(row)
        table.maintenance.expire_snapshots().by_id(old).commit()
        assert [one.snapshot_id for one in catalog(x).load_table("kafka.t").snapshots()] != [old]
    fill(cluster, ROWS[:2])
    done, report = append(cluster, x, form)
    assert (done.code, report["totals"]["records"]) == (0, 2), done.err
    found = rows(form, x)
    assert len(found.pop(99)) == 1
    assert found == records(cluster)


def test_continuous_runs_commit_each_round(
    cluster: FakeCluster, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = []

    def waiting(_seconds: float, stop: Any) -> None:
        rounds.append(content(form, tmp_path / "x").num_rows)
        if len(rounds) == 3:
            stop.request()
        fill(cluster, ROWS[:2])

    monkeypatch.setattr(driver, "wait", waiting)
    done, report = append(cluster, tmp_path / "x", form, "--continuous")
    assert (done.code, rounds) == (130, [5, 7, 9]), done.err
    assert (report["items"][0]["start"], report["items"][0]["end"], report["totals"]["records"]) == (0, 9, 9)
    assert append(cluster, tmp_path / "x", form)[0].code == 0
    assert rows(form, tmp_path / "x") == records(cluster)


def test_a_topic_that_is_gone_does_not_hold_up_the_others_of_a_continuous_run(
    cluster: FakeCluster, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.create_topic("u", 1)
    root = tmp_path / "x" / "t" if form == "delta" else tmp_path / "x"
    rounds = []

    def waiting(_seconds: float, stop: Any) -> None:
        rounds.append(content(form, root).num_rows)
        if len(rounds) == 1:
            cluster.delete_topic("u")
        if len(rounds) == 3:
            stop.request()
        fill(cluster, ROWS[:2])

    monkeypatch.setattr(driver, "wait", waiting)
    done, _ = append(cluster, tmp_path / "x", form, "t", "u", "--continuous", "--timeout", "1s")
    assert (done.code, rounds) == (130, [5, 7, 9]), done.err
    assert "u-0" in done.err


def test_the_rounds_before_one_that_cannot_be_planned_are_in_the_report(
    cluster: FakeCluster, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.create_topic("u", 1)
    rounds: list[int] = []

    def waiting(_seconds: float, stop: Any) -> None:
        rounds.append(1)
        if len(rounds) > 1:
            stop.request()
        fill(cluster, ROWS[:2])
        cluster.delete_records("t", 0, 6)

    monkeypatch.setattr(driver, "wait", waiting)
    done, report = append(cluster, tmp_path / "x", form, "t", "u", "--continuous")
    assert (done.code, len(rounds)) == (5, 1), done.err
    assert "offsets 5 to 5 were removed before they were exported" in done.err
    found = [(one["topic"], one["partition"], one["records"], "error" in one) for one in report["items"]]
    assert sorted(found) == [("t", 0, 5, True), ("t", 1, 0, True), ("u", 0, 0, False)]
    assert report["totals"]["records"] == 5


@pytest.mark.parametrize(
    ("more", "what"),
    [
        (("--until", "now"), "--until with --format"),
        (("--offset", "2:4"), "with an end"),
        (("--compact",), "--compact with --format"),
        (("--exact-times", "--since", "1h"), "--exact-times with --format"),
    ],
)
def test_what_a_table_does_not_have_is_a_usage_error(
    cluster: FakeCluster, tmp_path: Path, form: str, more: tuple[str, ...], what: str
) -> None:
    done, _ = append(cluster, tmp_path / "x", form, *more)
    assert (done.code, what in done.err) == (2, True), done.err
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("url", "more", "what"),
    [
        ("gs://bucket/x", (), "cannot write to gs://bucket/x"),
        ("hdfs://host/x", (), "cannot write to hdfs://host/x"),
        ("{dir}/a%41", (), "its name has '%'"),
    ],
)
def test_a_place_that_has_no_tables_is_refused(
    cluster: FakeCluster, tmp_path: Path, form: str, url: str, more: tuple[str, ...], what: str
) -> None:
    done, _ = append(cluster, Path(url.format(dir=tmp_path)) if "://" not in url else url, form, *more)  # type: ignore[arg-type]
    assert (done.code, what in done.err) == (2, True), done.err


def test_a_library_that_is_not_installed_is_named(
    cluster: FakeCluster, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(
        __import__("sys").modules, "deltalake" if form == "delta" else "pyiceberg.catalog", None
    )
    done, _ = append(cluster, tmp_path / "x", form)
    assert (done.code, f"--format {form} needs a library" in done.err, "kcli-kafka[lake]" in done.err) == (
        2, True, True,
    )  # fmt: skip


def test_names_of_folders_with_blanks_and_other_letters(
    cluster: FakeCluster, tmp_path: Path, form: str
) -> None:
    x = tmp_path / "a b\u00e4+'&=x"
    for _ in range(2):
        done, _ = append(cluster, x, form)
        assert done.code == 0, done.err
        fill(cluster, ROWS[:1])
    assert rows(form, x)[0] == [*ROWS, ROWS[0]]


def test_documents_of_a_plan_are_there_while_files_are_written(
    cluster: FakeCluster, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = []
    save = Documents.save

    def saving(self: Documents, document: Any) -> None:
        saved.append([(one.start, one.end) for one in document.slices])
        save(self, document)

    monkeypatch.setattr(Documents, "save", saving)
    append(cluster, tmp_path / "x", form)
    assert saved == [[(0, 5)]]
