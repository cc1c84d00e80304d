"""``kcli pipeline export --append`` and ``--compact``: a chain of manifests, what changes between two nights, kills."""

import hashlib
import json
import multiprocessing
import os
import signal
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kcli
from kcli.core.admin.topics import id_text
from kcli.core.errors import ConfigError
from kcli.docgen.kinds import schema_of
from kcli.pipeline import compaction
from kcli.pipeline.drivers import export as driver
from kcli.pipeline.manifest import Documents, Manifest
from kcli.pipeline.store.urls import open_store
from tests.fake.cluster import FakeCluster
from tests.pipeline.exporting import ROWS, Row, contents, export, files, fill, import_, manifest
from tests.pipeline.test_export_kills import STEPS

_FORK = multiprocessing.get_context("fork")


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, cluster_id="here", topics={"t": 2}) as made:
        fill(made, ROWS)
        yield made


def chain(folder: Path | str) -> Manifest:
    """What a reader finds."""
    found = Documents(open_store(str(folder))).manifest()
    assert found is not None
    return found


def ranges(folder: Path | str) -> dict[str, list[tuple[int, int]]]:
    """The ranges of the files that the manifest names, by partition."""
    return {str(tp): [(file.start, file.end) for file in one.files] for tp, one in chain(folder).partitions()}


def night(cluster: FakeCluster, number: int) -> None:
    """What arrives between two runs."""
    fill(cluster, [(b"%d" % number, b"v%d" % n, (), n) for n in range(number % 4)])
    fill(cluster, ROWS[: number % 3], 1)


def named(folder: Path) -> set[str]:
    """All files that readers are led to."""
    head = json.loads((folder / "_kcli_manifest.json").read_text())
    parts = {one["path"] for one in head.get("parts", ())}
    return {"_kcli_manifest.json", *parts, *(file.path for file in chain(folder).files)}


@pytest.mark.parametrize(
    ("form", "nights"),
    [
        ("parquet", 2),
        pytest.param("parquet", 10, marks=pytest.mark.long),
        ("ndjson", 2),
        ("csv", 2),
        pytest.param("raw", 3, marks=pytest.mark.long),
    ],
)
def test_nights_of_appending_and_their_compaction_are_one_export(
    cluster: FakeCluster, tmp_path: Path, form: str, nights: int
) -> None:
    x, whole = tmp_path / "x", tmp_path / "whole"
    for number in range(nights):
        before = dict(chain(x).partitions()) if number else {}
        done, report = export(cluster, x, "--append", "--format", form)
        assert done.code == 0, done.err
        for item, (tp, one) in zip(report["items"], chain(x).partitions(), strict=True):
            start = before[tp].end if before else 0
            assert (item["start"], item["end"]) == (start, one.end)
            assert item["records"] + item["skipped_records"] == one.end - start
        night(cluster, number + 1)
    done, _ = export(cluster, x, "--append", "--format", form)
    export(cluster, whole, "--format", form)
    assert set(files(x)) == named(x)
    found, expected = chain(x), chain(whole)
    assert [(tp, one.start, one.end, one.records) for tp, one in found.partitions()] == [
        (tp, one.start, one.end, one.records) for tp, one in expected.partitions()
    ]
    if form == "parquet":
        paths = [str(x / file.path) for file in found.files]
        (counts,) = duckdb.sql(
            f'select count(*), count(distinct (partition, "offset")) from read_parquet({paths}, hive_partitioning=true)'
        ).fetchall()
        assert counts == (sum(one.records for _tp, one in expected.partitions()),) * 2
        tables = [pq.ParquetFile(x / file.path).read().to_pylist() for file in found.files]
        rows = [row for table in tables for row in table]
        assert rows == [
            row for file in expected.files for row in pq.ParquetFile(whole / file.path).read().to_pylist()
        ]
    before_merge = files(x)
    done, report = export(cluster, x, "--compact", "--format", form)
    assert done.code == 0, done.err
    assert files(x).keys() == files(whole).keys() < before_merge.keys() | files(whole).keys()
    assert {name: data for name, data in files(x).items() if name.startswith("topic=")} == {
        name: data for name, data in files(whole).items() if name.startswith("topic=")
    }
    assert [file.path for file in chain(x).files] == [
        path for item in report["items"] for path in item["files"]
    ]
    assert "merged" not in export(cluster, x, "--compact", "--format", form)[0].err


