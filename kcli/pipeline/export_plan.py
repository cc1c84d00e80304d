"""What an export does next: from what its folder has, and where partitions end now. Pure but for ``missing_files``."""

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

import msgspec

from kcli.core.admin.topics import id_bytes, id_text
from kcli.core.errors import DataLossError, KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.types import TopicPartition
from kcli.pipeline.manifest import (
    ExportedFile,
    ExportedPartition,
    ExportedTopic,
    ExportPlan,
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


def next_slices(slices: Iterable[Slice], manifest: Manifest | None) -> list[Slice]:
    """The ranges after those that were exported; DataLossError where a log ends before them, or is another topic's."""
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
        found.append(each._replace(start=one.end))
    return found


def planned_topics(
    slices: Sequence[Slice], configs: Mapping[str, Mapping[str, str]], manifest: Manifest | None
) -> list[ExportedTopic]:
    """The topics as they will be, without files: ``slices`` has one for each partition."""
    begun = {tp: one.start for tp, one in manifest.partitions()} if manifest is not None else {}
    found = []
    for topic, of_one in groupby(sorted(slices), key=lambda each: each.topic):
        parts = list(of_one)
        partitions = [
            ExportedPartition(each.partition, begun.get(each.tp, each.start), each.end, 0, [])
            for each in parts
        ]
        found.append(ExportedTopic(topic, id_text(parts[0].topic_id), dict(configs[topic]), partitions))
    return found


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
    topics = [
        msgspec.structs.replace(
            topic,
            partitions=[msgspec.structs.replace(one, records=0, files=[]) for one in topic.partitions],
        )
        for topic in manifest.topics
    ]
    return new_plan(
        manifest.cluster,
        manifest.format,
        manifest.created,
        manifest.request,
        topics,
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
    return new_manifest(plan.cluster, plan.format, plan.created, plan.request, topics, plan.times)


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
