"""``--from-file``: target offsets of groups from a file of committed offsets in any supported format."""

from collections.abc import Sequence

from kcli.core.errors import ConfigError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.transfer.file import file_name, read_file

Offsets = dict[TopicPartition, OffsetAndMetadata]


def read_offsets(path: str, groups: Sequence[str]) -> dict[str, Offsets]:
    """The offsets of each group in a file; lines without a group belong to the group named on the command line.

    Raises ConfigError for an invalid file, and for a group that the file does not contain.
    """
    found: dict[str, Offsets] = {group: {} for group in groups}
    for saved in read_file(path):
        if saved.group is None and len(groups) != 1:
            raise ConfigError(
                f"{file_name(path)}: {saved.location} names no group",
                why=f"it could be of any of the {len(groups)} groups",
                do="name one group, or use a file that names them",
            )
        offsets = found.get(groups[0] if saved.group is None else saved.group)
        if offsets is not None:
            offsets[saved.tp] = OffsetAndMetadata(saved.offset)
    for group, offsets in found.items():
        if not offsets:
            raise ConfigError(
                f"{file_name(path)} has no offsets of group {group}",
                why="the group is named on the command line",
                do="name the groups that it is about",
            )
    return found
