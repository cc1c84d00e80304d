"""Bulk calls of a cluster's administration, a module for each kind; ``admin.Admin`` is the client that has them all.

A module is imported when it is first used (PEP 562): listing topics does not load the messages of groups.
"""

from importlib import import_module
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    try:
        return import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        raise AttributeError(name) from error