def test_a_run_without_anything_new_writes_nothing(cluster: FakeCluster, tmp_path: Path) -> None:
    export(cluster, tmp_path / "x", "--append")
    before = files(tmp_path / "x")
    done, report = export(cluster, tmp_path / "x", "--append")
    assert (done.code, report["totals"]["records"], report["totals"]["tasks"]) == (0, 0, 0)
    assert "nothing is appended" in done.err
    assert [(one["start"], one["end"]) for one in report["items"]] == [(5, 5), (0, 0)]
    assert files(tmp_path / "x") == before


def test_an_export_without_append_is_the_first_part(cluster: FakeCluster, tmp_path: Path) -> None:
    export(cluster, tmp_path / "x")
    single = manifest(tmp_path / "x")
    fill(cluster, ROWS[:1])
    assert export(cluster, tmp_path / "x", "--append")[0].code == 0
    head = manifest(tmp_path / "x")
    assert [one["path"] for one in head["parts"]] == ["_kcli_manifest-1.json", "_kcli_manifest-2.json"]
    assert json.loads((tmp_path / "x/_kcli_manifest-1.json").read_text()) == single
    assert ranges(tmp_path / "x") == {"t-0": [(0, 5), (5, 6)], "t-1": []}
    done, report = export(cluster, tmp_path / "x")
    assert (done.code, report["totals"]["tasks"], report["totals"]["records"]) == (0, 0, 6)


def test_an_import_follows_the_chain_and_adds_what_is_new(cluster: FakeCluster, tmp_path: Path) -> None:
    with FakeCluster(1, cluster_id="target") as target:
        for number in range(3):
            assert export(cluster, tmp_path / "x", "^t|u$", "--append")[0].code == 0
            done, _ = import_(target, tmp_path / "x")
            assert done.code == 0, done.err
            for topic, partition in (("t", 0), ("t", 1), *([("u", 0)] if number else [])):
                expected = contents(cluster.bootstrap, topic, partition)
                assert contents(target.bootstrap, topic, partition) == expected
            if not number:
                cluster.create_topic("u", 1)
                fill(cluster, ROWS[:2], topic="u")
            else:
                export(cluster, tmp_path / "x", "^t|u$", "--compact")
            night(cluster, 3)


