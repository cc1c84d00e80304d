"""kcli: a command-line suite for Apache Kafka, on a client core of its own.

For programs: ``kcli.read_topic``, ``kcli.write_topic`` and ``kcli.read_export`` are topics and exports as tables of
Arrow, ``kcli.core`` has the clients. Names are loaded on use (PEP 562).
"""

from kcli.core.version import __version__

# `typing` is left to those who need it: here it would be searched for garbage many times, before `__main__` says when to.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcli.frames.exported import read_export as read_export
    from kcli.frames.topic import read_topic as read_topic
    from kcli.frames.writing import NotWrittenError as NotWrittenError
    from kcli.frames.writing import write_topic as write_topic

__all__ = ["NotWrittenError", "__version__", "read_export", "read_topic", "write_topic"]

_HOMES = {
    "read_topic": "topic",
    "write_topic": "writing",
    "NotWrittenError": "writing",
    "read_export": "exported",
}


def __getattr__(name: str) -> "Any":
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # few runs need it

    return getattr(import_module(f"kcli.frames.{_HOMES[name]}"), name)
