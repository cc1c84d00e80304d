"""Which files of an export are merged into one, and the manifest afterwards. Pure."""

from collections.abc import Iterable, Iterator

import msgspec

from kcli.core.classes import NamedTuple
from kcli.pipeline.manifest import ExportedFile, ExportedPartition, Manifest, PlannedSlice, place_of

MERGED_BYTES = 128 << 20
"""At most of a file that is made of others: what runs of the next days merge again is bounded by it."""


class Merge(NamedTuple):
    """Files of a partition that follow each other, two at least, of a partitioned export in one of its folders. ``whole``
    is the range of the file to be made.
    """

    whole: PlannedSlice
    files: tuple[ExportedFile, ...]

    def path(self, form: str) -> str:
        """The file to be made. Where its range is that of a file it is made of, which has that name, it has a number."""
        one, places = self.whole, [place for file in self.files if (place := place_of(file.path)) is not None]
        same = [place.number for place in places if (place.start, place.end) == (one.start, one.end)]
        number = max(same, default=0) + 1
        return one.path(form, places[0].folder, number)


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
    """Files that may be merged. A folder of a partitioned export has no file of some ranges between two of its files, and
    several of others, which stay together: a range is never in two files of different names.
    """
    by_folder: dict[str, list[list[ExportedFile]]] = {}
    for file in sorted(one.files, key=lambda file: (file.start, file.first)):
        units = by_folder.setdefault(file.path.rpartition("/")[0], [])
        if units and units[-1][0].start == file.start:
            units[-1].append(file)
        else:
            units.append([file])
    gaps = sorted(gap.start for gap in one.gaps)
    for units in by_folder.values():
        group: list[ExportedFile] = []
        for unit in units:
            size = sum(file.bytes for file in (*group, *unit))
            over_gap = bool(group) and any(group[-1].end <= gap < unit[0].start for gap in gaps)
            if group and (over_gap or size > MERGED_BYTES):
                if len(group) > 1:
                    yield group
                group = []
            group += unit
        if len(group) > 1:
            yield group


def compacted(manifest: Manifest, merged: Iterable[tuple[Merge, ExportedFile]]) -> Manifest:
    """The manifest with each merged file in the place of those it is made of."""
    made: dict[str, ExportedFile] = {}
    gone = set()
    for merge, file in merged:
        made[merge.files[0].path] = file
        gone |= {each.path for each in merge.files}

    def of_partition(one: ExportedPartition) -> ExportedPartition:
        found = [made.get(file.path, file) for file in one.files]
        return msgspec.structs.replace(one, files=[file for file in found if file.path not in gone])

    topics = [
        msgspec.structs.replace(topic, partitions=[of_partition(one) for one in topic.partitions])
        for topic in manifest.topics
    ]
    return msgspec.structs.replace(manifest, topics=topics)
