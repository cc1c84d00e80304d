"""What an application passes: partitions and offsets, which are checked, and deserializers of keys and values. Pure."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kcli.core.errors import ConfigError, KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.names import check_partition, check_topic
from kcli.core.types import OffsetAndMetadata, Record, TopicPartition

_LAST_OFFSET = (1 << 63) - 1
_PAIR = 2


def partitions_given(given: Any) -> list[TopicPartition]:
    """The partitions an application passes, as TopicPartitions or pairs; ConfigError for anything else."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ConfigError(f"{given!r} is not a list of partitions", do='[TopicPartition("orders", 0)]')
    found = []
    for one in given:
        check_partition(one if not isinstance(one, tuple) or len(one) != _PAIR else TopicPartition(*one))
        check_topic(one[0])
        if one[1] < 0:
            raise ConfigError(
                f"{one[1]} is not a partition of {one[0]}", why="it must be a non-negative number"
            )
        found.append(TopicPartition(*one))
    return found


def offsets_given(given: Mapping[Any, object]) -> dict[TopicPartition, OffsetAndMetadata]:
    """The offsets an application passes; ConfigError for an invalid partition or offset."""
    partitions = partitions_given(given)
    return {tp: offset_given(tp, offset) for tp, offset in zip(partitions, given.values(), strict=True)}


def offset_given(tp: TopicPartition, offset: object) -> OffsetAndMetadata:
    """The offset an application passes; ConfigError if it is invalid, since brokers would accept it."""
    given = OffsetAndMetadata(offset) if type(offset) is int else offset
    number = given.offset if isinstance(given, OffsetAndMetadata) else None
    if not isinstance(given, OffsetAndMetadata) or type(number) is not int or not 0 <= number <= _LAST_OFFSET:
        raise ConfigError(f"{tp}: {offset!r} is not an offset", why="it must be a non-negative whole number")
    return given


def partitions_chosen(what: Iterable[Any], assigned: frozenset[TopicPartition]) -> set[TopicPartition]:
    """The assigned partitions selected by topics, partitions and collections of partitions."""
    chosen: set[TopicPartition] = set()
    for one in what:
        if isinstance(one, str):
            partitions = {tp for tp in assigned if tp.topic == one}
        elif isinstance(one, tuple) and len(one) == _PAIR and isinstance(one[0], str):
            partitions = {TopicPartition(*one)} & assigned
        elif isinstance(one, list | tuple | set | frozenset):
            partitions = partitions_chosen(one, assigned)
        else:
            raise ConfigError(f"{one!r} cannot be committed", why="it is neither a topic nor a partition")
        if not partitions and one not in ([], ()):
            why = "none of its partitions is assigned to this consumer"
            raise ConfigError(f"{one!r} cannot be committed", why=why)
        chosen |= partitions
    return chosen


Deserializer = Callable[[str, bytes | None], Any]
"""Receives the topic and the bytes of a key or value (None for null)."""


class DeserializationError(KcliError):
    """A deserializer failed; ``record`` has the bytes. The next poll continues after it."""

    exit_code = ExitCode.DATA

    def __init__(self, record: Record, part: str, error: Exception) -> None:
        position = f"{record.topic}-{record.partition}, offset {record.offset}"
        super().__init__(
            f"{position}: the {part} cannot be deserialized", why=f"{type(error).__name__}: {error}"
        )
        self.record = record


def deserialized(
    record: Record, key_deserializer: Deserializer | None, value_deserializer: Deserializer | None
) -> Record:
    """The record with its key and value deserialized; DeserializationError names the record."""
    key = _apply(record, "key", record.key, key_deserializer)
    value = _apply(record, "value", record.value, value_deserializer)
    return record._replace(key=key, value=value)


def _apply(record: Record, part: str, data: bytes | None, deserializer: Deserializer | None) -> Any:
    if deserializer is None:
        return data
    try:
        return deserializer(record.topic, data)
    except Exception as error:
        raise DeserializationError(record, part, error) from error