def test_topics_partitions_and_configurations_are_entries_of_the_manifest(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    export(cluster, tmp_path / "x", "^[tuw]$", "--append")
    cluster.create_topic("u", 1)
    cluster.add_partitions("t", 3)
    cluster.configure("t", **{"retention.ms": "7"})
    fill(cluster, ROWS[:2], 2)
    done, report = export(cluster, tmp_path / "x", "^[tuw]$", "--append")
    assert done.code == 0, done.err
    found = [str(change) for change in chain(tmp_path / "x").changes]
    assert found == ["t: configuration changed", "t-2: partition added", "u: topic added"]
    assert report["warnings"] == found
    assert ranges(tmp_path / "x") == {"t-0": [(0, 5)], "t-1": [], "t-2": [(0, 2)], "u-0": []}
    assert chain(tmp_path / "x").topics[0].config["retention.ms"] == "7"
    cluster.delete_topic("u")
    for _ in range(2):  # it is said once, and stays in the manifest
        done, report = export(cluster, tmp_path / "x", "^[tuw]$", "--append")
        assert done.code == 0, done.err
    assert [str(change) for change in chain(tmp_path / "x").changes] == [*found, "u: topic deleted"]
    assert "u-0" in ranges(tmp_path / "x")


def test_a_topic_that_was_created_again_and_another_format_are_refused(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    export(cluster, tmp_path / "x", "--append")
    before = files(tmp_path / "x")
    done, _ = export(cluster, tmp_path / "x", "--append", "--format", "csv")
    assert (done.code, "its format is parquet, not csv" in done.err) == (7, True)
    cluster.recreate_topic("t")
    done, _ = export(cluster, tmp_path / "x", "--append")
    assert (done.code, "was deleted; the one of this name now has id" in done.err) == (7, True)
    assert "--on-recreate record" in done.err
    assert files(tmp_path / "x") == before
    done, _ = export(cluster, tmp_path / "x")
    assert (done.code, "--on-recreate" in done.err) == (7, False)


NEW: list[Row] = [(b"new", b"n%d" % n, (), n) for n in range(7)]
ANEW = ("--append", "--on-recreate", "record")


def created_again(cluster: FakeCluster, x: Path, rows: list[Row] = NEW) -> tuple[str, str]:
    """An export of ``^[tu]$``, after which ``t`` was created again; the ids."""
    cluster.create_topic("u", 1)
    fill(cluster, ROWS[:2], 0, "u")
    assert export(cluster, x, "^[tu]$", "--append")[0].code == 0
    old = chain(x).topics[0].topic_id
    fill(cluster, ROWS[:1])  # not exported, and lost
    cluster.recreate_topic("t")
    fill(cluster, rows)
    fill(cluster, ROWS[:1], 0, "u")
    return old, id_text(cluster.topic_id("t"))


def test_a_topic_that_was_created_again_is_exported_beside_the_old_one(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    x = tmp_path / "x"
    old, new = created_again(cluster, x)
    before = files(x)
    dry, _ = export(cluster, x, "^[tu]$", *ANEW, "--dry-run")
    assert (dry.code, files(x)) == (6, before)
    done, report = export(cluster, x, "^[tu]$", *ANEW)
    assert done.code == 6, done.err  # what the old one had after the export is not known
    assert report["missing"][0]["what"] == "t"
    assert f"(id {old}) had after these offsets was not exported, if anything: 0: 5, 1: 0" in done.out
    assert report["warnings"] == ["t: topic recreated"]
    assert [(one["topic"], one["partition"], one["start"], one["end"]) for one in report["items"]] == [
        ("t", 0, 0, 7), ("t", 1, 0, 0), ("u", 0, 2, 3),
    ]  # fmt: skip
    found = chain(x)
    assert [(one.topic, one.topic_id) for one in (*found.topics, *found.earlier)] == [
        ("t", new), ("u", found.topics[1].topic_id), ("t", old),
    ]  # fmt: skip
    assert ranges(x) == {"t-0": [(0, 7)], "t-1": [], "u-0": [(0, 2), (2, 3)]}
    assert found.topics[0].partitions[0].files[0].path.startswith(f"topic=t@{new}/partition=0/")
    assert {name: data for name, data in files(x).items() if name in before and "manifest" not in name} == {
        name: data for name, data in before.items() if "manifest" not in name
    }
    done, report = export(cluster, x, "^[tu]$", "--append")
    assert (done.code, report["totals"]["records"]) == (0, 0)
    fill(cluster, NEW[:2])
    assert export(cluster, x, "^[tu]$", "--append", "--compact")[0].code == 0
    assert ranges(x) == {"t-0": [(0, 9)], "t-1": [], "u-0": [(0, 3)]}
    assert [one.partitions[0].end for one in chain(x).earlier] == [5]
    assert set(files(x)) == named(x)
    cluster.recreate_topic("t")
    assert export(cluster, x, "^[tu]$", *ANEW)[0].code == 6
    assert [one.topic_id for one in chain(x).earlier] == [old, new]
    assert ranges(x) == {"t-0": [], "t-1": [], "u-0": [(0, 3)]}


def test_an_import_never_mixes_two_topics_of_one_name(cluster: FakeCluster, tmp_path: Path) -> None:
    x = tmp_path / "x"
    with FakeCluster(1, cluster_id="target") as target:
        old, _new = created_again(cluster, x, NEW[:3])  # fewer than were imported of the old one
        assert import_(target, x)[0].code == 0
        assert export(cluster, x, "^[tu]$", *ANEW)[0].code == 6
        done, _ = import_(target, x)
        assert (done.code, "t-0 holds records of the topic t that was deleted" in done.err) == (7, True)
        assert contents(target.bootstrap, "t") == ROWS
        done, report = import_(target, x, "--map-topic", "t=t-new")
        assert done.code == 0, done.err
        assert contents(target.bootstrap, "t-new") == NEW[:3]
        assert contents(target.bootstrap, "u") == ROWS[:2] + ROWS[:1]  # of the same import as before
        left = f"5 records of the deleted one are left out; --map-topic t@{old}=NAME restores them"
        assert [text for text in report["warnings"] if left in text]
    with FakeCluster(1, cluster_id="other") as target:
        rules = ("--map-topic", f"t@{old}=t-old")
        for _ in range(2):
            done, report = import_(target, x, *rules)
            assert done.code == 0, done.err
            assert contents(target.bootstrap, "t") == NEW[:3]
            assert contents(target.bootstrap, "t-old") == ROWS
        assert not report["warnings"]


def test_frames_never_mix_two_topics_of_one_name(cluster: FakeCluster, tmp_path: Path) -> None:
    x = tmp_path / "x"
    old, _new = created_again(cluster, x)
    assert export(cluster, x, "^[tu]$", *ANEW)[0].code == 6
    columns = ["topic", "offset", "value"]
    with pytest.warns(
        UserWarning, match=f'5 records of the deleted one are left out; topics="t@{old}" reads'
    ):
        rows = pa.table(kcli.read_export(str(x), topics="t", columns=columns)).to_pylist()
    assert [row["value"] for row in rows] == [value for _key, value, _headers, _time in NEW]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        both = pa.table(kcli.read_export(str(x), topics=["t", f"t@{old}"], columns=columns)).to_pylist()
    assert [(row["topic"], row["offset"]) for row in both] == [
        *(("t", n) for n in range(7)), *((f"t@{old}", n) for n in range(5)),
    ]  # fmt: skip


def test_manifests_are_as_their_schemas_say(cluster: FakeCluster, tmp_path: Path) -> None:
    x = tmp_path / "x"
    created_again(cluster, x)
    cluster.delete_records("t", 0, 2)
    for flags in ((*ANEW, "--on-gap", "record"), ("--compact",)):
        export(cluster, x, "^[tu]$", *flags)
        found = [json.loads(path.read_text()) for path in x.glob("_kcli_manifest*.json")]
        assert {one["kind"] for one in found} == {
            "ExportManifest",
            *(["ExportChain"] if len(found) > 1 else []),
        }
        for one in found:
            schema = schema_of(one["kind"])
            jsonschema.validate(one, schema)
            assert one.keys() <= schema["properties"].keys()
            for topic in one.get("topics", ()):
                assert topic.keys() <= schema["$defs"]["exported_topic"]["properties"].keys()
    assert {"earlier", "changes", "number"} <= found[0].keys()
    assert found[0]["topics"][0]["partitions"][0]["gaps"] == [{"start": 0, "end": 2}]


def test_two_ids_without_an_entry_are_no_export(cluster: FakeCluster, tmp_path: Path) -> None:
    x = tmp_path / "x"
    created_again(cluster, x)
    export(cluster, x, "^[tu]$", *ANEW)
    head = json.loads((x / "_kcli_manifest.json").read_text())
    path = x / head["parts"][1]["path"]
    part = json.loads(path.read_text())
    part["changes"] = []
    path.write_text(json.dumps(part))
    head["parts"][1]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    (x / "_kcli_manifest.json").write_text(json.dumps(head))
    with pytest.raises(ConfigError, match="is not valid") as raised:
        chain(x)
    assert "topic t has two ids" in raised.value.why


@pytest.mark.parametrize("is_created_again", [True, False])
def test_the_plan_of_a_killed_run_does_not_need_a_topic_that_is_gone(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_created_again: bool
) -> None:
    x = tmp_path / "x"
    cluster.create_topic("u", 1)
    export(cluster, x, "^[tu]$", "--append")
    fill(cluster, ROWS)
    fill(cluster, ROWS, 0, "u")

    def interrupted(*_arguments: Any) -> None:
        raise ConfigError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(driver, "run_tasks", interrupted)
        export(cluster, x, "^[tu]$", "--append")
    if is_created_again:
        cluster.recreate_topic("t")
        fill(cluster, NEW)
    else:
        cluster.delete_topic("t")
    assert export(cluster, x, "^[tu]$", "--append")[0].code != 0
    more = ANEW[1:] if is_created_again else ("--on-gap", "record")
    done, _report = export(cluster, x, "^[tu]$", "--append", *more)
    assert done.code == 6, done.err
    assert "offsets 5 to 9 were removed before they were exported" in done.out
    assert ranges(x)["u-0"] == [(0, 5)]
    found = chain(x)
    old = found.earlier[0] if is_created_again else found.topics[0]
    assert [(gap.start, gap.end) for gap in old.partitions[0].gaps] == [(5, 10)]
    if is_created_again:
        assert ranges(x)["t-0"] == [(0, 7)]
        assert [str(change) for change in found.changes] == ["t: topic recreated"]
    else:
        assert [str(change) for change in found.changes] == ["t: topic deleted"]


def test_a_file_of_a_topic_that_is_gone_cannot_be_written_again(cluster: FakeCluster, tmp_path: Path) -> None:
    x = tmp_path / "x"
    created_again(cluster, x)
    export(cluster, x, "^[tu]$", *ANEW)
    before, data = chain(x), files(x)
    (x / before.topics[0].partitions[0].files[0].path).unlink()  # of the new one
    for flags in ((), ("--append",)):
        assert export(cluster, x, "^[tu]$", *flags)[0].code == 0
        assert (chain(x).topics, chain(x).earlier) == (before.topics, before.earlier)
        assert {name for name in files(x) if "=" in name} == {name for name in data if "=" in name}
    path = before.earlier[0].partitions[0].files[0].path
    (x / path).unlink()
    done, _ = export(cluster, x, "^[tu]$", "--append")
    assert (done.code, f"{path} is not there" in done.err) == (7, True)


def test_what_a_new_partition_or_topic_lost_before_it_was_exported_is_a_gap(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    x = tmp_path / "x"
    export(cluster, x, "^[tu]$", "--append")
    cluster.create_topic("u", 1)
    cluster.add_partitions("t", 3)
    fill(cluster, ROWS, 2)
    fill(cluster, ROWS, 0, "u")
    cluster.delete_records("t", 2, 3)
    cluster.delete_records("u", 0, 5)
    assert export(cluster, x, "^[tu]$", "--append")[0].code == 5
    done, _ = export(cluster, x, "^[tu]$", "--append", "--on-gap", "record")
    assert done.code == 6, done.err
    assert ranges(x) == {"t-0": [(0, 5)], "t-1": [], "t-2": [(3, 5)], "u-0": []}
    assert [(str(tp), gap.start, gap.end) for tp, one in chain(x).partitions() for gap in one.gaps] == [
        ("t-2", 0, 3), ("u-0", 0, 5),
    ]  # fmt: skip
    assert export(cluster, x, "^[tu]$", "--append")[0].code == 0


def test_a_gap_is_an_error_or_is_recorded(cluster: FakeCluster, tmp_path: Path) -> None:
    x = tmp_path / "x"
    export(cluster, x, "--append")
    fill(cluster, ROWS)
    fill(cluster, ROWS, 1)
    cluster.delete_records("t", 0, 8)
    before = files(x)
    done, report = export(cluster, x, "--append")
    assert (done.code, report) == (5, None)
    assert "offsets 5 to 7 were removed before they were exported" in done.err
    assert files(x) == before
    dry, _ = export(cluster, x, "--append", "--on-gap", "record", "--dry-run")
    done, report = export(cluster, x, "--append", "--on-gap", "record")
    assert (dry.code, done.code) == (6, 6), done.err
    assert not report["complete"]
    assert "offsets 5 to 7" in report["missing"][0]["why"]
    first = report["items"][0]
    assert [first[name] for name in ("start", "end", "records", "skipped_records", "missing_records")] == [
        5, 10, 2, 0, 3,
    ]  # fmt: skip
    gap = chain(x).topics[0].partitions[0].gaps[0]
    assert (gap.start, gap.end) == (5, 8)
    assert ranges(x) == {"t-0": [(0, 5), (8, 10)], "t-1": [(0, 5)]}
    assert export(cluster, x, "--append")[0].code == 0  # what this run was asked for is there
    fill(cluster, ROWS[:1])
    export(cluster, x, "--append", "--compact")
    assert ranges(x) == {"t-0": [(0, 5), (8, 11)], "t-1": [(0, 5)]}  # not merged over the gap
    assert chain(x).topics[0].partitions[0].gaps == [gap]
    with FakeCluster(1, cluster_id="target") as target:
        done, _ = import_(target, x)
        assert done.code == 0, done.err
        assert contents(target.bootstrap, "t") == [*ROWS, *ROWS[3:], ROWS[0]]


def test_a_gap_in_the_plan_of_a_killed_run_is_recorded(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = tmp_path / "x"
    export(cluster, x, "--append")
    fill(cluster, ROWS)
    fill(cluster, ROWS, 1)

    def interrupted(*_arguments: Any) -> None:
        raise ConfigError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(driver, "run_tasks", interrupted)
        export(cluster, x, "--append")
    cluster.delete_records("t", 0, 7)
    done, _ = export(cluster, x, "--append")
    assert done.code == 5, done.err
    done, report = export(cluster, x, "--append", "--on-gap", "record")
    assert (done.code, "offsets 5 to 6" in done.err) == (6, True)
    assert ranges(x) == {"t-0": [(0, 5), (7, 10)], "t-1": [(0, 5)]}
    assert report["items"][0]["missing_records"] == 2


def test_files_that_were_removed_are_written_again_and_what_is_new_is_added(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    x = tmp_path / "x"
    export(cluster, x, "--append")
    fill(cluster, ROWS[:2])
    export(cluster, x, "--append")
    (x / chain(x).files[0].path).unlink()
    fill(cluster, ROWS[:3])
    done, report = export(cluster, x, "--append")
    assert done.code == 0, done.err
    assert ranges(x) == {"t-0": [(0, 5), (5, 7), (7, 10)], "t-1": []}
    assert set(files(x)) == named(x)
    assert (report["items"][0]["start"], report["items"][0]["records"]) == (7, 3)


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda folder: (folder / "_kcli_manifest-1.json").unlink(), "_kcli_manifest-1.json is not there"),
        (
            lambda folder: (folder / "_kcli_manifest-2.json").write_text("{}"),
            "_kcli_manifest-2.json was changed",
        ),
    ],
)
def test_a_chain_with_a_part_that_is_gone_is_no_shorter_export(
    cluster: FakeCluster, tmp_path: Path, spoil: Callable[[Path], None], why: str
) -> None:
    for _ in range(2):
        export(cluster, tmp_path / "x", "--append")
        fill(cluster, ROWS[:1])
    spoil(tmp_path / "x")
    with FakeCluster(1, cluster_id="target") as target:
        done, _ = import_(target, tmp_path / "x")
    assert (done.code, why in done.err) == (2, True)
    done, _ = export(cluster, tmp_path / "x", "--append")
    assert (done.code, why in done.err) == (7, True)


def test_a_reader_sees_the_old_or_the_new_while_files_are_merged(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = str(tmp_path / "x")
    for _ in range(2):
        export(cluster, x, "--append")
        fill(cluster, ROWS[:1])
    store = open_store(x)
    read = store.read

    def overtaken(path: str) -> Any:
        """Between the head and its parts the export is merged, and grows a part of the same place in the order."""
        if path.startswith("_kcli_manifest-"):
            monkeypatch.setattr(store, "read", read)
            export(cluster, x, "--append", "--compact")
        return read(path)

    monkeypatch.setattr(store, "read", overtaken)
    found = Documents(store).manifest()
    assert found is not None
    assert [(file.start, file.end) for file in found.files] == [(0, 7)]


def test_large_files_are_left_alone(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(5):
        export(cluster, tmp_path / "x", "--append", "--format", "ndjson")
        fill(cluster, ROWS[:2])
    sizes = [file.bytes for file in chain(tmp_path / "x").files]
    monkeypatch.setattr(compaction, "MERGED_BYTES", sizes[1] * 2 + 20)
    done, _ = export(cluster, tmp_path / "x", "--compact", "--format", "ndjson")
    assert done.code == 0, done.err
    assert ranges(tmp_path / "x")["t-0"] == [(0, 5), (5, 9), (9, 13)]


@pytest.mark.parametrize(
    ("more", "what"),
    [
        (("--append", "--until", "now"), "--append with an end"),
        (("--append", "--offset", "2:4"), "--append with an end"),
        (("--append", "--continuous"), "--append with --continuous"),
        (("--compact", "--continuous"), "--compact with --continuous"),
        (("--on-gap", "record"), "--on-gap without --append"),
        (("--on-recreate", "record"), "--on-recreate without --append"),
    ],
)
def test_what_contradicts_is_a_usage_error(
    cluster: FakeCluster, tmp_path: Path, more: tuple[str, ...], what: str
) -> None:
    done, _ = export(cluster, tmp_path / "x", *more)
    assert (done.code, what in done.err) == (2, True)
    assert not (tmp_path / "x").exists()


# --- kills ----------------------------------------------------------------------------------------------


def _run(cluster: FakeCluster, folder: Path, kill_before: int, flags: tuple[str, ...]) -> None:
    """Runs the command in this process, which ends itself before that lasting step."""
    steps, os_open = 0, os.open

    def counting(call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **named: Any) -> Any:
            nonlocal steps
            changes = call is not os_open or arguments[1] & os.O_CREAT
            if (changes and str(folder) in str(arguments[0])) or call is os.fsync:
                if steps == kill_before:
                    os.kill(os.getpid(), signal.SIGKILL)
                steps += 1
            return call(*arguments, **named)

        return counted

    for name in STEPS:
        setattr(os, name, counting(getattr(os, name)))
    os._exit(export(cluster, folder, *flags)[0].code)


def _state(folder: Path) -> tuple[Any, dict[str, bytes]]:
    """The manifest that a reader finds, without times and the numbers of parts, and all files of records."""
    found, names = chain(folder), files(folder)
    assert set(names) == named(folder)  # nothing is left behind
    return (found.topics, found.request), {
        name: data for name, data in names.items() if name.startswith("topic=")
    }


@pytest.mark.long
@pytest.mark.parametrize("flags", [("--append",), ("--append", "--compact"), ("--compact",)])
@pytest.mark.parametrize("form", ["ndjson", "parquet"])
def test_a_run_that_is_killed_anywhere_is_completed(
    cluster: FakeCluster, tmp_path: Path, flags: tuple[str, ...], form: str
) -> None:
    flags = (*flags, "--format", form)
    start = tmp_path / "start"
    for number in range(3):
        export(cluster, start, "--append", "--format", form)
        night(cluster, number + 2)
    before = chain(start).topics

    def copied(name: str) -> Path:
        for path, data in files(start).items():
            (tmp_path / name / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / path).write_bytes(data)
        return tmp_path / name

    assert export(cluster, copied("whole"), *flags)[0].code == 0
    whole = _state(tmp_path / "whole")
    kills = 0
    while True:
        folder = copied(str(kills))
        process = _FORK.Process(target=_run, args=(cluster, folder, kills, flags))
        process.start()
        process.join(60)
        assert process.exitcode in (0, -signal.SIGKILL)
        found = chain(folder)  # whatever is there is whole
        assert found.topics == before or [(tp, one.end) for tp, one in found.partitions()] == [
            (one_tp, one.end) for one_tp, one in chain(tmp_path / "whole").partitions()
        ]
        for file in found.files:
            assert (folder / file.path).stat().st_size == file.bytes
        done, _ = export(cluster, folder, *flags)
        assert done.code == 0, done.err
        assert _state(folder) == whole
        if process.exitcode == 0:
            break
        kills += 1
    assert kills > 10


@pytest.mark.long
def test_a_run_that_is_killed_anywhere_does_not_mix_two_topics_of_one_name(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    flags = ("^[tu]$", *ANEW, "--format", "ndjson")
    cluster.create_topic("u", 1)
    export(cluster, tmp_path / "start", "^[tu]$", "--append", "--format", "ndjson")
    cluster.recreate_topic("t")
    fill(cluster, NEW)
    fill(cluster, ROWS[:1], 0, "u")

    def copied(name: str) -> Path:
        for path, data in files(tmp_path / "start").items():
            (tmp_path / name / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / path).write_bytes(data)
        return tmp_path / name

    assert export(cluster, copied("whole"), *flags)[0].code == 6
    whole = _state(tmp_path / "whole"), chain(tmp_path / "whole").earlier
    kills = 0
    while True:
        folder = copied(str(kills))
        process = _FORK.Process(target=_run, args=(cluster, folder, kills, flags))
        process.start()
        process.join(60)
        assert process.exitcode in (6, -signal.SIGKILL)
        before = [str(change) for change in chain(folder).changes]
        done, _ = export(cluster, folder, *flags)
        assert done.code == (0 if before else 6), done.err
        assert (_state(folder), chain(folder).earlier) == whole
        if process.exitcode == 6:
            break
        kills += 1
    assert kills > 10
