"""The part of the examination that needs a session: whether it starts, runs tasks, and reaches the cluster from them."""

import time
from collections.abc import Iterator

from kcli.core.errors import KcliError
from kcli.flows.doctor.findings import FAILED, Finding, failed, failure, skipped, well
from kcli.flows.stop import Stop
from kcli.output.progress import counted
from kcli.pipeline.job import Job, Progress, TaskResult
from kcli.pipeline.kernels.contact import ContactSettings
from kcli.pipeline.runners.runner import Runner
from kcli.pipeline.spark.probe import differences, probe
from kcli.pipeline.spark.runner import SparkRunner
from kcli.pipeline.spark.session import Session
from kcli.pipeline.spark.subject import Subject

_PATIENCE = 60.0
"""Seconds for the first task to begin."""
SPARK, EXECUTORS, CLUSTER = "spark", "executors", "cluster"


def examine_session(subject: Subject, stop: Stop) -> Iterator[Finding]:
    """The findings as they are made; the session is ended in the end."""
    try:
        session = Session(
            master=subject.master, local=subject.local, conf=subject.conf, java_home=subject.java_home
        )
    except KcliError as error:
        yield failure(SPARK, "session", error)
        return
    runner = SparkRunner(session)
    try:
        where = f"Spark {session.context.version} on {session.master.name}"
        yield well(SPARK, "session", f"{where}, {counted(runner.slots, 'task')} at a time", session.seconds)
        yield from examine_tasks(subject, runner, stop)
    finally:
        runner.close()


def examine_tasks(subject: Subject, runner: SparkRunner, stop: Stop) -> Iterator[Finding]:
    """What tasks find: their own environment, and if that fits the way to the cluster."""
    for finding in _executors(runner.session, stop):
        yield finding
        if finding.status == FAILED:
            return
    yield from _cluster(subject, runner, stop)


def _executors(session: Session, stop: Stop) -> Iterator[Finding]:
    started = time.monotonic()
    try:
        found = probe(session, stop, patience=_PATIENCE)
    except KcliError as error:
        yield failure(EXECUTORS, "task", error, time.monotonic() - started)
        return
    yield well(EXECUTORS, "task", f"{counted(len(found), 'task')} ran", time.monotonic() - started)
    different = differences(found)
    for one in different:
        yield failed(
            EXECUTORS, "environment", f"{one.what} on {', '.join(one.hosts)}", why=one.why, do=one.do, code=2
        )
    if not different:
        hosts = sorted({each["host"] for each in found})
        first = found[0]
        yield well(
            EXECUTORS,
            "environment",
            f"Python {first['python_version']}, kcli {first['kcli']} ({first['kernels']}), "
            f"pyarrow {first['pyarrow']} on {', '.join(hosts)}",
        )


def _cluster(subject: Subject, runner: Runner, stop: Stop) -> Iterator[Finding]:
    if subject.source is None:
        yield skipped(
            CLUSTER, "brokers", "no brokers are configured: name them with --bootstrap-server or a profile"
        )
        return
    tasks = tuple(range(runner.slots))
    results = runner.run(
        Job("contact", ContactSettings(subject.source, subject.seconds), tasks),
        on_progress=_no_progress,
        stop=stop,
    )
    yield from findings_of(results)


def findings_of(results: list[TaskResult]) -> Iterator[Finding]:
    """The findings of the first task on each host. Pure."""
    seen = set()
    for result in results:
        if result.item is None:
            assert result.error is not None
            yield failure(CLUSTER, "task", result.error.error())
        elif result.item["host"] not in seen:
            seen.add(result.item["host"])
            yield from result.item["findings"]


def _no_progress(_progress: Progress) -> None:
    """The tasks take no time."""
