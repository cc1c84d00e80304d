"""The metadata image from the folders of ``__cluster_metadata`` among those that were found."""

import os
from collections.abc import Sequence

from kcli.account.survey import Missing
from kcli.core.errors import KcliError
from kcli.core.logdir.folders import PartitionFolder, find
from kcli.core.logdir.partition_log import PartitionLog
from kcli.core.offline.image import TOPIC, MetadataImage
from kcli.core.offline.metadata_log import read_image as replay


def read_image(partitions: Sequence[PartitionFolder]) -> tuple[MetadataImage | None, list[Missing]]:
    """The image of the log that goes furthest; None without one. What could not be read is missing.

    Where none of the partitions is of the metadata log, one beside them is looked for.
    """
    best: MetadataImage | None = None
    missing = []
    folders = [folder for folder in partitions if folder.tp.topic == TOPIC and not folder.files]
    for folder in folders or _beside(partitions):
        try:
            image = _replayed(folder)
        except KcliError as error:
            missing.append(Missing("the metadata log", folder.path, error))
            continue
        if best is None or image.end_offset > best.end_offset:
            best = image
    return best, missing


def _beside(partitions: Sequence[PartitionFolder]) -> list[PartitionFolder]:
    above = {os.path.dirname(os.path.abspath(folder.path)) for folder in partitions}
    paths = [
        path
        for path in (os.path.join(folder, f"{TOPIC}-0") for folder in sorted(above))
        if os.path.isdir(path)
    ]
    return [folder for folder in find(paths).partitions if not folder.files]


def _replayed(folder: PartitionFolder) -> MetadataImage:
    with PartitionLog(folder) as log:
        return replay(log, lambda _what, _level: None)
