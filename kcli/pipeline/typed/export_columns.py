"""The typed columns of an export: decoded keys and values beside their bytes, which are kept.

The members of an object are columns of their own, ``value_NAME`` and ``key_NAME``; anything else is ``value_decoded`` or
``key_decoded``. So no column has the name of an attribute of records, of a folder, or of the other part.
"""

import base64
from collections.abc import Generator, Iterable, Iterator, Mapping
from typing import Any

import msgspec
import pyarrow as pa

from kcli.core.classes import dataclass
from kcli.core.clock import wall_ms
from kcli.core.errors import ConfigError, KcliError
from kcli.core.types import Header, TopicPartition
from kcli.output.template import rfc3339
from kcli.pipeline.manifest import COLUMNS_ADDED, Change, ExportPlan, Manifest, TypedColumn, TypedSchema
from kcli.pipeline.parquet_files import SCHEMA
from kcli.pipeline.typed.columns import Decoder, TypedParts
from kcli.pipeline.typed.evolution import ColumnConflictError, conformed, evolved
from kcli.serde.errors import DecodeError, SchemaNotFoundError
from kcli.serde.names import INTERNAL, SerdeSpec, SerdeSpecs, parse_serde, parse_serdes
from kcli.serde.opening import open_serdes
from kcli.serde.registry.client import Registry
from kcli.serde.registry.options import RegistryOptions

_SERDES = {"AVRO": "avro", "PROTOBUF": "protobuf", "JSON": "jsonschema"}


@dataclass(frozen=True, slots=True)
class TypedTopic:
    """What tasks need of a topic: serdes by part, as text, and the columns of its files."""

    serdes: Mapping[str, str]
    arrow: str


def export_schema(typed: TypedSchema | TypedTopic | None, schema: pa.Schema = SCHEMA) -> pa.Schema:
    """The columns of the Parquet files of an export. ``schema``: those of the records. Pure."""
    return schema if typed is None else pa.schema([*schema, *_decoded_schema(typed.arrow)])


def column_names(part: str, kind: pa.DataType) -> list[pa.Field]:
    """The columns of a part of this type. Pure."""
    if pa.types.is_struct(kind):
        return [pa.field(f"{part}_{field.name}", field.type) for field in kind]
    return [pa.field(f"{part}_decoded", kind)]


def chosen_serdes(given: SerdeSpecs, registry: RegistryOptions, topic: str) -> SerdeSpecs:
    """The serdes of ``-s``; without one of values, that of the schema which the registry has for the topic. ConfigError
    where there is none, and for serdes without a type.
    """
    for part, spec in (("key", given.key), ("value", given.value)):
        if spec is not None and spec.name in ("json", *INTERNAL):
            raise ConfigError(
                f"-s {part}={spec.name} has no schema, and so no columns",
                why="a typed column has the type that a schema says",
                do=f"-s {part}=jsonschema:file=FILE,framing=none names one for JSON; or leave --typed out",
            )
    if given.value is not None:
        return given
    subject = f"{topic}-value"
    without = (
        f"-s value=avro:file=FILE, or jsonschema or protobuf, names a schema of {topic}; or leave --typed out"
    )
    if not registry.schema_registry_url:
        raise ConfigError(
            "--typed without a schema",
            why="neither a schema registry nor a serde is named",
            do=without,
        )
    with open_serdes(SerdeSpecs(), registry, registry=Registry(registry)) as serdes:
        assert serdes.registry is not None
        try:
            kind = serdes.registry.latest(subject).kind
        except SchemaNotFoundError as error:
            raise ConfigError(
                f"--typed: the registry has no schema of {subject}", why=error.why or error.what, do=without
            ) from None
    if kind not in _SERDES:
        raise ConfigError(
            f"--typed: the schema of {subject} is of the kind {kind}",
            why=f"columns are made of {', '.join(_SERDES)}",
            do="leave --typed out",
        )
    return SerdeSpecs(key=given.key, value=SerdeSpec(_SERDES[kind]))


def typed_schema(specs: SerdeSpecs, registry: RegistryOptions, topic: str) -> TypedSchema:
    """The columns of all versions of the schemas of a topic."""
    parts = TypedParts(specs, registry, topic, every_version=True)
    schema = pa.schema([field for part, kind in parts.types.items() for field in column_names(part, kind)])
    _check_names(schema, topic)
    return _described(_texts(specs), dict(parts.schemas), schema)


def _check_names(schema: pa.Schema, topic: str) -> None:
    seen: dict[str, str] = {}
    for name in schema.names:
        other = seen.setdefault(name.lower(), name)
        if other is not name:
            raise ConfigError(
                f"topic {topic} would have the columns {other} and {name}",
                why="most readers do not tell capital letters in names of columns",
                do="leave --typed out",
            )


def grown(old: TypedSchema | None, new: TypedSchema, topic: str) -> TypedSchema:
    """The columns of earlier files and of those to come. ConfigError, which names the schemas of both, for a column that
    has another type now. Pure.
    """
    if old is None:
        return new
    try:
        schema = evolved(_decoded_schema(old.arrow), _decoded_schema(new.arrow))
    except ColumnConflictError as error:
        raise ConfigError(
            f"topic {topic}: a column has another type now",
            why=f"{error}: the first is of {_named(old)}, the other of {_named(new)}",
            do="export to another folder",
        ) from None
    _check_names(schema, topic)
    return _described(new.serdes, new.schemas, schema)


