"""What a run copies, and from where: the plan at its start, and the one with which it goes on after a fence."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from kcli.core.admin.admin import Admin
from kcli.core.admin.topics import TopicInfo
from kcli.core.classes import dataclass
from kcli.core.clock import wall_ms
from kcli.core.cluster.offsets import EARLIEST, LATEST
from kcli.core.consumer import ranges
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.subscription import Span
from kcli.core.errors import ConfigError, KcliError
from kcli.core.positions import OffsetSpec, RangeSpec, check_times
from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy.errors import deleted_source, removed_at_source
from kcli.flows.mirror.copy.offset_map import OffsetMap
from kcli.flows.mirror.copy.partition_copy import PartitionCopy
from kcli.flows.mirror.job.job import (
    Ends,
    begin_text,
    begun_later,
    check_begins,
    check_continues,
    check_routes_continue,
    partition_copies,
    source_partitions,
)
from kcli.flows.mirror.job.lease import denied_to_lease
from kcli.flows.mirror.job.state import JobId, JobState, SavedJob, SavedPartition
from kcli.flows.mirror.plan.loops import add_loops, copies_of_target
from kcli.flows.mirror.plan.targets import offsets, state_topic, target_ends
from kcli.flows.mirror.settings import MirrorSettings
from kcli.flows.mirror.topics.preflight import Finding, TopicFacts
from kcli.flows.mirror.topics.routes import Route, is_pattern, select_topics
from kcli.flows.mirror.topics.survey import Selection, Survey, survey


@dataclass(slots=True)
class Plan:
    """``saved``: what earlier runs left; ``ends``: of the target's partitions. ``copies`` are shared with the copy, its
    tasks and its progress: topics that are found later are added to it.
    """

    found: Survey
    saved: SavedJob | None
    ends: Ends
    copies: list[PartitionCopy]

    @property
    def own(self) -> Mapping[str, str]:
        """The topics that the job copies already, from source to target."""
        return {} if self.saved is None else self.saved.state.topics

    @property
    def not_selected(self) -> Mapping[str, str]:
        """The topics that the job has copied and that this run does not select, from source to target."""
        selected = {route.source for route in self.found.routes}
        return {source: target for source, target in self.own.items() if source not in selected}

    @property
    def targets(self) -> list[str]:
        """The topics that are written."""
        return list(dict.fromkeys(copy.target.topic for copy in self.copies if copy.error is None))

    def fail(self, refused: Mapping[str, KcliError]) -> None:
        """Ends the partitions of the target topics that the target refuses."""
        for copy in self.copies:
            if copy.error is None and copy.target.topic in refused:
                copy.fail(refused[copy.target.topic])

    def become(self, new: "Plan") -> None:
        """Takes over all of another plan; the list of copies stays the same object."""
        self.found, self.saved, self.ends, self.copies[:] = new.found, new.saved, new.ends, new.copies


def survey_job(
    source: Admin,
    target: Admin,
    selection: Selection,
    continues: Mapping[str, str],
    jobs: Sequence[JobState],
    *,
    headers: bool,
) -> tuple[Selection, Survey]:
    """Both clusters, and what stands in the way of a job, loops included. ``jobs``: those that write to the source.

    Also returns the selection without what was copied from the target before: patterns would select that, too.
    ``continues``: the topics that the job copies already.
    """
    copies = copies_of_target(jobs, target.cluster_id())
    if source.cluster_id() == target.cluster_id():
        copies.update(continues.values())
    selection = selection._replace(copies=copies)
    found = survey(source, target, selection, continues)
    add_loops(found, jobs, headers=headers)
    return selection, found


class Planner:
    """``consumer`` reads the source; ``timeout`` (seconds) is for one look at its offsets. ``absent`` says why nobody can
    read a partition that a topic of the source has; None for all others.
    """

    def __init__(
        self,
        settings: MirrorSettings,
        selection: Selection,
        source: Admin,
        target: Admin,
        consumer: Consumer,
        timeout: float,
        absent: Callable[[TopicPartition], KcliError | None],
    ) -> None:
        self._settings = settings
        self._absent = absent
        self.selection = selection
        self._source = source
        self._target = target
        self._consumer = consumer
        self._timeout = timeout

    def plan(self, job: JobId, saved: SavedJob | None, jobs: Sequence[JobState]) -> Plan:
        """The plan at the start of a run: a job that ran before is resumed (``partition_copies``), each partition from
        its saved position, or with an error where the source or the target is not the one of then. ``jobs``: those that
        write to the source.

        ConflictError where an option contradicts what earlier runs did; see also ``survey``.
        """
        check_continues(saved, by_key=self.selection.by_key)
        self.selection, found = survey_job(
            self._source,
            self._target,
            self.selection,
            {} if saved is None else saved.state.topics,
            jobs,
            headers=self._settings.headers,
        )
        check_routes_continue(saved, found.routes)
        check_begins(saved, found.routes, begin_text(self._settings.span))
        if self._settings.checkpoint is None:
            exists, denied = state_topic(self._target)
            found.findings.denied.extend(denied)
            found = found._replace(creates_state=not exists)
            found.findings.denied.extend(denied_to_lease(self._target, job))
        plan = self._planned(found, saved, self._spans(self._present(found), saved))
        if saved is not None:
            named = set(self.selection.selectors).intersection(found.gone)
            plan.copies.extend(_deleted(tp, one) for tp, one in saved.partitions.items() if tp.topic in named)
        return plan

    def plan_again(self, saved: SavedJob | None, begun: Sequence[PartitionCopy]) -> Plan:
        """The plan of what this run has begun, with its bounds, and of what an earlier run has begun since.

        What nobody has checked yet is left to the discovery. A partition that the source no longer has ends.
        """
        topics = {} if saved is None else saved.state.topics
        selection = self.selection
        available = [topic.name for topic in self._source.list_topics() if not topic.internal]
        selectors = [one for one in selection.selectors if one in available or is_pattern(one)]
        selected = topics.keys() & select_topics(available, selectors, selection.copies, selection.excludes)
        own = {copy.source.topic for copy in begun}
        names = sorted((own | selected).intersection(available))
        check_continues(saved, by_key=selection.by_key)
        found = survey(self._source, self._target, selection._replace(selectors=names), topics)
        check_routes_continue(saved, found.routes)
        present = set(source_partitions(found))
        spans = {copy.source: Span(copy.started_at, copy.stop) for copy in begun}
        more = (
            [] if saved is None else [tp for tp in saved.partitions if tp.topic in topics and tp not in spans]
        )
        spans = {tp: span for tp, span in spans.items() if tp in present}
        spans |= self._spans([tp for tp in more if tp in present], saved)
        plan = self._planned(found, saved, spans)
        for copy in begun:
            if copy.source not in present:
                copy.rollback()
                copy.fail(deleted_source(copy.source))
                plan.copies.append(copy)
        return plan

    def _present(self, found: Survey) -> list[TopicPartition]:
        return [tp for tp in source_partitions(found) if self._absent(tp) is None]

    def _planned(self, found: Survey, saved: SavedJob | None, spans: Mapping[TopicPartition, Span]) -> Plan:
        spans = {tp: span for tp, span in spans.items() if self._absent(tp) is None}
        ends = target_ends(self._target, found)
        source_ends = offsets(self._source, spans, LATEST)
        if saved is not None and (changed := self._changed(found, saved, source_ends)):
            found = found._replace(sources={**found.sources, **changed})
            again = [tp for tp in self._present(found) if tp.topic in changed]
            kept = {tp: span for tp, span in spans.items() if tp.topic not in changed}
            return self._planned(found, saved, kept | self._spans(again, saved))
        copies = partition_copies(
            found,
            saved,
            spans,
            source_ends,
            ends,
            by_key=self.selection.by_key,
            on_recreate=self._settings.on_recreate,
        )
        if saved is not None:
            begun = [copy for copy in copies if copy.source in saved.partitions and copy.error is None]
            self._look_for_gaps(found, begun, source_ends)
        copies += self._absent_copies(found)
        return Plan(found, saved, ends, copies)

    def _changed(
        self, found: Survey, saved: SavedJob, ends: Mapping[TopicPartition, int]
    ) -> dict[str, TopicFacts]:
        """The topics that end before their positions because they were recreated after the survey, as they are now. The
        ids are asked for after the ends: ends that are read before an id that has not changed are of that topic.
        """
        behind = {
            tp.topic
            for tp, end in ends.items()
            if tp in saved.partitions and saved.partitions[tp].progress.position > end
        }
        changed = {}
        for name, now in self._source.describe_topics(sorted(behind)).items() if behind else ():
            facts = found.sources[name]
            if isinstance(now, TopicInfo) and now.topic_id != facts.topic_id:
                changed[name] = facts._replace(topic_id=now.topic_id, partitions=len(now.partitions))
        return changed

    def _absent_copies(self, found: Survey) -> Iterator[PartitionCopy]:
        targets = {route.source: route.target for route in found.routes}
        for tp in source_partitions(found):
            error = self._absent(tp)
            if error is not None:
                target = TopicPartition(targets[tp.topic], tp.partition)
                made = PartitionCopy(tp, target, OffsetMap(0, 0), position=0)
                made.fail(error)
                yield made

    def _look_for_gaps(
        self, found: Survey, begun: Sequence[PartitionCopy], ends: Mapping[TopicPartition, int]
    ) -> None:
        """Partitions of which the source has removed records since an earlier run: ended, or with ``--on-gap record`` a
        warning of the plan. What is removed later, the copy finds. ``ends``: of the source.
        """
        starts = offsets(self._source, [copy.source for copy in begun], EARLIEST)
        for copy in begun:
            tp, start = copy.source, starts[copy.source]
            if start <= copy.position:
                continue
            if self._settings.on_gap == "fail":
                copy.fail(removed_at_source(tp, copy.position, start, ends[tp]))
                continue
            what = f"{tp}: the source has removed offsets {copy.position} to {start - 1}, which become a gap"
            found.findings.warnings.append(Finding(Route(tp.topic, copy.target.topic), what))

    def _spans(
        self, partitions: Sequence[TopicPartition], saved: SavedJob | None
    ) -> dict[TopicPartition, Span]:
        """``--offset`` says where a topic begins; what appeared since an earlier run is copied from its start."""
        wanted = self._settings.span or RangeSpec(OffsetSpec("earliest"))
        if wanted.start is not None and wanted.start.kind == "stored":
            raise ConfigError(
                "kcli mirror: --offset stored", why="a mirror has no group", do="a job continues by itself"
            )
        check_times(wanted, wall_ms(), "kcli mirror", since="--offset")
        later = begun_later(partitions, saved, begins=bool(begin_text(self._settings.span)))
        spans: dict[TopicPartition, Span] = {}
        for some, start in (
            ([tp for tp in partitions if tp not in later], wanted.start),
            (sorted(later), OffsetSpec("earliest")),
        ):
            if some:
                spans |= ranges.spans(
                    self._consumer,
                    some,
                    RangeSpec(start, wanted.stop),
                    until_end=self._settings.bounded,
                    timeout=self._timeout,
                    do="choose another --offset",
                    to_high_watermark=True,
                )
        return spans


def _deleted(tp: TopicPartition, old: SavedPartition) -> PartitionCopy:
    """A partition of a topic that -t names and that was deleted since an earlier run copied it: it keeps its position."""
    progress = old.progress
    target = TopicPartition(progress.target, progress.target_partition)
    made = PartitionCopy(
        tp, target, old.offsets, position=progress.position, leader_epoch=progress.leader_epoch
    )
    made.fail(deleted_source(tp))
    return made
