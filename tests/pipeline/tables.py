"""What the tests of ``kcli pipeline export --format delta|iceberg`` share. Not a test."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
from deltalake import DeltaTable

from tests.fake.cluster import FakeCluster
from tests.pipeline.exporting import Row, contents, files

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

FORMATS = ("delta", "iceberg")


def catalog(folder: Path | str, **settings: str) -> "Catalog":
    """The catalog of a warehouse in a folder, or another one with these settings."""
    from pyiceberg.catalog import load_catalog  # only where it is used: each process of a run reads this file

    own = {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}"}
    return load_catalog("kcli", **(settings or own))


def content(form: str, folder: Path | str, topic: str = "t", **settings: str) -> pa.Table:
    """All rows of a table, as the library of its format reads them. ``settings``: of the catalog, or of the store."""
    if form == "delta":
        return DeltaTable(str(folder), storage_options=settings or None).to_pyarrow_table()
    return catalog(folder, **settings).load_table(("kafka", topic)).scan().to_arrow()


def rows(form: str, folder: Path | str, topic: str = "t", **settings: str) -> dict[int, list[Row]]:
    """The records by partition, in the order of offsets; DuckDB finds each offset once."""
    found = content(form, folder, topic, **settings)
    (counts,) = duckdb.sql('select count(*), count(distinct (partition, "offset")) from found').fetchall()
    assert counts[0] == counts[1] == found.num_rows
    by_partition: dict[int, list[Row]] = {}
    for row in found.sort_by([("partition", "ascending"), ("offset", "ascending")]).to_pylist():
        assert row["topic"] == topic
        headers = tuple((one["key"], one["value"]) for one in row["headers"])
        by_partition.setdefault(row["partition"], []).append(
            (row["key"], row["value"], headers, row["timestamp"])
        )
    return by_partition


def records(cluster: FakeCluster, topic: str = "t", partitions: int = 2) -> dict[int, list[Row]]:
    """The same of the topic."""
    found = {number: contents(cluster.bootstrap, topic, number) for number in range(partitions)}
    return {number: own for number, own in found.items() if own}


def data_files(form: str, folder: Path, topic: str = "t") -> tuple[set[str], set[str]]:
    """The files with rows that are there, and those that the table has."""
    root = folder if form == "delta" else folder / "kafka" / topic
    there = {name for name in files(root) if name.startswith("data/")}
    if form == "delta":
        named = {os.path.relpath(uri, root) for uri in DeltaTable(root).file_uris()}
    else:
        table = catalog(folder).load_table(("kafka", topic))
        named = {os.path.relpath(one.removeprefix(f"file://{root}/")) for one in _paths(table)}
    return there, named


def _paths(table: Any) -> list[str]:
    return [str(one.file.file_path) for one in table.scan().plan_files()]


def nothing_left(form: str, folder: Path, topic: str = "t") -> None:
    """Asserts that there is nothing of a killed run."""
    there, named = data_files(form, folder, topic)
    assert there == named
    assert [name for name in files(folder) if "_kcli_" in name or name.endswith(".tmp")] == []


def table_settings(form: str, variables: Mapping[str, str], folder: str) -> dict[str, str]:
    """For ``content`` of a table on a server of S3."""
    key, secret, endpoint = (
        variables[name] for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL")
    )
    if form == "delta":
        return {
            "AWS_ACCESS_KEY_ID": key,
            "AWS_SECRET_ACCESS_KEY": secret,
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_REGION": "us-east-1",
            "AWS_ALLOW_HTTP": "true",
        }
    return {
        "type": "sql",
        "uri": f"sqlite:///{folder}/catalog.db",
        "s3.access-key-id": key,
        "s3.secret-access-key": secret,
        "s3.endpoint": endpoint,
        "s3.region": "us-east-1",
    }
