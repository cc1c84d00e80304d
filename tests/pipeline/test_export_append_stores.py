"""``kcli pipeline export --append`` and ``--compact`` on object stores: the lease, and kills at requests."""

import json
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

import kcli
from kcli.core.errors import ConfigError
from kcli.pipeline.drivers import export as driver
from kcli.pipeline.drivers import import_ as import_driver
from kcli.pipeline.manifest import Documents, Manifest
from kcli.pipeline.store import lease as leases
from kcli.pipeline.store.arrow_fs import ArrowStore
from kcli.pipeline.store.lease import LEASE, Lease, LeaseHeldError
from kcli.pipeline.store.s3 import S3Store
from kcli.pipeline.store.store import ABSENT, ChangedError, Store
from kcli.pipeline.store.urls import open_store
from tests.fake.cluster import FakeCluster
from tests.pipeline.exporting import ROWS, contents, export, fill, import_
from tests.pipeline.object_stores import BUCKET, S3, Asked, environment, faulty, gcs_server, s3_server

_FORK = multiprocessing.get_context("fork")


@pytest.fixture(scope="module")
def server() -> Iterator[S3]:
    with s3_server() as found:
        yield found


@pytest.fixture(autouse=True)
def usual(server: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables that lead to the server, and a lease that expires soon."""
    for name, text in environment(server.port).items():
        monkeypatch.setenv(name, text)
    monkeypatch.setattr(leases, "EXPIRES_AFTER", 0.3)


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, cluster_id="here", topics={"t": 2}) as made:
        fill(made, ROWS)
        yield made


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"s3://{BUCKET}/{tmp_path.name}"


def chain(url: str) -> Manifest:
    found = Documents(open_store(url)).manifest()
    assert found is not None
    return found


def values(url: str) -> dict[str, list[tuple[int, bytes | None]]]:
    """The offsets and values of all files that the manifest names, by partition."""
    store, found = open_store(url), {}
    for tp, one in chain(url).partitions():
        rows = found[str(tp)] = list[tuple[int, bytes | None]]()
        for each in one.files:
            with store.open(each.path) as file:
                rows += [(row["offset"], row["value"]) for row in pq.ParquetFile(file).read().to_pylist()]
    return found


def fill_more(cluster: FakeCluster) -> None:
    fill(cluster, ROWS[:3])
    fill(cluster, ROWS[:1], 1)


# --- the lease ------------------------------------------------------------------------------------------


def test_a_second_run_is_refused_while_the_first_one_is_alive(
    cluster: FakeCluster, url: str, monkeypatch: pytest.MonkeyPatch, server: S3, tmp_path: Path
) -> None:
    export(cluster, url, "--append")
    fill_more(cluster)
    run_tasks = driver.run_tasks

    def meanwhile(*arguments: Any, **named: Any) -> Any:
        monkeypatch.setattr(driver, "run_tasks", run_tasks)
        for flag in ("--append", "--compact"):
            done, report = export(cluster, url, flag)
            assert (done.code, report) == (7, None)
            assert f"another run writes {url}" in done.err
            assert "_kcli_lease.json is of run" in done.err
        return run_tasks(*arguments, **named)

    monkeypatch.setattr(driver, "run_tasks", meanwhile)
    done, _ = export(cluster, url, "--append")
    assert done.code == 0, done.err
    assert LEASE not in server.files(tmp_path.name)
    assert [len(rows) for rows in values(url).values()] == [8, 1]


def test_the_lease_of_a_dead_run_is_taken_over_when_it_is_not_renewed(
    cluster: FakeCluster, url: str, server: S3, tmp_path: Path
) -> None:
    open_store(url).put(LEASE, b'{"run": "a", "host": "h", "time": "then"}', ABSENT)
    done, _ = export(cluster, url, "--append")
    assert done.code == 0, done.err
    assert "of run a on h since then: it is taken over if" in done.err
    assert LEASE not in server.files(tmp_path.name)


def test_each_renewal_is_another_version_where_the_clock_stands_still(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "wall_ms", lambda: 0)
    store = open_store(url)
    lease = Lease(store, lambda _text: None)
    versions = [lease._put(ABSENT)]
    for _ in range(3):
        versions.append(lease._put(versions[-1]))
    assert len(set(versions)) == 4


def test_a_renewal_that_is_just_written_is_nothing_else_in_the_folder(
    cluster: FakeCluster, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As GCS lists it, where files have temporary names."""
    monkeypatch.setattr(S3Store, "names", lambda _store: [f".{LEASE}.0ef2abf2891da01e.tmp", LEASE])
    done, _ = export(cluster, url, "--append")
    assert done.code == 0, done.err


def test_a_run_that_has_lost_its_lease_commits_nothing(
    cluster: FakeCluster, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    export(cluster, url, "--append")
    before = chain(url)
    fill_more(cluster)
    run_tasks = driver.run_tasks

    def stalled(*arguments: Any, **named: Any) -> Any:
        monkeypatch.setattr(driver, "run_tasks", run_tasks)
        store = open_store(url)
        while True:
            found = store.read(LEASE)
            assert found is not None
            try:
                store.put(LEASE, b'{"run": "b", "host": "h", "time": "now"}', found.version)
                break
            except ChangedError:  # it was just renewed
                continue
        lost = threading.Event()
        while not any(thread.name == "lease" and not thread.is_alive() for thread in threading.enumerate()):
            if not any(thread.name == "lease" for thread in threading.enumerate()) or lost.wait(0.05):
                break
        return run_tasks(*arguments, **named)

    monkeypatch.setattr(driver, "run_tasks", stalled)
    done, _ = export(cluster, url, "--append")
    assert done.code == 7, done.err
    assert "run b on h" in done.err
    assert chain(url) == before
    done, _ = export(cluster, url, "--append")
    assert done.code == 0, done.err
    assert [len(rows) for rows in values(url).values()] == [8, 1]


def test_a_head_that_another_run_has_replaced_is_not_replaced(
    cluster: FakeCluster, url: str, monkeypatch: pytest.MonkeyPatch, server: S3, tmp_path: Path
) -> None:
    """The lease expired between the last look at it and the head: the head's version decides."""
    export(cluster, url, "--append")
    fill_more(cluster)
    append = Documents.append

    def overtaken(self: Documents, *arguments: Any) -> None:
        monkeypatch.setattr(Documents, "append", append)
        server.client.delete_object(Bucket=BUCKET, Key=f"{tmp_path.name}/{LEASE}")
        done, _ = export(cluster, url, "--append", "--compact")
        assert done.code == 0, done.err
        append(self, *arguments)

    monkeypatch.setattr(Documents, "append", overtaken)
    done, _ = export(cluster, url, "--append")
    assert (done.code, "_kcli_manifest.json was replaced by another run" in done.err) == (7, True)
    found = values(url)
    assert [len(rows) for rows in found.values()] == [8, 1]
    fill_more(cluster)
    assert export(cluster, url, "--append")[0].code == 0
    assert [len(rows) for rows in values(url).values()] == [11, 2]
    parts = {name for name in server.files(tmp_path.name) if name.startswith("_kcli_manifest-")}
    assert len(parts) == 2  # that of the run that was refused is removed


def test_a_renewal_whose_answer_is_lost_is_no_loss(
    server: S3, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store: Store = open_store(url)
    put, lost = store.put, [True]

    def losing(path: str, data: bytes, version: str) -> str:
        found = put(path, data, version)
        if version != ABSENT and lost.pop():
            lost.append(False)
            raise LookupError
        return found

    lease = Lease(store, lambda _text: None)
    version = lease._put(ABSENT)
    monkeypatch.setattr(store, "put", losing)
    with pytest.raises(LookupError):
        lease._put(version)
    assert lease._put(version) != version
    with pytest.raises(LeaseHeldError):
        Lease(store, lambda _text: None)._put(version)


# --- readers while files are merged ---------------------------------------------------------------------


FORMS = ("parquet", "ndjson", "csv")
LIMITS: list[dict[str, str]] = [{}, {"offsets": "1:9"}, {"since": "2001-01-01"}]


@pytest.mark.long
@pytest.mark.parametrize(
    ("form", "limits"),
    [
        pytest.param(form, limits, marks=[] if FORMS.index(form) == number else [pytest.mark.long])
        for form in FORMS
        for number, limits in enumerate(LIMITS)
    ],
)
def test_what_reads_an_export_reads_on_in_the_files_that_its_own_were_merged_into(
    cluster: FakeCluster, url: str, form: str, limits: dict[str, str]
) -> None:
    for _ in range(4):
        export(cluster, url, "--append", "--format", form)
        fill_more(cluster)
    columns = ["partition", "offset", "value"]
    expected = pa.table(kcli.read_export(url, columns=columns, **limits)).to_pylist()
    assert len(expected) == {"": 17, "offsets": 10, "since": 5}["".join(limits)]
    frame = kcli.read_export(url, columns=columns, batch_rows=2, verify=True, **limits)
    rows = []
    for number, batch in enumerate(frame):
        rows += batch.to_pylist()
        if number < 2:
            fill_more(cluster)
            done, _ = export(cluster, url, "--append", "--compact", "--format", form)
            assert (done.code, "merged into" in done.err) == (0, True), done.err
    assert rows == expected


def test_a_reader_gets_an_error_for_a_file_that_is_gone_and_was_not_merged(
    cluster: FakeCluster, url: str
) -> None:
    for _ in range(2):
        export(cluster, url, "--append")
        fill_more(cluster)
    frame = kcli.read_export(url, batch_rows=2)
    open_store(url).delete(chain(url).files[1].path)
    with pytest.raises(ConfigError, match="cannot be read"):
        list(frame)


@pytest.mark.long
@pytest.mark.parametrize(
    ("form", "moment"),
    [
        pytest.param(form, moment, marks=[] if (form == "ndjson") == (moment == 2) else [pytest.mark.long])
        for form in ("parquet", "ndjson")
        for moment in (1, 2, 3)
    ],
)
def test_an_import_reads_on_in_merged_files(
    cluster: FakeCluster, url: str, form: str, moment: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``moment``: the job before which they are merged, of those that count, check the files and restore them."""
    for _ in range(3):
        export(cluster, url, "--append", "--format", form)
        fill_more(cluster)
    jobs = []

    def overtaken(run: Any) -> Any:
        def running(*arguments: Any, **named: Any) -> Any:
            jobs.append(run.__name__)
            if len(jobs) == moment:
                done, _ = export(cluster, url, "--compact", "--format", form)
                assert done.code == 0, done.err
            return run(*arguments, **named)

        return running

    monkeypatch.setattr(import_driver, "run_job", overtaken(import_driver.run_job))
    monkeypatch.setattr(import_driver, "run_tasks", overtaken(import_driver.run_tasks))
    with FakeCluster(1, cluster_id="target") as target:
        done, _ = import_(target, url)
        assert done.code == 0, done.err
        assert jobs == ["run_tasks", "run_job", "run_tasks"]
        for partition, records in ((0, 11), (1, 2)):
            found = contents(target.bootstrap, "t", partition)
            assert found == contents(cluster.bootstrap, "t", partition)[:records]


# --- kills ----------------------------------------------------------------------------------------------


def _run(cluster: FakeCluster, url: str, port: int, flags: tuple[str, ...]) -> None:
    os.environ["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{port}"
    os._exit(export(cluster, url, *flags)[0].code)


def killed(cluster: FakeCluster, server: S3, url: str, at: int, how: str, flags: tuple[str, ...]) -> bool:
    """Runs the command, and kills its process when its request of that number arrives, ``before`` it reaches the server
    or ``after``. False if it has ended before. Renewals of the lease are not counted.
    """
    process: list[Any] = []
    counted = [0]

    def fault(asked: Asked) -> str:
        if asked.path.endswith(LEASE):
            return ""
        counted[0] += 1
        if counted[0] > at:
            if how == "before" or counted[0] > at + 1:
                os.kill(process[0].pid, signal.SIGKILL)
                return "503"
            return "lost"
        return ""

    with faulty(server.port, fault) as port:
        process.append(_FORK.Process(target=_run, args=(cluster, url, port, flags)))
        process[0].start()
        process[0].join(60)
    assert process[0].exitcode in (0, -signal.SIGKILL)
    return bool(process[0].exitcode == -signal.SIGKILL)


def _begun(cluster: FakeCluster, server: S3, prefix: str) -> dict[str, bytes]:
    for _ in range(2):
        export(cluster, f"s3://{BUCKET}/{prefix}", "--append")
        fill_more(cluster)
    return server.files(prefix)


def _whole(server: S3, prefix: str) -> tuple[Any, set[str], Any]:
    """What readers find; nothing else is there."""
    url, names = f"s3://{BUCKET}/{prefix}", server.files(prefix)
    found = chain(url)
    parts = json.loads(names["_kcli_manifest.json"]).get("parts", ())
    paths = {file.path for file in found.files}
    assert names.keys() == {"_kcli_manifest.json", *(one["path"] for one in parts), *paths}
    assert server.uploads() == []
    return found.topics, paths, values(url)


def _survives(
    cluster: FakeCluster,
    server: S3,
    prefix: str,
    steps: Iterator[int] | range,
    how: str,
    flags: tuple[str, ...],
) -> int:
    start = _begun(cluster, server, f"{prefix}-start")

    def copied(name: str) -> str:
        for key, data in start.items():
            server.client.put_object(Bucket=BUCKET, Key=f"{prefix}-{name}/{key}", Body=data)
        return f"s3://{BUCKET}/{prefix}-{name}"

    assert export(cluster, copied("whole"), *flags)[0].code == 0
    whole = _whole(server, f"{prefix}-whole")
    before = values(copied("before"))
    for step in steps:
        url = copied(str(step))
        was_killed = killed(cluster, server, url, step, how, flags)
        assert values(url) in (before, whole[2])  # readers see the old or the new
        done, _ = export(cluster, url, *flags)
        assert done.code == 0, done.err
        assert _whole(server, f"{prefix}-{step}") == whole
        if not was_killed:
            return step
    return -1


@pytest.mark.long
def test_a_run_that_is_killed_at_some_requests_is_completed(
    cluster: FakeCluster, server: S3, tmp_path: Path
) -> None:
    flags = ("--append", "--compact")
    assert _survives(cluster, server, tmp_path.name, range(20, 40, 12), "before", flags) == -1


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("how", ["before", "after"])
@pytest.mark.parametrize("flags", [("--append",), ("--append", "--compact")])
def test_a_run_that_is_killed_at_any_request_is_completed(
    cluster: FakeCluster, server: S3, tmp_path: Path, how: str, flags: tuple[str, ...]
) -> None:
    assert _survives(cluster, server, tmp_path.name, iter(range(200)), how, flags) > 20


@pytest.mark.long
def test_google_cloud_storage_has_chains_and_a_lease(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with gcs_server() as variables:
        for name, text in variables.items():
            monkeypatch.setenv(name, text)
        url = f"gs://{BUCKET}/x/y"
        store = open_store(url)
        assert isinstance(store, ArrowStore)
        for _ in range(3):
            done, _ = export(cluster, url, "--append")
            assert done.code == 0, done.err
            fill_more(cluster)
        with Lease(store, lambda _text: None):
            done, _ = export(cluster, url, "--append")
            assert (done.code, f"another run writes {url}" in done.err) == (7, True)
        store.put(LEASE, b"{}", ABSENT)
        done, _ = export(cluster, url, "--append", "--compact")
        assert done.code == 0, done.err
        export(cluster, tmp_path / "x")
        assert values(url) == values(str(tmp_path / "x"))
        assert {file.path for file in chain(url).files} == {
            file.path for file in chain(str(tmp_path / "x")).files
        }
        objects = store.filesystem.get_file_info(pafs.FileSelector(f"{BUCKET}/x/y", recursive=True))
        assert {one.path.removeprefix(f"{BUCKET}/x/y/") for one in objects if one.is_file} == {
            "_kcli_manifest.json",
            *(file.path for file in chain(url).files),
        }
