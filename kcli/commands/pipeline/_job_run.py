"""Runs the job of a command: chooses the runner, shows progress, prints the report."""

import dataclasses
import os
import time
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any

from kcli.commands.shared.configuration import Configuration, lacks_password
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.row_output import print_rows
from kcli.commands.shared.usage import Refused, usage
from kcli.core.errors import ConfigError
from kcli.core.exit_codes import ExitCode
from kcli.core.extras import installation
from kcli.flows.stop import Stop
from kcli.output.listing import DOCUMENTS, NO_FIELDS
from kcli.output.progress import Progress as ProgressLine
from kcli.output.progress import counted, size_text
from kcli.output.tables import Column
from kcli.pipeline.cluster_ref import ClusterRef, cluster_ref
from kcli.pipeline.job import Job, Progress, TaskResult
from kcli.pipeline.report import Report, report_of
from kcli.pipeline.runners.inline import InlineRunner
from kcli.pipeline.runners.processes import ProcessesRunner
from kcli.pipeline.runners.runner import Runner
from kcli.pipeline.spark.libraries import WITHOUT_SPARK, check_libraries, missing_library

KIND, ITEM = "PipelineReport", "PipelinePartition"


def cluster_of(inv: Invocation, configuration: Configuration) -> ClusterRef:
    """How the tasks reach the cluster of ``configuration``."""
    resolved = configuration.resolved
    if lacks_password(resolved.values):
        raise ConfigError(
            f"there is no password for user {resolved.values['sasl_username']}",
            why="the tasks of a job run in other processes, which cannot ask for it",
            do="set sasl.password_file or sasl.password_command, sasl.password=keyring:SERVICE/USER, "
            "or the variable KCLI_X_SASL_PASSWORD",
        )
    files = inv.values.command_config or tuple(filter(None, [os.environ.get("KCLI_COMMAND_CONFIG")]))
    return cluster_ref(resolved, tuple(files), inv.timeout, inv.given_timeout)


def without(ref: ClusterRef, names: Container[str]) -> ClusterRef:
    """The reference without options that a job decides by itself, by field name: files and variables may set them."""
    return dataclasses.replace(
        ref, values={key: value for key, value in ref.values.items() if key not in names}
    )


_SETTINGS = ("master", "spark_conf", "java_home")
"""Flags that only Spark has."""


def with_runner(
    inv: Invocation, flags: Mapping[str, Any], command: str, *, without_spark: str | None = None
) -> dict[str, Any]:
    """The flags with the runner that is chosen, before anything is asked or changed: Spark, or processes where it is not
    installed and no flag names it, which is said. ConfigError if the chosen one cannot run; usage errors for options
    that another runner has.

    ``without_spark``: what can be done instead of a job that runs on Spark only; empty where nothing can.
    """
    missing = missing_library()
    wanted = without_spark is not None or any(flags[name] for name in _SETTINGS)
    chosen = flags["runner"] or ("processes" if missing and not wanted else "spark")
    if chosen != "spark":
        for name in _SETTINGS:
            if flags[name]:
                option = "--" + name.replace("_", "-")
                raise usage(
                    f"kcli pipeline {command}: {option} with --runner {chosen}",
                    why=f"{option} is a setting of Spark",
                    do=f"leave {option} or --runner out",
                )
    if flags["local"] is not None and chosen == "inline":
        raise _both_local(command, "--runner inline")
    check_spark_flags(flags, command)
    if chosen == "spark":
        check_libraries(WITHOUT_SPARK if without_spark is None else without_spark)
    elif not flags["runner"]:
        inv.talk.note(
            f"the tasks run in processes of this machine: Spark needs {missing}, which is not installed "
            f"({installation('spark')})"
        )
    return {**flags, "runner": chosen}


def check_spark_flags(flags: Mapping[str, Any], command: str) -> None:
    """Usage errors for options of Spark."""
    if flags["local"] is not None and flags["master"]:
        raise _both_local(command, "--master")
    for text in flags["spark_conf"]:
        if "=" not in text.strip("="):
            raise usage(
                f"kcli pipeline {command}: --spark-conf {text}",
                why="it is not KEY=VALUE",
                do="spark.executor.memory=2g",
            )


