"""Which files of an export are merged into one, and the manifest afterwards. Pure."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from kcli.core.types import TopicPartition
from kcli.pipeline.manifest import ExportedFile, ExportedPartition, Manifest, PlannedSlice

MERGED_BYTES = 128 << 20
"""At most of a file that is made of others: what runs of the next days merge again is bounded by it."""


class Merge(NamedTuple):
    """Files of a partition that follow each other, two at least. ``whole`` is the range of the file to be made."""

    whole: PlannedSlice
    files: tuple[ExportedFile, ...]

    def path(self, form: str) -> str:
        """The file to be made."""
        return self.whole.path(form)


def merges_of(manifest: Manifest) -> list[Merge]:
    """The files to be merged, the largest first. A gap is not merged over; files of ``earlier`` stay as they are."""
    found = [
        Merge(
            PlannedSlice(
                topic.topic, topic.topic_id, one.partition, files[0].start, files[-1].end, topic.folder
            ),
            tuple(files),
        )
        for topic in manifest.topics
        for one in topic.partitions
        for files in _neighbours(one)
    ]
    return sorted(found, key=lambda merge: -sum(file.bytes for file in merge.files))


def _neighbours(one: ExportedPartition) -> Iterator[list[ExportedFile]]:
    group: list[ExportedFile] = []
    for file in one.files:
        size = sum(each.bytes for each in group) + file.bytes
        if group and (group[-1].end != file.start or size > MERGED_BYTES):
            if len(group) > 1:
                yield group
            group = []
        group.append(file)
    if len(group) > 1:
        yield group


def compacted(manifest: Manifest, merged: Iterable[tuple[Merge, ExportedFile]]) -> Manifest:
    """The manifest with each merged file in the place of those it is made of."""
    begins: dict[tuple[TopicPartition, int], ExportedFile] = {}
    gone = set()
    for merge, file in merged:
        begins[merge.whole.tp, file.start] = file
        gone |= {each.path for each in merge.files}

    def of_partition(topic: str, one: ExportedPartition) -> ExportedPartition:
        tp = TopicPartition(topic, one.partition)
        found = [begins.get((tp, file.start), file) if file.path in gone else file for file in one.files]
        return msgspec.structs.replace(one, files=[file for file in found if file.path not in gone])

    topics = [
        msgspec.structs.replace(
            topic, partitions=[of_partition(topic.topic, one) for one in topic.partitions]
        )
        for topic in manifest.topics
    ]
    return msgspec.structs.replace(manifest, topics=topics)
