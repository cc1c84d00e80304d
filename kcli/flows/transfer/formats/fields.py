"""The fields that all formats have, and their validation. BrokenFileError names the invalid line or entry. Pure."""

from decimal import Decimal
from typing import Any

from kcli.core.names import is_topic_name
from kcli.flows.transfer.saved_offset import SavedOffset

LARGEST_OFFSET = (1 << 63) - 1
LARGEST_PARTITION = (1 << 31) - 1
_DIGITS = 19


class BrokenFileError(ValueError):
    """A file with invalid content; ``location`` is the line or entry, ``reason`` what is wrong there."""

    def __init__(self, location: str, reason: str) -> None:
        super().__init__(f"{location}: {reason}")
        self.location = location
        self.reason = reason


def saved_offset(location: str, topic: Any, partition: Any, offset: Any, **more: Any) -> SavedOffset:
    """The fields that an offset must have; ``more`` are valid ones. Numbers may also be given as digits."""
    if not isinstance(topic, str) or not is_topic_name(topic):
        raise BrokenFileError(location, f"{topic!r} is not a valid topic name")
    return SavedOffset(
        topic,
        partition_number(location, partition),
        offset_number(location, offset),
        location=location,
        **more,
    )


def group(location: str, value: Any) -> str:
    """A group name: any text. The empty one is a group, too: old clients committed without a name."""
    if isinstance(value, str):
        return value
    raise BrokenFileError(location, f"{value!r} is not the name of a group")


def partition_number(location: str, value: Any) -> int:
    """A partition number: an integer, or its digits."""
    return _whole(location, "partition", value, LARGEST_PARTITION)


def offset_number(location: str, value: Any) -> int:
    """An offset: an integer from 0 on, or its digits."""
    return _whole(location, "offset", value, LARGEST_OFFSET)


def timestamp(location: str, value: Any) -> int:
    """A time in ms since the epoch, from 0 on: ListOffsets gives negative times a special meaning."""
    return _whole(location, "timestamp", value, LARGEST_OFFSET)


def _whole(location: str, name: str, value: Any, largest: int) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= _DIGITS:
        value = int(value)
    if type(value) is int and 0 <= value <= largest:
        return value
    shown = str(value) if isinstance(value, Decimal) else repr(value)
    raise BrokenFileError(location, f"the {name} {shown[:80]} is not a whole number from 0 to {largest}")
