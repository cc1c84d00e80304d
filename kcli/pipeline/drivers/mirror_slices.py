"""``kcli pipeline mirror --continuous``: bounded slices, one after the other, until Ctrl-C.

There is no state here: how far a partition is copied is on the target, where each slice finds it. Between two slices the
driver looks for ends, topics and partitions. What fails in a way that may pass is tried again after a while; a partition
that cannot be copied any further is reported and left out.
"""

import time
from collections.abc import Callable, Mapping, Sequence

from kcli.core import classes
from kcli.core.admin.admin import Admin
from kcli.core.admin.topics import id_bytes
from kcli.core.classes import dataclass, field
from kcli.core.cluster.offsets import LATEST
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy.errors import may_pass
from kcli.flows.mirror.follow.discovery import Discovery
from kcli.flows.rate import wait
from kcli.flows.stop import Stop
from kcli.output.progress import Progress as Bar
from kcli.pipeline.drivers.planned_copy import PlannedCopy, places_of
from kcli.pipeline.job import Job, Progress, TaskResult
from kcli.pipeline.kernels.copy import CopySettings, CopyTask
from kcli.pipeline.plan import Slice
from kcli.pipeline.report import Report, joined, report_of
from kcli.pipeline.runners.runner import Runner
from kcli.pipeline.running import Observer

_KERNEL = "copy"
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0  # seconds between two tries
_REFRESH = 60.0  # seconds between two commits of the job: others see that it runs
_REFRESH_ALL = 24 * 3600.0  # the same for each partition: brokers forget old positions


@dataclass
class _Partition:
    """A partition that is followed. ``position``: the next offset to be copied, as far as the driver knows."""

    source: TopicPartition
    topic_id: bytes
    target: TopicPartition
    position: int
    refreshed: float
    failures: int = 0
    not_before: float = 0.0
    behind: bool = field(default=True)


