"""From results of tasks to items, totals and failures."""

from kcli.pipeline.job import TaskError, TaskResult
from kcli.pipeline.report import report_of


def test_slices_of_a_partition_are_one_item() -> None:
    places = [{"topic": "t", "partition": 1}, {"topic": "t", "partition": 0}, {"topic": "t", "partition": 1}]
    items = [
        {**places[0], "start": 5, "end": 9, "records": 3, "bytes": 30, "files": ["b"]},
        {**places[1], "start": 0, "end": 2, "records": 2, "bytes": 20, "files": ["a"]},
        {**places[2], "start": 0, "end": 5, "records": 5, "bytes": 50, "files": ["a"]},
    ]
    results = [TaskResult(n, item, attempts=n + 1) for n, item in enumerate(items)]
    report = report_of(results, places, 1.23456)
    assert report.items == [
        {"topic": "t", "partition": 0, "start": 0, "end": 2, "records": 2, "bytes": 20, "files": ["a"]},
        {"topic": "t", "partition": 1, "start": 0, "end": 9, "records": 8, "bytes": 80, "files": ["a", "b"]},
    ]
    assert report.totals == {"records": 10, "bytes": 100, "seconds": 1.235, "tasks": 3, "task_retries": 3}
    assert (report.failures, report.done) == ([], True)


def test_a_failed_task_has_an_item_that_says_why() -> None:
    place = {"topic": "t", "partition": 0, "start": 0, "end": 9}
    failed = TaskResult(0, None, TaskError(5, "t-0: offsets 0 to 3 were removed", "retention", "start later"))
    report = report_of([failed], [place], 1)
    assert report.items == [
        {**place, "records": 0, "bytes": 0, "error": "t-0: offsets 0 to 3 were removed: retention"}
    ]
    assert [(error.exit_code, error.do) for error in report.failures] == [(5, "start later")]
    assert not report.done
