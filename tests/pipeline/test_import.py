"""``kcli pipeline import`` on a fake cluster: what it restores, what it refuses, and what becomes of a second run."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcli.core.errors import KcliError
from kcli.core.protocol.messages.create_topics import CreateTopicsRequest
from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.pipeline import exported_records
from kcli.pipeline.store.store import Store
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import batch
from tests.pipeline.exporting import ROWS, contents, export, files, fill, import_, manifest

MANY = [(b"%d" % (n % 7), b"v%d" % n, (), n + 1) for n in range(200)]


@pytest.fixture
def source() -> Iterator[FakeCluster]:
    with FakeCluster(1, cluster_id="source", topics={"t": 2}) as made:
        fill(made, ROWS)
        fill(made, MANY, 1)
        yield made


@pytest.fixture
def target() -> Iterator[FakeCluster]:
    with FakeCluster(1, cluster_id="target") as made:
        yield made


@pytest.mark.parametrize("form", ["parquet", "ndjson", "csv"])
def test_everything_of_a_record_is_restored(
    source: FakeCluster, target: FakeCluster, tmp_path: Path, form: str
) -> None:
    source.append("t", 0, batch(b"no time", timestamp=-1))
    source.configure("t", **{"max.message.bytes": "2000000", "retention.ms": "-1"})
    assert export(source, tmp_path, "--format", form)[0].code == 0
    done, report = import_(target, tmp_path)
    assert done.code == 0, done.err
    assert contents(target.bootstrap, "t", 0) == [*ROWS, (None, b"no time", (), -1)]
    assert contents(target.bootstrap, "t", 1) == MANY
    found = report["items"]
    size = [one["files"][0]["bytes"] for one in manifest(tmp_path)["topics"][0]["partitions"]]
    assert found[1] == {
        "item": "partition",
        "topic": "t",
        "partition": 1,
        "target_topic": "t",
        "target_partition": 1,
        "start": 0,
        "end": 200,
        "records": 200,
        "bytes": size[1],
        "files": [f"topic=t/partition=1/{0:020}-{200:020}.{form}"],
    }
    assert report["totals"]["records"] == 206
    assert (report["command"], report["cluster"]) == ("import", "target")
    done, _ = export(target, tmp_path.with_name("again"))
    assert manifest(tmp_path.with_name("again"))["topics"][0]["config"].items() >= {
        ("cleanup.policy", "delete"),
        ("max.message.bytes", "2000000"),
        ("retention.ms", "-1"),
    }


def test_a_second_run_sends_nothing_and_an_export_that_has_grown_is_continued(
    source: FakeCluster, target: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export(source, tmp_path)
    import_(target, tmp_path)
    sent = len(target.seen(ProduceRequest))
    done, report = import_(target, tmp_path)
    assert done.code == 0, done.err
    assert len(target.seen(ProduceRequest)) == sent
    assert [(one["start"], one["end"], one["records"]) for one in report["items"]] == [
        (5, 5, 0),
        (200, 200, 0),
    ]
    fill(source, ROWS)
    monkeypatch.setattr("kcli.pipeline.drivers.export.wait", lambda _seconds, stop: stop.request())
    export(source, tmp_path, "--continuous")
    assert manifest(tmp_path)["topics"][0]["partitions"][0]["end"] == 10
    done, report = import_(target, tmp_path)
    assert done.code == 0, done.err
    assert contents(target.bootstrap, "t", 0) == [*ROWS, *ROWS]
    assert [(one["start"], one["records"]) for one in report["items"]] == [(5, 5), (200, 0)]


def test_a_rule_that_renames_nothing_is_refused(
    source: FakeCluster, target: FakeCluster, tmp_path: Path
) -> None:
    export(source, tmp_path)
    done, _report = import_(target, tmp_path, "--map-topic", "x=y")
    assert done.code == 2
    assert "--map-topic x=y renames no topic" in done.err


def test_topics_are_renamed_and_partitions_chosen_by_key(
    source: FakeCluster, target: FakeCluster, tmp_path: Path
) -> None:
    export(source, tmp_path)
    target.create_topic("new.t", 5)
    done, report = import_(target, tmp_path, "--map-topic", r"^(.*)$=new.\1", "--partitions", "by-key")
    assert done.code == 0, done.err
    found = [contents(target.bootstrap, "new.t", n) for n in range(5)]
    assert sorted(row for rows in found for row in rows if row in MANY) == sorted(MANY)
    assert sum(map(len, found)) == 205
    for rows in found:  # the records of a key are in one partition, and in order
        times = [row[3] for row in rows if row in MANY]
        assert times == sorted(times)
    keys = [{row[0] for row in rows if row in MANY} for rows in found]
    assert sum(map(len, keys)) == 7
    assert "target_partition" not in report["items"][0]
    done, report = import_(target, tmp_path, "--map-topic", "t=new.t", "--partitions", "by-key")
    assert (done.code, report["totals"]["records"]) == (0, 0), done.err


def test_a_topic_with_other_records_is_confirmed(
    source: FakeCluster, target: FakeCluster, tmp_path: Path
) -> None:
    export(source, tmp_path)
    target.create_topic("t", 2)
    fill(target, ROWS[:1])
    done, _ = import_(target, tmp_path)
    assert done.code == 2
    assert "Import into t, which has records already?" in done.err
    assert len(contents(target.bootstrap, "t")) == 1
    done, _ = import_(target, tmp_path, "--yes")
    assert done.code == 0, done.err
    assert contents(target.bootstrap, "t") == [ROWS[0], *ROWS]


def test_a_topic_that_cannot_hold_them_is_refused(
    source: FakeCluster, target: FakeCluster, tmp_path: Path
) -> None:
    export(source, tmp_path)
    target.create_topic("t", 1)
    for more in ((), ("--dry-run",)):
        done, _ = import_(target, tmp_path, *more)
        assert done.code == 7
        assert "the target has 1 partition, the source 2" in done.err


def test_a_dry_run_checks_all_and_changes_nothing(
    source: FakeCluster, target: FakeCluster, tmp_path: Path
) -> None:
    export(source, tmp_path)
    done, _ = import_(target, tmp_path, "--dry-run")
    assert done.code == 0, done.err
    assert "2 partitions, the target is created" in done.err
    assert "2 files with 205 records" in done.err
    with pytest.raises(Exception, match="t"):
        contents(target.bootstrap, "t")


FIRST = f"topic=t/partition=0/{0:020}-{5:020}.parquet"


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
@pytest.mark.parametrize("damage", ["removed", "cut", "changed"])
def test_a_file_that_is_not_what_the_manifest_says_is_named_before_anything_is_written(
    source: FakeCluster, target: FakeCluster, tmp_path: Path, damage: str, more: tuple[str, ...]
) -> None:
    export(source, tmp_path)
    path = tmp_path / FIRST
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data[:-1] if damage == "cut" else data)
    if damage == "removed":
        path.unlink()
    done, report = import_(target, tmp_path, *more)
    assert done.code == 2
    assert FIRST in done.err
    assert ("remove the file and run the export again" in done.err) is (damage != "removed")
    assert report is None
    assert not target.seen(ProduceRequest)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda found: found.update(kind="Other"), "it is no ExportManifest"),
        (lambda found: found.update(api="kcli/v2"), "it is of kcli/v2"),
        (lambda found: found.update(complete=False), "not complete"),
        (lambda found: found.update(format="orc"), "there is no format 'orc'"),
        (lambda found: found.pop("topics"), "topics"),
        (lambda found: found["topics"][0].update(topic="../x"), "topic '../x'"),
        (lambda found: found["topics"].append(found["topics"][0]), "twice"),
        (
            lambda found: found["topics"][0]["partitions"][0]["files"][0].update(path="/etc/passwd"),
            "not the name of such a file",
        ),
        (lambda found: found["topics"][0]["partitions"][0]["files"][0].update(start=1), "do not follow"),
        (lambda found: found["topics"][0]["partitions"][0].update(end=9), "are not what the range says"),
        (
            lambda found: found["topics"][0]["partitions"][0]["files"][0].update(sha256="0"),
            "size or the digest",
        ),
    ],
)
def test_a_manifest_that_is_not_one_is_refused(
    source: FakeCluster, target: FakeCluster, tmp_path: Path, change: object, why: str
) -> None:
    export(source, tmp_path)
    found = manifest(tmp_path)
    change(found)  # type: ignore[operator]
    (tmp_path / "_kcli_manifest.json").write_text(json.dumps(found))
    done, _ = import_(target, tmp_path)
    assert done.code == 2
    assert "_kcli_manifest.json is not valid" in done.err
    assert why in done.err


def test_what_is_no_complete_export_or_has_values_only_is_refused(
    source: FakeCluster, target: FakeCluster, tmp_path: Path
) -> None:
    done, _ = import_(target, tmp_path / "nothing")
    assert (done.code, "is no complete export" in done.err) == (2, True)
    export(source, tmp_path, "--format", "raw")
    done, _ = import_(target, tmp_path)
    assert (done.code, "its format is raw" in done.err) == (2, True)


def test_a_topic_that_was_deleted_is_restored_again(
    source: FakeCluster, target: FakeCluster, tmp_path: Path
) -> None:
    export(source, tmp_path)
    import_(target, tmp_path)
    target.recreate_topic("t")
    done, _ = import_(target, tmp_path)
    assert done.code == 0, done.err
    assert contents(target.bootstrap, "t") == ROWS


def test_a_topic_with_a_smaller_limit_is_refused_before_anything_is_written(
    source: FakeCluster, target: FakeCluster, tmp_path: Path
) -> None:
    export(source, tmp_path)
    target.create_topic("t", 2)
    target.configure("t", **{"max.message.bytes": "1000"})
    done, report = import_(target, tmp_path)
    assert (done.code, report) == (7, None), done.err
    assert "max.message.bytes" in done.err
    assert not target.seen(ProduceRequest)


def test_files_that_the_manifest_does_not_name_are_not_read(
    source: FakeCluster, target: FakeCluster, tmp_path: Path
) -> None:
    export(source, tmp_path)
    (tmp_path / f"topic=t/partition=0/{5:020}-{6:020}.parquet").write_bytes(files(tmp_path)[FIRST])
    assert import_(target, tmp_path)[0].code == 0
    assert contents(target.bootstrap, "t") == ROWS


def test_what_a_failed_task_has_restored_is_in_the_report(
    source: FakeCluster, target: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kcli.pipeline.drivers.export.wait", lambda _seconds, stop: stop.request())
    export(source, tmp_path, "--continuous")
    fill(source, ROWS)
    export(source, tmp_path, "--continuous")
    read = exported_records.read_records

    def reads(store: Store, path: str, form: str, start: int) -> Iterator[exported_records.Records]:
        if start == 5:
            raise KcliError("the disk is gone")
        return read(store, path, form, start)

    monkeypatch.setattr(exported_records, "read_records", reads)
    done, report = import_(target, tmp_path)
    assert done.code == 6, done.err
    first, second = report["items"]
    assert (first["start"], first["end"], first["records"], first["error"]) == (0, 5, 5, "the disk is gone")
    assert (second["records"], second.get("error")) == (200, None)
    monkeypatch.undo()
    done, report = import_(target, tmp_path)
    assert done.code == 0, done.err
    assert contents(target.bootstrap, "t") == [*ROWS, *ROWS]


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_a_cluster_without_transactions_is_refused_before_a_topic_is_created(
    source: FakeCluster, target: FakeCluster, tmp_path: Path, more: tuple[str, ...]
) -> None:
    assert export(source, tmp_path)[0].code == 0
    target.hide(InitProducerIdRequest)
    done, _ = import_(target, tmp_path, *more)
    assert (done.code, "transactions need brokers of Kafka 0.11 or later" in done.err) == (7, True), done.err
    assert not target.seen(CreateTopicsRequest)
