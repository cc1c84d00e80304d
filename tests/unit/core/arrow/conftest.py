"""What the tests of Arrow data share."""

import gc

import pytest


@pytest.fixture(autouse=True)
def _only_new_objects() -> None:
    """Each of these tests collects garbage: what thousands of tests before it have left need not be searched again."""
    gc.freeze()
