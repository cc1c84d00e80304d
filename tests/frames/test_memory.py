"""Memory is bounded by batches: reading and copying a topic needs about as much as reading a few of its records."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcli.core.types import Record
from kcli.pipeline import parquet_files
from tests.batches import batch_of
from tests.fake.cluster import FakeCluster
from tests.pipeline.exporting import export
from tests.run import MEASURE, environment

MB = 1 << 20
TOPIC, SOME = 96, 8  # MB
PROGRAM = """
import sys, kcli
how, bootstrap, folder, offsets = sys.argv[1:]
import duckdb, pyarrow as pa, pyarrow.compute, pyarrow.parquet
options = {"bootstrap_servers": bootstrap, "default_api_timeout_ms": 60_000}
if how == "export":
    frame = kcli.read_export(folder, offsets=offsets)
else:
    serde = "base64" if how == "typed" else None
    frame = kcli.read_topic("t", offsets=offsets, value_serde=serde, fetch_buffer_bytes=8 << 20, **options)
if how == "duckdb":
    duckdb.sql("set enable_progress_bar = false")
    print(duckdb.sql("select count(*), sum(octet_length(value)) from frame").fetchall()[0][0])
elif how == "copy":
    print(kcli.write_topic(frame, "copy", buffer_memory=8 << 20, **options).confirmed)
elif how == "iterated":
    print(sum(pa.record_batch(batch).num_rows for batch in frame))
else:
    print(sum(batch.num_rows for batch in pa.RecordBatchReader.from_stream(frame)))
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeCluster]:
    value = os.urandom(MB // 32) * 16
    with FakeCluster(1, topics={"t": 1, "copy": 1}) as made:
        for n in range(2 * TOPIC):
            made.append("t", 0, bytes(batch_of([Record("t", 0, n, -1, 0, None, value, ())]).raw))
        yield made


@pytest.fixture(scope="module")
def folder(cluster: FakeCluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("memory") / "x"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(parquet_files, "ROW_GROUP_BYTES", 4 * MB)
        assert export(cluster, made, "t")[0].code == 0
    return made


@pytest.mark.parametrize(
    "how",
    [
        "reader",
        "typed",
        "copy",
        "export",
        *(pytest.param(how, marks=pytest.mark.long) for how in ("iterated", "duckdb")),
    ],
)
def test_memory_does_not_grow_with_the_topic(cluster: FakeCluster, folder: Path, how: str) -> None:
    def peak(records: int) -> float:
        """In MB."""
        done = subprocess.run(
            [sys.executable, "-c", MEASURE, sys.executable, "-W", "ignore", "-c", PROGRAM,
             how, cluster.bootstrap, str(folder), f"0:{records}"],
            capture_output=True, text=True, check=False, env=environment(),
        )  # fmt: skip
        assert done.stdout == f"{records}\n", done.stderr
        return int(done.stderr.rpartition("RSS ")[2]) / 1024

    assert peak(2 * TOPIC) - peak(2 * SOME) < (TOPIC - SOME) / 2
