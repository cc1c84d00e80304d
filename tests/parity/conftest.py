"""``kernels``: both implementations, one after the other; ``native`` and ``twins`` for tests that compare them.

Where there is a compiler, missing C kernels are a failure: a run that silently tests one twin only tests nothing.
"""

import importlib
import os
import shutil
import sysconfig
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session", params=["pure", "_native"])
def kernels(request: pytest.FixtureRequest) -> ModuleType:
    return load(request.param)


@pytest.fixture(scope="session")
def native() -> ModuleType:
    return load("_native")


@pytest.fixture(scope="session")
def twins(native: ModuleType) -> tuple[ModuleType, ModuleType]:
    return load("pure"), native


def load(name: str) -> ModuleType:
    try:
        return importlib.import_module(f"kcli.core.kernels.{name}")
    except ModuleNotFoundError:
        if can_be_built():
            pytest.fail("the C kernels are not built, and there is a compiler: make venv")
        pytest.skip("the C kernels cannot be built here")


def can_be_built() -> bool:
    header = Path(sysconfig.get_path("include"), "Python.h")
    return not os.environ.get("KCLI_NO_EXT") and bool(shutil.which("cc")) and header.exists()
