"""What ``kcli pipeline verify`` does: pins both sides, compares, repairs on request, and reports."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

from kcli.commands.pipeline._job_run import (
    cluster_of,
    print_report,
    run_job,
    runner_of,
    with_runner,
)
from kcli.commands.pipeline._ranges import wanted_range
from kcli.commands.shared.confirm import confirm
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.sides import Side
from kcli.commands.shared.usage import usage
from kcli.core.consumer.consumer import Consumer
from kcli.core.errors import ConfigError, KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.options import ConsumerOptions
from kcli.core.positions import RangeSpec
from kcli.flows.mirror.routes import Route, parse_renames, plan_routes, select_topics
from kcli.flows.stop import Stop
from kcli.output.listing import DOCUMENTS
from kcli.output.progress import counted
from kcli.output.tables import Column
from kcli.pipeline.job import Job
from kcli.pipeline.kernels.compare import CompareSettings, CompareTask, reading
from kcli.pipeline.plan import Slice, pin
from kcli.pipeline.report import Report, report_of
from kcli.pipeline.runners.runner import Runner

_COLUMNS = (
    Column("topic"),
    Column("partition", "number"),
    Column("target_topic", wide=True),
    Column("target_partition", "number", wide=True),
    Column("equal"),
    Column("compared_records", "number"),
    Column("repaired_records", "number"),
    Column("first_difference", "prose"),
    Column("error", "prose"),
)

Item = dict[str, Any]

_OFFSETS = "--level digest compares the records: transactions and compaction leave offsets without one"
_DIGEST = "--level records names the record that differs"


class DifferentError(KcliError):
    """What was compared is not equal."""

    exit_code = ExitCode.CHECK


class _Pinned(NamedTuple):
    """``tasks``: partitions that both sides have; ``missing``: items of those that one side lacks."""

    cluster: str | None
    tasks: list[CompareTask]
    missing: list[Item]


def run(inv: Invocation, source: str, target: str, flags: Mapping[str, Any]) -> int:
    """Runs the comparison; returns the exit status."""
    _check_flags(flags)
    if flags["level"] != "offsets":  # which reads no record, so it has no tasks
        flags = with_runner(inv, flags, "verify")
    sides = Side(inv, "--from", source, changes=False), Side(inv, "--to", target, changes=flags["repair"])
    settings = CompareSettings(
        cluster_of(inv, sides[0].configuration),
        cluster_of(inv, sides[1].configuration),
        locate=flags["level"] == "records",
        compacted=flags["compacted"],
    )
    pinned = _pin(inv, *sides, flags)
    with Stop() as stop:
        if flags["level"] == "offsets":
            items = [_offsets_item(task) for task in pinned.tasks]
            report = _finished(report_of([], [], 0.0)._replace(items=items), pinned.missing, _OFFSETS)
            return _print(inv, report, pinned.cluster, "inline", stop, exact=False)
        with runner_of(inv, flags) as runner:
            report = _compare(inv, runner, settings, pinned.tasks, stop)
            if flags["repair"] and not stop:
                report = _repair(inv, runner, settings, pinned.tasks, report, stop)
            exact = settings.compacted or settings.locate
            report = _finished(report, pinned.missing, "" if exact else _DIGEST)
            return _print(inv, report, pinned.cluster, runner.name, stop, exact=exact)


def _check_flags(flags: Mapping[str, Any]) -> None:
    if flags["level"] == "offsets":
        for name in ("compacted", "repair"):
            if flags[name]:
                raise usage(
                    f"kcli pipeline verify: --{name} with --level offsets",
                    why="no record is read at that level",
                    do="leave one of them out",
                )


def _pin(inv: Invocation, source: Side, target: Side, flags: Mapping[str, Any]) -> _Pinned:
    with ExitStack() as stack:
        here, there = (
            stack.enter_context(Consumer(side.options(ConsumerOptions, **reading()), hooks=inv.hooks))
            for side in (source, target)
        )
        for side, consumer in ((source, here), (target, there)):
            with inv.first_contact(side.servers):
                consumer.connect(inv.timeout)
        known = [_topics(consumer, inv.timeout) for consumer in (here, there)]
        ids = [consumer.cluster.view.cluster_id for consumer in (here, there)]
        topics = select_topics(known[0], flags["topics"])
        routes = plan_routes(topics, parse_renames(flags["renames"], topics), same_cluster=False)
        _check_differ(routes, same_cluster=ids[0] == ids[1])
        spec = wanted_range("verify", since=flags["since"], until=flags["until"])
        present = [route for route in routes if route.target in known[1]]
        # The target first: what is copied meanwhile is no record too many.
        theirs = pin(there, [route.target for route in present], spec, inv.timeout)
        ours = pin(here, [route.source for route in routes], spec, inv.timeout)
        return _paired(ids[0], routes, ours, theirs)


def _check_differ(routes: Sequence[Route], *, same_cluster: bool) -> None:
    """ConfigError for a topic that would be compared with itself."""
    for source, target in routes:
        if same_cluster and source == target:
            raise ConfigError(
                f"topic {source} would be compared with itself",
                why="--from and --to are the same cluster",
                do=f"name the other topic: --map-topic {source}=NAME",
            )


def _topics(consumer: Consumer, timeout: float) -> dict[str, Any]:
    """The topics that exist, internal ones left out."""
    cluster = consumer.cluster
    found = cluster.all_topics(cluster.deadline(timeout)).topics
    return {name: topic for name, topic in found.items() if topic.partitions and not topic.internal}


def _paired(
    cluster: str | None, routes: Sequence[Route], ours: Sequence[Slice], theirs: Sequence[Slice]
) -> _Pinned:
    names = dict(routes)
    there = {(one.topic, one.partition): one for one in theirs}
    topics = {one.topic for one in theirs}
    tasks, missing = [], []
    for one in ours:
        name = names[one.topic]
        other = there.pop((name, one.partition), None)
        if other is not None:
            tasks.append(CompareTask(one, other))
        else:
            what = f"partition {one.partition}" if name in topics else f"topic {name}"
            missing.append(_unequal(one, name, one.start, f"the target has no {what}"))
    sources = {target: source for source, target in routes}
    for one in there.values():
        source = one._replace(topic=sources[one.topic])
        missing.append(_unequal(source, one.topic, None, f"the source has no partition {one.partition}"))
    return _Pinned(cluster, tasks, missing)


def _unequal(one: Slice, target: str, offset: int | None, why: str) -> Item:
    return {
        **_place(one, target),
        "equal": False,
        "compared_records": 0,
        "first_difference": {"offset": offset, "why": why},
    }


def _place(source: Slice, target: str) -> Item:
    return {
        "topic": source.topic,
        "partition": source.partition,
        "target_topic": target,
        "target_partition": source.partition,
    }


def _offsets_item(task: CompareTask) -> Item:
    here, there = task.source.offsets, task.target.offsets
    if here != there:
        why = f"the source has {counted(here, 'offset')}, the target {there:,}"
        return _unequal(task.source, task.target.topic, None, why)
    return {
        **_place(task.source, task.target.topic),
        "equal": True,
        "compared_records": 0,
        "first_difference": None,
    }


def _compare(
    inv: Invocation, runner: Runner, settings: CompareSettings, tasks: Sequence[CompareTask], stop: Stop
) -> Report:
    return _job(inv, runner, "compare", settings, tasks, stop, title="compared")


def _job(
    inv: Invocation,
    runner: Runner,
    kernel: str,
    settings: CompareSettings,
    tasks: Sequence[CompareTask],
    stop: Stop,
    *,
    title: str,
) -> Report:
    ordered = sorted(tasks, key=lambda task: -max(task.source.offsets, task.target.offsets))
    places = [{**_place(task.source, task.target.topic), "compared_records": 0} for task in ordered]
    total = sum(task.source.offsets for task in tasks)
    return run_job(inv, runner, Job(kernel, settings, tuple(ordered)), places, stop, title=title, total=total)


def _repair(
    inv: Invocation,
    runner: Runner,
    settings: CompareSettings,
    tasks: Sequence[CompareTask],
    report: Report,
    stop: Stop,
) -> Report:
    """Repairs the partitions that differ and compares them again."""
    differ = {(item["topic"], item["partition"]): item for item in report.items if item.get("equal") is False}
    chosen = [task for task in tasks if task.source.tp in differ]
    if not chosen:
        return report
    names = list(dict.fromkeys(task.target.topic for task in chosen))
    if not confirm(
        inv, _repair_plan(chosen, differ), f"Write to {', '.join(names)}?", name=names[0], among=names
    ):
        return report
    repaired = _job(inv, runner, "repair", settings, chosen, stop, title="repaired")
    with Consumer(settings.target.inner_options(ConsumerOptions, **reading())) as consumer:
        ends = {one.tp: one for one in pin(consumer, names, RangeSpec(None), inv.timeout)}
    again = _compare(
        inv,
        runner,
        settings,
        [task._replace(target=task.target._replace(end=ends[task.target.tp].end)) for task in chosen],
        stop,
    )
    written = {(item["topic"], item["partition"]): item for item in repaired.items}
    for item in again.items:
        done = written[item["topic"], item["partition"]]
        item["repaired_records"] = done.get("records", 0)
        if "error" in done:
            item["error"] = done["error"]
    for error in repaired.failures:
        inv.failed(error, partly=repaired.done)
    kept = [item for item in report.items if (item["topic"], item["partition"]) not in differ]
    return Report(
        [*kept, *again.items],
        {
            **report.totals,
            "seconds": report.totals["seconds"] + repaired.totals["seconds"] + again.totals["seconds"],
        },
        [*report.failures, *again.failures],
        report.done,
    )


def _repair_plan(tasks: Sequence[CompareTask], differ: Mapping[tuple[str, int], Item]) -> str:
    lines = [f"Repair {counted(len(tasks), 'partition')} of the target"]
    for task in tasks:
        first = differ[task.source.tp]["first_difference"]
        place = (
            f"source offset {first['offset']}"
            if first["offset"] is not None
            else "what the source does not have"
        )
        lines.append(f"  {task.source.tp} → {task.target.tp}: from {place} on: {first['why']}")
    return "\n".join(lines)


def _finished(report: Report, missing: Sequence[Item], do: str) -> Report:
    """``do``: how to find out more about a difference; empty if the first record that differs is known."""
    items = sorted([*report.items, *missing], key=lambda item: (item["topic"], item["partition"]))
    differ = [item for item in items if item.get("equal") is False]
    failures = list(report.failures)
    for item in differ:
        first = item["first_difference"]
        place = f" at offset {first['offset']}" if first["offset"] is not None and not do else ""
        failures.append(
            DifferentError(
                f"{item['topic']}-{item['partition']} of source and target differ{place}",
                why=first["why"],
                do="" if any(item is one for one in missing) else do,
            )
        )
    return report._replace(items=items, failures=failures, done=bool(items) and len(differ) < len(items))


def _cell(item: Item, *, exact: bool) -> Item:
    """The difference as a text, for a table. ``exact``: its offset is that of the first record that differs."""
    first = item.get("first_difference")
    if first is None:
        return {}
    place = f"offset {first['offset']:,}: " if first["offset"] is not None and exact else ""
    return {"first_difference": f"{place}{first['why']}"}


def _print(
    inv: Invocation, report: Report, cluster: str | None, runner: str, stop: Stop, *, exact: bool
) -> int:
    equal = sum(item.get("equal") is True for item in report.items)
    if inv.out.list_kind() not in DOCUMENTS:
        report = report._replace(items=[{**item, **_cell(item, exact=exact)} for item in report.items])
    return print_report(
        inv,
        report,
        _COLUMNS,
        stop,
        command="verify",
        runner=runner,
        cluster=cluster,
        title=f"{equal} of {counted(len(report.items), 'partition')} equal; compared",
    )
