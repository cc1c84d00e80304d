"""The writer of ``format("kcli")``: each task sends its rows as Arrow data, without an object per record.

At least once: a task that Spark repeats sends its rows again.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import BinaryType, StructType

from kcli.core.classes import dataclass
from kcli.core.errors import ConfigError, TimedOutError
from kcli.core.near_names import near_names
from kcli.core.options import ProducerOptions
from kcli.core.producer.producer import Producer
from kcli.output.progress import counted
from kcli.pipeline.spark.source_reading import errors_carried
from kcli.pipeline.spark.source_settings import SourceSettings
from kcli.serde.names import parse_serdes
from kcli.serde.opening import Serdes, open_serdes
from kcli.serde.serde import Serde, SerdeContext

WRITTEN = ("key", "value", "headers", "timestamp", "partition", "topic")
IGNORED = ("offset", "timestamp_type", "timestampType", "leader_epoch")
_TURN = 1.0  # seconds of a flush between two looks at the errors


@dataclass
class Sent(WriterCommitMessage):
    """What a task has sent."""

    records: int
    bytes: int


class RecordWriter(DataSourceArrowWriter):
    """Sends the rows of a data frame."""

    def __init__(self, settings: SourceSettings, schema: StructType) -> None:
        self._settings = settings
        self._rows = Rows(settings, schema)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Sent:
        """Runs in a task of Spark; returns when the brokers have confirmed all rows."""
        options = self._settings.cluster.options(ProducerOptions)
        with errors_carried(), Producer(options) as producer:
            return self._rows.send(producer, self._rows.encoded(iterator))

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Nothing is left to do: the records are there."""

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """What was sent stays: a log has no undo."""


class Rows:
    """Sends rows with the columns of ``schema``. ``topic`` None: each row names its own."""

    def __init__(self, settings: SourceSettings, schema: StructType) -> None:
        self._settings = settings
        self.topic = _topic(settings, schema)
        self._packed = (
            isinstance(schema["headers"].dataType, BinaryType) if "headers" in schema.names else False
        )

    def encoded(self, iterator: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows as columns of records, with keys and values in the bytes of their serdes."""
        with self._serdes() as serdes:
            for batch in iterator:
                if batch.num_rows:
                    yield self._encoded(self._named(batch), serdes)

    def send(self, producer: Producer, records: Iterator[pa.RecordBatch]) -> Sent:
        """Sends all ``encoded`` rows; returns when the brokers have confirmed them."""
        for batch in records:
            producer.send_arrow(self.topic, batch)
            _check(producer)
        _finish(producer)
        totals = producer.totals
        return Sent(totals.confirmed, totals.bytes)

    def _named(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The columns by the names that the producer has for them, without those that no record has."""
        left_out = {"timestampType", *(["headers"] if self._settings.writes_headers is False else [])}
        batch = batch.select([name for name in batch.schema.names if name not in left_out])
        if not self._packed:
            return batch
        return batch.rename_columns(
            ["headers_packed" if name == "headers" else name for name in batch.schema.names]
        )

    def _serdes(self) -> Serdes:
        if not self._settings.serdes:
            return Serdes()
        specs = parse_serdes(self._settings.serdes, writing=True)
        return open_serdes(specs, self._settings.cluster.registry_options(), writing=True)

    def _encoded(self, batch: pa.RecordBatch, serdes: Serdes) -> pa.RecordBatch:
        """Keys and values in the bytes of their serdes."""
        topics = [self.topic] * batch.num_rows if self.topic else batch.column("topic").to_pylist()
        for part, serde in (("key", serdes.key), ("value", serdes.value)):
            if serde is not None and part in batch.schema.names:
                rows = batch.column(part).to_pylist()
                encoded = [
                    None if each is None else _bytes(serde, each, SerdeContext(topic, part))
                    for each, topic in zip(rows, topics, strict=True)
                ]
                batch = batch.set_column(
                    batch.schema.get_field_index(part), part, pa.array(encoded, pa.binary())
                )
        return batch


def _bytes(serde: Serde, value: Any, context: SerdeContext) -> bytes:
    """Text is what a line of ``kcli produce`` has: JSON, or the text itself of a string. Structs, lists and numbers are
    values of JSON as they are.
    """
    if isinstance(value, str):
        return serde.encode_text(value.encode(), context)
    if isinstance(value, bytes):
        return serde.encode_text(value, context)
    return serde.encode(value, context)


def _topic(settings: SourceSettings, schema: StructType) -> str | None:
    names = schema.names
    for name in names:
        if name not in WRITTEN and name not in IGNORED:
            near = near_names(name.removesuffix("_text"), WRITTEN)
            raise ConfigError(
                f"the data frame has a column {name}, which a record does not have",
                why=f"records are written from the columns {', '.join(WRITTEN)}",
                do=f"drop it, or rename it{f' to {near[0]}' if near else ''}",
            )
    if "value" not in names:
        raise ConfigError(
            "the data frame has no column value",
            why=f"its columns are {', '.join(names)}",
            do='.withColumn("value", …); a column of nulls writes tombstones',
        )
    if settings.writes_headers and "headers" not in names:
        raise ConfigError(
            "the data frame has no column headers",
            why="includeHeaders=true says that headers are written",
            do='.withColumn("headers", …), or leave includeHeaders out',
        )
    if settings.key_serde and "key" not in names:
        raise ConfigError(
            "the option key.serde has no effect", why="the data frame has no column key", do="leave it out"
        )
    if len(settings.topics) > 1 or settings.pattern:
        raise ConfigError(
            "several topics were given to a writer", why="a record is sent to one", do="name one topic"
        )
    if not settings.topics and "topic" not in names:
        raise ConfigError(
            "no topic is named", why="a topic is written", do='.option("topic", "orders"), or a column topic'
        )
    return settings.topics[0] if settings.topics else None


def _check(producer: Producer) -> None:
    error = producer.totals.first_error
    if error is not None:
        raise error


def _finish(producer: Producer) -> None:
    limit = producer.options.delivery_timeout_ms / 1000
    waited = 0.0
    while not producer.flush(_TURN):
        _check(producer)
        waited += _TURN
        if waited > limit:
            raise TimedOutError(
                f"{counted(producer.outstanding, 'record')} not confirmed in {limit:g} s",
                why="no broker answered",
                do="check that the brokers are running, or raise delivery.timeout.ms",
            )
    _check(producer)
