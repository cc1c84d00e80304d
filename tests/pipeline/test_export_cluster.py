"""Exports on a real cluster of Spark, whose processes and drivers are killed: the same command completes them, and the
files are those of a run without kills. And all jobs, while the broker is killed and started again.
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.pipeline.store.new_file import digest_of
from tests.integration.mirroring import check_equal, numbered, write
from tests.kafka import QUICK_JVM, Kafka, sandboxed, version_of
from tests.pipeline.dying_driver import STEPS
from tests.pipeline.exporting import files, manifest
from tests.pipeline.standalone import Killer, Standalone, on_spark
from tests.proxy.proxy import Proxy
from tests.proxy.rules import Hold
from tests.run import environment, kcli_process, ok, start

pytestmark = [pytest.mark.spark_cluster, pytest.mark.timeout(1_800)]

PARTITIONS = 12
COUNT = 600
KILLS = 12
BATCH = 50  # records
DELAY = 0.4  # seconds for a fetch, which brings a batch: a partition takes 5 s
PATIENCE = 600


def tables(folder: Path) -> dict[str, pa.Table]:
    """The rows of each file that the manifest names; each is complete, and there is nothing else in the folder."""
    named = {
        file["path"]: file
        for topic in manifest(folder)["topics"]
        for partition in topic["partitions"]
        for file in partition["files"]
    }
    assert set(files(folder)) == {"_kcli_manifest.json", *named}
    for path, file in named.items():
        with (folder / path).open("rb", buffering=0) as found:
            digest = digest_of(found)
        assert digest == (file["bytes"], file["sha256"])
    found = {path: pq.ParquetFile(folder / path).read() for path in named}
    assert {path: table.num_rows for path, table in found.items()} == {
        path: file["records"] for path, file in named.items()
    }
    return found


def committed(folder: Path) -> Any:
    """What the manifest says of records: not its time, and not the bytes of the files."""
    text = manifest(folder)
    assert text["complete"] is True
    for topic in text["topics"]:
        for partition in topic["partitions"]:
            partition["files"] = [(one["path"], one["records"]) for one in partition["files"]]
    return {key: text[key] for key in ("cluster", "format", "topics")}


@pytest.mark.case("K2", "K4", "R23")
def test_killed_workers_daemons_executors_and_drivers_leave_the_files_of_a_run_without_kills(
    spark_cluster: Standalone, kafka: Kafka, tmp_path: Path
) -> None:
    topic = kafka.topic("exported", partitions=PARTITIONS)
    for partition in range(PARTITIONS):
        write(kafka, topic, numbered(COUNT), partition=partition, batch=BATCH)
    whole = tmp_path / "whole"
    ok(kcli_process("-b", kafka.bootstrap, "pipeline", "export", topic, str(whole), "--runner", "inline"))
    expected = tables(whole)
    assert sum(table.num_rows for table in expected.values()) == PARTITIONS * COUNT
    driven = tmp_path / "driven"
    runs = [driven]
    killed: list[str] = []
    with Proxy(kafka.bootstrap) as proxy:
        proxy.delay(FetchRequest, DELAY)

        def command(folder: Path) -> list[str]:
            small = ["-X", "max.partition.fetch.bytes=1", "-X", "fetch.min.bytes=1"]
            return [
                "-b",
                proxy.bootstrap,
                *small,
                "pipeline",
                "export",
                topic,
                str(folder),
                *on_spark(spark_cluster),
                "-o",
                "json",
            ]

        for step in STEPS:
            died = subprocess.run(
                [sys.executable, "-m", "tests.pipeline.dying_driver", step, str(driven), *command(driven)],
                env=environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=PATIENCE,
                check=False,
            )
            assert died.returncode == -9, (step, died.stderr.decode()[-2_000:])
            assert (driven / "_kcli_plan.json").exists(), step
            assert (driven / "_kcli_manifest.json").exists() == (step == [*STEPS][-1]), step
        ok(kcli_process(*command(driven), timeout=PATIENCE))
        while len(killed) < KILLS:
            runs.append(tmp_path / f"{len(runs)}")
            with start(*command(runs[-1]), stdin=subprocess.DEVNULL) as process:
                while not any(runs[-1].glob("topic=*/partition=*/.*")):
                    assert process.poll() is None
                    time.sleep(0.01)
                with Killer(spark_cluster, KILLS - len(killed)) as killer:
                    out, err = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0, err.decode()[-2_000:]
            killed += killer.killed
            retries = json.loads(out)["totals"]["task_retries"]
            print(f"{len(killer.killed)} processes killed, {retries} attempts repeated")
        for folder in runs:
            assert committed(folder) == committed(whole)
            assert tables(folder) == expected
            assert json.loads(ok(kcli_process(*command(folder), timeout=PATIENCE)))["totals"]["tasks"] == 0
    print(f"killed: {killed}, and {len(STEPS)} drivers, in {len(runs)} exports")


@pytest.mark.case("K9", "R23")
def test_a_broker_that_is_killed_and_started_again_changes_no_result(
    spark_cluster: Standalone, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    settings = ["--yes", *on_spark(spark_cluster), "-o", "json"]
    with (
        sandboxed(version=version_of(pytestconfig), jvm_options=QUICK_JVM) as own,
        Proxy(own.bootstrap) as proxy,
    ):
        topic = own.topic("restarted", partitions=4)
        for partition in range(4):
            write(own, topic, numbered(COUNT), partition=partition, batch=BATCH)

        def run(*words: str, hold: Hold) -> None:
            """The broker is gone while a request of a task, or its response, is on the way."""
            with start("pipeline", *words, *settings, stdin=subprocess.DEVNULL) as process:
                while not hold.held:
                    assert process.poll() is None, process.communicate()
                    time.sleep(0.01)
                own.nodes[0].kill()
                hold.drop()
                own.nodes[0].start()
                out, err = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0, err.decode()[-2_000:]
            assert json.loads(out)["totals"]["records"] == 4 * COUNT

        there = [
            "--from",
            own.bootstrap,
            "--to",
            proxy.bootstrap,
            "-t",
            topic,
            "--map-topic",
            f"{topic}=copy",
        ]
        run("mirror", *there, hold=proxy.hold(ProduceRequest, "response"))
        check_equal(own, topic, own, "copy", [COUNT] * 4)
        folder = tmp_path / "whole"
        ok(kcli_process("-b", own.bootstrap, "pipeline", "export", topic, str(folder), "--runner", "inline"))
        whole, folder = tables(folder), tmp_path / "restarted"
        records = proxy.hold(FetchRequest, "response")
        run("export", topic, str(folder), "-b", proxy.bootstrap, hold=records)
        assert tables(folder) == whole
        restored = ["--map-topic", f"{topic}=restored", "-b", proxy.bootstrap]
        run("import", str(folder), *restored, hold=proxy.hold(ProduceRequest, "response"))
        check_equal(own, topic, own, "restored", [COUNT] * 4)
