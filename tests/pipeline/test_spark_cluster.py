"""Jobs on a real cluster: kcli is brought along, and processes that are killed cost time, but no result."""

import json
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from kcli.core.kernels.active import IMPLEMENTATION
from kcli.flows.stop import Stop
from kcli.pipeline.job import Job, TaskResult
from kcli.pipeline.runners.inline import InlineRunner
from kcli.pipeline.runners.runner import Runner
from kcli.pipeline.spark.errors import SparkError
from kcli.pipeline.spark.probe import differences, probe
from kcli.pipeline.spark.runner import SparkRunner, open_runner
from kcli.pipeline.spark.session import Session
from tests.fake.cluster import FakeCluster
from tests.pipeline.kernel_of_the_cluster import NAME
from tests.pipeline.standalone import Standalone
from tests.run import kcli_process

pytestmark = [pytest.mark.spark_cluster, pytest.mark.timeout(900)]

CANARY = "canary-7f3a91"
TASKS = tuple(range(24))


def test_the_examination_sees_the_brokers_from_the_executors(spark_cluster: Standalone) -> None:
    with FakeCluster(1, topics={"t": 1}) as kafka:
        done = kcli_process(
            "pipeline", "doctor", "--master", spark_cluster.url, "-b", kafka.bootstrap, "-o", "json",
            "--spark-conf", "spark.cores.max=1",
            timeout=300,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    checks = {row["check"]: row["status"] for row in document["items"]}
    assert {"session", "task", "environment", "secrets", "TCP", "metadata"} <= checks.keys()
    assert set(checks.values()) == {"ok"}


def test_a_cluster_without_a_fitting_worker_is_reported(spark_cluster: Standalone) -> None:
    notes: list[str] = []
    with (
        Session(master=spark_cluster.url, conf={"spark.executor.memory": "100g"}) as session,
        pytest.raises(SparkError, match="no task has begun on spark://") as caught,
    ):
        probe(session, Stop(), note=notes.append, patience=25.0)
    assert "memory" in caught.value.why
    assert len(notes) == 1
    assert "waiting for an executor" in notes[0]


@pytest.fixture(scope="module")
def runner(spark_cluster: Standalone) -> Iterator[SparkRunner]:
    events = spark_cluster.folder / "events"
    events.mkdir()
    conf = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file:{events}",
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.hadoop.store.password": CANARY,
        "spark.task.maxFailures": "20",
        "spark.executor.memory": "512m",
        "spark.speculation": "true",
        "spark.speculation.quantile": "0.5",
        "spark.speculation.minTaskRuntime": "500ms",
        "spark.excludeOnFailure.enabled": "false",
    }
    found = open_runner(
        master=spark_cluster.url, local=None, conf=conf, java_home=None, note=print, warn=print
    )
    assert isinstance(found, SparkRunner)
    yield found
    found.close()


def results_of(runner: Runner, seconds: float) -> list[TaskResult]:
    job = Job(NAME, seconds, TASKS)
    return runner.run(job, on_progress=lambda _: None, stop=Stop())


def sums(results: list[TaskResult]) -> list[tuple[int, int | None]]:
    return [(result.task, result.item and result.item["records"]) for result in results]


def test_executors_run_the_kcli_that_the_job_brings_along(runner: SparkRunner) -> None:
    assert differences(probe(runner.session, Stop())) == []
    results = results_of(runner, 0.0)
    assert sums(results) == sums(results_of(InlineRunner(), 0.0))
    assert all(result.item is not None and "/deps/kcli/" in result.item["kcli"] for result in results)
    assert {result.item["kernels"] for result in results if result.item} == {IMPLEMENTATION}
    assert runner.slots == 4


@pytest.mark.case("K10")
def test_no_secret_is_in_logs_events_or_arguments(spark_cluster: Standalone, runner: SparkRunner) -> None:
    results_of(runner, 0.0)
    texts = [path.read_bytes() for path in spark_cluster.folder.rglob("*") if path.is_file()]
    texts.append(Path(runner.session.folder.log).read_bytes())
    for process in [
        *spark_cluster.executors(),
        *spark_cluster.daemons(),
        psutil.Process(runner.session.jvm_pid),
    ]:
        texts += [" ".join(process.cmdline()).encode(), repr(process.environ()).encode()]
    assert any(b"spark.hadoop.store.password" in text for text in texts)  # the events
    assert not [text for text in texts if CANARY.encode() in text]


VICTIMS: dict[str, Callable[[Standalone], list[psutil.Process]]] = {
    "a Python worker": lambda cluster: [
        child for daemon in cluster.daemons() for child in daemon.children(recursive=True)
    ],
    "a daemon": Standalone.daemons,
    "an executor": Standalone.executors,
    "a worker of Spark": Standalone.workers,
}


@pytest.mark.case("K2", "K3")
@pytest.mark.parametrize("victim", VICTIMS)
def test_the_results_are_those_of_a_run_without_kills(
    spark_cluster: Standalone, runner: SparkRunner, victim: str
) -> None:
    killed: list[int] = []
    ended = threading.Event()

    def kill() -> None:
        chance = random.Random(victim)
        while not ended.wait(chance.uniform(1.0, 3.0)) and len(killed) < (1 if "Spark" in victim else 3):
            found = VICTIMS[victim](spark_cluster)
            if found:
                one = chance.choice(found)
                with suppress(psutil.NoSuchProcess):
                    one.kill()
                    killed.append(one.pid)

    thread = threading.Thread(target=kill)
    thread.start()
    results = results_of(runner, 1.0)
    ended.set()
    thread.join()
    if "Spark" in victim:
        spark_cluster.start_worker(9)
    assert killed
    assert sums(results) == sums(results_of(InlineRunner(), 0.0))
