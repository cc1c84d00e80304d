"""Validates topics' names, partitions, and offsets to be committed. Pure."""

import re
import struct
from typing import Any

from kcli.core.errors import ConfigError
from kcli.core.types import OffsetAndMetadata, TopicPartition

_LONGEST_STRING = 0x7FFF  # bytes: brokers close the connection when a string is longer
_NUMBERS = struct.Struct(">iqi")
_LEGAL = re.compile(r"[A-Za-z0-9._-]{1,249}")


def is_topic_name(name: str) -> bool:
    """Whether Kafka accepts it as a topic name."""
    return _LEGAL.fullmatch(name) is not None and name not in (".", "..")


def check_topic(name: Any) -> None:
    """Rejects what cannot be a topic name: in a request with others, it would spoil the response for all of them."""
    if not isinstance(name, str) or not is_topic_name(name):
        raise ConfigError(
            f"{name!r} is not a valid topic name",
            why="a topic name is text: 1 to 249 letters, digits, dots, underscores or hyphens",
        )


def check_partition(where: Any) -> None:
    """Rejects what is not a TopicPartition of a text and an integer; whether the partition exists is not checked."""
    right = isinstance(where, TopicPartition)
    if not right or not isinstance(where.topic, str) or type(where.partition) is not int:
        raise ConfigError(
            f"{where!r} is not a partition",
            why="a partition is a TopicPartition: the topic's name and a whole number",
            do='TopicPartition("orders", 0), for example',
        )


def unwritable(tp: TopicPartition, offset: OffsetAndMetadata) -> ConfigError | None:
    """Why Kafka's protocol cannot express this: checked before it is put into a request that it shares with others."""
    for what, text in (("the topic's name", tp.topic), ("the metadata", offset.metadata or "")):
        try:
            size = len(text.encode())
        except (AttributeError, UnicodeEncodeError) as error:
            return ConfigError(f"{tp}: {what} cannot be sent", why=str(error))
        if size > _LONGEST_STRING:
            why = f"it has {size} bytes, {_LONGEST_STRING} is the limit"
            return ConfigError(f"{tp}: {what} cannot be sent", why=why)
    try:
        _NUMBERS.pack(tp.partition, offset.offset, offset.leader_epoch)
    except struct.error as error:
        return ConfigError(f"{tp}: {offset} cannot be sent", why=str(error))
    return None
