"""An export to a table is killed at its steps, and at any moment: then the same command completes it, and each record is
there once. DuckDB judges, on what the library of the format reads.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("deltalake", reason="deltalake is not installed")
pytest.importorskip("pyiceberg", reason="pyiceberg is not installed")

from tests.fake.cluster import FakeCluster
from tests.pipeline.dying_table import STEPS
from tests.pipeline.exporting import ROWS, export, fill
from tests.pipeline.object_stores import BUCKET, Asked, environment, faulty, s3_process
from tests.pipeline.tables import FORMATS, content, nothing_left, records, rows, table_settings

_KILLS, _MOST = 20, 60
_REQUESTS = range(0, 60, 3)


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, cluster_id="here", topics={"t": 2}) as made:
        fill(made, ROWS)
        fill(made, ROWS[:2], 1)
        yield made


def begun(
    cluster: FakeCluster, step: str, folder: Path | str, form: str, *more: str
) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [
            sys.executable, "-m", "tests.pipeline.dying_table", step, "-b", cluster.bootstrap, "pipeline", "export", "t",
            str(folder), "--format", form, *(more or ("--runner", "inline")),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip


def arrive(cluster: FakeCluster, number: int) -> None:
    fill(cluster, ROWS[: 1 + number % 3])
    fill(cluster, ROWS[: number % 2], 1)


@pytest.mark.long
@pytest.mark.parametrize("form", ["delta", pytest.param("iceberg", marks=pytest.mark.long)])
def test_a_run_that_is_killed_at_a_step_is_completed(cluster: FakeCluster, tmp_path: Path, form: str) -> None:
    """One table, which is killed once at each step, with new records each time: a run that comes later completes it."""
    x = tmp_path / "x"
    for number, step in enumerate(STEPS):
        assert begun(cluster, step, x, form).wait(60) == -signal.SIGKILL, step
        arrive(cluster, number)
        if number:
            there = content(form, x)
            assert there.num_rows == len(
                set(zip(*(there[n].to_pylist() for n in ("partition", "offset")), strict=True))
            )
        if number % 2:
            done, _ = export(cluster, x, "--format", form)
            assert done.code == 0, done.err
            assert rows(form, x) == records(cluster), step
            nothing_left(form, x)
            arrive(cluster, number)
    assert export(cluster, x, "--format", form)[0].code == 0
    assert rows(form, x) == records(cluster)
    nothing_left(form, x)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("runner", ["inline", "processes"])
def test_a_run_that_is_killed_at_any_moment_is_completed(
    cluster: FakeCluster, tmp_path: Path, form: str, runner: str
) -> None:
    x, chance, kills, latest = tmp_path / "x", random.Random(35), 0, 1200
    started = time.monotonic()
    for number in range(_MOST):
        step = list(STEPS)[number] if number < len(STEPS) else str(chance.randrange(5, latest))
        code = begun(cluster, step, x, form, "--runner", runner).wait(60)
        assert code in (0, -signal.SIGKILL), step
        kills += code != 0
        if kills == _KILLS:
            break
        if code == 0:  # it had ended before
            latest = max(100, latest * 3 // 4)
        if number % 3 == 2:
            done, _ = export(cluster, x, "--format", form)
            assert done.code == 0, done.err
            assert rows(form, x) == records(cluster), step
            nothing_left(form, x)
        arrive(cluster, number)
    assert export(cluster, x, "--format", form)[0].code == 0
    assert rows(form, x) == records(cluster)
    nothing_left(form, x)
    print(f"{form}, {runner}: {kills} kills in {time.monotonic() - started:.0f} s")
    assert kills == _KILLS


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("form", FORMATS)
def test_a_run_that_is_killed_at_a_request_to_s3_is_completed(
    cluster: FakeCluster, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each third request of a run that has something to write, before it arrives, or when its answer is lost."""
    monkeypatch.setattr("kcli.pipeline.store.lease.EXPIRES_AFTER", 0.3)
    url = f"s3://{BUCKET}/x"
    more = () if form == "delta" else ("--catalog", f"sqlite:///{tmp_path}/catalog.db")
    kills = 0
    with s3_process() as server:
        variables = environment(server.port)
        for name, text in variables.items():
            monkeypatch.setenv(name, text)
        settings = table_settings(form, variables, str(tmp_path))
        for number, at in enumerate(_REQUESTS):
            how = "503" if number % 2 else "lost"
            process: list[subprocess.Popen[bytes]] = []
            seen = iter(range(1 << 30))

            def fault(_asked: Asked, at: int = at, how: str = how, process: list[subprocess.Popen[bytes]] = process,
                      seen: Iterator[int] = seen) -> str:  # fmt: skip
                if next(seen) < at:
                    return ""
                if process and process[0].poll() is None:
                    os.kill(process[0].pid, signal.SIGKILL)
                return how

            with faulty(server.port, fault) as port, monkeypatch.context() as patched:
                patched.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
                process.append(begun(cluster, "600000", url, form, "--runner", "inline", *more))
                kills += process[0].wait(120) == -signal.SIGKILL
            done, _ = export(cluster, url, "--format", form, *more)
            assert done.code == 0, done.err
            assert rows(form, url, **settings) == records(cluster), at
            # Those of pyiceberg's own metadata are its own.
            assert [key for key in server.uploads() if "/data/" in str(key)] == []
            arrive(cluster, number)
        names = server.files("x")
        assert not [name for name in names if "_kcli_" in name]
    print(f"{form} on S3: {kills} kills")
    assert kills >= 10
