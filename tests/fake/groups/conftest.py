"""A coordinator for each test."""

from collections.abc import Iterator

import pytest

from tests.fake.groups.driver import Driver


@pytest.fixture
def driver() -> Iterator[Driver]:
    """Sessions, rebalances and intervals as the settings' defaults have them."""
    made = Driver()
    yield made
    made.close()
