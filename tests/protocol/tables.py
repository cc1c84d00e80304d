"""All message tables there are, found by looking into the package. Not a test."""

import importlib
import pkgutil

from kcli.core.protocol import messages
from kcli.core.protocol.api import Request, Response


def requests() -> list[type[Request]]:
    """Every request of ``kcli.core.protocol.messages``, by name."""
    found = {}
    for module in pkgutil.iter_modules(messages.__path__):
        loaded = importlib.import_module(f"{messages.__name__}.{module.name}")
        for value in vars(loaded).values():
            if isinstance(value, type) and issubclass(value, Request) and value is not Request:
                found[value.__name__] = value
    return [found[name] for name in sorted(found)]


def every_version() -> list[tuple[type[Request] | type[Response], int, bool]]:
    """(message, version, flexible) for each version that each table claims, requests and answers."""
    return [
        (cls, version, version >= request.flexible)
        for request in requests()
        for version in range(request.versions[0], request.versions[1] + 1)
        for cls in (request, request.response)
    ]


def case_id(case: object) -> str:
    return case.__name__ if isinstance(case, type) else str(case)
