"""What an export does next: from what its folder has, and where partitions end now. Pure but for ``missing_files``."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain, groupby

import msgspec

from kcli.core.admin.topics import id_bytes, id_text
from kcli.core.errors import DataLossError, KcliError, NotInLogDirsError
from kcli.core.exit_codes import ExitCode
from kcli.core.types import TopicPartition
from kcli.output.progress import counted
from kcli.pipeline.manifest import (
    TOPIC_ADDED,
    TOPIC_DELETED,
    TOPIC_RECREATED,
    Change,
    EmptyRange,
    ExportedFile,
    ExportedPartition,
    ExportedTopic,
    ExportPlan,
    Gap,
    Manifest,
    PlannedSlice,
    Request,
    new_manifest,
    new_plan,
    place_of,
)
from kcli.pipeline.plan import Slice
from kcli.pipeline.store.store import Store, sizes


class OtherExportError(KcliError):
    """The folder holds something else."""

    exit_code = ExitCode.REFUSED


def check_same(
    found: Manifest | ExportPlan,
    folder: str,
    cluster: str,
    form: str,
    request: Request,
    ids: Mapping[str, str],
    do: str = "",
) -> None:
    """OtherExportError if the folder holds another export. ``ids``: of the topics that exist now, which are compared;
    ``do``: what else may be done where one of them is another one.
    """
    why, otherwise = "", "name another folder"
    if found.cluster != cluster:
        why = f"it is of cluster {found.cluster}, and this is cluster {cluster}"
    elif found.format != form:
        why = f"its format is {found.format}, not {form}"
    elif found.request != request:
        why = f"it was begun with {_words(found.request)}, not with {_words(request)}"
    else:
        other = [one for one in found.topics if ids.get(one.topic, one.topic_id) != one.topic_id]
        if other:
            why = (
                f"its topic {other[0].topic} (id {other[0].topic_id}) was deleted; the one of this name now has "
                f"id {ids[other[0].topic]}"
            )
            otherwise = do or otherwise
    if why:
        raise OtherExportError(f"{folder} holds another export", why=why, do=otherwise)


def _words(request: Request) -> str:
    named = {
        "--partitions": request.partitions,
        "--offset": request.offset,
        "--since": request.since,
        "--until": request.until,
        "--partition-by": request.partition_by,
    }
    options = [f"{name} {value}" for name, value in named.items() if value is not None]
    options += ["--exact-times"] if request.exact_times else []
    options += ["--typed", *(f"-s {serde}" for serde in request.serdes)] if request.typed else []
    return " ".join([*request.topics, *options])


def never_there(
    found: Iterable[Manifest | ExportPlan], wanted: Collection[int] | None, folder: str
) -> list[NotInLogDirsError]:
    """An error for each partition that log directories did not have when the export was begun: its number is ``wanted``,
    or lower than another one's.
    """
    numbers: dict[str, set[int]] = {}
    for tp, _one in chain.from_iterable(one.partitions() for one in found):
        numbers.setdefault(tp.topic, set()).add(tp.partition)
    return [
        NotInLogDirsError(
            f"{TopicPartition(topic, number)} is not in {folder}",
            why="the log directories had no folder of it when the export was begun",
            do="export it to another folder, from the log directories that have it",
        )
        for topic, there in numbers.items()
        for number in sorted(set(range(max(there)) if wanted is None else wanted) - there)
    ]


def gaps_of(slices: Iterable[Slice], manifest: Manifest | None) -> dict[TopicPartition, Gap]:
    """What was removed since it was exported up to there: the logs begin later now. Topics and partitions that were not
    there before have begun at 0.
    """
    if manifest is None:
        return {}
    ends = {tp: one.end for tp, one in manifest.partitions()}
    return {each.tp: Gap(at, each.start) for each in slices if each.start > (at := ends.get(each.tp, 0))}


def recreated_topics(manifest: Manifest | None, ids: Mapping[str, str]) -> list[ExportedTopic]:
    """The topics that were deleted and created again since they were exported. ``ids``: of those that exist now."""
    topics = manifest.topics if manifest is not None else []
    return [topic for topic in topics if ids.get(topic.topic, topic.topic_id) != topic.topic_id]


def without_topics(manifest: Manifest, names: Collection[str]) -> Manifest:
    """What a plan goes on from where these topics are others now: nothing of them is exported yet."""
    return msgspec.structs.replace(
        manifest, topics=[topic for topic in manifest.topics if topic.topic not in names]
    )


def with_folders(
    topics: Iterable[ExportedTopic], manifest: Manifest | None, recreated: Collection[str]
) -> list[ExportedTopic]:
    """The planned topics with the folders that they have; those that were created again get one of their own."""
    known = {topic.topic: topic.folder for topic in manifest.topics} if manifest is not None else {}
    return [
        msgspec.structs.replace(
            one, folder=one.full_name if one.topic in recreated else known.get(one.topic, "")
        )
        for one in topics
    ]


def lost_with(topic: ExportedTopic) -> DataLossError:
    """The error for what a topic had when it was deleted, and was not exported."""
    ends = ", ".join(f"{one.partition}: {one.end}" for one in topic.partitions)
    return DataLossError(
        f"topic {topic.topic} was deleted and created again",
        why=f"what the deleted topic (id {topic.topic_id}) had after these offsets was not exported, if anything: {ends}",
    )


def removed(tp: TopicPartition, gaps: Sequence[Gap], *, recorded: bool = False) -> DataLossError:
    """The error for records that are not in an export any more. ``recorded``: the export has the gap."""
    ranges = ", ".join(f"{gap.start} to {gap.end - 1}" for gap in gaps)
    return DataLossError(
        f"{tp}: {counted(sum(gap.end - gap.start for gap in gaps), 'offset')} missing",
        why=f"offsets {ranges} were removed before they were exported",
        do="" if recorded else "--on-gap record exports what is left and reports the gap",
    )


def next_slices(
    slices: Iterable[Slice], manifest: Manifest | None, gaps: Mapping[TopicPartition, Gap]
) -> list[Slice]:
    """The ranges after those that were exported, and after gaps; DataLossError where a log ends before them, or is
    another topic's.
    """
    done = dict(manifest.partitions()) if manifest is not None else {}
    ids = {topic.topic: topic.topic_id for topic in manifest.topics} if manifest is not None else {}
    found = []
    for each in slices:
        if ids.get(each.topic, id_text(each.topic_id)) != id_text(each.topic_id):
            raise DataLossError(
                f"topic {each.topic} was deleted and created again",
                why="what is exported is of the topic that is gone",
                do="export the new topic to another folder",
            )
        one = done.get(each.tp)
        if one is None:
            found.append(each)
            continue
        if each.end < one.end:
            raise DataLossError(
                f"{each.tp}: the log ends at offset {each.end}",
                why=f"it was exported up to offset {one.end}: the partition lost records",
                do="export it to another folder",
            )
        found.append(each._replace(start=gaps[each.tp].end if each.tp in gaps else one.end))
    return found


def part_topics(
    slices: Sequence[Slice],
    configs: Mapping[str, Mapping[str, str]],
    manifest: Manifest | None,
    gaps: Mapping[TopicPartition, Gap],
) -> list[ExportedTopic]:
    """What a part has, without files: the ranges of ``next_slices`` with their gaps, of partitions that have anything
    new, and topics whose configuration is another one.
    """
    before = {topic.topic: topic for topic in manifest.topics} if manifest is not None else {}
    known = dict(manifest.partitions()) if manifest is not None else {}
    found = []
    for topic in planned_topics(slices, configs, None):
        after_gaps = [
            (tp, _after_gap(one, gaps.get(tp)))
            for one in topic.partitions
            for tp in [TopicPartition(topic.topic, one.partition)]
        ]
        partitions = [one for tp, one in after_gaps if one.end > one.start or tp not in known]
        old = before.get(topic.topic)
        config = topic.config or (old.config if old is not None else {})  # empty: it could not be read
        if partitions or old is None or config != old.config:
            found.append(msgspec.structs.replace(topic, config=config, partitions=partitions))
    return found


def _after_gap(one: ExportedPartition, gap: Gap | None) -> ExportedPartition:
    return one if gap is None else msgspec.structs.replace(one, start=gap.start, gaps=[gap])


def changes_of(
    topics: Iterable[ExportedTopic],
    names: Collection[str],
    manifest: Manifest | None,
    at: str,
    recreated: Collection[str] = (),
) -> list[Change]:
    """What is different now. ``topics``: the planned ones, of which all ``names`` exist."""
    if manifest is None:
        return []
    known = dict(manifest.partitions())
    before = {topic.topic: topic for topic in manifest.topics}
    last = {change.topic: change.change for change in manifest.changes if change.partition is None}
    found = [
        Change(TOPIC_DELETED, name, at)
        for name in before
        if name not in names and last.get(name) != TOPIC_DELETED
    ]
    for topic in topics:
        if topic.topic in recreated:
            found.append(Change(TOPIC_RECREATED, topic.topic, at))
            continue
        if topic.topic not in before:
            found.append(Change(TOPIC_ADDED, topic.topic, at))
            continue
        if topic.config != before[topic.topic].config:
            found.append(Change("configuration changed", topic.topic, at))
        found += [
            Change("partition added", topic.topic, at, one.partition)
            for one in topic.partitions
            if TopicPartition(topic.topic, one.partition) not in known
        ]
    return found


def without_removed(
    plan: ExportPlan, starts: Mapping[TopicPartition, int], is_written: Callable[[PlannedSlice], bool]
) -> ExportPlan:
    """The plan of a run that was killed, with gaps for what was removed since, of files that are not written.
    ``starts``: of the logs now; those that are not in it were deleted.
    """
    slices: list[PlannedSlice] = []
    gaps: dict[TopicPartition, list[Gap]] = {}
    for one in plan.slices:
        start = min(one.end, starts.get(one.tp, one.end))
        if start <= one.start or is_written(one):
            slices.append(one)
            continue
        gaps.setdefault(one.tp, []).append(Gap(one.start, start))
        if start < one.end:
            slices.append(msgspec.structs.replace(one, start=start))
    topics = [
        msgspec.structs.replace(
            topic,
            partitions=[
                msgspec.structs.replace(
                    one, gaps=[*one.gaps, *gaps.get(TopicPartition(topic.topic, one.partition), [])]
                )
                for one in topic.partitions
            ],
        )
        for topic in plan.topics
    ]
    return msgspec.structs.replace(plan, slices=slices, topics=topics)


def planned_topics(
    slices: Sequence[Slice], configs: Mapping[str, Mapping[str, str]], manifest: Manifest | None
) -> list[ExportedTopic]:
    """The topics as they will be, without files: ``slices`` has one for each partition that is there now. What the
    manifest has besides stays in it.
    """
    known = dict(manifest.partitions()) if manifest is not None else {}
    found = []
    for topic, of_one in groupby(sorted(slices), key=lambda each: each.topic):
        parts = list(of_one)
        partitions = [
            msgspec.structs.replace(known[each.tp], end=each.end, records=0, files=[])
            if each.tp in known
            else ExportedPartition(each.partition, each.start, each.end, 0, [])
            for each in parts
        ]
        found.append(ExportedTopic(topic, id_text(parts[0].topic_id), dict(configs[topic]), partitions))
    names = {topic.topic for topic in found}
    gone = [topic for topic in manifest.topics if topic.topic not in names] if manifest is not None else []
    return sorted([*found, *map(_without_files, gone)], key=lambda topic: topic.topic)


def _without_files(topic: ExportedTopic) -> ExportedTopic:
    return msgspec.structs.replace(
        topic, partitions=[msgspec.structs.replace(one, records=0, files=[]) for one in topic.partitions]
    )


def planned_slices(slices: Iterable[Slice], topics: Iterable[ExportedTopic] = ()) -> list[PlannedSlice]:
    """The files to come, of planned topics; an empty range has none."""
    folders = {topic.topic: topic.folder for topic in topics}
    return [
        PlannedSlice(
            each.topic,
            id_text(each.topic_id),
            each.partition,
            each.start,
            each.end,
            folders.get(each.topic, ""),
        )
        for each in slices
        if each.offsets
    ]


def planned_again(manifest: Manifest, missing: Sequence[ExportedFile]) -> ExportPlan:
    """A plan for files that the manifest names and that were removed."""
    paths = {file.path for file in missing}
    slices = [
        PlannedSlice(topic.topic, topic.topic_id, one.partition, file.start, file.end, topic.folder)
        for topic in manifest.topics
        for one in topic.partitions
        for file in one.files
        if file.path in paths
    ]
    return new_plan(
        manifest.cluster,
        manifest.format,
        manifest.created,
        manifest.request,
        list(map(_without_files, manifest.topics)),
        slices,
        manifest.times,
    )


def slice_of(one: PlannedSlice) -> Slice:
    """The slice as a range that can be divided."""
    return Slice(one.topic, id_bytes(one.topic_id), one.partition, one.start, one.end)


def written(plan: ExportPlan, manifest: Manifest | None) -> bool:
    """Whether the manifest has the files of the plan already: the run was killed before it removed the plan. The ranges
    of a partitioned export follow those of the manifest, and none is ever written again.
    """
    files = {file.path for file in manifest.files} if manifest is not None else set()
    ends = {tp: one.end for tp, one in manifest.partitions()} if manifest is not None else {}
    by_end = plan.request.partition_by is not None
    return (
        manifest is not None
        and plan.settings in (None, manifest.settings)
        and plan.groups in (None, manifest.groups)
        and all(
            one.end <= ends.get(one.tp, -1) if by_end else one.path(plan.format) in files
            for one in plan.slices
        )
        and all(
            TopicPartition(topic.topic, one.partition) in ends
            for topic in plan.topics
            for one in topic.partitions
        )
    )


def finished(
    plan: ExportPlan,
    manifest: Manifest | None,
    files: Iterable[ExportedFile],
    empty: Iterable[PlannedSlice] = (),
) -> Manifest:
    """The manifest after the plan was carried out. ``empty``: the ranges of a partitioned export without a file."""
    known = {file.path: file for file in manifest.files} if manifest is not None else {}
    known |= {file.path: file for file in files}
    by_partition: dict[TopicPartition, list[ExportedFile]] = {}
    for file in sorted(known.values(), key=lambda file: (file.start, file.end, file.first, file.path)):
        place = place_of(file.path)
        assert place is not None  # as it was made, or checked
        by_partition.setdefault(place.tp, []).append(file)
    empties: dict[TopicPartition, list[EmptyRange]] = {}
    for one in empty:
        empties.setdefault(TopicPartition(one.folder or one.topic, one.partition), []).append(
            EmptyRange(one.start, one.end)
        )
    topics = [
        msgspec.structs.replace(
            topic,
            partitions=[
                _with_files(one, by_partition.get(tp, []), empties.get(tp, []))
                for one in topic.partitions
                for tp in [TopicPartition(topic.folder or topic.topic, one.partition)]
            ],
        )
        for topic in plan.topics
    ]
    changes = [*manifest.changes, *plan.changes] if manifest is not None else plan.changes
    after = new_manifest(
        plan.cluster,
        plan.format,
        plan.created,
        plan.request,
        topics,
        plan.times,
        changes,
        plan.appended,
    )
    settings, groups = plan.settings, plan.groups
    if manifest is not None:
        settings, groups = settings or manifest.settings, groups or manifest.groups
    earlier = manifest.earlier if manifest is not None else []
    return msgspec.structs.replace(after, settings=settings, groups=groups, earlier=earlier)


def _with_files(
    one: ExportedPartition, files: list[ExportedFile], empty: list[EmptyRange]
) -> ExportedPartition:
    return msgspec.structs.replace(
        one, files=files, records=sum(file.records for file in files), empty=[*one.empty, *empty]
    )


def missing_files(manifest: Manifest, store: Store) -> list[ExportedFile]:
    """The files that were removed since; OtherExportError for one that has another size."""
    missing, files = [], manifest.files
    for file, size in zip(files, sizes(store, [file.path for file in files]), strict=True):
        if size is None:
            missing.append(file)
        elif size != file.bytes:
            raise OtherExportError(
                f"{store.name(file.path)} was changed",
                why=f"it has {size} bytes, and {file.bytes} when it was exported",
                do="remove it, and run the export again: it is written anew",
            )
    return missing


def gone_for_good(
    manifest: Manifest, missing: Sequence[ExportedFile], ids: Mapping[str, str], store: Store
) -> None:
    """OtherExportError for a file that cannot be written again: its topic does not exist any more."""
    gone = [topic for topic in manifest.topics if ids.get(topic.topic) != topic.topic_id]
    lost = {
        file.path for topic in (*gone, *manifest.earlier) for one in topic.partitions for file in one.files
    }
    for file in missing:
        if file.path in lost:
            raise OtherExportError(
                f"{store.name(file.path)} is not there",
                why="its topic was deleted since: it cannot be written again",
                do="restore the file from a copy",
            )
