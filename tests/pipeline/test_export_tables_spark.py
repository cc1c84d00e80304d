"""Spark's own readers of Delta Lake and Iceberg read what ``kcli pipeline export`` has written, typed columns included.

Their jars must be of Spark's version, to a digit after the point: Delta 4.4.0 and Iceberg 1.11.0, the latest in Maven
Central, do not run on Spark 4.3 (NoSuchMethodError, IncompatibleClassChangeError). ``KCLI_LAKE_JARS`` names others,
with commas between.
"""

import os
from pathlib import Path

import pytest

pytest.importorskip("deltalake", reason="deltalake is not installed")
pytest.importorskip("pyiceberg", reason="pyiceberg is not installed")

from tests.fake.cluster import FakeCluster
from tests.pipeline.tables import FORMATS, catalog
from tests.pipeline.test_export_typed import order, put, typed
from tests.registry.server import RunningRegistry

_DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


@pytest.mark.long
@pytest.mark.spark_cluster  # a session with jars of its own, which no other test may share
def test_spark_reads_tables(tmp_path: Path) -> None:
    jars = os.environ.get("KCLI_LAKE_JARS")
    if not jars:
        pytest.skip("KCLI_LAKE_JARS names no jars of Delta and Iceberg for this version of Spark")
    from kcli.pipeline.spark.session import Session  # loads pyspark

    with FakeCluster(1, cluster_id="here", topics={"t": 1}) as cluster, RunningRegistry() as registry:
        registry.content.register("t-value", order("n"))
        put(cluster, registry, {"id": 1, "n": 2}, None)
        for _night in range(2):
            for form in FORMATS:
                done, _ = typed(cluster, registry, tmp_path / form, "--format", form)
                assert done.code == 0, done.err
            registry.content.register("t-value", order("n", "fresh"))
            put(cluster, registry, {"id": 3, "n": 4, "fresh": 5})
    table = catalog(tmp_path / "iceberg").load_table("kafka.t")
    places = {
        "delta": str(tmp_path / "delta"),
        "iceberg": table.metadata_location.removeprefix("file://"),
    }
    with Session(local=2, conf={"spark.jars": jars, **_DELTA}) as session:
        for form, place in places.items():
            frame = session.sql.read.format(form).load(place)
            found = sorted(
                tuple(row) for row in frame.select("offset", "value_id", "value_n", "value_fresh").collect()
            )
            assert found == [(0, 1, 2, None), (1, None, None, None), (2, 3, 4, 5)], form
