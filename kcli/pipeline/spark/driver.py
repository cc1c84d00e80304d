"""pyspark, for the modules that run where kcli was started: importing this one raises ConfigError where a library is
missing or has the wrong version. Modules that executors import do without it: pyspark is no distribution there.
"""

# ruff: noqa: E402
from kcli.pipeline.spark.libraries import check_libraries

check_libraries()

from pyspark import InheritableThread, SparkContext, cloudpickle
from pyspark import __file__ as PYSPARK_FILE  # noqa: N812
from pyspark.accumulators import _accumulatorRegistry as ACCUMULATORS
from pyspark.java_gateway import launch_gateway
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

__all__ = [
    "ACCUMULATORS",
    "PYSPARK_FILE",
    "InheritableThread",
    "PySparkLogger",
    "SparkContext",
    "SparkSession",
    "cloudpickle",
    "launch_gateway",
]
