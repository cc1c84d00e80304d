"""Old records that are imported or replayed: what a topic would delete or refuse is found out before any is sent."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcli.core.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from tests.cli.errors.typing_remedies import type_remedy
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.pipeline.exporting import Row, contents, export, fill, import_
from tests.run import Done
from tests.run import kcli as command

DAY = 86_400_000
NOW = int(time.time() * 1000)
OLD: list[Row] = [(b"k%d" % n, b"v", (), NOW - 30 * DAY + n) for n in range(5)]
NEW: list[Row] = [(b"k%d" % n, b"v", (), NOW - 1000 + n) for n in range(3)]


@pytest.fixture
def source() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": 2}, cluster_id="source") as cluster:
        yield cluster


@pytest.fixture
def target() -> Iterator[FakeCluster]:
    with FakeCluster(1, cluster_id="target") as cluster:
        yield cluster


def exported(source: FakeCluster, folder: Path, form: str = "parquet") -> Path:
    fill(source, OLD + NEW)
    fill(source, NEW, 1)
    export(source, folder, "--format", form)
    return folder


def retention(cluster: FakeCluster, topic: str) -> str | None:
    """What is set on the topic itself."""
    done = command("configs", "describe", "topics", topic, "-o", "json", bootstrap=cluster.bootstrap)
    return next((item["value"] for item in done.items if item["key"] == "retention.ms"), None)


@pytest.mark.parametrize("form", ["parquet", "ndjson", "csv"])
@pytest.mark.parametrize("exists", [True, False])
def test_an_import_that_retention_would_delete_is_refused_and_sends_nothing(
    source: FakeCluster, target: FakeCluster, tmp_path: Path, form: str, exists: bool
) -> None:
    folder = exported(source, tmp_path / "x", form)
    if exists:
        target.create_topic("t", 2)
    for dry in ((), ("--dry-run",)):
        done, report = import_(target, folder, "--no-force", "--yes", *dry)
        assert (done.code, report) == (7, None), done.err
        assert "5 of 11 records would not be kept by topic t; nothing was sent" in done.err
        assert "5 are older than its retention.ms of 7d" in done.err
    if exists:
        assert contents(target.bootstrap, "t") == []


def test_a_default_of_the_brokers_counts_as_one_of_the_topic(
    source: FakeCluster, target: FakeCluster, tmp_path: Path
) -> None:
    folder = exported(source, tmp_path / "x")
    target.create_topic("long", 2)
    target.configure("long", retention_ms=str(31 * DAY))
    done, _ = import_(target, folder, "--no-force", "--yes", "--map-topic", "t=long")
    assert done.code == 0, done.err
    done, _ = import_(target, folder, "--no-force", "--yes", "--map-topic", "t=new")
    assert done.code == 7
    # A topic whose own configuration was exported is created with it.
    source.configure("t", retention_ms=str(31 * DAY))
    fill(source, OLD)
    export(source, tmp_path / "own")
    done, _ = import_(target, tmp_path / "own", "--no-force", "--yes", "--map-topic", "t=own")
    assert done.code == 0, done.err


def test_with_the_time_of_now_old_records_are_kept(
    source: FakeCluster, target: FakeCluster, tmp_path: Path
) -> None:
    folder = exported(source, tmp_path / "x")
    target.create_topic("t", 2)
    done, report = import_(target, folder, "--timestamps", "now", "--yes")
    assert (done.code, report["warnings"]) == (0, []), done.err
    found = contents(target.bootstrap, "t")
    assert [row[:3] for row in found] == [row[:3] for row in OLD + NEW]
    assert all(row[3] >= NOW for row in found)


def test_records_get_the_time_of_their_arrival_only_if_that_is_asked_for(
    source: FakeCluster, target: FakeCluster, tmp_path: Path
) -> None:
    folder = exported(source, tmp_path / "x")
    target.create_topic("t", 2)
    target.configure("t", message_timestamp_type="LogAppendTime")
    done, _ = import_(target, folder, "--no-force", "--yes")
    assert "the target replaces timestamps" in done.err
    assert done.code == 7
    done, _ = import_(target, folder, "--timestamps", "now", "--yes")
    assert done.code == 0, done.err
    assert len(contents(target.bootstrap, "t")) == len(OLD + NEW)


def test_force_sends_them_and_the_report_warns(
    source: FakeCluster, target: FakeCluster, tmp_path: Path
) -> None:
    folder = exported(source, tmp_path / "x")
    done, report = import_(target, folder, "--force", "--yes")
    assert done.code == 0, done.err
    (warning,) = report["warnings"]
    assert warning.startswith("t: 5 of 11 records (counted by reading): 5 are older")
    assert contents(target.bootstrap, "t") == OLD + NEW


@pytest.mark.parametrize("before", [None, str(DAY)])
def test_a_retention_is_extended_read_back_and_set_back(
    source: FakeCluster, target: FakeCluster, tmp_path: Path, before: str | None
) -> None:
    folder = exported(source, tmp_path / "x")
    target.create_topic("t", 2)
    if before is not None:
        target.configure("t", retention_ms=before)
    done, _ = import_(target, folder, "--extend-retention", "29d", "--yes")
    assert done.code == 7
    assert "a longer --extend-retention" in done.err
    assert retention(target, "t") == before
    done, _ = import_(target, folder, "--extend-retention", "40d", "--yes", "--dry-run")
    assert (done.code, retention(target, "t")) == (0, before), done.err
    done, report = import_(target, folder, "--extend-retention", "40d", "--yes")
    assert (done.code, retention(target, "t")) == (0, str(40 * DAY)), done.err
    assert contents(target.bootstrap, "t") == OLD + NEW
    (warning,) = report["warnings"]
    if before is None:
        type_remedy("`kcli topics alter t --unset retention.ms` sets it back", warning, target.bootstrap)
    else:
        type_remedy(
            f"`kcli topics alter t --set retention.ms={before}` sets it back", warning, target.bootstrap
        )
    undo = warning.split("kcli undo ")[1].rstrip(")")
    listed = command("undo", "-o", "json", bootstrap=target.bootstrap).items
    (found,) = [item for item in listed if item["id"] == undo]
    assert found["what"] == "retention.ms of topic t"
    assert found["entries"] == [
        {"what": "retention", "topic": "t", "old": None if before is None else DAY, "new": 40 * DAY}
    ]
    assert command("undo", undo, "--yes", bootstrap=target.bootstrap).code == 0
    assert retention(target, "t") == before
    target.configure("t", retention_ms="5")
    done = command("undo", undo, "--yes", bootstrap=target.bootstrap)
    assert (done.code, retention(target, "t")) == (7, "5")
    assert "retention.ms of topic t has been changed since" in done.err


def test_a_topic_that_is_created_has_the_longer_retention_from_its_start(
    source: FakeCluster, target: FakeCluster, tmp_path: Path
) -> None:
    folder = exported(source, tmp_path / "x")
    done, report = import_(target, folder, "--extend-retention", "40d", "--yes")
    assert (done.code, retention(target, "t")) == (0, str(40 * DAY)), done.err
    assert "`kcli topics alter t --unset retention.ms` sets it back" in report["warnings"][0]


def test_an_extension_that_is_refused_stops_the_import(
    source: FakeCluster, target: FakeCluster, tmp_path: Path
) -> None:
    folder = exported(source, tmp_path / "x")
    target.create_topic("t", 2)
    target.fail(IncrementalAlterConfigsRequest, Code.POLICY_VIOLATION)
    done, _ = import_(target, folder, "--extend-retention", "40d", "--yes")
    assert done.code == 7, done.err
    assert "POLICY_VIOLATION" in done.err
    assert (retention(target, "t"), contents(target.bootstrap, "t")) == (None, [])


def test_an_extension_whose_answer_is_lost_is_read_back(
    source: FakeCluster, target: FakeCluster, tmp_path: Path
) -> None:
    folder = exported(source, tmp_path / "x")
    target.create_topic("t", 2)
    target.swallow(IncrementalAlterConfigsRequest, "reset", nth=3)  # after two checks
    done, report = import_(target, folder, "--extend-retention", "40d", "--yes")
    assert (done.code, retention(target, "t")) == (0, str(40 * DAY)), done.err
    assert "sets it back (undo with: kcli undo " in report["warnings"][0]
    assert contents(target.bootstrap, "t") == OLD + NEW


def test_what_the_broker_would_refuse_is_foreseen_and_not_forced(
    source: FakeCluster, target: FakeCluster, tmp_path: Path
) -> None:
    ahead: list[Row] = [(b"k", b"v", (), NOW + 30 * DAY)]
    source.configure("t", message_timestamp_after_max_ms=str(1 << 62), cleanup_policy="compact,delete")
    fill(source, [*OLD, *ahead])
    folder = tmp_path / "x"
    export(source, folder)
    target.create_topic("t", 2)
    target.configure(
        "t", message_timestamp_before_max_ms=str(DAY), message_timestamp_after_max_ms=str(DAY),
        cleanup_policy="compact,delete",
    )  # fmt: skip
    done, _ = import_(target, folder, "--force", "--yes")
    assert done.code == 7
    assert "6 of 6 records would not be kept" in done.err
    assert (
        "5 are refused (INVALID_TIMESTAMP), as older than its message.timestamp.before.max.ms of 1d"
        in done.err
    )
    assert "1 is refused (INVALID_TIMESTAMP), as further in the future than" in done.err
    assert contents(target.bootstrap, "t") == []
    done, _ = import_(target, folder, "--timestamps", "now", "--yes")
    assert done.code == 0, done.err


def test_a_topic_that_keeps_fewer_bytes_than_it_gets_is_warned_of(
    source: FakeCluster, target: FakeCluster, tmp_path: Path
) -> None:
    fill(source, NEW)
    export(source, tmp_path / "x")
    target.create_topic("t", 2)
    for most, warnings in ((100, 1), (-1, 0), (1 << 30, 0)):
        target.configure("t", retention_bytes=str(most))
        done, _ = import_(target, tmp_path / "x", "--no-force", "--dry-run")
        assert done.code == 0, done.err
        assert (
            done.err.count("t: it keeps 100 B of a partition (retention.bytes), and one gets about")
            == warnings
        )


def test_an_import_that_goes_on_counts_what_is_left(
    source: FakeCluster, target: FakeCluster, tmp_path: Path
) -> None:
    folder = exported(source, tmp_path / "x")
    assert import_(target, folder, "--force", "--yes")[0].code == 0
    done, report = import_(target, folder, "--no-force", "--yes")
    assert (done.code, report["totals"]["records"]) == (0, 0), done.err


@pytest.mark.parametrize("words", [("import", "x"), ("replay", "t", "--to", "u")])
@pytest.mark.parametrize("flag", [("--extend-retention", "3d"), ("--force",)])
def test_options_that_have_no_effect_on_new_times_are_refused(
    words: tuple[str, ...], flag: tuple[str, ...]
) -> None:
    done = command("pipeline", *words, *flag, "--timestamps", "now", bootstrap="127.0.0.1:1")
    assert done.code == 2
    assert f"pipeline {words[0]}: {flag[0]} with --timestamps now" in done.err


# --- replay ----------------------------------------------------------------------------------------------


def replay(cluster: FakeCluster, *words: str) -> Done:
    return command(
        "pipeline", "replay", "t", "--runner", "inline", "--yes", *words, bootstrap=cluster.bootstrap
    )


@pytest.fixture
def dead(source: FakeCluster) -> FakeCluster:
    rows: list[Row] = [
        (key, value, (("to", b"a" if n % 2 else b"b"),), at) for n, (key, value, _, at) in enumerate(OLD)
    ]
    fill(source, [*rows, *[(b"new", b"v", (("to", b"b"),), NOW - 5)]])
    for name in ("a", "b"):
        source.create_topic(name, 1)
    source.configure("a", retention_ms="-1")
    return source


def test_a_replay_that_retention_would_delete_is_refused_by_target(dead: FakeCluster) -> None:
    for dry in ((), ("--dry-run",)):
        done = replay(dead, "--to", "header:to", *dry)
        assert done.code == 7, done.err
        assert "3 of 4 records would not be kept by topic b; nothing was sent" in done.err
    assert contents(dead.bootstrap, "a") == contents(dead.bootstrap, "b") == []
    assert replay(dead, "--to", "a").code == 0
    assert len(contents(dead.bootstrap, "a")) == 6


def test_of_a_key_only_the_record_that_is_sent_counts(dead: FakeCluster) -> None:
    fill(dead, [(key, b"later", (), NOW - 5) for key, *_ in OLD[:2]])
    done = replay(dead, "--to", "b", "--dedupe", "key")
    assert "3 of 6 records would not be kept by topic b" in done.err
    assert done.code == 7


def test_a_replay_extends_forces_or_sends_with_the_time_of_now(dead: FakeCluster) -> None:
    assert replay(dead, "--to", "b", "--timestamps", "now", "--job", "now").code == 0
    assert all(row[3] >= NOW for row in contents(dead.bootstrap, "b"))
    forced = replay(dead, "--to", "b", "--force", "--job", "forced")
    assert "warning: b: 5 of 6 records (counted by reading): 5 are older" in forced.err
    assert forced.code == 0
    done = replay(dead, "--to", "b", "--extend-retention", "40d", "--job", "longer", "-o", "json")
    assert (done.code, retention(dead, "b")) == (0, str(40 * DAY)), done.err
    assert "`kcli topics alter b --unset retention.ms` sets it back" in done.err
    assert len(contents(dead.bootstrap, "b")) == 18


def test_a_replay_warns_of_a_topic_that_keeps_fewer_bytes_than_it_gets(source: FakeCluster) -> None:
    fill(source, NEW)
    source.create_topic("again", 2)
    for most, warnings in ((3, 1), (-1, 0), (1 << 30, 0)):
        source.configure("again", retention_bytes=str(most))
        for words in ((), ("--dedupe", "key")):
            done = command(
                "pipeline", "replay", "t", "--to", "again", "--runner", "inline", "--dry-run", *words,
                bootstrap=source.bootstrap,
            )  # fmt: skip
            assert done.code == 0, done.err
            warned = "again: it keeps 3 B of a partition (retention.bytes), and one gets about"
            assert done.err.count(warned) == warnings, done.err
