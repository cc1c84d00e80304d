"""The runner on Spark: the same results as of the others (``test_runners``), whatever happens to its tasks."""

import os
import threading
from pathlib import Path

import psutil
import pytest

from kcli.core.errors import KcliError
from kcli.flows.stop import Stop
from kcli.pipeline.job import Job, Progress
from kcli.pipeline.spark.runner import SparkRunner
from kcli.pipeline.spark.watching import StageCounts, run_watched
from tests.pipeline.kernel_for_tests import NAME
from tests.pipeline.test_runners import run

pytestmark = pytest.mark.integration


@pytest.mark.case("K1")
def test_each_task_has_a_result_in_the_order_of_the_tasks(spark: SparkRunner, tmp_path: Path) -> None:
    what = ("counts", "loses", "raises once", "raises always", "times out", "counts")
    results, seen = run(spark, tmp_path, *what)
    assert [result.task for result in results] == [0, 1, 2, 3, 4, 5]
    assert [result.item and result.item["records"] for result in results] == [0, None, 2, None, None, 5]
    assert [result.attempts for result in results] == [1, 1, 2, 4, 4, 1]
    assert [result.error and result.error.exit_code for result in results] == [None, 5, None, 1, 3, None]
    assert results[1].error is not None
    assert results[1].error.do == "choose a later start"
    assert seen[-1] == Progress(7, 70, 6, 6)


@pytest.mark.case("K2")
def test_a_killed_worker_costs_its_task_one_attempt_and_never_the_job(
    spark: SparkRunner, tmp_path: Path
) -> None:
    results, seen = run(spark, tmp_path, "counts", "killed once", "counts", "killed always", "counts")
    assert [result.attempts for result in results] == [1, 2, 1, 4, 1]
    assert [result.item is None for result in results] == [False, False, False, True, False]
    assert results[3].error is not None
    assert "failed 4 times" in results[3].error.what
    assert seen[-1] == Progress(7, 70, 5, 5)


def test_a_stop_ends_tasks_early_and_begins_no_other(spark: SparkRunner, tmp_path: Path) -> None:
    stop = Stop()
    waiting = threading.Thread(target=_request_when, args=(tmp_path / "1.0", stop))
    waiting.start()
    results, _ = run(spark, tmp_path, *["waits"] * 5, stop=stop)
    waiting.join()
    assert [result.task for result in results] == [0, 1, 2, 3, 4]
    ended = [result for result in results if result.item is not None]
    assert len(ended) <= spark.slots
    assert {result.error.exit_code for result in results if result.error is not None} == {130}
    assert not (tmp_path / "4.0").exists()


def test_a_task_that_does_not_stop_is_cancelled(
    spark: SparkRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kcli.pipeline.spark.runner._PATIENCE", 0.5)
    stop = Stop()

    def request(progress: Progress) -> None:
        if progress.tasks_done and (tmp_path / "1.0").exists() and not stop:
            stop.request()

    job = Job(NAME, tmp_path, (("counts", 0), ("sleeps", 1)))
    results = spark.run(job, on_progress=request, stop=stop)
    assert results[0].item is not None
    assert results[1].error is not None
    assert results[1].error.exit_code == 130
    results, _ = run(spark, tmp_path, "counts")  # the session works on
    assert results[0].item is not None


def test_progress_of_a_running_task_is_seen(spark: SparkRunner, tmp_path: Path) -> None:
    stop = Stop()
    seen: list[Progress] = []

    def show(progress: Progress) -> None:
        seen.append(progress)
        if progress.records and not stop:
            stop.request()

    job = Job(NAME, tmp_path, (("counts, then waits", 7),))
    spark.run(job, on_progress=show, stop=stop)
    assert Progress(7, 70, 1, 0) in seen


def test_a_kernel_that_cannot_be_imported_is_an_error_of_each_task(spark: SparkRunner) -> None:
    results = spark.run(Job("no.such.kernel", None, (1, 2)), on_progress=bool, stop=Stop())
    assert all(result.error is not None and "No module named" in result.error.what for result in results)
    assert len(results) == 2


def test_settings_that_cannot_be_pickled_are_an_error_of_the_job(spark: SparkRunner) -> None:
    results = spark.run(Job(NAME, threading.Lock(), (("counts", 1),)), on_progress=bool, stop=Stop())
    assert results[0].error is not None
    assert "pickle" in results[0].error.why


def test_nothing_is_written_into_the_current_folder(spark: SparkRunner) -> None:
    spark.session.sql.sql("create table leftovers as select 1 as one").collect()
    assert not {"metastore_db", "spark-warehouse", "artifacts", "derby.log"} & set(os.listdir())
    spark.session.sql.sql("drop table leftovers").collect()


def test_a_query_is_watched(spark: SparkRunner) -> None:
    counts: list[StageCounts] = []
    rows = run_watched(
        spark.session,
        lambda: spark.session.sql.range(100, numPartitions=2).collect(),
        title="test",
        on_turn=counts.append,
        stop=Stop(),
        what="the query failed",
    )
    assert len(rows) == 100


def test_an_error_of_a_query_is_one_of_kcli_without_a_word_of_spark(
    spark: SparkRunner, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(KcliError) as caught:
        run_watched(
            spark.session,
            lambda: spark.session.sql.sql("select nope from range(3)").collect(),
            title="test",
            on_turn=bool,
            stop=Stop(),
            what="the query failed",
        )
    assert caught.value.what == "the query failed"
    assert "`nope` cannot be resolved" in caught.value.why
    assert capfd.readouterr() == ("", "")


def test_workers_are_children_of_the_jvm(spark: SparkRunner, tmp_path: Path) -> None:
    run(spark, tmp_path, "counts")
    pid = int((tmp_path / "0.0").read_text())
    assert spark.session.jvm_pid in [process.pid for process in psutil.Process(pid).parents()]


def _request_when(file: Path, stop: Stop) -> None:
    while not file.exists():
        threading.Event().wait(0.02)
    stop.request()