def _both_local(command: str, other: str) -> Refused:
    return usage(
        f"kcli pipeline {command}: --local with {other}",
        why="--local N runs N tasks at a time on this machine",
        do="leave one of them out",
    )


def spark_conf(flags: Mapping[str, Any]) -> dict[str, str]:
    """The settings of ``--spark-conf``; the last of a key wins."""
    return dict(text.split("=", 1) for text in flags["spark_conf"])


@contextmanager
def runner_of(inv: Invocation, flags: Mapping[str, Any]) -> Iterator[Runner]:
    """The runner of ``--runner``; what it started is ended afterwards."""
    with closing(_runner(inv, flags)) as runner:
        yield runner


def _runner(inv: Invocation, flags: Mapping[str, Any]) -> Runner:
    if flags["runner"] == "inline":
        return InlineRunner()
    if flags["runner"] == "processes":
        return ProcessesRunner(flags["local"] or os.cpu_count() or 1)
    from kcli.pipeline.spark.runner import open_runner  # pyspark: an extra

    with inv.first_contact("Spark"):
        return open_runner(
            master=flags["master"],
            local=flags["local"],
            conf=spark_conf(flags),
            java_home=flags["java_home"],
            note=inv.talk.note,
            warn=inv.talk.warn,
        )


def run_job(
    inv: Invocation,
    runner: Runner,
    job: Job,
    places: Sequence[Mapping[str, Any]],
    stop: Stop,
    *,
    title: str,
    total: int | None = None,
) -> Report:
    """Runs all tasks. ``places``: see ``report_of``; ``title`` is the word of the progress line: "exported"; ``total``
    the number of records, as far as it is known.
    """
    started = time.monotonic()
    with inv.progress(title, total=total) as bar:
        results = run_tasks(runner, job, stop, bar)
    return report_of(results, places, time.monotonic() - started)


def run_tasks(
    runner: Runner, job: Job, stop: Stop, bar: ProgressLine, before: tuple[int, int] = (0, 0)
) -> list[TaskResult]:
    """Runs all tasks, for a report to be made of several jobs. ``before``: records and bytes of earlier ones."""

    def show(done: Progress) -> None:
        records, size = before[0] + done.records, before[1] + done.bytes
        bar.update(records, size, tasks=done.tasks, tasks_done=done.tasks_done)

    return runner.run(job, on_progress=show, stop=stop)


def print_report(
    inv: Invocation,
    report: Report,
    columns: Sequence[Column],
    stop: Stop,
    *,
    command: str,
    runner: str,
    cluster: str | None,
    title: str,
    head: Mapping[str, Any] = NO_FIELDS,
) -> int:
    """Prints items, summary and failures; returns the exit status. ``head``: further fields of the document."""
    fields = {"command": command, "runner": runner, "totals": report.totals, **head}
    # A column of a document is in each item; what only some have is absent from the others.
    where = all if inv.out.list_kind() in DOCUMENTS else any
    shown = [column for column in columns if where(column.key in item for item in report.items)]
    print_rows(inv, KIND, shown or columns, report.items, cluster, item=ITEM, head=fields)
    totals = report.totals
    retries = totals["task_retries"]
    size = f", {size_text(totals['bytes'])}" if totals["bytes"] else ""
    inv.talk.note(
        f"{title} {counted(totals['records'], 'record')}{size}, in {totals['seconds']:.1f} s by "
        f"{counted(totals['tasks'], 'task')}"
        + (f", {counted(retries, 'attempt')} repeated" if retries else "")
    )
    for error in report.failures:
        if error.exit_code != stop.exit_code or not stop:
            inv.failed(error, partly=report.done and error.exit_code not in (ExitCode.DATA, ExitCode.CHECK))
    return inv.finish(done=report.done, also=[stop.exit_code])
