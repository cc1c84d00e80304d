"""Topics and partitions that appear on the source while a job runs: each begins at its first record.

What cannot be copied exactly is refused once, with the reason; the other topics are not affected.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from kcli.core.admin.admin import Admin
from kcli.core.classes import NamedTuple
from kcli.core.cluster.offsets import EARLIEST
from kcli.core.consumer.subscription import Span
from kcli.core.errors import AuthError, ConfigError, KcliError
from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy.errors import may_pass
from kcli.flows.mirror.copy.partition_copy import PartitionCopy
from kcli.flows.mirror.follow.deleted import Deleted, DeletedTopics
from kcli.flows.mirror.job.job import Ends, partition_copies
from kcli.flows.mirror.job.state import JobState
from kcli.flows.mirror.plan.loops import add_loops, copies_of_target
from kcli.flows.mirror.plan.targets import create_targets, identify, offsets, target_ends
from kcli.flows.mirror.topics.preflight import ConflictError, Denied, Finding, Findings
from kcli.flows.mirror.topics.routes import Route, is_pattern, plan_routes, select_topics
from kcli.flows.mirror.topics.survey import Selection, Survey, survey

F = TypeVar("F", Finding, Denied)


class Additions(NamedTuple):
    """What a job copies from now on, and why it does not copy other topics.

    ``delayed``: errors that may pass; these topics are tried again at the next call. ``deleted``: topics that the source
    does not have any more; ``doubts``: why topics that are missing do not count as deleted.
    """

    routes: list[Route]
    copies: list[PartitionCopy]
    refused: list[KcliError]
    delayed: list[KcliError]
    deleted: list[Deleted]
    doubts: list[str]


class Discovery:
    """``copies``: what is copied already. ``jobs`` reads those that write to the source; ``headers``: see
    ``returning_routes``. ``may_fill``: target topics that have records already are written without a question.
    ``deleted`` looks for topics that were deleted; ``restarts``: one that is there again is copied from its start.
    """

    def __init__(
        self,
        source: Admin,
        target: Admin,
        selection: Selection,
        found: Survey,
        copies: Iterable[PartitionCopy],
        *,
        jobs: Callable[[], Sequence[JobState]],
        headers: bool,
        may_fill: bool,
        deleted: DeletedTopics | None = None,
        restarts: bool = False,
    ) -> None:
        self._source = source
        self._target = target
        self._selection = selection
        self._jobs = jobs
        self._headers = headers
        self._may_fill = may_fill
        self._deleted, self._restarts = deleted, restarts
        self._back: set[str] = set()
        self._target_cluster = found.target_cluster
        self._same_cluster = bool(found.source_cluster) and found.source_cluster == found.target_cluster
        self._topics: dict[str, str] = {}
        self._partitions: dict[str, int] = {}
        for copy in copies:
            topic, number = copy.source
            self._topics[topic] = copy.target.topic
            self._partitions[topic] = max(self._partitions.get(topic, 0), number + 1)
        self._refused: dict[str, int] = {}

    def look(self) -> Additions:
        """What has appeared since the last call; its targets are created. Raises errors that concern all topics."""
        additions = Additions([], [], [], [], [], [])
        available = {
            topic.name: len(topic.partitions) for topic in self._source.list_topics() if not topic.internal
        }
        self._look_for_deleted(available, additions)
        if not self._grown(available):
            return additions
        for route, found, ends in self._surveyed(available, additions):
            self._try(route, found, ends, additions)
        return additions

    def candidates(self) -> tuple[list[str], dict[TopicPartition, KcliError]]:
        """The topics with partitions that are not copied and can be, and why the partitions of others cannot (one error
        for each topic). Nothing is created. Raises errors that concern all topics.
        """
        additions = Additions([], [], [], [], [], [])
        available = {
            topic.name: len(topic.partitions) for topic in self._source.list_topics() if not topic.internal
        }
        can: list[str] = []
        for route, found, ends in self._surveyed(available, additions):
            error = self._objection(route, found.findings, ends)
            if error is None:
                can.append(route.source)
            else:
                self._refuse(route.source, available[route.source], error, additions)
        errors = zip(self._refused.items(), additions.refused, strict=True)
        return can, {
            TopicPartition(name, number): error for (name, many), error in errors for number in range(many)
        }

    def _surveyed(
        self, available: Mapping[str, int], additions: Additions
    ) -> Iterator[tuple[Route, Survey, Ends]]:
        """The routes of topics with partitions that are not copied, and what is known of both sides."""
        if not self._grown(available):
            return
        jobs = self._jobs()
        self._leave_out(copies_of_target(jobs, self._target_cluster))
        grown = self._planned(self._grown(available), available, additions)
        if not grown:
            return
        names = sorted({*grown, *(name for name in self._topics if name in available)})
        selection = self._selection._replace(selectors=names)
        found = survey(self._source, self._target, selection, continues=self._topics)
        add_loops(found, jobs, headers=self._headers)
        ends = target_ends(self._target, found)
        for route in found.routes:
            if route.source in grown:
                yield route, found, ends

    def _look_for_deleted(self, available: Mapping[str, int], additions: Additions) -> None:
        if self._deleted is None:
            return
        additions.deleted.extend(self._deleted.look(available))
        additions.doubts.extend([self._deleted.doubt] if self._deleted.doubt else [])
        for name, error in self._deleted.returned(available).items():
            if self._restarts:
                self._partitions[name] = 0
                self._refused.pop(name, None)
                self._back.add(name)
            else:
                additions.refused.append(error)

    def _grown(self, available: Mapping[str, int]) -> list[str]:
        """The selected topics with partitions that are not copied. ``available``: what the source has."""
        selectors = [one for one in self._selection.selectors if one in available or is_pattern(one)]
        return [
            name
            for name in select_topics(available, selectors, self._selection.copies, self._selection.excludes)
            if available[name] > max(self._partitions.get(name, 0), self._refused.get(name, 0))
        ]

    def _leave_out(self, copies: Iterable[str]) -> None:
        """Patterns do not select these topics from now on."""
        self._selection = self._selection._replace(copies={*self._selection.copies, *copies})

    def _planned(self, grown: list[str], available: Mapping[str, int], additions: Additions) -> list[str]:
        """Those of ``grown`` for which there is a route besides all others; the rest is refused."""
        try:
            self._plan({*self._topics, *grown})
        except ConfigError:
            pass
        else:
            return grown
        planned: list[str] = []
        for name in grown:
            try:
                self._plan({*self._topics, *planned, name})
            except ConfigError as error:
                what = f"topic {name} has been created since and is not copied"
                refusal = ConfigError(what, why=str(error), do=error.do)
                self._refuse(name, available[name], refusal, additions)
            else:
                planned.append(name)
        return planned

    def _plan(self, names: Collection[str]) -> None:
        plan_routes(sorted(names), self._selection.renames, same_cluster=self._same_cluster)

    def _refuse(self, name: str, partitions: int, error: KcliError, additions: Additions) -> None:
        self._refused[name] = partitions
        additions.refused.append(error)

    def _try(self, route: Route, found: Survey, ends: Ends, additions: Additions) -> None:
        """Adds the route, or refuses it; the other routes do not depend on it."""
        facts = found.sources[route.source]
        error = self._objection(route, found.findings, ends)
        copies: list[PartitionCopy] = []
        if error is None:
            if self._same_cluster:
                self._leave_out([route.target])
            try:
                create_targets(self._target, found.findings, [route.target])
                copies = self._copies(route, found, ends)
            except KcliError as failure:
                if may_pass(failure):
                    additions.delayed.append(failure)
                    return
                error = failure
        if error is not None:
            self._refuse(route.source, facts.partitions, error, additions)
            return
        additions.routes.append(route)
        additions.copies.extend(copies)
        self._topics[route.source] = route.target
        self._partitions[route.source] = facts.partitions

    def _copies(self, route: Route, found: Survey, ends: Ends) -> list[PartitionCopy]:
        """The partitions of the route that are not copied yet, each from its first record."""
        numbers = range(self._partitions.get(route.source, 0), found.sources[route.source].partitions)
        starts = offsets(self._source, [TopicPartition(route.source, n) for n in numbers], EARLIEST)
        spans = {tp: Span(start) for tp, start in starts.items()}
        copies = partition_copies(
            found, None, spans, {}, ends, by_key=self._selection.by_key, on_recreate="fail"
        )
        identify(self._target, copies)
        for copy in copies if route.source in self._back else ():
            copy.restarted = True
        self._back.discard(route.source)
        return copies

    def _objection(self, route: Route, findings: Findings, ends: Ends) -> KcliError | None:
        what = f"topic {route.source} has been created since and is not copied"
        if route.source in self._topics:
            what = f"topic {route.source} has more partitions now, which are not copied"
        denied, conflicts = _of(route, findings.denied), _of(route, findings.conflicts)
        if denied:
            why = "permission missing: " + "; ".join(finding.what for finding in denied)
            return AuthError(what, why=why, do="grant it and start the mirror again")
        if conflicts:
            why = "; ".join(finding.what for finding in conflicts)
            return ConflictError(what, why=why, do=conflicts[0].do)
        if route.source not in self._topics and not self._may_fill and ends.has_records(route.target):
            why = f"topic {route.target} of the target has records already"
            return ConflictError(what, why=why, do="start the mirror again to confirm it")
        return None


def _of(route: Route, findings: list[F]) -> list[F]:
    return [finding for finding in findings if finding.route == route]
