"""``--from-file``: target offsets of groups from a file of committed offsets in any supported format."""

from collections.abc import Sequence

from kcli.core.errors import ConfigError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.rewind.targets import Target
from kcli.flows.transfer.file import file_name, read_file


def read_targets(path: str, groups: Sequence[str]) -> dict[str, Target]:
    """The offsets of each group in a file; lines without a group belong to the group named on the command line.

    With the ids of their topics where the file has them (``groups export --format ndjson``).
    Raises ConfigError for an invalid file, and for a group that the file does not contain.
    """
    found: dict[str, dict[TopicPartition, OffsetAndMetadata]] = {group: {} for group in groups}
    topic_ids: dict[str, dict[str, str]] = {group: {} for group in groups}
    for saved in read_file(path):
        if saved.group is None and len(groups) != 1:
            raise ConfigError(
                f"{file_name(path)}: {saved.location} names no group",
                why=f"it could be of any of the {len(groups)} groups",
                do="name one group, or use a file that names them",
            )
        group = groups[0] if saved.group is None else saved.group
        if group in found:
            found[group][saved.tp] = OffsetAndMetadata(saved.offset)
            if saved.topic_id:
                topic_ids[group][saved.topic] = saved.topic_id
    for group, offsets in found.items():
        if not offsets:
            raise ConfigError(
                f"{file_name(path)} has no offsets of group {group}",
                why="the group is named on the command line",
                do="name the groups that it is about",
            )
    return {
        group: Target("given", offsets=offsets, topic_ids=topic_ids[group])
        for group, offsets in found.items()
    }
