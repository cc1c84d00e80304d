"""``kcli pipeline export --format delta|iceberg`` on S3: credentials, the lease, two writers, catalogs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("deltalake", reason="deltalake is not installed")
pytest.importorskip("pyiceberg", reason="pyiceberg is not installed")

from kcli.pipeline.drivers import table_export as driver
from kcli.pipeline.store import lease as leases
from tests.fake.cluster import FakeCluster
from tests.pipeline.exporting import ROWS, export, fill
from tests.pipeline.object_stores import BUCKET, S3, SECRET, environment, s3_process
from tests.pipeline.tables import FORMATS, records, rows, table_settings


@pytest.fixture(scope="module")
def server() -> Iterator[S3]:
    with s3_process() as found:
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


class Lake:
    """A table on the server; its catalog is a file of this machine."""

    def __init__(self, form: str, folder: Path, server: S3) -> None:
        self.form = form
        self.url = f"s3://{BUCKET}/{folder.name}"
        self.catalog = f"sqlite:///{folder}/catalog.db"
        self.settings = table_settings(form, environment(server.port), str(folder))

    def export(self, cluster: FakeCluster, *more: str) -> tuple[Any, Any]:
        catalog = ("--catalog", self.catalog) if self.form == "iceberg" else ()
        return export(cluster, self.url, "--format", self.form, *catalog, *more)

    def rows(self) -> Any:
        return rows(self.form, self.url, **self.settings)


@pytest.fixture(params=FORMATS)
def lake(request: pytest.FixtureRequest, tmp_path: Path, server: S3) -> Lake:
    return Lake(request.param, tmp_path, server)


@pytest.mark.parametrize("runner", ["inline", pytest.param("processes", marks=pytest.mark.long)])
def test_runs_append_and_no_secret_is_written(
    cluster: FakeCluster, lake: Lake, server: S3, tmp_path: Path, runner: str
) -> None:
    for _ in range(3):
        done, report = lake.export(cluster, "--runner", runner)
        assert done.code == 0, done.err
        assert report["tables"][0]["location"].startswith(lake.url)
        assert SECRET not in done.err + done.out
        assert lake.rows() == records(cluster)
        fill(cluster, ROWS[:2])
    stored = server.files(tmp_path.name)
    assert not [name for name in stored if "_kcli_" in name]
    local = [path.read_bytes() for path in tmp_path.iterdir()]
    assert not [data for data in (*stored.values(), *local) if SECRET.encode() in data]


def test_a_second_run_is_refused_by_the_lease(
    cluster: FakeCluster, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_tasks = driver.run_tasks

    def meanwhile(*arguments: Any, **named: Any) -> Any:
        monkeypatch.setattr(driver, "run_tasks", run_tasks)
        done, report = lake.export(cluster)
        assert (done.code, report, "another run writes" in done.err) == (7, None, True), done.err
        return run_tasks(*arguments, **named)

    monkeypatch.setattr(driver, "run_tasks", meanwhile)
    assert lake.export(cluster)[0].code == 0
    assert lake.rows() == records(cluster)


def test_two_runs_without_a_lease_commit_once(
    cluster: FakeCluster, lake: Lake, monkeypatch: pytest.MonkeyPatch, server: S3, tmp_path: Path
) -> None:
    lake.export(cluster)
    fill(cluster, ROWS)
    module = f"kcli.pipeline.tables.{lake.form}"
    check = driver.__dict__.get("check_position") or __import__(module, fromlist=[""]).check_position

    def overtaken(*arguments: Any) -> Any:
        found = check(*arguments)
        monkeypatch.setattr(f"{module}.check_position", check)
        for name in server.files(tmp_path.name):
            if "_kcli_" in name:
                server.client.delete_object(Bucket=BUCKET, Key=f"{tmp_path.name}/{name}")
        assert lake.export(cluster)[0].code == 0
        return found

    monkeypatch.setattr(f"{module}.check_position", overtaken)
    done, _ = lake.export(cluster)
    assert done.code == 7, done.err
    assert lake.rows() == records(cluster)
    assert lake.export(cluster)[0].code == 0
    assert lake.rows() == records(cluster)


def test_credentials_that_are_missing_or_wrong(
    cluster: FakeCluster, lake: Lake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    done, _ = lake.export(cluster)
    assert (done.code, "no credentials" in done.err) == (4, True), done.err


def test_a_bucket_that_does_not_exist(cluster: FakeCluster, lake: Lake) -> None:
    lake.url = f"s3://nobody/{lake.form}"
    done, _ = lake.export(cluster)
    assert (done.code, "bucket nobody does not exist" in done.err) == (1, True), done.err


def test_iceberg_on_s3_needs_a_catalog(cluster: FakeCluster) -> None:
    done, _ = export(cluster, f"s3://{BUCKET}/none", "--format", "iceberg")
    assert (done.code, "--format iceberg needs a catalog for s3://" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("catalog", "form", "code", "what"),
    [
        ("thrift://host", "iceberg", 2, "there is no catalog thrift://"),
        ("postgresql://me:secret@host/db", "iceberg", 2, "--catalog has a password"),
        ("nowhere", "iceberg", 2, "catalog nowhere"),
        ("http://127.0.0.1:9", "iceberg", 3, "the catalog does not answer"),
        ("sqlite:////nowhere/x.db", "iceberg", 1, "its database failed"),
        ("http://127.0.0.1:9", "delta", 2, "--catalog with --format delta"),
    ],
)
def test_a_catalog_that_cannot_be_used(
    cluster: FakeCluster, tmp_path: Path, catalog: str, form: str, code: int, what: str
) -> None:
    done, _ = export(cluster, tmp_path / "x", "--format", form, "--catalog", catalog)
    assert (done.code, what in done.err) == (code, True), done.err
    assert "secret" not in done.err
    assert "sqlalche.me" not in done.err
