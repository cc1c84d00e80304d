"""What ``kcli pipeline verify`` does: pins both sides, compares, and repairs on request."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from kcli.core.classes import NamedTuple
from kcli.core.consumer.consumer import Consumer
from kcli.core.errors import ConfigError, KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.options import ConsumerOptions
from kcli.core.positions import RangeSpec
from kcli.flows.mirror.topics.routes import (
    IDLE_EXCLUDE,
    IDLE_SELECTOR,
    Route,
    idle_excludes,
    idle_selectors,
    none_selected,
    parse_renames,
    plan_routes,
    select_topics,
)
from kcli.flows.stop import Stop
from kcli.flows.time_limits import EXACT
from kcli.output.progress import counted
from kcli.output.tables import Column
from kcli.pipeline.cluster_ref import JobCluster
from kcli.pipeline.job import Job
from kcli.pipeline.kernels.compare import CompareSettings, CompareTask, reading
from kcli.pipeline.plan import Slice, pin
from kcli.pipeline.report import Item, Report, report_of
from kcli.pipeline.runners.runner import Runner
from kcli.pipeline.running import Observer, run_job

COLUMNS = (
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

_OFFSETS = "--level digest compares the records: transactions and compaction leave offsets without one"
_DIGEST = "--level records names the record that differs"


class DifferentError(KcliError):
    """What was compared is not equal."""

    exit_code = ExitCode.CHECK


class RepairPlan(NamedTuple):
    """What would be written: for people, and the topics of the target."""

    text: str
    topics: list[str]


class Verify:
    """One comparison of two clusters. ``level``: offsets, digest or records; ``compacted``: of the last record of each
    key. ``times``: only records with such times (see ``CompareSettings``).
    """

    def __init__(
        self,
        source: JobCluster,
        target: JobCluster,
        observer: Observer,
        *,
        level: str,
        compacted: bool,
        times: tuple[int | None, int | None] | None = None,
    ) -> None:
        self._source, self._target = source, target
        self._observer = observer
        self._settings = CompareSettings(
            source.ref, target.ref, locate=level == "records", compacted=compacted, times=times
        )
        self._reads = level != "offsets"
        self.cluster: str | None = None
        self._tasks: list[CompareTask] = []  # partitions that both sides have
        self._missing: list[Item] = []  # items of those that one side lacks

    @property
    def is_exact(self) -> bool:
        """Whether the first record that differs is found."""
        return self._settings.compacted or self._settings.locate

    def pin(
        self, topics: Sequence[str], excludes: Sequence[str], renames: Sequence[str], spec: RangeSpec
    ) -> None:
        """Fixes what is compared; ``topics`` and ``excludes`` are selectors, ``renames`` rules."""
        timeout = self._observer.timeout
        with ExitStack() as stack:
            here, there = (
                stack.enter_context(
                    Consumer(side.options(ConsumerOptions, **reading()), hooks=self._observer.hooks)
                )
                for side in (self._source, self._target)
            )
            for side, consumer in ((self._source, here), (self._target, there)):
                with self._observer.contact(side.servers):
                    consumer.connect(timeout)
            known = [_topics(consumer, timeout) for consumer in (here, there)]
            ids = [consumer.cluster.view.cluster_id for consumer in (here, there)]
            chosen = select_topics(known[0], topics, excludes=excludes)
            if not chosen:
                raise none_selected(len(known[0]))
            for one in idle_selectors(chosen, topics):
                self._observer.note(IDLE_SELECTOR.format(one))
            for one in idle_excludes(known[0], excludes):
                self._observer.note(IDLE_EXCLUDE.format(one))
            routes = plan_routes(chosen, parse_renames(renames, chosen), same_cluster=False)
            # Log directories are a copy of their own, also of the cluster whose brokers wrote them.
            from_brokers = all(consumer.cluster.directories is None for consumer in (here, there))
            _check_differ(routes, same_cluster=from_brokers and ids[0] == ids[1])
            present = [route for route in routes if route.target in known[1]]
            # The target first: what is copied meanwhile is no record too many.
            exact = self._settings.times is not None
            do = EXACT if self._reads else ""
            theirs, ours = (
                pin(
                    side,
                    names,
                    spec,
                    timeout,
                    warn=lambda text, whose=whose: self._observer.warn(f"{whose}: {text}"),  # type: ignore[misc]
                    out_of_order=do,
                    exact_times=exact,
                )
                for whose, side, names in (
                    ("target", there, [route.target for route in present]),
                    ("source", here, [route.source for route in routes]),
                )
            )
        self.cluster = ids[0]
        self._tasks, self._missing = _paired(routes, ours, theirs)

    def compare_offsets(self) -> Report:
        """Compares the numbers of offsets, without reading a record."""
        items = [_offsets_item(task) for task in self._tasks]
        return _finished(report_of([], [], 0.0)._replace(items=items), self._missing, _OFFSETS)

    def compare(
        self, runner: Runner, stop: Stop, may_repair: Callable[[RepairPlan], bool] | None = None
    ) -> Report:
        """Compares records. ``may_repair``: what differs is repaired if it returns True, and compared again."""
        report = self._job(runner, "compare", self._tasks, stop, title="compared")
        if may_repair is not None and not stop:
            report = self._repair(runner, report, stop, may_repair)
        return _finished(report, self._missing, "" if self.is_exact else _DIGEST)

    def _job(
        self, runner: Runner, kernel: str, tasks: Sequence[CompareTask], stop: Stop, *, title: str
    ) -> Report:
        ordered = sorted(tasks, key=lambda task: -max(task.source.offsets, task.target.offsets))
        places = [{**_place(task.source, task.target.topic), "compared_records": 0} for task in ordered]
        total = sum(task.source.offsets for task in tasks)
        job = Job(kernel, self._settings, tuple(ordered))
        return run_job(self._observer, runner, job, places, stop, title=title, total=total)

    def _repair(
        self, runner: Runner, report: Report, stop: Stop, may_repair: Callable[[RepairPlan], bool]
    ) -> Report:
        """Repairs the partitions that differ and compares them again."""
        differ = {
            (item["topic"], item["partition"]): item for item in report.items if item.get("equal") is False
        }
        chosen = [task for task in self._tasks if task.source.tp in differ]
        names = list(dict.fromkeys(task.target.topic for task in chosen))
        if not chosen or not may_repair(RepairPlan(_repair_text(chosen, differ), names)):
            return report
        repaired = self._job(runner, "repair", chosen, stop, title="repaired")
        options = self._settings.target.inner_options(ConsumerOptions, **reading())
        with Consumer(options) as consumer:
            ends = {one.tp: one for one in pin(consumer, names, RangeSpec(None), self._observer.timeout)}
        grown = [task._replace(target=task.target._replace(end=ends[task.target.tp].end)) for task in chosen]
        again = self._job(runner, "compare", grown, stop, title="compared")
        written = {(item["topic"], item["partition"]): item for item in repaired.items}
        for item in again.items:
            done = written[item["topic"], item["partition"]]
            item["repaired_records"] = done.get("records", 0)
            if "error" in done:
                item["error"] = done["error"]
        for error in repaired.failures:
            self._observer.failed(error, partly=repaired.done)
        kept = [item for item in report.items if (item["topic"], item["partition"]) not in differ]
        seconds = sum(one.totals["seconds"] for one in (report, repaired, again))
        return Report(
            [*kept, *again.items],
            {**report.totals, "seconds": seconds},
            [*report.failures, *again.failures],
            report.done,
        )


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
    routes: Sequence[Route], ours: Sequence[Slice], theirs: Sequence[Slice]
) -> tuple[list[CompareTask], list[Item]]:
    """The partitions that both sides have, and the items of those that one side lacks."""
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
    return tasks, missing


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


def _repair_text(tasks: Sequence[CompareTask], differ: Mapping[tuple[str, int], Item]) -> str:
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
                why=_listed(item),
                do="" if any(item is one for one in missing) else do,
            )
        )
    return report._replace(items=items, failures=failures, done=bool(items) and len(differ) < len(items))


def with_text_cells(report: Report, *, exact: bool) -> Report:
    """The report for a table, where a difference is a text. ``exact``: its offset is that of the first record that
    differs.
    """
    return report._replace(items=[{**item, **_cell(item, exact=exact)} for item in report.items])


def _cell(item: Item, *, exact: bool) -> Item:
    first = item.get("first_difference")
    if first is None:
        return {}
    return {"first_difference": _difference_text(first) if exact else first["why"]}


def _difference_text(one: Item) -> str:
    """``offset 32, key c05: different value``; the offset of the target where the source has no record."""
    key = f"key {one['key']}" if one.get("key") is not None else ""
    place = f"offset {one['offset']:,}" if one["offset"] is not None else ""
    if not place and one.get("target_offset") is not None and "key" in one:
        place = f"offset {one['target_offset']:,} of the target"
    begin = ", ".join(filter(None, (place, key)))
    return f"{begin}: {one['why']}" if begin else str(one["why"])


def _listed(item: Item) -> str:
    """The differences that were found."""
    if "differences" not in item:
        return str(item["first_difference"]["why"])
    texts = [_difference_text(one) for one in item["differences"]]
    more = item["different_records"] - len(texts)
    return "; ".join(texts) + (f"; and {more:,} more" if more > 0 else "")
