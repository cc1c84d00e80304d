"""What ``kcli pipeline perf`` does: finds the topic, shows the plan, sends by many tasks, and reports."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from kcli.commands.pipeline._job_run import (
    check_job_flags,
    cluster_of,
    print_report,
    run_job,
    runner_of,
    without,
)
from kcli.commands.shared.confirm import show_plan
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.usage import usage
from kcli.core.cluster.cluster import TOPIC_PATIENCE
from kcli.core.cluster.metadata import unknown_topic
from kcli.core.errors import NotFoundError
from kcli.core.options import ProducerOptions
from kcli.core.producer.producer import Producer
from kcli.flows.stop import Stop
from kcli.output.progress import counted, size_text
from kcli.output.tables import Column
from kcli.pipeline.job import Job
from kcli.pipeline.kernels.load import LoadSettings, LoadTask
from kcli.pipeline.latencies import PERCENTILES, Latencies
from kcli.pipeline.report import Report

_DOCUMENTS = ("json", "ndjson", "yaml")
_ROOM = 100  # bytes of a record besides its value, at most
_COLUMNS = (
    Column("topic", wide=True),
    Column("task", "id"),
    Column("records", "number"),
    Column("unconfirmed_records", "number"),
    Column("bytes", "size"),
    Column("seconds", "number"),
    Column("records_per_second", "number"),
    Column("bytes_per_second", "size"),
)
_NESTED = (Column("latency_ms"),)
_FLAT = tuple(Column(f"{name}_ms", "number") for name in (*PERCENTILES, "max"))
_LAST = (Column("error", "prose"),)


def run(inv: Invocation, topic: str, flags: Mapping[str, Any]) -> int:
    """Runs the load; returns the exit status."""
    check_job_flags(flags, "perf")
    low, high = flags["record_size"]
    _check(flags, low)
    options = inv.client_options(ProducerOptions, transactional_id="")
    if high + _ROOM > options.max_request_size:
        raise usage(
            f"kcli pipeline perf: --record-size {high} is more than a producer sends",
            why=f"max.request.size is {options.max_request_size:,}",
            do=f"-X max.request.size={high + _ROOM}; the topic's max.message.bytes must allow it, too",
        )
    cluster_id, partitions = _topic(inv, topic, options)
    cluster = without(cluster_of(inv, inv.configuration), {"transactional_id"})
    if inv.dry_run:
        show_plan(inv, _plan(topic, partitions, flags, options, flags["tasks"]))
        return 0
    with Stop() as stop, runner_of(inv, flags) as runner:
        tasks = _tasks(flags["tasks"] or runner.slots, flags["num_records"])
        show_plan(inv, _plan(topic, partitions, flags, options, len(tasks)))
        at_once = min(len(tasks), runner.slots)
        throughput = flags["throughput"]
        settings = LoadSettings(
            cluster,
            topic,
            low,
            high,
            throughput=None if throughput is None else throughput / at_once,
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
        return _print(inv, _finished(report), cluster_id, runner.name, stop)


def _check(flags: Mapping[str, Any], low: int) -> None:
    if flags["num_records"] is None and flags["duration"] is None:
        raise usage(
            "kcli pipeline perf: how much is to be sent?",
            why="neither --num-records nor --duration is given",
            do="--num-records 1M, or --duration 30s",
        )
    if low < 1:
        raise usage(
            "kcli pipeline perf: --record-size 0",
            why="a value has at least one byte",
            do="--record-size 1KiB",
        )


def _topic(inv: Invocation, topic: str, options: ProducerOptions) -> tuple[str | None, int]:
    """The cluster's id, and the number of partitions of the topic."""
    with Producer(options, hooks=inv.hooks) as producer:
        with inv.first_contact(options.bootstrap_servers):
            producer.connect([], inv.timeout)
        try:
            producer.connect([topic], inv.timeout, TOPIC_PATIENCE)
        except NotFoundError:
            found = unknown_topic(topic, producer.known_topics(inv.timeout))
            create = f"`kcli topics create {topic} --partitions N` creates it"
            found.do = f"{found.do} {create}" if found.do.endswith("?") else create
            raise found from None
        return producer.cluster_id, producer.partitions_of(topic)


def _tasks(count: int, records: int | None) -> tuple[LoadTask, ...]:
    """The records in equal shares; no task without any."""
    if records is None:
        return tuple(LoadTask(number) for number in range(count))
    count = min(count, records)
    bounds = [records * number // count for number in range(count + 1)]
    return tuple(LoadTask(number, stop - start) for number, (start, stop) in enumerate(pairwise(bounds)))


def _plan(
    topic: str, partitions: int, flags: Mapping[str, Any], options: ProducerOptions, tasks: int | None
) -> str:
    low, high = flags["record_size"]
    size = counted(low, "byte") if low == high else f"{low:,} to {high:,} bytes"
    amount = "records" if flags["num_records"] is None else counted(flags["num_records"], "record")
    most = "at most " if flags["num_records"] else ""
    duration = "" if flags["duration"] is None else f" for {most}{flags['duration']:g} s"
    limit = flags["throughput"]
    rate = "as fast as possible" if limit is None else f"at most {limit:,} per second"
    by = "" if tasks is None else f" by {counted(tasks, 'task')}"
    numbered = options.enable_idempotence and options.acks in ("all", "-1")
    kept = f"acks={options.acks}{', idempotent' if numbered else ''}"
    return (
        f"Load {topic} ({counted(partitions, 'partition')}){by}\n"
        f"  {amount} of {size}{duration}, {rate}; {kept}, compression {options.compression_type}\n"
        "  the records stay in the topic"
    )


def _finished(report: Report) -> Report:
    """The report with the totals of rate and latency, and with the failures that are in items."""
    latencies, failures = Latencies(), list(report.failures)
    began, ended, longest = [], [], 0.0
    for item in report.items:
        if "latencies" not in item:
            continue
        latencies.merge(item.pop("latencies"))
        began.append(item.pop("began"))
        ended.append(item.pop("ended"))
        longest = max(longest, item["seconds"])
        failure = item.pop("failure")
        if failure is not None:
            failures.append(failure.error())
            item["error"] = str(failures[-1])
    # From the first record to the last: without the start of processes. The clocks of machines may differ.
    seconds = max(
        longest, min(report.totals["seconds"], (max(ended, default=0) - min(began, default=0)) / 1000)
    )
    totals = {
        **report.totals,
        "records_per_second": round(report.totals["records"] / seconds, 1) if seconds else 0.0,
        "bytes_per_second": round(report.totals["bytes"] / seconds) if seconds else 0,
        "latency_ms": latencies.milliseconds,
    }
    return report._replace(totals=totals, failures=failures, done=report.totals["records"] > 0)


def _print(inv: Invocation, report: Report, cluster: str | None, runner: str, stop: Stop) -> int:
    nested = inv.out.list_kind() in _DOCUMENTS
    if not nested:
        for item in report.items:
            item |= {f"{name}_ms": value for name, value in item.pop("latency_ms", {}).items()}
    columns: Sequence[Column] = (*_COLUMNS, *(_NESTED if nested else _FLAT), *_LAST)
    totals = report.totals
    code = print_report(
        inv, report, columns, stop, command="perf", runner=runner, cluster=cluster, title="sent"
    )
    latency = totals["latency_ms"]
    if totals["records"]:
        shown = ", ".join(f"{name} {latency[name]:,.1f}" for name in ("p50", "p95", "p99", "max"))
        speed = f"{totals['records_per_second']:,.0f} records/s, {size_text(totals['bytes_per_second'])}/s"
        inv.talk.note(f"{speed}; latency {shown} ms")
    return code