class Follower:
    """``admins`` are those of source and target; ``discovery`` finds what appears."""

    def __init__(
        self,
        observer: Observer,
        runner: Runner,
        settings: CopySettings,
        planned: Sequence[PlannedCopy],
        stop: Stop,
        admins: tuple[Admin, Admin],
        discovery: Discovery,
        bar: Bar,
    ) -> None:
        self._observer, self._runner, self._settings, self._stop = observer, runner, settings, stop
        self._source, self._target = admins
        self._discovery, self._bar = discovery, bar
        now = self._began = self._refreshed = time.monotonic()
        self._partitions: dict[TopicPartition, _Partition] = {}
        self._counts: dict[str, int] = {}
        self._report = report_of([], [], 0.0)
        self._pause = 0.0
        for one in planned:
            if one.truncated is not None:
                self._observer.failed(one.truncated, partly=True)
                continue
            self._counts[one.source.topic] = one.partitions
            self._partitions[one.source.tp] = _Partition(
                one.source.tp, one.source.topic_id, one.target, one.source.start, now
            )

    def run(self, seconds: float) -> Report:
        """Copies until a stop is requested, or no partition is left; returns the report of all slices.

        One slice follows the other; one begins every so many seconds, at once where something is left.
        """
        self._settings = classes.replace(self._settings, seconds=seconds)
        while not self._stop and self._partitions:
            began = time.monotonic()
            try:
                self._slice(began)
                self._pause = 0.0
            except KcliError as error:
                if not may_pass(error):
                    self._observer.failed(error, partly=self._report.done)
                    break
                self._pause = min(_LONGEST_PAUSE, self._pause * 2 or _FIRST_PAUSE)
                self._observer.warn(f"{error}; trying again in {self._pause:g} s")
                wait(self._pause, self._stop)
                continue
            if not any(one.behind for one in self._partitions.values()):
                wait(began + seconds - time.monotonic(), self._stop)
        totals = {**self._report.totals, "seconds": round(time.monotonic() - self._began, 3)}
        return self._report._replace(totals=totals)

    def _slice(self, now: float) -> None:
        self._discover(now)
        ends = self._ends()
        due = self._due(ends, now)
        if not due or self._stop:
            return
        tasks = tuple(
            CopyTask(
                Slice(one.source.topic, one.topic_id, one.source.partition, one.position, ends[one.source]),
                one.target,
                self._counts[one.source.topic],
                refresh=True,
            )
            for one in due
        )
        results = self._runner.run(
            Job(_KERNEL, self._settings, tasks), on_progress=self._shown(), stop=self._stop
        )
        self._refreshed = now
        self._process(due, tasks, results, ends)
        self._settings = classes.replace(self._settings, part=self._settings.part + 1)

    def _due(self, ends: Mapping[TopicPartition, int], now: float) -> list[_Partition]:
        """The partitions with something to copy, and those whose position has to be committed again."""
        due = []
        for one in self._partitions.values():
            left = ends.get(one.source, one.position) - one.position
            one.behind = left > 0 and one.not_before <= now
            if one.source in ends and (one.behind or now - one.refreshed >= _REFRESH_ALL):
                due.append(one)
        if not due and now - self._refreshed >= _REFRESH:
            due = [one for one in self._partitions.values() if one.source in ends and one.not_before <= now][
                :1
            ]
        return sorted(due, key=lambda one: one.position - ends[one.source])

    def _discover(self, now: float) -> None:
        """Follows topics and partitions that have appeared; their targets are created."""
        found = self._discovery.look()
        for refusal in found.refused:
            self._observer.failed(refusal, partly=True)
        for delayed in found.delayed:
            self._observer.detail(f"looking for new topics failed: {delayed}")
        if not found.copies:
            return
        ids = {topic.name: topic for topic in self._source.list_topics()}
        for copy in found.copies:
            topic = ids.get(copy.source.topic)
            if topic is not None:
                self._counts[copy.source.topic] = len(topic.partitions)
                self._partitions[copy.source] = _Partition(
                    copy.source, id_bytes(topic.topic_id), copy.target, copy.position, now
                )
        for route in found.routes:
            self._observer.note(f"{route.source} → {route.target}: new partitions are copied from now on")

    def _ends(self) -> dict[TopicPartition, int]:
        """Where the readable records of each partition end now; those of which it is not known are left out."""
        wanted = dict.fromkeys(self._partitions, LATEST)
        ends = {}
        for tp, info in self._source.list_offsets(wanted, committed_only=True).items():
            if not isinstance(info, KcliError):
                ends[tp] = info.offset
            elif may_pass(info) and self._source_has(tp):
                self._later(self._partitions[tp], str(info))
            else:
                self._leave(tp, info)
        return ends

    def _source_has(self, tp: TopicPartition) -> bool:
        return tp.topic in {topic.name for topic in self._source.list_topics()}

    def _process(
        self,
        due: Sequence[_Partition],
        tasks: Sequence[CopyTask],
        results: Sequence[TaskResult],
        ends: Mapping[TopicPartition, int],
    ) -> None:
        planned = [
            PlannedCopy(task.source, task.target, task.partitions, None, task.source.end) for task in tasks
        ]
        places = places_of(self._target, self._settings, planned, results)
        self._report = joined(self._report, report_of(results, places, 0.0)._replace(failures=[]))
        now = time.monotonic()
        for one, place, result in zip(due, places, results, strict=True):
            item = place if result.item is None else result.item
            one.position, one.refreshed = max(one.position, item["end"]), now
            one.behind = one.position < ends[one.source]
            if result.error is None:
                one.failures = 0
            elif self._stop:
                one.behind = False
            elif result.error.may_pass:
                self._later(one, str(result.error.error()))
            else:
                self._leave(one.source, result.error.error())

    def _later(self, one: _Partition, why: str) -> None:
        pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**one.failures)
        one.failures += 1
        one.not_before, one.behind = time.monotonic() + pause, False
        self._observer.warn(f"{one.source}: {why}; trying again in {pause:g} s")

    def _leave(self, tp: TopicPartition, error: KcliError) -> None:
        """Follows the partition no longer."""
        del self._partitions[tp]
        self._observer.failed(error, partly=bool(self._partitions))

    def _shown(self) -> Callable[[Progress], None]:
        records, size = self._report.totals["records"], self._report.totals["bytes"]

        def show(done: Progress) -> None:
            self._bar.update(records + done.records, size + done.bytes, slices=self._settings.part + 1)

        return show
