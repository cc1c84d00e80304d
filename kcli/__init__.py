"""kcli: a command-line suite for Apache Kafka, on a client core of its own.

For programs: ``kcli.read_topic`` reads a range of a topic as a table of Arrow, ``kcli.core`` has the clients. Names are
loaded on use (PEP 562).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kcli.core.version import __version__

if TYPE_CHECKING:
    from kcli.reading import read_topic as read_topic

__all__ = ["__version__", "read_topic"]


def __getattr__(name: str) -> Any:
    if name != "read_topic":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("kcli.reading").read_topic
