"""Every way to run a job gives the same results, whatever happens to its tasks. Spark's is in ``test_spark_runner``."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from kcli.flows.stop import Stop
from kcli.pipeline.job import Job, Progress, TaskResult
from kcli.pipeline.runners.inline import InlineRunner
from kcli.pipeline.runners.processes import ProcessesRunner
from kcli.pipeline.runners.runner import Runner
from tests.pipeline.kernel_for_tests import NAME

RUNNERS: dict[str, Callable[[], Runner]] = {"inline": InlineRunner, "processes": lambda: ProcessesRunner(2)}


def run(
    runner: Runner, folder: Path, *tasks: str, stop: Stop | None = None
) -> tuple[list[TaskResult], list[Progress]]:
    seen: list[Progress] = []
    job = Job(NAME, folder, tuple((what, number) for number, what in enumerate(tasks)))
    return runner.run(job, on_progress=seen.append, stop=Stop() if stop is None else stop), seen


@pytest.mark.parametrize("name", RUNNERS)
def test_each_task_has_a_result_in_the_order_of_the_tasks(name: str, tmp_path: Path) -> None:
    what = ("counts", "loses", "raises once", "raises always", "times out", "counts")
    results, seen = run(RUNNERS[name](), tmp_path, *what)
    assert [result.task for result in results] == [0, 1, 2, 3, 4, 5]
    assert [result.item and result.item["records"] for result in results] == [0, None, 2, None, None, 5]
    assert [result.attempts for result in results] == [1, 1, 2, 4, 4, 1]
    assert [result.error and result.error.exit_code for result in results] == [None, 5, None, 1, 3, None]
    assert results[1].error is not None
    assert results[1].error.do == "choose a later start"
    assert results[3].error is not None
    assert "RuntimeError: attempt 3" in results[3].error.what
    assert seen[-1] == Progress(7, 70, 6, 6)


@pytest.mark.case("K2")
def test_a_killed_process_costs_its_task_one_attempt(tmp_path: Path) -> None:
    results, seen = run(
        ProcessesRunner(2), tmp_path, "counts", "killed once", "counts", "killed always", "counts"
    )
    assert [result.attempts for result in results] == [1, 2, 1, 4, 1]
    assert [result.item is None for result in results] == [False, False, False, True, False]
    assert results[3].error is not None
    assert results[3].error.why == "its process was ended by SIGKILL"
    assert seen[-1] == Progress(7, 70, 5, 5)


@pytest.mark.parametrize("name", RUNNERS)
def test_a_stop_ends_tasks_early_and_begins_no_other(name: str, tmp_path: Path) -> None:
    stop = Stop()
    runner = RUNNERS[name]()
    threading.Timer(0.5 if name == "inline" else 2.0, stop.request).start()
    results, _ = run(runner, tmp_path, *["waits"] * 5, stop=stop)
    assert [result.task for result in results] == [0, 1, 2, 3, 4]
    ended = [result for result in results if result.item is not None]
    assert len(ended) <= runner.slots
    assert {result.error.exit_code for result in results if result.error is not None} == {130}
    assert not (tmp_path / "4.0").exists()


def test_no_process_is_left(tmp_path: Path) -> None:
    run(ProcessesRunner(2), tmp_path, "counts", "killed once", "counts")
    assert all(not psutil.pid_exists(int(path.read_text())) for path in tmp_path.iterdir())


@pytest.mark.case("K4")
def test_processes_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    program = (
        "from pathlib import Path; from kcli.flows.stop import Stop; from kcli.pipeline.job import Job; "
        "from kcli.pipeline.runners.processes import ProcessesRunner\n"
        "if __name__ == '__main__':\n"
        f"    ProcessesRunner(2).run(Job({NAME!r}, Path({str(tmp_path)!r}), (('waits', 0), ('waits', 1))), "
        "on_progress=print, stop=Stop())\n"
    )
    with subprocess.Popen([sys.executable, "-c", program]) as parent:
        try:
            while len(pids := [text for path in tmp_path.iterdir() if (text := path.read_text())]) < 2:
                time.sleep(0.02)
        finally:
            parent.send_signal(signal.SIGKILL)
    running = [psutil.Process(pid) for pid in map(int, pids) if psutil.pid_exists(pid)]
    _, alive = psutil.wait_procs(running, timeout=60)
    assert not alive
