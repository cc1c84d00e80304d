"""Fixtures of several fault tests."""

import pytest


@pytest.fixture(params=[(), ("--exactly-once",)], ids=["at least once", "exactly once"])
def delivery(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The flags of a mirror in each of its modes."""
    found: tuple[str, ...] = request.param
    return found
