"""What the tests of the pipeline share: one session of Spark, and a cluster of it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from kcli.pipeline.spark.runner import SparkRunner
    from tests.pipeline.standalone import Standalone


@pytest.fixture(scope="session")
def spark() -> Iterator["SparkRunner"]:
    """A runner on ``local[2]``, for the whole run of a process. Tests that ask for it are marked ``integration``."""
    from tests.pipeline.spark_session import shared_runner  # loads pyspark

    with shared_runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def spark_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Standalone"]:
    """A cluster of a module's own. Tests that ask for it are marked ``spark_cluster``."""
    from tests.pipeline.standalone import standalone  # loads pyspark

    with standalone(tmp_path_factory.mktemp("standalone")) as found:
        yield found
