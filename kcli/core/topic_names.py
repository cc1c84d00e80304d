"""Validates topics' names and partitions. Pure."""

import re
from typing import Any

from kcli.core.errors import ConfigError
from kcli.core.types import TopicPartition

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
