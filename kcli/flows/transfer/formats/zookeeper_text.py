"""The text of Kafka's old ``ExportZkOffsets`` and ``ImportZkOffsets``: lines ``PATH:OFFSET``. Pure.

``/consumers/billing/offsets/orders/0:286894308``, or 0.7's ``/consumers/billing/offsets/orders/1-0:286894308``, where
partition 0 is on broker 1. A path has no chroot. Source: kafka/tools/ExportZkOffsets.scala and ImportZkOffsets.scala.
"""

from collections.abc import Iterable

from kcli.flows.transfer.formats import fields
from kcli.flows.transfer.formats.fields import BrokenFileError
from kcli.flows.transfer.saved_offset import SavedOffset
from kcli.flows.transfer.zookeeper.offset_node import (
    ANY_BROKER,
    CONSUMERS,
    OffsetNode,
    is_node_name,
    parse_path,
)

BEGIN = f"{CONSUMERS}/"


def zookeeper_lines(offsets: Iterable[SavedOffset]) -> str:
    """The lines; each offset has a group that ``can_be_written``."""
    return "".join(f"{offset_node(saved, saved.group or '').path}:{saved.offset}\n" for saved in offsets)


def can_be_written(group: str | None) -> bool:
    """Whether the group can be part of a path."""
    return group is not None and is_node_name(group)


def offset_node(saved: SavedOffset, group: str, topic: str | None = None) -> OffsetNode:
    """The node for an offset of the file, for that group, and for another topic if given."""
    broker = ANY_BROKER if saved.broker is None else saved.broker
    return OffsetNode(group, topic or saved.topic, broker, saved.partition)


def is_zookeeper_line(line: str) -> bool:
    """Whether it is such a line: a csv line of a group with such a name has commas after the last ``/``."""
    last = line.rpartition("/")[2]
    return line.startswith(BEGIN) and ":" in last and "," not in last


def read_zookeeper(text: str) -> list[SavedOffset]:
    """The offsets; BrokenFileError names the invalid line."""
    lines = ((f"line {number}", line.strip()) for number, line in enumerate(text.split("\n"), 1))
    return [_saved(location, line) for location, line in lines if line]


def _saved(location: str, line: str) -> SavedOffset:
    path, _colon, offset = line.rpartition(":")
    found = parse_path(path)
    if found is None:
        raise BrokenFileError(
            location, f"{line[:200]!r} is not /consumers/GROUP/offsets/TOPIC/PARTITION:OFFSET"
        )
    group, topic, broker, partition = found
    number = None if broker == ANY_BROKER else fields.partition_number(location, broker)
    return fields.saved_offset(
        location, topic, partition, offset, group=fields.group(location, group), broker=number
    )
