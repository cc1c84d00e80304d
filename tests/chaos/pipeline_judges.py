"""Judges of an export: DuckDB reads the files that the manifest names, Spark's own connector reads the topic.

Both, and the client that wrote the records, sum up digests of records by partition: equal sums are the same records at
the same offsets. Not a test.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from confluent_kafka import Producer

from benchmarks.pipeline._connector import jars
from kcli.sandbox.errors import DownloadError

if TYPE_CHECKING:
    from kcli.pipeline.spark.session import Session

_DIGITS = 15  # of a digest: a number of 60 bits
_TURN = 1_000


class Content(NamedTuple):
    """Of a partition. ``distinct``: how many offsets there are."""

    count: int
    distinct: int
    digest: int


Contents = Mapping[int, Content]
"""By partition; those without records are left out."""


class Written:
    """What a client has written to a topic so far, as it was confirmed."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.topic = topic
        self._found: dict[int, Content] = {}
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "linger.ms": 20, "batch.num.messages": 500, "log_level": 0}
        )

    def write(self, partition: int, values: Sequence[bytes]) -> None:
        """Writes records whose keys are texts; returns when they are confirmed."""

        def confirmed(error: object, message: Any) -> None:
            assert error is None, error
            found = self._found.get(partition, Content(0, 0, 0))
            digest = _digest(partition, message.offset(), message.key(), message.value())
            self._found[partition] = Content(found.count + 1, found.distinct + 1, found.digest + digest)

        for number, value in enumerate(values):
            self._producer.produce(
                self.topic, value, b"k%d" % number, partition=partition, on_delivery=confirmed
            )
            if not number % _TURN:
                self._producer.poll(0)
        assert self._producer.flush(120) == 0

    @property
    def contents(self) -> Contents:
        """What is in the topic."""
        return dict(self._found)


def _digest(partition: int, offset: int, key: bytes, value: bytes) -> int:
    text = f"{partition}:{offset}:{key.decode()}:{hashlib.md5(value).hexdigest()}"
    return int(hashlib.md5(text.encode()).hexdigest()[:_DIGITS], 16)


def named_files(files: Mapping[str, bytes]) -> list[str]:
    """The paths of the files that the manifest among ``files`` names, one document or a chain."""
    head = json.loads(files["_kcli_manifest.json"])
    parts = [json.loads(files[one["path"]]) for one in head.get("parts", ())] or [head]
    return [
        file["path"]
        for part in parts
        for topic in part["topics"]
        for partition in topic["partitions"]
        for file in partition["files"]
    ]


def of_files(files: Mapping[str, bytes], folder: Path) -> Contents:
    """What DuckDB finds in the files that the manifest names; they are put into a new ``folder``."""
    import duckdb

    paths = named_files(files)
    assert len(set(paths)) == len(paths)
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(files[path])
    if not paths:
        return {}
    text = """partition || ':' || "offset" || ':' || decode(key) || ':' || md5(value)"""
    query = f"""
        SELECT partition, count(*), count(DISTINCT "offset"),
               sum(('0x' || substr(md5({text}), 1, {_DIGITS}))::BIGINT::HUGEINT)
        FROM read_parquet($1, hive_partitioning = true) GROUP BY partition
    """
    with duckdb.connect() as connection:
        rows = connection.execute(query, [[str(folder / path) for path in paths]]).fetchall()
    return {int(row[0]): Content(row[1], row[2], int(row[3])) for row in rows}


class Connector:
    """Spark's own Kafka connector, in a session on this machine."""

    def __init__(self, session: "Session", bootstrap: str) -> None:
        self._session, self._bootstrap = session, bootstrap

    def contents(self, topic: str) -> Contents:
        """What it finds in the topic."""
        options = {"kafka.bootstrap.servers": self._bootstrap, "subscribe": topic, "endingOffsets": "latest"}
        text = "concat_ws(':', partition, offset, cast(key AS string), md5(value))"
        self._session.sql.read.format("kafka").options(**options).load().createOrReplaceTempView("records")
        found = self._session.sql.sql(
            f"""
            SELECT partition, count(*), count(DISTINCT offset),
                   sum(cast(conv(substr(md5({text}), 1, {_DIGITS}), 16, 10) AS decimal(38, 0)))
            FROM records GROUP BY partition
            """
        ).collect()
        return {int(row[0]): Content(row[1], row[2], int(row[3])) for row in found}


@contextmanager
def connector(bootstrap: str) -> Iterator[Connector | str]:
    """The connector, or why it is not here."""
    from kcli.pipeline.spark.session import Session  # loads pyspark

    try:
        paths = ",".join(map(str, jars()))
    except DownloadError as error:
        yield str(error)
        return
    with Session(local=2, conf={"spark.jars": paths}) as session:
        yield Connector(session, bootstrap)
