"""The serde ``jsonschema``: JSON in Confluent's framing. Reading needs no registry; values are validated before
writing.
"""

import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from kcli.core.errors import KcliError
from kcli.core.extras import library
from kcli.serde.errors import DecodeError
from kcli.serde.framing import frame, unframe
from kcli.serde.json_text import NotJsonError, compact_json, dump_json, parse_json
from kcli.serde.registry.client import Schema
from kcli.serde.schema_serde import SchemaSerde, read_schema_file, unusable_file
from kcli.serde.serde import JsonValue, SerdeContext, json_of_line

T = TypeVar("T")
_DECIMAL = re.compile(r"Decimal\('([^']*)'\)")


class JsonSchemaCodec:
    """One JSON Schema; references are resolved among the given schemas, never over the network."""

    path: tuple[int, ...] | None = None

    def __init__(self, text: str, references: list[tuple[str, str]]) -> None:
        self.schema = parse_json(text)
        self._references = [(name, parse_json(inner)) for name, inner in references]
        self.name = str(self.schema.get("title", "")) if isinstance(self.schema, dict) else ""

    def decode(self, payload: bytes, path: tuple[int, ...]) -> JsonValue:
        """Any JSON; raises ValueError."""
        del path  # only Protobuf has one
        return parse_json(payload)

    def encode(self, value: JsonValue) -> bytes:
        """JSON that matches the schema; ValueError says where it does not."""
        try:
            error = next(iter(self._validator.iter_errors(value)), None)
        except KcliError:
            raise
        except Exception as failure:
            # an unresolvable reference, an invalid pattern, an endlessly recursive schema
            raise ValueError(
                f"the schema cannot be applied: {type(failure).__name__}: {failure}"
            ) from failure
        if error is not None:
            message = _DECIMAL.sub(r"\1", error.message)
            message = message if len(message) <= 300 else message[:299] + "…"
            raise ValueError(
                f"{error.json_path.removeprefix('$').removeprefix('.') or 'the whole'}: {message}"
            )
        return dump_json(value).encode()

    @functools.cached_property
    def _validator(self) -> Any:
        jsonschema = library("jsonschema", extra="jsonschema", wanted_by="the serde jsonschema")
        referencing = library("referencing", extra="jsonschema", wanted_by="the serde jsonschema")
        standard = library("referencing.jsonschema", extra="jsonschema", wanted_by="the serde jsonschema")
        kind = jsonschema.validators.validator_for(self.schema, default=jsonschema.Draft7Validator)
        kind.check_schema(self.schema)
        resources = []
        for name, inner in self._references:
            resource = referencing.Resource.from_contents(inner, default_specification=standard.DRAFT7)
            resources += [(name, resource), (resource.id() or name, resource)]
        # An explicit registry: the default one would fetch unknown references over the network.
        return kind(self.schema, registry=referencing.Registry().with_resources(resources))


class JsonSchemaSerde(SchemaSerde):
    """JSON in Confluent's framing."""

    kind = "JSON"

    def asks_registry(self, *, writing: bool) -> bool:
        return writing and super().asks_registry(writing=writing)

    def decode(self, data: bytes, context: SerdeContext) -> JsonValue:
        return self._read(parse_json, data, context)

    def decode_json(self, data: bytes, context: SerdeContext) -> str:
        return self._read(compact_json, data, context)

    def encode_json(self, data: bytes, context: SerdeContext) -> bytes:
        """The text itself, once the value in it has been found to match the schema."""
        self.encode(json_of_line(data, context), context)
        payload, target = compact_json(data).encode(), self.prepare(context.topic, context.part)
        return payload if target.schema_id is None else frame(target.schema_id, payload, None)

    def _read(self, how: Callable[[bytes], T], data: bytes, context: SerdeContext) -> T:
        framed = unframe(data, context) if self._framed else None
        try:
            return how(framed.payload if framed else data)
        except NotJsonError as error:
            what = f"the {context.part} {error.verdict}"
            raise DecodeError(what, why=str(error), schema_id=framed.schema_id if framed else None) from None

    def compile(self, schema: Schema, references: list[tuple[str, Schema]]) -> JsonSchemaCodec:
        return JsonSchemaCodec(schema.text, [(name, inner.text) for name, inner in references])

    def compile_file(self, path: Path) -> JsonSchemaCodec:
        try:
            return JsonSchemaCodec(read_schema_file(path), [])
        except ValueError as error:
            raise unusable_file(path, str(error)) from None

    def schema_of_file(self, path: Path) -> Schema:
        return Schema(-1, self.kind, read_schema_file(path))
