"""``import kcli.spark`` makes Kafka topics a data source of the Spark session: ``spark.read.format("kcli")``.

It is registered with the active session. A session that is made later needs ``kcli.spark.register(session)``.
``kcli_error(exception)`` is the error of kcli, with ``what``, ``why`` and ``do``, that an exception of Spark carries.
"""

import warnings

from pyspark.sql import SparkSession

from kcli.pipeline.spark.errors import kcli_error
from kcli.pipeline.spark.source import register

__all__ = ["kcli_error", "register"]

_active = SparkSession.getActiveSession()
if _active is not None:
    register(_active)
else:
    warnings.warn(
        "there is no Spark session yet: when it is there, kcli.spark.register(session) makes format('kcli') known to it",
        stacklevel=2,
    )
