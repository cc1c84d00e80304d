"""The fields that all formats have: validation of partitions, offsets and names. Pure."""

from typing import Any

from kcli.core.topic_names import is_topic_name

LARGEST_OFFSET = (1 << 63) - 1
LARGEST_PARTITION = (1 << 31) - 1
_DIGITS = 19


class BrokenFileError(ValueError):
    """A file with invalid content; ``place`` is the line or entry, ``reason`` what is wrong there."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}")
        self.place = place
        self.reason = reason


def topic(place: str, value: Any) -> str:
    """A topic name."""
    if isinstance(value, str) and is_topic_name(value):
        return value
    raise BrokenFileError(place, f"{value!r} is not a valid topic name")


def group(place: str, value: Any) -> str:
    """A group name: any non-empty text."""
    if isinstance(value, str) and value:
        return value
    raise BrokenFileError(place, f"{value!r} is not the name of a group")


def partition(place: str, value: Any) -> int:
    """A partition number: an integer, or its digits."""
    return _whole(place, "partition", value, LARGEST_PARTITION)


def offset(place: str, value: Any) -> int:
    """An offset: an integer from 0 on, or its digits."""
    return _whole(place, "offset", value, LARGEST_OFFSET)


def timestamp(place: str, value: Any) -> int:
    """A time in ms since the epoch, from 0 on: ListOffsets gives negative times a special meaning."""
    return _whole(place, "timestamp", value, LARGEST_OFFSET)


def _whole(place: str, name: str, value: Any, largest: int) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= _DIGITS:
        value = int(value)
    if type(value) is int and 0 <= value <= largest:
        return value
    raise BrokenFileError(place, f"the {name} {value!r} is not a whole number from 0 to {largest}")
