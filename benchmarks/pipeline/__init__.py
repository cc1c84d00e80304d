"""``kcli pipeline`` on Spark beside Spark's own Kafka connector: CPU of whole process trees per GB, warm, in turn.

A sandbox with topics of 4 partitions, 1 KB and 100 B values of hexadecimal digits, with keys, uncompressed. Two sessions
of Spark with two slots each stay up: one for kcli's kernels, with the light JVM that its commands choose for them, and
one for data frames, where the connector and ``format("kcli")`` take turns. Both read the same columns.

Then a topic of JSON, of ``KCLI_BENCH_RECORDS`` records (1,500,000): a group-by, an export, and an export to an object
store. That is gofakes3 where it is on the path (``go install github.com/johannesboyne/gofakes3/cmd/gofakes3@v1.2.0``),
else moto, in a process that is not counted. Kafka Connect's sinks for S3, Confluent's and Aiven's, are not measured: they
are not on Maven Central.

``KCLI_BENCH_ROUNDS`` (5, after one that is not counted), ``KCLI_BENCH_MEGABYTES`` (1000; of 100 B values half of it),
``KCLI_BENCH_ONLY`` (a part of a contest's name, such as ``1 KB``, ``JSON`` or ``read``).
"""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

from benchmarks._measure import machine
from kcli.sandbox.sandbox import Sandbox
from kcli.sandbox.settings import Settings

ROUNDS = int(os.environ.get("KCLI_BENCH_ROUNDS", "5"))
RECORDS = int(os.environ.get("KCLI_BENCH_RECORDS", "1500000"))
MEGABYTES = int(os.environ.get("KCLI_BENCH_MEGABYTES", "1000"))
ONLY = os.environ.get("KCLI_BENCH_ONLY", "")


def main() -> None:
    """Starts a broker and two sessions of Spark, runs all contests, prints their tables."""
    missing = [
        name
        for name in ("pyspark", "pyarrow", "psutil", "duckdb", "botocore", "pytest")
        if find_spec(name) is None
    ]
    if missing:
        print(f"not measured: {', '.join(missing)} not installed", file=sys.stderr)
        return
    from benchmarks.pipeline._bench import Bench  # loads pyspark
    from tests.pipeline.object_stores import QUICK_S3_ENVIRONMENT, quick_s3_server  # loads pytest
    from tests.pipeline.object_stores import environment as store_environment

    print(f"machine: {machine()}", flush=True)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kcli-bench-")))
        box = Sandbox(f"bench-pipeline-{os.getpid()}")
        stack.callback(box.down, delete=True)
        store = stack.enter_context(quick_s3_server())
        os.environ.update(
            store_environment(store.port) | QUICK_S3_ENVIRONMENT
        )  # of all processes that begin now
        extra = {"file.delete.delay.ms": "1000"}  # copies are deleted between the runs
        bootstrap = box.up(Settings(port=0, ephemeral=True, die_with_parent=True, extra=extra)).bootstrap
        bench = stack.enter_context(Bench(bootstrap, folder, store))
        for contest in bench.contests(MEGABYTES, RECORDS, ONLY):
            contest.run(ROUNDS)
            print(contest.report(bench.absent), flush=True)
