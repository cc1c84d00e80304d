"""Columns of ``format("kcli")``: their types in Spark, and batches of Arrow that have exactly these types.

Spark compares the schema of what a source returns with the declared one, names of children and units of time included.
"""

import pyarrow as pa
from pyarrow import compute

from kcli.core.arrow.table import ArrowBatch
from kcli.pipeline.decoding import Undecoded, decoded_texts
from kcli.pipeline.spark.source_settings import DECODED, SourceSettings
from kcli.serde.errors import DecodeError
from kcli.serde.opening import Serdes
from kcli.serde.serde import Serde

_HEADERS = "array<struct<key: string, value: binary>>"
_TYPES = {
    "topic": ("string", pa.string()),
    "partition": ("int", pa.int32()),
    "offset": ("bigint", pa.int64()),
    "timestamp": ("timestamp", pa.timestamp("us", "UTC")),
    "timestamp_type": ("string", pa.string()),
    "timestampType": ("int", pa.int32()),
    "key": ("binary", pa.binary()),
    "value": ("binary", pa.binary()),
    "headers": (
        _HEADERS,
        pa.list_(pa.field("element", pa.struct([("key", pa.string()), ("value", pa.binary())]))),
    ),
    "leader_epoch": ("int", pa.int32()),
    "key_text": ("string", pa.string()),
    "value_text": ("string", pa.string()),
    "key_json": ("string", pa.string()),
    "value_json": ("string", pa.string()),
}
_KINDS = ("CreateTime", "LogAppendTime")
"""By the number that Spark's connector has for them; −1 for a record without a timestamp."""
_PACKED = ("binary", pa.binary())
_PLAIN = "headers_packed"


def spark_schema(settings: SourceSettings) -> str:
    """The columns of these settings in Spark's DDL."""
    return ", ".join(f"`{name}` {_type(settings, name)[0]}" for name in settings.columns)


def _type(settings: SourceSettings, name: str) -> tuple[str, pa.DataType]:
    return _PACKED if name == "headers" and settings.packed else _TYPES[name]


class RowBatches:
    """Makes batches for Spark. ``needed`` are the columns that have to be read: what is decoded is made of others.
    ``undecoded``: the keys and values that could not be decoded so far.
    """

    def __init__(self, settings: SourceSettings, serdes: Serdes) -> None:
        self._columns = settings.columns
        self._schema = pa.schema([pa.field(name, _type(settings, name)[1]) for name in settings.columns])
        self._serdes: dict[str, Serde | None] = {"key": serdes.key, "value": serdes.value}
        self._headers = _PLAIN if settings.packed else "headers"
        self.undecoded: dict[str, Undecoded] = {}
        needed = [self._read_as(name) for name in settings.columns if name not in DECODED]
        for part in ("key", "value"):
            serde = self._serdes[part]
            if f"{part}_json" in settings.columns and serde is not None:
                needed += ["offset", part, "key", *([_PLAIN] if serde.names_schemas else [])]
        self.needed = tuple(dict.fromkeys(needed)) or ("offset",)

    def rows(self, batch: ArrowBatch) -> pa.RecordBatch:
        """The same rows in the columns that Spark expects."""
        read = pa.record_batch(batch)
        found = []
        for field in self._schema:
            if field.name in DECODED:
                found.append(self._decoded(field.name.removesuffix("_json"), batch.tp.topic, read))
                continue
            column = read.column(self._read_as(field.name))
            if field.name == "timestampType":
                column = compute.index_in(column, pa.array(_KINDS)).fill_null(-1)
            found.append(column if column.type == field.type else column.cast(field.type))
        return pa.RecordBatch.from_arrays(found, schema=self._schema)

    def _read_as(self, name: str) -> str:
        return {"headers": self._headers, "timestampType": "timestamp_type"}.get(name, name)

    def _decoded(self, part: str, topic: str, read: pa.RecordBatch) -> pa.Array:
        serde = self._serdes[part]
        assert serde is not None
        blocks = (
            read.column(_PLAIN).to_pylist() if _PLAIN in read.schema.names and serde.names_schemas else None
        )
        keys, data = read.column("key").to_pylist(), read.column(part).to_pylist()
        failed: list[tuple[int, DecodeError]] = []
        found = pa.array(
            decoded_texts(serde.decode_json, part, topic, keys, data, blocks, failed), pa.string()
        )
        if failed:
            row, error = failed[0]
            first = self.undecoded.get(part) or Undecoded(0, read.column("offset")[row].as_py(), str(error))
            self.undecoded[part] = first._replace(failed=first.failed + len(failed))
        return found
