"""``kcli pipeline export`` and ``import`` on object stores: the files of a folder, whatever breaks or is killed."""

import json
import multiprocessing
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.flows.stop import Stop
from kcli.pipeline.store import s3
from kcli.pipeline.store.store import ABSENT
from kcli.pipeline.store.urls import open_store
from tests.chaos.workload import SEED
from tests.fake.cluster import FakeCluster
from tests.pipeline.exporting import ROWS, contents, export, files, fill, import_
from tests.pipeline.object_stores import (
    BUCKET,
    S3,
    SECRET,
    Asked,
    azure_server,
    environment,
    faulty,
    gcs_server,
    s3_server,
)
from tests.run import environment as any_environment
from tests.run import start

_FORK = multiprocessing.get_context("fork")
MANIFEST, PLAN = "_kcli_manifest.json", "_kcli_plan.json"


@pytest.fixture(scope="module")
def server() -> Iterator[S3]:
    with s3_server() as found:
        yield found


@pytest.fixture(autouse=True)
def usual(server: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables that lead to the server, and parts so small that there are some."""
    to(monkeypatch, server.port)
    monkeypatch.setattr(s3, "_PART", 700)


def to(monkeypatch: pytest.MonkeyPatch, port: int) -> None:
    for name, text in environment(port).items():
        monkeypatch.setenv(name, text)


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, cluster_id="here", topics={"t": 2}) as made:
        fill(made, ROWS)
        fill(made, [(b"%d" % n, b"v" * n, (), n) for n in range(40)], 1)
        yield made


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A place of the test's own."""
    return f"s3://{BUCKET}/{tmp_path.name}"


def state(found: dict[str, bytes]) -> tuple[Any, dict[str, bytes]]:
    """The manifest without its time, and all files."""
    text = json.loads(found.pop(MANIFEST))
    del text["created"]
    return text, found


def test_a_server_that_has_no_list_of_uploads_before_the_first_one(
    cluster: FakeCluster, server: S3, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fault(asked: Asked) -> str:
        return "NoSuchUpload" if asked.operation == "GET uploads" else ""

    with faulty(server.port, fault) as port:
        to(monkeypatch, port)
        done, _ = export(cluster, url)
    assert done.code == 0, done.err


@pytest.mark.parametrize("form", ["parquet", "ndjson", "csv", "raw"])
def test_the_same_bytes_as_in_a_folder(
    cluster: FakeCluster, tmp_path: Path, server: S3, url: str, form: str
) -> None:
    done, there = export(cluster, tmp_path / "x", "--format", form)
    assert done.code == 0, done.err
    done, here = export(cluster, url, "--format", form)
    assert done.code == 0, done.err
    assert state(server.files(tmp_path.name)) == state(files(tmp_path / "x"))
    assert here["items"] == there["items"]
    assert server.uploads() == []
    before = server.files(tmp_path.name)
    done, again = export(cluster, url, "--format", form)
    assert (done.code, again["items"], again["totals"]["tasks"]) == (0, here["items"], 0)
    assert f"{url} is complete" in done.err
    assert server.files(tmp_path.name) == before
    assert SECRET not in "".join(map(str, before.values()))


def test_what_is_missing_is_written_again_and_what_was_changed_is_refused(
    cluster: FakeCluster, tmp_path: Path, server: S3, url: str
) -> None:
    export(cluster, url)
    before = server.files(tmp_path.name)
    first, second = sorted(name for name in before if name.endswith(".parquet"))
    server.client.delete_object(Bucket=BUCKET, Key=f"{tmp_path.name}/{first}")
    done, report = export(cluster, url)
    assert (done.code, report["totals"]["tasks"]) == (0, 1)
    assert server.files(tmp_path.name) == before
    server.client.put_object(Bucket=BUCKET, Key=f"{tmp_path.name}/{second}", Body=b"x")
    done, _ = export(cluster, url)
    assert (done.code, f"{url}/{second} was changed" in done.err) == (7, True)
    with FakeCluster(1, cluster_id="target") as target:
        done, _ = import_(target, url)
        assert (done.code, f"{url}/{second} has 1 bytes" in done.err) == (2, True)
        changed = bytearray(before[second])
        changed[10] ^= 1
        server.client.put_object(Bucket=BUCKET, Key=f"{tmp_path.name}/{second}", Body=bytes(changed))
        done, _ = import_(target, url)
        assert (done.code, "its SHA-256 is" in done.err) == (2, True)


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_an_export_is_restored_from_the_store(cluster: FakeCluster, url: str, form: str) -> None:
    export(cluster, url, "--format", form)
    with FakeCluster(1, cluster_id="target") as target:
        done, _ = import_(target, url)
        assert done.code == 0, done.err
        for partition in (0, 1):
            assert contents(target.bootstrap, "t", partition) == contents(cluster.bootstrap, "t", partition)


def test_processes_find_the_store_by_their_environment(
    cluster: FakeCluster, tmp_path: Path, server: S3, url: str
) -> None:
    export(cluster, tmp_path / "x")
    done, _ = export(cluster, url, "--runner", "processes", "--local", "2")
    assert done.code == 0, done.err
    assert state(server.files(tmp_path.name)) == state(files(tmp_path / "x"))


def test_a_continuous_export_goes_on(
    cluster: FakeCluster, tmp_path: Path, server: S3, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kcli.pipeline.drivers.export.wait", lambda _seconds, stop: stop.request())
    for folder in (url, tmp_path / "x"):
        export(cluster, folder, "--continuous")
    fill(cluster, ROWS)
    for folder in (url, tmp_path / "x"):
        done, _ = export(cluster, folder, "--continuous")
        assert done.code == 130, done.err
    found = state(server.files(tmp_path.name))
    assert found == state(files(tmp_path / "x"))
    assert len(found[1]) == 3


@pytest.mark.parametrize("path", [PLAN, MANIFEST])
def test_a_continuous_export_outlasts_a_store_that_is_away(
    cluster: FakeCluster, tmp_path: Path, server: S3, url: str, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    is_away, rounds = [True], list[int]()

    def between(_seconds: float, stop: Stop) -> None:
        rounds.append(1)
        is_away.clear()
        if len(rounds) == 2:
            stop.request()

    def fault(asked: Asked) -> str:
        return "503" if is_away and asked.operation == "PUT" and asked.path.endswith(path) else ""

    monkeypatch.setattr("kcli.pipeline.drivers.export.wait", between)
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    with faulty(server.port, fault) as port:
        to(monkeypatch, port)
        done, report = export(cluster, url, "--continuous")
    assert done.code == 130, done.err
    assert "trying again" in done.err
    assert [(item["end"], item["records"]) for item in report["items"]] == [(5, 5), (40, 40)]
    assert PLAN not in server.files(tmp_path.name)
    assert len(state(server.files(tmp_path.name))[1]) == 2


def test_file_urls_are_folders(cluster: FakeCluster, tmp_path: Path) -> None:
    done, _ = export(cluster, f"file://{tmp_path}/x")
    assert done.code == 0, done.err
    assert MANIFEST in files(tmp_path / "x")


@pytest.mark.parametrize(
    "folder", ["s4://bucket/x", "http://host/x", "s3:/bucket/x", "s3://a:hidden@bucket/x"]
)
def test_a_url_that_is_none_is_a_usage_error_and_makes_no_folder(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for done in (export(cluster, folder)[0], import_(cluster, folder)[0]):
        assert done.code == 2
        assert "hidden" not in done.err
    assert os.listdir(tmp_path) == []


def test_what_cannot_be_reached_or_is_not_there(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    done, _ = export(cluster, "s3://no-such-bucket/x")
    assert (done.code, "bucket no-such-bucket does not exist" in done.err) == (1, True)
    done, _ = import_(cluster, "s3://no-such-bucket/x")
    assert (done.code, "bucket no-such-bucket does not exist" in done.err) == (1, True)
    done, _ = import_(cluster, url)
    assert (done.code, f"{url} is no complete export" in done.err) == (2, True)
    server_of_everybody = os.environ["AWS_ENDPOINT_URL"]
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    done, _ = export(cluster, url)
    assert (done.code, "does not answer" in done.err) == (3, True)
    monkeypatch.setenv("AWS_ENDPOINT_URL", server_of_everybody)
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    done, _ = export(cluster, url)
    assert (done.code, "no credentials" in done.err) == (4, True)


def test_of_two_runs_at_once_the_second_is_refused(
    cluster: FakeCluster, url: str, monkeypatch: pytest.MonkeyPatch, server: S3, tmp_path: Path
) -> None:
    from kcli.pipeline.drivers import export as driver

    run_tasks = driver.run_tasks

    def meanwhile(*arguments: Any, **named: Any) -> Any:
        monkeypatch.setattr(driver, "run_tasks", run_tasks)
        open_store(url).put(MANIFEST, b"{}", ABSENT)
        return run_tasks(*arguments, **named)

    monkeypatch.setattr(driver, "run_tasks", meanwhile)
    done, _ = export(cluster, url)
    assert (done.code, f"{url}/{MANIFEST} was replaced by another run" in done.err) == (7, True)
    assert server.files(tmp_path.name)[MANIFEST] == b"{}"


def test_a_listing_that_is_late_changes_nothing(
    cluster: FakeCluster, tmp_path: Path, server: S3, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    export(cluster, url)
    whole = server.files(tmp_path.name)
    with faulty(server.port, lambda asked: "empty" if "list-type" in asked.operation else "") as port:
        to(monkeypatch, port)
        done, report = export(cluster, url)
        assert (done.code, report["totals"]["tasks"]) == (0, 0)
        assert server.files(tmp_path.name) == whole
        server.client.delete_object(Bucket=BUCKET, Key=f"{tmp_path.name}/{MANIFEST}")
        done, _ = export(cluster, url)  # not seen: the same files are found by their names, and kept
        assert done.code == 0, done.err
    assert state(server.files(tmp_path.name)) == state(whole)
    with faulty(server.port, lambda asked: "") as port:
        to(monkeypatch, port)
        server.client.delete_object(Bucket=BUCKET, Key=f"{tmp_path.name}/{MANIFEST}")
        done, _ = export(cluster, url)
        assert (done.code, f"{url} is not empty" in done.err) == (7, True)


# --- kills ----------------------------------------------------------------------------------------------


def _run(cluster: FakeCluster, url: str, port: int, more: tuple[str, ...]) -> None:
    os.environ["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{port}"
    os._exit(export(cluster, url, *more)[0].code)


def killed(cluster: FakeCluster, server: S3, url: str, at: int, how: str, more: tuple[str, ...] = ()) -> bool:
    """Runs the command, and kills its process when its request of that number arrives: ``before`` it reaches the
    server, or ``after``. False if it has ended before.
    """
    process: list[Any] = []

    def fault(asked: Asked) -> str:
        if asked.number >= at:
            if how == "before" or asked.number > at:
                os.kill(process[0].pid, signal.SIGKILL)
                return "503"
            return "lost"
        return ""

    with faulty(server.port, fault) as port:
        process.append(_FORK.Process(target=_run, args=(cluster, url, port, more)))
        process[0].start()
        process[0].join(60)
    assert process[0].exitcode in (0, 130, -signal.SIGKILL)
    return bool(process[0].exitcode == -signal.SIGKILL)


def _killed_and_completed(
    cluster: FakeCluster, tmp_path: Path, server: S3, steps: Iterator[int] | range, how: str, form: str
) -> int:
    flags = ("--format", form)
    export(cluster, tmp_path / "x", *flags)
    whole = state(files(tmp_path / "x"))
    for step in steps:
        name = f"{tmp_path.name}-{step}"
        was_killed = killed(cluster, server, f"s3://{BUCKET}/{name}", step, how, flags)
        found = server.files(name)
        if MANIFEST in found:  # what is committed is whole
            assert state({key: data for key, data in found.items() if key != PLAN}) == whole
        done, _ = export(cluster, f"s3://{BUCKET}/{name}", *flags)
        assert done.code == 0, done.err
        assert state(server.files(name)) == whole
        assert server.uploads() == []
        if not was_killed:
            return step
    return -1


@pytest.mark.long
def test_an_export_that_is_killed_at_some_requests_is_completed(
    cluster: FakeCluster, tmp_path: Path, server: S3
) -> None:
    assert _killed_and_completed(cluster, tmp_path, server, range(4, 20, 5), "before", "ndjson") == -1


@pytest.mark.long
@pytest.mark.parametrize("how", ["before", "after"])
@pytest.mark.parametrize("form", ["ndjson", "parquet"])
def test_an_export_that_is_killed_at_any_request_is_completed(
    cluster: FakeCluster, tmp_path: Path, server: S3, how: str, form: str
) -> None:
    assert _killed_and_completed(cluster, tmp_path, server, iter(range(100)), how, form) > 20


@pytest.mark.long
def test_a_continuous_export_that_is_killed_at_any_request_goes_on(
    cluster: FakeCluster, tmp_path: Path, server: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kcli.pipeline.drivers.export.wait", lambda _seconds, stop: stop.request())
    flags = ("--format", "ndjson", "--continuous")
    export(cluster, f"s3://{BUCKET}/{tmp_path.name}", *flags)
    first = server.files(tmp_path.name)
    fill(cluster, ROWS[:2])
    fill(cluster, ROWS[:1], 1)
    step, was_killed = 0, True
    while was_killed:
        name = f"{tmp_path.name}-{step}"
        for key, data in first.items():
            server.client.put_object(Bucket=BUCKET, Key=f"{name}/{key}", Body=data)
        was_killed = killed(cluster, server, f"s3://{BUCKET}/{name}", step, "before", flags)
        done, _ = export(cluster, f"s3://{BUCKET}/{name}", *flags)
        assert done.code == 130, done.err
        text, found = state(server.files(name))
        ends = [[(one["start"], one["end"]) for one in p["files"]] for p in text["topics"][0]["partitions"]]
        assert ends == [[(0, 5), (5, 7)], [(0, 40), (40, 41)]]
        assert {one["path"] for p in text["topics"][0]["partitions"] for one in p["files"]} == found.keys()
        assert server.uploads() == []
        step += 1
    assert step > 12


@pytest.mark.long
@pytest.mark.timeout(600)
def test_processes_that_are_killed_at_random_moments(
    cluster: FakeCluster, tmp_path: Path, server: S3
) -> None:
    """The whole tree of processes, behind a store that is slow and fails now and then."""
    fill(cluster, [(b"%d" % n, os.urandom(40_000), (), n) for n in range(300)], 1)
    flags = ("--format", "ndjson", "--runner", "processes", "--local", "2")
    export(cluster, tmp_path / "x", *flags)
    whole = state(files(tmp_path / "x"))
    chance = random.Random(SEED)
    kills = 0

    def fault(asked: Asked) -> str:
        return chance.choice(["503", "cut", "lost"]) if asked.number % 11 == 10 else ""

    for number in range(3):
        name = f"{tmp_path.name}-{number}"
        with faulty(server.port, fault) as port:
            for _ in range(5):
                process = start(
                    "-b", cluster.bootstrap, "pipeline", "export", "t", f"s3://{BUCKET}/{name}", *flags,
                    start_new_session=True, env=any_environment(**environment(port)),
                )  # fmt: skip
                try:
                    process.wait(chance.uniform(0.3, 3.0))
                    break
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
                    kills += 1
                finally:
                    process.communicate()
        time.sleep(0.5)
        done, _ = export(cluster, f"s3://{BUCKET}/{name}", *flags)
        assert done.code == 0, done.err
        assert state(server.files(name)) == whole
        assert server.uploads() == []
    assert kills > 3


# --- the others -----------------------------------------------------------------------------------------


def _as_in_a_folder(cluster: FakeCluster, folder: Path, base: str) -> None:
    export(cluster, folder)
    done, _ = export(cluster, f"{base}/x/y")
    assert done.code == 0, done.err
    whole = state(files(folder))
    store: Any = open_store(f"{base}/x/y")
    found = {}
    for one in store._listed(recursive=True):
        if one.is_file:
            path = one.path.partition("/x/y/")[2]
            with store.open(path) as file:
                found[path] = file.read()
    assert state(found) == whole
    done, report = export(cluster, f"{base}/x/y")
    assert (done.code, report["totals"]["tasks"]) == (0, 0)
    with FakeCluster(1, cluster_id="target") as target:
        done, _ = import_(target, f"{base}/x/y")
        assert done.code == 0, done.err
        assert contents(target.bootstrap, "t") == ROWS
    with store.new("topic=t/lost") as lost:
        lost.write(b"x")
        lost.discard = lambda: None
    store.remove_leftovers()
    assert (
        sorted(path for path in (one.path for one in store._listed(recursive=True)) if ".tmp" in path) == []
    )


@pytest.mark.long
def test_google_cloud_storage(cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with gcs_server() as variables:
        for name, text in variables.items():
            monkeypatch.setenv(name, text)
        _as_in_a_folder(cluster, tmp_path / "x", f"gs://{BUCKET}")
        done, _ = export(cluster, "gs://no-such-bucket/x")
        assert (done.code, "bucket no-such-bucket does not exist" in done.err) == (1, True)


@pytest.mark.long
def test_azure(cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with azure_server(tmp_path) as variables:
        for name, text in variables.items():
            monkeypatch.setenv(name, text)
        base = f"abfss://{BUCKET}@devstoreaccount1.dfs.core.windows.net"
        done, _ = export(cluster, f"{base}/x")
        assert (done.code, f"container {BUCKET} does not exist" in done.err) == (1, True)
        store: Any = open_store(base)
        store.filesystem.create_dir(BUCKET)
        _as_in_a_folder(cluster, tmp_path / "x", base)


@pytest.mark.long
@pytest.mark.integration
def test_spark_writes_the_same_bytes_and_restores_them(
    cluster: FakeCluster, tmp_path: Path, server: S3, url: str
) -> None:
    export(cluster, tmp_path / "x")
    done, _ = export(cluster, url, "--runner", "spark", "--local", "2")
    assert done.code == 0, done.err
    assert state(server.files(tmp_path.name)) == state(files(tmp_path / "x"))
    with FakeCluster(1, cluster_id="target") as target:
        done, _ = import_(target, url, "--runner", "spark", "--local", "2")
        assert done.code == 0, done.err
        assert contents(target.bootstrap, "t") == ROWS