def added_columns(old: TypedSchema | None, new: TypedSchema | None) -> list[str]:
    """The columns that earlier files lack. Pure."""
    if old is None or new is None or old.arrow == new.arrow:
        return []
    known = {(column.name, column.type) for column in old.columns}
    return [column.name for column in new.columns if (column.name, column.type) not in known]


def with_typed_columns(plan: ExportPlan, manifest: Manifest | None, registry: RegistryOptions) -> ExportPlan:
    """The plan with the typed columns as the schemas are now, of topics that have anything new."""
    known = {} if manifest is None else {topic.topic: topic.typed for topic in manifest.topics}
    given = parse_serdes(plan.request.serdes)
    written, topics, changes = {one.topic for one in plan.slices}, [], list(plan.changes)
    noted = {one.topic for one in changes if one.change == COLUMNS_ADDED}
    for topic in plan.topics:
        name, old = topic.topic, known.get(topic.topic)
        typed = old
        if name in written or old is None:
            new = typed_schema(chosen_serdes(given, registry, name), registry, name)
            typed = grown(topic.typed or old, new, name)
        if name not in noted and added_columns(old, typed):
            changes.append(Change(COLUMNS_ADDED, name, str(rfc3339(wall_ms()))))
        topics.append(msgspec.structs.replace(topic, typed=typed))
    return msgspec.structs.replace(plan, topics=topics, changes=changes)


def typed_topics(plan: ExportPlan) -> dict[str, TypedTopic]:
    """What tasks know of the typed columns. Pure."""
    return {
        topic.topic: TypedTopic(topic.typed.serdes, topic.typed.arrow)
        for topic in plan.topics
        if topic.typed is not None
    }


def decoded_batches(
    batches: Iterable[pa.RecordBatch],
    typed: TypedTopic,
    registry: RegistryOptions,
    tp: TopicPartition,
    schema: pa.Schema = SCHEMA,
) -> Generator[pa.RecordBatch]:
    """The records, whose columns are ``schema``, with their typed columns. DecodeError with the offset of one that cannot
    be decoded; KcliError for one that has more than the columns.
    """
    specs = SerdeSpecs(**{part: parse_serde(text) for part, text in typed.serdes.items()})
    parts = TypedParts(specs, registry, tp.topic, every_version=True)
    schema = export_schema(typed, schema)
    with parts.open() as serdes:
        decoder = parts.decoder(serdes, undecodable="fail")
        for batch in batches:
            columns, fields = list(batch.columns), list(batch.schema)
            for part, column in _decoded(batch, parts, decoder, tp):
                made = column_names(part, column.type)
                fields += made
                columns += column.flatten() if pa.types.is_struct(column.type) else [column]
            if parts.dropped or any(field.name not in schema.names for field in fields):
                offsets = batch.column("offset")
                raise _changed(tp, offsets[0].as_py(), offsets[-1].as_py(), sorted(parts.dropped))
            found = pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))
            yield conformed(found, schema)


def _decoded(
    batch: pa.RecordBatch, parts: TypedParts, decoder: Decoder, tp: TopicPartition
) -> Iterator[tuple[str, Any]]:
    offsets, keys = batch.column("offset").to_pylist(), batch.column("key").to_pylist()
    column = batch.column("headers")
    blocks = column.to_pylist() if parts.names_schemas and len(column.flatten()) else None

    def headers(row: int) -> tuple[Header, ...]:
        pairs = None if blocks is None else blocks[row]
        return tuple((pair["key"], pair["value"]) for pair in pairs or ())

    for part in parts.types:
        data = keys if part == "key" else batch.column(part).to_pylist()
        try:
            yield part, decoder.column(part, tp, data, keys, headers, offsets)
        except DecodeError as error:
            error.do = "leave --typed out, or out of the range what cannot be decoded (--offset)"
            raise


def _changed(tp: TopicPartition, first: int, last: int, members: list[str]) -> KcliError:
    which = f" ({', '.join(members[:10])})" if members else ""
    return KcliError(
        f"{tp}: records between offsets {first} and {last} have members without a column{which}",
        why="their schema is none of those that were looked up when the export began",
        do="run the export again: it looks the schemas up anew",
    )


def _texts(specs: SerdeSpecs) -> dict[str, str]:
    named = (("key", specs.key), ("value", specs.value))
    return {part: str(spec) for part, spec in named if spec is not None}


def _named(typed: TypedSchema) -> str:
    return "; ".join(
        f"{part}: {', '.join(typed.schemas.get(part) or [serde])}" for part, serde in typed.serdes.items()
    )


def _described(serdes: dict[str, str], schemas: dict[str, list[str]], schema: pa.Schema) -> TypedSchema:
    return TypedSchema(
        serdes,
        schemas,
        [TypedColumn(field.name, str(field.type)) for field in schema],
        base64.b64encode(schema.serialize()).decode(),
    )


def _decoded_schema(arrow: str) -> pa.Schema:
    try:
        return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(arrow, validate=True)))
    except (pa.ArrowException, ValueError, OSError) as error:
        raise ConfigError(
            "the typed columns of a manifest cannot be read",
            why=str(error),
            do="it is written by an export, and not edited: restore it from a copy",
        ) from None
