"""The serde ``avro``: schemas from the registry or a file, values as plain JSON or in the JSON of Avro's
specification.
"""

from pathlib import Path

from kcli.serde.avro.reader import AvroReader, without_length
from kcli.serde.avro.schema import AvroSchema, load
from kcli.serde.avro.writer import AvroWriter, with_length
from kcli.serde.registry.client import Schema
from kcli.serde.schema_serde import SchemaSerde, read_schema_file, unusable_file
from kcli.serde.serde import JsonValue


class AvroCodec:
    """One Avro schema."""

    path: tuple[int, ...] | None = None

    def __init__(self, schema: AvroSchema, *, tagged: bool, framed: bool) -> None:
        self.name = schema.name
        # Confluent's serializers omit the length if the schema is only bytes.
        self._without_length = framed and schema.name == "bytes"
        self.schema, self.tagged = schema, tagged
        self._reader = AvroReader(schema, tagged=tagged)
        self._writer: AvroWriter | None = None

    def decode(self, payload: bytes, path: tuple[int, ...]) -> JsonValue:
        """The value; raises ValueError."""
        del path  # only Protobuf has one
        return self._reader.read(with_length(payload) if self._without_length else payload)

    def encode(self, value: JsonValue) -> bytes:
        """Avro's binary form; ValueError says which part does not match."""
        self._writer = self._writer or AvroWriter(self.schema, tagged=self.tagged)
        data = self._writer.write(value)
        return without_length(data) if self._without_length else data


class AvroSerde(SchemaSerde):
    """Avro in Confluent's framing, or bare with ``framing=none`` or ``file=``."""

    kind = "AVRO"

    def compile(self, schema: Schema, references: list[tuple[str, Schema]]) -> AvroCodec:
        return self._codec(load(schema.text, [inner.text for _name, inner in references]))

    def compile_file(self, path: Path) -> AvroCodec:
        try:
            return self._codec(load(read_schema_file(path)))
        except ValueError as error:
            raise unusable_file(path, str(error)) from None

    def schema_of_file(self, path: Path) -> Schema:
        return Schema(-1, self.kind, read_schema_file(path))

    def _codec(self, schema: AvroSchema) -> AvroCodec:
        return AvroCodec(schema, tagged=self._arguments.get("json") == "avro", framed=self._framed)
