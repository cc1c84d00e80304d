"""Which names a topic may have. Pure."""

import re
from typing import Any

from kcli.core.errors import ConfigError

_LEGAL = re.compile(r"[A-Za-z0-9._-]{1,249}")


def is_topic_name(name: str) -> bool:
    """Whether Kafka takes it for the name of a topic."""
    return _LEGAL.fullmatch(name) is not None and name not in (".", "..")


def check_topic(name: Any) -> None:
    """Refuses what cannot be a topic's name: asked for among others, it would spoil the answer about them all."""
    if not isinstance(name, str) or not is_topic_name(name):
        raise ConfigError(
            f"{name!r} is not the name of a topic",
            why="names are text: 1 to 249 letters, digits, dots, underscores and dashes",
        )
