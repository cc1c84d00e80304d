"""``format("kcli")``: topics as a data source of Spark, in Python.

``import kcli.spark`` registers it. Spark makes a ``KcliSource`` from its options wherever it needs one; the schema and
the readers follow from the options alone.
"""

from typing import TYPE_CHECKING

import pyspark
import pyspark.sql.datasource as api
from pyspark.sql.types import StructType

from kcli.core.errors import ConfigError
from kcli.pipeline.spark.source_columns import spark_schema
from kcli.pipeline.spark.source_reading import BatchReader, errors_carried
from kcli.pipeline.spark.source_settings import settings_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class KcliSource(api.DataSource):
    """See ``source_options.py`` for its options, ``docs/python.md`` for its columns."""

    @classmethod
    def name(cls) -> str:
        """The name in ``format``."""
        return "kcli"

    def schema(self) -> str:
        """The columns."""
        with errors_carried():
            return spark_schema(settings_of(self.options))

    def reader(self, schema: StructType) -> BatchReader:  # noqa: ARG002 - pyspark's signature
        """Reads a range that is pinned when the query is planned."""
        with errors_carried():
            settings = settings_of(self.options, "batch")
        return BatchReader(settings)

    def streamReader(self, schema: StructType) -> api.DataSourceStreamReader:  # noqa: ARG002, N802 - pyspark's
        """Reads what arrives."""
        with errors_carried():
            if not hasattr(api.DataSourceStreamReader, "getDefaultReadLimit"):
                raise ConfigError(
                    'readStream.format("kcli") does not work with this version of pyspark',
                    why=f"streams need pyspark 4.2, and this is {pyspark.__version__}, which reads batches only",
                    do="pip install 'pyspark>=4.2,<5'; or read batches: spark.read.format(\"kcli\")",
                )
            from kcli.pipeline.spark.source_stream import StreamReader  # needs pyspark 4.2

            return StreamReader(settings_of(self.options, "stream"))

    def writer(self, schema: StructType, overwrite: bool) -> api.DataSourceWriter:
        """Appends records."""
        with errors_carried():
            if overwrite:
                raise ConfigError(
                    'mode("overwrite") is not offered',
                    why="records are appended to a topic; none is replaced",
                    do='.mode("append")',
                )
            if not hasattr(api, "DataSourceArrowWriter"):
                raise ConfigError(
                    'write.format("kcli") does not work with this version of pyspark',
                    why=f"batches of Arrow are written by pyspark 4.1 and later, and this is {pyspark.__version__}",
                    do="pip install 'pyspark>=4.2,<5'",
                )
            from kcli.pipeline.spark.source_writing import RecordWriter  # needs pyspark 4.1

            return RecordWriter(settings_of(self.options, "write"), schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> api.DataSourceStreamWriter:  # noqa: N802
        """Appends the records of each batch once."""
        with errors_carried():
            if overwrite:
                raise ConfigError(
                    'outputMode("complete") is not offered',
                    why="records are appended to a topic; none is replaced",
                    do='.outputMode("append") or "update"',
                )
            if not hasattr(api, "DataSourceStreamArrowWriter"):
                raise ConfigError(
                    'writeStream.format("kcli") does not work with this version of pyspark',
                    why=f"batches of Arrow are written by pyspark 4.2 and later, and this is {pyspark.__version__}",
                    do="pip install 'pyspark>=4.2,<5'",
                )
            from kcli.pipeline.spark.stream_writing import StreamWriter  # needs pyspark 4.2

            return StreamWriter(settings_of(self.options, "sink"), schema)


def register(spark: "SparkSession") -> None:
    """Makes ``format("kcli")`` known to a session; again does no harm."""
    spark.dataSource.register(KcliSource)
