"""``--from-file``: where groups are to go, from a file of committed offsets in any form that can be read."""

from collections.abc import Sequence

from kcli.core.errors import ConfigError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.transfer.file import file_name, read_file

Offsets = dict[TopicPartition, OffsetAndMetadata]


def read_offsets(path: str, groups: Sequence[str]) -> dict[str, Offsets]:
    """What a file says of each group; lines that name no group are about the one that was named.

    ConfigError names what is wrong with the file, and a group it has nothing of.
    """
    found: dict[str, Offsets] = {group: {} for group in groups}
    for saved in read_file(path).offsets:
        if saved.group is None and len(groups) != 1:
            raise ConfigError(
                f"{file_name(path)}: {saved.place} names no group",
                do="name one group, or use a file that names them",
            )
        offsets = found.get(groups[0] if saved.group is None else saved.group)
        if offsets is not None:
            offsets[saved.tp] = OffsetAndMetadata(saved.offset)
    for group, offsets in found.items():
        if not offsets:
            raise ConfigError(
                f"{file_name(path)} has no offsets of group {group}", do="name the groups that it is about"
            )
    return found
