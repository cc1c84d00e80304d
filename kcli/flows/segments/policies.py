"""Whether offsets of a topic may be missing: from the metadata log, the cleaner's checkpoint, or by its name."""

import os
from collections.abc import Mapping

from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError
from kcli.core.logdir import checkpoints
from kcli.core.logdir.folders import PartitionFolder, read_file
from kcli.core.offline.image import MetadataImage

COMPACTED_TOPICS = ("__consumer_offsets", "__transaction_state")
DELETED_TOPICS = ("__share_group_state", "__cluster_metadata")
_TOPIC, _BROKER = 2, 4
_POLICY, _INTERVAL = "cleanup.policy", "index.interval.bytes"
_DEFAULT_POLICY, _DEFAULT_INTERVAL = "delete", 4096


class Policy(NamedTuple):
    """``compacted`` is None where it is not known; ``origin`` says from where it is."""

    compacted: bool | None
    origin: str
    interval: int = _DEFAULT_INTERVAL


def policy_of(topic: str, image: MetadataImage | None, *, cleaned: bool) -> Policy:
    """``cleaned``: the log cleaner has been at this partition, by its checkpoint."""
    configs: Mapping[str, str] = {}
    known = image is not None and topic in image.topics
    if image is not None:
        configs = {**image.configs.get((_BROKER, ""), {}), **image.configs.get((_TOPIC, topic), {})}
    interval = _number(configs.get(_INTERVAL, ""))
    if cleaned:
        return Policy(True, "the log cleaner's checkpoint", interval)
    if topic in COMPACTED_TOPICS:
        return Policy(True, "what Kafka creates it with", interval)
    if topic in DELETED_TOPICS:
        return Policy(False, "what Kafka creates it with", interval)
    if not known:
        return Policy(None, "no metadata log", interval)
    policy = configs.get(_POLICY) or configs.get("log." + _POLICY) or _DEFAULT_POLICY
    return Policy("compact" in policy, "the metadata log", interval)


def _number(text: str) -> int:
    return int(text) if text.isdigit() and int(text) else _DEFAULT_INTERVAL


def was_cleaned(folder: PartitionFolder) -> bool:
    """Whether the log cleaner has been at a partition, by its checkpoint; False without one that can be read."""
    above = folder.log_dir.path if folder.log_dir else os.path.dirname(os.path.abspath(folder.path))
    path = os.path.join(above, checkpoints.CLEANED)
    try:
        data = read_file(path)
        return data is not None and folder.tp in checkpoints.parse_offset_checkpoint(data, path)
    except KcliError:
        return False
