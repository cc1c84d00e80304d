"""What the tests of the pipeline share: one session of Spark."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from kcli.pipeline.spark.runner import SparkRunner


@pytest.fixture(scope="session")
def spark() -> Iterator["SparkRunner"]:
    """A runner on ``local[2]``, for the whole run of a process. Tests that ask for it are marked ``integration``."""
    from tests.pipeline.spark_session import shared_runner  # loads pyspark

    with shared_runner() as runner:
        yield runner
