"""What the tests of this folder share."""

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def project_text() -> Callable[[str], str]:
    """Reads a file of the project."""
    top = Path(__file__).parents[3]
    return lambda path: (top / path).read_text(encoding="utf-8")
