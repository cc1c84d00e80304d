"""What an export does next: from what its folder has, and where partitions end now. Pure but for ``missing_files``."""

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import groupby

import msgspec

from kcli.core.admin.topics import id_bytes, id_text
from kcli.core.errors import DataLossError, KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.types import TopicPartition
from kcli.output.progress import counted
from kcli.pipeline.manifest import (
    TOPIC_ADDED,
    TOPIC_DELETED,
    Change,
    ExportedFile,
    ExportedPartition,
    ExportedTopic,
    ExportPlan,
    Gap,
    Manifest,
    PlannedSlice,
    Request,
    file_path,
    new_manifest,
    new_plan,
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
) -> None:
    """OtherExportError if the folder holds another export. ``ids``: of the topics that exist now."""
    why = ""
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
    if why:
        raise OtherExportError(f"{folder} holds another export", why=why, do="name another folder")


def _words(request: Request) -> str:
    named = {
        "--partitions": request.partitions,
        "--offset": request.offset,
        "--since": request.since,
        "--until": request.until,
    }
    options = [f"{name} {value}" for name, value in named.items() if value is not None]
    options += ["--exact-times"] if request.exact_times else []
    return " ".join([*request.topics, *options])


def gaps_of(slices: Iterable[Slice], manifest: Manifest | None) -> dict[TopicPartition, Gap]:
    """What was removed since it was exported up to there: the logs begin later now."""
    ends = {tp: one.end for tp, one in manifest.partitions()} if manifest is not None else {}
    return {
        each.tp: Gap(ends[each.tp], each.start)
        for each in slices
        if each.start > ends.get(each.tp, each.start)
    }


def removed(tp: TopicPartition, gaps: Sequence[Gap]) -> DataLossError:
    """The error for records that are not in an export any more."""
    ranges = ", ".join(f"{gap.start} to {gap.end - 1}" for gap in gaps)
    return DataLossError(
        f"{tp}: {counted(sum(gap.end - gap.start for gap in gaps), 'offset')} missing",
        why=f"offsets {ranges} were removed before they were exported",
        do="--on-gap record exports what is left and reports the gap",
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
    topics: Iterable[ExportedTopic], names: Collection[str], manifest: Manifest | None, at: str
) -> list[Change]:
    """What is different now. ``topics``: the planned ones, of which all ``names`` exist."""
    if manifest is None:
        return []
    known = dict(manifest.partitions())
    before = {topic.topic: topic for topic in manifest.topics}
    deleted = {change.topic for change in manifest.changes if change.change == TOPIC_DELETED}
    found = [Change(TOPIC_DELETED, name, at) for name in before if name not in names and name not in deleted]
    for topic in topics:
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
    ``starts``: of the logs now.
    """
    slices: list[PlannedSlice] = []
    gaps: dict[TopicPartition, list[Gap]] = {}
    for one in plan.slices:
        start = min(one.end, starts.get(one.tp, 0))
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
            ExportedPartition(each.partition, known[each.tp].start, each.end, 0, [], known[each.tp].gaps)
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


def planned_slices(slices: Iterable[Slice]) -> list[PlannedSlice]:
    """The files to come; an empty range has none."""
    return [
        PlannedSlice(each.topic, id_text(each.topic_id), each.partition, each.start, each.end)
        for each in slices
        if each.offsets
    ]


def planned_again(manifest: Manifest, missing: Sequence[ExportedFile]) -> ExportPlan:
    """A plan for files that the manifest names and that were removed."""
    paths = {file.path for file in missing}
    slices = [
        PlannedSlice(topic.topic, topic.topic_id, one.partition, file.start, file.end)
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
    """Whether the manifest has the files of the plan already: the run was killed before it removed the plan."""
    files = {file.path for file in manifest.files} if manifest is not None else set()
    ends = {tp: one.end for tp, one in manifest.partitions()} if manifest is not None else {}
    return (
        manifest is not None
        and plan.settings in (None, manifest.settings)
        and plan.groups in (None, manifest.groups)
        and all(path_of(one, plan.format) in files for one in plan.slices)
        and all(
            TopicPartition(topic.topic, one.partition) in ends
            for topic in plan.topics
            for one in topic.partitions
        )
    )


def path_of(one: PlannedSlice, form: str) -> str:
    """The file of a slice."""
    return file_path(one.topic, one.partition, one.start, one.end, form)


def finished(plan: ExportPlan, manifest: Manifest | None, files: Iterable[ExportedFile]) -> Manifest:
    """The manifest after the plan was carried out."""
    known = {file.path: file for file in manifest.files} if manifest is not None else {}
    known |= {file.path: file for file in files}
    by_folder: dict[str, list[ExportedFile]] = {}
    for file in sorted(known.values(), key=lambda file: file.path):
        by_folder.setdefault(os.path.dirname(file.path), []).append(file)
    topics = [
        msgspec.structs.replace(
            topic,
            partitions=[
                _with_files(one, by_folder.get(f"topic={topic.topic}/partition={one.partition}", []))
                for one in topic.partitions
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
    return msgspec.structs.replace(after, settings=settings, groups=groups)


def _with_files(one: ExportedPartition, files: list[ExportedFile]) -> ExportedPartition:
    return msgspec.structs.replace(one, files=files, records=sum(file.records for file in files))


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
