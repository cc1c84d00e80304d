"""Ten nights of ``kcli pipeline export --append``, of which each is killed at random moments or loses its store, while
another process reads the export again and again. At the end it is what an undisturbed export is: judged by DuckDB, which
reads the files that the chain names.
"""

import multiprocessing
import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pytest

import kcli
from kcli.pipeline.manifest import Documents
from kcli.pipeline.store import lease as leases
from kcli.pipeline.store.store import Store
from kcli.pipeline.store.urls import open_store
from tests.fake.cluster import FakeCluster
from tests.pipeline.exporting import Row, export, fill
from tests.pipeline.object_stores import BUCKET, S3, Asked, environment, faulty, s3_server

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
SEED = 35
NIGHTS, KILLS_A_NIGHT = 10, 2
_FORK = multiprocessing.get_context("fork")


class Place(NamedTuple):
    """Where the export is. ``server``: of an object store."""

    url: str
    server: S3 | None


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, cluster_id="here", topics={"t": 2}) as made:
        yield made


@pytest.fixture(params=["folder", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    if request.param == "folder":
        yield Place(str(tmp_path / "x"), None)
        return
    with s3_server() as server:
        for name, text in environment(server.port).items():
            monkeypatch.setenv(name, text)
        monkeypatch.setattr(leases, "EXPIRES_AFTER", 0.3)
        yield Place(f"s3://{BUCKET}/x", server)


def night(cluster: FakeCluster, chance: random.Random, partitions: int) -> None:
    """What arrives during a day, in several batches."""
    for partition in range(partitions):
        for _ in range(chance.randrange(3)):
            rows: list[Row] = [
                (b"%d" % chance.randrange(100), chance.randbytes(chance.randrange(2_000)), (), n)
                for n in range(chance.randrange(1, 200))
            ]
            fill(cluster, rows, partition)


def _run(cluster: FakeCluster, url: str, flags: tuple[str, ...], port: int) -> None:
    """Runs the command in this process, which is to be killed."""
    if port:
        os.environ["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{port}"
        sleep = time.sleep
        time.sleep = lambda seconds: sleep(min(seconds, 0.02))  # between attempts of requests
    os._exit(export(cluster, url, *flags)[0].code)


def killed(cluster: FakeCluster, url: str, flags: tuple[str, ...], seconds: float) -> bool:
    """Whether the run was killed after that time; else it has ended before."""
    process = _FORK.Process(target=_run, args=(cluster, url, flags, 0))
    process.start()
    process.join(seconds)
    if process.exitcode is None:
        os.kill(process.pid or 0, signal.SIGKILL)
    process.join(60)
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode != 0


def cut_off(cluster: FakeCluster, place: Place, flags: tuple[str, ...], chance: random.Random) -> bool:
    """Whether the run has failed because its connections to the store were cut, all of them after some requests. Such a
    run cannot give back its lease.
    """
    assert place.server is not None
    first = chance.randrange(40)

    def fault(asked: Asked) -> str:
        return chance.choice(["cut", "lost", "half"]) if asked.number >= first else ""

    with faulty(place.server.port, fault) as port:
        process = _FORK.Process(target=_run, args=(cluster, place.url, flags, port))
        process.start()
        process.join(120)
    assert process.exitcode is not None
    return process.exitcode != 0


def _reads(url: str, wrong: Any, ended: Any, count: Any) -> None:
    """Reads the export until it has ended: whatever run is killed, what is there grows, and has no hole and no record
    twice.
    """
    try:
        sizes: dict[int, int] = {}
        while not ended.is_set():
            if Documents(open_store(url)).manifest() is None:
                continue
            table = pa.table(kcli.read_export(url, columns=["partition", "offset"], batch_rows=500))
            found: dict[int, list[int]] = {}
            for row in table.to_pylist():
                found.setdefault(row["partition"], []).append(row["offset"])
            for partition, offsets in found.items():
                assert offsets == list(range(len(offsets))), f"{partition}: {offsets}"
                assert len(offsets) >= sizes.get(partition, 0)
                sizes[partition] = len(offsets)
            assert sizes.keys() == found.keys()
            count.value += 1
    except BaseException as error:
        wrong.put(repr(error))
        raise


def copied(store: Store, folder: Path) -> list[str]:
    """The files that the chain names, on this machine."""
    found = Documents(store).manifest()
    assert found is not None
    paths = []
    for file in found.files:
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        with store.open(file.path) as opened:
            path.write_bytes(opened.read())
        paths.append(str(path))
    return paths


def test_ten_nights_with_kills_are_an_undisturbed_export(
    cluster: FakeCluster, place: Place, tmp_path: Path
) -> None:
    chance, kills, partitions = random.Random(SEED), 0, 2
    wrong, ended, count = _FORK.SimpleQueue(), _FORK.Event(), _FORK.Value("i")
    fill(cluster, [(None, b"first", (), 0)])
    began = time.monotonic()
    assert export(cluster, place.url, "--append")[0].code == 0
    usual = time.monotonic() - began
    reader = _FORK.Process(target=_reads, args=(place.url, wrong, ended, count))
    reader.start()
    try:
        for number in range(NIGHTS):
            if number == NIGHTS // 2:
                partitions = 3
                cluster.add_partitions("t", partitions)
            flags = ("--append", "--compact") if chance.random() < 0.5 else ("--append",)
            of_this_night = 0
            while of_this_night < KILLS_A_NIGHT:
                night(cluster, chance, partitions)
                if place.server is not None and chance.random() < 0.5:
                    of_this_night += cut_off(cluster, place, flags, chance)
                else:
                    of_this_night += killed(cluster, place.url, flags, chance.uniform(0.02, 1.5 * usual))
            kills += of_this_night
            done, _ = export(cluster, place.url, *flags)
            assert done.code == 0, done.err
    finally:
        ended.set()
        reader.join(60)
    assert wrong.empty(), wrong.get()
    assert reader.exitcode == 0
    assert count.value > NIGHTS
    assert kills >= 15

    store = open_store(place.url)
    undisturbed = str(tmp_path / "undisturbed")
    assert export(cluster, undisturbed)[0].code == 0
    here, there = copied(store, tmp_path / "here"), copied(open_store(undisturbed), tmp_path / "there")
    read = "read_parquet({}, hive_partitioning = true)"
    columns = 'partition, "offset", timestamp, key, value'
    with duckdb.connect() as database:
        for one, other in ((here, there), (there, here)):
            (differing,) = database.execute(
                f"select count(*) from (select {columns} from {read.format(one)} except all "
                f"select {columns} from {read.format(other)})"
            ).fetchall()
            assert differing == (0,)
        ((rows, distinct),) = database.execute(
            f'select count(*), count(distinct (partition, "offset")) from {read.format(here)}'
        ).fetchall()
    assert rows == distinct == sum(cluster.log("t", partition).end_offset for partition in range(partitions))
    left = {name for name in store.names() if not name.startswith("topic=")}
    head = store.read("_kcli_manifest.json")
    assert head is not None
    assert all(name == "_kcli_manifest.json" or name.encode() in head.data for name in left)
    if place.server is not None:
        assert place.server.uploads() == []
