"""A key and its text as a source gives them, not parsed yet; and what becomes of the errors in them. Pure."""

from collections.abc import Callable
from typing import NamedTuple

from kcli.core.errors import ConfigError

COMMAND_LINE = "-X"


class Pair(NamedTuple):
    """``origin``: the option, variable or ``file:line`` that gave it."""

    key: str
    text: str
    origin: str


Report = Callable[[ConfigError], None]
"""Is called with each error. It raises it, or keeps it (``kcli config check`` lists them all)."""


def raise_error(error: ConfigError) -> None:
    """The ``Report`` of a run: the first error ends it."""
    raise error
