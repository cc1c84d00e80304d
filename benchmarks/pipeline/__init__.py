"""``kcli pipeline`` on Spark beside Spark's own Kafka connector: CPU of whole process trees per GB, warm, in turn.

A sandbox with topics of 4 partitions, 1 KB and 100 B values of hexadecimal digits, with keys, uncompressed. Two sessions
of Spark with two slots each stay up: one for kcli's kernels, with the light JVM that its commands choose for them, and
one for data frames, where the connector and ``format("kcli")`` take turns. Both read the same columns.

``KCLI_BENCH_ROUNDS`` (5, after one that is not counted), ``KCLI_BENCH_MEGABYTES`` (1000; of 100 B values half of it),
``KCLI_BENCH_ONLY`` (a part of a contest's name, such as ``1 KB`` or ``read``).
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
MEGABYTES = int(os.environ.get("KCLI_BENCH_MEGABYTES", "1000"))
ONLY = os.environ.get("KCLI_BENCH_ONLY", "")


def main() -> None:
    """Starts a broker and two sessions of Spark, runs all contests, prints their tables."""
    missing = [name for name in ("pyspark", "pyarrow", "psutil") if find_spec(name) is None]
    if missing:
        print(f"not measured: {', '.join(missing)} not installed", file=sys.stderr)
        return
    from benchmarks.pipeline._bench import Bench  # loads pyspark

    print(f"machine: {machine()}", flush=True)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kcli-bench-")))
        box = Sandbox(f"bench-pipeline-{os.getpid()}")
        stack.callback(box.down, delete=True)
        extra = {"file.delete.delay.ms": "1000"}  # copies are deleted between the runs
        bootstrap = box.up(Settings(port=0, ephemeral=True, die_with_parent=True, extra=extra)).bootstrap
        bench = stack.enter_context(Bench(bootstrap, folder))
        for name, width, megabytes in (("1 KB", 1_000, MEGABYTES), ("100 B", 100, MEGABYTES // 2)):
            for contest in bench.contests(name, width, megabytes, ONLY):
                contest.run(ROUNDS)
                print(contest.report(bench.absent), flush=True)
