"""What ``kcli pipeline perf`` does: finds the topic, shows the plan, sends by many tasks, and reports."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from kcli.commands.pipeline._job_run import (
    cluster_of,
    print_report,
    run_job,
    runner_of,
    with_runner,
    without,
)
from kcli.commands.shared.confirm import show_plan
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.load_target import (
    UNUSED_BY_LOADS,
    LoadTarget,
    check_fits,
    find_topic,
    plan_text,
    records_per_second,
    size_range_text,
)
from kcli.commands.shared.usage import usage
from kcli.core.options import ProducerOptions
from kcli.flows.perf.limits import latency_text
from kcli.flows.perf.measurement import Measurement
from kcli.flows.perf.result import PERCENTILES, figures
from kcli.flows.stop import Stop
from kcli.output.progress import counted
from kcli.output.tables import Column
from kcli.pipeline.job import Job
from kcli.pipeline.kernels.load import LoadSettings, LoadTask
from kcli.pipeline.report import Report

_COLUMNS = (
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


def run(inv: Invocation, topic: str, flags: Mapping[str, Any]) -> int:
    """Runs the load; returns the exit status."""
    flags = with_runner(inv, flags, "perf")
    low, high = flags["record_size"]
    _check(flags, low)
    options = inv.client_options(ProducerOptions, unused=UNUSED_BY_LOADS)
    check_fits(high, options, "pipeline perf")
    target = find_topic(inv, topic, options)
    cluster = without(cluster_of(inv, inv.configuration), UNUSED_BY_LOADS.keys())
    if inv.dry_run:
        show_plan(inv, _plan(target, flags, options, flags["tasks"]))
        return 0
    with Stop() as stop, runner_of(inv, flags) as runner:
        tasks = _tasks(flags["tasks"] or runner.slots, flags["num_records"])
        show_plan(inv, _plan(target, flags, options, len(tasks)))
        at_once = min(len(tasks), runner.slots)
        settings = LoadSettings(
            cluster,
            topic,
            low,
            high,
            throughput=records_per_second(flags["throughput"], (low + high) / 2),
            at_once=at_once,
            duration=flags["duration"],
        )
        report = run_job(
            inv,
            runner,
            Job("load", settings, tasks),
            [{"topic": topic, "task": task.number} for task in tasks],
            stop,
            title="sent",
            total=flags["num_records"],
        )
        if report.totals["task_retries"]:
            inv.talk.warn(
                "tasks were begun again: records of their first attempts may be in the topic, and are not counted"
            )
        return _print(inv, _finished(report), target.cluster_id, runner.name, stop)


def _check(flags: Mapping[str, Any], low: int) -> None:
    if flags["num_records"] is None and flags["duration"] is None:
        raise usage(
            "kcli pipeline perf: missing --num-records or --duration",
            why="one of them limits how much is sent",
            do="--num-records 1M, or --duration 30s",
        )
    if low < 1:
        raise usage(
            "kcli pipeline perf: --record-size 0",
            why="a value has at least one byte",
            do="--record-size 1KiB",
        )


def _tasks(count: int, records: int | None) -> tuple[LoadTask, ...]:
    """The records in equal shares; no task without any."""
    if records is None:
        return tuple(LoadTask(number) for number in range(count))
    count = min(count, records)
    bounds = [records * number // count for number in range(count + 1)]
    return tuple(LoadTask(number, stop - start) for number, (start, stop) in enumerate(pairwise(bounds)))


def _plan(target: LoadTarget, flags: Mapping[str, Any], options: ProducerOptions, tasks: int | None) -> str:
    by = "" if tasks is None else counted(tasks, "task")
    return plan_text(
        target,
        options,
        records=flags["num_records"],
        duration=flags["duration"],
        throughput=flags["throughput"],
        values=f"of {size_range_text(*flags['record_size'])}",
        by=by,
    )


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


def _print(inv: Invocation, report: Report, cluster: str | None, runner: str, stop: Stop) -> int:
    totals = report.totals
    code = print_report(
        inv, report, _COLUMNS, stop, command="perf", runner=runner, cluster=cluster, title="sent"
    )
    if totals["records"]:
        shown = ", ".join(
            f"{name} {latency_text(totals[f'latency_{name}_corrected_us'])}"
            for name in ("p50", "p95", "p99", "max")
        )
        inv.talk.note(
            f"{totals['records_per_second'] or 0:,.0f} records/s, {totals['mb_per_second'] or 0:,.2f} MB/s; "
            f"latency from the intended time {shown}"
        )
    return code
