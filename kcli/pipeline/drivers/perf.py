"""What ``kcli pipeline perf`` does: sends by many tasks, and sums up their measurements."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from kcli.flows.perf.limits import latency_text
from kcli.flows.perf.measurement import Measurement
from kcli.flows.perf.result import PERCENTILES, figures
from kcli.flows.stop import Stop
from kcli.output.tables import Column
from kcli.pipeline.cluster_ref import ClusterRef
from kcli.pipeline.job import Job
from kcli.pipeline.kernels.load import LoadSettings, LoadTask
from kcli.pipeline.report import Report
from kcli.pipeline.runners.runner import Runner
from kcli.pipeline.running import Observer, run_job

COLUMNS = (
    Column("topic", wide=True),
    Column("task", "id"),
    Column("records", "number"),
    Column("bytes", "size"),
    Column("seconds", "number"),
    Column("records_per_second", "number"),
    Column("mb_per_second", "number"),
    *(Column(f"latency_{name}_corrected_us", "number") for name in (*PERCENTILES, "max")),
    Column("latency_mean_corrected_us", "number", wide=True),
    *(Column(f"latency_{name}_us", "number", wide=True) for name in ("mean", *PERCENTILES, "max")),
    Column("errors", "number"),
    Column("unconfirmed", "number"),
    Column("error", "prose"),
)


def load(
    observer: Observer,
    runner: Runner,
    stop: Stop,
    cluster: ClusterRef,
    topic: str,
    tasks: Sequence[LoadTask],
    *,
    sizes: tuple[int, int],
    throughput: float | None,
    duration: float | None,
    records: int | None,
) -> Report:
    """Sends by all tasks. ``sizes``: the smallest and the largest value, in bytes; ``throughput``: records a second of
    all tasks together; ``duration``: seconds of a task; ``records``: of all, as far as it is known.
    """
    at_once = min(len(tasks), runner.slots)
    report = run_job(
        observer,
        runner,
        Job(
            "load",
            LoadSettings(cluster, topic, *sizes, throughput=throughput, at_once=at_once, duration=duration),
            tuple(tasks),
        ),
        [{"topic": topic, "task": task.number} for task in tasks],
        stop,
        title="sent",
        total=records,
    )
    if report.totals["task_retries"]:
        observer.warn(
            "tasks were begun again: records of their first attempts may be in the topic, and are not counted"
        )
    return _finished(report)


def load_tasks(count: int, records: int | None) -> tuple[LoadTask, ...]:
    """The records in equal shares; no task without any."""
    if records is None:
        return tuple(LoadTask(number) for number in range(count))
    count = min(count, records)
    bounds = [records * number // count for number in range(count + 1)]
    return tuple(LoadTask(number, stop - start) for number, (start, stop) in enumerate(pairwise(bounds)))


def _finished(report: Report) -> Report:
    """The report with the totals of rate and latency, and with the failures that are in items."""
    total, failures = Measurement(), list(report.failures)
    for item in report.items:
        measured = item.pop("measured", None)
        if measured is None:
            continue
        total.merge(measured)
        if measured.failure is not None:
            failures.append(measured.failure.error())
            item["error"] = str(failures[-1])
    # From the first record to the last: without the start of processes. The clocks of machines may differ.
    found = figures(total)
    more = {"errors": total.errors.total(), "unconfirmed": total.unconfirmed}
    return report._replace(
        totals={**found, **report.totals, **more}, failures=failures, done=report.totals["records"] > 0
    )


def summary(totals: Mapping[str, Any]) -> str:
    """Rate and latency in a sentence."""
    shown = ", ".join(
        f"{name} {latency_text(totals[f'latency_{name}_corrected_us'])}"
        for name in ("p50", "p95", "p99", "max")
    )
    return (
        f"{totals['records_per_second'] or 0:,.0f} records/s, {totals['mb_per_second'] or 0:,.2f} MB/s; "
        f"latency from the intended time {shown}"
    )
