"""The proof of a mirror: the ends of both sides are pinned, then they are read and compared, partition by partition.

The order of the looks lets a job run meanwhile: its saved positions, then the target's ends, then the source's. So what
the target has after a position is known to be on the source, and what is copied later is after the ends.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from kcli.core.admin.admin import Admin
from kcli.core.classes import NamedTuple
from kcli.core.cluster.offsets import EARLIEST, LATEST, OffsetInfo
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.fetcher import OutOfRangeError
from kcli.core.errors import ConfigError, KcliError
from kcli.core.kernels.shapes import Row
from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy.offset_map import OffsetMap
from kcli.flows.mirror.copy.origin import was_on, without_origin
from kcli.flows.mirror.copy.partition_copy import PartitionCopy
from kcli.flows.mirror.proof.compacted import Compacted
from kcli.flows.mirror.proof.compare import (
    AS_STORED,
    MOST_TOLD_APART,
    Comparison,
    Extent,
    Pair,
    View,
    compare,
)
from kcli.flows.mirror.settings import Cluster, Observer
from kcli.flows.mirror.topics.survey import Survey
from kcli.flows.stop import Stop

_TRIES = 3  # while retention removes what is being compared


class Log(NamedTuple):
    """The offsets of a partition: its first one, where its readable records end, and its high watermark."""

    start: int
    stable: int
    high: int


class Proof(NamedTuple):
    """What is compared. ``whole``: the topics of the source of which no job knows which offsets correspond: all of them,
    and of their copies.

    ``to_end``: what the source has after the position should have been copied. ``follows``: a mirror is copying now, so
    the target may get more. ``limited``: somebody named the source offset at which the copies end.
    """

    whole: Collection[str] = ()
    to_end: bool = False
    follows: bool = False
    limited: bool = False
    view: View = AS_STORED


class Clusters(NamedTuple):
    """Both sides, with the admins that look up their ends, and what makes a consumer of one."""

    source: Cluster
    target: Cluster
    source_admin: Admin
    target_admin: Admin
    reader: Callable[[Cluster], Consumer]


def logs(admin: Admin, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Log | KcliError]:
    """The ends of these partitions, or why they are not known."""
    wanted = list(partitions)
    if not wanted:
        return {}
    found = [
        admin.list_offsets(dict.fromkeys(wanted, which), committed_only=committed)
        for which, committed in ((EARLIEST, False), (LATEST, True), (LATEST, False))
    ]
    made: dict[TopicPartition, Log | KcliError] = {}
    for tp in wanted:
        offsets = [one[tp] for one in found]
        error = next((one for one in offsets if not isinstance(one, OffsetInfo)), None)
        made[tp] = error or Log(*(one.offset for one in offsets if isinstance(one, OffsetInfo)))
    return made


def view_of(survey: Survey, *, headers: bool) -> View:
    """How the records of a job are compared: without the headers that it adds, and those that it does not copy back."""
    if not headers:
        return AS_STORED

    def source(row: Row) -> Row | None:
        return None if was_on(row, survey.target_cluster) else row

    def target(row: Row) -> Row:
        return without_origin(row, survey.source_cluster)

    return View(source, target)


def compacted_topics(survey: Survey) -> set[str]:
    """The topics of the source that are compacted there or on the target."""
    return {
        route.source
        for route in survey.routes
        for facts in (survey.sources.get(route.source), survey.targets.get(route.target))
        if facts is not None and "compact" in facts.configs.get("cleanup.policy", "")
    }


def compare_copies(
    observer: Observer,
    clusters: Clusters,
    copies: Sequence[PartitionCopy],
    proof: Proof,
    compacted: Collection[str],
    stop: Stop,
    timeout: float,
) -> list[Comparison]:
    """Compares what the job has copied, and the source still has, with the target. ``compacted``: the topics of the
    source that are compared by key. Partitions with an error are not compared.

    What cannot be read is an error of its comparison. ConfigError for a job that chooses partitions by key.
    """
    if any(copy.offsets is None for copy in copies):
        raise ConfigError(
            "partitions that were chosen by key cannot be compared one by one",
            why="the records of one partition are in several",
            do="leave --verify out",
        )
    left, right = clusters.reader(clusters.source), clusters.reader(clusters.target)
    for side, consumer in ((clusters.source, left), (clusters.target, right)):
        with observer.contact(side.servers):
            consumer.connect(timeout)
    found: dict[TopicPartition, Comparison] = {}
    left_over = [copy for copy in copies if copy.error is None]
    for _ in range(_TRIES):
        some = _compare(observer, clusters, (left, right), left_over, proof, compacted, stop, timeout)
        found |= some
        left_over = [
            copy for copy in left_over if isinstance(some[copy.source].error, OutOfRangeError) and not stop
        ]
        if not left_over:
            break
    return [found[copy.source] for copy in copies if copy.source in found]


def _compare(
    observer: Observer,
    clusters: Clusters,
    consumers: tuple[Consumer, Consumer],
    copies: Sequence[PartitionCopy],
    proof: Proof,
    compacted: Collection[str],
    stop: Stop,
    timeout: float,
) -> dict[TopicPartition, Comparison]:
    """One try, with the ends of now."""
    there = logs(clusters.target_admin, [copy.target for copy in copies])
    here = logs(clusters.source_admin, [copy.source for copy in copies])
    planned, failed = _planned(copies, here, there, proof, compacted)
    in_order = [one.pair for one in planned.values() if not one.by_key]
    made = dict(failed)
    with observer.progress("compared") as bar:
        results = compare(
            *consumers,
            in_order,
            timestamps=True,
            stop=stop,
            progress=lambda done: bar.update(
                min(done.source, done.target), 0, done.target / done.total if done.total else None
            ),
            view=proof.view,
            patience=timeout,
        )
        compared = sum(one.source_records for one in results)

        def end_of(tp: TopicPartition, of_source: bool) -> int:
            found = logs(clusters.source_admin if of_source else clusters.target_admin, [tp])[tp]
            if isinstance(found, KcliError):
                raise found
            return found.stable

        by_key = Compacted(
            *consumers,
            stop,
            end=end_of,
            progress=lambda read: bar.update(compared + read, 0, None),
            view=proof.view,
            patience=timeout,
        )
        results += [by_key.compare(one.pair) for one in planned.values() if one.by_key]
    for result in results:
        plan = planned[result.pair.source.tp]
        result.deleted += plan.deleted
        result.removed += plan.removed
        result.held_source, result.held_target = plan.held_source, plan.held_target
        made[result.pair.source.tp] = result
    return made


def _planned(
    copies: Sequence[PartitionCopy],
    here: Mapping[TopicPartition, Log | KcliError],
    there: Mapping[TopicPartition, Log | KcliError],
    proof: Proof,
    compacted: Collection[str],
) -> tuple[dict[TopicPartition, Comparison], dict[TopicPartition, Comparison]]:
    """What is compared of each partition, and those of which an end is not known."""
    planned: dict[TopicPartition, Comparison] = {}
    failed: dict[TopicPartition, Comparison] = {}
    for copy in copies:
        ours, theirs = here[copy.source], there[copy.target]
        if isinstance(ours, KcliError) or isinstance(theirs, KcliError):
            error = ours if isinstance(ours, KcliError) else theirs
            pair = Pair(Extent(copy.source, 0, 0), Extent(copy.target, 0, 0))
            assert isinstance(error, KcliError)
            failed[copy.source] = Comparison(pair, error=error)
        else:
            planned[copy.source] = planned_comparison(
                copy, ours, theirs, proof, by_key=copy.source.topic in compacted
            )
    return planned, failed


def planned_comparison(
    copy: PartitionCopy, here: Log, there: Log, proof: Proof, *, by_key: bool
) -> Comparison:
    """The offsets that are compared of one partition, and what only one side still has. Pure.

    From the later one of both log starts on: what retention has removed on one side is counted. The end of the target may
    be before the last copied record, whose transaction is committed and not yet readable.
    """
    offsets, source, target = copy.offsets, copy.source, copy.target
    assert offsets is not None
    held = here.high - here.stable, there.high - there.stable
    if source.topic in proof.whole:
        stop = here.stable if copy.stop is None else min(copy.stop, here.stable)
        pair = Pair(Extent(source, here.start, stop), Extent(target, there.start, there.stable))
        return Comparison(pair, by_key=by_key, held_source=held[0], held_target=held[1])
    start, stop = max(offsets.start, here.start), copy.position
    if proof.to_end:
        stop = max(
            stop, min(copy.stop, here.stable) if proof.limited and copy.stop is not None else here.stable
        )
    end = offsets.target_end if proof.limited else max(offsets.target_end, there.stable)
    if by_key:
        begin = max(offsets.target_start, there.start)
        end = offsets.target_end if proof.follows else end
        pair = Pair(Extent(source, start, stop), Extent(target, begin, end), offsets, here.stable)
        return Comparison(pair, by_key=True, held_source=held[0], held_target=held[1])
    removed = offsets.copied(offsets.source_from(there.start), start)
    deleted = 0
    first = _translated(offsets, start)
    if there.start > first:
        kept = offsets.source_from(there.start)
        deleted, start, first = offsets.copied(start, kept), max(start, kept), there.start
    elif (
        start == offsets.start
    ):  # runs that were killed before they saved a position have left their records before it
        began = max(offsets.target_start, there.start)
        first = there.start if first - there.start <= MOST_TOLD_APART else began
    pair = Pair(Extent(source, start, stop), Extent(target, min(first, end), end), offsets, here.stable)
    return Comparison(pair, deleted=deleted, removed=removed, held_source=held[0], held_target=held[1])


def _translated(offsets: OffsetMap, start: int) -> int:
    found = offsets.translate(start)
    return found if isinstance(found, int) else offsets.target_end
