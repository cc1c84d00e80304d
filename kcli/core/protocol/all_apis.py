"""All APIs that kcli has messages for. Imports every message: for what lists APIs, and nothing else."""

import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib import import_module

from kcli.core.protocol import messages
from kcli.core.protocol.api import Request


@cache
def all_requests() -> Mapping[int, type[Request]]:
    """The request of each API by its key, in the order of keys."""
    found: dict[int, type[Request]] = {}
    for module in pkgutil.iter_modules(messages.__path__):
        for one in vars(import_module(f"{messages.__name__}.{module.name}")).values():
            if isinstance(one, type) and issubclass(one, Request) and one is not Request:
                found[one.api_key] = one
    return dict(sorted(found.items()))
