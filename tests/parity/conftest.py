"""``kernels``: every implementation that exists, one after the other; the C twin joins by being built."""

import importlib
import importlib.util
from types import ModuleType

import pytest

IMPLEMENTATIONS = [
    name for name in ("_pure", "_native") if importlib.util.find_spec(f"kcli.core.records.{name}") is not None
]


@pytest.fixture(params=IMPLEMENTATIONS)
def kernels(request: pytest.FixtureRequest) -> ModuleType:
    return importlib.import_module(f"kcli.core.records.{request.param}")
