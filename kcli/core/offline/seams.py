"""Where one segment ends and the next one begins: a reader who comes from one to the other is told what is lost."""

from kcli.core.errors import DataLossError
from kcli.core.logdir.partition_log import PartitionLog
from kcli.core.offline.directories import Directories
from kcli.core.types import TopicPartition

_TOPIC_CONFIG = 2
_POLICY = "cleanup.policy"


def check_seam(directories: Directories, log: PartitionLog, offset: int) -> None:
    """``offset`` follows the last record of a segment that was read to its end, and what has it begins the next one.

    DamagedFileError for bytes behind that record. Offsets that neither segment has are missing, unless the topic is
    compacted; where that is not known, they are noted.
    """
    if offset <= log.start_offset:
        return
    for _ in log.scan(offset - 1, offset + 1):
        pass
    place = log.locate(offset)
    if place is None or place.position:
        return
    batch = log.segment(place.segment).batch_at(0, verify=False)
    if batch is None or batch.base_offset <= offset:
        return
    gap = f"{log.tp}: offsets {offset} to {batch.base_offset - 1} are missing before {log.files[place.segment].name}"
    compacted = _is_compacted(directories, log.tp)
    if compacted is None:
        directories.note(f"{gap}, unless compaction has removed them")
    elif not compacted:
        directories.miss(
            DataLossError(
                gap,
                why="no segment has them, and the topic is not compacted",
                do="name the log directories of other replicas as well",
            )
        )


def _is_compacted(directories: Directories, tp: TopicPartition) -> bool | None:
    """By the configuration of the topic in the metadata log; None where it is not known."""
    known = directories.known_image()
    if known is None:
        return None
    return "compact" in known.configs.get((_TOPIC_CONFIG, tp.topic), {}).get(_POLICY, "delete")
