"""All message tables there are, found by looking into the package. Not a test."""

import importlib
import pkgutil
from typing import Any

from kcli.core.protocol import messages
from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import Struct


def requests() -> list[type[Request]]:
    """Every request of ``kcli.core.protocol.messages``, by name."""
    found = {
        name: value
        for name, value in _structs().items()
        if issubclass(value, Request) and value is not Request
    }
    return [found[name] for name in sorted(found)]


def data() -> list[Any]:
    """Tables that travel inside other messages and have versions of their own (Kafka's type ``data``), by name."""
    found = {
        name: value
        for name, value in _structs().items()
        if "versions" in vars(value) and not issubclass(value, (Request, Response))
    }
    return [found[name] for name in sorted(found)]


def _structs() -> dict[str, type[Struct]]:
    found = {}
    for module in pkgutil.iter_modules(messages.__path__):
        loaded = importlib.import_module(f"{messages.__name__}.{module.name}")
        for value in vars(loaded).values():
            if isinstance(value, type) and issubclass(value, Struct):
                found[value.__name__] = value
    return found


def every_version() -> list[tuple[type[Struct], int, bool]]:
    """(message, version, flexible) for each version that each table claims: requests, answers and data."""
    both = [
        (cls, version, version >= request.flexible)
        for request in requests()
        for version in range(request.versions[0], request.versions[1] + 1)
        for cls in (request, request.response)
    ]
    return both + [(cls, version, False) for cls in data() for version in range(cls.versions[1] + 1)]


def case_id(case: object) -> str:
    return case.__name__ if isinstance(case, type) else str(case)
