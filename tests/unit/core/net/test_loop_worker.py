"""The worker thread: one piece of work at a time, and no thread without work."""

import threading
from typing import Any

from kcli.core.net.loop import Worker


class Results:
    """What came back, and a way to wait for so many."""

    def __init__(self) -> None:
        self.rows: list[tuple[Any, BaseException | None]] = []
        self._came = threading.Semaphore(0)

    def done(self, value: Any, error: BaseException | None) -> None:
        self.rows.append((value, error))
        self._came.release()

    def wait(self, count: int) -> None:
        for _ in range(count):
            assert self._came.acquire(timeout=10)


def test_results_and_errors_come_back_in_order_from_one_thread() -> None:
    results, worker, names = Results(), Worker(), set()
    failure = ValueError("no")

    def fail() -> None:
        raise failure

    for number in range(20):
        worker.submit(lambda number=number: names.add(threading.get_ident()) or number, results.done)  # type: ignore[misc]
    worker.submit(fail, results.done)
    results.wait(21)
    assert results.rows == [*((number, None) for number in range(20)), (None, failure)]
    assert threading.get_ident() not in names


def test_only_one_piece_runs_at_a_time() -> None:
    results, worker = Results(), Worker()
    running, most = [], []

    def work() -> None:
        running.append(1)
        most.append(len(running))
        running.pop()

    for _ in range(50):
        threading.Thread(target=worker.submit, args=(work, results.done)).start()
    results.wait(50)
    assert max(most) == 1


def test_the_thread_ends_without_work_and_begins_again() -> None:
    results, worker = Results(), Worker()
    for _ in range(2):
        worker.submit(threading.current_thread, results.done)
        results.wait(1)
        thread = results.rows[-1][0]
        thread.join(120)
        assert not thread.is_alive()
        assert thread.daemon
