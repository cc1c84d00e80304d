"""A session of Spark as a process: how it ends, and that it leaves nothing behind."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from kcli.core.errors import DataLossError
from kcli.pipeline.spark.board import Board, open_slot
from kcli.pipeline.spark.errors import CarriedError, cause_of, kcli_error, spark_error
from kcli.pipeline.spark.folder import SessionFolder
from tests.pipeline.kernel_for_tests import NAME

ROOT = Path(__file__).parents[2]

PROGRAM = """
import sys
from pathlib import Path
from kcli.flows.stop import Stop
from kcli.pipeline.job import Job
from kcli.pipeline.spark.runner import open_runner

runner = open_runner(master=None, local=2, conf={}, java_home=None, note=print, warn=print)
try:
    print(runner.session.jvm_pid, runner.session.folder.path, flush=True)
    with Stop() as stop:
        job = Job(sys.argv[1], Path(sys.argv[2]), (("waits", 0), ("waits", 1), ("counts", 2)))
        results = runner.run(job, on_progress=lambda _: None, stop=stop)
finally:
    runner.close()
print(*(result.error.exit_code if result.error else 0 for result in results), flush=True)
"""


class Driver:
    """A driver whose two tasks wait."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, NAME, str(folder)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        pid, self.own = self.process.stdout.readline().split()
        deadline = time.monotonic() + 60
        while not all((folder / f"{number}.0").exists() for number in range(2)):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        jvm = psutil.Process(int(pid))
        self.processes = [jvm, *jvm.children(recursive=True)]

    def end(self) -> tuple[str, str, list[psutil.Process]]:
        """What it printed, and the processes that are alive afterwards."""
        out, err = self.process.communicate(timeout=60)
        _, alive = psutil.wait_procs(self.processes, timeout=15)
        return out, err, alive


@pytest.mark.integration
@pytest.mark.case("K4")
@pytest.mark.long
def test_all_processes_end_with_a_driver_that_is_killed(tmp_path: Path) -> None:
    driver = Driver(tmp_path)
    assert len(driver.processes) >= 4  # the JVM, the daemon, two workers
    driver.process.kill()
    _, err, alive = driver.end()
    assert alive == []
    assert err == ""
    SessionFolder().remove()
    assert not Path(driver.own).exists(), "the next session removes the folder of one that was killed"


@pytest.mark.integration
@pytest.mark.long
def test_an_interrupt_stops_tasks_and_ends_in_order_without_a_word(tmp_path: Path) -> None:
    driver = Driver(tmp_path)
    os.killpg(driver.process.pid, signal.SIGINT)  # as a terminal does
    out, err, alive = driver.end()
    assert alive == []
    assert (out, err) == ("0 0 130\n", "")
    assert not Path(driver.own).exists()


def test_a_board_shows_what_tasks_have_done_and_passes_the_request_to_stop(tmp_path: Path) -> None:
    board = Board(str(tmp_path), 2)
    slot = open_slot(board.ref, 1)
    assert slot is not None
    slot.add(3, 30)
    slot.add(4, 40)
    assert list(board.slots()) == [(0, 0), (7, 70)]
    again = open_slot(board.ref, 1)  # the next attempt
    assert again is not None
    assert list(board.slots()) == [(0, 0), (0, 0)]
    assert not slot.stopped()
    board.request_stop()
    assert slot.stopped()
    slot.close()
    again.close()
    board.close()
    assert open_slot(board.ref, 1) is None


def test_a_file_of_the_same_name_is_not_a_board(tmp_path: Path) -> None:
    board = Board(str(tmp_path), 1)
    Path(board.ref.path).write_bytes(b"x" * 100)
    assert open_slot(board.ref, 0) is None
    board.close()


def test_the_folder_of_a_session_is_private_and_others_leave_it_alone() -> None:
    folder = SessionFolder()
    assert os.stat(folder.path).st_mode & 0o077 == 0
    assert os.stat(folder.write("conf", "x")).st_mode & 0o077 == 0
    other = SessionFolder()
    assert Path(folder.path).exists()
    folder.remove()
    other.remove()
    assert not Path(folder.path).exists()


def test_a_folder_of_the_same_name_without_a_lock_is_left_alone() -> None:
    with tempfile.TemporaryDirectory(prefix="kcli-spark-") as strange:
        SessionFolder().remove()
        assert Path(strange).exists()


def test_an_error_of_kcli_is_found_in_what_spark_makes_of_it() -> None:
    error = DataLossError('t-0: "9"', why="line 1\nline 2", do="choose")
    text = (
        f"org.apache.spark.SparkException: Job aborted: {CarriedError(error)}\n\tat x.y.z\nDriver stacktrace:"
    )
    found = spark_error(RuntimeError(text), "the query failed")
    assert (found.exit_code, found.what, found.why, found.do) == (5, 't-0: "9"', "line 1\nline 2", "choose")


def test_a_notebook_shows_a_sentence_and_the_parts_are_attributes() -> None:
    carried = CarriedError(DataLossError("t-0: offset 9 is gone", why="retention", do="choose another"))
    first, second, last = str(carried).splitlines()
    assert (first, second) == ("t-0: offset 9 is gone: retention", "do: choose another")
    assert last.startswith("[kcli-error ")
    assert "{" not in last
    assert (carried.what, carried.why, carried.do) == ("t-0: offset 9 is gone", "retention", "choose another")
    try:
        raise ValueError("of a user's program") from RuntimeError(
            f"(SparkConnectGrpcException) {carried}\n\tat a.b"
        )
    except ValueError as error:
        found = kcli_error(error)
    assert found is not None
    assert (found.exit_code, found.what, found.why, found.do) == (
        5,
        "t-0: offset 9 is gone",
        "retention",
        "choose another",
    )
    assert kcli_error(ValueError("[kcli-error eHh4]")) is None
    assert kcli_error(ValueError("x")) is None


def test_another_python_on_the_executors_is_named() -> None:
    own = f"{sys.version_info[0]}.{sys.version_info[1]}"
    text = (
        f"[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.99 than that in driver: {own}"
    )
    found = spark_error(RuntimeError(text), "x")
    assert found.what == f"the executors run Python 3.99, and kcli runs Python {own}"
    assert "PYSPARK_PYTHON" in found.do


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (
            "org.apache.spark.SparkException: Job aborted due to stage failure: Task 1 in stage 0.0 failed 4 times, "
            "most recent failure: Lost task 1.3 in stage 0.0 (TID 5) (10.0.0.1 executor 1): ExecutorLostFailure "
            "(executor 1 exited): Remote RPC client disassociated.\nDriver stacktrace:",
            "ExecutorLostFailure (executor 1 exited): Remote RPC client disassociated.",
        ),
        ("[PARSE_SYNTAX_ERROR] Syntax error at or near 'x'.", "Syntax error at or near 'x'."),
        ("java.io.IOException: disk full\n\tat a.b.C", "disk full"),
        (
            "org.apache.spark.SparkException: Exception thrown in awaitResult: \njava.io.IOException: disk full",
            "disk full",
        ),
        (
            "org.apache.spark.SparkException: Exception thrown in awaitResult: ",
            "Exception thrown in awaitResult:",
        ),
        ("", ""),
    ],
)
def test_the_cause_has_no_classes_of_java(text: str, cause: str) -> None:
    assert cause_of(text) == cause
